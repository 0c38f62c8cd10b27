"""The curves of a training run: loss and accuracy of each epoch as a PNG."""


def check_matplotlib():
    """Leave with one sentence when matplotlib is missing, before hours are spent on training."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise SystemExit(
            "--plot needs matplotlib: pip install 'cynet-mx[viz]' (or pip install matplotlib)"
        ) from None


class History:
    """Keeps what a metric says at the end of each epoch; two of its methods are callbacks of `fit`.

    Parameters
    ----------
    metric : mx.metric.EvalMetric
        The metric that is given to `fit` as `eval_metric`.
    """

    def __init__(self, metric):
        self.metric = metric
        self.epochs = []  # {"epoch": 1, "train": {"accuracy": ...}, "validation": {...}}

    def epoch_end(self, epoch, symbol, arg_params, aux_params):
        """An `epoch_end_callback`: the metric holds the values of training then."""
        self.epochs.append({"epoch": epoch + 1, "train": dict(self.metric.get_name_value())})

    def eval_end(self, param):
        """Note the validation figures: an `eval_end_callback`."""
        self.epochs[-1]["validation"] = dict(param.eval_metric.get_name_value())


def plot(history, path, title):
    """Draw `history.epochs` to the PNG file `path`: loss on the left, accuracy on the right."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 2, figsize=(10, 4), layout="constrained")
    numbers = [e["epoch"] for e in history.epochs]
    for axis, name in zip(axes, ("cross-entropy", "accuracy")):
        for part, marker in (("train", "o"), ("validation", "s")):
            values = [e.get(part, {}).get(name, float("nan")) for e in history.epochs]
            axis.plot(numbers, values, marker=marker, label=part)
        axis.set(xlabel="epoch", title=name)
        axis.xaxis.get_major_locator().set_params(integer=True)
        axis.grid(alpha=0.3)
        axis.legend()
    figure.suptitle(title)
    figure.savefig(path, dpi=100, format="png")
    pyplot.close(figure)
