"""What a script can say and how it ends: the engine and its prelude, in this process."""

import json
from pathlib import Path

import pytest

import stateous_supervisor.scripts
from stateous_supervisor.scripts import frames
from stateous_supervisor.scripts.child import WrittenAnswers
from stateous_supervisor.scripts.engine import Bounds, run

PRELUDE = Path(stateous_supervisor.scripts.__file__).with_name("prelude.js").read_text("utf-8")
BOUNDS = Bounds(memory=64 * 1024 * 1024, value=1024, emitted=5)


class Ended(BaseException):
    """In a script's own process the last answer ends it."""


class Ran:
    """A script that was run: the values that it emitted, and its last answer."""

    def __init__(self, source, given=None, bounds=BOUNDS):
        self.emitted = []
        self.end = None
        try:
            run(source, json.dumps(given), bounds, PRELUDE, WrittenAnswers(bounds, self._say))
        except (Ended, SystemError):
            # A call back from the engine cannot pass an exception on.
            assert self.end is not None

    def _say(self, kind, payload):
        value = json.loads(payload)
        if self.end is not None:
            raise Ended
        if kind == frames.EMITTED:
            self.emitted.append(tuple(value))
            return
        self.end = (kind, value)
        raise Ended

    @property
    def output(self):
        assert self.end is not None
        assert self.end[0] == frames.DONE, self.end
        return self.end[1]

    @property
    def failure(self):
        assert self.end is not None
        assert self.end[0] == frames.FAILED, self.end
        return self.end[1]["line"], self.end[1]["message"]

    @property
    def status(self):
        assert self.end is not None
        return self.end[1]["status"]


@pytest.mark.parametrize(
    ("source", "given", "output"),
    [
        (
            '// draft.js\n\nreturn "A draft of " + input.document\n',
            {"document": "x"},
            "A draft of x",
        ),
        ("return input.n * input.by", {"n": 3, "by": 4}, 12),
        ("return input", None, None),
        ("return input", {"a": [1, 1.5, "é", None, True]}, {"a": [1, 1.5, "é", None, True]}),
        ("return input.__proto__", json.loads('{"__proto__": 5}'), 5),
        ("", None, None),
        ("return", None, None),
        ("return undefined", None, None),
        ("return () => 1", None, None),
        ("return [NaN, 1 / 0, -1 / 0, undefined, () => 1]", None, [None] * 5),
        ("return NaN", None, None),
        ("return { a: undefined, b: 1 }", None, {"b": 1}),
        ("return new Date(0)", None, "1970-01-01T00:00:00.000Z"),
        ("return { toJSON() { return 'own' } }", None, "own"),
        ("return [input === null, arguments.length, emit.length, require.length]", None, [True, 3, 2, 1]),
        ('"use strict"; return typeof this', None, "undefined"),
        ("return [btoa('hi'), atob('aGk=')]", None, ["aGk=", "hi"]),
        ("return typeof performance.now()", None, "number"),
        ("return eval('1 + 1') + new Function('return 2')()", None, 4),
    ],
)  # fmt: skip
def test_what_a_script_returns(source, given, output):
    assert Ran(source, given).output == output


