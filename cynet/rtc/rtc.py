"""CUDA kernels from strings: ``mx.rtc(...)`` for a kernel's body, ``mx.rtc.CudaModule`` for whole
sources.

On ``mx.cpu()`` the emulator compiles them with the machine's C++ compiler
(docs/architecture/rtc.md). A launch is a function of the engine like any other: it runs when the
arrays it reads and writes are free, and what goes wrong in it is raised where somebody waits.
"""

from __future__ import annotations

import ctypes
import functools
import struct
import sys
import types
from typing import TYPE_CHECKING, Any

import numpy as np

from .._ndarray import NDArrayBase
from ..base import config
from ..base.dtype import NAMES
from ..base.errors import ArgumentError, ArgumentTypeError, KernelError, shown
from ..base.guard import guarded
from ..context import Context, cpu, current_context, gpu, num_gpus
from .launch import push_kernel, register_kernel
from .signatures import C_TYPES, CHARACTER_BY_DTYPE, read_signature

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..typing import NDArray

__all__ = ["CudaKernel", "CudaModule", "Rtc"]

_MAX_LAUNCH_DIM = 2**31 - 1  # maximum of a length of a grid


@functools.cache
def _compile_emulated_module(text, title, options, exports, checked, quoted):
    """Compile a module of the emulator; the result is cached by the arguments."""
    from cynet_cuda_cpu import EmulatedModule

    return EmulatedModule(text, title, options, exports, checked, quoted)


class _CudaProgram:  # source compiled per device type
    """CUDA source that is compiled for each device type at first use."""

    def __init__(self, text, title, options, exports, checked, quoted):
        self.text, self.title, self.quoted = text, title, quoted
        self.options, self.exports, self.checked = options, exports, checked

    def compile_for_device(self, context):
        """Compile the source for a device; KernelError quotes a line that fails."""
        if context.device_type != "gpu":
            return _compile_emulated_module(
                self.text, self.title, self.options, self.exports, self.checked, self.quoted
            )
        from ..cuda.compiler import translate_rtc_options

        options = tuple(translate_rtc_options(self.options))
        return _gpu_device(context).module(
            self.text, self.title, options, self.exports, self.quoted
        )

    def launcher(self, context, function, name, names):
        """Return the launcher of the kernel `function` on a device."""
        return _make_launcher(self, context, function, name, names)


def _gpu_device(context):
    from ..cuda.device import device

    return device(context.device_id)


@functools.cache
def _make_program(*args):
    """Make a `_CudaProgram`; the result is cached by the arguments."""
    return _CudaProgram(*args)


@functools.cache
def _make_launcher(program, context, function, name, names):
    """Make the launcher of a program's kernel `function`; `name` is for messages."""
    module = program.compile_for_device(context)
    if context.device_type != "gpu":
        return _EmulatedKernel(module.get(function), name, names)
    kernel = _gpu_device(context).function(module, program.title, function)
    return _DeviceKernel(kernel, name, context.device_id)


class _EmulatedKernel:  # launches a kernel in the emulator
    """Launcher of a kernel in the emulator, through the engine. It lives as long as the process,
    since launches name it by an index."""

    def __init__(self, kernel, name, names):
        self.kernel, self.name, self.names = kernel, name, names
        self.number = register_kernel(self, f"kernel {name}")

    def launch_error(self, failure):
        """Return the exception for a failed launch; launch.pyx calls it."""
        from cynet_cuda_cpu.module import Failure

        size = ctypes.sizeof(Failure)
        found = Failure.from_buffer_copy(failure[:size])
        return self.kernel.error(found, self.name, self.names)

    def push(self, arguments, written, grid, block, shared):
        """Check the sizes and push the launch to the engine."""
        kernel = self.kernel
        grid, block = kernel.check_launch(grid, block, shared, self.name)
        push_kernel(
            self.number,
            kernel.module.launch_address,
            kernel.index,
            arguments,
            written,
            grid,
            block,
            shared,
        )


