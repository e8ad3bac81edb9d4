"""IPython's additions become Python of the same shape."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devlint.sources.magics import foreign_cell, mask


def masked(text: str) -> str:
    return "".join(row.text for row in mask(text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("%matplotlib inline\nx = 1", "pass              \nx = 1"),
        ("%matplotlib inline\r\nx = 1", "pass              \r\nx = 1"),
        ("if a:\n    !ls\n", "if a:\n    ...\n"),
        ("!x\n", "0 \n"),
        ("torch.zeros?", "pass        "),
        ("?x", "0 "),
        ("model.fit??", "pass       "),
        ("pip install torch", "pass             "),
        ("cd ..", "pass "),
        ("ls ./data/", "pass      "),
        ("cat /etc/hosts", "pass          "),
        ("cat / 2", "cat / 2"),
        ("ls -= 1", "ls -= 1"),
        ("x = !nvidia-smi --query-gpu=name", "x = get_ipython().getoutput()   "),
        ("x = !ls", "x = get_ipython().getoutput()"),
        ("a, b = %timeit -o f(x) # long enough", "a, b = get_ipython().getoutput()    "),
        ("!pip install a \\\n   b \\\n   c\nx = 1\n", "pass            \n      \n    \nx = 1\n"),
        ("%time x = f()", "0;    x = f()"),
        ("%time", "pass "),
        ("%time  f(x)", "0;     f(x)"),
        ("if a:\n    %time for x in xs: f(x)\n", "if a:\n    pass                   \n"),
        ("%%time\nx = 1", "pass  \nx = 1"),
        ("/f x", "pass"),
        ("%env CUDA_VISIBLE_DEVICES=0,1", "__import__('os').environ['CUDA_VISIBLE_DEVICES'] = '0,1'"),
        ("%env CUDA_VISIBLE_DEVICES 2", "__import__('os').environ['CUDA_VISIBLE_DEVICES'] = '2'"),
        ("  %set_env  A  =  b c ", "  __import__('os').environ['A'] = 'b c'"),
        ("%env A={gpu},$other", "__import__('os').environ['A'] = f'{gpu},{other}'"),
        ("%env", "pass"),
        ("%env CUDA_VISIBLE_DEVICES", "pass                     "),
        ("%run -i data/prepared_by_hand.py", "exec(open(0).read())            "),
        ("%run", "pass"),
    ],
)
def test_masks(text: str, expected: str) -> None:
    assert masked(text) == expected
    ast.parse(expected.replace("  __import__", "__import__"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('run "some script.py" -h', "exec(open(0).read())   "),
        ("\n  run train.py --epochs=3\n\n", "\n  exec(open(0).read())   \n\n"),
        ("conda install y", "pass           "),
        ("mkdir z", "pass   "),
        ("mv a b", "pass  "),
        ("ll *.py", "pass   "),
        ("echo done", "pass     "),
        ("matplotlib inline", "pass             "),
        ("load_ext autoreload", "pass               "),
        ("clear -x y", "pass      "),
        ("who str", "pass   "),
        ("time f(x)", "0;   f(x)"),
        ("time y = f(x)", "0;   y = f(x)"),
        ("time for x in xs: f(x)", "pass                  "),
        ("timeit f(x)", "pass       "),
        ("env CUDA_VISIBLE_DEVICES=0", "__import__('os').environ['CUDA_VISIBLE_DEVICES'] = '0'"),
        ("set_env A 1", "__import__('os').environ['A'] = '1'"),
    ],
)
def test_a_cell_of_one_row_needs_no_percent_sign(text: str, expected: str) -> None:
    assert masked(text) == expected
    ast.parse(expected.replace("\n  ", "\n"))


@pytest.mark.parametrize(
    "text",
    [
        "pwd",
        "run(x)",
        "run (x)",
        "run.x y",
        "run = not",
        "run, x y",
        "run - x",
        "echo > x",
        "history[0]",
        "time: float = 1",
        "training some model",
        "x = 1\nrun script.py -h",
        "run script.py -h\nx = 1",
        "# two rows\nwho str",
        "if a:\n  who str",
        "x = who str",
        "time = (a\nb c)",
    ],
)
def test_no_automagic(text: str) -> None:
    assert masked(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "x = (a\n  % b)\n",
        "x = '''\n%matplotlib\n!ls\nwhat?\n'''\n",
        'x = f"""\n%a\n"""; y = """\n!b\n"""\n',
        "x = a \\\n  % b\n",
        "# what?\nx = 1 # why?\n",
        "x = 'what?'\n",
        'x = """what?\n\nIt\'s that."""\n',
        "cat = 1\nls(x)\npip.main()\ncd = cat in x\nls == 3\n",
        "x != !y\n"[:0] + "x = a != b\n",
        "d = {\n  '%s': 1, # )\n  '!': 2}\n",
        "s = 'it\\'s ((( '\nx = 1\n",
    ],
)
def test_leaves_python_alone(text: str) -> None:
    assert masked(text) == text
    assert all(row.masked is None for row in mask(text))


def test_a_magic_after_a_string_that_looks_open() -> None:
    assert masked('x = \'"""\'\n!ls x\n') == 'x = \'"""\'\npass \n'


def test_what_is_masked_is_said() -> None:
    rows = mask("if a:\n    x = !ls -l\n    %time y = 1\n")
    assert [row.masked for row in rows] == [None, (8, len(rows[1].text) - 1), (4, 10)]


@pytest.mark.parametrize(
    ("text", "foreign"),
    [
        ("%%bash\nls", True),
        ("\n  \n%%writefile x.py\nx = 1", True),
        ("%%javascript\n", True),
        ("@manual{Intro,\n title={A tutorial},\n}", True),
        ("@torch.no_grad()\ndef f(): pass", False),
        ("%%time\nx = 1", False),
        ("%%capture out\nx = 1", False),
        ("%time x", False),
        ("x = 1\n%%bash", False),
        ("# what runs on every push\n%%shell\nls", True),
        ("#@title A table\n\n  # and more\n%%html\n<table>", True),
        ("# timed\n%%time\nx = 1", False),
        ("# no magic", False),
    ],
)
def test_cells_in_other_languages(text: str, foreign: bool) -> None:
    assert foreign_cell(text) is foreign


@given(st.text("ab =!%?'\"\\\n()#[]f1,", max_size=40))
def test_rows_and_their_ends_stay(text: str) -> None:
    rows = mask(text)
    result = "".join(row.text for row in rows)
    assert result.count("\n") == text.count("\n")
    for row, written in zip(rows, text.split("\n"), strict=False):
        if row.masked is None:
            assert row.text.rstrip("\n") == written
        else:
            assert row.text[: row.masked[0]] == written[: row.masked[0]]
