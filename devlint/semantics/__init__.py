"""What torch, numpy and friends do with devices, as data."""
