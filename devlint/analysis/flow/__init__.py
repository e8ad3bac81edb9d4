"""Control flow: branches, loops and handlers, and the conditions that a world does not decide."""
