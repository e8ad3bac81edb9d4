"""The rules, one file each. `CATALOGUE` lists them by name, so that importing a file has no side effect."""
