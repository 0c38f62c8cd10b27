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
from .kernel_args import C_TYPES, LONG, cast_target
from .launch_program import Steps, operator
from .launch_steps import ADD, IN, IN_GRAD, NBYTES, OUT, OUT_GRAD, SIZE, each
from .registry import form


@form(CastProperty, AmpCastProperty, AmpMulticastProperty)
def cast(prop, shapes, types, device):
    forward, backward = Steps(), Steps()
    targets = prop.infer_type(types, [None] * len(types))[1]
    for i, (shape, source, target) in enumerate(zip(shapes, types, targets)):
        n = prod(shape)
        forward += each(
            n, "cast", f"cast<{C_TYPES[source]}, {cast_target(target)}>", IN[i], OUT[i], n, ADD
        )
        backward += each(
            n,
            "cast",
            f"cast<{C_TYPES[target]}, {cast_target(source)}>",
            OUT_GRAD[i],
            IN_GRAD[i],
            n,
            ADD,
        )
    return operator(device, forward, backward)


@form(AddNProperty)
def add_n(prop, shapes, types, device):
    n, count, kind = prod(shapes[0]), len(shapes), C_TYPES[types[0]]
    identity = f"unary<cynet::functor::identity, {kind}>"
    forward, backward = Steps(), Steps()
    if count == 1:
        forward += each(n, "elementwise", identity, IN[0], OUT[0], n, ADD)
    else:
        forward += each(
            n,
            "elementwise",
            f"binary<cynet::functor::plus, {kind}>",
            IN[0],
            True,
            IN[1],
            True,
            OUT[0],
            n,
            ADD,
        )
    for i in range(2, count):
        forward += each(n, "elementwise", identity, IN[i], OUT[0], n, True)
    for i in range(count):
        backward += each(n, "elementwise", identity, OUT_GRAD[0], IN_GRAD[i], n, ADD)
    return operator(device, forward, backward)


def progression(device, dtype, start, step=0.0, repeat=1):
    """The form of ``out[i] = start + step * (i // repeat)``."""
    forward = Steps()
    forward += each(
        SIZE,
        "fill",
        f"progression<{cast_target(dtype)}>",
        OUT[0],
        SIZE,
        float(start),
        float(step),
        repeat,
        ADD,
    )
    return operator(device, forward)


@form(CreationProperty)
def created(prop, shapes, types, device):
    return progression(device, prop.dtype, *prop.progression())


@form(ArangeLikeProperty)
def arange_like(prop, shapes, types, device):
    return progression(device, types[0], prop.start, prop.step, prop.repeat)


@form(ZerosWithoutDtypeProperty)
def zero_bytes(prop, shapes, types, device):
    forward = Steps()
    forward += each(SIZE, "fill", "zero_bytes", OUT[0], NBYTES, when=("write",))
    return operator(device, forward)


@form(EyeProperty)
def eye(prop, shapes, types, device):
    forward = Steps()
    forward += each(
        SIZE, "fill", f"eye<{cast_target(prop.dtype)}>", OUT[0], SIZE, prop.M or prop.N, prop.k, ADD
    )
    return operator(device, forward)


@form(ShapeArrayProperty, SizeArrayProperty)
def shape_array(prop, shapes, types, device):
    values = prop.values(shapes[0])
    table = device.upload((LONG * len(values))(*values))
    forward = Steps()
    forward += each(
        len(values), "cast", "cast<long long, long long>", table, OUT[0], len(values), ADD
    )
    return operator(device, forward)
