"""mx.contrib.sklearn: networks as scikit-learn estimators, for its pipelines and searches."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import autograd
from .. import ndarray as nd
from .. import random as mx_random
from ..base.compat import optional
from ..base.errors import ArgumentError, ArgumentTypeError, shown
from ..gluon import Block, Trainer, nn
from ..gluon.loss import L2Loss, SoftmaxCrossEntropyLoss
from ..initializer import Xavier

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..typing import NumpyArray

__all__ = ["Classifier", "Regressor"]

_sklearn_base = optional("sklearn.base", "contrib.sklearn")
_sklearn_validation = optional("sklearn.utils.validation", "contrib.sklearn")
_sklearn_multiclass = optional("sklearn.utils.multiclass", "contrib.sklearn")
_MAX_ROWS = 4096  # rows of a prediction


def _make_default_network(outputs):
    """Make the network that an estimator uses by default."""
    net = nn.HybridSequential()
    net.add(nn.Dense(64, activation="relu"), nn.Dense(outputs))
    return net


def _takes_output_count(make_network):
    """Return whether `make_network` can be called with one argument, and is not a Block."""
    if isinstance(make_network, Block) or not callable(make_network):
        return False
    try:
        inspect.signature(make_network).bind(1)
    except TypeError:
        return False
    except ValueError:  # callables in C may have no signature
        return True
    return True


class _Estimator(_sklearn_base.BaseEstimator):
    """Base of Classifier and Regressor: settings, training, outputs of the network."""

    def __init__(
        self,
        net: Callable[[int], Block] | None = None,
        epochs: int = 20,
        batch_size: int = 32,
        optimizer: str = "adam",
        learning_rate: float = 0.01,
        weight_decay: float = 0.0,
        random_state: Any = None,
    ) -> None:
        self.net = net
        self.epochs = epochs
        self.batch_size = batch_size
        self.optimizer = optimizer
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.random_state = random_state

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.non_deterministic = self.random_state is None
        return tags

    def _fit_network(self, x, y, outputs, loss):
        for name in ("epochs", "batch_size"):
            value = getattr(self, name)
            if not isinstance(value, (int, np.integer)) or value < 1:
                raise ArgumentError(
                    f"{type(self).__name__}: {name} must be a positive int, got {shown(value)}"
                )
        rng = _sklearn_validation.check_random_state(self.random_state)
        before = mx_random.get_state()
        mx_random.seed(int(rng.randint(2**31 - 1)))
        try:
            self.net_ = self._make_network(outputs)
            settings = {"learning_rate": self.learning_rate, "wd": self.weight_decay}
            trainer = Trainer(self.net_.collect_params(), self.optimizer, settings)
            self.loss_curve_ = [
                self._train_epoch(x, y, rng, loss, trainer) for _ in range(self.epochs)
            ]
        finally:
            mx_random.set_state(before)

    def _make_network(self, outputs):
        make = _make_default_network if self.net is None else self.net
        if not _takes_output_count(make):
            raise ArgumentTypeError(
                f"{type(self).__name__}: net is a function that makes a Block for a number of"
                f" outputs, as lambda outputs: nn.Dense(outputs), got {shown(make)}"
            )
        net = make(outputs)
        if not isinstance(net, Block):
            raise ArgumentTypeError(
                f"{type(self).__name__}: net is a function that makes a Block for a number of"
                f" outputs, it made {shown(net)}"
            )
        net.initialize(Xavier())
        net.hybridize()
        return net

    def _train_epoch(self, x, y, rng, loss, trainer):
        """Train on all rows in a new order; returns their mean loss."""
        order, sums = rng.permutation(len(x)), []
        for first in range(0, len(x), self.batch_size):
            rows = order[first : first + self.batch_size]
            with autograd.record():
                each = loss(self.net_(nd.array(x[rows])), nd.array(y[rows]))
            each.backward()
            trainer.step(len(rows))
            sums.append(each.sum())
        return float(nd.add_n(*sums).asscalar()) / len(x)

    def _predict_outputs(self, x):
        """Compute the network's outputs for rows of data."""
        _sklearn_validation.check_is_fitted(self)
        x = _sklearn_validation.validate_data(self, x, dtype=np.float32, reset=False, allow_nd=True)
        parts = [self.net_(nd.array(x[i : i + _MAX_ROWS])) for i in range(0, len(x), _MAX_ROWS)]
        return np.concatenate([each.asnumpy() for each in parts])

    def __getstate__(self):
        """Return the state to pickle: weights as arrays; a traced graph is made again."""
        state = dict(super().__getstate__())
        if "net_" in state:
            found = state.pop("net_")._collect_params_with_prefix()
            state["_weights"] = {name: each.data().asnumpy() for name, each in found.items()}
        return state

    def __setstate__(self, state):
        state = dict(state)
        weights = state.pop("_weights", None)
        super().__setstate__(state)
        if weights is not None:
            self.net_ = self._make_network(self._count)
            for name, each in self.net_._collect_params_with_prefix().items():
                each.shape = weights[name].shape
                each.set_data(nd.array(weights[name]))


