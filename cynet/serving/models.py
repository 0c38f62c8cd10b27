"""Predictors of one server, by name and version."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING, Any, NamedTuple

from ..base.errors import ArgumentError, ArgumentTypeError, shown
from .errors import Refused
from .predictor import Predictor

if TYPE_CHECKING:
    from collections.abc import Iterator

_NAME_PATTERN = re.compile(r"\w[\w.+-]*")  # a model's name is part of paths and a label of metrics


class Model(NamedTuple):  # a served Predictor, with name and version
    """A Predictor with the name and version under which it is served."""

    name: str
    version: str
    predictor: Predictor


class Models:  # all served Predictors
    """Predictors that an Application serves: names in their order, and versions of each.

    Parameters
    ----------
    given : Predictor, or dict of str to Predictor or to dict of str to Predictor
        A single one is called ``model``; a Predictor without a version has version ``1``.
    """

    def __init__(self, given: Any) -> None:
        if isinstance(given, Predictor):
            given = {"model": given}
        if not isinstance(given, dict) or not given:
            raise ArgumentTypeError(
                f"Application takes a Predictor, or a dict of names to them, got {shown(given)}"
            )
        self._found: dict[str, dict[str, Model]] = {}
        for name, versions in given.items():
            if isinstance(versions, Predictor):
                versions = {"1": versions}
            if not isinstance(versions, dict) or not versions:
                raise ArgumentTypeError(
                    f"Application: {shown(name)} is a Predictor, or a dict of versions to them, got"
                    f" {shown(versions)}"
                )
            of_name = self._found[_check_model_name("the name of a model", name)] = {}
            for version, predictor in versions.items():
                if not isinstance(predictor, Predictor):
                    raise ArgumentTypeError(
                        f"Application: version {shown(version)} of {shown(name)} is a Predictor,"
                        f" got {shown(predictor)}"
                    )
                version = _check_model_name(f"a version of {name}", version)
                of_name[version] = Model(name, version, predictor)

    def __iter__(self) -> Iterator[Model]:
        return (each for versions in self._found.values() for each in versions.values())

    @property
    def names(self) -> list[str]:
        """All names."""
        return list(self._found)

    def versions(self, name: str) -> list[str]:
        """Return the versions of a model."""
        return list(self._found[name])

    def find(self, name: str, version: str | None = None) -> Model:
        """Return a model: the named version, or the last one."""
        if name not in self._found:
            raise Refused(404, f"there is no model {shown(name)}, only {', '.join(self._found)}")
        versions = self._found[name]
        if version is None:
            version = next(reversed(versions))
        if version not in versions:
            raise Refused(
                404, f"model '{name}' has no version {shown(version)}, only {', '.join(versions)}"
            )
        return versions[version]

    def close(self, timeout: float | None) -> bool:
        """Close all Predictors; return whether all waiting requests were answered in time."""
        end = None if timeout is None else time.monotonic() + timeout
        done = True
        for each in self:
            left = None if end is None else max(0.0, end - time.monotonic())
            done = each.predictor.close(left) and done
        return done


def _check_model_name(what, word):
    if not isinstance(word, str) or not _NAME_PATTERN.fullmatch(word):
        raise ArgumentError(
            f"Application: {what} has letters, digits and . _ + -, got {shown(word)}"
        )
    return word
