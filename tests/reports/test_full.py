"""The format for people."""

from __future__ import annotations

import re
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from devlint.findings import Edit, Fix, Position
from devlint.reports.style import shown, width_of
from tests.reports.examples import ATTRIBUTE, COMPARED, DROPPED, UNREAD, page, rendered, rows


def test_a_page() -> None:
    assert (
        rendered("full", ATTRIBUTE, checked=2)
        == """\
model.py:5:9: DEV501 tensor-attribute: `self.attn_bias` stays on the CPU when the module moves
  |
5 |         self.attn_bias = alibi_2d(heads, patches)
  |         ^^^^^^^^^^^^^^ a plain tensor attribute, created on cpu
  |
9 |         return scores + self.attn_bias
  |                ------   -------------- cpu
  |                cuda:0, from `tokens`
  --> main.py:3
  |
3 | model = model.Encoder(8, 4).to(device)
  |         ------------------------------ the module moves to cuda:0 here
  |
  = breaks on gpu1, gpu2: RuntimeError: Expected all tensors to be on the same device, but found at
      least two devices, cuda:0 and cpu!
  = when: `args.cuda` is true (main.py:1)
  = help: A buffer moves with its module.
  = fix (unsafe): register it as a buffer
      self.register_buffer("attn_bias", alibi_2d(heads, patches))

Found 1 error in 2 files. Worlds: cpu ok, gpu1 1, gpu2 1.
1 fixable with `--fix --unsafe-fixes`.
"""
    )


def test_cells_and_errors_by_world() -> None:
    assert (
        rendered("full", DROPPED)
        == """\
nb.ipynb:cell 2:2:1: DEV201 dropped-move: the result of `x.to(device)` is thrown away
  |
2 | x.to(device)
  | ^^^^^^^^^^^^
  |
  = breaks on gpu1: RuntimeError: Expected all tensors to be on the same device, but found at least
      two devices, cuda:0 and cpu!
  = breaks on gpu2: RuntimeError: another error
  = fix (safe): assign it back
      x = x.to(device)

Found 1 error in 1 file. Worlds: cpu ok, gpu1 1, gpu2 1.
1 fixable with `--fix`.
"""
    )


def test_silent_bugs_and_files_that_could_not_be_checked() -> None:
    assert (
        rendered("full", COMPARED, UNREAD)
        == """\
main.py:1:8: DEV701 device-compared-with-string: never equal: 50 %, x,y:z second row
  |
1 | import model
  |        ^^^^^
  |
  = goes wrong on cpu: no error is raised

main.py:3:7: DEV000 not-analysed: invalid syntax
  |
3 | model = model.Encoder(8, 4).to(device)
  |       ^

Found 1 error and 1 warning in 1 file. Worlds: cpu 1, gpu1 ok, gpu2 ok; 1 could not be checked.
"""
    )


def test_nothing_found() -> None:
    assert rendered("full", checked=3) == "Found no errors in 3 files. Worlds: cpu ok, gpu1 ok, gpu2 ok.\n"
    assert rendered("full", checked=3, summary=False) == ""


def test_a_source_that_is_not_at_hand() -> None:
    assert rendered("full", UNREAD, sources={}, summary=False) == "main.py:3:7: DEV000 not-analysed: invalid syntax\n"


def test_wide_characters_and_tabs_keep_carets_in_place() -> None:
    assert list(rows(page("\tx = '日本' + é\u0301 + y\n", (1, 2, 3, "x"), (1, 13, 15, "wide"), (1, 18, 19, "y")))) == [
        "  |",
        "1 |     x = '日本' + é\u0301 + y",
        "  |     ^            -   - y",
        "  |     |            wide",
        "  |     x",
    ]


def test_tabs_reach_to_the_next_stop() -> None:
    assert list(rows(page("if x:\ty = z\n", (1, 11, 12, "z"))))[1:] == ["1 | if x:   y = z", "  |             ^ z"]


def test_steps_at_one_place_are_said_together() -> None:
    assert list(rows(page("x = y\n", (1, 1, 2, "made"), (1, 1, 2, "moved"), (1, 1, 2, "made"))))[2:] == [
        "  | ^ made; moved"
    ]


def test_labels_that_overlap() -> None:
    assert list(rows(page("a = f(x, y)\n", (1, 5, 12, "whole"), (1, 7, 8, "x"), (1, 10, 11, "y")))) == [
        "  |",
        "1 | a = f(x, y)",
        "  |     ^^^^^^^",
        "  |     | |  y",
        "  |     | x",
        "  |     whole",
    ]


def test_a_message_that_reaches_far_goes_below() -> None:
    text = "x = " + "f" * 70 + "(y)\n"
    assert list(rows(page(text, (1, 5, 78, "a message of some forty columns of text"))))[2:] == [
        "  |     " + "^" * 73,
        "  |     a message of some forty columns of text",
    ]


def test_enormous_rows_are_cut_around_what_is_said() -> None:
    text = "x = [" + "1, " * 400 + "target, " + "2, " * 400 + "]\n"
    column = text.index("target") + 1
    _, shown_row, marks = rows(page(text, (1, column, column + 6, "here")))
    assert len(shown_row) < 160
    assert shown_row.index("target") == marks.index("^")
    assert "^^^^^^ here" in marks
    assert shown_row.startswith("1 | ...")
    assert shown_row.endswith("...")


def test_control_characters_cannot_steer_the_terminal() -> None:
    text = page("x = '\x1b[2J\u202e'\n", (1, 1, 2, "here"))
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "x = '\ufffd[2J\ufffd'" in text


def test_colour_only_when_asked() -> None:
    plain = rendered("full", ATTRIBUTE, COMPARED)
    colored = rendered("full", ATTRIBUTE, COMPARED, color=True)
    assert "\x1b" not in plain
    assert "\x1b[1;31m^^^^^^^^^^^^^^\x1b[0m" in colored
    assert re.sub(r"\x1b\[[0-9;]*m", "", colored) == plain


def test_a_fix_of_several_rows() -> None:
    edits = (
        Edit("", Position(5, 9), Position(6, 1)),
        Edit("\n        scores = f(\n            scores)", Position(8, 39), Position(8, 39)),
    )
    finding = replace(ATTRIBUTE, fix=Fix("safe", "move it", edits))
    assert rendered("full", finding, summary=False).splitlines()[-5:] == [
        "  = fix (safe): move it",
        "",
        "      scores = tokens @ self.weight",
        "      scores = f(",
        "          scores)",
    ]


@given(st.text("aé日\t\u0301 😀\x00", max_size=30), st.data())
def test_carets_stand_below_what_they_mark(text: str, data: st.DataObject) -> None:
    line = text + "x"
    index = data.draw(st.integers(0, len(line) - 1))
    result = shown(line)
    before = sum(width_of(character) for part in result.parts[:index] for character in part)
    assert result.column(index) == before
    assert result.width == sum(width_of(character) for character in result.text)
