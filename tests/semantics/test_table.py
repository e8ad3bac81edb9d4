"""The format of the table files, and the matching of arguments."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devlint.semantics import table
from devlint.semantics.table import Parameter, State, TableError, bind, lookup, parse
from tests.shell import readme


def row(line: str, name: str = "torch.f") -> table.Row:
    return parse(name, line)


def found(path: str) -> table.Row:
    known = lookup(path)
    assert known is not None
    return known


def test_a_line_says_parameters_effect_and_result() -> None:
    known = row("(input, other, *, alpha?, out?): combine(input, other) -> tensor rank=broadcast")
    assert known.parameters == (
        Parameter("input", "positional", False),
        Parameter("other", "positional", False),
        Parameter("alpha", "keyword", True),
        Parameter("out", "keyword", True),
    )
    assert (known.effect, known.concerned, known.result, known.rank) == (
        "combine",
        ("input", "other"),
        "tensor",
        "broadcast",
    )
    assert known.demands == (("input", "combine"), ("other", "combine"), ("out", "strict"))


def test_the_first_parameter_of_a_method_is_its_receiver() -> None:
    known = row("(input, mask, value): strict(input, mask, value:combine)", "torch.Tensor.masked_fill")
    assert [p.name for p in known.parameters] == ["mask", "value"]
    assert known.demands == (("self", "strict"), ("mask", "strict"), ("value", "combine"))


def test_what_is_written_to_is_no_exception_for_0_dimensional_tensors() -> None:
    known = row("(other): combine(self, other) -> tensor", "torch.Tensor.add_")
    assert known.result == "same"
    assert "inplace" in known.flags
    assert known.demands == (("self", "strict"), ("other", "combine"))


def test_demands_that_are_no_agreement_are_not_concerned() -> None:
    known = row("(size, generator?): create(generator:generator) -> tensor")
    assert known.concerned == ()
    assert known.demands == (("generator", "generator"),)


def test_the_first_of_an_index_is_the_indexed() -> None:
    assert row("(key): index(self, key) -> tensor").demands == (("self", "strict"), ("key", "index"))


def test_results_flags_notes_and_fields() -> None:
    known = row(
        "(a, dim?): keep(a) -> tuple(tensor, tuple(tensor, tensor)) [dim: named(values, indices)] rank=2 "
        '+synchronizes +loss since=2.6 "a note, with words"'
    )
    assert known.result == "tuple(tensor, tuple(tensor, tensor))"
    assert known.result_if == (("dim", "named(values, indices)"),)
    assert known.flags == {"synchronizes", "loss"}
    assert (known.rank, known.since, known.reason) == ("2", "2.6", "a note, with words")


def test_a_name_without_parentheses_is_a_property() -> None:
    known = row(": metadata(self) -> device", "torch.Tensor.device")
    assert known.parameters == ()
    assert "property" in known.flags


def test_state_has_conditions_and_defaults() -> None:
    known = row("(affine?): module state=weight,bias(affine=False),~running_mean(track=True),out_proj.bias(bias=True)")
    assert known.state == ("weight", "bias", "running_mean", "out_proj.bias")
    assert known.states[1:3] == (State("bias", False, "affine", False), State("running_mean", True, "track", True))


def test_a_module_knows_what_its_call_gives() -> None:
    known = found("torch.nn.LSTM")
    assert known.family == "rnn"
    assert known.forward_result == "tuple(tensor, tuple(tensor, tensor))"
    assert found("torch.nn.Conv2d.forward").concerned == ("input", "weight", "bias")


@pytest.mark.parametrize(
    "line",
    [
        "(a): moves(a)",
        "(a): keep(a:everywhere)",
        "(a): keep(a) -> tensor colour=red",
        "(a): keep(a) -> tensor and more",
        "keep(a)",
    ],
)
def test_a_line_that_is_wrong_is_refused(line: str) -> None:
    with pytest.raises(TableError):
        row(line)


@pytest.mark.parametrize("name", table.tables())
def test_every_line_of_every_table_can_be_read(name: str) -> None:
    rows = list(table.rows(name))
    assert rows
    for known in rows:
        named = {p.name for p in known.parameters} | {"self"}
        state = {s.name for s in found(known.name.removesuffix(".forward")).states} if "forward" in known.name else ()
        for argument in (*known.concerned, *(argument for argument, _ in known.demands)):
            assert argument in named or argument in state or argument == "parameters", (known.name, argument)


def test_braces_give_every_combination() -> None:
    assert list(table.expand("a.{b,c}{,_}")) == ["a.b", "a.b_", "a.c", "a.c_"]


def test_names_of_other_places_lead_to_the_public_row() -> None:
    assert found("torch.nn.modules.linear.Linear").name == "torch.nn.Linear"
    assert found("torch.optim.adam.Adam").name == "torch.optim.Adam"
    assert found("torch.utils.data.dataloader.DataLoader").effect == "model"
    assert found("torch.nn.parameter.Parameter").effect == "keep"
    assert lookup("torch.no_such_function") is None
    assert lookup("unheard_of.function") is None


def test_a_star_stands_for_direct_members_only() -> None:
    assert found("sklearn.metrics.f1_score").effect == "host-library"
    assert lookup("sklearn.metrics.deep.er") is None


def test_rows_of_ones_own_go_first() -> None:
    try:
        own = "transformers.AutoModel.from_pretrained(name): none"
        table.extend(["speech.PaddedBatch(data): instance(data) to=in-place", 'torch.add(a): unknown "mine"', own])
        assert found("transformers.AutoModel.from_pretrained").effect == "none"
        assert found("transformers.BertModel.from_pretrained").effect == "module"
        assert found("speech.PaddedBatch").to == "in-place"
        assert found("torch.add").effect == "unknown"
        with pytest.raises(TableError):
            table.extend(["speech.load(path): makes"])
        with pytest.raises(TableError):
            table.extend(["speech.load"])
    finally:
        table.forget()
    assert found("torch.add").effect == "combine"
    assert lookup("speech.PaddedBatch") is None


def test_arguments_are_matched_by_position_and_name() -> None:
    add = found("torch.Tensor.add")
    assert bind(add, ["x"], {"alpha": 2}, receiver="r") == {"self": "r", "other": "x", "alpha": 2}
    zeros = found("torch.zeros")
    assert bind(zeros, [2, 3], {"device": "cuda"}) == {"size": [2, 3], "device": "cuda"}
    assert bind(zeros, [], {"size": (2, 3)}) == {"size": [(2, 3)]}


def test_the_names_of_numpy_mean_those_of_torch() -> None:
    assert bind(found("torch.Tensor.sum"), [], {"axis": 1, "keepdims": True}) == {"dim": 1, "keepdim": True}
    assert bind(found("torch.nn.RMSNorm.forward"), [], {"x": 1}) == {"x": 1}


@given(
    st.lists(st.integers(), max_size=6), st.dictionaries(st.sampled_from(["alpha", "out", "other", "odd"]), st.none())
)
def test_no_argument_is_invented(args: list[int], kwargs: dict[str, None]) -> None:
    bound = bind(found("torch.add"), args, dict(kwargs))  # type: ignore[misc, arg-type]
    for value in bound.values():
        assert value is None or value in args


def test_a_row_costs_no_reading_of_the_others() -> None:
    """In a fresh process: how many functions are entered, Python's and C's, for the largest index and one row."""
    program = (
        "import sys\nfrom devlint.semantics import table\n"
        "entered = 0\n"
        "def count(frame, event, argument):\n"
        "    global entered\n    entered += event in ('call', 'c_call')\n"
        "sys.setprofile(count)\ntable.lookup('torch.add')\nsys.setprofile(None)\nprint(entered)"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    lines = (Path(table.__file__).parent / "torch.tbl").read_text(encoding="utf-8").splitlines()
    assert int(run.stdout) < 12 * len(lines)


def test_linting_does_not_import_torch() -> None:
    program = (
        "import sys\nfrom devlint.semantics import table, errors\n"
        "table.lookup('torch.add')\nprint('torch' in sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "False"


def test_the_table_files_are_in_the_package() -> None:
    folder = Path(table.__file__).parent
    assert {path.stem for path in folder.glob("*.tbl")} == set(table.tables())


def test_every_word_of_the_tables_is_documented() -> None:
    text = (Path(__file__).parents[2] / "docs" / "semantics.md").read_text(encoding="utf-8")
    explained = set(re.findall(r"`([\w-]+?)(?:\(\.\.\)|\(values, indices\))?`", text))
    used: set[str] = set()
    for name in table.tables():
        for known in table.rows(name):
            results = [known.result, *(result for _, result in known.result_if)]
            used |= {result.partition("(")[0] for result in results}
            used |= {known.effect, known.rank, known.family, *known.flags, *(demand for _, demand in known.demands)}
    assert {word for word in used if word and not word.isdigit() and word != "container"} <= explained


def test_the_page_says_how_many_rows_there_are() -> None:
    page = readme.SEMANTICS.read_text(encoding="utf-8")
    said = re.findall(r"^\| `(\w+)\.tbl` \|", page, re.MULTILINE)
    assert sorted(said) == sorted(table.tables())
    assert readme.with_counts(page) == page, "`make readme` brings docs/semantics.md up to date"


def test_the_numbers_of_rows_are_written() -> None:
    line = f"| `graphs.tbl` | PyG, DGL | {sum(1 for _ in table.rows('graphs')):,} |\n"
    assert readme.with_counts("| `graphs.tbl` | PyG, DGL | 1,234 |\n") == line