_PARAMETERS_DOC = """net : callable, optional
        A function that makes a Block for a number of outputs; by default one hidden layer of 64.
    epochs : int
        How often all rows are trained on.
    batch_size : int
        Rows of a step.
    optimizer : str
        Name of an optimizer.
    learning_rate, weight_decay : float
        Its settings.
    random_state : int, numpy.random.RandomState or None
        What weights and the order of rows come from.

    Attributes
    ----------
    net_ : Block
        The trained network.
    loss_curve_ : list of float
        The mean loss of each epoch.
"""


class Classifier(_sklearn_base.ClassifierMixin, _Estimator):
    __doc__ = f"""A network that tells classes apart, as an estimator of scikit-learn.

    Rows are arrays or DataFrames of numbers, also of several axes (images); labels are of any kind.
    The loss is the cross entropy of a softmax over the network's outputs, one for each class.

    Parameters
    ----------
    {_PARAMETERS_DOC}    classes_ : numpy.ndarray
        The labels, in the order of the outputs.

    Raises
    ------
    CynetError
        scikit-learn is not installed: ``pip install 'cynet-mx[sklearn]'``.

    Examples
    --------
    >>> from cynet.contrib.sklearn import Classifier
    >>> from sklearn.model_selection import GridSearchCV
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(200, 2)) * [1, 100]
    >>> y = np.where(x[:, 0] * x[:, 1] > 0, "same", "other")
    >>> pipeline = make_pipeline(StandardScaler(), Classifier(random_state=0))
    >>> search = GridSearchCV(pipeline, {{"classifier__epochs": [1, 40]}}, cv=3).fit(x, y)
    >>> search.best_params_, bool(search.best_score_ > 0.9)
    ({{'classifier__epochs': 40}}, True)
    >>> search.best_estimator_.predict([[2, 150], [2, -150]]).tolist()
    ['same', 'other']
    >>> search.best_estimator_.predict_proba([[2, 150]]).shape
    (1, 2)
    """

    def fit(self, X: Any, y: Any) -> Classifier:
        """Train a new network; returns the estimator itself.

        Parameters
        ----------
        X : array-like
            Rows.
        y : array-like
            The label of each row.
        """
        X, y = _sklearn_validation.validate_data(self, X, y, dtype=np.float32, allow_nd=True)
        _sklearn_multiclass.check_classification_targets(y)
        self.classes_, numbers = np.unique(y, return_inverse=True)
        self._count = len(self.classes_)
        self._fit_network(X, numbers.astype(np.float32), self._count, SoftmaxCrossEntropyLoss())
        return self

    def predict_proba(self, X: Any) -> NumpyArray:
        """Predict class probabilities: (rows, classes), in the order of ``classes_``.

        Parameters
        ----------
        X : array-like
            Rows.
        """
        scores = self._predict_outputs(X).astype(np.float64)
        shares = np.exp(scores - scores.max(axis=1, keepdims=True))
        return shares / shares.sum(axis=1, keepdims=True)

    def predict(self, X: Any) -> NumpyArray:
        """Predict the most probable label of each row: (rows,), in the labels' dtype.

        Parameters
        ----------
        X : array-like
            Rows.
        """
        best = self.predict_proba(X).argmax(axis=1)
        return self.classes_[best]


class Regressor(_sklearn_base.RegressorMixin, _Estimator):
    __doc__ = f"""A network that predicts numbers, as an estimator of scikit-learn.

    Rows are arrays or DataFrames of numbers, also of several axes; targets are one number a row or
    several. The loss is half the squared error.

    Parameters
    ----------
    {_PARAMETERS_DOC}
    Raises
    ------
    CynetError
        scikit-learn is not installed: ``pip install 'cynet-mx[sklearn]'``.

    Examples
    --------
    >>> from cynet.contrib.sklearn import Regressor
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(-1, 1, size=(200, 2))
    >>> y = x[:, 0] ** 2 + x[:, 1]
    >>> network = Regressor(random_state=0, epochs=40).fit(x, y)
    >>> network.score(x, y) > 0.95, network.predict(x).shape
    (True, (200,))
    """

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.single_output = tags.target_tags.multi_output = True
        return tags

    def fit(self, X: Any, y: Any) -> Regressor:
        """Train a new network; returns the estimator itself.

        Parameters
        ----------
        X : array-like
            Rows.
        y : array-like
            The target of each row, or several: (rows,) or (rows, targets).
        """
        X, y = _sklearn_validation.validate_data(
            self, X, y, dtype=np.float32, allow_nd=True, multi_output=True, y_numeric=True
        )
        y = np.asarray(y, np.float32)
        self._flat = y.ndim == 1
        self._count = 1 if self._flat else y.shape[1]
        self._fit_network(X, y.reshape(len(y), -1), self._count, L2Loss())
        return self

    def predict(self, X: Any) -> NumpyArray:
        """Predict the targets of each row: (rows,) or (rows, targets), like those of `fit`.

        Parameters
        ----------
        X : array-like
            Rows.
        """
        found = self._predict_outputs(X).astype(np.float64)
        return found[:, 0] if self._flat else found