@pytest.mark.parametrize(
    ("source", "line", "message"),
    [
        ('throw new Error("no")', 1, "no"),
        ('// a\n\nthrow new TypeError("no")', 3, "no"),
        ("\nnull.x", 2, "cannot read property 'x' of null"),
        ("\n\nmissing()", 3, "missing is not defined"),
        ('function deep() {\n  throw new Error("in there")\n}\ndeep()', 2, "in there"),
        ('\nif (input === null) throw "a text"', 2, "a text"),
        ("\nthrow 5", 2, "5"),
        ("throw null", 1, "null"),
        ("throw undefined", 1, "undefined"),
        ("throw Symbol('s')", 1, "Symbol(s)"),
        ('throw { message: "like an error" }', 1, "like an error"),
        ("throw new Error", 1, "Error"),
        ("throw new TypeError('')", 1, "TypeError"),
        ('class Own extends Error {}\nthrow new Own("own")', 2, "own"),
        ('class Own extends Error {}\nclass Two extends Own {}\n\nthrow new Two("two")', 4, "two"),
        ('\neval("\\n\\n\\nthrow new Error(1)")', 2, "1"),
        ('\n\nnew Function("\\nthrow new Error(2)")()', 3, "2"),
        ("\n\nfoo(", 3, "unexpected token in expression: '}'"),
        ("let input = 1", 1, "invalid redefinition of parameter name"),
        ("\n} throw 1; function more() {", 2, "the script closes the function that it is the body of"),
        ("\n}); throw 1; (function () {", 2, "unexpected token in expression: ')'"),
        ("} function JSON() {", 1, "the script closes the function that it is the body of"),
        ("const a = {}; a.a = a\nreturn a", 2, "circular reference"),
        ("\nreturn 10n", 2, "BigInt are forbidden in JSON.stringify"),
        ("\nreturn { deep: [1n] }", 2, "BigInt are forbidden in JSON.stringify"),
        ("\nreturn new Proxy({}, { ownKeys() { throw new Error('trap') } })", 2, "trap"),
        ("throw new Proxy({}, { get() { throw 1 }, getPrototypeOf() { throw 2 } })", 1, "a value was thrown that cannot be shown"),
        ("throw new Error('\\ud800 \\0')", 1, "\\ud800 \\x00"),
    ],
)  # fmt: skip
def test_what_an_uncaught_throw_says(source, line, message):
    ran = Ran(source)

    assert (ran.failure, ran.status) == ((line, message), "failed")


@pytest.mark.parametrize(
    "source",
    [
        "return Promise.resolve(1)",
        "return (async () => 1)()",
        "return { deep: [Promise.resolve(1)] }",
        "return new (class extends Promise {})(() => {})",
        "Object.getPrototypeOf = () => null; Promise.prototype = null; return Promise.resolve(1)",
        "emit('x', Promise.resolve(1))",
    ],
)
def test_a_promise_is_no_value(source):
    assert Ran(source).failure == (1, "a promise is no JSON value, and nothing here waits for it")


def test_values_are_emitted_in_order_before_the_output():
    ran = Ran("for (const n of input) emit('row', { n }); emit('end'); return 2", [1, 2])

    assert ran.emitted == [("row", {"n": 1}), ("row", {"n": 2}), ("end", None)]
    assert ran.output == 2


@pytest.mark.parametrize("name", ["start", "done", "failed", "timer"])
def test_reserved_names_throw(name):
    ran = Ran("\nemit(input, 1)", name)

    assert ran.failure == (2, f"emit: the event {name!r} is reserved")
    assert ran.emitted == []


@pytest.mark.parametrize("name", ["", "1x", "a b", "x" * 65, "é", "a\n", "done\x00"])
def test_malformed_names_throw(name):
    ran = Ran("emit(input, 1)", name)

    assert "cannot name an event" in ran.failure[1]
    assert ran.emitted == []


@pytest.mark.parametrize("name", ["undefined", "null", "5", "{ toString() { return 'x' } }"])
def test_a_name_is_text(name):
    assert Ran(f"emit({name}, 1)").failure == (1, "emit needs the name of an event, a text")


def test_a_refused_name_can_be_caught():
    ran = Ran(
        "try { emit('done', 1) } catch (error) { emit('caught', error instanceof TypeError) }"
    )

    assert ran.emitted == [("caught", True)]


def test_what_is_emitted_as_it_was_then():
    ran = Ran("const a = [1]; emit('x', a); a.push(2); emit('x', a)")

    assert ran.emitted == [("x", [1]), ("x", [1, 2])]


@pytest.mark.parametrize(
    ("name", "grant"),
    [("http", "net:<host>"), ("html", "module:html"), ("fs", "module:fs"), ('a"b', 'module:a"b')],
)
def test_require_names_the_grant(name, grant):
    ran = Ran("\nrequire(input)", name)
    told = f"denied: require({json.dumps(name)}) needs the grant {grant}, which this version cannot give"

    assert (ran.failure, ran.status) == ((2, told), "denied")


def test_a_refused_module_can_be_caught():
    assert "net:<host>" in Ran("try { require('http') } catch (e) { return e.message }").output


def test_an_error_that_looks_like_a_refused_module_is_none():
    ran = Ran("try { require('http') } catch (e) { throw new Error(e.message) }")
    assert ran.status == "failed"
    assert Ran("throw new Error('denied: x')").status == "failed"