class _DeviceKernel:  # launches a kernel on a GPU
    """Launcher of a kernel on a GPU, through the engine."""

    def __init__(self, kernel, name, device_id):
        self.kernel, self.name, self.device_id = kernel, name, device_id
        self.number = register_kernel(self, f"kernel {name}")

    def refusal_error(self, code):
        """Return the exception for a launch that the driver refused; launch.pyx calls it."""
        from ..cuda.driver import error_text

        return KernelError(f"kernel {self.name} on gpu({self.device_id}): {error_text(code)}")

    def push(self, arguments, written, grid, block, shared):
        """Check the sizes and push the launch to the engine."""
        grid, block = self.kernel.check_launch(grid, block, shared, self.name)
        push_kernel(
            self.number,
            self.kernel.address,
            0,
            arguments,
            written,
            grid,
            block,
            shared,
            self.device_id,
        )


def _is_memory_check_on(setting):
    return bool(config.get("CYNET_CHECK_KERNELS")) if setting is None else bool(setting)


@guarded
class Rtc:
    """A kernel whose body is given as a string: ``mx.rtc(name, inputs, outputs, kernel)``.

    In the body each array is a pointer under its name; ``NAME_ndim`` and ``NAME_dims`` are its
    number of axes and its sizes.

    Parameters
    ----------
    name : str
        Name of the kernel in messages.
    inputs, outputs : sequence of (str, NDArray)
        Names of the arrays, and arrays that have the dtypes and numbers of axes of those that will
        be pushed. Sizes may differ.
    kernel : str
        The body of the kernel in CUDA C++, without braces.
    check : bool, optional
        Whether the emulator checks what kernels do; by default as CYNET_CHECK_KERNELS says.

    Raises
    ------
    KernelError
        When the body does not compile (the message quotes its line), or there is no compiler.

    Examples
    --------
    >>> x = mx.nd.array([1, 2, 3])
    >>> y = mx.nd.zeros((3,))
    >>> twice = mx.rtc("twice", [("x", x)], [("y", y)], "y[threadIdx.x] = 2 * x[threadIdx.x];")
    >>> twice.push([x], [y], (1, 1, 1), (3, 1, 1))
    >>> y.asnumpy().tolist()
    [2.0, 4.0, 6.0]
    """

    def __init__(
        self,
        name: str,
        inputs: Sequence[tuple[str, NDArray]],
        outputs: Sequence[tuple[str, NDArray]],
        kernel: str,
        check: bool | None = None,
    ) -> None:
        if not isinstance(name, str) or not name.isidentifier():
            raise ArgumentError(f"mx.rtc: name must be an identifier, got {shown(name)}")
        if not isinstance(kernel, str):
            raise ArgumentTypeError(f"kernel {name}: the body must be a str, got {shown(kernel)}")
        self.name = name
        every = _check_named_arrays(name, "inputs", inputs)
        self._count = len(every)  # number of inputs
        every += _check_named_arrays(name, "outputs", outputs)
        names = [n for n, _ in every]
        if len({*names}) < len(names):
            raise ArgumentError(f"kernel {name}: a name appears twice among {', '.join(names)}")
        self._wanted = [(n, a.dtype_flag, a.ndim) for n, a in every]
        self._names, self._function = tuple(names), f"rtc_{name}"
        text = _rtc_source(self._function, name, self._wanted, kernel)
        self._make_program = _make_program(text, name, (), (), _is_memory_check_on(check), kernel)
        self._launcher_on_device(every[0][1].context if every else current_context())
        n = len(every)
        self._written = (False,) * self._count + (True,) * (n - self._count) + (False,) * n

    def _launcher_on_device(self, context):
        return self._make_program.launcher(context, self._function, self.name, self._names)

    def push(
        self,
        inputs: Sequence[NDArray],
        outputs: Sequence[NDArray],
        grid_dims: Sequence[int],
        block_dims: Sequence[int],
    ) -> None:
        """Launch the kernel; returns at once.

        Parameters
        ----------
        inputs, outputs : sequence of NDArray
            Arrays in the order of the constructor, with the same dtypes and numbers of axes.
        grid_dims, block_dims : tuple of int
            Number of blocks in the grid and of threads in a block, along up to three axes; at most
            1024 threads.

        Raises
        ------
        ArgumentError, ArgumentTypeError
            When something does not fit; nothing is launched then.
        """
        _require_array_count(self.name, "inputs", inputs, self._count)
        _require_array_count(self.name, "outputs", outputs, len(self._wanted) - self._count)
        arrays = (*inputs, *outputs)
        where, sizes = None, []
        for (name, flag, ndim), array in zip(self._wanted, arrays):
            if not isinstance(array, NDArrayBase):
                raise ArgumentTypeError(
                    f"kernel {self.name}: {name} must be an NDArray, got {shown(array)}"
                )
            if array.dtype_flag != flag:
                raise ArgumentTypeError(
                    f"kernel {self.name}: {name} is {NAMES[array.dtype_flag]}, the kernel was "
                    f"made for {NAMES[flag]}"
                )
            shape = array.shape
            if len(shape) != ndim:
                raise ArgumentError(
                    f"kernel {self.name}: {name} has {len(shape)} axes, shape {shape}; the kernel "
                    f"was made for {ndim}"
                )
            if max(shape, default=0) > _MAX_LAUNCH_DIM:
                raise ArgumentError(
                    f"kernel {self.name}: {name} has shape {shape}; {name}_dims holds ints"
                )
            if where is None:
                where = array.context
            elif array.context != where:
                raise ArgumentError(
                    f"kernel {self.name}: {name} is on {array.context}, {self._wanted[0][0]} on "
                    f"{where}"
                )
            sizes.append(_shape_struct_bytes(shape))
        self._launcher_on_device(where or current_context()).push(
            (*arrays, *sizes), self._written, grid_dims, block_dims, 0
        )


