"""What takes a storage type refuses everything else, arrays too, by the errors of the package."""

import numpy as np
import pytest
from cynet.errors import CynetError

import cynet as mx

WRONG = [np.ones((2, 3)), mx.nd.ones((2, 3)), [1], 3, b"csr", "x", {}, ["csr"], True, 1.5, object()]


def dense():
    return mx.nd.ones((2, 3))


def sparse():
    return dense().tostype("row_sparse")


def bound(**stypes):
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2)
    return net.simple_bind(mx.cpu(), data=(2, 3), **stypes)


TAKERS = {
    "attach_grad": lambda stype: dense().attach_grad(stype=stype),
    "attach_grad of null": lambda stype: dense().attach_grad("null", stype=stype),
    "attach_grad of row_sparse": lambda stype: sparse().attach_grad(stype=stype),
    "attach_grad of csr": lambda stype: dense().tostype("csr").attach_grad(stype=stype),
    "tostype": lambda stype: dense().tostype(stype),
    "tostype of row_sparse": lambda stype: sparse().tostype(stype),
    "zeros": lambda stype: mx.nd.zeros((2, 3), stype=stype),
    "sparse.zeros": lambda stype: mx.nd.sparse.zeros(stype, (2, 3)),
    "empty": lambda stype: mx.nd.empty((2, 3), stype=stype),
    "sparse.empty": lambda stype: mx.nd.sparse.empty(stype, (2, 3)),
    "cast_storage": lambda stype: mx.nd.cast_storage(dense(), stype),
    "cast_storage of row_sparse": lambda stype: mx.nd.cast_storage(sparse(), stype),
    "Variable": lambda stype: mx.sym.Variable("x", stype=stype),
    "Parameter": lambda stype: mx.gluon.Parameter("x", shape=(2, 3), stype=stype),
    "Parameter, gradient": lambda stype: mx.gluon.Parameter("x", shape=(2, 3), grad_stype=stype),
    "ParameterDict": lambda stype: mx.gluon.ParameterDict().get("x", shape=(2, 3), stype=stype),
    "rand_ndarray": lambda stype: mx.test_utils.rand_ndarray((2, 3), stype),
    "rand_sparse_ndarray": lambda stype: mx.test_utils.rand_sparse_ndarray((2, 3), stype),
    "simple_bind": lambda stype: bound(stype_dict={"data": stype}),
}


@pytest.mark.parametrize("name", TAKERS)
def test_what_is_no_storage_type_is_refused(name):
    for wrong in WRONG:
        with pytest.raises(CynetError, match="storage|stype"):
            TAKERS[name](wrong)
