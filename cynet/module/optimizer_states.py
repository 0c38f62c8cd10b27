"""Optimizer states as files."""

from ..files import write_atomically


def write_states(path, updater, dump_optimizer=False):
    """Write an updater's states."""
    write_atomically(path, updater.get_states(dump_optimizer))


def read_states(path, updater):
    """Give an updater the states in a file."""
    with open(path, "rb") as file:
        updater.set_states(file.read())
