"""The predict API of MXNet in C: a library that holds a Python (c_predict_api.cc), which asks this
package."""

from .arrays import lists
from .networks import Network

__all__ = ["Network", "lists"]
