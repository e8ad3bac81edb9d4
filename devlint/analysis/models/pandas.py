"""pandas, HDF5, scikit-learn and scipy: tables and what is split off from them are in host memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from devlint.analysis.dispatch import INSTANCE_ATTRIBUTES, Call, method_models, models, on
from devlint.analysis.domain.values import (
    NONE,
    SOME_RANK,
    UNKNOWN,
    Array,
    External,
    Instance,
    Sequence,
    Tensor,
    Value,
    const,
)
from devlint.analysis.pytorch.results import derived
from devlint.analysis.pytorch.rows import apply_row
from devlint.semantics import table

if TYPE_CHECKING:
    from devlint.analysis.events import Site
    from devlint.analysis.machine import Machine

FRAME: Final = "pandas.DataFrame"
MIXED: Final = "mixed"
"""Under this key of its state, a table notes that a program put a column there."""
_READERS: Final = "read_csv read_excel read_parquet read_json read_table read_feather read_hdf concat merge get_dummies"
_SPARSE: Final = "issparse isspmatrix isspmatrix_csr isspmatrix_csc isspmatrix_coo"
"""Functions that ask whether something is a matrix of scipy's."""
_SAME: Final = frozenset(
    "__getitem__ drop dropna fillna sample head tail sort_values reset_index set_index astype replace rename "
    "copy query nlargest nsmallest drop_duplicates clip shift rolling diff abs round "
    "isnull isna notnull notna isin eq ne gt lt ge le ffill bfill interpolate mask where cumsum pct_change".split()
)
"""What gives another table or column."""


def _frame(machine: Machine, call: Call) -> Instance:
    return Instance(External(FRAME), machine.site(call.node, call.frame))


@models(*(f"pandas.{name}" for name in _READERS.split()))
def read(machine: Machine, call: Call) -> Value:
    """`pandas.read_csv(path)`: a table."""
    return _frame(machine, call)


@method_models(FRAME, *_SAME)
def changed(machine: Machine, value: Instance, call: Call) -> Value:
    """`table.drop(...)`, `table["column"]`: tables and columns behave alike here."""
    return UNKNOWN if MIXED in value.state else _frame(machine, call)


@method_models(FRAME, "__setitem__")
def put_column(machine: Machine, value: Instance, call: Call) -> Value:
    """`table["column"] = values`: a tensor is converted, any other column may hold objects, tensors too."""
    machine.store.put(value.state, MIXED, True)
    return _convert(machine, "pandas.Series", call)


@method_models("h5py.File", "__setitem__")
def put_dataset(machine: Machine, value: Instance, call: Call) -> Value:
    """`file["name"] = values`."""
    return _convert(machine, "h5py.File.__setitem__", call)


def _convert(machine: Machine, path: str, call: Call) -> Value:
    """What is put under a key is converted as a function of the library would."""
    row = table.lookup(path)
    if row is not None and len(call.positional) == 2 and isinstance(call.positional[1], Tensor):
        apply_row(machine, row, Call(call.positional[1:], {}, call.node, call.frame))
    return NONE


@method_models(FRAME, "to_numpy")
def to_numpy(machine: Machine, value: Instance, call: Call) -> Value:
    """`table.to_numpy()`."""
    return UNKNOWN if MIXED in value.state else Array(SOME_RANK)


@on(INSTANCE_ATTRIBUTES, FRAME)
def frame_attribute(machine: Machine, value: Instance, name: str, site: Site) -> Value | None:
    """`table.values`, `table.iloc`."""
    if MIXED in value.state:
        return None
    if name == "values":
        return Array(SOME_RANK)
    return Instance(External(FRAME), site) if name in ("loc", "iloc", "T") else None


@models("sklearn.model_selection.train_test_split")
def split(machine: Machine, call: Call) -> Value:
    """`train_test_split(x, y)`: of each two parts, of its own kind, where it is."""
    if call.open:
        return UNKNOWN
    parts: list[Value] = []
    for given in call.positional:
        parts += [_rows_of(given), _rows_of(given)]
    return Sequence("list", parts)


def _rows_of(given: Value) -> Value:
    """Some rows of what is split."""
    if isinstance(given, Tensor):
        return derived(given)
    if isinstance(given, Array):
        return Array(given.rank)
    if isinstance(given, Sequence):
        return Sequence("list", list(given.items), True)
    return given if isinstance(given, Instance) else UNKNOWN


@models(*(f"scipy.sparse.{name}" for name in _SPARSE.split()))
def is_sparse_matrix(machine: Machine, call: Call) -> Value:
    """`scipy.sparse.issparse(x)`: neither a tensor nor an array is a matrix of scipy's."""
    given = call.positional[0] if call.positional else UNKNOWN
    return const(False) if isinstance(given, (Tensor, Array)) else UNKNOWN
