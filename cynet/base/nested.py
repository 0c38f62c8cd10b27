"""Nested lists of arrays or symbols: flattened, and rebuilt."""

from collections.abc import Callable, Iterable
from typing import Any

from .errors import MismatchError, shown


def flatten(
    value: Any, kind: type, what: str, parts: Callable[[Any], Any] | None = None
) -> tuple[list[Any], Any]:
    """Flatten nested lists and tuples; returns (list of objects of `kind`, format).

    A format is 0 for one of `kind`, None for None, a list (or tuple) of formats.

    Parameters
    ----------
    value : object
    kind : type
    what : str
        What the error names.
    parts : callable, optional
        The list of several that one of `kind` stands for, else None.

    Raises
    ------
    MismatchError
        When there is anything else inside.

    >>> flatten([1, (2, None)], int, "numbers")
    ([1, 2], [0, (0, None)])
    """
    flat: list[Any] = []

    def flatten_part(value: Any) -> Any:
        if isinstance(value, kind):
            several = parts and parts(value)
            if several:
                return flatten_part(several)
            flat.append(value)
            return 0
        if value is None:
            return None
        if isinstance(value, (list, tuple)):
            forms = [flatten_part(each) for each in value]
            return forms if isinstance(value, list) else tuple(forms)
        raise MismatchError(
            f"{what} must be a (nested) list of {kind.__name__}, got {shown(value)}"
        )

    form = flatten_part(value)
    return flat, form


def regroup(flat: Iterable[Any], form: Any) -> Any:
    """Rebuild the nested value from its flat list and format.

    >>> regroup([1, 2], [0, (0, None)])
    [1, (2, None)]
    """
    rest = iter(flat)

    def rebuild_part(form: Any) -> Any:
        if form is None:
            return None
        if form == 0:
            return next(rest)
        values = [rebuild_part(each) for each in form]
        return values if isinstance(form, list) else tuple(values)

    return rebuild_part(form)
