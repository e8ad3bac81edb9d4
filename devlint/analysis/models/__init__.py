"""Hand-written models of what the tables cannot say: the standard library, loaders, optimizers, frameworks."""
