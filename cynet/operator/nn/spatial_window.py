"""Windows that slide over 1 to 3 spatial axes: shared by Convolution and Pooling."""

from ...base.errors import ArgumentError, ShapeError

MAX_LENGTH = (1 << 31) - 1  # maximum length: products of two positions fit 64 bits
CHANNELS_FIRST = {1: "NCW", 2: "NCHW", 3: "NCDHW"}  # layouts by number of spatial axes
CHANNELS_LAST = {1: "NWC", 2: "NHWC", 3: "NDHWC"}  # layouts by number of spatial axes
LAYOUTS = (*CHANNELS_FIRST.values(), *CHANNELS_LAST.values())  # all that `layout` accepts


def is_channels_last(layout: str | None) -> bool:
    """Return whether arrays of that layout have their channels on the last axis."""
    return layout is not None and layout.endswith("C")


def channels_first_shape(shape: tuple[int, ...], layout: str | None) -> tuple[int, ...]:
    """The shape of an array (or a weight) of that layout, reordered to (N, C, *size).

    >>> channels_first_shape((8, 32, 24, 3), "NHWC")
    (8, 3, 32, 24)
    """
    return (shape[0], shape[-1], *shape[1:-1]) if is_channels_last(layout) else tuple(shape)


def shape_in_layout(shape, layout):
    """The inverse of `channels_first_shape`: the shape, in that layout, of an array (N, C, *size).

    >>> shape_in_layout((8, 3, 32, 24), "NHWC")
    (8, 32, 24, 3)
    """
    return (shape[0], *shape[2:], shape[1]) if is_channels_last(layout) else tuple(shape)


def check_window(where, kernel, layout, **windows):
    """Extend stride, pad and so on to the kernel's length.

    where (str): Names the operator in messages.
    kernel: tuple of int
    layout: str or None
    windows (tuple (value, default, least)): Value as given (empty: all default), default and
        smallest allowed number, by parameter name.

    Returns list of tuple of int. Raises ArgumentError: naming the parameter, its value and what was
    expected.
    """
    n = len(kernel)
    if n not in CHANNELS_FIRST or min(kernel) < 1 or max(kernel) > MAX_LENGTH:
        raise ArgumentError(
            f"{where}: kernel {kernel} must have 1 to 3 numbers, each from 1 to {MAX_LENGTH}"
        )
    if layout not in (None, CHANNELS_FIRST[n], CHANNELS_LAST[n]):
        raise ArgumentError(
            f"{where}: layout '{layout}' is not available for kernel {kernel}; use "
            f"'{CHANNELS_FIRST[n]}' or '{CHANNELS_LAST[n]}'"
        )
    complete = []
    for name, (value, default, least) in windows.items():
        value = value or (default,) * n
        if len(value) != n or min(value) < least or max(value) > MAX_LENGTH:
            raise ArgumentError(
                f"{where}: {name} {value} must have {n} numbers like kernel "
                f"{kernel}, each from {least} to {MAX_LENGTH}"
            )
        complete.append(value)
    return complete


def check_rank(name, shape, kernel, layout=None):
    """Raise ShapeError unless `shape` has batch, channel and one axis per number of `kernel`."""
    if shape is not None and len(shape) != len(kernel) + 2:
        raise ShapeError(
            f"{name} has shape {tuple(shape)}, expected {len(kernel) + 2} axes "
            f"({layout or CHANNELS_FIRST[len(kernel)]}) for kernel {tuple(kernel)}"
        )


def slide_length(kernel, axis, size, pad):
    """Return how far a window can slide along that spatial axis; ShapeError if it is too large."""
    span = size + 2 * pad - kernel[axis]
    if span < 0:
        raise ShapeError(
            f"kernel {kernel} is larger than the input along spatial axis {axis}: "
            f"{size} + 2 * {pad} (pad) = {size + 2 * pad}"
        )
    return span


def to_3d(values, fill):
    """Return three values: `fill` before `values`, since every window is computed as a 3-d one."""
    return (fill,) * (3 - len(values)) + tuple(values)
