"""The join of abstract values: no unions, no order, and what it loses is told."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devlint.analysis.domain.lattice import Loss
from devlint.analysis.domain.values import (
    BOOL,
    COUNT,
    NONE,
    NUMBER,
    POISON,
    SCALAR,
    SIZE,
    SOME_RANK,
    STRING,
    UNKNOWN,
    Array,
    Const,
    DeviceValue,
    External,
    Instance,
    Mapping,
    Maybe,
    Scalar,
    Sequence,
    Tensor,
    Unknown,
    Value,
    const,
)
from devlint.analysis.store import MISSING

NET = Instance(External("torch.nn.Linear"))
OTHER = Instance(External("torch.nn.Linear"))

LEAVES = st.one_of(
    st.sampled_from([UNKNOWN, NONE, NUMBER, STRING, BOOL, SCALAR, SIZE, NET, OTHER, External("torch.float32")]),
    st.builds(const, st.integers(-2, 2)),
    st.builds(Const, st.sampled_from(["cpu", "cuda", "cuda:0", "x", ""])),
    st.builds(Unknown, st.sampled_from([None, "args.cuda", "cfg['gpu']"])),
    st.builds(DeviceValue, st.sampled_from(["cpu", "cuda"]), st.sampled_from([None, 0, 1])),
    st.builds(
        Tensor,
        st.sampled_from([None, "cpu", "cuda:0", "cuda:1", POISON]),
        st.sampled_from([None, 0, 1, 2]),
        size=st.sampled_from([None, 3]),
        requires_grad=st.sampled_from([None, True, False]),
        dtype=st.sampled_from([None, "torch.float32"]),
    ),
    st.builds(Array, st.sampled_from([None, 1])),
    st.builds(Maybe, st.sampled_from([Tensor("cpu"), Tensor("cuda:0"), NET, DeviceValue("cpu")])),
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.builds(Sequence, st.sampled_from(["list"]), st.lists(inner, max_size=3), st.booleans()),
        st.builds(
            Mapping,
            st.dictionaries(st.sampled_from(["a", "b", 1]), inner, max_size=3),
            st.none() | inner,
            st.booleans(),
        ),
    ),
    max_leaves=5,
)


def shown(value: object) -> object:
    """A value by its content, in a form that can be compared; origins and places left out."""
    if isinstance(value, Tensor):
        return ("tensor", value.device, value.rank, value.size, value.requires_grad, value.dtype, value.is_parameter)
    if isinstance(value, (Sequence, Mapping)):
        items = value.items
        if isinstance(value, Sequence):
            return (value.kind, value.open, tuple(map(shown, value.items)))
        inside = sorted((repr(key), repr(shown(item))) for key, item in items.items())  # type: ignore[union-attr]
        return ("dict", value.open, tuple(inside), shown(value.rest))
    if isinstance(value, Maybe):
        return ("maybe", shown(value.value))
    if isinstance(value, Scalar):
        return ("scalar", value.low, value.high, value.numbers, value.kind)
    if isinstance(value, Unknown):
        return ("unknown", value.path)
    if isinstance(value, Const):
        return ("const", type(value.value), value.value)
    if isinstance(value, DeviceValue):
        return ("device", str(value))
    if isinstance(value, Array):
        return ("array", value.rank)
    return ("external", value.path) if isinstance(value, External) else value


@given(VALUES)
def test_idempotent(value: Value) -> None:
    loss = Loss()
    assert loss.values(value, value) is value
    assert not loss.lost


@given(VALUES, VALUES)
def test_commutative(a: Value, b: Value) -> None:
    one, other = Loss(), Loss()
    assert shown(one.values(a, b)) == shown(other.values(b, a))
    assert one.lost is other.lost


@given(VALUES, VALUES)
def test_joined_again_it_stays(a: Value, b: Value) -> None:
    joined = Loss().values(a, b)
    assert shown(Loss().values(joined, joined)) == shown(joined)
    if not isinstance(joined, (Sequence, Mapping)):
        again = Loss().values(joined, a)
        assert shown(again) in (shown(joined), shown(UNKNOWN))


@given(VALUES)
def test_absence_gives_way(value: Value) -> None:
    loss = Loss()
    assert loss.join(MISSING, value) is value
    assert loss.join(value, MISSING) is value
    assert not loss.lost


TENSORS = st.sampled_from([None, "cpu", "cuda:0", "cuda:1"]).map(Tensor)


@given(TENSORS)
def test_a_way_that_has_failed_says_nothing_of_the_other(tensor: Tensor) -> None:
    for a, b in ((tensor, Tensor(POISON)), (Tensor(POISON), tensor)):
        loss = Loss()
        joined = loss.values(a, b)
        assert isinstance(joined, Tensor) and joined.device == tensor.device
        assert not loss.lost
        assert loss.join(a.device, b.device) == tensor.device
    both = Loss().values(Tensor(POISON), Tensor(POISON))
    assert isinstance(both, Tensor) and both.device == POISON


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (Tensor("cpu"), Tensor("cuda:0")),
        (Tensor("cpu"), NONE),
        (NET, OTHER),
        (NET, UNKNOWN),
        (DeviceValue("cpu"), DeviceValue("cuda", 0)),
        (DeviceValue("cuda", 0), DeviceValue("cuda", 1)),
        (Const("cpu"), Const("cuda")),
        (Const("cuda"), NONE),
        (Sequence("list", []), Sequence("list", [Tensor("cpu")])),
        (Sequence("list", [Tensor("cpu")]), Sequence("list", [Tensor("cuda:0")])),
        (Mapping({"a": Tensor("cpu")}), Mapping({"a": Tensor("cuda:0")})),
    ],
)
def test_a_lost_device_is_told(a: Value, b: Value) -> None:
    loss = Loss()
    loss.values(a, b)
    assert loss.lost


@pytest.mark.parametrize(
    ("a", "b", "joined"),
    [
        (const(1), const(2), ("scalar", 1, 2, frozenset((1, 2)), "number")),
        (const(1), const(True), ("scalar", None, None, None, "")),
        (Const("a"), Const("b"), ("scalar", None, None, None, "string")),
        (Scalar(3, "number"), Scalar(1, "number"), ("scalar", 1, None, None, "number")),
        (Scalar(3, "number"), const(-1), ("scalar", -1, None, None, "number")),
        (const(1), External("x"), ("unknown", None)),
        (Unknown("args.a"), Unknown("args.b"), ("unknown", None)),
        (Unknown("args.a"), Unknown("args.a", True), ("unknown", "args.a")),
        (External("a.b"), External("a.b"), ("external", "a.b")),
        (Tensor("cpu", 0), Tensor("cpu", 2), ("tensor", "cpu", None, None, None, None, False)),
        (Array(1), Array(2), ("array", SOME_RANK)),
        (Array(0), Array(2), ("array", None)),
    ],
)
def test_what_is_harmless_is_lost_in_silence(a: Value, b: Value, joined: object) -> None:
    loss = Loss()
    assert shown(loss.values(a, b)) == joined
    assert not loss.lost


@pytest.mark.parametrize("other", [UNKNOWN, NONE, const("other.pt"), STRING])
def test_the_name_of_a_saved_file_is_lost_aloud(other: Value) -> None:
    for pair in ((const("made.pt"), other), (other, const("made.pt"))):
        loss, silent = Loss(), Loss()
        loss.files.add("made.pt")
        loss.values(*pair)
        assert loss.lost
        silent.files.add("another.pt")
        silent.values(*pair)
        assert not silent.lost


def test_of_many_integers_the_bounds_are_known() -> None:
    loss, joined = Loss(), const(0)
    for number in range(1, 20):
        joined = loss.values(joined, const(number))  # type: ignore[assignment]
    assert shown(joined) == ("scalar", 0, 19, None, "number")


def test_what_may_go_on_has_no_bounds() -> None:
    loss = Loss()
    assert shown(loss.without_bounds(const(0), const(1))) == ("scalar", None, None, None, "number")
    assert shown(loss.without_bounds(loss.values(const(0), const(1)), Scalar(2, "number"))) == shown(COUNT)
    assert loss.bounds


def test_tensors_of_one_device_stay_there() -> None:
    loss = Loss()
    joined = loss.values(Tensor("cuda:0", is_parameter=True), Tensor("cuda:0"))
    assert isinstance(joined, Tensor) and joined.device == "cuda:0" and not joined.is_parameter
    assert not loss.lost


def test_keys_of_one_side_stay_and_open_the_dict() -> None:
    joined = Loss().values(Mapping({"a": const(1)}), Mapping({"b": const(2)}))
    assert isinstance(joined, Mapping)
    assert joined.open and set(joined.items) == {"a", "b"}
