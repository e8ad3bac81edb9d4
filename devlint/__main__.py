"""`python -m devlint`."""

import os
import sys

if __name__ == "__main__":
    if sys.path and sys.path[0] in ("", os.getcwd()):
        del sys.path[0]  # what is linted is never imported, though it be called `random.py`
    from devlint.cli import main

    main()
