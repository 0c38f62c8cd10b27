"""KernelProperty: base of operators that are declared by the kernels of their forward and backward.
`nn/l2_normalization.py` is an example."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from ..base.errors import ArgumentError
from ..kernels.table import uses_workspace
from .checks.dtypes import FLOATS, require_float_cpu
from .kernel_operator import KernelOperator
from .property import OperatorProperty, ResourceRequest

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..context import Context
    from ..typing import Shape

    _T = TypeVar("_T")  # what stands for a tensor


class Kernel(NamedTuple):  # a CPU kernel by name, and its tensors
    """A kernel of ``cynet/kernels`` and the tensors that it gets.

    The names are those of inputs, outputs and states; ``d_NAME`` is the gradient of one, ``NAME?``
    a tensor that there may be none of.

    name (str): In the table of kernels (`cynet.kernels.table.kernels`), or of a unary functor
        (`cynet.kernels.table.functors`).
    reads, writes (tuple of str): In the order of the kernel's `in` and `out`.
    in_place (tuple of (str, str)): Pairs (read, written) that may have the same memory.
    whole (bool): It writes all outputs in one go, whether they are wanted, and adds to none: it
        gets memory beside those that are not to be written.
    draws (bool): It reads words of the run's random stream.
    """

    name: str
    reads: tuple[str, ...] = ("data",)
    writes: tuple[str, ...] = ("output",)
    in_place: tuple[tuple[str, str], ...] = ()
    whole: bool = False
    draws: bool = False


class GpuLines(NamedTuple):  # GPU kernels: a block takes a line
    """Two GPU kernels of ``cuda/kernels/SOURCE.cu`` with the names of the CPU's: a block computes a
    line of n elements, of (outer, n, inner)."""

    source: str


class GpuElements(NamedTuple):  # GPU kernels: a thread takes an element
    """Two GPU kernels, a thread for each element of the first input: they get tensors, the number
    of elements, and the parameters of the CPU's."""

    source: str


class KernelProperty(OperatorProperty):  # base of operators declared by kernels
    """Base of operators that are declared by their kernels.

    forward, backward (Kernel or tuple of Kernel): What runs, one after the other; `backward` is
        empty where there is no gradient.
    zeros (tuple of str): Gradients (``d_label``) that are zeros.
    floats (tuple of str or None): Inputs that have to be of one dtype, of `float_types`. None: all
        of them. Where some are not, the kernel of the first input's dtype is taken
        (`kernel_dtype`).
    float_types (tuple of str): What these may be: float32 and float64.
    gpu (GpuLines, GpuElements or None): Its form for GPUs.
    keeps_rows_of (str or None): An input, not the first, whose gradient has few nonzero rows. The
        kernel lists these rows in ``Args.rows``, at most one for each element of its first input,
        and fills others with 0.
    """

    forward: Kernel | tuple[Kernel, ...] = ()
    backward: Kernel | tuple[Kernel, ...] = ()
    zeros: tuple[str, ...] = ()
    floats: tuple[str, ...] | None = None
    float_types: tuple[str, ...] = FLOATS
    keeps_rows_of: str | None = None

    def kernel_params(self, in_shapes: Sequence[Shape]) -> Mapping[str, Any]:
        """Return {name: kernel parameter} for these input shapes; others are attributes."""
        return {}

    def kernel_dtype(self, in_types: Sequence[str]) -> str:
        """Return the dtype that selects the variant of a kernel."""
        return in_types[0]

    def cost_elements(self, in_shapes: Sequence[Shape]) -> int | None:
        """Return the number of elements for a kernel's cost; None: those of its largest tensor."""
        return None

    def kernel_error(self, item: int, values: Sequence[float]) -> Exception:
        """The exception for a failure that a kernel has reported at `item`, with `values`, floats
        (``Args.fail``)."""
        return ArgumentError(f"{self._operator_label()}: element {item} of an input is not valid")

    def warn_out_of_range(self, item: int, values: Sequence[float]) -> None:
        """Warn of a value that a kernel noted at `item` (``Args.note_value``), or raise."""

    def kernels_of(self, direction: str) -> tuple[Kernel, ...]:
        """The kernels of 'forward' or 'backward', a tuple."""
        found: Kernel | tuple[Kernel, ...] = getattr(self, direction)
        return (found,) if isinstance(found, Kernel) else found

    def declare_backward_dependency(
        self, out_grad: list[int], in_data: list[int], out_data: list[int]
    ) -> list[int]:
        ids = self.tensors_by_name(in_data, out_data, out_grad)
        read = (n.removesuffix("?") for kernel in self.kernels_of("backward") for n in kernel.reads)
        return [ids[name] for name in dict.fromkeys(read) if name in ids]

    def forward_inplace_option(
        self, in_data: list[int], out_data: list[int]
    ) -> list[tuple[int, int]]:
        return self._in_place_pairs("forward", self.tensors_by_name(in_data, out_data))

    def backward_inplace_option(
        self, out_grad: list[int], in_data: list[int], out_data: list[int], in_grad: list[int]
    ) -> list[tuple[int, int]]:
        return self._in_place_pairs(
            "backward", self.tensors_by_name(in_data, out_data, out_grad, in_grad)
        )

    def _in_place_pairs(self, direction: str, ids: Mapping[str, int]) -> list[tuple[int, int]]:
        pairs = (pair for kernel in self.kernels_of(direction) for pair in kernel.in_place)
        return [(ids[a], ids[b]) for a, b in pairs]

    def forward_resource(self, in_shapes: list[Shape]) -> list[int]:
        return self._kernel_resources("forward")

    def backward_resource(self, in_shapes: list[Shape]) -> list[int]:
        return self._kernel_resources("backward")

    def _kernel_resources(self, direction: str) -> list[int]:
        kernels = self.kernels_of(direction)
        spaces = any(kernel.whole or uses_workspace(kernel.name) for kernel in kernels)
        draws = any(kernel.draws for kernel in kernels)
        # random numbers first: GPU kernels read the first resource
        return [ResourceRequest.random] * draws + [ResourceRequest.temp_space] * spaces

    def tensors_by_name(
        self,
        in_data: Sequence[_T] = (),
        out_data: Sequence[_T] = (),
        out_grad: Sequence[_T] = (),
        in_grad: Sequence[_T] = (),
    ) -> dict[str, _T]:
        """Return {name in a Kernel: object} for the tensors of these sequences."""
        inputs, outputs = self.list_arguments(), self.list_outputs()
        found = dict(zip(inputs, in_data)) | dict(zip(outputs, out_data))
        found |= {f"d_{name}": each for name, each in zip(outputs, out_grad)}
        return found | {f"d_{name}": each for name, each in zip(inputs, in_grad)}

    def create_operator(
        self, ctx: Context, in_shapes: list[Shape], in_types: list[str]
    ) -> KernelOperator:
        named = [
            (n, t) for n, t in zip(self.list_arguments(), in_types) if self._is_float_tensor(n)
        ]
        names, types = [n for n, _ in named], [t for _, t in named]
        require_float_cpu(self, ctx, names, types, self.float_types)
        dtype, params = self.kernel_dtype(in_types), self.kernel_params(in_shapes)
        return KernelOperator(self, dtype, params, self.cost_elements(in_shapes))

    def _is_float_tensor(self, name: str) -> bool:
        return self.floats is None or name in self.floats
