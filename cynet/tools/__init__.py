"""Command-line programs, for example ``python -m cynet.tools.im2rec``."""
