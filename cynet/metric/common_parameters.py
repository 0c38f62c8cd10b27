"""Parameters that several docstrings of mx.metric show.

Parameters
----------
name : str
    Name of the metric in its results.
output_names, label_names : list of str, optional
    Names of the outputs and of the labels that ``update_dict`` picks; all by default.
"""

from ..operator.paragraphs import share_parameters

share_parameters(__package__, __doc__)
