"""Creates a property class for the operators of each row, derived from the class of its family."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .._base import register_operator
from ..precision import WIDEST, Precision
from ..storage_types import elementwise_rule
from . import binary, reductions, unary
from .derivatives import (
    make_binary_rule,
    make_broadcast_rule,
    make_reduction_rule,
    make_scalar_rule,
    make_unary_rule,
    rule_from_derivative,
)
from .examples import make_form_example, make_reduction_example, make_unary_example
from .row import BACKWARD_READS, DEFAULT_PRECISION

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    from ..second_order import Flat, Formula, Linear
    from ..storage_types import SparseRule
    from .row import Binary, Form, Reduction, Unary

_WIDEST_PRECISION = Precision(WIDEST, WIDEST)  # computes in the widest input dtype


def register_unary(base: Any) -> None:
    """Register an operator for each unary function.

    Parameters
    ----------
    base : type
        The property that computes it; ``base.class_attributes(row)`` are further attributes.
    """
    for row in unary.UNARY:
        _register_row(
            base,
            unary,
            row,
            row,
            functor=row.functor or row.name,
            gradient=row.gradient,
            reads=row.reads,
            backward_reads=BACKWARD_READS[row.reads],
            differentiable=row.gradient is not None,
            second_order=rule_from_derivative(make_unary_rule, row.derivative),
            sparse=elementwise_rule() if row.zero_stays else row.sparse,
            amp=row.amp,
            example=make_unary_example(row),
            methods=(row.name,) if row.method else (),
            in_sparse=_names_in_sparse(row, row.zero_stays),
            drawn_as=row.drawn_as,
            **base.class_attributes(row),
        )


def register_binary(base: Any, kind: str, **attributes: Any) -> None:
    """Register an operator for each function of two elements whose row has this kind of operator.

    Parameters
    ----------
    base : type
        The property that computes it; ``base.class_attributes(row, form)`` are further attributes.
    kind : str
        ``'same'``, ``'broadcast'``, ``'scalar'`` or ``'reflected'``.
    **said
        Further attributes of the classes.
    """
    for row in binary.BINARY:
        if kind not in row.forms():
            continue
        form = getattr(row, kind)
        _register_row(
            base,
            binary,
            row,
            form,
            functor=row.functor,
            gradients=row.gradient,
            backward_reads=row.gradient.backward_reads,
            differentiable=row.gradient.exists,
            second_order=_second_order_rule(row, kind, form),
            sparse=form.sparse or _sparse_rule(form.at_zero),
            amp=form.amp
            or row.amp
            or (_WIDEST_PRECISION if kind in ("same", "broadcast") else DEFAULT_PRECISION),
            example=make_form_example(row, kind, form),
            in_sparse=_names_in_sparse(form, form.sparse is not None),
            **base.class_attributes(row, form),
            **attributes,
        )


def register_reductions(base: Any) -> None:
    """Register an operator for each reduction; ``base.class_attributes(row)`` adds attributes."""
    for row in reductions.REDUCTIONS:
        _register_row(
            base,
            reductions,
            row,
            row,
            reduction=row.reduction,
            gradient=row.gradient,
            reads=row.reads,
            backward_reads=("out_grad", "in_data", "out_data") if row.reads else BACKWARD_READS[""],
            mean=row.mean,
            second_order=rule_from_derivative(make_reduction_rule, row.derivative),
            sparse=row.sparse,
            amp=row.amp,
            example=make_reduction_example(row),
            methods=(row.name,),
            in_sparse=(row.name,) if row.sparse else (),
            **base.class_attributes(row),
        )


def _register_row(
    base: type,
    module: ModuleType,
    row: Unary | Binary | Reduction,
    operator: Unary | Form | Reduction,
    **attributes: Any,
) -> None:
    attributes |= {"__doc__": operator.doc, "__module__": module.__name__, "function": row}
    made = type(operator.name, (base,), attributes)
    register_operator(operator.name, made, aliases=operator.aliases)


def _names_in_sparse(operator: Unary | Form, usual: bool) -> tuple[str, ...]:
    if not (usual if operator.in_sparse is None else operator.in_sparse):
        return ()
    return (operator.name, *(each for each in operator.aliases if each[0] != "_"))


def _second_order_rule(row: Binary, kind: str, form: Form) -> Formula | Linear | Flat | None:
    if form.derivative is not None:
        return rule_from_derivative(make_scalar_rule, form.derivative)
    if not row.derivatives:
        return None
    return (make_binary_rule if kind == "same" else make_broadcast_rule)(*row.derivatives)


def _sparse_rule(at_zero: Callable[[float], float] | None) -> SparseRule | None:
    if at_zero is None:
        return None
    return elementwise_rule(lambda prop: at_zero(float(prop.scalar)) == 0)
