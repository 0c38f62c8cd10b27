"""What the command lines of `train.py` and `detect.py` share."""

import argparse


class Formatter(argparse.ArgumentDefaultsHelpFormatter):
    """Help that says the default of an option that has one."""

    def _get_help_string(self, action):
        return action.help if action.default is None else super()._get_help_string(action)


def positive(text):
    """A whole number of 1 or more; a type of options."""
    if int(text) < 1:
        raise ValueError
    return int(text)
