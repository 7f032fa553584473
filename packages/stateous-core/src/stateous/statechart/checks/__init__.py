"""The rules about several places of a chart at once (`docs/spec/statechart.md` 1.5).

Each module judges the facts of one kind of rule; none hides the findings of another.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from stateous.json import JsonObject
from stateous.statechart.checks.files import check_files
from stateous.statechart.checks.names import check_names
from stateous.statechart.checks.reads import check_reads
from stateous.statechart.checks.receivers import check_receivers
from stateous.statechart.facts import Facts, Findings


def find_problems(
    facts: Mapping[str, Facts],
    machines: Mapping[str, JsonObject],
    scripts: Collection[str],
    findings: Findings,
) -> None:
    """Add every problem of a document to ``findings``.

    ``facts`` and ``machines`` (in normal form) are by path, the chart itself under ``"."``;
    ``scripts`` are the paths of the scripts that are there.
    """
    for chart in facts.values():
        check_names(chart, findings)
        check_receivers(chart, facts, findings)
        check_reads(chart, findings)
    check_files(facts, machines, scripts, findings)
