"""Tries made-up inputs in the child until a call runs through, and over the line that is in question."""

from __future__ import annotations

import heapq
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from devlint.confirm.probes import Recorder


def combinations(lengths: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Return all tuples of indices below the lengths, those with a small sum first."""
    start = (0,) * len(lengths)
    if any(length == 0 for length in lengths):
        return
    heap: list[tuple[int, tuple[int, ...]]] = [(0, start)]
    seen = {start}
    while heap:
        total, at = heapq.heappop(heap)
        yield at
        for position, index in enumerate(at):
            following = (*at[:position], index + 1, *at[position + 1 :])
            if index + 1 < lengths[position] and following not in seen:
                seen.add(following)
                heapq.heappush(heap, (total + 1, following))


def search(wanted: Mapping[str, Any], variables: dict[str, Any], recorder: Recorder) -> dict[str, Any]:
    """Return `found`, the expressions with which the call runs and passes the probe, or None, and how many were tried.

    `wanted` holds `template`, `choices`, `probe`, `most` (calls) and `seconds`.
    """
    choices: Sequence[Sequence[str]] = wanted["choices"]
    deadline = time.monotonic() + wanted["seconds"]
    tried, last = 0, ""
    for at in combinations([len(item) for item in choices]):
        if tried >= wanted["most"] or time.monotonic() > deadline:
            break
        tried += 1
        chosen = [choices[position][index] for position, index in enumerate(at)]
        recorder.reached.clear()
        try:
            exec(compile(fill(wanted["template"], chosen), "<made-up inputs>", "exec"), dict(variables))
        except Exception as error:
            last = f"{type(error).__name__}: {error}"[:500]
            continue
        if recorder.reached.get(wanted["probe"]):
            return {"found": chosen, "tried": tried, "last": ""}
        last = "the line is not reached"
    return {"found": None, "tried": tried, "last": last}


def fill(template: str, expressions: Sequence[str]) -> str:
    """Return the template with the expressions in their places."""
    for number, expression in enumerate(expressions):
        template = template.replace(f"{{{number}}}", expression)
    return template
