"""`torch.testing`: what tests compare has to be on one device."""

from __future__ import annotations

from typing import TYPE_CHECKING

from devlint.analysis.dispatch import Call, models
from devlint.analysis.domain.values import POISON, Tensor, Value
from devlint.analysis.events import MixedDevices
from devlint.analysis.pytorch.checks import is_expected
from devlint.analysis.pytorch.meeting import Part, clash_in_check
from devlint.analysis.signals import Crash
from devlint.syntax import ir

if TYPE_CHECKING:
    from devlint.analysis.machine import Machine


@models("torch.testing.assert_close")
def assert_close(machine: Machine, call: Call) -> Value | None:
    """`assert_close(actual, expected)` compares devices, too, unless it is told not to."""
    actual, expected = call.argument(0, "actual"), call.argument(1, "expected")
    if not isinstance(actual, Tensor) or not isinstance(expected, Tensor) or "check_device" in call.keywords:
        return None
    if call.open or actual.assumed or expected.assumed or None in (actual.device, expected.device):
        return None
    if POISON in (actual.device, expected.device) or actual.device == expected.device:
        return None
    if machine.run.trying or is_expected(machine, "AssertionError"):
        raise Crash("AssertionError")
    if MixedDevices in machine.wanted and isinstance(call.node, ir.Call):
        nodes = [*call.node.args, *(part for _, part in call.node.keywords)]
        pairs = [(side, Part(side, "strict", node)) for side, node in zip((actual, expected), nodes, strict=False)]
        raised = (
            f"AssertionError: The values for attribute 'device' do not match: {actual.device} != {expected.device}."
        )
        clash_in_check(machine, pairs, pairs, call.node, call.node, call.frame, raised)
    raise Crash("AssertionError")
