"""Descriptions of parameters that several docstrings of mx.optimizer share.

Parameters
----------
**kwargs
    See :class:`Optimizer`.
dump_optimizer : bool
    Whether to include the optimizer's settings and counts.
index : int or str
    Number or name of the weight.
klass : type
    A subclass of Optimizer.
learning_rate : float
    Size of a step; ignored if there is an `lr_scheduler`.
momentum : float
    Share of the previous step that is added to each step.
multi_precision : bool
    Keep a float32 copy of float16 and bfloat16 weights and update that.
"""

from ..operator.paragraphs import share_parameters

share_parameters(__package__, __doc__)
