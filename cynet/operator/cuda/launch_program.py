"""Collects an operator's kernel launches, workspaces, and casts to the dtype of computation."""

from math import prod

import numpy as np

from ...cuda.families import kernel_instances
from ..parameters import LargeInt
from .kernel_args import C_TYPES, SIZEOF, bytes_of_numbers, dtype_of_c_type, round_to_dtype
from .launch import DeviceOperator
from .launch_steps import ADD, NULL, SPACE, TARGET, launch_each, launch_lines
from .registry import register_form

FLOAT_DTYPES = ("float32", "float64", "float16", "bfloat16")  # all floating dtypes


def has_kernel_instance(source, name, _sets={}):  # noqa: B006 - a cache
    """Return whether ``cuda/kernels/SOURCE.cu`` has that instance."""
    if source not in _sets:
        _sets[source] = frozenset(kernel_instances(source))
    return name in _sets[source]


def choose_kernel(template, functor, dtype, source="elementwise"):
    """Return (instance, its C type): the array's type, or double if integers have no instance."""
    for kind in (C_TYPES[dtype], "double"):
        name = f"{template}<cynet::functor::{functor}, {kind}>"
        if has_kernel_instance(source, name):
            return name, kind
    return None, None


class Steps:  # launches of forward or backward, and their workspaces
    """The kernel launches of forward or backward, in order, with their temporary memory."""

    def __init__(self, device=None):
        self.device, self.steps, self.spaces = device, [], []

    def __iadd__(self, launch):
        self.steps.append(launch)
        return self

    def reserve_bytes(self, nbytes):
        """Reserve temporary memory of `nbytes`."""
        self.spaces.append(nbytes)
        return SPACE[len(self.spaces) - 1]

    def reserve(self, n, kind):
        """Reserve temporary memory for n elements of a C type."""
        return self.reserve_bytes(n * SIZEOF[kind])

    def to_ctype(self, array, dtype, n, kind, **options):
        """Return n elements of `dtype` in the C type `kind`: `array` itself, or a cast copy."""
        own = C_TYPES[dtype]
        if own == kind:
            return array
        copy = self.reserve_bytes(n * SIZEOF[kind])
        self += convert(n, own, kind, array, copy, False, **options)
        return copy

    def add_launch(self, array, dtype, n, kind, launch, adds_cast=False):
        """Add `launch`, which computes the values of `array`, its TARGET, in the C type `kind`. If
        `kind` is not the array's own type, the result is cast, as in the CPU's loops: if the
        request is to add, the sum, or with `adds_cast` the summand."""
        own, launch.to = C_TYPES[dtype], (array.index, 1)
        target = array if own == kind else self.reserve_bytes(n * SIZEOF[kind])
        known = [(TARGET, target)] + [(ADD, False)] * (own != kind and adds_cast)
        launch.given = [next((b for a, b in known if a is given), given) for given in launch.given]
        if own == kind:
            self += launch
            return
        if not adds_cast:
            back = {"to": launch.to, "when": ("add",)}
            self += convert(n, own, kind, array, target, False, **back)
        self += launch
        self += convert(n, kind, own, target, array, ADD if adds_cast else False, to=launch.to)


_MAX_CACHED_NUMBERS = 4096  # numbers on a device that are cached for the next operator
_ENOUGH_THREADS = 1 << 16  # threads that keep a device busy
_MIN_PART_ELEMENTS = 1 << 13  # minimum of elements that one part of a reduction sums


