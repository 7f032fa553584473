import pytest

from stateous_supervisor.errors import SupervisorError
from stateous_supervisor.folder import Contract, Settings, read_contract, read_settings

URL = 'url: "http://127.0.0.1:8080"\n'


@pytest.fixture(autouse=True)
def _no_variables(monkeypatch):
    for key in ("URL", "TASKS", "NAME"):
        monkeypatch.delenv(f"STATEOUS_{key}", raising=False)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr("socket.gethostname", lambda: "box-a")
    return tmp_path


def settings(folder, text, **flags):
    (folder / "stateous.yaml").write_text(text, "utf-8")
    return read_settings(folder, **flags)


@pytest.mark.parametrize(
    ("text", "read"),
    [
        (URL, Settings("http://127.0.0.1:8080", 4, "box-a")),
        (URL + "tasks: 1000\nname: büro 1\n", Settings("http://127.0.0.1:8080", 1000, "büro 1")),
        (URL + 'tasks: "16"\n', Settings("http://127.0.0.1:8080", 16, "box-a")),
        ("url: http://box_1.a-b:65535//\n", Settings("http://box_1.a-b:65535", 4, "box-a")),
        ("url: https://[::1]:8080/base/\n", Settings("https://[::1]:8080/base", 4, "box-a")),
        (URL + f"name: {'n' * 128}\n", Settings("http://127.0.0.1:8080", 4, "n" * 128)),
    ],
)
def test_settings(folder, text, read):
    assert settings(folder, text) == read


def test_a_flag_wins_over_the_environment_and_this_over_the_file(folder, monkeypatch):
    text = URL + "tasks: 1\nname: file\n"
    monkeypatch.setenv("STATEOUS_TASKS", "2")
    monkeypatch.setenv("STATEOUS_NAME", "environment")
    monkeypatch.setenv("STATEOUS_URL", "http://b:1/")
    assert settings(folder, text) == Settings("http://b:1", 2, "environment")
    assert settings(folder, text, tasks="3", url="http://c:1") == Settings(
        "http://c:1", 3, "environment"
    )


def test_an_empty_variable_counts_as_none(folder, monkeypatch):
    monkeypatch.setenv("STATEOUS_TASKS", "")
    monkeypatch.setenv("STATEOUS_NAME", "")
    assert settings(folder, URL).name == "box-a"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (
            URL + 'tasks: true\nzz: 1\nname: ""\n',
            "tasks: a whole number is needed, not true; name: at least 1 character; "
            "zz: there is no such setting",
        ),
        ("", "url: the setting is needed"),
        (
            "tasks: 0\n",
            "url: the setting is needed; tasks: a number from 1 to 1000 is needed, not 0",
        ),
        (URL + "tasks: 1001\n", "tasks: a number from 1 to 1000 is needed, not 1001"),
        (URL + "tasks: -1\n", "tasks: a number from 1 to 1000 is needed, not -1"),
        (URL + "tasks: 1.0\n", "tasks: a whole number is needed, not 1.0"),
        (URL + "tasks: null\n", "tasks: a whole number is needed, not null"),
        (URL + "tasks: four\n", "tasks: a whole number is needed, not 'four'"),
        (URL + 'tasks: "-1"\n', "tasks: a whole number is needed, not '-1'"),
        (URL + 'tasks: "٣"\n', "tasks: a whole number is needed, not '٣'"),
        (URL + "name: 5\n", "name: a text is needed, not 5"),
        (URL + f"name: {'n' * 129}\n", "name: at most 128 characters, not 129"),
        ("url: 5\n", "url: a text is needed, not 5"),
        ("url: ftp://a\n", "url: 'ftp://a' is no http:// or https:// URL"),
        ("- a\n", "it is ['a'], not a mapping"),
        ("just text\n", "it is 'just text', not a mapping"),
        ("Url: http://a\n", "line 1: 'Url' is written 'url'"),
        (URL + "# two more\nTASKS: 2\n", "line 3: 'TASKS' is written 'tasks'"),
        (URL + "name: a\nurl: http://b\n", "line 3: 'url' is there twice, first in line 1"),
        (URL + '"url": http://b\n', "line 2: 'url' is there twice, first in line 1"),
        (
            URL + "URL: http://b\nzz: 1\nzz: 1\n",
            "line 2: 'URL' is written 'url'; line 4: 'zz' is there twice, first in line 3",
        ),
        (URL + "ZZ: 1\n", "ZZ: there is no such setting"),
    ],
)
def test_refused_settings(folder, text, why):
    with pytest.raises(SupervisorError) as refused:
        settings(folder, text)
    assert str(refused.value) == f"cannot use {folder / 'stateous.yaml'}: {why}"


@pytest.mark.parametrize(
    "url",
    [
        "http://",
        "http://a:0",
        "http://a:65536",
        "http://a b",
        "a:80",
        "http://ä",
        "http://[::1",
        "",
    ],
)
def test_refused_urls(folder, url):
    with pytest.raises(SupervisorError, match=r"^cannot use .*stateous.yaml: url: "):
        settings(folder, f'url: "{url}"\n')


def test_a_wrong_flag_or_variable_is_named_and_what_it_hides_is_not_looked_at(folder, monkeypatch):
    with pytest.raises(SupervisorError) as refused:
        settings(folder, URL + "tasks: no\n", tasks="0")
    assert str(refused.value) == "cannot use --tasks: a number from 1 to 1000 is needed, not 0"
    monkeypatch.setenv("STATEOUS_TASKS", "x")
    with pytest.raises(SupervisorError) as refused:
        settings(folder, URL + "name: 5\n")
    assert str(refused.value) == (
        f"cannot use {folder / 'stateous.yaml'}: name: a text is needed, not 5; "
        "cannot use STATEOUS_TASKS: a whole number is needed, not 'x'"
    )


@pytest.mark.parametrize("text", ["a: [\n", "a: b: c\n", "\x01", "a: !!python/object:os.x {}\n"])
def test_what_is_no_yaml_is_refused_on_one_line(folder, text):
    with pytest.raises(SupervisorError, match=r"^cannot use .*: it is not YAML: [^\n]+$"):
        settings(folder, text)


def test_a_file_that_is_not_there_is_named_with_what_makes_it(folder):
    with pytest.raises(SupervisorError) as refused:
        read_settings(folder)
    assert str(refused.value) == (
        f"cannot read {folder / 'stateous.yaml'}: No such file or directory; "
        "make it with stateous init supervisor"
    )


def test_the_contract_is_read_without_running_it(folder):
    (folder / "contract.py").write_text(
        'raise SystemExit\n__workflow__ = "invoices"\n__checksum__ = "sha256:ab"\n'
        '__contract__ = "sha256:cd"\n  __checksum__ = "sha256:no"\n'
    )
    assert read_contract(folder) == Contract("invoices", "sha256:ab", "sha256:cd")


def test_a_contract_of_an_earlier_release_has_no_contract_hash(folder):
    (folder / "contract.py").write_text('__workflow__ = "invoices"\n__checksum__ = "sha256:ab"\n')
    assert read_contract(folder) == Contract("invoices", "sha256:ab", None)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (None, "cannot read {}: No such file or directory; make it with stateous init supervisor"),
        (b"\xff", "cannot read {}: it is not UTF-8"),
        (b"x = 1", "{} has no __checksum__: make it again with stateous init supervisor"),
    ],
)
def test_refused_contracts(folder, content, why):
    path = folder / "contract.py"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(SupervisorError) as refused:
        read_contract(folder)
    assert str(refused.value) == why.format(path)
