"""Lets the tests here import `agreement`, which also runs as a program."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
