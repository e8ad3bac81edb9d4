"""The abstract domain: values, where they come from, and their join."""
