"""The algorithms of convolutions and deconvolutions, and the choice among them.

Everything that depends on the way asks these lists: `create_operator`, the hooks by which passes
choose a memory order and prepack weights, and `Executor.debug_str`.
"""

from math import prod
from typing import NamedTuple

from ....base.dtype import is_narrow
from ....kernels.conv import onednn
from ....kernels.gemm.blas import check_sizes
from ....kernels.isa.dispatch import cpu_capability
from ...algorithms import NEVER, Algorithm, Algorithms
from ...products import choose_own_loop
from ...property import OperatorProperty, ResourceRequest
from ...tensor.strided_moves import subview, whole_view
from ..fully_connected import gemm
from ..fused_activation import FoldsActivation
from ..spatial_window import is_channels_last
from . import cost
from .direct import WindowConvolution
from .im2col import UnrolledConvolution
from .onednn import OnednnConvolution, ReorderWeight, make_conv_primitives
from .row_major_adapter import row_major_operator
from .transposed import OnednnDeconvolution, OwnDeconvolution, ScatterPack, packed_float_count
from .winograd import WinogradConvolution, WinogradPack, winograd_packed_size

ENV_VAR = "CYNET_CONV_ALGORITHM"  # setting that forces an algorithm
# Outputs of a filter from which reordering a weight, at about 1 ns an element, takes less than a
# twentieth of the time of its products.
MANY_PIXELS = 2048  # outputs of a filter from which reordering its weight is cheap
MAX_AXIS_LENGTH = 1 << 30  # maximum length of an axis: positions fit the ints of oneDNN


class ConvDesc(NamedTuple):  # sizes and settings that decide the algorithm
    """The sizes and settings of a convolution that determine the choice of its algorithm.

    Shapes are those of the convolution. A deconvolution is the gradient of a convolution by its
    data: `transposed`, its output is this `data`, its input this `out`.
    """

    data: tuple  # (N, C, *size)
    out: tuple  # (N, F, *size)
    kernel: tuple
    stride: tuple
    dilate: tuple
    pad: tuple
    groups: int
    dtype: str
    bias: bool
    channels_last: bool = False  # the memory order of data and out
    packed: bool = False  # the weight is prepacked by the same algorithm
    transposed: bool = False
    library: bool = True  # whether oneDNN is available
    level: str = cpu_capability()

    batch = property(lambda self: self.data[0])
    channels = property(lambda self: self.data[1])
    filters = property(lambda self: self.out[1])
    pixels = property(lambda self: self.batch * prod(self.out[2:]))
    taps = property(lambda self: prod(self.kernel))
    window = property(lambda self: (self.kernel, self.stride, self.dilate, self.pad))


def describe_conv(prop, data, out, pad, in_types, **more):
    """The ConvDesc of a property of `convolution` or `deconvolution`, whose `data` and `out` are
    those of the convolution, (N, C, *size). Channels-last layouts count as channels-last data for
    algorithms that take such."""
    desc = ConvDesc(
        tuple(data),
        tuple(out),
        prop.kernel,
        *prop.window[:2],
        tuple(pad),
        prop.num_group,
        _compute_dtype(in_types[0], **more),
        not prop.no_bias,
        library=onednn.available(),
        **more,
    )
    if desc.dtype == "bfloat16" and not _has_right_bfloat16_gradient(desc):
        desc = desc._replace(dtype="float32")
    if is_channels_last(prop.layout) and not desc.channels_last:
        last = desc._replace(channels_last=True)
        return desc if ALGORITHMS.choose(last) is None else last
    return desc


def _compute_dtype(dtype, transposed=False, **_):
    """Return the dtype that kernels compute in for arrays of `dtype`."""
    native = dtype == "bfloat16" and not transposed and onednn.takes_bfloat16()
    return "float32" if is_narrow(dtype) and not native else dtype


