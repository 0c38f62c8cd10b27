"""Operators as methods of Symbol: ``x.sum(axis=1)`` is ``mx.sym.sum(x, axis=1)``."""

from ..operator._base import get_operator
from ..operator.array_methods import METHODS
from .register import function_of


class OperatorMethods:  # operators as methods of Symbol
    """The methods of Symbol that are operators with the symbol as first input."""

    __slots__ = ()

    def as_nd_ndarray(self):
        """The symbol itself: it belongs to mx.sym already.

        Examples
        --------
        >>> x = mx.sym.var("x")
        >>> x.as_nd_ndarray() is x
        True
        """
        return self

    def as_np_ndarray(self):
        """The same outputs as a symbol of ``mx.sym.np``: its operators and members are NumPy's.

        Returns
        -------
        Symbol

        Examples
        --------
        >>> x = mx.sym.var("x").as_np_ndarray()
        >>> (x + 1).sum().infer_shape(x=(2, 3))[1]
        [()]
        """
        from .numpy import NumpySymbol

        return NumpySymbol(self.entries)

    def astype(self, *args, **kwargs):
        """This symbol's values in another type: operator Cast.

        Parameters
        ----------
        *args, **kwargs
            Arguments of ``mx.sym.cast``.

        Examples
        --------
        >>> mx.sym.var("x").astype("float16").infer_type(x="float32")[1]
        [<class 'numpy.float16'>]
        """
        return function_of("cast", get_operator("Cast"))(self, *args, **kwargs)

    def expand_dims(self, axis, inplace=False, **kwargs):
        """See ``mx.sym.expand_dims``; `inplace` is ignored.

        Parameters
        ----------
        axis : int
            Position of the new axis.
        **kwargs
            Name and attributes of the node: ``name``, ``attr``.

        Examples
        --------
        >>> mx.sym.var("x").expand_dims(0).infer_shape(x=(2, 3))[1]
        [(1, 2, 3)]
        """
        return function_of("expand_dims", get_operator("expand_dims"))(self, axis=axis, **kwargs)

    def squeeze(self, axis=None, inplace=False, **kwargs):
        """See ``mx.sym.squeeze``; `inplace` is ignored.

        Parameters
        ----------
        axis : int or tuple of int, optional
            Axes of length 1 to remove; all of them by default.
        **kwargs
            Name and attributes of the node: ``name``, ``attr``.

        Examples
        --------
        >>> mx.sym.var("x").squeeze().infer_shape(x=(1, 2, 1))[1]
        [(2,)]
        """
        if axis is not None:
            kwargs["axis"] = axis
        return function_of("squeeze", get_operator("squeeze"))(self, **kwargs)

    def flatten(self, inplace=False, **kwargs):
        """See ``mx.sym.flatten``; `inplace` is ignored.

        Parameters
        ----------
        **kwargs
            Name and attributes of the node: ``name``, ``attr``.

        Examples
        --------
        >>> mx.sym.var("x").flatten().infer_shape(x=(2, 3, 4))[1]
        [(2, 12)]
        """
        return function_of("flatten", get_operator("flatten"))(self, **kwargs)

    def split_v2(self, indices_or_sections, axis=0, squeeze_axis=False):
        """See ``mx.sym.split_v2``.

        Parameters
        ----------
        axis : int
            The axis to split along.
        squeeze_axis : bool
            Remove the axis from the parts, which must have length 1 along it.

        Examples
        --------
        >>> mx.sym.var("x").split_v2((1, 3)).infer_shape(x=(5, 2))[1]
        [(1, 2), (2, 2), (2, 2)]
        """
        from .creation import split_v2

        return split_v2(self, indices_or_sections, axis, squeeze_axis)


def _operator_method(name):
    def method(self, *args, **kwargs):
        return function_of(name, get_operator(name))(self, *args, **kwargs)

    method.__name__ = name
    method.__qualname__ = f"Symbol.{name}"
    method.__doc__ = f"``mx.sym.{name}`` with this symbol as its first input; see there."
    return method


for _name in (*METHODS, "broadcast_to", "reshape", "transpose"):
    setattr(OperatorMethods, _name, _operator_method(_name))
