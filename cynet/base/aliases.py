"""``import cynet.errors`` and ``import cynet.config``: public names of two modules.

Tracebacks and pickles name the classes of errors by them.
"""

import sys

from . import config, errors

_PACKAGE = __name__.partition(".")[0]

for _module in (config, errors):
    _public = f"{_PACKAGE}.{_module.__name__.rpartition('.')[2]}"
    sys.modules[_public] = _module
    for _each in vars(_module).values():
        if isinstance(_each, type) and _each.__module__ == _module.__name__:
            _each.__module__ = _public