@functools.lru_cache(1024)
def _shape_struct_bytes(shape):
    """Return the bytes of the C struct rtc_sizes."""
    return struct.pack("=8i", *shape, *(0,) * (8 - len(shape)))


def _check_named_arrays(kernel, what, pairs):
    if not isinstance(pairs, (tuple, list)):
        raise ArgumentTypeError(
            f"kernel {kernel}: {what} must be a list of (name, NDArray), got {shown(pairs)}"
        )
    out = []
    for pair in pairs:
        good = isinstance(pair, (tuple, list)) and len(pair) == 2
        if not good or not isinstance(pair[0], str) or not isinstance(pair[1], NDArrayBase):
            raise ArgumentTypeError(
                f"kernel {kernel}: {what} must be a list of (name, NDArray), found {shown(pair)}"
            )
        if not pair[0].isidentifier():
            raise ArgumentError(
                f"kernel {kernel}: expected identifiers as {what}, got {shown(pair[0])}"
            )
        out.append((pair[0], pair[1]))
    return out


def _require_array_count(kernel, what, given, wanted):
    if not isinstance(given, (tuple, list)):
        raise ArgumentTypeError(f"kernel {kernel}: {what} must be a list, got {shown(given)}")
    if len(given) != wanted:
        raise ArgumentError(f"kernel {kernel}: {what} takes {wanted} arrays, got {len(given)}")


def _rtc_source(function, title, wanted, body):
    """Return a kernel's source around its body; sizes are arguments: one object fits all shapes."""
    for name, flag, _ in wanted:
        if NAMES[flag] not in C_TYPES:
            raise ArgumentTypeError(f"kernel {function}: {name}: the array is {NAMES[flag]}")
    pointers = [f"{C_TYPES[NAMES[flag]]} *{name}" for name, flag, _ in wanted]
    sizes = [f"const rtc_sizes {name}_sizes_" for name, _, _ in wanted]
    constants = "".join(
        f"[[maybe_unused]] const int {name}_ndim = {ndim}; "
        f"[[maybe_unused]] const int *const {name}_dims = {name}_sizes_.n; "
        for name, _, ndim in wanted
    )
    return (
        f'#line 1 "arguments of {title}"\n'
        "#include <cuda_fp16.h>\n"
        "struct rtc_sizes { int n[8]; };\n"
        f'extern "C" __global__ void {function}({", ".join(pointers + sizes)}) {{ {constants}\n'
        f'#line 1 "{title}"\n{body}\n}}\n'
    )


