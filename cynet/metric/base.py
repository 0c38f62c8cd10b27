"""EvalMetric, the base of all metrics; the registry of metrics; CompositeEvalMetric."""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.errors import ArgumentError, ArgumentTypeError, ShapeError, UndefinedError, shown
from ..base.guard import Guarded, guarded
from ..base.kinds import call_with_settings, read_json
from ..base.reprs import SettingsRepr
from ..registry import Registry

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..typing import Class, MetricLike, Names, NDArray, NumpyArray

__all__ = ["CompositeEvalMetric", "EvalMetric", "alias", "check_label_shapes", "create", "register"]

METRICS = Registry("metric", ignore_case=True)  # metric classes by name


@guarded
def register(klass: Class, name: str | None = None) -> Class:
    """Register `klass`, a subclass of EvalMetric, for :func:`create`, by its lower-case name.

    Parameters
    ----------
    klass : type
        A subclass of EvalMetric.
    name : str, optional
        Name of the metric; the class's name in lower case by default.

    Returns
    -------
    type
        `klass`, so that it can be a decorator.

    Raises
    ------
    ArgumentTypeError
        `klass` is not a subclass of EvalMetric.

    Examples
    --------
    >>> @register
    ... class Nothing(EvalMetric):
    ...     def update(self, labels, preds):
    ...         pass
    >>> create("nothing", name="nothing").get()
    ('nothing', nan)
    """
    if not (isinstance(klass, type) and issubclass(klass, EvalMetric)):
        raise ArgumentTypeError(f"register takes a subclass of EvalMetric, got {shown(klass)}")
    METRICS.register(name or klass.__name__, klass, override=True)
    return klass


@guarded
def alias(*names: str) -> Callable[[Class], Class]:
    """Return a class decorator that registers a metric under more names.

    Parameters
    ----------
    *names : str
        Further names of the decorated class.

    Examples
    --------
    >>> @register
    ... @alias("zilch")
    ... class Nil(EvalMetric):
    ...     def update(self, labels, preds):
    ...         pass
    >>> type(create("zilch", name="nil")).__name__
    'Nil'
    """

    def wrap(klass):
        for name in names:
            register(klass, name)
        return klass

    return wrap


@guarded
def create(metric: MetricLike, *args: Any, **kwargs: Any) -> EvalMetric:
    """Create a metric from a name, function, list of these or configuration; return metrics as is.

    Parameters
    ----------
    metric : str, callable, list, dict or EvalMetric
        ``'acc'``, ``'ce'``, ...; a function ``feval(label, pred)`` on NumPy arrays; a list gives a
        :class:`CompositeEvalMetric`; a dict is what ``get_config`` returned, a str that begins with
        ``{`` or ``[`` the same as JSON.
    *args, **kwargs
        Arguments of the class that is named.

    Raises
    ------
    ArgumentError, ArgumentTypeError
        No metric has this name, or `metric` cannot be one.

    Examples
    --------
    >>> create("acc").name
    'accuracy'
    >>> create(["acc", "mse"]).get()
    (['accuracy', 'mse'], [nan, nan])
    """
    if isinstance(metric, EvalMetric):
        return metric
    if isinstance(metric, list):
        composite = CompositeEvalMetric()
        for each in metric:
            composite.add(create(each, *args, **kwargs))
        return composite
    if isinstance(metric, dict):
        settings = dict(metric, **kwargs)
        return create(settings.pop("metric", None), *args, **settings)
    if isinstance(metric, str):
        if metric.startswith(("{", "[")):
            try:
                return create(read_json(metric), *args, **kwargs)
            except ValueError as error:
                raise ArgumentError(f"expected JSON, got {shown(metric)}: {error}") from None
        klass = METRICS.get(metric)
        try:
            return call_with_settings(f"metric {shown(metric)}", klass, args, kwargs)
        except TypeError as error:
            raise ArgumentTypeError(f"metric {shown(metric)}: {error}") from error
    if isinstance(metric, type) and issubclass(metric, EvalMetric):
        return metric(*args, **kwargs)
    if callable(metric):
        return METRICS.get("custommetric")(metric, *args, **kwargs)
    raise ArgumentTypeError(
        f"a metric is created from a name, a function, a list or a dict, got {shown(metric)}"
    )


