"""Descriptions of parameters that several docstrings of mx.gluon.model_zoo share.

Parameters
----------
ctx : Context or list of Context, optional
    Devices of the weights; the CPU by default.
root : str
    Folder of the weights' files, which are downloaded into it if necessary.
"""

from ...operator.paragraphs import share_parameters

share_parameters(__package__, __doc__)
