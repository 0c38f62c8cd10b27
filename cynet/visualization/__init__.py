"""mx.viz: pictures and tables of networks."""

from .drawing import Drawing
from .plot import plot_network
from .summary import print_summary

__all__ = ["Drawing", "plot_network", "print_summary"]
