"""A supervisor's folder before anything of it is imported: `stateous.yaml` and `contract.py`."""

from __future__ import annotations

import os
import re
import socket
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final, cast

import yaml
from pydantic import BeforeValidator, Field, ValidationError
from pydantic_settings import (
    BaseSettings,
    InitSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
)

from stateous_client import InvalidArgument
from stateous_client.protocol.address import Address
from stateous_supervisor.errors import SupervisorError
from stateous_supervisor.keys import wrong_keys

_ENV_PREFIX: Final = "STATEOUS_"
_MOST_TASKS: Final = 1000
_MOST_NAME: Final = 128
_DIGITS: Final = re.compile(r"[0-9]{1,9}", re.ASCII)
#: Where a control plane is when nobody says anything else.
_HERE: Final = "http://127.0.0.1:8080"


@dataclass(frozen=True, slots=True)
class Settings:
    """Where the control plane is, how many routines may run at once, and who this supervisor is."""

    url: str
    tasks: int
    name: str


@dataclass(frozen=True, slots=True)
class Contract:
    """What `contract.py` says that it was made from, read by pattern, without running it."""

    workflow: str
    checksum: str
    contract: str | None


def read_settings(
    folder: Path | None, *, url: str | None = None, tasks: object = None, name: str | None = None
) -> Settings:
    """The settings of a folder (`docs/spec/authoring.md` 8.1).

    What is given here (a flag) wins over the environment's ``STATEOUS_URL``, ``STATEOUS_TASKS`` and
    ``STATEOUS_NAME``, these over ``stateous.yaml``. An empty variable counts as none. Without a
    folder the URL is that of a control plane on this computer, unless it is said.

    Raises:
        SupervisorError: the sentence names every wrong setting and where it was set.
    """
    path = folder / "stateous.yaml" if folder is not None else None
    in_file = _read_mapping(path) if path is not None else {"url": _HERE}
    flags = {"url": url, "tasks": tasks, "name": name}
    flags = {key: value for key, value in flags.items() if value is not None}

    class Layers(_Layers):
        @classmethod
        def settings_customise_sources(
            cls,
            settings_cls: type[BaseSettings],
            init_settings: PydanticBaseSettingsSource,
            env_settings: PydanticBaseSettingsSource,
            dotenv_settings: PydanticBaseSettingsSource,
            file_secret_settings: PydanticBaseSettingsSource,
        ) -> tuple[PydanticBaseSettingsSource, ...]:
            return init_settings, env_settings, InitSettingsSource(settings_cls, in_file)

    try:
        layers = Layers(**cast("dict[str, Any]", flags))
    except ValidationError as error:
        raise SupervisorError(_sentence(error, path, flags)) from None
    return Settings(layers.url, layers.tasks, layers.name)


def read_contract(folder: Path) -> Contract:
    """What `contract.py` of the folder was made from.

    Raises:
        SupervisorError: the file cannot be read, or does not look like a contract.
    """
    path = folder / "contract.py"
    try:
        text = path.read_text("utf-8")
    except OSError as error:
        raise SupervisorError(
            f"cannot read {path}: {error.strerror}; make it with stateous init supervisor"
        ) from None
    except UnicodeDecodeError:
        raise SupervisorError(f"cannot read {path}: it is not UTF-8") from None
    found = dict(re.findall(r'^(__workflow__|__checksum__|__contract__) = "(.*)"\s*$', text, re.M))
    if "__checksum__" not in found:
        raise SupervisorError(
            f"{path} has no __checksum__: make it again with stateous init supervisor"
        )
    return Contract(found.get("__workflow__", ""), found["__checksum__"], found.get("__contract__"))


def find_contract(folder: Path) -> Contract | None:
    """What `contract.py` was made from; None when a folder of charts' routines has none.

    Whether it is one is told by its text, as what is in the contract: a file has ``on_job``.

    Raises:
        SupervisorError: as :func:`read_contract` has it.
    """
    if not (folder / "contract.py").exists() and any(map(_names_on_job, folder.glob("*.py"))):
        return None
    return read_contract(folder)


