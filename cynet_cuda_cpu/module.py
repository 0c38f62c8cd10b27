"""A compiled CUDA source: its kernels, launched on arrays of the host."""

import ctypes
import functools
import re
from pathlib import Path
from typing import NamedTuple

from cynet.base.errors import ArgumentError, ArgumentTypeError, KernelError
from cynet.cuda.limits import check_launch_limits
from cynet.cuda.sources import CUDA_SOURCES, KERNELS

from .compiler import compile_object, source_line_of_address
from .source import CudaSource

# The thread of a failure if it is unknown (cynet_threads.h)
_UNKNOWN_THREAD_INDEX = 2**32 - 1  # Failure.thread[0] if the thread is not known


_TYPE_NAMES = {  # type character -> C type
    "f": "float",
    "d": "double",
    "e": "__half",
    "?": "bool",
    "b": "signed char",
    "B": "unsigned char",
    "h": "short",
    "H": "unsigned short",
    "i": "int",
    "I": "unsigned int",
    "q": "long long",
    "Q": "unsigned long long",
    "v": "another type",
}


class KernelParameter(NamedTuple):  # parameter of a compiled kernel
    """One argument of a kernel."""

    is_pointer: bool
    code: str  # type of the element or value: NumPy's character, or 'v'
    size: int  # bytes of the argument itself

    def __str__(self):
        return _TYPE_NAMES[self.code] + (" *" if self.is_pointer else "")


class _ParameterStruct(ctypes.Structure):  # ParamInfo of cynet_launch.h
    _fields_ = [("kind", ctypes.c_char), ("code", ctypes.c_char), ("size", ctypes.c_uint16)]


class _KernelEntry(ctypes.Structure):  # Entry of cynet_launch.h
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("once", ctypes.c_void_p),
        ("all", ctypes.c_void_p),
        ("count", ctypes.c_int),
        ("parameters", ctypes.POINTER(_ParameterStruct)),
    ]


class Failure(ctypes.Structure):  # error of a launch
    """The error of a launch (cynet_threads.h)."""

    _fields_ = [
        ("kind", ctypes.c_int32),
        ("line", ctypes.c_int32),
        ("block", ctypes.c_uint32 * 3),
        ("thread", ctypes.c_uint32 * 3),
        ("caller", ctypes.c_uint64),
        ("offset", ctypes.c_int64),
        ("size", ctypes.c_int64),
        ("access", ctypes.c_int32),
        ("write", ctypes.c_int32),
        ("argument", ctypes.c_int32),
        ("text", ctypes.c_char * 244),
    ]


class LaunchRequest(ctypes.Structure):  # Launch of cynet_launch.h
    """The request to cynet_launch (cynet_launch.h)."""

    _fields_ = [
        ("values", ctypes.c_void_p),
        ("bytes", ctypes.c_void_p),
        ("grid", ctypes.c_uint32 * 3),
        ("block", ctypes.c_uint32 * 3),
        ("shared", ctypes.c_uint64),
        ("threads", ctypes.c_int32),
        ("failure", ctypes.POINTER(Failure)),
    ]


