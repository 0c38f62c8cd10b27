"""Descriptions of kernel launches, with placeholders for arrays that only a call has.

``IN[0]``, ``OUT[0]``, ``OUT_GRAD[0]``, ``IN_GRAD[0]``, ``AUX[0]``, ``SPACE[0]`` are pointers, to
the operator's tensors and its temporary memory; ``ADD`` is the int that says whether the request of
the array a launch writes is to add; ``RANDOM`` is the run's random stream (``RandomStream`` of
random.cu).
A Python int is a ``long long`` of the kernel, a bool an ``int``, a float a ``double``, a ctypes
structure itself, and what `Device.upload` gave a pointer.
"""

import ctypes
from typing import NamedTuple

from ...base.errors import KernelError

BLOCK_THREADS, MAX_BLOCKS = 256, 65536  # the same values as in launch.pxd
PACK_ELEMENTS = {"elementwise": 4}  # elements that a thread loads at once (Pack in common.cuh)
_POINTER_BYTES = ctypes.sizeof(ctypes.c_void_p)  # bytes of a pointer
_ARGUMENT_BYTES = {"add": 4, "random": 24}  # arguments that are no pointers


class Array(NamedTuple):  # placeholder of a kernel's argument
    """An argument that is known only when the operator runs."""

    kind: str
    index: int = 0
    offset: int = 0  # bytes

    def offset_by(self, nbytes):
        """Return the same array, starting `nbytes` bytes later."""
        return self._replace(offset=self.offset + nbytes)


class _Arrays:  # makes the placeholders IN[0], IN[1], ...
    """Placeholders for arrays, by names such as ``IN[i]``."""

    def __init__(self, kind):
        self.kind = kind

    def __getitem__(self, index):
        return Array(self.kind, index)


IN, OUT, OUT_GRAD = _Arrays("in"), _Arrays("out"), _Arrays("out_grad")  # IN[0]: first input
IN_GRAD, AUX, SPACE = _Arrays("in_grad"), _Arrays("aux"), _Arrays("space")  # SPACE: temporary
ADD = Array("add", -1)  # whether to add to the array that the launch writes
TARGET = Array("target")  # replaced by `program.Steps.add_launch`


class _NullPointer:  # a null pointer as a kernel's argument
    """A null pointer as a kernel's argument."""

    address = nbytes = 0


NULL = _NullPointer()  # a null pointer as an argument
RANDOM = Array("random")  # the random stream of the run
SIZE, NBYTES = Array("size"), Array("bytes")  # size and bytes of OUT[0], if its shape is known


def argument_value_bytes(given):
    """Return the bytes that a kernel expects for a number or structure."""
    if isinstance(given, bool):
        return bytes(ctypes.c_int(given))
    if isinstance(given, float):
        return bytes(ctypes.c_double(given))
    if hasattr(given, "__index__"):
        return bytes(ctypes.c_longlong(given))
    return bytes(given)


class Check(NamedTuple):  # a step that raises if a kernel found a wrong value
    """A step that waits for the device and reads two int64: whether a value is wrong, and the
    value; `message` describes the error, with ``{}`` for the value."""

    at: Array
    message: str
    to: tuple = None
    when: tuple = ()
    dtype: str = None

    @property
    def arguments(self):
        return [self.at]

    def served_range(self, written):
        return (0, 1) if self.to is None else self.to


class Launch:  # one launch of a kernel
    """One launch of a kernel.

    source, instance (str): The kernel: of ``cuda/kernels/SOURCE.cu``, one of `families.instances`.
    arguments (sequence): The kernel's arguments (above).
    grid, block: tuple of 3 ints
    shared (int): Bytes of dynamic shared memory.
    to ((int, int), optional): The first array, and how many, whose requests the launch serves: it
        runs unless all of them are null, and ``ADD`` is that of the first. By default the first OUT
        (IN_GRAD in backward) among the arguments; ``(0, 0)`` for a launch that always runs.
    when (tuple of str): ``'write'``, ``'add'``: only for that request; ``'training'``,
        ``'predicting'``.
    sized (bool): The grid follows from the size of OUT[0] in the call.
    dtype (str, optional): Only where OUT[0] has that dtype in the call.
    """

    def __init__(
        self,
        source,
        instance,
        arguments,
        grid,
        block,
        shared=0,
        to=None,
        when=(),
        sized=False,
        dtype=None,
    ):
        self.source, self.instance, self.to, self.when = source, instance, to, when
        self.sized, self.dtype = sized, dtype
        self.given, self.grid, self.block, self.shared = list(arguments), grid, block, shared

    def served_range(self, written):
        """(first, count) of the arrays that the launch serves; `written` is 'out' or 'in_grad'."""
        if self.to is None:
            found = [a.index for a in self.given if isinstance(a, Array) and a.kind == written]
            self.to = (found[0], 1) if found else (0, 1)
        return self.to

    @property
    def arguments(self):
        """The arguments in the layout of `DeviceOperator`; called after `served_range`."""
        return [
            Array("add", self.to[0])
            if a == ADD
            else a
            if isinstance(a, Array) or hasattr(a, "address")
            else argument_value_bytes(a)
            for a in self.given
        ]

    def check_arguments(self, kernel, maximum):
        """Raise KernelError unless the kernel takes arguments of these sizes."""
        where = f"{self.source}.cu, {self.instance}"
        found = [_argument_nbytes(a) for a in self.arguments]
        if len(found) > maximum:
            raise KernelError(f"{where}: {len(found)} arguments, at most {maximum}")
        if kernel.sizes is not None and tuple(found) != tuple(kernel.sizes):
            raise KernelError(
                f"{where}: takes arguments of {list(kernel.sizes)} bytes, got {found}"
            )


def _argument_nbytes(argument):
    if isinstance(argument, bytes):
        return len(argument)
    return (
        _ARGUMENT_BYTES.get(argument.kind, _POINTER_BYTES)
        if isinstance(argument, Array)
        else _POINTER_BYTES
    )


def launch_each(n, source, instance, *arguments, **options):
    """A launch whose threads share `n` elements (SIZE: those of OUT[0]), several each if there are
    many."""
    sized = n is SIZE
    taken = BLOCK_THREADS * PACK_ELEMENTS.get(source, 1)
    blocks = 1 if sized else max(1, min(-(-n // taken), MAX_BLOCKS))
    return Launch(
        source, instance, arguments, (blocks, 1, 1), (BLOCK_THREADS, 1, 1), sized=sized, **options
    )


def block_threads_for_line(length):
    """Threads of a block that takes lines of `length` elements: 32 to 512, a power of two."""
    return min(512, max(32, 1 << (max(length, 1) - 1).bit_length()))


def launch_lines(count, length, source, instance, *arguments, **options):
    """A launch whose blocks take `count` lines of `length` elements."""
    threads = block_threads_for_line(length)
    blocks = max(1, min(count, MAX_BLOCKS))
    return Launch(source, instance, arguments, (blocks, 1, 1), (threads, 1, 1), **options)
