"""mx.test_utils answers as MXNet 1.9.1's; what draws or compares is tested by itself."""

import json
import os
import statistics
from pathlib import Path

import numpy as np
import pytest

import cynet as mx
from tests.fixtures.utils import answers

FIXTURES = Path(__file__).parents[1] / "fixtures"

T = mx.test_utils
WANTED = json.loads((FIXTURES / "test_utils.json").read_text())
_normal = statistics.NormalDist()


def ppf(p):
    """The normal quantile, as scipy's."""
    return -np.inf if p <= 0 else np.inf if p >= 1 else _normal.inv_cdf(p)


FOUND = answers(mx, ppf)


def close(found, wanted):
    if isinstance(wanted, list):
        return len(found) == len(wanted) and all(map(close, found, wanted))
    if isinstance(wanted, dict):
        beyond = {*found} - {*wanted}  # MXNet's tables have no bfloat16
        return (
            {*wanted} <= {*found}
            and all("bfloat16" in k for k in beyond)
            and all(close(found[k], wanted[k]) for k in wanted)
        )
    if isinstance(wanted, float):
        return found == pytest.approx(wanted, rel=1e-6, abs=1e-12)
    return found == wanted


@pytest.mark.parametrize("name", WANTED)
def test_answers(name):
    assert close(FOUND[name], WANTED[name]), (FOUND[name], WANTED[name])


def test_generators_that_fail(rng):
    buckets, probs = T.gen_buckets_probs_with_ppf(ppf, 5)
    with pytest.raises(AssertionError, match="0 of 3 chi-square tests succeed"):
        T.verify_generator(lambda n: rng.normal(1, 1, n), buckets, probs, 1000, 3)
    with pytest.raises(mx.MXNetError, match="5 buckets for 1 prob"):
        T.chi_square_check(lambda n: np.zeros(n), buckets, [1.0])
    # samples may be NDArrays
    values = T.verify_generator(lambda n: mx.nd.random.normal(shape=(n,)), buckets, probs, 10**5)
    assert len(values) == 5


def test_matrices():
    q = T.new_orthonormal_matrix_2d(4)
    np.testing.assert_allclose(q @ q.T, np.eye(4), atol=1e-12)
    several = T.new_matrix_with_real_eigvals_nd((2, 3, 3))
    assert several.shape == (2, 3, 3) and np.isrealobj(np.linalg.eigvals(several))
    symmetric = T.new_sym_matrix_with_real_eigvals_nd((2, 5, 5))
    np.testing.assert_array_equal(symmetric, symmetric.transpose(0, 2, 1))


def test_comparisons():
    T.assert_allclose(np.array([1.0, np.nan]), np.array([1.0 + 1e-9, np.nan]))
    with pytest.raises(AssertionError, match="a and b differ in 1 of 1 entries"):
        T.assert_allclose(np.ones(1), np.ones(1) + 1e-6)
    T.assert_almost_equal_with_err(np.ones(10), np.arange(10.0), etol=0.9)
    with pytest.raises(AssertionError, match="differ in 9 of 10"):
        T.assert_almost_equal_with_err(np.ones(10), np.arange(10.0), etol=0.8)
    T.assert_almost_equal_ignore_nan(np.array([np.nan, 1]), np.array([2, 1.0]))
    with pytest.raises(AssertionError, match="a and b differ in 1 of 2 entries"):
        T.assert_almost_equal_ignore_nan(np.array([np.nan, 1]), np.array([2, 1.5]))
    with pytest.raises(AssertionError, match="a has shape"):
        T.checkShapes(np.ones(2), np.ones(3))
    one = mx.nd.ones((2,))
    T.compare_ndarray_tuple((one, (one, None)), (one, (one, None)))
    with pytest.raises(AssertionError, match="a and b differ in 2 of 2 entries"):
        T.compare_ndarray_tuple((one, (one,)), (one, (one + 1,)))
    with pytest.raises(mx.MXNetError, match="does not broadcast"):
        T.collapse_sum_like(np.ones((2, 3)), (2,))


