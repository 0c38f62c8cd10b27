"""Elements moved: strided copies, transposition, gathers, sorting, ranges."""
