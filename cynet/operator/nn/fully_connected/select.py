"""The algorithms of FullyConnected, and the choice among them.

`create_operator`, the hooks that fold an activation or a mask in, and `Executor.debug_str` ask this
list.
"""

from __future__ import annotations

from typing import NamedTuple

from ....base.dtype import is_narrow
from ....kernels.conv import onednn
from ....kernels.gemm.blas import check_sizes
from ...algorithms import Algorithm, Algorithms
from ...products import (
    ENV_VAR,
    OWN_ALGORITHMS,
    ProductDesc,
    choose_own_loop,
    has_own_loop,
    is_own_kernel,
    library_cycles,
)
from .blas import BlasFullyConnected
from .gemm import ProductFullyConnected, layer_product_descs
from .onednn import MatmulFullyConnected

# Cycles of the call of a oneDNN primitive; BLAS takes as many for 4096 multiply-adds.
CALL_CYCLES, BLAS_CYCLES = 1024, 1024 / 4096  # of a oneDNN call; of a BLAS multiply-add


class LayerDesc(NamedTuple):  # sizes and dtypes that decide the algorithm
    """The sizes and dtypes of a layer that determine the choice of its algorithm."""

    product: ProductDesc  # data (rows, units) times the transposed weight (units, hidden)
    activation: str | None
    library: bool  # whether oneDNN is available

    sizes = property(lambda self: (self.product.m, self.product.k, self.product.n))


def describe_layer(prop, in_shapes, in_types):
    """The LayerDesc of a FullyConnected of arrays of these shapes and types."""
    rows, units = prop.row_count(in_shapes[0]), in_shapes[1][1]
    dtype = in_types[0]
    if is_narrow(dtype) and not (dtype == "bfloat16" and onednn.takes_bfloat16()):
        dtype = "float32"  # between conversions
    product = layer_product_descs(rows, units, prop.num_hidden, dtype)["forward"]
    return LayerDesc(product, prop.activation, onednn.available())


def _as_layer_algorithm(algorithm):
    """Return the layer's Algorithm that uses `algorithm`, one of our matrix products."""
    return Algorithm(
        algorithm.name,
        lambda desc: desc.library and algorithm.supports(desc.product),
        lambda desc: algorithm.cost(desc.product),
        lambda desc, prop: ProductFullyConnected(prop, *desc.sizes),
    )


def _is_bfloat16(desc):
    return desc.product.dtype == "bfloat16"


def _blas_operator(desc, prop):
    check_sizes(f"operator {prop.op_name}", *desc.sizes)
    return BlasFullyConnected(prop, *desc.sizes)


ALGORITHMS = Algorithms(  # our own products, BLAS and oneDNN
    ENV_VAR,
    *map(_as_layer_algorithm, OWN_ALGORITHMS),
    Algorithm(
        "blas",
        lambda desc: desc.activation is None and not _is_bfloat16(desc),
        lambda desc: library_cycles(desc.product) + desc.product.multiply_adds * BLAS_CYCLES,
        _blas_operator,
    ),
    Algorithm(
        "onednn",
        lambda desc: desc.library and (has_own_loop(desc.product) or _is_bfloat16(desc)),
        lambda desc: library_cycles(desc.product) + CALL_CYCLES,
        lambda desc, prop: MatmulFullyConnected(prop, *desc.sizes, desc.product.dtype),
    ),
)


def create_operator(desc, prop):
    """The Operator of a FullyConnected on a CPU."""
    return ALGORITHMS.choose(desc).algorithm.make(desc, prop)


def choices_by_pass(desc):
    """The Choice of "forward", and the Choices of the gradients of "data" and "weight" if forward
    uses our own kernels."""
    made = {"forward": ALGORITHMS.choose(desc)}
    if is_own_kernel(made["forward"]):
        products = layer_product_descs(*desc.sizes)
        made.update((what, choose_own_loop(products[what])) for what in ("data", "weight"))
    return made


def applies_activation(desc):
    """Return whether the algorithm for `desc` applies an activation: a forced BLAS does not."""
    folded = desc._replace(activation="relu")
    able = ALGORITHMS.choose(folded) is not None
    return able and (ALGORITHMS.is_forced(folded) or not ALGORITHMS.is_forced(desc))
