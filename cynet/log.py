"""mx.log: a logger whose lines have the level's letter, time, source line and colours."""

from __future__ import annotations

import logging
import sys
import warnings
from logging import CRITICAL, DEBUG, ERROR, INFO, NOTSET, WARNING

from .base.files import file_name
from .base.guard import guarded

__all__ = ["CRITICAL", "DEBUG", "ERROR", "INFO", "NOTSET", "WARNING", "getLogger", "get_logger"]

_LEVEL_LETTERS = {CRITICAL: "C", ERROR: "E", WARNING: "W", INFO: "I", DEBUG: "D"}


class _Formatter(logging.Formatter):
    """Formats lines as ``I1126 02:23:33 4242 train:main:17] text``, coloured on terminals."""

    def __init__(self, coloured):
        super().__init__(datefmt="%m%d %H:%M:%S")
        self._coloured = coloured

    def format(self, record):
        letter = _LEVEL_LETTERS.get(record.levelno, "U")
        head = f"{letter}%(asctime)s %(process)d %(pathname)s:%(funcName)s:%(lineno)d]"
        if self._coloured:
            colour = "31" if record.levelno >= WARNING else "32" if record.levelno >= INFO else "34"
            head = f"\x1b[{colour}m{head}\x1b[0m"
        self._style._fmt = f"{head} %(message)s"
        return super().format(record)


@guarded
def get_logger(
    name: str | None = None,
    filename: str | None = None,
    filemode: str | None = None,
    level: int = WARNING,
) -> logging.Logger:
    """Return a logger with its own handler, created at the first call for each name.

    Parameters
    ----------
    name : str, optional
        Name of the logger; None gives the root logger as it is.
    filename : str, optional
        File that lines are written to; stderr by default.
    filemode : str, optional
        Mode in which the file is opened; ``'a'`` by default.
    level : int
        Lowest level of lines that are written.

    Examples
    --------
    >>> get_logger("docs", level=INFO).isEnabledFor(DEBUG)
    False
    """
    logger = logging.getLogger(name)
    if name is None or getattr(logger, "_has_handler", False):
        return logger
    if filename:
        handler = logging.FileHandler(file_name(filename, "a log file's name"), filemode or "a")
        coloured = False
    else:
        handler = logging.StreamHandler()
        coloured = sys.stderr.isatty()
    handler.setFormatter(_Formatter(coloured))
    logger.addHandler(handler)
    logger._has_handler = True
    logger.setLevel(level)
    return logger


def getLogger(name=None, filename=None, filemode=None, level=WARNING):
    """Deprecated: `get_logger`.

    Parameters
    ----------
    name, filename, filemode, level
        See `get_logger`.

    Returns
    -------
    logging.Logger

    Examples
    --------
    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     logger = mx.log.getLogger("old")
    >>> print(logger.name, caught[0].message, sep=": ")
    old: getLogger is deprecated, use get_logger instead
    """
    warnings.warn("getLogger is deprecated, use get_logger instead", DeprecationWarning, 2)
    return get_logger(name, filename, filemode, level)