class PackWeight(OperatorProperty):  # makes a prepacked weight
    """A weight in an algorithm's prepacked order, always written: `size` elements; `make` returns
    the Operator. Equal `packs_as` mean that packed forms of one weight are equal."""

    op_name = "_pack_weight"

    def __init__(self, size, make, *packs_as):
        super().__init__()
        self.size, self.make, self.packs_as = size, make, packs_as

    def list_arguments(self):
        return ["weight"]

    def infer_shape(self, in_shapes, out_shapes):
        return in_shapes, [(self.size,)], []

    def forward_resource(self, in_shapes):
        return [ResourceRequest.temp_space]

    def create_operator(self, ctx, in_shapes, in_types):
        return self.make()


class _BareConvolution(FoldsActivation):  # convolution inside a deconvolution
    """The convolution inside a deconvolution, without bias and activation."""

    no_bias = True


# --- what is supported ----------------------------------------------------------------------------
def _onednn_takes_float32(desc):
    if (
        desc.dtype != "float32"
        or not desc.library
        or not _lengths_fit_int(desc)
        or _window_exceeds_depth(desc)
    ):
        return False
    return not desc.transposed or _has_all_windows_of_output(desc)


def _lengths_fit_int(desc):
    """Return whether oneDNN, whose kernels count in int, can take these lengths."""
    windows = zip(desc.data[2:], desc.kernel, desc.dilate, desc.pad)
    spans = [max(n + 2 * pad, dilate * kernel) for n, kernel, dilate, pad in windows]
    return max(*desc.data, *desc.out, *desc.stride, *spans) < MAX_AXIS_LENGTH


def _window_exceeds_depth(desc):
    """Return whether windows of three axes are deeper than the data: oneDNN's gradient of such a
    weight is wrong, or reads outside of its arrays."""
    deep = len(desc.kernel) == 3
    return deep and desc.dilate[0] * (desc.kernel[0] - 1) >= desc.data[2]