def test_optimizers():
    def make(momentum=0.9):
        return mx.optimizer.SGD(learning_rate=0.1, momentum=momentum, wd=0.1)

    T.compare_optimizer(make(), make(), (3, 4), "float32")
    T.compare_optimizer(make(), make(), [(3, 4), (2,)], "float64", ntensors=2)
    with pytest.raises(AssertionError, match="a and b differ in 12 of 12 entries"):
        T.compare_optimizer(make(), mx.optimizer.Adam(), (3, 4), "float32", compare_states=False)


def test_retry():
    tried = []

    @T.retry(3)
    def fails(times):
        tried.append(times)
        assert len(tried) > times

    fails(2)
    assert tried == [2, 2, 2]
    tried.clear()
    with pytest.raises(AssertionError, match="where 3 ="):
        fails(5)
    assert len(tried) == 3
    with pytest.raises(mx.MXNetError, match="1 or more"):
        T.retry(0)


def test_environment():
    with T.environment("SOME_NAME", "1"):
        with T.environment({"SOME_NAME": None, "OTHER_NAME": "2"}):
            assert "SOME_NAME" not in os.environ and os.environ["OTHER_NAME"] == "2"
        assert os.environ["SOME_NAME"] == "1"
    assert not {"SOME_NAME", "OTHER_NAME"} & {*os.environ}
    with pytest.raises(mx.MXNetError, match="a name and a value"), T.environment(3):
        pass


def test_discard_stderr(capfd):
    free = os.dup(2)  # the number of the first descriptor that is not in use
    os.close(free)
    with T.discard_stderr():
        os.write(2, b"unseen")
    os.write(2, b"seen")
    assert capfd.readouterr().err == "seen"
    again = os.dup(2)
    os.close(again)
    assert again == free  # nothing is left open


def test_speed_and_dummy_iter():
    net = mx.sym.FullyConnected(mx.sym.Variable("x"), num_hidden=3)
    for typ in ("whole", "forward"):
        assert 0 < T.check_speed(net, N=2, typ=typ, x=(2, 4)) < 5
    assert 0 < T.check_speed(net, {"x": np.ones((2, 4))}, N=1) < 5
    with pytest.raises(mx.MXNetError, match="typ must be"):
        T.check_speed(net, typ="half", x=(2, 4))
    data = T.DummyIter(mx.io.NDArrayIter(np.arange(8.0).reshape(8, 1), np.ones(8), 4))
    first = [data.next().data[0].asnumpy().ravel().tolist() for _ in range(5)]
    assert first == [[0, 1, 2, 3]] * 5 and data.provide_data[0].shape == (4, 1)


def test_archives(tmp_path, monkeypatch):
    import bz2
    import zipfile

    folder = tmp_path / "data"
    folder.mkdir()
    with zipfile.ZipFile(folder / "a.zip", "w") as archive:
        archive.writestr("in/one.txt", "1")
    T.get_zip_data(str(folder), "http://127.0.0.1:9/a.zip", "a.zip")
    assert (folder / "in" / "one.txt").read_text() == "1"
    (folder / "b.bz2").write_bytes(bz2.compress(b"two"))
    T.get_bz2_data(str(folder), "b.txt", "http://127.0.0.1:9/b.bz2", "b.bz2")
    assert (folder / "b.txt").read_bytes() == b"two" and not (folder / "b.bz2").exists()
    (folder / "c.zip").write_bytes(b"none")
    with pytest.raises(mx.MXNetError, match=r"c\.zip"):
        T.get_zip_data(str(folder), "http://127.0.0.1:9/c.zip", "c.zip")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(mx.MXNetError, match="Connection refused"):
        T.get_zip_data("none", "http://127.0.0.1:9/d.zip", "d.zip")
