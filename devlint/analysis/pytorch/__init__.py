"""torch: devices, tensors, modules, and what happens where they meet."""
