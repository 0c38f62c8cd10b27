"""quantized_embedding: rows of a quantized weight by index."""

from ..checks.shapes import unify_shapes
from ..kernel_property import Kernel, KernelProperty
from ..parameters import Bool, DType, Int
from .ranges import ONE, NanCheck, range_input_shapes, require_byte_dtype
from .shapes import OUTPUTS

INDEX_DTYPES = ("float32", "float64", "int32", "int64", "uint8", "int8")  # of the input


class QuantizedEmbeddingProperty(NanCheck, KernelProperty, operator="_contrib_quantized_embedding"):
    """Rows of a quantized `weight` by index, with its range.

    Indices are truncated to integers; one below 0 counts as 0 and one beyond the last as the
    last; NaN is refused.
    """

    input_dim = Int(doc="Number of rows of weight.", low=1)
    output_dim = Int(doc="Length of a row.", low=1)
    dtype = DType("float32", doc="Accepted; the output has the dtype of weight.")
    sparse_grad = Bool(False, doc="Accepted; there is no gradient.")

    differentiable = False
    floats = ()
    inputs_doc = {
        "data": "Indices, any shape.",
        "weight": "Rows (input_dim, output_dim), integers of 8 bits.",
        "min_weight": "The least value of weight, (1,).",
        "max_weight": "The largest value of weight, (1,).",
    }
    forward = Kernel(
        "quantized_rows", ("data", "weight", "min_weight", "max_weight"), OUTPUTS, whole=True
    )
    output_names = OUTPUTS
    example = """
    >>> rows, low, high = mx.nd.contrib.quantize_v2(mx.nd.array([[1, 2], [3, 4]]))
    >>> out = mx.nd.contrib.quantized_embedding(mx.nd.array([1]), rows, low, high, 2, 2)
    >>> out[0]
    [[ 96 127]]
    <NDArray 1x2 @cpu(0)>
    """

    def infer_shape(self, in_shapes, out_shapes):
        data, out = in_shapes[0], out_shapes[0]
        weight = unify_shapes("weight", in_shapes[1], (self.input_dim, self.output_dim))
        if data is not None:
            out = unify_shapes("output", out, (*data, self.output_dim))
        elif out is not None:
            out = unify_shapes("output", out, (*(0,) * (len(out) - 1), self.output_dim))
        if out is not None:
            data = out[:-1]
        ends = [unify_shapes(name, s, ONE) for name, s in zip(OUTPUTS[1:], out_shapes[1:])]
        return [data, weight, *range_input_shapes(self, in_shapes, 2)], [out, *ends], []

    def infer_type(self, in_types, out_types):
        require_byte_dtype(self, in_types[0], "data", INDEX_DTYPES)
        weight = in_types[1] or out_types[0] or "int8"
        require_byte_dtype(self, weight, "weight")
        given = [in_types[0] or "float32", weight, "float32", "float32"]
        return given, [weight, "float32", "float32"], []

    def kernel_dtype(self, in_types):
        return in_types[1]

    def kernel_params(self, in_shapes):
        return {"rows": self.input_dim, "length": self.output_dim}

    def cost_elements(self, in_shapes):
        return in_shapes[1][1] * max(1, len(in_shapes[0]))