class EmulatedModule:
    """CUDA source compiled for the host.

    Parameters
    ----------
    text : str
        CUDA C++.
    title : str
        What messages call the source; no path separators.
    options : sequence of str
        Options of the host compiler; ``-D...`` and ``-I...`` mean the same to nvcc.
    exports : sequence of str
        Instances of kernel templates that are launched by name, e.g. ``"scale<float>"``.
    checked : bool
        The checking mode: accesses outside of arrays and divergent barriers raise.
    quoted : str, optional
        The user's part of the source, to quote lines of; `text` numbers its lines by ``#line``
        under the file name `title`. Default: `text` itself.

    Raises
    ------
    KernelError
        When there is no compiler, or the source does not compile; the message quotes the line.
    """

    def __init__(self, text, title="source", options=(), exports=(), checked=False, quoted=None):
        self.title, self.checked = title, checked
        self.quoted = text if quoted is None else quoted
        options = tuple(host_compiler_options(options))
        folders = [Path(option[2:]) for option in options if option.startswith("-I")]
        self.source = CudaSource(text, [*folders, CUDA_SOURCES, KERNELS], tuple(exports))
        names = [*self.source.kernels]
        names += [name for name in exports if name not in names]
        if not names:
            raise KernelError(
                f"{title}: the source defines no kernel (a __global__ function that is not a "
                "template, or a template with its instances in exports)"
            )
        for kernel in self.source.kernels.values():
            if not re.search(
                rf"\bvoid\b.*\b{kernel.name.rpartition('::')[2]}\s*\(", kernel.head, re.S
            ):
                raise KernelError(f"{title}: kernel {kernel.name} must return void")
        kernel_kinds = {name: int(self.source.synchronises(name)) for name in names}
        whole = _source_with_kernel_table(self.source.rewritten_text(), title, kernel_kinds)
        build = functools.partial(
            compile_object, whole, self.quoted, title, options, checked, self.source.headers
        )
        self.path = build()
        self._library = _load_library(self.path, build)
        self._library.cynet_entry.restype = ctypes.POINTER(_KernelEntry)
        self.launch_address = ctypes.cast(self._library.cynet_launch, ctypes.c_void_p).value
        self.kernels = {name: EmulatedKernel(self, name, i) for i, name in enumerate(names)}

    def get(self, name):
        """Return the kernel of that name; a KernelError lists the kernels."""
        if name not in self.kernels:
            hint = ""
            if name.partition("<")[0] in self.source.templates:
                hint = "; an instance of a template must be listed in exports"
            raise KernelError(
                f"{self.title}: no kernel named {name!r}; it has {', '.join(self.kernels)}{hint}"
            )
        return self.kernels[name]

    def source_line(self, number):
        """Return line `number` of the source, stripped."""
        lines = self.quoted.split("\n")
        return lines[number - 1].strip() if 0 < number <= len(lines) else ""


class EmulatedKernel:
    """One kernel of a module.

    Attributes
    ----------
    parameters : tuple of KernelParameter
        What it takes.
    synchronises : bool
        Its threads are fibres.
    """

    def __init__(self, module, name, index):
        self.module, self.name, self.index = module, name, index
        entry = module._library.cynet_entry(index).contents
        self.synchronises = bool(entry.once)
        self.parameters = tuple(
            KernelParameter(p.kind == b"p", p.code.decode(), p.size)
            for p in entry.parameters[: entry.count]
        )
        self.threads_limit = module.source.threads_limit(name)

    def check_launch(self, grid, block, shared, name=None):
        """Refuse a launch that no device accepts; returns (grid, block), three ints each.

        `name`: what messages call the kernel, if not by its own name.
        """
        name = name or self.name
        return check_launch_limits(name, grid, block, shared, self.threads_limit)

    def launch(self, arguments, grid, block, shared=0, threads=1):
        """Run the kernel on NumPy arrays and ctypes values, at once, without the GIL.

        Parameters
        ----------
        arguments : sequence
            Contiguous numpy.ndarray for pointers, ctypes objects for values.
        grid, block : tuple of int
            Blocks of the grid and threads of a block, up to three axes.
        shared : int
            Bytes of dynamic shared memory.
        threads : int
            System threads that the blocks are spread over.

        Raises
        ------
        ArgumentError, ArgumentTypeError
            When arguments or sizes do not fit; nothing has run then.
        KernelError
            What the kernel did wrong.
        """
        grid, block = self.check_launch(grid, block, shared)
        if len(arguments) != len(self.parameters):
            raise ArgumentError(
                f"kernel {self.name} takes {len(self.parameters)} arguments, got {len(arguments)}"
            )
        held, sizes = [], []
        for place, (parameter, given) in enumerate(zip(self.parameters, arguments)):
            if parameter.is_pointer:
                if not given.flags.c_contiguous:
                    raise ArgumentError(
                        f"kernel {self.name}, argument {place + 1}: the array is not contiguous"
                    )
                held.append(ctypes.c_void_p(given.ctypes.data))
                sizes.append(given.nbytes)
            else:
                if ctypes.sizeof(given) != parameter.size:
                    raise ArgumentTypeError(
                        f"kernel {self.name}, argument {place + 1}: the source takes {parameter}, "
                        f"{parameter.size} bytes; got {given!r}"
                    )
                held.append(given)
                sizes.append(-1)
        n = len(held)
        values = (ctypes.c_void_p * max(n, 1))(*(ctypes.addressof(each) for each in held))
        bytes_of = (ctypes.c_int64 * max(n, 1))(*sizes)
        failure = Failure()
        request = LaunchRequest(
            ctypes.addressof(values),
            ctypes.addressof(bytes_of),
            (*grid,),
            (*block,),
            shared,
            threads,
            ctypes.pointer(failure),
        )
        if self.module._library.cynet_launch(self.index, ctypes.byref(request)):
            raise self.error(failure)

    def error(self, failure, name=None, names=None):
        """Create the exception that describes a `Failure`.

        `name`: what it calls the kernel, if not by its own name; `names`: of the arguments.
        """
        line, near = failure.line, False
        if not line and failure.caller:
            line, near = source_line_of_address(self.module.path, failure.caller, self.module.title)
        where = f"block {tuple(failure.block)}"
        if failure.thread[0] != _UNKNOWN_THREAD_INDEX:
            where += f", thread {tuple(failure.thread)}"
        text = failure.text.decode(errors="replace")
        what = _FAILURE_TEXTS[failure.kind](failure, text, _argument_text(failure.argument, names))
        place = f"{'near ' if near else ''}line {line}" if line else "an unknown line"
        quoted = f"\n      {self.module.source_line(line)}" if line else ""
        return KernelError(f"kernel {name or self.name}, {place}, {where}: {what}{quoted}")


