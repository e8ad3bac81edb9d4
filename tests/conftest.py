"""Property tests find the same programs each time: what a change broke is told apart from what was found just now.

`HYPOTHESIS_PROFILE=exploring` (`make explore`) looks at new ones.
"""

from __future__ import annotations

import os

from hypothesis import settings

settings.register_profile("repeatable", deadline=None, derandomize=True)
settings.register_profile("exploring", deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))
