"""The keys of `stateous.yaml` as they are written: each once, and in the case that it has (8.1).

A YAML reader keeps the last of two, and the settings take `Url` for `url`: both would hide a mistake.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

import yaml


def wrong_keys(text: str, known: Collection[str]) -> Iterator[str]:
    """What is wrong with the top keys of a YAML mapping, each with its line, in order.

    ``known`` are the keys that there are, in lower case. Others are no matter of this.
    """
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    if not isinstance(root, yaml.MappingNode):
        return
    first: dict[str, int] = {}
    for node, _ in root.value:
        if not isinstance(node, yaml.ScalarNode):
            continue
        key, line = node.value, node.start_mark.line + 1
        if key in first:
            yield f"line {line}: {key!r} is there twice, first in line {first[key]}"
        first.setdefault(key, line)
        if key not in known and key.lower() in known:
            yield f"line {line}: {key!r} is written {key.lower()!r}"