def test_the_same_error_thrown_again_is_one():
    assert Ran("try { require('http') } catch (e) { throw e }").status == "denied"


# ECMAScript 2025, and what the engine has of later editions.
ECMASCRIPT = frozenset(
    """
    AggregateError Array ArrayBuffer AsyncDisposableStack Atomics BigInt BigInt64Array BigUint64Array
    Boolean DataView Date DisposableStack Error EvalError FinalizationRegistry Float16Array
    Float32Array Float64Array Function Infinity Int16Array Int32Array Int8Array Iterator JSON Map
    Math NaN Number Object Promise Proxy RangeError ReferenceError Reflect RegExp Set
    SharedArrayBuffer String SuppressedError Symbol SyntaxError TypeError URIError Uint16Array
    Uint32Array Uint8Array Uint8ClampedArray WeakMap WeakRef WeakSet decodeURI decodeURIComponent
    encodeURI encodeURIComponent escape eval globalThis isFinite isNaN parseFloat parseInt undefined
    unescape
    """.split()  # noqa: SIM905 - a list of them would be a page long
)


def test_the_globals_are_these_and_no_others():
    ran = Ran(
        "return Object.getOwnPropertyNames(globalThis)",
        bounds=Bounds(BOUNDS.memory, 100_000, 5),
    )

    assert set(ran.output) - ECMASCRIPT == {"atob", "btoa", "performance", "queueMicrotask"}
    assert ECMASCRIPT - set(ran.output) <= {
        "AsyncDisposableStack", "DisposableStack", "Float16Array", "SuppressedError"
    }  # fmt: skip


@pytest.mark.parametrize(
    "name",
    ["console", "setTimeout", "setInterval", "std", "os", "module", "exports", "process", "Worker", "WebAssembly", "fetch", "print", "gc", "navigator", "sent", "over", "load", "scriptArgs", "InternalError", "DOMException"],
)  # fmt: skip
def test_what_is_out_of_reach(name):
    assert Ran(f"return typeof {name}").output == "undefined"


@pytest.mark.parametrize("module", ["std", "os", "qjs:std", "/etc/passwd", "./draft.js"])
def test_no_module_can_be_imported(module):
    ran = Ran("import(input).then(() => emit('got'), () => emit('none'))", module)

    assert ran.emitted == [("none", None)]


def test_microtasks_run_before_the_end():
    ran = Ran(
        "queueMicrotask(() => emit('micro'));"
        "Promise.resolve(5).then((five) => emit('then', five));"
        "emit('first'); return 'done'"
    )

    assert ran.emitted == [("first", None), ("micro", None), ("then", 5)]
    assert ran.output == "done"


def test_what_a_microtask_throws_fails_the_script():
    assert Ran("queueMicrotask(() => {\n  throw new Error('late')\n}); return 1").failure == (
        2,
        "late",
    )
    assert Ran("queueMicrotask(5)").failure == (1, "queueMicrotask needs a function")


TAMPERING = [
    "JSON.stringify = () => '\"evil\"'; JSON.parse = () => 'evil';",
    "globalThis.JSON = { stringify: () => 'evil' };",
    "String.prototype.slice = String.prototype.toString = () => 'evil';",
    "Array.prototype.push = Array.prototype[Symbol.iterator] = () => { throw 1 };",
    "Object.getPrototypeOf = Object.defineProperty = Reflect.apply = () => { throw 1 };",
    "Function.prototype.call = Function.prototype.apply = () => 'evil';",
    "Set.prototype.has = RegExp.prototype.exec = RegExp.prototype.test = () => true;",
    "Object.defineProperty(Object.prototype, 'value', { set() { throw 1 }, get() { return 1 } });",
    "globalThis.String = globalThis.Error = globalThis.TypeError = () => 'evil';",
    "Promise.prototype.then = () => { throw 1 };",
    "Error.isError = () => { throw 1 };",
    "Symbol.hasInstance; Object.prototype[Symbol.toPrimitive] = () => 'evil';",
    "delete globalThis.Object; delete globalThis.Array; delete globalThis.Reflect;",
    "const all = globalThis; for (const name of Object.getOwnPropertyNames(all)) delete all[name];",
]


