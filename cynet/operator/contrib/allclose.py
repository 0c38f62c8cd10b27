"""allclose: 1 where all elements of two arrays agree within tolerances, else 0."""

from ...base.errors import ArgumentError
from ..graph_hooks import GraphHooks
from ..kernel_property import Kernel, KernelProperty
from ..parameters import Bool, Float
from ..property import merge_shapes


class AllCloseProperty(KernelProperty, operator="_contrib_allclose"):
    """1 if ``|a - b| <= atol + rtol |b|`` for all elements, else 0: an array of one uint8."""

    differentiable = False
    graph = GraphHooks(of_nothing=1.0)
    inputs_doc = {"a": "An array.", "b": "Another one of its shape and dtype."}
    forward = Kernel("all_close", ("a", "b"))
    floats = ()
    rtol = Float(1e-5, doc="Tolerance relative to b.")
    atol = Float(1e-8, doc="Absolute tolerance.")
    equal_nan = Bool(True, doc="Whether NaN equals NaN.")
    example = """
    >>> mx.nd.contrib.allclose(mx.nd.array([1, 2]), mx.nd.array([1, 2.0000001]))
    [1]
    <NDArray 1 @cpu(0)>
    """

    def infer_shape(self, in_shapes, out_shapes):
        shape = merge_shapes(*in_shapes)
        return [shape, shape], [merge_shapes((1,), out_shapes[0])], []

    def infer_type(self, in_types, out_types):
        kind = in_types[0] or in_types[1]
        if in_types[1] not in (None, kind):
            raise ArgumentError(f"operator {self.op_name}: 'a' is {kind} but 'b' is {in_types[1]}")
        return [kind, kind], ["uint8"], []

    def kernel_params(self, in_shapes):
        return {"relative": self.rtol, "absolute": self.atol, "equal_nan": self.equal_nan}
