// What a script meets: `input`, `emit`, `require`, and globals that are plain ECMAScript and little more.
//
// It takes what it needs of the language before the script can change it, and afterwards calls nothing
// that the script can replace: no method is looked up on a value or a prototype. What a script changes
// it changes for itself.
//
// The engine calls it with two functions and two limits, and gets a function of steps back.
//   sent(name, value)       both as JSON texts; answers null, or why the name cannot be used
//   over(message, stack)    ends the process: the job fails
(function (sent, over, maxLength, maxEmitted) {
  "use strict";

  const { parse, stringify } = JSON;
  const { defineProperty, getOwnPropertyDescriptor, getOwnPropertyNames, getPrototypeOf } = Object;
  const { apply } = Reflect;
  const { slice } = String.prototype;
  const textOf = String;
  const GivenError = Error;
  const GivenTypeError = TypeError;
  const promises = Promise.prototype;
  const errors = Error.prototype;
  const stack = getOwnPropertyDescriptor(Error.prototype, "stack");
  const isError = Error.isError;

  const allowed =
    "AggregateError Array ArrayBuffer AsyncDisposableStack Atomics BigInt BigInt64Array BigUint64Array Boolean " +
    "DataView Date DisposableStack Error EvalError FinalizationRegistry Float16Array Float32Array Float64Array " +
    "Function Infinity Int16Array Int32Array Int8Array Iterator JSON Map Math NaN Number Object Promise Proxy " +
    "RangeError ReferenceError Reflect RegExp Set SharedArrayBuffer String SuppressedError Symbol SyntaxError " +
    "TypeError URIError Uint16Array Uint32Array Uint8Array Uint8ClampedArray WeakMap WeakRef WeakSet " +
    "decodeURI decodeURIComponent encodeURI encodeURIComponent escape eval globalThis isFinite isNaN parseFloat " +
    "parseInt undefined unescape " +
    "atob btoa performance queueMicrotask";
  const known = new Set(allowed.split(" "));
  for (const name of getOwnPropertyNames(globalThis)) {
    if (!known.has(name)) delete globalThis[name];
  }

  // A field that nobody else can see or set tells our refusals from errors that look like them.
  class Denied extends GivenError {
    #denied = true;
    static is(value) {
      return #denied in value;
    }
  }
  defineProperty(Denied.prototype, "constructor", { value: GivenError });
  const isDenied = Denied.is;

  const isObject = (value) => (typeof value === "object" && value !== null) || typeof value === "function";

  const isPromise = (value) => {
    if (!isObject(value)) return false;
    for (let each = getPrototypeOf(value); each !== null; each = getPrototypeOf(each)) {
      if (each === promises) return true;
    }
    return false;
  };

  const withoutPromises = (key, value) => {
    if (isPromise(value)) throw new GivenTypeError("a promise is no JSON value, and nothing here waits for it");
    return value;
  };

  const jsonOf = (value) => {
    const text = stringify(value, withoutPromises);
    return text === undefined ? "null" : text;
  };

  const stackOf = (error) => {
    if (!isError(error)) return "";
    const found = stack === undefined ? error.stack : apply(stack.get, error, []);
    return typeof found === "string" ? found : "";
  };

  const tooMuch = (message) => {
    let at = "";
    try {
      at = stackOf(new GivenError());
    } catch {}
    over(message, at);
  };

  let emitted = 0;
  let output = "null";
  let thrown;
  let threw = false;

  const { emit, require, queueMicrotask } = {
    emit(name, value) {
      if (typeof name !== "string") throw new GivenTypeError("emit needs the name of an event, a text");
      const text = jsonOf(value);
      if (text.length > maxLength) tooMuch("an emitted value has more than " + maxLength + " bytes as JSON");
      if (emitted >= maxEmitted) tooMuch("more than " + maxEmitted + " values were emitted");
      const problem = sent(stringify(name), text);
      if (problem !== null) throw new GivenTypeError(problem);
      emitted += 1;
    },

    require(name) {
      if (typeof name !== "string") throw new GivenTypeError("require needs the name of a module, a text");
      const grant = name === "http" ? "net:<host>" : "module:" + name;
      throw new Denied(
        "denied: require(" + stringify(name) + ") needs the grant " + grant + ", which this version cannot give",
      );
    },

    queueMicrotask(callback) {
      if (typeof callback !== "function") throw new GivenTypeError("queueMicrotask needs a function");
      later(() => {
        try {
          callback();
        } catch (error) {
          if (!threw) thrown = error;
          threw = true;
        }
      });
    },
  };
  const given = getOwnPropertyDescriptor(globalThis, "queueMicrotask");
  const later = given.value;
  defineProperty(globalThis, "queueMicrotask", {
    value: queueMicrotask, writable: true, configurable: true, enumerable: given.enumerable,
  });

  const messageOf = (value) => {
    try {
      if (isObject(value)) {
        const message = value.message;
        if (typeof message === "string" && message !== "") return message;
      }
      return textOf(value);
    } catch {
      return "a value was thrown that cannot be shown";
    }
  };

  // The names of the script's own classes that an error is of, innermost first, with blanks between.
  const classesOf = (error) => {
    let names = "";
    try {
      for (let each = getPrototypeOf(error); each !== null && each !== errors; each = getPrototypeOf(each)) {
        const name = each.constructor.name;
        if (typeof name === "string") names = cut(names + name + " ", 1000);
      }
    } catch {}
    return names;
  };

  const cut = (text, length) => apply(slice, text, [0, length]);

  return (step, script, input) => {
    switch (step) {
      // "" when all went well, else the word in the script by which the place may be found.
      case "run":
        try {
          const value = script(parse(input), emit, require);
          try {
            output = jsonOf(value);
          } catch (error) {
            thrown = error;
            return "return";
          }
        } catch (error) {
          thrown = error;
          return "throw";
        }
        return "";
      case "threw later":
        return threw;
      case "output":
        if (output.length > maxLength) tooMuch("the output has more than " + maxLength + " bytes as JSON");
        return output;
      // The engine's strings may be trees of pieces, which only come out whole when they are made anew.
      case "message":
        return stringify(cut(messageOf(thrown), 4000));
      case "stack":
        try {
          return stringify(cut(stackOf(thrown), 20000));
        } catch {
          return '""';
        }
      case "classes":
        return stringify(classesOf(thrown));
      case "denied":
        return isObject(thrown) && isDenied(thrown);
    }
  };
})
