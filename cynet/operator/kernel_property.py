"""KernelProperty: an operator that is declared, not written: a kernel for each direction, and what
the framework has to know of it. `nn/l2_normalization.py` is an example."""

from typing import NamedTuple

from .checks.dtypes import require_float_cpu
from .kernel_operator import KernelOperator
from .property import OperatorProperty


class Kernel(NamedTuple):
    """A kernel of ``cynet/kernels`` and the tensors that it gets.

    The names are those of inputs, outputs and states; ``d_NAME`` is the gradient of one.

    Attributes
    ----------
    name : str
        In the table of kernels (`cynet.kernels.table.kernels`).
    reads, writes : tuple of str
        In the order of the kernel's `in` and `out`.
    in_place : tuple of (str, str)
        Pairs (read, written) that may have the same memory.
    """

    name: str
    reads: tuple = ("data",)
    writes: tuple = ("output",)
    in_place: tuple = ()


class Lines(NamedTuple):
    """A form for GPUs by two kernels of ``cuda/kernels/SOURCE.cu``, which have the names of the
    CPU's: a block takes a line of n elements, of (outer, n, inner)."""

    source: str


class KernelProperty(OperatorProperty):
    """Base of declarations.

    Class attributes
    ----------------
    forward, backward : Kernel
        `backward` is None where there is no gradient.
    gpu : Lines or None
        Its form for GPUs.
    """

    forward = None
    backward = None

    def kernel_params(self, in_shapes):
        """The parameters of both kernels, by name, for inputs of these shapes: a dict."""
        return {}

    def declare_backward_dependency(self, out_grad, in_data, out_data):
        ids = self.named(in_data, out_data, out_grad)
        return [ids[name] for name in self.backward.reads] if self.backward else []

    def forward_inplace_option(self, in_data, out_data):
        ids = self.named(in_data, out_data)
        return [(ids[a], ids[b]) for a, b in self.forward.in_place]

    def backward_inplace_option(self, out_grad, in_data, out_data, in_grad):
        ids = self.named(in_data, out_data, out_grad, in_grad)
        return [(ids[a], ids[b]) for a, b in self.backward.in_place] if self.backward else []

    def named(self, in_data=(), out_data=(), out_grad=(), in_grad=()):
        """What stands for each tensor in these sequences, by the names that a Kernel has for it."""
        inputs, outputs = self.list_arguments(), self.list_outputs()
        found = dict(zip(inputs, in_data)) | dict(zip(outputs, out_data))
        found |= {f"d_{name}": each for name, each in zip(outputs, out_grad)}
        return found | {f"d_{name}": each for name, each in zip(inputs, in_grad)}

    def create_operator(self, ctx, in_shapes, in_types):
        require_float_cpu(self, ctx, self.list_arguments(), in_types)
        return KernelOperator(self, in_types[0], self.kernel_params(in_shapes))
