"""Loops over functors, broadcast and fused, and functions of each element."""
