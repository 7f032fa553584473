"""The garbage collector of a serving process: what was made at the start is not looked at again.

Modules, machines, validators and routes stay until the end, and are some hundred thousand objects.
The rows of a batch are freed by their reference counts; what is left for the collector are the few
cycles of requests that failed or were cancelled. So it runs seldom, and looks at little.
"""

from __future__ import annotations

import gc
from typing import Final

#: New objects before the youngest generation is looked at; by default 700. A batch makes thousands,
#: almost all of which are gone before the next.
_YOUNG: Final = 20_000
#: Collections of one generation before one of the next.
_OLDER: Final = 10


def leave_startup_alone() -> None:
    """Call it once, when everything that stays has been made."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(_YOUNG, _OLDER, _OLDER)
