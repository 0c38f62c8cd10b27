"""Estimators of gluonts 0.8.1, trained for a moment on waves and asked for a forecast."""

import mxnet as mx
import numpy as np
import pytest
from gluonts.dataset.common import ListDataset
from gluonts.model.canonical import CanonicalRNNEstimator
from gluonts.model.deep_factor import DeepFactorEstimator
from gluonts.model.deepar import DeepAREstimator
from gluonts.model.deepstate import DeepStateEstimator
from gluonts.model.deepvar import DeepVAREstimator
from gluonts.model.gp_forecaster import GaussianProcessEstimator
from gluonts.model.gpvar import GPVAREstimator
from gluonts.model.lstnet import LSTNetEstimator
from gluonts.model.n_beats import NBEATSEstimator
from gluonts.model.predictor import Predictor
from gluonts.model.renewal import DeepRenewalProcessEstimator
from gluonts.model.san import SelfAttentionEstimator
from gluonts.model.seq2seq import MQCNNEstimator, MQRNNEstimator
from gluonts.model.simple_feedforward import SimpleFeedForwardEstimator
from gluonts.model.tft import TemporalFusionTransformerEstimator
from gluonts.model.transformer import TransformerEstimator
from gluonts.model.wavenet import WaveNetEstimator
from gluonts.mx.trainer import Trainer

HOURS, AHEAD = 150, 6


def trainer(**settings):
    return Trainer(**{"epochs": 2, "num_batches_per_epoch": 4, "learning_rate": 1e-3, **settings})


def wave(seed):
    noise = np.random.RandomState(seed).normal(0, 0.1, HOURS)
    return 10 + 5 * np.sin(2 * np.pi * (np.arange(HOURS) + seed) / 24) + noise


def waves():
    entries = [
        {"start": "2020-01-01", "target": wave(i), "feat_static_cat": [i], "item_id": str(i)}
        for i in range(3)
    ]
    return ListDataset(entries, freq="H")


def several():
    target = np.stack([wave(i) for i in range(3)])
    entry = {"start": "2020-01-01", "target": target}
    return ListDataset([entry], freq="H", one_dim_target=False)


def demands():
    target = np.random.RandomState(0).poisson(0.3, HOURS) * 2.0
    return ListDataset([{"start": "2020-01-01", "target": target}], freq="H")


COMMON = {"freq": "H", "prediction_length": AHEAD}
BATCH = {"batch_size": 8}
ROWS = {
    "SimpleFeedForward": (SimpleFeedForwardEstimator, waves, {**BATCH}),
    "DeepAR": (DeepAREstimator, waves, {"num_cells": 8, **BATCH}),
    "DeepAR-static": (
        DeepAREstimator,
        waves,
        {"num_cells": 8, "use_feat_static_cat": True, "cardinality": [3], **BATCH},
    ),
    "DeepFactor": (DeepFactorEstimator, waves, {"cardinality": [3], **BATCH}),
    "DeepState": (
        DeepStateEstimator,
        waves,
        {
            "cardinality": [3],
            "num_cells": 8,
            "past_length": 48,
            "trainer": {"hybridize": False, "num_batches_per_epoch": 2},
            **BATCH,
        },
    ),
    "DeepVAR": (
        DeepVAREstimator,
        several,
        {"target_dim": 3, "num_cells": 8, "pick_incomplete": True, **BATCH},
    ),
    "GPVAR": (
        GPVAREstimator,
        several,
        {"target_dim": 3, "num_cells": 8, "pick_incomplete": True, **BATCH},
    ),
    "GaussianProcess": (
        GaussianProcessEstimator,
        waves,
        {"cardinality": 3, "context_length": 24, **BATCH},
    ),
    "LSTNet": (
        LSTNetEstimator,
        several,
        {
            "context_length": 24,
            "num_series": 3,
            "skip_size": 3,
            "ar_window": 4,
            "channels": 6,
            "rnn_num_cells": 8,
            **BATCH,
        },
    ),
    "NBEATS": (NBEATSEstimator, waves, {"num_stacks": 2, "widths": [16], **BATCH}),
    "MQCNN": (MQCNNEstimator, waves, {"channels_seq": [4, 4, 4], **BATCH}),
    "MQRNN": (MQRNNEstimator, waves, {**BATCH}),
    "TemporalFusionTransformer": (
        TemporalFusionTransformerEstimator,
        waves,
        {"hidden_dim": 8, "num_heads": 2, **BATCH},
    ),
    "Transformer": (TransformerEstimator, waves, {"model_dim": 8, "num_heads": 2, **BATCH}),
    "WaveNet": (WaveNetEstimator, waves, {**BATCH}),
    "SelfAttention": (
        SelfAttentionEstimator,
        waves,
        {
            "cardinalities": [3],
            "model_dim": 8,
            "num_heads": 4,
            "num_layers": 1,
            "context_length": 24,
            "use_feat_dynamic_real": False,
            "trainer": {"hybridize": False},
            **BATCH,
        },
    ),
    "CanonicalRNN": (
        CanonicalRNNEstimator,
        waves,
        {"cardinality": [3], "embedding_dimension": 4, "context_length": 24},
    ),
    "DeepRenewalProcess": (
        DeepRenewalProcessEstimator,
        demands,
        {
            "context_length": 24,
            "num_cells": 8,
            "num_layers": 1,
            "trainer": {"hybridize": False},
            **BATCH,
        },
    ),
}


@pytest.mark.parametrize("name", ROWS)
def test_estimator(name):
    kind, data, settings = ROWS[name]
    mx.random.seed(1)
    np.random.seed(1)
    settings = {**COMMON, **settings}
    settings["trainer"] = trainer(**settings.get("trainer", {}))
    data = data()
    predictor = kind(**settings).train(data)
    forecasts = list(predictor.predict(data))
    assert len(forecasts) == len(data)
    for forecast in forecasts:
        middle = np.asarray(forecast.quantile(0.5))
        assert middle.shape[0] == AHEAD
        assert np.isfinite(middle).all()


def test_saved(tmp_path):
    """A predictor that was written and read forecasts what it did before."""
    mx.random.seed(1)
    np.random.seed(1)
    estimator = SimpleFeedForwardEstimator(**COMMON, **BATCH, trainer=trainer())
    predictor = estimator.train(waves())
    predictor.serialize(tmp_path)
    read = Predictor.deserialize(tmp_path)
    means = []
    for each in (predictor, read):
        mx.random.seed(2)
        means.append(np.stack([f.mean for f in each.predict(waves())]))
    np.testing.assert_allclose(*means, 1e-5)


def test_deepar_learns():
    """DeepAR forecasts a wave of height 5 with an error below 1.5."""
    mx.random.seed(1)
    np.random.seed(1)
    estimator = DeepAREstimator(
        freq="H",
        prediction_length=24,
        context_length=48,
        num_layers=1,
        num_cells=20,
        batch_size=16,
        trainer=Trainer(epochs=8, num_batches_per_epoch=20, learning_rate=1e-2),
    )
    series = wave(0)
    data = ListDataset([{"start": "2020-01-01", "target": series[:-24]}], freq="H")
    forecast = next(iter(estimator.train(data).predict(data, num_samples=50)))
    assert np.abs(forecast.mean - series[-24:]).mean() < 1.5
