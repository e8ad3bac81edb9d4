"""devlint: a device-consistency static checker for PyTorch, with a runtime companion that proves what it says."""

__version__ = "0.1.0"
