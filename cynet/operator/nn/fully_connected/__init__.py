"""FullyConnected: one file for each way to compute it."""

from . import fully_connected
