"""Optimizer states as files."""

from ..base.files import write_atomically


def write_states(path, updater):
    """Write an updater's states."""
    write_atomically(path, updater.chunks())


def read_states(path, updater):
    """Give an updater the states in a file."""
    updater.load(path)