def _has_right_bfloat16_gradient(desc):
    """Return whether oneDNN's gradient of a bfloat16 weight is right: a tap that reads padding in
    every window keeps stale workspace."""
    if _window_exceeds_depth(desc):
        return False
    for n, out, kernel, stride, dilate, pad in zip(desc.data[2:], desc.out[2:], *desc.window):
        for tap in range(kernel):
            at = tap * dilate - pad  # position of the tap in the first window
            first = max(0, -(at // stride))  # the first window whose tap is in or past the data
            if first >= out or at + first * stride >= n:
                return False
    return True


def _has_all_windows_of_output(desc):
    """Return whether the convolution has exactly the windows of `out`; a deconvolution's has them
    unless its target_shape cuts off too much."""
    return all(
        (n + 2 * pad - dilate * (kernel - 1) - 1) // stride + 1 == out
        for n, out, kernel, stride, dilate, pad in zip(desc.data[2:], desc.out[2:], *desc.window)
    )


def _is_channels_last(desc):
    return desc.channels_last and _onednn_takes_float32(desc)


def _uses_onednn_gradients(desc):
    """Return whether oneDNN computes the gradients."""
    return _is_channels_last(desc) or desc.dtype == "bfloat16"


def _is_matrix_product(desc):
    if not desc.channels_last or desc.transposed or desc.groups > 1 or desc.taps > 1:
        return False
    if desc.packed and desc.level != "amx":
        return False
    return (
        not any(desc.pad)
        and (desc.packed or set(desc.stride) == {1})
        and _onednn_takes_float32(desc)
    )


def _fits_own_kernels(desc):
    """Return whether our own kernels take the convolution, channels-last or behind a reorder."""
    return len(desc.kernel) == 2 and desc.groups == 1 and _onednn_takes_float32(desc)


def _uses_scatter(desc):
    return desc.channels_last and _fits_own_kernels(desc) and set(desc.dilate) == {1}


def _is_small_depthwise(desc):
    """Return whether each channel is a group, and the image smaller than the window: then oneDNN
    makes a product for each group."""
    depthwise = len(desc.kernel) == 2 and desc.groups == desc.channels == desc.filters
    size = desc.data[2:]
    small = any(n < kernel for n, kernel in zip(size, desc.kernel))
    fits = prod(size) <= cost.FEW_PIXELS and desc.taps <= cost.MAX_TAPS
    return depthwise and small and fits and not desc.bias


def _is_row_major_gemm(desc):
    row_major = not desc.channels_last and not desc.packed and not desc.transposed
    ones = {*desc.kernel, *desc.stride} == {1} and not any(desc.pad)
    return row_major and desc.dtype == "float32" and not ones


# --- what is made ---------------------------------------------------------------------------------
def _gemm_sizes(desc):
    return desc.pixels, desc.channels, desc.filters


def _gemm_cycles(desc):
    products = gemm.layer_product_descs(*_gemm_sizes(desc), packed=desc.packed)
    choice = choose_own_loop(products["forward"])
    pays = choice is not None and min(choice.costs.values()) < NEVER
    return cost.product_cycles(desc) if pays else NEVER


def _gemm_operator(desc, prop):
    picked = None
    if set(desc.stride) != {1}:  # with strides, only some pixels are read
        batch, channels, *sizes = desc.data
        whole = whole_view((batch, *sizes, channels))
        picked = subview(
            whole, (0,) * len(desc.data), (1, *desc.stride, 1), (batch, *desc.out[2:], channels)
        )
    return gemm.ProductFullyConnected(prop, *_gemm_sizes(desc), desc.packed, picked)


def _own_kernel_constructor(kind):
    """Return a constructor of operators of `kind`, a subclass of OwnConvolution."""

    def make(desc, prop):
        if not desc.transposed:
            operator, data, out = kind(desc, prop), desc.data, desc.out
        else:
            operator, data, out = kind(desc, _BareConvolution), desc.out, desc.data
            operator = OwnDeconvolution(desc, operator)
        return operator if desc.channels_last else row_major_operator(operator, data, out)

    return make


def _onednn_operator(desc, prop):
    if desc.transposed:
        return OnednnDeconvolution(desc, False)
    made = {what: choice.name for what, choice in choices_by_pass(desc).items()}
    return OnednnConvolution(desc, prop, made["data"] == "scatter", made["weight"] == "by_channel")


def _im2col_constructor(implicit):
    def make(desc, prop):
        operator = UnrolledConvolution(desc, implicit)
        check_sizes(f"operator {prop.op_name}", operator.largest_matrix_size())
        return operator

    return make


# --- prepacked weights ----------------------------------------------------------------------------
def _has_many_pixels(desc, replaces):
    return desc.pixels > MANY_PIXELS and not replaces


def _pack_for_gemm(desc, prop, replaces):
    _, units, hidden = _gemm_sizes(desc)
    if _has_many_pixels(desc, replaces):
        return None
    size = gemm.packed_weight_floats(units, hidden)
    return PackWeight(size, lambda: gemm.PackProductWeight(units, hidden), "gemm", units, hidden)


def _pack_for_winograd(desc, prop, replaces):
    if not cost.is_packed_winograd_faster(desc):
        return None
    sizes = desc.data[1], desc.filters, desc.kernel, desc.stride
    return PackWeight(winograd_packed_size(desc), lambda: WinogradPack(desc), "winograd", *sizes)


def _pack_for_onednn(desc, prop, replaces):
    def make_reorder():
        return make_conv_primitives(desc).make_packing(prop.activation, prop.sums)

    found = make_reorder()
    if found is None or _has_many_pixels(desc, replaces):
        return None
    size, first = found
    unused = [first]  # an oneDNN primitive belongs to one operator

    def make():
        try:
            return ReorderWeight(unused.pop())
        except IndexError:
            return ReorderWeight(make_reorder()[1])

    return PackWeight(size, make, "onednn", first.layouts[1])


def _pack_for_scatter(desc, prop, replaces):
    sizes = desc.channels, desc.filters, desc.kernel, desc.groups
    return PackWeight(packed_float_count(desc), lambda: ScatterPack(desc), "scatter", *sizes)


# --- the lists ------------------------------------------------------------------------------------
ALGORITHMS = Algorithms(  # of forward
    ENV_VAR,
    # windows made from the pixels of data, added where they overlap
    Algorithm(
        "scatter",
        lambda desc: desc.transposed and _uses_scatter(desc),
        cost.scatter_cycles,
        lambda desc, prop: OnednnDeconvolution(desc, True),
        _pack_for_scatter,
    ),
    # 1x1: one product of all pixels by the weight
    Algorithm("gemm", _is_matrix_product, _gemm_cycles, _gemm_operator, _pack_for_gemm),
    Algorithm(
        "onednn",
        lambda desc: _uses_onednn_gradients(desc) and not (desc.transposed and desc.packed),
        cost.direct_cycles,
        _onednn_operator,
        _pack_for_onednn,
    ),
    # a product for each tap of the window that is inside of the image
    Algorithm(
        "direct",
        lambda desc: _fits_own_kernels(desc) and desc.taps <= cost.MAX_TAPS and not desc.packed,
        cost.window_cycles,
        _own_kernel_constructor(WindowConvolution),
    ),
    Algorithm(
        "winograd",
        lambda desc: (
            not (desc.packed and desc.transposed)
            and _fits_own_kernels(desc)
            and cost.can_use_winograd(desc)
        ),
        cost.winograd_cycles,
        _own_kernel_constructor(WinogradConvolution),
        _pack_for_winograd,
    ),
    # windows of row-major data, which the product reads in place
    Algorithm(
        "implicit_gemm", _is_row_major_gemm, cost.implicit_gemm_cycles, _im2col_constructor(True)
    ),
    # unrolled windows, which serve every shape
    Algorithm(
        "im2col",
        lambda desc: not desc.channels_last and desc.dtype != "bfloat16",
        cost.direct_cycles,
        _im2col_constructor(False),
    ),
    names=["by_channel"],
)
# The algorithms of a convolution's gradients with oneDNN.
GRADIENT_OF_DATA = Algorithms(  # of the data's gradient, with oneDNN
    ENV_VAR,
    Algorithm("scatter", _uses_scatter, cost.scatter_cycles),
    Algorithm("onednn", _uses_onednn_gradients, cost.direct_cycles),
    names=ALGORITHMS.names,
)
GRADIENT_OF_WEIGHT = Algorithms(  # of the weight's gradient, with oneDNN
    ENV_VAR,
    Algorithm("by_channel", _is_small_depthwise, cost.direct_cycles),
    Algorithm("onednn", _uses_onednn_gradients, cost.direct_cycles),
    names=ALGORITHMS.names,
)


def create_operator(desc, prop):
    """The Operator of a convolution or deconvolution on a CPU."""
    return ALGORITHMS.choose(desc).algorithm.make(desc, prop)


def choices_by_pass(desc):
    """The Choice of "forward", and the Choices of the gradients of "data" and "weight" if forward
    uses oneDNN."""
    made = {"forward": ALGORITHMS.choose(desc)}
    if made["forward"].name == "onednn" and not desc.transposed:
        plain = desc._replace(packed=False)
        made["data"] = GRADIENT_OF_DATA.choose(plain)
        made["weight"] = GRADIENT_OF_WEIGHT.choose(plain)
    return made


def takes_channels_last(desc):
    """Return whether a convolution of row-major arrays is faster on channels-last copies."""
    last = desc._replace(channels_last=True)
    able = ALGORITHMS.choose(last) is not None
    return able and (ALGORITHMS.is_forced(last) or not ALGORITHMS.is_forced(desc))


def prepack(desc, prop, replaces):
    """An algorithm's PackWeight, or None; `replaces` as in `GraphHooks.prepack`."""
    packed = desc._replace(packed=True)
    choice, forced = ALGORITHMS.choose(packed), ALGORITHMS.is_forced(packed)
    if choice is None or choice.algorithm.prepack is None:
        return None
    if not forced and (choice.cost == NEVER or ALGORITHMS.is_forced(desc)):
        return None
    if desc.transposed and not forced and ALGORITHMS.choose(desc).cost < choice.cost:
        return None
    return choice.algorithm.prepack(packed, prop, replaces)
