"""Text that nests thousands deep ends in an exception, never in a crash of the process."""

from __future__ import annotations

import subprocess
import sys

import pytest

DEEP = {
    "brackets": "'(' * 3000 + ')' * 3000",
    "signs": "'-' * 100000 + '1'",
    "attributes": "'a' + '.b' * 100000",
    "sums": "'1' + '+1' * 100000",
    "sums that parse": "'1' + '+1' * 900",
    "elif": "'if x: pass\\n' + 'elif x: pass\\n' * 20000",
    "elif that parse": "'if x: pass\\n' + 'elif x: pass\\n' * 700",
    "not": "'not ' * 5000 + 'a'",
    "blocks": "''.join(' ' * i + 'if x:\\n' for i in range(95)) + ' ' * 95 + 'pass'",
    "conditionals": "'a' + ' if a else a' * 20000",
    "lambdas": "'lambda: ' * 20000 + 'a'",
    "targets": "'x=' * 50000 + 'a'",
    "calls": "'a' + '()' * 20000",
    "and": "'a' + ' and a' * 50000",
    "powers": "'a' + '**a' * 20000",
    "strings": "'\"a\" ' * 20000",
    "f-strings": "'f\"{' * 100 + 'a' + '}\"' * 100",
    "patterns": "'match x:\\n case ' + '[' * 3000 + ']' * 3000 + ': pass'",
    "newer syntax": "'type X = ' + '-' * 100000 + '1'",
}

SCRIPT = """
import sys
from devlint.syntax import ir
from devlint.syntax.frontend import lower
sys.path.insert(0, "")
from tests.syntax.dump import walk
text = {text}
for front_end in ("ast", "libcst", "auto"):
    try:
        list(walk(lower(text, "x.py", front_end).body))
    except (SyntaxError, ValueError, RecursionError) as error:
        print(front_end, type(error).__name__)
    else:
        print(front_end, "lowered")
"""


@pytest.mark.parametrize("text", DEEP.values(), ids=list(DEEP))
def test_deep_nesting(text: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT.format(text=text)], capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert len(done.stdout.splitlines()) == 3