@guarded
def check_label_shapes(
    labels: Any, preds: Any, wrap: bool = False, shape: bool = False
) -> tuple[Any, Any]:
    """Raise an error if labels and predictions differ in length (or, with `shape`, in shape).

    With `wrap`, a single array becomes a list of one, and the two lists are returned.

    Parameters
    ----------
    labels, preds : list or NDArray
        Labels and predictions of a batch.
    wrap : bool
        Put single arrays into lists.
    shape : bool
        Compare shapes instead of numbers of arrays.

    Returns
    -------
    (labels, preds) : lists or NDArrays
        As they were given, or in lists.

    Raises
    ------
    ArgumentError
        They do not fit together.

    Examples
    --------
    >>> labels, preds = check_label_shapes(np.zeros(2), np.ones(2), wrap=True)
    >>> len(labels), len(preds)
    (1, 1)
    """
    if shape:
        found = labels.shape, preds.shape
    elif wrap and (hasattr(labels, "shape") or hasattr(preds, "shape")):
        labels = [labels] if hasattr(labels, "shape") else labels
        preds = [preds] if hasattr(preds, "shape") else preds
        found = len(labels), len(preds)
    else:
        found = len(labels), len(preds)
    if found[0] != found[1]:
        hint = ""
        if not shape and found[0] == 0:
            hint = "; has the iterator labels?"
        elif not shape and not hasattr(labels, "shape"):
            hint = "; output_names and label_names of a metric choose among several"
        raise ShapeError(
            f"Shape of labels {found[0]} does not match shape of predictions {found[1]}{hint}"
        )
    return labels, preds


def to_numpy(array: Any) -> NumpyArray:
    """Convert an array to a NumPy array; waits for the engine if it is an NDArray."""
    return array.asnumpy() if hasattr(array, "asnumpy") else np.asarray(array)


