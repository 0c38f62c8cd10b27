"""What the floor above installs here: inference and binding, which Symbol's methods call.

The passes and the executor import Symbol, so Symbol cannot import them; each hands its function
over when it is imported (``import cynet`` imports all of them).
"""

from ..base.errors import CynetError

_installed = {}


def install(**functions):
    """Hand functions over by name: ``infer_shapes``, ``infer_types``, ``bind``, ``simple_bind``."""
    _installed.update(functions)


def installed(name):
    """The function that was handed over as `name`."""
    try:
        return _installed[name]
    except KeyError:
        raise CynetError(
            f"'{name}' is not there: import cynet as a whole, not a part of it"
        ) from None
