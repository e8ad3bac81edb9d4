"""The commands, one file each; each has a click command of the name of its file."""
