"""Estimators of scikit-learn: its own checks, and what its pipelines and searches need."""

import pickle

import numpy as np
import pytest

import cynet as mx

pytest.importorskip("sklearn")
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.multioutput import ClassifierChain
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from cynet.contrib.sklearn import Classifier, Regressor
from cynet.gluon import nn


@parametrize_with_checks(
    [Classifier(epochs=15, random_state=0), Regressor(epochs=30, random_state=0)]
)
def test_checks_of_scikit_learn(estimator, check):
    if "array_api" in getattr(check.func, "__name__", ""):
        return  # of estimators that compute on arrays of others
    check(estimator)


def test_digits_in_a_pipeline_and_a_search():
    x, y = load_digits(return_X_y=True)
    x, y = x[:600], np.array([f"digit {each}" for each in y[:600]])
    network = make_pipeline(StandardScaler(), Classifier(epochs=8, random_state=0))
    assert cross_val_score(network, x, y, cv=3).mean() > 0.85
    rates = {"classifier__learning_rate": [1e-6, 0.01]}
    search = GridSearchCV(network, rates, cv=2).fit(x, y)
    assert search.best_params_ == {"classifier__learning_rate": 0.01}
    best = search.best_estimator_
    assert best.predict(x[:3]).tolist() == y[:3].tolist()
    again = pickle.loads(pickle.dumps(best))
    np.testing.assert_array_equal(again.predict_proba(x), best.predict_proba(x))
    assert len(best[-1].loss_curve_) == 8 and best[-1].loss_curve_[0] > best[-1].loss_curve_[-1]


def small(outputs):
    net = nn.HybridSequential()
    net.add(nn.Conv2D(4, 3, activation="relu"), nn.Dense(outputs))
    return net


def test_a_network_of_ones_own_on_pictures():
    images = load_digits().images[:300, None] / 16
    labels = load_digits().target[:300] % 2
    network = Classifier(net=small, epochs=12, random_state=np.random.RandomState(3))
    assert clone(network).net is small
    network.fit(images, labels)
    assert network.score(images, labels) > 0.95
    assert isinstance(network.net_[0], nn.Conv2D)
    shares = network.predict_proba(images)
    assert shares.shape == (300, 2)
    np.testing.assert_allclose(shares.sum(1), 1, rtol=1e-12)
    scores = network.net_(mx.nd.array(images)).softmax().asnumpy()
    np.testing.assert_allclose(shares, scores, atol=1e-6)


def test_several_targets_and_dataframes():
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    x = pandas.DataFrame(rng.uniform(-1, 1, (200, 2)), columns=["a", "b"])
    y = np.stack([x["a"] ** 2, x["b"] - x["a"]], axis=1)
    network = Regressor(random_state=0, epochs=40).fit(x, y)
    assert network.predict(x).shape == (200, 2) and network.score(x, y) > 0.9
    assert network.feature_names_in_.tolist() == ["a", "b"]
    with pytest.raises(ValueError, match="The feature names should match"):
        network.predict(x[["b", "a"]])
    both = (x > 0).to_numpy().astype(int)
    chain = ClassifierChain(Classifier(random_state=0)).fit(x, both)
    assert chain.score(x, both) > 0.9


def test_the_random_state_decides_and_others_numbers_go_on():
    x, y = np.random.default_rng(0).normal(size=(60, 3)), np.arange(60) % 2
    found = [Classifier(random_state=s, epochs=2).fit(x, y).predict_proba(x) for s in (1, 1, 2)]
    assert (found[0] == found[1]).all() and (found[0] != found[2]).any()
    mx.random.seed(5)
    wanted = mx.nd.random.normal(shape=4).asnumpy()
    mx.random.seed(5)
    Classifier(random_state=1, epochs=1).fit(x, y)
    np.testing.assert_array_equal(mx.nd.random.normal(shape=4).asnumpy(), wanted)


def test_what_is_refused():
    x, y = np.zeros((4, 2)), [0, 1, 0, 1]
    for name in ("epochs", "batch_size"):
        for value in (0, 1.5):
            with pytest.raises(ValueError, match=f"Classifier: {name} must be a positive int, got"):
                Classifier(**{name: value}).fit(x, y)
    with pytest.raises(TypeError, match="net is a function that makes a Block .*, it made 3"):
        Regressor(net=lambda outputs: 3).fit(x, y)
    for wrong in (nn.Dense(1), nn.HybridSequential(), lambda: nn.Dense(1), "dense", 7):
        with pytest.raises(TypeError, match="net is a function .*lambda outputs: nn.Dense.*got"):
            Regressor(net=wrong).fit(x, y)
    with pytest.raises(NotFittedError, match="is not fitted yet"):
        Classifier().predict(x)
    with pytest.raises(ValueError, match="Unknown label type: continuous"):
        Classifier().fit(x, [0.1, 0.2, 0.3, 0.4])
