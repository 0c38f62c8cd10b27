"""OutDType: operators with a parameter for the dtype of the output, independent of the data's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..base.errors import ArgumentError
from .property import OperatorProperty

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..context import Context
    from ..typing import Operator, Shape

FLOATING = ("bfloat16", "float16", "float32", "float64")  # dtypes that are converted


def cast_gradients_back(formula: Callable[..., Any]) -> Callable[..., Any]:
    """Cast the gradient of a `Formula` to the data's dtype if the output's was chosen."""

    def gradients(p: OutDType, F: Any, g: Any, x: Any, y: Any) -> Any:
        if p.new_dtype() is None:
            return formula(p, F, g, x, y)
        dtype = x[0].dtype
        wide = [None if each is None else F.cast(each, dtype=p.new_dtype()) for each in x]
        found = formula(p, F, g, wide, y)
        return [lambda: F.cast(found[0](), dtype=dtype), *found[1:]]

    return gradients


class OutDType(OperatorProperty):  # base: a parameter sets the output's dtype
    """Base of operators with a parameter for the output's dtype; None means the data's.

    On the CPU the operator of one dtype runs between conversions; gradients have the data's dtype.
    """

    dtype_parameter = "dtype"  # the parameter's name
    converted = FLOATING  # dtypes of arrays to convert; lengths are not converted

    def new_dtype(self) -> str | None:
        """The requested dtype, or None."""
        dtype: str | None = getattr(self, self.dtype_parameter)
        return dtype

    def compute_dtype(self, data: str, out: str | None) -> str:
        """Return the dtype to compute in: the widest float, at least float32."""
        if data not in FLOATING or out not in FLOATING:
            raise ArgumentError(
                f"operator {self.op_name}: {self.dtype_parameter} {out} does not fit data of "
                f"{data}; cast data first"
            )
        return "float64" if "float64" in (data, out) else "float32"

    def infer_type(self, in_types: list[Any], out_types: list[Any]) -> tuple[Sequence[Any], ...]:
        chosen = self.new_dtype()
        data = in_types[0] or (out_types[0] if chosen is None else None)
        return [data, *in_types[1:]], [chosen or data], []

    def _changes_dtype(self, in_types: Sequence[str]) -> bool:
        return self.new_dtype() not in (None, in_types[0])

    def _is_converted(self, in_shapes: Sequence[Shape], in_types: Sequence[str]) -> bool:
        return not self._changes_dtype(in_types) and super()._is_converted(in_shapes, in_types)

    def operator_on(self, ctx: Context, in_shapes: list[Shape], in_types: list[str]) -> Operator:
        if ctx.device_type == "gpu" and self._changes_dtype(in_types):
            raise ArgumentError(
                f"operator {self.op_name}: {self.dtype_parameter} {self.new_dtype()} is not data's "
                f"dtype, {in_types[0]}, which its form on {ctx} needs; cast data first"
            )
        return super().operator_on(ctx, in_shapes, in_types)

    def create_operator(
        self, ctx: Context, in_shapes: list[Shape], in_types: list[str]
    ) -> Operator:
        if not self._changes_dtype(in_types):
            return self.create_without_cast(ctx, in_shapes, in_types)
        from .half import convert_around_operator

        kind = self.compute_dtype(in_types[0], self.new_dtype())
        operator = self.create_without_cast(ctx, in_shapes, [kind, *in_types[1:]])
        return convert_around_operator(operator, self.converted, kind)

    def create_without_cast(
        self, ctx: Context, in_shapes: list[Shape], in_types: list[str]
    ) -> Operator:
        """Create the operator whose output has the data's dtype."""
        raise ArgumentError(f"operator {self.op_name} has no implementation on {ctx}")
