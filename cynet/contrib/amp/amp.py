"""Whether automatic mixed precision is on, as packages ask before they compute."""

_amp_initialized = False
