"""The abstract interpreter: it tells what happens in each world (events) and judges nothing."""
