"""UpSampling: data (N, C, H, W) enlarged to out (N, C, s H, s W), nearest or bilinear."""

from ...base.errors import ArgumentError, ShapeError
from ..checks.dtypes import require_float_cpu
from ..checks.shapes import unify_shapes
from ..graph_hooks import GraphHooks
from ..kernel_property import Kernel, KernelProperty
from ..parameters import Enum, Int
from ..property import ResourceRequest
from ..second_order import Linear
from .convolution.im2col import UnrolledConvolution
from .convolution.select import ConvDesc

MAX_INPUTS = 64  # maximum number of arrays to enlarge


class UpSamplingHooks(GraphHooks):
    """Graph hooks of UpSampling: 'nearest' has a channels-last form."""

    def channels_last_form(self, prop, in_shapes, in_types):
        if prop.sample_type != "nearest" or in_types[0] != "float32":
            return None
        return prop.changed(channels_last=True), list(range(len(in_shapes)))


class UpSamplingProperty(KernelProperty, operator="UpSampling"):
    """Enlarge planes by `scale`: repeat elements ('nearest') or deconvolve ('bilinear').

    Nearest takes several inputs whose planes all become as large as those of the first times scale;
    their channels are concatenated or, with ``multi_input_mode='sum'``, added. Bilinear takes one,
    and a weight of shape (C, 1, k, k) with ``k = 2 * scale - scale % 2``, which the initializer
    Bilinear fills.
    """

    key_var_num_args = "num_args"

    scale = Int(doc="Factor of height and width.", low=1)
    num_filter = Int(0, doc="Number of channels, for 'bilinear'.", low=0)
    sample_type = Enum(("bilinear", "nearest"), doc="How elements are filled in.")
    multi_input_mode = Enum(("concat", "sum"), "concat", doc="How several inputs are joined.")
    num_args = Int(1, doc="Number of inputs.", low=1, high=MAX_INPUTS)
    workspace = Int(512, doc="Part of MXNet's signature; not used.", low=0)

    channels_last = False  # the graph's layout pass sets it to True for 'nearest'
    graph = UpSamplingHooks(float32_beside_half=())

    inputs_doc = {"data": "Input (N, C, H, W).", "weight": "Filters of 'bilinear'."}
    variable_attrs = {"weight": {"__init__": '["bilinear", {}]'}}
    drawn_as = "pooling"
    example = """
    >>> mx.nd.UpSampling(mx.nd.array([[[[1, 2]]]]), scale=2, sample_type="nearest")
    [[[[1. 1. 2. 2.]
       [1. 1. 2. 2.]]]]
    <NDArray 1x1x2x4 @cpu(0)>
    """

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        if self.sample_type == "bilinear" and self.num_filter < 1:
            raise ArgumentError(
                f"operator {self.op_name}: sample_type 'bilinear' needs "
                f"num_filter, the number of channels; got {self.num_filter}"
            )

    def list_arguments(self):
        if self.sample_type == "bilinear":
            return ["data", "weight"]
        return ["data"] if self.num_args == 1 else [f"arg{i}" for i in range(self.num_args)]

    def infer_shape(self, in_shapes, out_shapes):
        for shape in (*in_shapes, *out_shapes):
            if shape is not None and len(shape) != 4:
                raise ShapeError(f"shape {tuple(shape)} is not (N, C, H, W)")
        scale, first, out = self.scale, in_shapes[0], out_shapes[0]
        if self.sample_type == "bilinear":
            k = 2 * scale - scale % 2
            weight = unify_shapes("weight", in_shapes[1], (self.num_filter, 1, k, k))
            if first is not None:
                first = unify_shapes("data", first, (0, self.num_filter, 0, 0))
                out = unify_shapes(
                    "output", out, (first[0], first[1], first[2] * scale, first[3] * scale)
                )
            return [first, weight], [out], []
        if first is None:
            return in_shapes, [out], []
        height, width = first[2] * scale, first[3] * scale
        if len(in_shapes) == 1:
            return in_shapes, [unify_shapes("output", out, (first[0], first[1], height, width))], []
        channels = 0 if self.multi_input_mode == "concat" else first[1]
        for name, shape in zip(self.list_arguments(), in_shapes):
            if shape is None or not all(shape[1:]) or not all(first[1:]):
                return in_shapes, [out], []
            if shape[0] and first[0] and shape[0] != first[0]:
                raise ShapeError(f"{name} has {shape[0]} images, data has {first[0]}")
            if height % shape[2] or width % shape[3] or height // shape[2] != width // shape[3]:
                raise ShapeError(
                    f"{name} has shape {tuple(shape)}: its planes do not become "
                    f"{(height, width)} by one whole factor"
                )
            if self.multi_input_mode == "concat":
                channels += shape[1]
            elif shape[1] != channels:
                raise ShapeError(f"{name} has {shape[1]} channels, to be added to {channels}")
        return in_shapes, [unify_shapes("output", out, (first[0], channels, height, width))], []

    @property
    def forward(self):
        """The kernel of 'nearest'."""
        return Kernel("upsampling", tuple(self.list_arguments()))

    @property
    def backward(self):
        """The kernel of its gradients."""
        writes = tuple(f"d_{name}" for name in self.list_arguments())
        return Kernel("upsampling_grad", ("d_output",), writes)

    def kernel_params(self, in_shapes):
        channels = [shape[1] for shape in in_shapes]
        return {"sums": self.multi_input_mode == "sum", "channels": channels}

    def forward_resource(self, in_shapes):
        return [ResourceRequest.temp_space] if self.sample_type == "bilinear" else []

    def backward_resource(self, in_shapes):
        return self.forward_resource(in_shapes)

    def declare_backward_dependency(self, out_grad, in_data, out_data):
        return [out_grad[0], *in_data] if self.sample_type == "bilinear" else [out_grad[0]]

    def create_operator(self, ctx, in_shapes, in_types):
        if self.sample_type == "nearest":
            return super().create_operator(ctx, in_shapes, in_types)
        require_float_cpu(self, ctx, self.list_arguments(), in_types)
        (out,) = self.output_shapes(in_shapes)
        k, pad = 2 * self.scale - self.scale % 2, self.scale // 2
        desc = ConvDesc(
            out,
            in_shapes[0],
            (k, k),
            (self.scale,) * 2,
            (1, 1),
            (pad, pad),
            self.num_filter,
            in_types[0],
            bias=False,
            transposed=True,
        )
        return UnrolledConvolution(desc, False)

    @property
    def second_order(self):
        """The rule for gradients of gradients: for 'bilinear' that of a deconvolution."""
        return Linear({0: (1,), 1: (0,)}) if self.sample_type == "bilinear" else Linear()
