"""GPU launches of elementwise operators: unary, binary, with a number, broadcast."""

from math import prod

from ..elementwise_loop import Loop, fold_out_of_range_scalar, loop_dtype
from ..tensor.binary import BinaryProperty
from ..tensor.binary_scalar import BinaryScalarProperty
from ..tensor.broadcast import BroadcastProperty, broadcast_shapes
from ..tensor.polygamma import PolygammaProperty
from ..tensor.unary import UnaryProperty
from .kernel_args import C_TYPES, axes_of, broadcast_strides, space_of
from .launch_program import Steps, choose_kernel, constant, convert, fold, launch_form, operator
from .launch_steps import ADD, IN, IN_GRAD, OUT, OUT_GRAD, TARGET, launch_each
from .registry import register_form


@launch_form(UnaryProperty)
def unary_form(prop, shapes, types, forward, backward):
    n, dtype = prod(shapes[0]), types[0]
    name, kind = choose_kernel("unary", prop.functor, dtype)
    x = forward.to_ctype(IN[0], dtype, n, kind)
    forward.add_launch(OUT[0], dtype, n, kind, _launch_elementwise(n, name, x))
    name, kind = choose_kernel("unary_grad", prop.gradient or "zero", dtype)
    known = {"x": IN[0], "y": OUT[0], "": OUT_GRAD[0]}[prop.reads]
    g = backward.to_ctype(OUT_GRAD[0], dtype, n, kind)
    k = backward.to_ctype(known, dtype, n, kind) if prop.reads else g
    backward.add_launch(IN_GRAD[0], dtype, n, kind, _launch_elementwise(n, name, g, k))


def _gradient_functors(prop):
    """Return the gradient functors of lhs and rhs, and whether they read the inputs."""
    found = prop.gradients
    return found.lhs, found.rhs, found.reads


@launch_form(BinaryProperty)
def binary_form(prop, shapes, types, forward, backward):
    n, dtype = prod(shapes[0]), types[0]
    name, kind = choose_kernel("binary", prop.functor, dtype)
    a, b = (forward.to_ctype(IN[i], dtype, n, kind) for i in range(2))
    forward.add_launch(OUT[0], dtype, n, kind, _launch_elementwise(n, name, a, True, b, True))
    *functors, reads = _gradient_functors(prop)
    for side, functor in enumerate(functors):
        name, kind = choose_kernel("binary_grad", functor, dtype)
        g = backward.to_ctype(OUT_GRAD[0], dtype, n, kind, to=(side, 1))
        known = [backward.to_ctype(IN[i], dtype, n, kind, to=(side, 1)) for i in range(2)]
        a, b = known if reads else (g, g)
        launch = _launch_elementwise(n, name, g, a, True, b, True)
        backward.add_launch(IN_GRAD[side], dtype, n, kind, launch)


def _add_scalar_launch(steps, device, loop, dtype, arrays, target):
    """Add to `steps` the launch that computes a Loop of `arrays` (by name) and a scalar."""
    n = arrays["n"]
    loop = fold_out_of_range_scalar(loop, dtype)  # the loops on the CPU do the same
    wide = loop_dtype(loop, dtype)
    instance, kind = choose_kernel(loop.family, loop.functor, wide)
    reads = {
        name: steps.to_ctype(arrays[name], dtype, n, kind)
        for name in dict.fromkeys(loop.reads)
        if not isinstance(name, float)
    }
    operands = []
    for i, read in enumerate(loop.reads):
        number = isinstance(read, float)
        operands.append(constant(device, read, wide, kind) if number else reads[read])
        if loop.family == "binary" or (loop.family == "binary_grad" and i):
            operands.append(not number)
    launch = _launch_elementwise(n, instance, *operands)
    steps.add_launch(target, dtype, n, kind, launch, adds_cast=wide != dtype)


def _launch_elementwise(n, name, *operands):
    """A launch of kernel `name` of elementwise.cu over n elements."""
    return launch_each(n, "elementwise", name, *operands, TARGET, n, ADD)


def _make_scalar_form(device, functor, gradient, number, shape, dtype, reverse=False, reads=True):
    """Build the launches of f(array, number); `reads`: the gradient of f reads the array."""
    forward, backward = Steps(), Steps()
    number = float(number) if isinstance(number, int) else number
    arrays = {"n": prod(shape), "x": IN[0], "g": OUT_GRAD[0]}

    def operands(x):
        return (number, x) if reverse else (x, number)

    loop = Loop("binary", functor, operands("x"), None)
    _add_scalar_launch(forward, device, loop, dtype, arrays, OUT[0])
    loop = Loop("binary_grad", gradient, ("g", *operands("x" if reads else "g")), None)
    _add_scalar_launch(backward, device, loop, dtype, arrays, IN_GRAD[0])
    return operator(device, forward, backward)


@register_form(BinaryScalarProperty)
def binary_scalar(prop, shapes, types, device):
    lhs, rhs, _ = _gradient_functors(prop)
    gradient = rhs if prop.reverse else lhs
    known = prop.scalar, shapes[0], types[0], prop.reverse, prop.grad_reads_array()
    return _make_scalar_form(device, prop.functor, gradient, *known)


@register_form(PolygammaProperty)
def polygamma(prop, shapes, types, device):
    return _make_scalar_form(device, "polygamma", "polygamma_grad", prop.n, shapes[0], types[0])


@launch_form(BroadcastProperty)
def broadcast_form(prop, shapes, types, forward, backward):
    dtype, out = types[0], broadcast_shapes(*shapes)
    n = prod(out)
    name, kind = choose_kernel("broadcast", prop.functor, dtype, "broadcast")
    steps = [broadcast_strides(s, out) for s in shapes]
    a, b = (forward.to_ctype(IN[i], dtype, prod(shapes[i]), kind) for i in range(2))
    launch = launch_each(n, "broadcast", name, a, b, TARGET, space_of(out, *steps), ADD)
    forward.add_launch(OUT[0], dtype, n, kind, launch)
    *functors, reads = _gradient_functors(prop)
    for side, functor in enumerate(functors):
        to, shape = (side, 1), shapes[side]
        name, kind = choose_kernel("broadcast_grad", functor, dtype, "broadcast")
        g = backward.to_ctype(OUT_GRAD[0], dtype, n, kind, to=to)
        if reads:
            a, b = (backward.to_ctype(IN[i], dtype, prod(shapes[i]), kind, to=to) for i in range(2))
            walk = space_of(out, *steps)
        else:
            a = b = g
            walk = space_of(out, *[broadcast_strides(out, out)] * 2)
        missing = len(out) - len(shape)
        summed = [
            i for i, m in enumerate(out) if m != 1 and (i < missing or shape[i - missing] == 1)
        ]
        if not summed:
            launch = launch_each(n, "broadcast", name, g, a, b, TARGET, walk, ADD)
            backward.add_launch(IN_GRAD[side], dtype, n, kind, launch)
            continue
        terms = backward.reserve(n, kind)
        backward += launch_each(n, "broadcast", name, g, a, b, terms, walk, False, to=to)
        own = C_TYPES[dtype]
        if own != kind:  # the terms are rounded to the array's dtype before they are summed
            wide, terms = terms, backward.reserve(n, own)
            backward += convert(n, kind, own, wide, terms, False, to=to)
        fold(backward, "sum", own, terms, IN_GRAD[side], axes_of(out, summed))
