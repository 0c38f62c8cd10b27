"""Descriptions of parameters that several docstrings of mx.gluon.loss share.

Parameters
----------
axis : int
    The axis of the classes.
batch_axis : int
    The axis of the samples.
"""

from ...operator.paragraphs import share_parameters

share_parameters(__package__, __doc__)