class EvalMetric(Guarded, SettingsRepr):
    """Base of metrics: a running mean over labels and predictions.

    One thread at a time uses a metric (docs/guide/threads.md). There are two means: the *local* one
    since ``reset_local``, which Speedometer restarts, and the *global* one since ``reset``. A
    subclass defines ``update(labels, preds)``, most easily through ``self._add(sum, count)``.

    Parameters
    ----------
    **kwargs
        Further settings that `get_config` returns.

    Examples
    --------
    >>> class Mean(EvalMetric):
    ...     def update(self, labels, preds):
    ...         for pred in preds:
    ...             self._add(float(pred.sum()), pred.size)
    >>> mean = Mean("mean")
    >>> mean.update(None, [np.array([1.0, 3.0])])
    >>> mean.get()
    ('mean', 2.0)
    """

    _unguarded = ("update_dict",)

    def __init__(
        self,
        name: str,
        output_names: Names | None = None,
        label_names: Names | None = None,
        **kwargs: Any,
    ) -> None:
        self.name = str(name)
        self.output_names = output_names
        self.label_names = label_names
        self._has_global_stats = kwargs.pop("has_global_stats", False)
        self._kwargs = kwargs
        self.reset()

    def __str__(self) -> str:
        return f"EvalMetric: {dict(self.get_name_value())}"

    def get_config(self) -> dict[str, Any]:
        """Return the settings from which :func:`create` recreates this metric.

        Returns
        -------
        dict
            Settings of which ``create(**config)`` makes the metric again.

        Examples
        --------
        >>> metric = create("top_k_accuracy", top_k=3)
        >>> metric.get_config()["top_k"]
        3
        >>> create(metric.get_config()).get()
        ('top_k_accuracy_3', nan)
        """
        return {
            **self._kwargs,
            "metric": type(self).__name__,
            "name": self.name,
            "output_names": self.output_names,
            "label_names": self.label_names,
        }

    def update_dict(self, label: dict[str, NDArray], pred: dict[str, NDArray]) -> None:
        """Add a batch from dicts of name to array, selected by `output_names` and `label_names`.

        Parameters
        ----------
        label, pred : dict of str to NDArray
            Labels and outputs by name; `label_names` and `output_names` pick from them.

        Raises
        ------
        ArgumentError
            One of the names is missing.
        ArgumentTypeError
            `label` or `pred` is not a dict.

        Examples
        --------
        >>> metric = create("acc", output_names=["softmax_output"])
        >>> outputs = {"softmax_output": np.array([[0.9, 0.1]]), "other_output": np.zeros(8)}
        >>> metric.update_dict({"softmax_label": np.array([0])}, outputs)
        >>> metric.get()
        ('accuracy', 1.0)
        """
        self.update(
            _arrays_by_names(label, self.label_names, "label"),
            _arrays_by_names(pred, self.output_names, "output"),
        )

    def update(self, labels: Any, preds: Any) -> None:
        """Add one batch: lists of labels and of predictions of the same length.

        Parameters
        ----------
        labels, preds : list of NDArray or numpy.ndarray
            The labels of a batch, and the outputs for it.

        Raises
        ------
        UndefinedError
            The subclass does not define it.
        """
        raise UndefinedError(f"{type(self).__name__} defines no update")

    def reset(self) -> None:
        """Forget everything.

        Examples
        --------
        >>> metric = create("acc")
        >>> metric.update([np.array([0])], [np.array([[0.9, 0.1]])])
        >>> metric.reset()
        >>> metric.get()
        ('accuracy', nan)
        """
        self.num_inst = 0
        self.sum_metric = 0.0
        self.global_num_inst = 0
        self.global_sum_metric = 0.0

    def reset_local(self) -> None:
        """Reset the local mean; the global mean continues.

        Examples
        --------
        ``get`` begins anew, ``get_global`` goes on; see `get_name_value`.

        >>> create("acc").reset_local()
        """
        self.num_inst = 0
        self.sum_metric = 0.0

    def _add(self, total, count):
        """Add a sum over `count` entries to the local and the global mean."""
        self.sum_metric += total
        self.num_inst += count
        self.global_sum_metric += total
        self.global_num_inst += count

    def _metric_value(self, total, count):
        """Return the metric's value for a sum over `count` (more than 0) entries."""
        return total / count

    def get(self) -> tuple[Any, Any]:
        """Return ``(name, value)`` of the local mean; the value is nan before any update.

        Returns
        -------
        name, value : str and float
            nan if nothing was counted; lists where there are several figures.
        """
        if self.num_inst == 0:
            return self.name, math.nan
        return self.name, self._metric_value(self.sum_metric, self.num_inst)

    def get_global(self) -> tuple[Any, Any]:
        """Return ``(name, value)`` since ``reset``; without a global mean, the local value.

        The `get` that a subclass defines counts: it is called with the global sums in place of the
        local ones.

        Returns
        -------
        name, value : str and float
            As of `get`, since ``reset``.

        Examples
        --------
        >>> metric = create("acc")
        >>> metric.update([np.array([0])], [np.array([[0.9, 0.1]])])
        >>> metric.reset_local()
        >>> metric.get(), metric.get_global()
        (('accuracy', nan), ('accuracy', 1.0))
        """
        return self._call_with_global_sums(self.get)

    def _call_with_global_sums(self, figure):
        """Call a method such as `get` with the sums since ``reset``."""
        # a user's `update` may maintain only the local sums
        if not self._has_global_stats or (self.num_inst and not self.global_num_inst):
            return figure()
        local = self.num_inst, self.sum_metric
        self.num_inst, self.sum_metric = self.global_num_inst, self.global_sum_metric
        try:
            return figure()
        finally:
            self.num_inst, self.sum_metric = local

    def _state_of_this_rank(self):
        """Return the state since ``reset`` for other processes, as values that JSON can hold."""
        return self._call_with_global_sums(lambda: [float(self.num_inst), float(self.sum_metric)])

    def _merge_rank_states(self, rows):
        """Merge the results of `_state_of_this_rank` from all processes into this metric."""
        self.num_inst = self.global_num_inst = sum(row[0] for row in rows)
        self.sum_metric = self.global_sum_metric = sum(row[1] for row in rows)

    def get_name_value(self) -> list[tuple[str, float]]:
        """Return a list of pairs (name, local value).

        Examples
        --------
        >>> metric = create("acc")
        >>> metric.update([np.array([0, 1])], [np.array([[0.9, 0.1], [0.8, 0.2]])])
        >>> metric.get_name_value()
        [('accuracy', 0.5)]
        >>> metric.reset_local()
        >>> metric.get_name_value(), metric.get_global_name_value(), metric.get_global()
        ([('accuracy', nan)], [('accuracy', 0.5)], ('accuracy', 0.5))
        >>> metric.reset()
        >>> metric.get_global_name_value()
        [('accuracy', nan)]
        """
        return _name_value_pairs(*self.get())

    def get_global_name_value(self) -> list[tuple[str, float]]:
        """Return a list of pairs (name, global value); without a global mean, local values.

        Examples
        --------
        >>> create("acc").get_global_name_value()
        [('accuracy', nan)]
        """
        if _overrides_method(type(self), "get_name_value", "get_global"):
            return self._call_with_global_sums(self.get_name_value)
        return _name_value_pairs(*self.get_global())


