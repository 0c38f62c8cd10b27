"""_histogram: counts of numbers in intervals, and the intervals' edges."""

from ...base.errors import ArgumentError, ShapeError
from ..graph_hooks import GraphHooks
from ..kernel_property import Kernel, KernelProperty
from ..parameters import FloatTuple, IntOrNone
from ..property import merge_shapes

INF = float("inf")
_INTEGER_DTYPES = ("uint8", "int8", "int32", "int64")  # dtypes of integer data


class HistogramProperty(KernelProperty, operator="_histogram"):
    """The number of elements of `data` in each interval, int64 counts; and the edges.

    The intervals are `bin_cnt` ones of one width over `range`, or those between the numbers of
    `bins`, which must not fall. Each holds its lower edge, the last one its upper edge, too.
    Numbers outside and NaN are not counted. Even edges are those of NumPy's linspace, in the dtype
    of `data`; of integers float64.
    """

    differentiable = False
    forward = Kernel("histogram", ("data", "bins?"), ("output0", "output1"), whole=True)
    floats = ()
    graph = GraphHooks(takes_empty=True)
    inputs_doc = {"data": "The numbers, any shape.", "bins": "Edges; not with `bin_cnt`."}
    bin_cnt = IntOrNone(None, doc="Number of intervals; None takes `bins`.")
    range = FloatTuple(None, doc="Lower end of the first and upper end of the last interval.")
    output_names = ("output0", "output1")
    example = """
    >>> counts, edges = mx.nd.histogram(mx.nd.array([0.1, 0.4, 0.6, 1.9]), bins=2, range=(0, 2))
    >>> counts
    [3 1]
    <NDArray 2 @cpu(0)>
    >>> edges
    [0. 1. 2.]
    <NDArray 3 @cpu(0)>
    """

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        where = f"operator {self.op_name}: parameter"
        if (self.bin_cnt is None) != (self.range is None):
            raise ArgumentError(
                f"{where}s 'bin_cnt' and 'range' are given both or none, got "
                f"{self.bin_cnt} and {self.range}"
            )
        if self.bin_cnt is None:
            return
        if self.bin_cnt < 1:
            raise ArgumentError(f"{where} 'bin_cnt' must be at least 1, got {self.bin_cnt}")
        if len(self.range) != 2 or not -INF < self.range[0] <= self.range[1] < INF:
            raise ArgumentError(
                f"{where} 'range' takes two finite numbers, the lower one first, got {self.range}"
            )

    def list_arguments(self):
        return ["data", "bins"] if self.bin_cnt is None else ["data"]

    def infer_shape(self, in_shapes, out_shapes):
        if self.bin_cnt is not None:
            counts = merge_shapes((self.bin_cnt,), out_shapes[0])
            return list(in_shapes), [counts, merge_shapes((self.bin_cnt + 1,), out_shapes[1])], []
        bins = merge_shapes(in_shapes[1], out_shapes[1])
        if bins is None:
            return list(in_shapes), list(out_shapes), []
        if len(bins) != 1 or bins[0] == 1:
            raise ShapeError(
                f"operator {self.op_name}: 'bins' has shape {tuple(bins)}, expected "
                "one axis of at least two edges"
            )
        counts = merge_shapes((bins[0] - 1 if bins[0] else 0,), out_shapes[0])
        return [in_shapes[0], bins], [counts, bins], []

    def infer_type(self, in_types, out_types):
        known = in_types if self.bin_cnt is not None else (*in_types, out_types[1])
        kind = next((t for t in known if t is not None), None)
        if any(t not in (None, kind) for t in in_types):
            raise ArgumentError(
                f"operator {self.op_name}: 'data' is {in_types[0]} but 'bins' is {in_types[1]}"
            )
        edges = kind
        if self.bin_cnt is not None and kind in _INTEGER_DTYPES:
            edges = "float64"  # edges are real numbers
        return [kind] * len(in_types), ["int64", edges], []

    def create_operator(self, ctx, in_shapes, in_types):
        if in_types[0] == "bool":
            raise ArgumentError(f"operator {self.op_name} does not take arrays of bool")
        return super().create_operator(ctx, in_shapes, in_types)

    def kernel_params(self, in_shapes):
        low, high = self.range or (0.0, 0.0)
        if low == high:  # NumPy widens an empty range by 1
            low, high = low - 0.5, high + 0.5
        return {"even": self.bin_cnt is not None, "low": low, "high": high}

    def kernel_error(self, item, values):
        return ArgumentError(
            f"operator _histogram: 'bins' must not fall; edge {item} is below the one before it, "
            "or NaN"
        )
