"""Entry points: which files are programs, where they are entered and with what, and what holds in another world."""
