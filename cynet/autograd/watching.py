"""Who is told of each step that backward takes."""

watchers = []  # one function, or none


def set_watch(watch):
    """Have ``watch(node, number of an input, its gradient so far or None)`` called after each step
    back; None: no longer."""
    watchers[:] = [] if watch is None else [watch]
