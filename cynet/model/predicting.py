"""CachedPredictor: the bound Module that FeedForward reuses between predictions."""

from .. import ndarray as nd
from .._core.saved_values import version_stamp
from ..module.module import Module


class CachedPredictor:
    """A Module bound for one form of input, with a stamp of the parameters it has.

    Parameters
    ----------
    form : tuple
        Symbol, devices, names of data and of labels, descriptions of both.
    """

    def __init__(self, input_key):
        self._form, self._stamp = input_key, None
        symbol, devices, data_names, labels, data_shapes, label_shapes = input_key
        self.module = Module(symbol, data_names, labels, context=devices)
        self.module.bind(data_shapes, label_shapes, for_training=False)

    def is_bound_for(self, input_key):
        """Return whether the Module was bound for this kind of input."""
        return input_key[0] is self._form[0] and _comparable_descriptions(
            input_key[1:]
        ) == _comparable_descriptions(self._form[1:])

    def set_params(self, arg_params, aux_params):
        """Copy parameters to the Module, unless it has them already and they did not change."""
        arrays = [*arg_params.values(), *aux_params.values()]
        stamp = version_stamp(arrays) if all(isinstance(x, nd.NDArray) for x in arrays) else None
        names = [*arg_params, *aux_params]
        if stamp is None or self._stamp is None or (stamp, names) != self._stamp[:2]:
            self._stamp = None
            self.module.set_params(arg_params, aux_params)
            # keep the arrays alive: an id is unique only while its array lives
            self._stamp = stamp and (stamp, names, arrays)


def _comparable_descriptions(input_key):
    """Return data descriptions with dtype and layout, which `DataDesc.__eq__` ignores."""
    devices, data_names, labels, *shapes = input_key
    rows = [
        [(*desc, str(getattr(desc, "dtype", "")), getattr(desc, "layout", "")) for desc in each]
        for each in shapes
        if each is not None
    ]
    devices = devices if isinstance(devices, (list, tuple)) else [devices]
    return [*map(str, devices)], data_names, labels, rows, shapes[-1] is None
