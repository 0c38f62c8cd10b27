"""MXNet's predict API in C: a library that embeds Python (c_predict_api.cc) and calls this
package."""

from .arrays import read_arrays
from .networks import Network

__all__ = ["Network", "read_arrays"]
