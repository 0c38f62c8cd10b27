"""BilinearResize2D: the planes of data (N, C, H, W) at another size, by bilinear interpolation."""

from ...base.errors import ArgumentError, ShapeError
from ..graph_hooks import GraphHooks
from ..kernel_property import Kernel, KernelProperty
from ..parameters import Bool, Enum, Float, Int
from ..second_order import Linear
from .planes import MAX_PIXELS, has_zero_length, unify_planes

# mode -> output length for an input length
_LENGTH_BY_MODE = {  # mode -> function of an input length
    "to_even_down": lambda n: n - n % 2,
    "to_even_up": lambda n: n + n % 2,
    "to_odd_down": lambda n: n - 1 + n % 2,
    "to_odd_up": lambda n: n + 1 - n % 2,
}


class BilinearResize2DProperty(KernelProperty, operator="_contrib_BilinearResize2D"):
    """Resize the planes of (N, C, H, W) by bilinear interpolation.

    ``mode='size'``: to (height, width), or, where both scales are given, to H and W times them,
    rounded down. ``'odd_scale'``: the same, but an odd length n becomes ``(n - 1) * scale + 1``.
    ``'like'``: to the size of a second input. ``'to_even_down'``, ``'to_even_up'``,
    ``'to_odd_down'``, ``'to_odd_up'``: to the next even or odd lengths.
    """

    height = Int(1, doc="Height of the output, for 'size'.", low=1, high=MAX_PIXELS)
    width = Int(1, doc="Width of the output, for 'size'.", low=1, high=MAX_PIXELS)
    scale_height = Float(None, doc="Factor of the height, in place of height.", low=0)
    scale_width = Float(None, doc="Factor of the width, in place of width.", low=0)
    mode = Enum(
        ("like", "odd_scale", "size", "to_even_down", "to_even_up", "to_odd_down", "to_odd_up"),
        "size",
        doc="Where the output's size comes from.",
    )
    align_corners = Bool(
        True, doc="Whether the centers of the outer pixels stay in place; else their edges do."
    )

    graph = GraphHooks(float32_beside_half=(), shape_only=(1,))
    inputs_doc = {"data": "Input (N, C, H, W).", "like": "Input whose last two axes give the size."}
    forward = Kernel("bilinear_resize")
    backward = Kernel("bilinear_resize_grad", ("d_output",), ("d_data",))
    second_order = Linear({0: ()})
    example = """
    >>> x = mx.nd.array([[[[0, 1], [2, 3]]]])
    >>> mx.nd.contrib.BilinearResize2D(x, height=3, width=3)
    [[[[0.  0.5 1. ]
       [1.  1.5 2. ]
       [2.  2.5 3. ]]]]
    <NDArray 1x1x3x3 @cpu(0)>
    """

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        scales = (self.scale_height, self.scale_width)
        if self.mode == "odd_scale" and None in scales:
            raise ArgumentError(
                f"operator {self.op_name}: mode 'odd_scale' needs scale_height and scale_width"
            )
        if (scales[0] is None) != (scales[1] is None):
            raise ArgumentError(
                f"operator {self.op_name}: scale_height and scale_width are given together, got "
                f"{scales[0]} and {scales[1]}"
            )

    def list_arguments(self):
        return ["data", "like"] if self.mode == "like" else ["data"]

    @property
    def zeros(self):  # gradients that are zero
        return ("d_like",) if self.mode == "like" else ()

    def infer_shape(self, in_shapes, out_shapes):
        data = unify_planes("data", in_shapes[0], (0, 0, 0, 0))
        out = out_shapes[0]
        if self.mode == "like":
            like = unify_planes("like", in_shapes[1], (0, 0, 0, 0))
            out = unify_planes("output", out, (*data[:2], *like[2:]))
            data = unify_planes("data", data, (*out[:2], 0, 0))
            return [data, unify_planes("like", like, (0, 0, *out[2:]))], [out], []
        sizes = (self.output_size(data[2], 0), self.output_size(data[3], 1))
        out = unify_planes("output", out, (*data[:2], *sizes))
        return [unify_planes("data", data, (*out[:2], 0, 0))], [out], []

    def output_size(self, n, axis):
        """Return the output length for `n` along the height (0) or the width (1); 0: unknown."""
        scale = (
            (self.scale_width if axis else self.scale_height)
            if self.mode in ("size", "odd_scale")
            else None
        )
        if scale is None and self.mode == "size":
            return self.width if axis else self.height
        if n == 0 or has_zero_length(n):
            return n
        if self.mode in _LENGTH_BY_MODE:
            size = _LENGTH_BY_MODE[self.mode](n)
        elif self.mode == "odd_scale" and n % 2:
            size = (n - 1) * scale + 1
        else:
            size = n * scale
        if not 1 <= size <= MAX_PIXELS:
            raise ShapeError(
                f"an axis of length {n} becomes one of {size:g} by mode '{self.mode}', expected 1 "
                f"to {MAX_PIXELS}"
            )
        return int(size)