@pytest.mark.parametrize("tampering", TAMPERING)
def test_what_a_script_tampers_with_does_not_reach_what_reads_it(tampering):
    ran = Ran(f"{tampering}\nemit('x', {{ a: 'b' }}); return ['out', 1]")
    assert ran.emitted == [("x", {"a": "b"})]
    assert ran.output == ["out", 1]

    failed = Ran(f"const error = new Error('real'); {tampering}\nthrow error")
    assert failed.failure == (1, "real")

    denied = Ran(f"{tampering}\nrequire('http')")
    assert denied.status == "denied"
    assert denied.failure[0] == 2


@pytest.mark.parametrize(
    "tampering",
    [
        "Error.prepareStackTrace = () => 5;",
        "Error.prepareStackTrace = () => { throw 1 };",
        "Error.prepareStackTrace = () => '<input>:10001:1';",
        "Object.defineProperty(Error.prototype, 'stack', { get() { throw 1 } });",
        "Error.stackTraceLimit = 0;",
    ],
)
def test_a_script_that_hides_its_lines_harms_its_lines_only(tampering):
    ran = Ran(f"{tampering}\nthrow new Error('real')")

    assert ran.failure[1] in ("real", "1")
    assert ran.failure[0] in (1, 2)


def test_every_value_has_a_limit():
    assert Ran("return 'x'.repeat(1022)").output == "x" * 1022
    assert Ran("\nreturn 'x'.repeat(1023)").failure == (
        2,
        "the output has more than 1024 bytes as JSON",
    )
    assert Ran("return 'é'.repeat(600)").failure[1] == "the output has more than 1024 bytes as JSON"
    assert Ran("\nemit('x', 'x'.repeat(1023))").failure == (
        2,
        "an emitted value has more than 1024 bytes as JSON",
    )
    assert Ran("emit('x', 'é'.repeat(600))").failure[1] == "an emitted value has more than 1024 bytes as JSON"  # fmt: skip


def test_a_script_emits_so_many_values_and_no_more():
    assert len(Ran("for (let n = 0; n < 5; n++) emit('x', n)").emitted) == 5

    over = Ran("for (let n = 0; n < 6; n++)\n  emit('x', n)")
    assert len(over.emitted) == 5
    assert over.failure == (2, "more than 5 values were emitted")


def test_a_limit_cannot_be_caught():
    ran = Ran("for (let n = 0; n < 9; n++) try { emit('x') } catch {}")
    assert ran.failure == (1, "more than 5 values were emitted")

    hidden = Ran(
        "Error.prepareStackTrace = () => { throw 1 }; for (let n = 0; n < 9; n++) try { emit('x') } catch {}"
    )
    assert hidden.failure[1] == "more than 5 values were emitted"


@pytest.mark.parametrize(
    "source",
    [
        "const a = []; for (;;) a.push('x'.repeat(1000) + a.length)",
        "const a = []; for (;;) a.push(new Uint8Array(1 << 20).fill(1))",
        "const a = []; for (;;) a.push(new SharedArrayBuffer(1 << 20))",
        "globalThis.a = []; for (;;) a.push({})",
        "new ArrayBuffer(1e9)",
        "new ArrayBuffer(1, { maxByteLength: 1 << 30 }).resize(1 << 29)",
        "Array.from({ length: 1e9 })",
        "'x'.repeat(2 ** 29)",
        "new Array(1e9).fill(0)",
    ],
)
def test_memory_has_a_limit(source):
    ran = Ran(f"\n{source}", bounds=Bounds(8 * 1024 * 1024, 1024, 5))

    # The line may be lost: there is no memory for it.
    assert ran.failure in ((2, "out of memory"), (1, "out of memory"))


@pytest.mark.parametrize(
    "source",
    [
        "(function deep() { deep() })()",
        "JSON.parse('['.repeat(1000000))",
        "let a = []; for (let n = 0; n < 200000; n++) a = [a]; return a",
        "eval('('.repeat(100000))",
        "new Proxy({}, new Proxy({}, { get(t, k, r) { return r[k] } })).x",
    ],
)
def test_the_stack_has_a_limit(source):
    assert Ran(f"\n{source}").failure == (2, "Maximum call stack size exceeded")


def test_a_script_can_go_on_after_a_deep_recursion_that_it_catches():
    assert Ran("try { (function deep() { deep() })() } catch { return 'fine' }").output == "fine"
