"""The undo log: what is rolled back is as before, and a fork of two equal sides changes nothing."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devlint.analysis.domain.lattice import Loss
from devlint.analysis.domain.values import Const, External, Instance, Scalar, Sequence, Tensor, const
from devlint.analysis.store import MISSING, Store

KEYS = ("a", "b", "c")
SLOTS = ("rank", "size", "pending")
WRITES = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.sampled_from(KEYS), st.integers(0, 3)),
        st.tuples(st.just("remove"), st.sampled_from(KEYS), st.just(0)),
        st.tuples(st.just("set"), st.sampled_from(SLOTS), st.integers(0, 3)),
    ),
    max_size=8,
)
Writes = list[tuple[str, str, int]]


class World:
    """A dict of names and one object, changed through a store."""

    def __init__(self, before: Writes) -> None:
        self.store = Store()
        self.names: dict[str, object] = {}
        self.tensor = Tensor(None)
        self.write(before)
        self.store.open()

    def write(self, writes: Writes) -> None:
        for kind, key, value in writes:
            if kind == "put":
                self.store.put(self.names, key, const(value))
            elif kind == "remove":
                self.store.remove(self.names, key)
            else:
                self.store.set(self.tensor, key, value)

    @property
    def state(self) -> tuple[dict[str, object], list[object]]:
        return dict(self.names), [getattr(self.tensor, slot) for slot in SLOTS]


@given(WRITES, WRITES)
def test_rollback_restores(before: Writes, writes: Writes) -> None:
    world = World(before)
    old = world.state
    mark = world.store.mark()
    world.write(writes)
    world.store.rollback(mark)
    assert world.state == old
    assert world.store.mark() == mark


@given(WRITES, WRITES)
def test_undo_restores(before: Writes, writes: Writes) -> None:
    world = World(before)
    old = world.state
    mark = world.store.mark()
    world.write(writes)
    world.store.undo(mark)
    assert world.state == old
    assert world.store.mark() == mark


@given(WRITES, WRITES)
def test_a_delta_can_be_written_again(before: Writes, writes: Writes) -> None:
    world = World(before)
    mark = world.store.mark()
    world.write(writes)
    new = world.state
    world.store.apply(world.store.rollback(mark))
    assert world.state == new


@given(WRITES, WRITES, WRITES)
def test_inner_forks_are_undone_with_the_outer(before: Writes, outer: Writes, inner: Writes) -> None:
    world = World(before)
    old = world.state
    first = world.store.mark()
    world.write(outer)
    second = world.store.mark()
    world.write(inner)
    world.store.apply(world.store.rollback(second))
    world.store.rollback(first)
    assert world.state == old


def fork(world: World, first: Writes, second: Writes) -> Loss:
    loss = Loss()
    mark = world.store.mark()
    world.write(first)
    one = world.store.rollback(mark)
    world.write(second)
    other = world.store.rollback(mark)
    world.store.merge(one, other, loss.join)
    return loss


@given(WRITES, WRITES)
def test_a_fork_of_equal_sides_is_no_fork(before: Writes, writes: Writes) -> None:
    forked, straight = World(before), World(before)
    loss = fork(forked, writes, writes)
    straight.write(writes)
    # A name that both sides delete is the one thing that a join keeps: bound on some side counts as bound.
    for name, value in straight.names.items():
        assert forked.names[name] is value
    assert forked.state[1] == straight.state[1]
    assert not loss.lost


@given(WRITES, WRITES, WRITES)
def test_the_sides_of_a_fork_have_no_order(before: Writes, first: Writes, second: Writes) -> None:
    one, other = World(before), World(before)
    losses = fork(one, first, second).lost, fork(other, second, first).lost
    assert losses[0] is losses[1]
    assert _shown(one.names) == _shown(other.names)
    assert one.state[1] == other.state[1]


def _shown(names: dict[str, object]) -> dict[str, object]:
    return {name: value.value if isinstance(value, Const) else type(value) for name, value in names.items()}


def test_what_one_side_leaves_alone_meets_what_was_there() -> None:
    world = World([("put", "a", 1)])
    fork(world, [("put", "a", 2)], [])
    assert isinstance(world.names["a"], Scalar)


def test_bound_on_one_side_is_bound() -> None:
    world = World([])
    fork(world, [("put", "a", 2)], [])
    assert world.names["a"] is const(2)


def test_items_that_only_one_side_adds_leave_the_container_open() -> None:
    store, loss = Store(), Loss()
    sequence = Sequence("list", [const(1)])
    store.open()
    mark = store.mark()
    store.set(sequence, "items", [const(1), const(2)])
    one = store.rollback(mark)
    assert sequence.items == [const(1)] and not sequence.open
    store.merge(one, {}, loss.join)
    assert sequence.open and sequence.items == [const(1), const(2)]


def test_without_a_log_nothing_is_kept() -> None:
    store = Store()
    names: dict[str, object] = {}
    store.put(names, "a", 1)
    assert store.log is None and names == {"a": 1}
    with pytest.raises(AssertionError):
        store.mark()


@pytest.mark.parametrize("change", [Store.set, lambda store, target, slot, value: store.rollback(store.mark())])
def test_the_epoch_grows(change: Callable[..., object]) -> None:
    store = Store()
    store.open()
    before = store.epoch
    change(store, Tensor("cpu"), "device", "cuda:0")
    assert store.epoch > before


def test_missing_says_so() -> None:
    assert repr(MISSING) == "MISSING"


def test_the_class_of_an_object_outlives_a_branch_that_gave_it_another() -> None:
    store, loss = Store(), Loss()
    one, other = External("torch.nn.Linear"), External("torch.nn.Bilinear")
    target = Instance(one)
    store.open()
    mark = store.mark()
    store.set(target, "cls", other)
    changed = store.rollback(mark)
    store.merge(changed, store.rollback(mark), loss.join)
    assert target.cls is one
