"""GPU forms of casts, sums of many arrays, and arrays made from parameters."""

from math import prod

from ..tensor.add_n import AddNProperty
from ..tensor.cast import AmpCastProperty, AmpMulticastProperty, CastProperty
from ..tensor.creation import (
    ArangeLikeProperty,
    CreationProperty,
    EyeProperty,
    ShapeArrayProperty,
    SizeArrayProperty,
    ZerosWithoutDtypeProperty,
)
from .kernel_args import C_TYPES, LONG, cast_type
from .launch_program import Steps, convert, fill_range, identity, launch_form, operator
from .launch_steps import ADD, IN, IN_GRAD, NBYTES, OUT, OUT_GRAD, SIZE, launch_each
from .registry import register_form


@launch_form(CastProperty, AmpCastProperty, AmpMulticastProperty)
def cast(prop, shapes, types, forward, backward):
    targets = prop.infer_type(types, [None] * len(types))[1]
    for i, (shape, source, target) in enumerate(zip(shapes, types, targets)):
        n = prod(shape)
        forward += convert(n, C_TYPES[source], cast_type(target), IN[i], OUT[i])
        backward += convert(n, C_TYPES[target], cast_type(source), OUT_GRAD[i], IN_GRAD[i])


@launch_form(AddNProperty)
def add_n(prop, shapes, types, forward, backward):
    n, count, kind = prod(shapes[0]), len(shapes), C_TYPES[types[0]]
    if count == 1:
        forward += identity(n, types[0], IN[0], OUT[0])
    else:
        plus = f"binary<cynet::functor::plus, {kind}>"
        forward += launch_each(n, "elementwise", plus, IN[0], True, IN[1], True, OUT[0], n, ADD)
    for i in range(2, count):
        forward += identity(n, types[0], IN[i], OUT[0], True)
    for i in range(count):
        backward += identity(n, types[0], OUT_GRAD[0], IN_GRAD[i])


def progression_operator(device, dtype, start, step=0.0, repeat=1):
    """Build the launches of ``out[i] = start + step * (i // repeat)``."""
    forward = Steps()
    forward += fill_range(SIZE, cast_type(dtype), OUT[0], float(start), float(step), repeat)
    return operator(device, forward)


@register_form(CreationProperty)
def creation_form(prop, shapes, types, device):
    return progression_operator(device, prop.dtype, *prop.start_step_repeat())


@register_form(ArangeLikeProperty)
def arange_like(prop, shapes, types, device):
    return progression_operator(device, types[0], prop.start, prop.step, prop.repeat)


@launch_form(ZerosWithoutDtypeProperty)
def zero_bytes(prop, shapes, types, forward, backward):
    forward += launch_each(SIZE, "fill", "zero_bytes", OUT[0], NBYTES, when=("write",))


@launch_form(EyeProperty)
def eye(prop, shapes, types, forward, backward):
    name, columns = f"eye<{cast_type(prop.dtype)}>", prop.M or prop.N
    forward += launch_each(SIZE, "fill", name, OUT[0], SIZE, columns, prop.k, ADD)


@launch_form(ShapeArrayProperty, SizeArrayProperty)
def shape_array(prop, shapes, types, forward, backward):
    values = prop.output_values(shapes[0])
    table = forward.device.upload((LONG * len(values))(*values))
    forward += convert(len(values), "long long", "long long", table, OUT[0])
