"""Parses the contexts of a Parameter."""

from ...base.errors import ArgumentTypeError, shown
from ...context import Context, current_context, read_context


def context_list(ctx):
    """Return a list of Contexts, from one, several, or None for the current context."""
    if ctx is None:
        return [current_context()]
    if isinstance(ctx, (Context, str)):
        ctx = [ctx]
    try:
        return [
            Context(each) if isinstance(each, Context) else _parse_context(each) for each in ctx
        ]
    except TypeError:
        raise ArgumentTypeError(
            f"ctx must be a Context or a list of them, got {shown(ctx)}"
        ) from None


def _parse_context(text):
    if text is None:
        raise ArgumentTypeError("ctx must be a Context or a list of them, got a None among them")
    return read_context(text)


def device_indices(contexts):
    """Return two dicts of device id to index in the list: for GPUs, and for the host, where
    ordinary, pinned and shared memory are one device."""
    found = {}, {}
    for i, ctx in enumerate(contexts):
        found[ctx.device_typeid & 1].setdefault(ctx.device_id, i)
    return found
