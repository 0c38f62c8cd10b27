"""cast_storage: the same values in another storage type."""

from ..kernel_property import Kernel, KernelProperty
from ..parameters import Enum
from ..second_order import Rewrite
from ..storage_types import DENSE, SparseRule


def _cast_stype(prop, stypes):
    return prop.stype


def _cast_sparse(S, entry, prop, inputs, params):
    return S.arrays.cast_storage(inputs[0], prop.stype)


def _cast_gradient_node(S, entry, prop, params, inputs):
    return S.gradients.CastNode(inputs[0])


def _casts_to_sparse(prop):
    return prop.stype != DENSE


class CastStorageProperty(KernelProperty, operator="cast_storage"):
    """The input in another storage type; unchanged if all arrays are dense."""

    inputs_doc = {"data": "Input of any shape, of two axes for 'csr'."}
    forward = Kernel("identity", in_place=(("data", "output"),))
    backward = Kernel("identity", ("d_output",), ("d_data",), (("d_output", "d_data"),))
    floats = ()
    stype = Enum(("default", "row_sparse", "csr"), doc="Storage type of the output.")
    sparse = SparseRule(_cast_stype, _cast_sparse, _cast_gradient_node, makes=_casts_to_sparse)
    in_sparse = ("cast_storage",)
    example = """
    >>> mx.nd.cast_storage(mx.nd.array([[0, 1], [0, 0]]), stype="csr").indices.asnumpy()
    array([1])
    """

    def compose_outputs(self, F, inputs, aux, training):
        return [F.identity(inputs[0])]

    second_order = Rewrite(compose_outputs)
