"""_contrib_MultiBoxPrior: the anchors of a feature map.

data (N, C, H, W) gives out (1, H W (sizes + ratios - 1), 4): corners as parts of the image's width
and height, around the middle of each place.
"""

from cython.parallel cimport prange
from libc.stdint cimport int64_t
from libcpp.vector cimport vector

from ..._typedefs cimport TBlob, kAddTo, kNullOp
from ...kernels.detection.multibox cimport PriorOptions, multibox_prior
from ...kernels.parallel cimport threads_for
from .._base cimport Operator, OpContext

from ...base.errors import ArgumentError, ShapeError, shown
from .._base import register_operator
from ..checks.dtypes import require_floats
from ..checks.shapes import agree, check_elements
from ..graph_hooks import GraphHooks
from ..parameters import Bool, FloatTuple
from ..property import OperatorProperty

cdef enum:
    MOST = 4096  # sizes, and ratios


class MultiBoxPriorProperty(OperatorProperty):
    """Anchors around each place of a feature map: one for every size, with the first ratio, and one
    for every further ratio, with the first size."""

    differentiable = False
    graph = GraphHooks(shape_only=(0,))

    sizes = FloatTuple((1.0,), doc="Heights of anchors, as parts of the image.")
    ratios = FloatTuple((1.0,), doc="Widths over heights.")
    clip = Bool(False, doc="Cut anchors at the image's sides.")
    steps = FloatTuple((-1.0, -1.0), doc="Distances (down, right) of anchors, as parts of the "
                       "image; both below 0: one over the number of places.")
    offsets = FloatTuple((0.5, 0.5), doc="Where (down, right) a place's middle is, from 0 to 1.")
    inputs_doc = {"data": "Feature map (N, C, H, W), of which only the shape counts."}

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        for name, ok, words in (
            ("sizes", 0 < len(self.sizes) <= MOST and all(0 <= s for s in self.sizes),
             f"1 to {MOST} sizes from 0 on"),
            ("ratios", 0 < len(self.ratios) <= MOST and all(0 < r for r in self.ratios),
             f"1 to {MOST} ratios above 0"),
            ("steps", len(self.steps) == 2 and self.steps[0] * self.steps[1] >= 0,
             "two numbers, of one sign"),
            ("offsets", len(self.offsets) == 2 and all(0 <= o <= 1 for o in self.offsets),
             "two numbers from 0 to 1"),
        ):
            if not ok:
                raise ArgumentError(f"operator {self.op_name}: parameter '{name}' takes {words}, "
                                    f"got {shown(getattr(self, name))}")

    def infer_shape(self, in_shapes, out_shapes):
        data, each = in_shapes[0], len(self.sizes) + len(self.ratios) - 1
        n = 0
        if data is not None:
            if len(data) < 4:
                raise ShapeError(f"data has shape {tuple(data)}, expected (N, C, H, W)")
            if data[2] and data[3]:
                n = data[2] * data[3] * each
                check_elements((1, n, 4), "the output of _contrib_MultiBoxPrior")
        return [data], [agree("output", out_shapes[0], (1, n, 4))], []

    def create_operator(self, ctx, in_shapes, in_types):
        require_floats(self, ["data"], in_types, ("float32",))
        return MultiBoxPriorOperator(self, in_shapes[0][2], in_shapes[0][3])


cdef class MultiBoxPriorOperator(Operator):
    cdef PriorOptions options
    cdef vector[float] numbers
    cdef int64_t height, width

    def __init__(self, prop, height, width):
        self.height, self.width = height, width
        self.numbers = [*prop.sizes, *prop.ratios]
        self.options.sizes = self.numbers.data()
        self.options.ratios = self.numbers.data() + len(prop.sizes)
        self.options.n_sizes, self.options.n_ratios = len(prop.sizes), len(prop.ratios)
        self.options.step_y, self.options.step_x = prop.steps
        self.options.offset_y, self.options.offset_x = prop.offsets
        self.options.clip = prop.clip

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        cdef int threads = threads_for(out_data[0].size * 8)
        cdef int64_t row, each = out_data[0].size // self.height
        cdef bint add = req[0] == kAddTo
        if req[0] == kNullOp:
            return 0
        for row in prange(self.height, num_threads=threads, schedule="static"):
            multibox_prior(self.options, row, self.height, self.width,
                           <float*>out_data[0].data + row * each, add)
        return 0


register_operator("_contrib_MultiBoxPrior", MultiBoxPriorProperty)
