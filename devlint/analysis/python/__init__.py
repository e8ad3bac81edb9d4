"""The language: statements, expressions, calls, classes, containers and builtins."""
