"""Descriptions of parameters that several docstrings of mx.metric share.

Parameters
----------
allow_extra_outputs : bool
    Allow more predictions than labels; the surplus is ignored.
eps : float
    Added to probabilities, so that the logarithm is finite.
name : str
    Name of the metric in its results.
output_names, label_names : list of str, optional
    Names of the outputs and of the labels that ``update_dict`` picks; all by default.
"""

from ..operator.paragraphs import share_parameters

share_parameters(__package__, __doc__)
