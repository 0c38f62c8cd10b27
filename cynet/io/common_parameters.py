"""Descriptions of parameters that docstrings of mx.io have in common.

Parameters
----------
batch_size : int
    Number of examples in a batch.
data_name, label_name : str
    Names in ``provide_data`` and ``provide_label``.
label_shape : tuple of int
    Shape of one label.
prefetch_buffer, ctx
    Part of MXNet's signature; not used, since files are read at once.
state : dict
    What `state_dict` returned.
"""

from ..operator.paragraphs import share_parameters

share_parameters(__package__, __doc__)
