"""GPU forms of operators that move elements: strided pieces of inputs become pieces of outputs.

The CPU operator of each says which pieces; the same description is launched here.
"""

import ctypes
from math import prod

from ...base.errors import ArgumentError
from ...context import Context
from ..nn.crop import CropProperty
from ..tensor.assign import SliceAssignProperty, SliceAssignScalarProperty
from ..tensor.concat import ConcatProperty, StackProperty
from ..tensor.memory_format import ChannelsLastProperty
from ..tensor.pad import PadProperty
from ..tensor.reshape import ReshapeLikeProperty, SameBytesProperty
from ..tensor.strided_moves import StridedCopyOperator, subview, whole_view
from ..tensor.transpose import MoveProperty
from .kernel_args import C_TYPES, INT, LONG, axes_of, c_int64_array, layout_args
from .launch_program import Steps, constant, fold, launch_form, operator, zeros
from .launch_steps import ADD, IN, IN_GRAD, OUT, OUT_GRAD, launch_each
from .registry import register_form

_CPU_CONTEXT = Context("cpu")  # to describe a move by the CPU's operator


def copy_view_launch(kind, source, target, view_in, view_out, **options):
    """``target (+)= source`` on two Views of one shape."""
    out, given = view_out, view_in
    walk = layout_args(out.shape, out.strides, given.strides, out.offset, given.offset)
    return launch_each(walk.n, "index", f"copy<{kind}>", source, target, walk, ADD, **options)


def fill_view_launch(device, number, dtype, array, view, **options):
    """``array (+)= number`` on a View."""
    kind = C_TYPES[dtype]
    zero = view._replace(strides=(0,) * len(view.shape), offset=0)
    return copy_view_launch(
        kind, constant(device, number, dtype, kind), array, zero, view, **options
    )


def copy_form(device, op, shapes, out_shapes):
    """Build the launches of a StridedCopyOperator."""
    dtype, pieces, fill = op.described
    kind = C_TYPES[dtype]
    forward, backward = Steps(), Steps()
    if fill is not None:
        for i, shape in enumerate(out_shapes):
            forward += fill_view_launch(device, fill, dtype, OUT[i], whole_view(shape))
    for piece in pieces:
        out = OUT[piece.to]
        if fill:  # kAddTo: the constant is subtracted again where a piece is added
            forward += fill_view_launch(device, -fill, dtype, out, piece.target, when=("add",))
        forward += copy_view_launch(kind, IN[piece.index], out, piece.source, piece.target)
    taken = {piece.index for piece in pieces}
    for i, shape in enumerate(shapes):
        if i in op.uncovered or i not in taken:
            backward += zeros(shape, dtype, IN_GRAD[i])
    for piece in pieces:
        _add_piece_gradient(backward, kind, piece)
    return operator(device, forward, backward)


def _add_piece_gradient(steps, kind, piece):
    g, dx, source = OUT_GRAD[piece.to], IN_GRAD[piece.index], piece.source
    repeated = [i for i, (n, s) in enumerate(zip(source.shape, source.strides)) if not s and n > 1]
    if repeated:
        fold(steps, "sum", kind, g, dx, axes_of(source.shape, repeated))
    else:
        steps += copy_view_launch(kind, g, dx, piece.target, source)


class BorderArgs(ctypes.Structure):  # kernel argument: a padded array, its interior
    """Kernel argument: shapes of a padded array and of its interior (index.cu)."""

    _fields_ = [("n", LONG), ("ndim", INT), ("reflect", INT)]
    _fields_ += [(name, LONG * 8) for name in ("dst", "src", "before")]


def pad_form(prop, shape, dtype, device):
    """Build the launches of Pad whose borders repeat elements of the array."""
    params = prop.kernel_params([shape])
    kind, lengths = C_TYPES[dtype], params["dst"]
    lists = [c_int64_array(params[name]) for name in ("dst", "src", "before")]
    walk = BorderArgs(prod(lengths), len(shape), params["reflect"], *lists)
    forward, backward = Steps(), Steps()
    forward += launch_each(walk.n, "index", f"pad<{kind}>", IN[0], OUT[0], walk, ADD)
    backward += zeros(shape, dtype, IN_GRAD[0])
    backward += launch_each(walk.n, "index", f"pad_grad<{kind}>", OUT_GRAD[0], IN_GRAD[0], walk)
    return operator(device, forward, backward)


@register_form(
    MoveProperty,
    ConcatProperty,
    StackProperty,
    CropProperty,
    SameBytesProperty,
    ReshapeLikeProperty,
    checks=False,
)
def moved_pieces_form(prop, shapes, types, device):
    if isinstance(prop, PadProperty) and prop.mode != "constant":
        return pad_form(prop, shapes[0], types[0], device)
    op = prop.create_operator(_CPU_CONTEXT, shapes, types)
    if not isinstance(op, StridedCopyOperator):
        raise ArgumentError(f"operator {prop.op_name} moves no pieces: {type(op).__name__}")
    return copy_form(device, op, shapes, prop.output_shapes(shapes))


@launch_form(ChannelsLastProperty)
def channels_last_form(prop, shapes, types, forward, backward):
    n, c, inner = shapes[0][0], shapes[0][1], prod(shapes[0][2:])
    rows, columns = (c, inner) if prop.to_last else (inner, c)
    whole = whole_view((n, rows, columns))
    transposed = whole_view((n, columns, rows))
    transposed = transposed._replace(shape=whole.shape, strides=(rows * columns, 1, rows))
    forward += copy_view_launch("float", IN[0], OUT[0], whole, transposed)
    backward += copy_view_launch("float", OUT_GRAD[0], IN_GRAD[0], transposed, whole)


@launch_form(SliceAssignProperty, SliceAssignScalarProperty)
def assign_form(prop, shapes, types, forward, backward):
    dtype, kind = types[0], C_TYPES[types[0]]
    whole = whole_view(shapes[0])
    view = subview(whole, *prop.part_range(shapes[0]))
    part = whole_view(view.shape)
    walk = layout_args(view.shape, view.strides, view.strides, view.offset, view.offset)
    back = "index", f"take_grad<{kind}>"
    scalar = isinstance(prop, SliceAssignScalarProperty)
    forward += copy_view_launch(kind, IN[0], OUT[0], whole, whole)
    # the amount that an adding request has added in that part is subtracted
    forward += launch_each(walk.n, *back, IN[0], OUT[0], walk, when=("add",))
    if scalar:
        forward += fill_view_launch(forward.device, prop.scalar, dtype, OUT[0], view)
    else:
        forward += copy_view_launch(kind, IN[1], OUT[0], part, view)
    backward += copy_view_launch(kind, OUT_GRAD[0], IN_GRAD[0], whole, whole)
    backward += fill_view_launch(forward.device, 0, dtype, IN_GRAD[0], view, when=("write",))
    backward += launch_each(walk.n, *back, OUT_GRAD[0], IN_GRAD[0], walk, when=("add",))
    if not scalar:
        backward += copy_view_launch(kind, OUT_GRAD[0], IN_GRAD[1], view, part)
