"""get_operator_arguments: an operator's arguments, for programs that generate calls."""

from typing import NamedTuple

from ..base.guard import guarded
from ._base import get_operator
from .signature import describe_operator, field_type_text

__all__ = ["OperatorArguments", "get_operator_arguments"]

_ARRAY_TYPE = "NDArray-or-Symbol"  # MXNet's word for an input


class OperatorArguments(NamedTuple):
    """The arguments of an operator, as `get_operator_arguments` gives them.

    Parameters
    ----------
    narg : int
        Number of inputs and parameters.
    names : list of str
        Their names, inputs first.
    types : list of str
        What each may be, as text.

    Examples
    --------
    >>> found = mx.operator.get_operator_arguments("LeakyReLU")
    >>> dict(zip(found.names, found.types))["slope"]
    'float, optional, default=0.25'
    """

    narg: int
    names: list[str]
    types: list[str]


@guarded
def get_operator_arguments(op_name: str) -> OperatorArguments:
    """Return the inputs of an operator, then its parameters.

    Parameters
    ----------
    op_name : str
        Name or alias of the operator.

    Returns
    -------
    OperatorArguments
        ``types`` are ``'NDArray-or-Symbol'`` of inputs (with ``[]`` where there may be any number),
        and sentences as in the documentation.

    Raises
    ------
    NotFoundError
        No operator has that name.

    Examples
    --------
    >>> found = get_operator_arguments("Flatten")
    >>> found.narg, found.names, found.types
    (1, ['data'], ['NDArray-or-Symbol'])
    """
    prop = get_operator(op_name).prop
    what = describe_operator(get_operator(op_name))
    inputs = what.inputs[: what.listed]
    names = [next(iter(prop.inputs_doc), "data")] if what.variable else list(inputs)
    types = [f"{_ARRAY_TYPE}[]"] if what.variable else [_ARRAY_TYPE] * len(inputs)
    for name, field in what.fields.items():
        if name not in prop.unlisted:
            names.append(name)
            types.append(field_type_text(field))
    return OperatorArguments(len(names), names, types)
