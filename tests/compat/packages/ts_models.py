"""Blocks, distributions and DeepAR of gluonts 0.5.2.

``python ts_models.py OUT.npz``: values of blocks with weights drawn by NumPy and of distributions;
then DeepAR learns a sine and forecasts it. It imports mxnet, as scripts for gluonts do: MXNet 1.9.1
runs it as it is, cynet by ``python -m cynet ts_models.py``.
"""

import logging
import sys
import warnings

import mxnet as mx
import numpy as np
from mxnet import autograd
from pandas.tseries import offsets

for name in ("Year", "Month"):  # the names that pandas had when gluonts 0.5.2 was written
    if not hasattr(offsets, f"{name}Offset"):
        setattr(offsets, f"{name}Offset", getattr(offsets, f"{name}Begin"))
warnings.simplefilter("ignore", FutureWarning)

from gluonts.block.cnn import CausalConv1D  # noqa: E402
from gluonts.block.feature import FeatureEmbedder  # noqa: E402
from gluonts.block.mlp import MLP  # noqa: E402
from gluonts.block.scaler import MeanScaler  # noqa: E402
from gluonts.dataset.common import ListDataset  # noqa: E402
from gluonts.distribution import (  # noqa: E402
    Beta,
    Gamma,
    Gaussian,
    Laplace,
    LowrankMultivariateGaussian,
    MultivariateGaussian,
    NegativeBinomial,
    Poisson,
    StudentT,
    Uniform,
)
from gluonts.model.deepar import DeepAREstimator  # noqa: E402
from gluonts.trainer import Trainer  # noqa: E402

found = {}


def keep(name, array):
    found[name] = array.asnumpy()


def set_weights(net, seed):
    rng = np.random.RandomState(seed)
    for _, parameter in sorted(net._collect_params_with_prefix().items()):
        parameter.set_data(mx.nd.array(0.3 * rng.standard_normal(parameter.shape)))


def blocks():
    rng = np.random.RandomState(1)
    x = mx.nd.array(rng.standard_normal((3, 5, 4)))
    ids = mx.nd.array(rng.randint(0, 3, (3, 2)))
    mask = mx.nd.array(rng.randint(0, 2, (3, 5, 4)))
    nets = {
        "mlp": (MLP([6, 4], flatten=False), (x,)),
        "cnn": (CausalConv1D(4, 3, dilation=2), (x,)),
        "embedder": (FeatureEmbedder([3, 3], [2, 4]), (ids,)),
        "scaler": (MeanScaler(), (x, mask)),
    }
    for name, (net, inputs) in nets.items():
        for hybridize in (False, True):
            net.initialize(force_reinit=True)
            net(*inputs)
            set_weights(net, 2)
            if hybridize:
                net.hybridize()
            with autograd.record():
                outputs = net(*inputs)
                outputs = outputs if isinstance(outputs, (list, tuple)) else [outputs]
                total = sum((y * y).sum() for y in outputs)
            parameters = [p for _, p in sorted(net._collect_params_with_prefix().items())]
            learnt = [p for p in parameters if p.grad_req != "null"]
            if learnt:
                total.backward()
            for i, y in enumerate(outputs):
                keep(f"{name}-{hybridize}/out{i}", y)
            for k, parameter in enumerate(learnt):
                keep(f"{name}-{hybridize}/grad{k}", parameter.grad())


def distributions():
    rng = np.random.RandomState(3)
    a, b, c = (mx.nd.array(rng.uniform(0.5, 2, (4, 2))) for _ in range(3))
    low = mx.nd.array(np.tril(rng.uniform(0.2, 1, (4, 3, 3))))
    mean, diagonal = (mx.nd.array(rng.uniform(0.5, 1, (4, 3))) for _ in range(2))
    rows = [
        (lambda: StudentT(a, b, c + 3), c, (a, b)),
        (lambda: Gaussian(a, b), c, (a, b)),
        (lambda: Laplace(a, b), c, (a, b)),
        (lambda: Gamma(a, b), c, (a, b)),
        (lambda: Beta(a, b), c / 3, (a, b)),
        (lambda: NegativeBinomial(a, b), mx.nd.round(c * 2), (a, b)),
        (lambda: Poisson(a), mx.nd.round(c * 2), (a,)),
        (lambda: Uniform(a - 2, a + 3), c, (a,)),
        (lambda: MultivariateGaussian(mean, low), mean * 0.5, (mean, low)),
        (lambda: LowrankMultivariateGaussian(3, 2, mean, diagonal, low[:, :, :2]), mean * 0.5,
         (mean, diagonal)),
    ]  # fmt: skip
    for make, x, parameters in rows:
        for each in parameters:
            each.attach_grad()
        with autograd.record():
            distribution = make()
            loss = distribution.loss(x)
        label = type(distribution).__name__
        loss.backward()
        keep(f"{label}/loss", loss)
        if label != "Uniform":
            keep(f"{label}/mean", distribution.mean)
        for i, each in enumerate(parameters):
            keep(f"{label}/grad{i}", each.grad)
        mx.random.seed(1)
        drawn = distribution.sample(20000)
        error = np.abs(drawn.mean(axis=0).asnumpy() - distribution.mean.asnumpy()).max()
        if error > 0.15:
            raise SystemExit(f"{label}: the mean of samples is off by {error}")


def deepar():
    logging.disable(logging.INFO)
    hours = np.arange(200)
    series = 10 + 5 * np.sin(2 * np.pi * hours / 24)
    series += np.random.RandomState(0).normal(0, 0.1, 200)
    entry = {"start": "2020-01-01 00:00:00", "target": series[:176]}
    mx.random.seed(1)
    np.random.seed(1)
    trainer = Trainer(epochs=6, num_batches_per_epoch=20, batch_size=16, learning_rate=1e-2)
    estimator = DeepAREstimator(
        freq="H", prediction_length=24, context_length=48, num_layers=1, num_cells=20,
        trainer=trainer,
    )  # fmt: skip
    predictor = estimator.train(ListDataset([entry], freq="H"))
    forecast = next(iter(predictor.predict(ListDataset([entry], freq="H"), num_samples=50)))
    error = np.abs(forecast.mean - series[176:]).mean()
    print(f"DeepAR: mean absolute error {error:.3f} of a wave of height 5")
    if not error < 1.5:
        raise SystemExit("DeepAR has not learnt the wave")


if __name__ == "__main__":
    blocks()
    distributions()
    deepar()
    np.savez_compressed(sys.argv[1], **found)
    print("ran", len(found))
