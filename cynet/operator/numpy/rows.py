"""The operators of NumPy's elementwise functions, made of the rows of ``operator/functions``: a
function has its functors, gradient and kind of result there.

``_npi_add(lhs, rhs)``, ``_npi_add_scalar(data, scalar)``, ``_npi_exp(data)``: MXNet's names.
"""

from ...base.dtype import name_of
from .._base import register_operator
from ..functions.derivatives import make_unary_rule, rule_from_derivative
from ..functions.numpy_rows import BINARIES, NPX_UNARIES, NUMPY_ONLY_UNARIES, UNARIES, operators_of
from ..functions.row import BACKWARD_READS
from ..second_order import Rewrite
from .elementwise import NumpyBinary, NumpyScalar, NumpyUnary
from .examples import example_of
from .promotion import DEFAULT_FLOAT, FLOATS


def _cast_to_output(x, out):
    """Cast an operand to the dtype of the output if that is a float."""
    return x if x.dtype == out else x.astype(out)


def _composed_rule(function):
    """Return the rule of ``function(p, F, *x)``, composed of operators of mx.nd."""

    def outputs(p, F, x, aux, training):
        kind = p.infer_type([name_of(each.dtype) for each in x], [None])[1][0]
        if kind not in FLOATS:
            return None
        return [function(p, F, *[_cast_to_output(each, kind) for each in x])]

    return Rewrite(outputs)


def _make_unary_rule(derivative):
    """Return the rule for ``derivative(F, x, y)``; integers are cast to floats first."""

    def float_rule(F, x, y):
        whole = x is not None and name_of(x.dtype) not in FLOATS
        return derivative(F, x.astype(DEFAULT_FLOAT) if whole else x, y)

    return make_unary_rule(float_rule)


def _register_op(name, base, doc, second_order, **attributes):
    if callable(second_order):
        second_order = _composed_rule(second_order)
    attributes |= {"__doc__": doc, "__module__": __name__, "second_order": second_order}
    attributes["example"] = example_of(name, base is NumpyUnary)
    register_operator(name, type(name, (base,), attributes))


def _two_array_rule(row, rule):
    if row is not None:
        return lambda p, F, a, b: getattr(F, row.broadcast.name)(a, b)
    return (lambda p, F, a, b: rule(F, a, b)) if callable(rule) else rule


def _array_scalar_rule(row, rule, reverse):
    if row is not None:
        form = row.reflected if reverse else row.scalar
        name = form if isinstance(form, str) else form.name
        return lambda p, F, x: getattr(F, name)(x, scalar=float(p.scalar))
    if not callable(rule):
        return rule
    if reverse:
        return lambda p, F, x: rule(F, F.zeros_like(x) + float(p.scalar), x)
    return lambda p, F, x: rule(F, x, F.zeros_like(x) + float(p.scalar))


for _name, _functor, _gradient, _result, _rule, _row in BINARIES:
    _said = {"functor": _functor, "gradients": _gradient, "result": _result}
    _said |= {"differentiable": _gradient.exists, "backward_reads": _gradient.backward_reads}
    _names = operators_of(_name)
    _doc = f"``{_name}`` of the elements of two arrays, broadcast."
    _exists = _gradient.exists
    _register_op(
        _names[0], NumpyBinary, _doc, _two_array_rule(_row, _rule) if _exists else None, **_said
    )
    _doc = f"``{_name}`` of each element of an array and a number."
    _of_number = _array_scalar_rule(_row, _rule, False) if _exists else None
    _register_op(_names[2], NumpyScalar, _doc, _of_number, **_said)
    if _names[3] == f"_npi_r{_name}_scalar":
        _doc = f"``{_name}`` of a number and each element of an array."
        _of_number = _array_scalar_rule(_row, _rule, True) if _exists else None
        _register_op(_names[3], NumpyScalar, _doc, _of_number, reverse=True, **_said)

for _operator, _row in (*UNARIES.values(), *NPX_UNARIES.values()):
    if _row is not None and _operator != _row.name:
        _register_op(
            _operator,
            NumpyUnary,
            _row.doc.replace("; the input's dtype", ""),
            rule_from_derivative(_make_unary_rule, _row.derivative),
            functor=_row.functor or _row.name,
            gradient=_row.gradient,
            reads=_row.reads,
            backward_reads=BACKWARD_READS[_row.reads],
            differentiable=_row.gradient is not None,
            result=_row.result,
        )
for _name, _result in NUMPY_ONLY_UNARIES:
    _doc = f"``{_name}`` of each element of an array."
    _register_op(
        f"_npi_{_name}", NumpyUnary, _doc, None, functor=_name, differentiable=False, result=_result
    )
