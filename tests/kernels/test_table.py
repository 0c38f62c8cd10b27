"""The table of kernels, and the declarations of operators that name them."""

import re

import pytest
from cynet.kernels.table import kernels
from cynet.operator.kernel_operator import KernelOperator

import cynet as mx
from cynet.cuda.families import instances
from cynet.operator import OPERATORS
from cynet.operator.kernel_property import Kernel, KernelProperty

DECLARED = {
    entry.name: entry.prop
    for _, entry in OPERATORS.items()
    if issubclass(entry.prop, KernelProperty) and not entry.prop.users
}


def test_kernels_and_declarations_name_each_other():
    named = {k.name for prop in DECLARED.values() for k in (prop.forward, prop.backward) if k}
    assert named == {*kernels()}


@pytest.mark.parametrize("name", DECLARED)
def test_kernels_of_a_gpu_have_the_names_of_the_cpu(name):
    prop = DECLARED[name]
    there = instances(prop.gpu.source)
    assert {f"{kernel.name}<float>" for kernel in (prop.forward, prop.backward)} <= {*there}


class Named(KernelProperty):
    forward = Kernel("l2_norm")
    op_name = "named"

    def __init__(self, **params):
        super().__init__()
        self.given = params

    def kernel_params(self, in_shapes):
        return self.given


PARAMS = {"outer": 2, "n": 3, "inner": 1, "eps": 0.0}


@pytest.mark.parametrize(
    "params, message",
    [
        ({**PARAMS, "axis": 1}, "l2_norm: expected the parameters outer, n, inner, eps; got"),
        ({"outer": 2, "n": 3, "inner": 1}, "got outer, n, inner$"),
    ],
)
def test_a_parameter_too_many_or_too_few_is_refused(params, message):
    with pytest.raises(mx.base.MXNetError, match=message):
        Named(**params).operator_on(mx.cpu(), [(2, 3)], ["float32"])


def test_what_the_table_has_not_is_refused():
    prop = Named(**PARAMS)
    with pytest.raises(mx.base.MXNetError, match="operator named computes in float32 or float64"):
        prop.operator_on(mx.cpu(), [(2, 3)], ["int32"])
    with pytest.raises(mx.base.MXNetError, match=re.escape("no loop 'l2_norm' for arrays of int8")):
        KernelOperator(prop, "int8", PARAMS)
    prop.forward = Kernel("l3_norm")
    with pytest.raises(mx.base.MXNetError, match="name of a kernel, got 'l3_norm'"):
        prop.operator_on(mx.cpu(), [(2, 3)], ["float32"])
    prop.forward = Kernel("l2_norm", reads=("data",) * 9)
    with pytest.raises(mx.base.MXNetError, match="at most 8 tensors .* got 9 and 1"):
        prop.operator_on(mx.cpu(), [(2, 3)], ["float32"])
