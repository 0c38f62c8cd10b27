"""mx.contrib.tables: convert numeric and text columns of a table to a network's inputs."""

from __future__ import annotations

import json
import math
import numbers
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.errors import ArgumentError, ArgumentTypeError, CynetError, shown
from ..base.files import write_atomically
from ..base.guard import guarded
from ..base.kinds import check_flag, open_json, to_count
from ..base.reprs import SettingsRepr

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..typing import FileName

__all__ = ["Columns"]
_FORMAT = "cynet columns 1"  # marks the files of Columns


@guarded
class Columns(SettingsRepr):
    """Converts columns of a table to arrays, by an encoding that is learned once and saved.

    Numbers are scaled to mean 0 and spread 1; a missing one becomes the mean, and a column that had
    missing ones in `fit` gets another one beside it that marks them. Each value of a categorical
    column has a number; what `fit` has not seen, and what is missing, has the number 0.

    Parameters
    ----------
    numeric : sequence of str
        Names of columns of numbers.
    categorical : sequence of str
        Names of columns of words, numbers or bools, of which each value is a class of its own.
    indicators : bool
        `transform` gives one array, in which each category has a column of 0 and 1 (none for 0). If
        False it gives a pair: the numbers, and the codes of categories for ``nn.Embedding``.
    most : int
        Categories of a column, at most: the most frequent ones.

    Raises
    ------
    ArgumentError
        No column, or one that is named twice.

    Examples
    --------
    A table is a DataFrame of pandas or polars, or a dict of columns.

    >>> table = {"age": [20, 40, None], "town": ["Oslo", "Rome", "Oslo"]}
    >>> columns = mx.contrib.tables.Columns(["age"], ["town"]).fit(table)
    >>> columns.names
    ['age', 'age is missing', 'town=Oslo', 'town=Rome']
    >>> columns.transform(table)
    array([[-1.,  0.,  1.,  0.],
           [ 1.,  0.,  0.,  1.],
           [ 0.,  1.,  1.,  0.]], dtype=float32)
    >>> columns.transform({"age": [30], "town": ["Bonn"]})
    array([[0., 0., 0., 0.]], dtype=float32)
    >>> columns.sizes  # Oslo, Rome, and one for unknown values
    [3]
    >>> columns.save("model-columns.json")
    >>> Columns.load("model-columns.json").names == columns.names
    True
    """

    def __init__(
        self,
        numeric: Sequence[str] = (),
        categorical: Sequence[str] = (),
        indicators: bool = True,
        most: int = 1000,
    ) -> None:
        self.numeric, self.categorical = (
            _column_names("numeric", numeric),
            _column_names("categorical", categorical),
        )
        both = self.numeric + self.categorical
        if not both or len({*both}) < len(both):
            raise ArgumentError(f"Columns: expected names of columns, each once, got {shown(both)}")
        check_flag("Columns", "indicators", indicators)
        self.indicators, self.most = indicators, to_count("Columns: most", most)
        self._scales: dict[str, list[Any]] | None = None  # name: mean, deviation, has gaps
        # name: values, in the order of their codes from 1
        self._values: dict[str, list[Any]] = {}

    def fit(self, table: Any) -> Columns:
        """Learn means, deviations and categories; returns the object itself.

        Parameters
        ----------
        table : DataFrame, or dict of str to sequence
            A table with all columns.

        Raises
        ------
        ArgumentError, ArgumentTypeError
            A column is missing, has no rows, or values that are not what it is named as.
        """
        scales, values = {}, {}
        for name in self.numeric:
            column = self._numeric_column(table, name)
            there = column[~np.isnan(column)]
            if not there.size:
                raise ArgumentError(f"Columns: column {shown(name)} has no number")
            spread = float(there.std())
            scales[name] = [float(there.mean()), spread or 1.0, there.size < column.size]
        for name in self.categorical:
            counts: dict[Any, int] = {}
            for each in self._text_column(table, name):
                if each is not None:
                    counts[each] = counts.get(each, 0) + 1
            often = sorted(counts, key=lambda each: (-counts[each], str(each)))[: self.most]
            values[name] = sorted(often, key=lambda each: (str(type(each)), each))
        self._scales, self._values = scales, values
        return self

    def transform(self, table: Any) -> Any:
        """Convert the rows of a table to arrays.

        Parameters
        ----------
        table : DataFrame, or dict of str to sequence
            A table with all columns, whose order is of no account.

        Returns
        -------
        numpy.ndarray or pair of numpy.ndarray
            (rows, len(names)) of float32; without `indicators` the numbers, (rows, numbers) of
            float32, and the codes, (rows, categorical columns) of int32.

        Raises
        ------
        ArgumentError, ArgumentTypeError, CynetError
            As `fit`; columns have different lengths; nothing was fitted.
        """
        self._require_fitted()
        parts = []
        for name, (mean, spread, marked) in self._scales.items():
            column = self._numeric_column(table, name)
            missing = np.isnan(column)
            parts.append(np.where(missing, 0.0, (column - mean) / spread))
            if marked:
                parts.append(missing)
        codes = []
        for name, values in self._values.items():
            code = {each: i for i, each in enumerate(values, 1)}
            codes.append(
                np.array([code.get(x, 0) for x in self._text_column(table, name)], np.int32)
            )
        lengths = {len(each) for each in (*parts, *codes)}
        if len(lengths) > 1:
            raise ArgumentError(f"Columns: columns have different lengths, {sorted(lengths)}")
        (rows,) = lengths
        if self.indicators:
            for code, values in zip(codes, self._values.values()):
                parts += [code == i for i in range(1, len(values) + 1)]
        made = np.empty((rows, len(parts)), np.float32)
        for i, part in enumerate(parts):
            made[:, i] = part
        if self.indicators:
            return made
        return made, np.stack(codes, axis=1) if codes else np.empty((rows, 0), np.int32)

    def fit_transform(self, table: Any) -> Any:
        """Call `fit` and `transform` on the same table.

        Parameters
        ----------
        table : DataFrame, or dict of str to sequence
            A table with all columns.

        Returns
        -------
        numpy.ndarray or pair of numpy.ndarray
            As of `transform`.

        Examples
        --------
        >>> columns = mx.contrib.tables.Columns(["age"], ["town"], indicators=False)
        >>> numbers, codes = columns.fit_transform({"age": [20, 40], "town": ["Oslo", "Rome"]})
        >>> codes
        array([[1],
               [2]], dtype=int32)
        """
        return self.fit(table).transform(table)

    @property
    def names(self) -> list[str]:
        """The names of the columns of the array that `transform` returns."""
        self._require_fitted()
        found = []
        for name, (_, _, marked) in self._scales.items():
            found += [name, f"{name} is missing"] if marked else [name]
        if self.indicators:
            found += [f"{name}={each}" for name, values in self._values.items() for each in values]
        return found

    @property
    def sizes(self) -> list[int]:
        """The number of codes of each categorical column, including the code of unknown values."""
        self._require_fitted()
        return [1 + len(values) for values in self._values.values()]

    def save(self, path: FileName) -> None:
        """Write the columns' encoding to a file as JSON.

        Parameters
        ----------
        path : str
            The file.
        """
        self._require_fitted()
        found = {
            "form": _FORMAT,
            "indicators": self.indicators,
            "most": self.most,
            "numeric": self._scales,
            "categorical": self._values,
        }
        write_atomically(path, [json.dumps(found, indent=1).encode()])

    @classmethod
    def load(cls, path: FileName) -> Columns:
        """Read an encoding that `save` wrote.

        Parameters
        ----------
        path : str
            The file.

        Raises
        ------
        FormatError
            It is no such file.
        """
        with open_json(path, _FORMAT, "Columns") as found:
            numeric, categorical = found["numeric"], found["categorical"]
            columns = cls([*numeric], [*categorical], found["indicators"], found["most"])
            scales = {name: (float(m), float(s), bool(f)) for name, (m, s, f) in numeric.items()}
            columns._values = {name: [*values] for name, values in categorical.items()}
            columns._scales = {name: [*each] for name, each in scales.items()}
        return columns

    def _require_fitted(self):
        if self._scales is None:
            raise CynetError("Columns: call fit with a table first")

    def _column_values(self, table, name):
        try:
            column = table[name]
        except (KeyError, IndexError, TypeError, ValueError):
            pass
        except Exception as error:  # polars has its own exception classes
            if "NotFound" not in type(error).__name__:
                raise
        else:
            if hasattr(column, "asnumpy"):
                column = column.asnumpy()
            return column.tolist() if hasattr(column, "tolist") else list(column)
        there = getattr(table, "columns", table.keys() if isinstance(table, dict) else None)
        if there is None:
            raise ArgumentTypeError(
                f"Columns takes a DataFrame or a dict of columns, got {shown(table)}"
            )
        raise ArgumentError(f"Columns: there is no column {shown(name)}, only {shown([*there])}")

    def _numeric_column(self, table, name):
        found = []
        for each in self._column_values(table, name):
            if _is_missing(each):
                each = math.nan
            elif not isinstance(each, numbers.Real):
                raise ArgumentTypeError(
                    f"Columns: column {shown(name)} is numeric and has {shown(each)}"
                )
            elif math.isinf(each):
                raise ArgumentError(f"Columns: column {shown(name)} has {shown(each)}")
            found.append(float(each))
        return np.array(found, np.float64)

    def _text_column(self, table, name):
        for each in self._column_values(table, name):
            if _is_missing(each):
                yield None
            elif isinstance(each, (str, bool, int, float)):
                yield each
            else:
                raise ArgumentTypeError(
                    f"Columns: column {shown(name)} is categorical and has {shown(each)}, expected"
                    " words, numbers or bools"
                )


def _column_names(what, given):
    if isinstance(given, str) or not all(isinstance(each, str) for each in given):
        raise ArgumentTypeError(f"Columns: {what} is a list of names, got {shown(given)}")
    return list(given)


def _is_missing(value):
    """Return whether a value is None, NaN, or pandas' NA or NaT."""
    return (
        value is None
        or type(value).__name__ in ("NAType", "NaTType")
        or (isinstance(value, float) and math.isnan(value))
    )
