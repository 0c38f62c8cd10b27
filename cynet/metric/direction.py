"""The direction of a metric by its name: whether larger values are better."""

_LARGE_IS_GOOD = (
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
_SMALL_IS_GOOD = ("loss", "mse", "mae", "perplexity", "entropy", "likelihood", "error")


def larger_is_better(name):
    """Return whether larger values of a metric are better; None for an unknown name.

    >>> larger_is_better("Validation-accuracy"), larger_is_better("rmse"), larger_is_better("x")
    (True, False, None)
    """
    name = name.lower()
    if any(each in name for each in _LARGE_IS_GOOD):
        return True
    return False if any(each in name for each in _SMALL_IS_GOOD) else None
