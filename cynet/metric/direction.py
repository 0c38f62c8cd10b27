"""The direction of a metric by its name: whether larger values are better."""

_LARGER_IS_BETTER = (  # parts of metric names
    "acc",
    "f1",
    "mcc",
    "pcc",
    "pearson",
    "precision",
    "recall",
    "auc",
    "confusion_matrix",
)
_SMALLER_IS_BETTER = ("loss", "mse", "mae", "perplexity", "entropy", "likelihood", "error")


def larger_is_better(name):
    """Return whether larger values of a metric are better; None for an unknown name.

    >>> larger_is_better("Validation-accuracy"), larger_is_better("rmse"), larger_is_better("x")
    (True, False, None)
    """
    name = name.lower()
    if any(each in name for each in _LARGER_IS_BETTER):
        return True
    return False if any(each in name for each in _SMALLER_IS_BETTER) else None
