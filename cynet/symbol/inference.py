"""The infer_shape and infer_type methods of Symbol."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..base.dtype import name_of, scalar_type
from ..base.errors import ArgumentError, ArgumentTypeError, listed, shown, warn_user
from ..base.guard import guarded
from ..base.np_shape import is_np_shape
from ..operator.checks.shapes import declared_shape, message_shape, plain_shape
from ..operator.property import is_known
from .node import variable_nodes

if TYPE_CHECKING:
    from ..typing import DTypeLike, Shape


def _is_axis_length(n):
    return hasattr(n, "__index__") and -1 <= n.__index__() < 1 << 63


@guarded
class Inference:  # infer_shape, infer_type of Symbol
    """Inference of shapes and types; cynet/graph/infer.py does the work."""

    __slots__ = ()

    def infer_shape(
        self, /, *args: Shape | None, **kwargs: Shape
    ) -> tuple[list[Shape], list[Shape], list[Shape]] | tuple[None, None, None]:
        """Shapes of all arguments, outputs and auxiliary states, from those given.

        Parameters
        ----------
        *args : tuple or None
            Shapes of the arguments in the order of `list_arguments`; None leaves one out.
        **kwargs : tuple
            Shapes by name; 0 or -1 is an unknown dimension (under ``mx.util.np_shape`` only -1).

        Returns
        -------
        (arg_shapes, out_shapes, aux_shapes) : lists of tuple
            Or three times None, with a warning that names the arguments, when something stays
            unknown.

        Raises
        ------
        ShapeError
            Shapes that do not fit, with the node and the argument.

        Examples
        --------
        >>> (mx.sym.Variable("a") + mx.sym.Variable("b")).infer_shape(a=(2, 3))
        ([(2, 3), (2, 3)], [(2, 3)], [])
        """
        found = self._inferred_shapes(self._known_shapes(args, kwargs))
        if all(is_known(shape) for shapes in found for shape in shapes):
            return tuple([plain_shape(shape) for shape in shapes] for shapes in found)
        rows = [
            f"\n\t{name}: {message_shape(shape)}"
            for name, shape in zip(self.list_arguments(), found[0])
            if not is_known(shape)
        ]
        unknown = -1 if is_np_shape() else 0
        warn_user(
            "Cannot decide shape for the following arguments "
            f"({unknown}s in shape means unknown dimensions). "
            f"Consider providing them as input:{''.join(rows)}"
        )
        return None, None, None

    def infer_shape_partial(
        self, /, *args: Shape | None, **kwargs: Shape
    ) -> tuple[list[Shape], list[Shape], list[Shape]]:
        """Like `infer_shape`, but unknown shapes are ``()`` and unknown dimensions 0; under
        ``mx.util.np_shape`` None and -1.

        Parameters
        ----------
        *args, **kwargs
            See `infer_shape`.

        Returns
        -------
        (arguments, outputs, auxiliary states) : tuple of list of tuple
            A length that is not known is 0, a shape that is not known is ().

        Examples
        --------
        >>> out = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc")
        >>> out.infer_shape_partial()[1]
        [()]
        """
        found = self._inferred_shapes(self._known_shapes(args, kwargs))
        return tuple([message_shape(shape) for shape in shapes] for shapes in found)

    def infer_type(
        self, /, *args: DTypeLike | None, **kwargs: DTypeLike
    ) -> tuple[list[type], list[type], list[type]] | tuple[None, None, None]:
        """Types of all arguments, outputs and auxiliary states, from those given.

        Parameters
        ----------
        *args, **kwargs
            Types of arguments, anything that NumPy accepts as a dtype: in the order of
            `list_arguments`, or by name.

        Returns
        -------
        (arg_types, out_types, aux_types) : lists of NumPy type
            Or three times None, with a warning, when something stays unknown.

        Examples
        --------
        >>> (mx.sym.Variable("a") + mx.sym.Variable("b")).infer_type(a="float64")[1]
        [<class 'numpy.float64'>]
        """
        found = self._inferred_types(self._known_types(args, kwargs))
        if all(kind is not None for kinds in found for kind in kinds):
            return tuple([scalar_type(kind) for kind in kinds] for kinds in found)
        rows = [
            f"\n\t{name}: None"
            for name, kind in zip(self.list_arguments(), found[0])
            if kind is None
        ]
        warn_user(
            "Cannot decide type for the following arguments. "
            f"Consider providing them as input:{''.join(rows)}"
        )
        return None, None, None

    def infer_type_partial(
        self, /, *args: DTypeLike | None, **kwargs: DTypeLike
    ) -> tuple[list[type | None], list[type | None], list[type | None]]:
        """Like `infer_type`, but unknown types are None.

        Parameters
        ----------
        *args, **kwargs
            See `infer_type`.

        Returns
        -------
        (arguments, outputs, auxiliary states) : tuple of list of type
            A type that is not known is None.

        Examples
        --------
        >>> out = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc")
        >>> out.infer_type_partial(data="float16")[1]
        [<class 'numpy.float16'>]
        """
        found = self._inferred_types(self._known_types(args, kwargs))
        return tuple([kind and scalar_type(kind) for kind in kinds] for kinds in found)

    def _inferred_shapes(self, known):
        from ..graph.infer import infer_shapes

        return self._list_by_role(infer_shapes(self.entries, known))

    def _inferred_types(self, known):
        from ..graph.infer import infer_types

        return self._list_by_role(infer_types(self.entries, known))

    def _list_by_role(self, values):
        """Lists of the inferred values for arguments, outputs and auxiliary states."""
        arguments, states, _ = variable_nodes(self.entries)
        return (
            [values[node, 0] for node in arguments],
            [values[entry] for entry in self.entries],
            [values[node, 0] for node in states],
        )

    def _values_by_name(self, args, kwargs, check, what):
        """The positional or keyword arguments as a dict by name, each value checked."""
        if args and kwargs:
            raise ArgumentError(f"{what}s are given by position or by keyword, not both")
        names = dict.fromkeys(self.list_inputs())
        if args:
            arguments = self.list_arguments()
            if len(args) > len(arguments):
                raise ArgumentError(
                    f"{len(args)} {what}s given for {len(arguments)} arguments "
                    f"({listed(arguments)})"
                )
            kwargs = {name: value for name, value in zip(arguments, args) if value is not None}
        for name in kwargs:
            if name not in names:
                raise ArgumentError(
                    f"{shown(self)} has no argument {shown(name)}; arguments: {listed(names)}"
                )
        return {name: check(name, value) for name, value in kwargs.items()}

    def _known_shapes(self, args: Any, kwargs: Any) -> dict[str, Any]:
        def check(name, shape):
            if not isinstance(shape, tuple) or not all(_is_axis_length(n) for n in shape):
                raise ArgumentTypeError(
                    f"the shape of '{name}' must be a tuple of int, got {shown(shape)}"
                )
            return tuple(n.__index__() for n in shape)

        found = self._values_by_name(args, kwargs, check, "shape")
        return {name: declared_shape(shape) for name, shape in found.items()}

    def _known_types(self, args, kwargs):
        def check(name, dtype):
            try:
                return name_of(dtype)
            except TypeError as error:
                raise ArgumentTypeError(f"the type of '{name}': {error}") from None

        return self._values_by_name(args, kwargs, check, "type")
