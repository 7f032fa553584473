import sys

import pytest

CONTRACT = """
from __future__ import annotations

from typing import Never

from pydantic import BaseModel

from stateous import Context, Occurrence, StateRef

__workflow__ = "invoices"
__checksum__ = "sha256:aa"
__contract__ = "sha256:cc"


class Verdict(BaseModel):
    approved: bool
    note: str | None = None


class events:
    class submitted(Occurrence[None]):
        name = "submitted"

    class reviewed(Occurrence[Verdict]):
        name = "reviewed"

    class tax_check:
        class quoted(Occurrence[None]):
            name = "quoted"


class states:
    draft = StateRef("draft", emits=(events.submitted,))
    review = StateRef("review", emits=(events.reviewed, events.submitted))
    stuck = StateRef[Never]("stuck", emits=())

    class tax_check:
        ask = StateRef("tax-check/ask", emits=(events.tax_check.quoted,))
"""


@pytest.fixture
def write_folder(tmp_path, monkeypatch):
    """Writes a supervisor's folder; what loading it does to the process is undone."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    before = dict(sys.modules)

    def write(url="http://127.0.0.1:9", /, *, tasks=4, folder="desk", **files):
        home = tmp_path / folder
        home.mkdir(exist_ok=True)
        (home / "contract.py").write_text(CONTRACT)
        (home / "stateous.yaml").write_text(f'url: "{url}"\ntasks: {tasks}\nname: box-a\n')
        for stem, text in files.items():
            (home / f"{stem}.py").write_text(text)
        return home

    yield write
    for name in set(sys.modules) - set(before):
        if hasattr(sys.modules[name], "__stateous_folder__"):
            del sys.modules[name]
    sys.modules.update({name: before[name] for name in before if name not in sys.modules})
