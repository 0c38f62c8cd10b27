"""Estimated cycles of a convolution by each algorithm, for `select.py`.

Cycles of one core for one pass: the mean of forward and the two gradients; with packed weights, of
forward alone. The constants are fitted to times measured on Zen 3, Zen 4 and Sapphire Rapids, two
threads; tests/operator/nn/convolution/test_cost.py has shapes whose fastest algorithm was measured.
`desc` is a ConvDesc.
"""

from dataclasses import dataclass, replace
from math import prod

from ....kernels.conv.winograd import winograd_is_by_row
from ...algorithms import NEVER

MAX_TAPS = 49  # largest window for the loops over taps
MAX_WINOGRAD_ROWS = 8  # rows of the largest window of Winograd's loops
# most pixels of an image to be summed by taps, and of data to be scattered by a packed weight
FEW_PIXELS = 64  # most pixels for sums by taps and for scattering


@dataclass(frozen=True)
class Costs:  # cycles of a convolution's parts, by SIMD level
    """Cycles of the parts of a convolution at one level of the CPU's vector instructions."""

    lanes: int  # floats in a vector
    direct: float  # a direct sum: a tap and channel by a vector of filters
    window: float  # a sum over the taps inside: a tap and channel by a vector of filters
    window_result: float  # cost of a vector of results in a sum over the taps inside
    window_start: float  # cost of a call of a sum over the taps inside
    least: int  # fewest channels and filters of Winograd's products
    product: float  # cycles of a product of a tile, for a channel and a vector of filters
    input: float  # cycles of a tile's input transform, for a vector of channels
    output: float  # cycles of a tile's output transform, for a vector of filters
    odd_input: float  # added cycles if vectors of channels are not full
    odd_output: float  # added cycles if vectors of filters are not full
    packing: float  # cycles to transform a weight in forward
    making: float  # cycles to transform a weight, the mean of forward and both gradients
    reading: float  # cycles to read a transformed weight


AVX2 = Costs(  # also the default
    lanes=8,
    direct=0.75,
    window=0.6,
    window_result=0,
    window_start=20000,
    least=4,
    product=18,
    input=200,
    output=170,
    odd_input=0,
    odd_output=0,
    packing=105,
    making=105,
    reading=20,
)
NEON = replace(AVX2, lanes=4)  # AVX2's costs: no ARM machine was available for measurements
AVX512 = Costs(  # also with AMX
    lanes=16,
    direct=0.83,
    window=0.6,
    window_result=80,
    window_start=8000,
    least=8,
    product=33,
    input=230,
    output=220,
    odd_input=260,
    odd_output=170,
    packing=40,
    making=150,
    reading=25,
)
BY_ROW_COSTS = replace(  # Winograd's products by rows, with AVX-512
    AVX512, least=16, product=37.5, input=260, output=240, odd_input=300, odd_output=200, making=105
)


def costs_of_simd_level(level):
    """The Costs at a level of vector instructions, except for Winograd's products by rows."""
    return {"avx512": AVX512, "amx": AVX512, "neon": NEON}.get(level, AVX2)