def _overrides_method(klass, name, other):
    """Return whether `name` is defined in a more derived class than method `other`."""
    owners = [
        next(i for i, each in enumerate(klass.__mro__) if n in vars(each)) for n in (name, other)
    ]
    return owners[0] < owners[1]


def _name_value_pairs(name, value):
    if not isinstance(name, list):
        return [(name, value)]
    return list(zip(name, value))


def _arrays_by_names(arrays, names, what):
    if not isinstance(arrays, dict):
        raise ArgumentTypeError(
            f"update_dict: {what}s must be a dict of name to NDArray, got {shown(arrays)}"
        )
    if names is None:
        return list(arrays.values())
    missing = [name for name in names if name not in arrays]
    if missing:
        raise ArgumentError(f"metric asks for {what} {missing}, found {list(arrays)}")
    return [arrays[name] for name in names]


@register
@alias("composite")
@guarded
class CompositeEvalMetric(EvalMetric):
    """Several metrics updated together.

    Parameters
    ----------
    metrics : list of str or EvalMetric, optional
        The metrics; `add` adds more.
    name : str
        Name of the group; each metric keeps its own in the results.

    Examples
    --------
    >>> both = CompositeEvalMetric(["acc", "ce"])
    >>> both.get()[0]
    ['accuracy', 'cross-entropy']
    """

    def __init__(
        self,
        metrics: Sequence[MetricLike] | None = None,
        name: str = "composite",
        output_names: Names | None = None,
        label_names: Names | None = None,
    ) -> None:
        self.metrics = [create(each) for each in metrics or ()]
        super().__init__(name, output_names, label_names, has_global_stats=True)

    def add(self, metric: MetricLike) -> None:
        """Append a metric, or one made by :func:`create`.

        Parameters
        ----------
        metric : str or EvalMetric
            The metric to add.

        Examples
        --------
        >>> both = CompositeEvalMetric(["acc"])
        >>> both.add("ce")
        >>> both.get_metric(1).name
        'cross-entropy'
        """
        self.metrics.append(create(metric))

    def get_metric(self, index: int) -> EvalMetric:
        """Return the metric at `index`.

        Parameters
        ----------
        index : int
            Place in the order in which they were added.

        Raises
        ------
        ValueError
            There is none at this place.

        Examples
        --------
        >>> CompositeEvalMetric(["acc", "ce"]).get_metric(0).name
        'accuracy'
        """
        try:
            return self.metrics[index]
        except IndexError:
            raise ArgumentError(
                f"metric index {index} is out of range 0 to {len(self.metrics) - 1}"
            ) from None

    def update_dict(self, labels: Any, preds: Any) -> None:
        if self.label_names is not None:
            labels = {name: array for name, array in labels.items() if name in self.label_names}
        if self.output_names is not None:
            preds = {name: array for name, array in preds.items() if name in self.output_names}
        for metric in self.metrics:
            metric.update_dict(labels, preds)

    def update(self, labels: Any, preds: Any) -> None:
        for metric in self.metrics:
            metric.update(labels, preds)

    def reset(self) -> None:
        for metric in self.metrics:
            metric.reset()

    def reset_local(self) -> None:
        for metric in self.metrics:
            metric.reset_local()

    def get(self) -> tuple[Any, Any]:
        return _flatten_results(metric.get() for metric in self.metrics)

    def get_global(self) -> tuple[Any, Any]:
        if _overrides_method(type(self), "get", "get_global"):
            return self._call_with_global_sums(self.get)
        return _flatten_results(metric.get_global() for metric in self.metrics)

    def _call_with_global_sums(self, figure):
        for metric in self.metrics:
            figure = functools.partial(metric._call_with_global_sums, figure)
        return figure()

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "metrics": [each.get_config() for each in self.metrics]}


def _flatten_results(results):
    names, values = [], []
    for name, value in results:
        names.extend(name if isinstance(name, list) else [name])
        values.extend(value if isinstance(value, list) else [value])
    return names, values
