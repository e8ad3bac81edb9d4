"""What DEV401 and DEV402 share: a CUDA tensor given to code that works on host memory."""

from __future__ import annotations

from collections.abc import Iterator

from devlint.analysis.events import Site, ToHost
from devlint.rules import edits, text
from devlint.rules.base import Diagnosis, FixContext, Mend
from devlint.syntax.late import cst


def diagnose(event: ToHost) -> Iterator[Diagnosis]:
    """Say which tensor is still on the accelerator; silent where a dropped or rebound move upstream is the cause."""
    operand = event.operand
    if text.newest(operand) in {"dropped", "rebound"}:
        return
    needs = f"{text.quoted(event.function)} needs host memory"
    message = needs
    if operand is not None and _same_extent(operand.site, event.site):
        how = text.origin(operand, event.root)
        message += f", and what it is given holds a tensor on {operand.device}" + (f" ({how})" if how else "")
    elif operand is not None:
        message += f": {text.described(operand, event.root)}"
    if event.further:
        more = "1 more row reads" if event.further == 1 else f"{event.further} more rows read"
        message += f", and {more} from that module"
    elif event.again:
        message += f", and so {'does 1 more call' if event.again == 1 else f'do {event.again} more calls'} in this row"
    yield Diagnosis(event.root, message, event, text.operand_trace(event, operand, f"{needs} here"))


def bring_to_cpu(diagnosis: Diagnosis, context: FixContext) -> Mend | None:
    """Insert `.cpu()` behind the tensor. None where what is passed is a container of tensors, or the result is needed
    where the tensor was."""
    event = diagnosis.event
    operand = event.operand if isinstance(event, ToHost) and event.function != "numpy operator" else None
    if operand is None or not edits.same_file(diagnosis, operand.site) or _same_extent(operand.site, event.site):
        return None
    node = context.node(operand.site)
    if node is None or " ".join(context.site_text(operand.site).split()) != operand.text:
        return None
    if isinstance(node, cst.List | cst.Tuple | cst.Dict | cst.ListComp | cst.GeneratorExp):
        return None
    suffix = ".detach().cpu()" if isinstance(event, ToHost) and event.needs_detach else ".cpu()"
    return Mend("safe", f"Copy it to the CPU first: `{suffix}`", edits.after(context, node, suffix))


def _same_extent(first: Site, second: Site) -> bool:
    """Tell whether the tensor has no text of its own in the call: it came in a list, or by `*arguments`."""
    ends = (first.at.end_lineno, first.at.end_col_offset), (second.at.end_lineno, second.at.end_col_offset)
    return first == second and ends[0] == ends[1]
