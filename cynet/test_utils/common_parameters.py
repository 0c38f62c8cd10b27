"""Descriptions of parameters that docstrings of mx.test_utils have in common.

Parameters
----------
allow_zero_size : bool
    Whether a length may be 0.
aux_states : list or dict of array, optional
    Values of its auxiliary states, in order or by name.
ctx : Context, optional
    Device; by default that of `default_context`.
equal_nan : bool
    Whether nan equals nan.
generator : callable
    ``generator(n)`` returns n independent samples.
location : list or dict of array
    Values of its arguments, in order or by name.
mismatches : pair of int
    Number of places that are shown: the first of the two.
names : pair of str
    Names of `a` and `b` in messages.
nsamples : int
    Number of samples to draw.
rtol, atol : float, optional
    Relative and absolute tolerance; by default as the dtype allows.
use_broadcast : bool
    Whether shapes may differ as long as they broadcast against each other.
use_forward_train : bool
    Whether forward runs in training mode.
"""

from ..operator.paragraphs import share_parameters

share_parameters(__package__, __doc__)
