"""CUDA C++ on the host: compiled with the machine's C++ compiler and run on its cores."""

from .module import EmulatedModule

__all__ = ["EmulatedModule"]
