"""``mx.autograd``: gradients of imperative computations.

Inside ``record()`` each operator on an array that has a gradient, or was computed from one, is
recorded; ``backward()`` of a result fills the gradients.

>>> x = mx.nd.array([1, 2])
>>> x.attach_grad()
>>> with mx.autograd.record():
...     y = (x * x).sum()
>>> y.backward()
>>> x.grad.asnumpy().tolist()
[2.0, 4.0]
"""

from ..operator.namespaces import public_names as _public_names
from .function import *
from .graph import *
from .gradients import *
from .mapping import *
from .scopes import *
from .transforms import *

__all__ = _public_names(globals())
