"""The conduct of each delivery: where the policy of a flow becomes code."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from stateous.graph.machine import Delivery
from stateous_controlplane.engine.conduct import Conduct
from stateous_controlplane.engine.routed import Routed
from stateous_controlplane.engine.runs.offered import Offered

CONDUCTS: Final[Mapping[Delivery, Conduct]] = {
    Delivery.ROUTED: Routed(),
    Delivery.OFFERED: Offered(),
}
