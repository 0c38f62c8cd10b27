"""Time series: windows and backtests beside loops, scales of scikit-learn, files."""

import numpy as np
import pytest

import cynet as mx
from cynet.contrib.series import Scaler, backtest, windows


@pytest.mark.parametrize("stride", [1, 3, 50])
@pytest.mark.parametrize("shape", [(40,), (40, 2)])
def test_windows_are_those_of_a_loop(rng, shape, stride):
    series = rng.normal(size=shape)
    past, future = windows(mx.nd.array(series, dtype="float64"), 6, 4, stride)
    begins = range(0, 40 - 10 + 1, stride)
    np.testing.assert_array_equal(past, [series[i : i + 6] for i in begins])
    np.testing.assert_array_equal(future, [series[i + 6 : i + 10] for i in begins])


@pytest.mark.parametrize("by", ["std", "minmax"])
@pytest.mark.parametrize("shape", [(50,), (50, 3)])
def test_scales_are_those_of_scikit_learn(rng, by, shape, tmp_path):
    preprocessing = pytest.importorskip("sklearn.preprocessing")
    judge = {"std": preprocessing.StandardScaler, "minmax": preprocessing.MinMaxScaler}[by]()
    series, other = rng.normal(7, 3, shape), rng.normal(7, 3, shape)
    series[..., -1:] = 4.0 if len(shape) > 1 else series[..., -1:]  # a variable that stays
    wanted = judge.fit(series.reshape(50, -1)).transform(other.reshape(50, -1)).reshape(shape)
    scaler = Scaler(by).fit(series)
    found = scaler.transform(mx.nd.array(other, dtype="float64"))
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(scaler.inverse(found), other, rtol=1e-4, atol=1e-5)
    batch = np.stack([other, series])
    np.testing.assert_allclose(scaler.transform(batch)[0], wanted, rtol=1e-5, atol=1e-6)
    scaler.save(tmp_path / "scale.json")
    np.testing.assert_array_equal(Scaler.load(tmp_path / "scale.json").transform(other), found)


@pytest.mark.parametrize("shape", [(30,), (30, 2)])
def test_a_backtest_knows_only_the_past(rng, shape):
    series = rng.normal(size=shape)
    seen = []

    def forecast(past, ahead):
        seen.append(past.copy())
        past[:] = 0  # its own copy
        return mx.nd.array(np.stack([seen[-1].mean(0)] * ahead), dtype="float64")

    origins = [5, 12, 27]
    found, figures = backtest(forecast, series, origins, 3)
    errors, naive = [], []
    for place, origin in enumerate(origins):
        np.testing.assert_array_equal(seen[place], series[:origin])
        for step in range(3):
            np.testing.assert_allclose(found[place][step], series[:origin].mean(0))
            errors.append(series[origin + step] - series[:origin].mean(0))
            naive.append(series[origin + step] - series[origin - 1])
    assert figures == {
        "mae": pytest.approx(np.abs(errors).mean()),
        "rmse": pytest.approx(np.sqrt(np.square(errors).mean())),
        "relative": pytest.approx(np.abs(errors).mean() / np.abs(naive).mean()),
    }
    flat = backtest(lambda past, ahead: np.ones(ahead), np.ones(9), [4], 2)[1]
    assert flat["mae"] == 0 and np.isnan(flat["relative"])


def test_what_is_refused(tmp_path):
    with pytest.raises(ValueError, match="4 steps are less than past=3 and ahead=2 together"):
        windows(np.zeros(4), 3, 2)
    for name in ("past", "ahead", "stride"):
        sizes = {"past": 1, "ahead": 1, name: 0}
        with pytest.raises(ValueError, match=f"windows: {name} must be an int from 1 on, got 0"):
            windows(np.zeros(9), **sizes)
    for series in (np.zeros((2, 2, 2)), np.array(["a"]), np.float32(3)):
        with pytest.raises(ValueError, match="a series is numbers of shape"):
            windows(series, 1, 1)
    with pytest.raises(ValueError, match="by must be 'std' or 'minmax', got 'max'"):
        Scaler("max")
    for bad in ([], [1.0, np.nan]):
        with pytest.raises(ValueError, match="Scaler: expected finite numbers"):
            Scaler().fit(np.array(bad, float))
    for use in ("transform", "inverse"):
        with pytest.raises(RuntimeError, match="call fit with a series first"):
            getattr(Scaler(), use)([1.0])
    with pytest.raises(RuntimeError, match="call fit with a series first"):
        Scaler().save(tmp_path / "x.json")
    with pytest.raises(ValueError, match=r"expected \(\.\.\., 2\) variables, got \(3,\)"):
        Scaler().fit(np.zeros((4, 2))).transform(np.zeros(3))
    for text in ("", "{}", '{"form": "cynet scaler 1", "by": "std", "begin": [1], "size": 2}'):
        (tmp_path / "bad.json").write_text(text)
        with pytest.raises(mx.MXNetError, match="is no file of a Scaler"):
            Scaler.load(tmp_path / "bad.json")
    with pytest.raises(ValueError, match="there are no origins"):
        backtest(None, np.zeros(9), [], 2)
    for origin in (8, 9):
        with pytest.raises(ValueError, match=f"origin {origin} is not from 1 to 7"):
            backtest(None, np.zeros(9), [origin], 2)
    with pytest.raises(ValueError, match=r"has shape \(3,\), expected \(2,\)"):
        backtest(lambda past, ahead: np.zeros(3), np.zeros(9), [4], 2)