def direct_cycles(desc):
    """Estimate the cycles of oneDNN's direct convolution, and of im2col, which takes as many."""
    costs = costs_of_simd_level(desc.level)
    vectors = _divide_rounding_up(desc.filters // desc.groups, costs.lanes) * desc.groups
    channels = desc.channels // desc.groups
    return costs.direct * desc.taps * desc.pixels * channels * vectors


def product_cycles(desc):
    """Cycles of a 1x1 convolution by a product of our own, where that is faster than oneDNN."""
    costs = costs_of_simd_level(desc.level)
    return direct_cycles(desc) * costs.window / costs.direct


def window_cycles(desc):
    """Estimate the cycles of direct sums over the taps (window elements) inside the image."""
    costs = costs_of_simd_level(desc.level)
    image = desc.out[2] * desc.out[3]
    if not 1 <= image <= FEW_PIXELS or desc.taps < 2 or desc.level == "baseline":
        return NEVER
    if desc.filters < 16 or desc.channels < 8 or desc.batch < 4:
        return NEVER
    inside = prod(map(_count_taps_inside, desc.data[2:], desc.out[2:], *desc.window))
    vectors = _divide_rounding_up(desc.filters, costs.lanes)
    each = costs.window * inside * desc.channels + costs.window_result * image
    return each * desc.batch * vectors + costs.window_start


def winograd_cycles(desc):
    """Estimate the CPU cycles of Winograd's algorithm."""
    if desc.level == "baseline":
        return NEVER
    parts = _WinogradCost(desc)
    if min(desc.channels, desc.filters) < parts.costs.least:
        return NEVER
    if desc.packed:
        return parts.tile_cycles(parts.out_tiles) + parts.weights * parts.costs.reading
    mean = (2.0 * parts.out_tiles + parts.data_tiles) / 3
    return parts.tile_cycles(mean) + parts.weights * parts.costs.making


def is_packed_winograd_faster(desc):
    """Return whether a packed weight, up to 11 times as large, saves more than a tenth."""
    parts = _WinogradCost(desc)
    return 10 * parts.weights * parts.costs.packing > parts.tile_cycles(parts.out_tiles)


def can_use_winograd(desc):
    """Return whether Winograd's loops have products for the window, of two axes."""
    kernel, stride = desc.kernel, desc.stride
    size, step = kernel[0], stride[0]
    if kernel[1] != size or stride[1] != step or desc.dilate != (1, 1):
        return False
    taps = _divide_rounding_up(size, step)
    return (step == 1 or (step == 2 and size > 2)) and 1 < taps < 6 and size <= MAX_WINOGRAD_ROWS


class _WinogradCost:  # cycles of Winograd's products
    """The products of Winograd's algorithm for a convolution (kernels/conv/winograd.h)."""

    def __init__(self, desc):
        by_row = winograd_is_by_row(desc.level, desc.channels, desc.filters, desc.stride[0])
        self.costs = costs = BY_ROW_COSTS if by_row else costs_of_simd_level(desc.level)
        self.desc, self.step = desc, desc.stride[0]
        taps = _divide_rounding_up(desc.kernel[0], self.step)  # taps of a phase, in each direction
        self.side = 4 if taps == 2 else 7 - taps  # rows, and columns, of an output tile
        self.share = 25.0 / 36 if taps == 2 else 1
        self.blocks = self.step**2 * _divide_rounding_up(desc.channels, costs.lanes)
        self.vectors = _divide_rounding_up(desc.filters, costs.lanes)
        # size of the transformed weight, for each position of a tile
        self.weights = self.share * costs.lanes * costs.lanes * self.blocks * self.vectors
        self.out_tiles = self._count_tiles(desc.out[2:])
        sizes = desc.data[2:]
        if self.step == 2:
            sizes = [(n - 1 + pad) // 2 + 1 for n, pad in zip(sizes, desc.pad)]
        self.data_tiles = self._count_tiles(sizes)
        if desc.batch >= 8 and 4 * self.data_tiles > 5 * self.out_tiles:  # one input tile each
            self.data_tiles = self.out_tiles

    def _count_tiles(self, sizes):
        return self.desc.batch * prod(_divide_rounding_up(n, self.side) for n in sizes)

    def tile_cycles(self, count):
        """Estimate the CPU cycles for `count` tiles."""
        desc, costs = self.desc, self.costs
        channels = desc.channels if self.step == 1 else costs.lanes * self.blocks
        products = 2 * self.vectors * channels + self.blocks * desc.filters
        odd = costs.odd_input * self.step**2 if desc.channels % costs.lanes else 0
        odd += costs.odd_output if desc.filters % costs.lanes else 0
        each = costs.product * products / 3
        each += costs.input * self.blocks + costs.output * self.vectors + odd
        return self.share * count * each


def implicit_gemm_cycles(desc):
    """Cycles of implicit gemm: those of a direct sum if it is faster than im2col. Each row of out
    computes kernel - 1 pixels too many, which must be few; with a stride, at least two taps must
    use each number, else im2col copies no more."""
    step = desc.stride[-1]
    row = _divide_rounding_up(desc.data[-1] + 2 * desc.pad[-1], step)
    few = prod(desc.stride) > 1 and desc.taps < 2 * prod(desc.stride)
    if desc.level == "baseline" or 3 * row > 4 * desc.out[-1] or few:
        return NEVER
    return direct_cycles(desc)


def scatter_cycles(desc):
    """Cycles of scattered windows: a direct sum's where they are faster than oneDNN, which is for
    up to half a vector of channels, or with a packed weight for few pixels: oneDNN reorders the
    weight first, and shares out pixels."""
    fits = 2 * desc.channels <= costs_of_simd_level(desc.level).lanes and desc.filters >= 16
    pays = desc.pixels <= FEW_PIXELS if desc.packed else fits
    return direct_cycles(desc) if pays and desc.level != "baseline" else NEVER


def _divide_rounding_up(size, each):
    return -(-size // each)


def _count_taps_inside(size, out, kernel, stride, dilate, pad):
    """Count the taps (window elements) of all windows along an axis that are in the image."""
    starts = range(-pad, out * stride - pad, stride)
    steps = range(0, kernel * dilate, dilate)
    return sum(0 <= start + step < size for start in starts for step in steps)