def fold(steps, reducer, kind, source, target, walk, divisor=1.0):
    """Launches of ``target (+)= the reduction of source`` over the Axes `walk`, with the reducer
    and C type of reduce.cu: a block for each output, a thread where neighbours are kept or little
    is reduced; in parts where few outputs are made of much."""
    count, reduced = walk.preserved_size, walk.reduced_size
    last = walk.preserved_stride[walk.n_preserved - 1] if walk.n_preserved else 0
    columns = (last == 1 and count >= 32) or reduced <= 16
    threads = count if columns else count * 256
    parts = max(
        1,
        min(
            _ENOUGH_THREADS // threads,
            reduced // (_MIN_PART_ELEMENTS // 64 if columns else _MIN_PART_ELEMENTS),
            1024,
        ),
    )
    name = f"<cynet::{reducer}, {kind}>"
    to, space = (target.index, 1), NULL
    if parts > 1:
        space = steps.reserve_bytes(count * parts * 8)
    arguments = source, target, space, walk, divisor, ADD
    if columns:
        launch = launch_each(count, "reduce", f"reduce_columns{name}", *arguments, to=to)
    else:
        launch = launch_lines(count, reduced // parts, "reduce", f"reduce{name}", *arguments, to=to)
    launch.grid = (launch.grid[0], parts, 1)
    steps += launch
    if parts > 1:
        steps += launch_lines(
            count,
            32,
            "reduce",
            f"merge_parts{name}",
            space,
            target,
            count,
            parts,
            divisor,
            ADD,
            to=to,
        )


def operator(device, forward, backward=None):
    """Build the DeviceOperator that runs the `Steps` of forward and backward."""
    backward = backward or Steps()
    return DeviceOperator(device, forward.steps, backward.steps, forward.spaces, backward.spaces)


def launch_form(*classes):
    """Register the GPU form of operators: a function (prop, shapes, types, forward, backward) that
    adds launches to the `Steps` of the two directions."""

    def register(fill):
        def builder(prop, shapes, types, device):
            forward, backward = Steps(device), Steps(device)
            fill(prop, shapes, types, forward, backward)
            return operator(device, forward, backward)

        register_form(*classes)(builder)
        return fill

    return register


def apply_functor(n, functor, kind, source, target, add=ADD, **options):
    """A launch of ``target (+)= functor(source)``, in the C type `kind`."""
    name = f"unary<cynet::functor::{functor}, {kind}>"
    return launch_each(n, "elementwise", name, source, target, n, add, **options)


def identity(n, dtype, source, target, add=ADD, **options):
    """A launch of ``target (+)= source``."""
    return apply_functor(n, "identity", C_TYPES[dtype], source, target, add, **options)


def convert(n, own, kind, source, target, add=ADD, **options):
    """A launch of ``target (+)= source``, a cast from the C type `own` to `kind`."""
    return launch_each(n, "cast", f"cast<{own}, {kind}>", source, target, n, add, **options)


def fill_range(n, kind, target, start, step=0.0, repeat=1, add=ADD, **options):
    """A launch of ``target[i] (+)= start + step * (i // repeat)``."""
    numbers = start, step, repeat, add
    return launch_each(n, "fill", f"progression<{kind}>", target, n, *numbers, **options)


def zeros(shape, dtype, array):
    """A launch that writes zeros, unless the request is to add."""
    n = prod(shape) * SIZEOF[C_TYPES[dtype]]
    return launch_each(n, "fill", "zero_bytes", array, n, to=(array.index, 1), when=("write",))


def constant(device, number, dtype, kind):
    """Device memory with one number, rounded to the array's dtype and stored as the C type."""
    value = np.int64(number.exact) if isinstance(number, LargeInt) else np.float64(number)
    if dtype not in FLOAT_DTYPES and value.dtype.kind == "f":  # cast via an int, as in convert.h
        with np.errstate(invalid="ignore"):
            value = value.astype("i8" if dtype == "int64" else "i4").astype(dtype)
    data = bytes_of_numbers(round_to_dtype(value, dtype), dtype_of_c_type(kind))
    constants = device.__dict__.setdefault("constants", {})
    if data not in constants:
        if len(constants) >= _MAX_CACHED_NUMBERS:  # operators hold references to programs in use
            constants.clear()
        constants[data] = device.upload(data)
    return constants[data]