@guarded
class CudaModule:
    """CUDA source with any number of kernels.

    Parameters
    ----------
    source : str
        The source, in CUDA C++.
    options : sequence of str
        Options of the compiler: ``-D``, ``-U``, ``-I``, ``--use_fast_math``, ...
    exports : sequence of str
        Instances of kernel templates that will be launched: ``["axpy<float>"]``.
    check : bool, optional
        Whether the emulator checks what kernels do; by default as CYNET_CHECK_KERNELS says.

    Raises
    ------
    KernelError
        When the source does not compile (the message quotes the line), or there is no compiler.

    Examples
    --------
    >>> module = mx.rtc.CudaModule(r'''
    ... extern "C" __global__ void axpy(const float *x, float *y, float alpha, int n) {
    ...   const int i = blockIdx.x * blockDim.x + threadIdx.x;
    ...   if (i < n) y[i] += alpha * x[i];
    ... }
    ... ''')
    >>> axpy = module.get_kernel("axpy", "const float *x, float *y, float alpha, int n")
    >>> x, y = mx.nd.ones((10,)), mx.nd.zeros((10,))
    >>> axpy.launch([x, y, 3.0, 10], mx.cpu(), (3, 1, 1), (4, 1, 1))
    >>> y.asnumpy()[:3].tolist()
    [3.0, 3.0, 3.0]
    """

    def __init__(
        self,
        source: str,
        options: Sequence[str] = (),
        exports: Sequence[str] = (),
        check: bool | None = None,
    ) -> None:
        if not isinstance(source, str):
            raise ArgumentTypeError(f"CudaModule: source must be a str, got {shown(source)}")
        options, exports = (
            _tuple_of_strings("options", options),
            _tuple_of_strings("exports", exports),
        )
        self._make_program = _make_program(
            source, "source", options, exports, _is_memory_check_on(check), None
        )
        self._home = gpu() if num_gpus() else cpu()
        self._make_program.compile_for_device(self._home)

    def get_kernel(self, name: str, signature: str) -> CudaKernel:
        """Return a kernel of the source; `launch` checks arguments by the signature.

        Parameters
        ----------
        name : str
            Name in the source; for an instance of a template, as it stands in `exports`.
        signature : str
            The arguments as in C: ``"const float *x, float *y, int n"``. An array that is not const
            is written.

        Raises
        ------
        KernelError
            When the source has no such kernel or other arguments.
        ArgumentError
            When the signature cannot be read.
        """
        arguments = read_signature(name, signature)
        names = tuple(argument.name for argument in arguments)
        kernel = CudaKernel(name, self._make_program, arguments, names)
        kernel._launcher_on_device(self._home)
        return kernel


def _tuple_of_strings(what, given):
    """Convert one str or several to a tuple."""
    every = (given,) if isinstance(given, str) else given
    if not isinstance(every, (tuple, list)) or not all(isinstance(each, str) for each in every):
        raise ArgumentTypeError(f"CudaModule: {what} must be a list of str, got {shown(given)}")
    return tuple(every)


def _check_signature(name, arguments, parameters):
    """Raise KernelError unless a signature matches the compiled kernel."""
    if len(arguments) != len(parameters):
        raise KernelError(
            f"kernel {name}: the signature has {len(arguments)} arguments, the source "
            f"{len(parameters)}"
        )
    for place, (declared, found) in enumerate(zip(arguments, parameters), 1):
        same = declared.is_array == found.is_pointer and found.code in (declared.code, "v")
        if not same:
            raise KernelError(
                f"kernel {name}: argument {place} is {shown(declared.text)} in the signature and "
                f"{shown(str(found))} in the source"
            )


def _check_argument_sizes(name, arguments, sizes):
    """Compare argument sizes with those the GPU driver reports; `sizes` is None if it does not."""
    declared = tuple(8 if a.is_array else struct.calcsize("=" + a.code) for a in arguments)
    if sizes is not None and declared != sizes:
        raise KernelError(
            f"kernel {name}: the arguments of the signature have {list(declared)} bytes, those of "
            f"the source {list(sizes)}"
        )


