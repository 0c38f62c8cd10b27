"""Descriptions of parameters that several docstrings of mx.gluon share.

Parameters
----------
**kwargs
    Arguments of :class:`Block`: ``prefix`` and ``params``.
allow_missing, ignore_extra : bool
    Leave parameters as they are if the file lacks them; skip names in the file that are not
    parameters.
beta_initializer, gamma_initializer : Initializer or str
    Initializers of beta and gamma.
cast_dtype : bool
    Accept arrays of another dtype.
center, scale : bool
    Whether to add beta, and whether to multiply by gamma.
classes : int
    Number of classes, and of scores in the output.
estimator : Estimator
    The estimator that calls the handler.
flag : int
    1 for color images (H, W, 3), 0 for grayscale images (H, W, 1).
gamma : float
    How strongly samples that are predicted well are weighted down; 0 gives the plain cross-entropy.
h2r_weight_initializer : Initializer or str, optional
    Initializer of the projection's weight.
input_dim : int
    Number of rows: indices are below it.
lazy : bool
    Call `fn` each time that a sample is read; False calls it for all samples at once.
mode : str
    Which values are better: ``'min'``, ``'max'``, or ``'auto'``, which decides by the metric's
    name.
num_shards : int
    Number of parts.
output_dim : int
    Size of the vectors.
params : ParameterDict, optional
    Dictionary whose parameters are shared, by name.
patch_size : int
    Length of each side of a patch, in pixels.
prefix : str, optional
    Prefix of the parameters' names; by default made from the class's name and a number.
pretrained : bool or str
    Load weights trained on ImageNet, which are for 1000 classes; or a file of weights.
prob : float
    The share of batches that are mixed.
row_id : NDArray
    Numbers of rows, of any shape and dtype; this waits for them.
running_mean_initializer, running_variance_initializer : Initializer or str
    Initializers of the running mean and variance.
skip_damaged : bool
    Replace an image that cannot be read by the next one that can; ``skipped`` counts them.
sparse_label : bool
    Whether labels are class numbers; if not, they are distributions. A number that is not a
    class is an error, unless samples have weights: then it counts as the nearest one.
vocab_size : int
    Number of tokens.
weight : float, optional
    Factor of the loss.
zoom_in, zoom_out : bool
    Zoom in until no border is visible, or out until the whole image is; not both.
"""

from ..operator.paragraphs import share_parameters

share_parameters(__package__, __doc__)