def _source_with_kernel_table(text, title, kernel_kinds):
    """Return the text to compile: the user's source, and a table with an entry for each kernel."""
    rows = [
        f'#line 1 "kernel {name}"\nstatic constexpr auto cynet_row_{i} = '
        f'CYNET_KERNEL_ENTRY({way}, "{name}", {name});\n'
        for i, (name, way) in enumerate(kernel_kinds.items())
    ]
    table = ", ".join(f"cynet_row_{i}" for i in range(len(rows)))
    return f'#line 1 "{title}"\n{text}\n{"".join(rows)}CYNET_KERNEL_TABLE({table})\n'


def _load_library(path, build):
    """Load a shared object; a damaged one is compiled again."""
    try:
        return ctypes.CDLL(str(path))
    except OSError:
        path.unlink(missing_ok=True)
        return ctypes.CDLL(str(build()))


def _argument_text(index, names):
    if index < 0:
        return None
    return f"argument {index + 1}" + (f" ({names[index]})" if names else "")


def _out_of_bounds_message(failure, text, argument):
    target = argument or text
    end = failure.offset - failure.size
    if failure.offset < 0:
        where = f"{-failure.offset} bytes before the start of {target}"
    elif end >= 0:
        where = f"{end} bytes past the end of {target}" if end else f"past the end of {target}"
    else:
        where = f"across the end of {target}"
    verb = "writes" if failure.write else "reads"
    return f"{verb} {failure.access} bytes {where}, which has {failure.size} bytes"


_FAULT_TEXTS = (  # by kind of fault
    "an integer was divided by zero, or the quotient does not fit",
    "it used a null pointer (dynamic shared memory is one where shared_mem is 0)",
    "it used the address {}, where no memory is",
    "it used an address that cannot be",
    "its stack is full",
)


def _fault_message(failure, *_):
    hint = "; check=True names the thread" if failure.thread[0] == _UNKNOWN_THREAD_INDEX else ""
    return _FAULT_TEXTS[failure.access].format(hex(failure.offset & (2**64 - 1))) + hint


_FAILURE_TEXTS = {  # kind of a Failure -> function for its message
    1: lambda f, text, _: f"barrier divergence: it waits in __syncthreads, {text}",
    2: lambda f, text, _: f"deadlock: {text}",
    3: lambda f, text, _: f"a warp function with a wrong mask: {text}",
    4: lambda f, text, _: "__trap() was called",
    5: lambda f, text, _: f"assertion failed: {text}",
    6: _out_of_bounds_message,
    7: lambda f, text, _: f"index {f.offset} is outside of the array, {text}",
    9: lambda f, text, _: (
        "it waits for other threads, which could not be seen in the source: name the function "
        "that waits where it is called"
    ),
    8: lambda f, text, _: text or "the host has no memory for the launch",
    10: _fault_message,
}


def host_compiler_options(options):
    """Translate options of nvcc to options of the host compiler.

    Raises
    ------
    ArgumentError
        For an option that the host compiler has not.
    """
    for option in options:
        if not isinstance(option, str):
            raise ArgumentTypeError(f"options takes strings, got {option!r}")
        if option in ("--use_fast_math", "-use_fast_math"):
            yield "-ffast-math"
        elif option.startswith(("--gpu-architecture", "-arch", "--std", "-std", "-lineinfo", "-G")):
            continue  # concerns GPUs only, or is the default
        elif option.startswith(("-D", "-I", "-U", "-O", "-f", "-include")):
            yield option
        else:
            raise ArgumentError(
                f"option {option!r} is not one of -D..., -U..., -I..., -O..., -f..., "
                "--use_fast_math"
            )
