"""LayerNorm: out = (data - mean) / sqrt(var + eps) * gamma + beta along one axis.

data, out (..., C, ...) with C along `axis`; gamma, beta (C,); mean and std are data's shape with 1
there.
"""

from ..checks.shapes import unify_shapes
from ..graph_hooks import GraphHooks
from ..kernel_property import Kernel, KernelProperty
from ..parameters import Bool, Float, Int
from ..precision import FLOAT32, Precision
from ..property import merge_shapes
from ..second_order import Rewrite
from ..tensor.axes import normalize_axis, params_along_axis
from .normalization_composed import normalize_axes, scale_shift


class LayerNormProperty(KernelProperty, operator="LayerNorm"):
    """Normalize along `axis` to mean 0 and variance 1, then scale and shift its entries.

    ``out = (data - mean) / sqrt(var + eps) * gamma + beta``.
    """

    axis = Int(-1, doc="The axis to normalize along.")
    eps = Float(1e-5, doc="Added to the variance.", low=0.0)
    output_mean_var = Bool(False, doc="Also give the mean and sqrt(var + eps) as outputs.")

    graph = GraphHooks(float32_beside_half=())
    inputs_doc = {"data": "Input.", "gamma": "Scale (C,).", "beta": "Shift (C,)."}
    forward = Kernel("layer_norm", ("data", "gamma", "beta"), ("output", "mean", "std"))
    backward = (  # the gradient of data comes last, as it may overwrite out_grad
        Kernel("layer_norm_scale_grad", ("d_output", "data", "mean", "std"), ("d_gamma", "d_beta")),
        Kernel(
            "layer_norm_grad",
            ("d_output", "data", "gamma", "mean", "std"),
            ("d_data",),
            in_place=(("d_output", "d_data"),),
        ),
    )
    amp = Precision(FLOAT32)
    drawn_as = "norm"
    output_names = ("output", "mean", "std")
    example = """
    >>> x = mx.nd.array([[1, 2, 3], [10, 20, 30]])
    >>> mx.nd.LayerNorm(x, mx.nd.ones(3), mx.nd.zeros(3))
    [[-1.2247357  0.         1.2247357]
     [-1.2247448  0.         1.2247448]]
    <NDArray 2x3 @cpu(0)>
    """

    def num_visible_outputs(self):
        return 3 if self.output_mean_var else 1

    def infer_shape(self, in_shapes, out_shapes):
        data = merge_shapes(in_shapes[0], out_shapes[0])
        length, line = merge_shapes(*in_shapes[1:], (0,)), merge_shapes(*out_shapes[1:])
        if data is not None:
            axis = self.positive_axis(data)
            length = unify_shapes("gamma or beta", length, (data[axis],))
            data = (*data[:axis], length[0], *data[axis + 1 :])
            line = unify_shapes("mean or std", line, (*data[:axis], 1, *data[axis + 1 :]))
        return [data, length, length], [data, line, line], []

    def positive_axis(self, shape):
        """Return `axis` as an index of 0 or more."""
        return normalize_axis(self.axis, shape)

    def kernel_params(self, in_shapes):
        lines = params_along_axis(in_shapes[0], self.positive_axis(in_shapes[0]))
        return {**lines, "eps": self.eps}

    def compose_outputs(self, F, inputs, aux, training):
        data, gamma, beta = inputs
        axis = self.positive_axis(data.shape)
        return [scale_shift(F, normalize_axes(F, data, (axis,), self.eps), gamma, beta, axis)]

    second_order = Rewrite(compose_outputs)
