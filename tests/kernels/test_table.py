"""The table of kernels, and the declarations of operators that name them."""

import re
import sys

import pytest

import cynet as mx
from cynet.cuda.families import kernel_instances
from cynet.kernels.table import functors, kernels, reducers, update_rules
from cynet.operator import OPERATORS
from cynet.operator.kernel_operator import KernelOperator
from cynet.operator.kernel_property import GpuLines, Kernel, KernelProperty
from cynet.operator.parameters import Enum, Int
from cynet.operator.tensor.unary import UnaryProperty

DECLARED = {
    entry.name: entry.prop
    for _, entry in OPERATORS.items()
    if issubclass(entry.prop, KernelProperty) and not entry.prop.users
}


def declarations(base):
    """Classes of cynet's operators that declare kernels, forms for other memory orders among
    them; bases of operators have no name of one."""
    for prop in base.__subclasses__():
        own = prop.__module__.startswith("cynet.") and not prop.users
        yield from [prop] if own and prop.op_name else []
        yield from declarations(prop)


def forms(prop):
    """Instances of a declaration, with each choice of each parameter that has choices."""
    given = {name: 2 for name, field in prop.fields.items() if type(field) is Int}
    words = {name: field.choices for name, field in prop.fields.items() if isinstance(field, Enum)}
    given |= {name: choices[0] for name, choices in words.items()}
    made = prop.with_defaults().changed(**given)
    return [made] + [
        made.changed(**{name: word}) for name, choices in words.items() for word in choices
    ]


def test_kernels_and_declarations_name_each_other():
    made = [form for prop in declarations(KernelProperty) for form in forms(prop)]
    both = ("forward", "backward")
    named = {k.name for prop in made for direction in both for k in prop.kernels_of(direction)}
    modules = [vars(sys.modules[type(prop).__module__]) for prop in made]
    named |= {k.name for module in modules for k in module.values() if isinstance(k, Kernel)}
    loops = [name for family in ("unary", "binary", "binary_grad") for name in functors(family)]
    assert named <= {*kernels(), *loops, "cast"} and {*kernels()} <= named


@pytest.mark.parametrize(
    "name", [n for n, prop in DECLARED.items() if isinstance(prop.gpu, GpuLines)]
)
def test_kernels_of_a_gpu_have_the_names_of_the_cpu(name):
    prop = DECLARED[name]
    there = kernel_instances(prop.gpu.source)
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
        ({**PARAMS, "axis": 1}, "of named: expected .* eps, inner, n, outer; got .*axis"),
        ({"outer": 2, "n": 3, "inner": 1}, "l2_norm: expected .* inner, eps; got .*inner$"),
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
    prop.forward = Kernel("l2_norm", reads=("data",) * 73)
    with pytest.raises(mx.base.MXNetError, match="at most 71 tensors .* got 73 and 1"):
        prop.operator_on(mx.cpu(), [(2, 3)], ["float32"])


def test_tables_of_functors_reducers_and_rules_are_read_whole():
    """The end of each, and rows of both kinds."""
    assert functors("unary")["radians"] is False and functors("unary")["trunc"] is True
    assert functors("unary_grad")["zero"] is True and functors("unary_grad")["tan_grad_y"] is False
    assert functors("binary")["polygamma"] is False and functors("binary")["mod"] is True
    assert functors("binary_grad")["polygamma_grad"] is False
    assert functors("binary_grad")["prod_grad"] is True
    assert reducers() == ("sum", "nansum", "prod", "nanprod", "max", "min", "norm2", "norm1")
    rules = update_rules()
    assert rules["nag"] == (1, True, True) and rules["ftml"] == (3, True, False)
    assert rules["adamw"] == (2, True, True) and rules["hold"] == (0, False, False)
    with pytest.raises(mx.base.MXNetError, match="family of functors, got 'ternary'"):
        functors("ternary")


def test_functors_of_operators_are_in_the_tables():
    for entry in {e for _, e in OPERATORS.items()}:
        if issubclass(entry.prop, UnaryProperty) and entry.prop.functor:  # else by a parameter
            assert entry.prop.functor in functors("unary")
            assert (entry.prop.gradient or "zero") in functors("unary_grad")