@guarded
class CudaKernel:
    """A kernel that can be launched; made by `CudaModule.get_kernel`.

    Parameters
    ----------
    name : str
        Name in the source.
    program, arguments, names
        Passed on by `CudaModule.get_kernel`: the source, and the contents of the signature.

    Examples
    --------
    >>> module = mx.rtc.CudaModule(r'''
    ... extern "C" __global__ void fill(float *x, float value) { x[threadIdx.x] = value; }
    ... ''')
    >>> fill = module.get_kernel("fill", "float *x, float value")
    >>> x = mx.nd.zeros((4,))
    >>> fill.launch([x, 2.5], mx.cpu(), (1, 1, 1), (4, 1, 1))
    >>> x.asnumpy()
    array([2.5, 2.5, 2.5, 2.5], dtype=float32)
    >>> fill.launch([x], mx.cpu(), (1, 1, 1), (4, 1, 1))
    Traceback (most recent call last):
        ...
    cynet.errors.ArgumentError: kernel fill takes 2 arguments, got 1
    """

    def __init__(self, name, program, arguments, names):
        self.name = name
        self._make_program, self._arguments, self._names = program, arguments, names
        self._checked_contexts = set()
        self._written = tuple(a.is_array and not a.is_const for a in arguments)

    def _launcher_on_device(self, context):
        """Return the kernel's launcher on a device; KernelError if the signature differs."""
        found = self._make_program.launcher(context, self.name, self.name, self._names)
        if context not in self._checked_contexts:
            if context.device_type == "gpu":
                _check_argument_sizes(self.name, self._arguments, found.kernel.sizes)
            else:
                _check_signature(self.name, self._arguments, found.kernel.parameters)
            self._checked_contexts.add(context)
        return found

    def launch(
        self,
        args: Sequence[Any],
        ctx: Context,
        grid_dims: Sequence[int],
        block_dims: Sequence[int],
        shared_mem: int = 0,
    ) -> None:
        """Launch the kernel; returns at once.

        Parameters
        ----------
        args : sequence
            An NDArray for each pointer and a number for each value, in the order of the signature.
        ctx : Context
            Device to run on; the arrays must be there.
        grid_dims, block_dims : tuple of int
            Number of blocks in the grid and of threads in a block, along up to three axes; at most
            1024 threads.
        shared_mem : int
            Size of the dynamic shared memory of a block, in bytes.

        Raises
        ------
        ArgumentError, ArgumentTypeError
            When something does not fit; nothing is launched then.
        """
        if not isinstance(ctx, Context):
            raise ArgumentTypeError(f"kernel {self.name}: ctx must be a Context, got {shown(ctx)}")
        if not isinstance(args, (tuple, list)):
            raise ArgumentTypeError(f"kernel {self.name}: args must be a list, got {shown(args)}")
        if len(args) != len(self._arguments):
            raise ArgumentError(
                f"kernel {self.name} takes {len(self._arguments)} arguments, got {len(args)}"
            )
        launchable = self._launcher_on_device(ctx)
        values = tuple(
            self._convert_argument(a, given, ctx) for a, given in zip(self._arguments, args)
        )
        launchable.push(values, self._written, grid_dims, block_dims, shared_mem)

    def _convert_argument(self, argument, given, ctx):
        """Convert an argument of the kernel: the array, or the bytes of a value."""
        where = f"kernel {self.name}, argument {shown(argument.text)}"
        if argument.is_array:
            if not isinstance(given, NDArrayBase):
                raise ArgumentTypeError(f"{where}: expected an NDArray, got {shown(given)}")
            found = NAMES[given.dtype_flag]
            if CHARACTER_BY_DTYPE.get(found) != argument.code:
                raise ArgumentTypeError(f"{where}: the array is {found}")
            if given.context != ctx:
                raise ArgumentError(f"{where}: the array is on {given.context}, not on {ctx}")
            return given
        if isinstance(given, NDArrayBase) or not isinstance(given, (bool, int, float, np.generic)):
            raise ArgumentTypeError(f"{where}: expected a number, got {shown(given)}")
        number = given.item() if isinstance(given, np.generic) else given
        if isinstance(number, float) and argument.code not in "fde?":
            raise ArgumentTypeError(f"{where}: expected an int, got {shown(given)}")
        try:
            if argument.code in "fde":
                number = float(number)
            elif argument.code == "?":
                number = bool(number)
            return struct.pack("=" + argument.code, number)
        except (struct.error, OverflowError):
            raise ArgumentError(f"{where}: {shown(given)} does not fit that type") from None


class _CallableModule(types.ModuleType):  # a module that can be called
    """Module type that makes ``mx.rtc(...)`` construct an `Rtc`, as in old MXNet."""

    def __call__(self, name, inputs, outputs, kernel, check=None):
        return Rtc(name, inputs, outputs, kernel, check)


sys.modules[__package__].__class__ = _CallableModule
