"""Messages of callbacks: logged if logging shows level INFO, else printed to stderr."""

import logging
import sys

from ..distributed import is_first


def is_info_shown(logger=logging):
    """Return whether a line of level INFO would be shown.

    Parameters
    ----------
    logger : logging.Logger, module logging, or an object of the user's
        The module stands for the root logger, for which ``logging.info`` makes a handler.
    """
    if logger is logging:
        return logging.getLogger().isEnabledFor(logging.INFO)
    if not isinstance(logger, logging.Logger):
        return True  # the user has configured logging
    return logger.isEnabledFor(logging.INFO) and logger.hasHandlers()


def log_message(text, *values):
    """Log a line at level INFO; where the root logger would drop it, print it on stderr.

    Whoever gives a training a Speedometer wants to see its lines, also without a word on logging.
    Of several processes that train together the first one speaks.
    """
    if not is_first():
        return
    if is_info_shown():
        logging.info(text, *values)
    else:
        print(text % values, file=sys.stderr, flush=True)