def _names_on_job(path: Path) -> bool:
    try:
        return re.search(rb"\bon_job\b", path.read_bytes()) is not None
    except OSError:
        return False


def _read_mapping(path: Path) -> dict[str, object]:
    try:
        text = path.read_text("utf-8")
    except OSError as error:
        raise SupervisorError(
            f"cannot read {path}: {error.strerror}; make it with stateous init supervisor"
        ) from None
    except UnicodeDecodeError:
        raise SupervisorError(f"cannot use {path}: it is not UTF-8") from None
    try:
        found = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise SupervisorError(f"cannot use {path}: it is not YAML: {_on_one_line(error)}") from None
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise SupervisorError(f"cannot use {path}: it is {_shown(found)}, not a mapping")
    wrong = list(wrong_keys(text, Settings.__dataclass_fields__))
    if wrong:
        raise SupervisorError(f"cannot use {path}: {'; '.join(wrong)}")
    return {key if isinstance(key, str) else _shown(key): value for key, value in found.items()}


# The rules. A ValueError's text is what stands behind the setting's name; pydantic takes no other.


def _url(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError(f"a text is needed, not {_shown(value)}")  # noqa: TRY004
    try:
        return Address.parse(value).base
    except InvalidArgument as error:
        raise ValueError(str(error)) from None


def _tasks(value: object) -> int:
    if isinstance(value, str) and _DIGITS.fullmatch(value):
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError(f"a whole number is needed, not {_shown(value)}")  # noqa: TRY004
    if not 1 <= value <= _MOST_TASKS:
        raise ValueError(f"a number from 1 to {_MOST_TASKS} is needed, not {value}")
    return value


def _name(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError(f"a text is needed, not {_shown(value)}")  # noqa: TRY004
    if not value:
        raise ValueError("at least 1 character")
    if len(value) > _MOST_NAME:
        raise ValueError(f"at most {_MOST_NAME} characters, not {len(value)}")
    return value


def _host_name() -> str:
    return socket.gethostname()[:_MOST_NAME] or "supervisor"


class _Layers(BaseSettings):
    model_config = SettingsConfigDict(
        env_prefix=_ENV_PREFIX, env_ignore_empty=True, extra="forbid", validate_default=False
    )

    url: Annotated[str, BeforeValidator(_url)]
    tasks: Annotated[int, BeforeValidator(_tasks)] = 4
    name: Annotated[str, BeforeValidator(_name)] = Field(default_factory=_host_name)


def _sentence(error: ValidationError, path: Path | None, flags: dict[str, Any]) -> str:
    in_file, elsewhere = [], []
    for problem in error.errors(include_url=False, include_input=False):
        key = str(problem["loc"][0])
        why = _why(problem["type"], problem["msg"])
        variable = _ENV_PREFIX + key.upper()
        if key in flags:
            elsewhere.append(f"cannot use --{key}: {why}")
        elif key in Settings.__dataclass_fields__ and os.environ.get(variable):
            elsewhere.append(f"cannot use {variable}: {why}")
        else:
            in_file.append(f"{key}: {why}")
    return "; ".join(([f"cannot use {path}: {'; '.join(in_file)}"] if in_file else []) + elsewhere)


def _why(kind: str, text: str) -> str:
    match kind:
        case "missing":
            return "the setting is needed"
        case "extra_forbidden":
            return "there is no such setting"
        case _:
            return text.removeprefix("Value error, ")


def _shown(value: object) -> str:
    """``value`` as its file writes it, cut at 60 characters, on one line."""
    match value:
        case None:
            text = "null"
        case bool():
            text = "true" if value else "false"
        case _:
            text = repr(value)
    return text if len(text) <= 60 else text[:59] + "…"


def _on_one_line(error: Exception) -> str:
    return " ".join(str(error).split())
