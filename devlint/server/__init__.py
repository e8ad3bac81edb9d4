"""The language server: what an editor is told while a file is typed (`devlint server`)."""
