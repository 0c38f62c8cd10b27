"""Descriptions of parameters that docstrings of mx.module have in common.

Parameters
----------
data_batch : DataBatch
    The batch: arrays of the shapes that were bound.
epoch : int
    Number in the name of the parameters' file: ``prefix-0003.params`` for 3.
load_optimizer_states : bool
    Also read ``prefix-0003.states``, when ``init_optimizer`` is called; states that were
    saved with other parameters are refused.
logger : module or logging.Logger
    Receives the messages of ``fit``.
num_batch : int, optional
    Stop after this many batches.
prefix : str
    Beginning of the files' names.
remove_amp_cast : bool
    Leave out the casts that mixed precision inserted.
reset : bool
    Whether to reset `eval_data` first.
sparse_row_id_fn : callable, optional
    Passed to ``prepare``.
"""

from ..operator.paragraphs import share_parameters

share_parameters(__package__, __doc__)
