"""fit(resume=...): ten epochs are five, a kill, and five more, to the byte."""

import random
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import cynet as mx

SCRIPT = Path(__file__).with_name("resumed_fit.py")


def run(folder, kind, name, kill_after):
    return subprocess.run(
        [sys.executable, SCRIPT, kind, str(folder / name), str(kill_after)],
        capture_output=True,
        text=True,
        timeout=120,
    )


@pytest.mark.parametrize("kind", ["dense", "two", "roll_over", "buckets"])
def test_killed_and_resumed_is_as_never_stopped(tmp_path, kind):
    whole = run(tmp_path, kind, "whole", -1)
    assert whole.returncode == 0, whole.stderr
    for kill_after in (3, 5):
        killed = run(tmp_path, kind, "parts", kill_after)
        assert killed.returncode == -signal.SIGKILL, killed.stderr
    resumed = run(tmp_path, kind, "parts", -1)
    assert resumed.returncode == 0, resumed.stderr
    assert resumed.stdout == whole.stdout and "[0, 1, 2, 3, 4, 5]" in whole.stdout
    results = [(tmp_path / f"{name}.result").read_bytes() for name in ("whole", "parts")]
    assert results[0] == results[1]


def network():
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, name="fc")
    return mx.mod.Module(mx.sym.SoftmaxOutput(net, name="softmax"))


def batches(rows=16):
    rng = np.random.RandomState(0)
    return mx.io.NDArrayIter(rng.randn(rows, 4), rng.randint(0, 3, rows), 8, shuffle=True)


def fit(prefix, module=None, data=None, **settings):
    settings = {"num_epoch": 2, "resume": str(prefix), "verbose": False, **settings}
    return (module or network()).fit(data or batches(), **settings)


def test_a_training_that_is_done_is_not_begun_again(tmp_path):
    first = fit(tmp_path / "a")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.training"]
    module = network()
    again = fit(tmp_path / "a", module)
    assert again.metrics == first.metrics and again.epochs == [0, 1]
    assert fit(tmp_path / "a", num_epoch=3).epochs == [0, 1, 2]


def test_callbacks_go_on_where_they_were(tmp_path):
    def stopping():
        return mx.callback.EarlyStopping("accuracy", patience=1, min_delta=1.0, mode="max")

    halves = stopping()
    fit(tmp_path / "a", num_epoch=2, callbacks=[halves])
    assert halves.wait == 1
    again = stopping()
    history = fit(tmp_path / "a", num_epoch=9, callbacks=[again])
    assert history.epochs == [0, 1, 2] and "has not improved" in history.reason
    # a training that a callback has ended stays so
    assert fit(tmp_path / "a", num_epoch=9, callbacks=[stopping()]).epochs == [0, 1, 2]


def test_refused(tmp_path):
    fit(tmp_path / "a")
    with pytest.raises(mx.MXNetError, match="a state of 16 rows for 24"):
        fit(tmp_path / "a", data=batches(24))
    with pytest.raises(mx.MXNetError, match=r"callbacks \['EarlyStopping'\]|with the callbacks"):
        fit(tmp_path / "a", callbacks=[mx.callback.EarlyStopping("accuracy")])
    with pytest.raises(mx.MXNetError, match="does not exist"):
        fit(tmp_path / "none" / "a")
    content = (tmp_path / "a.training").read_bytes()
    (tmp_path / "a.training").write_bytes(content[: len(content) // 2])
    with pytest.raises(mx.MXNetError, match=r"a\.training"):
        fit(tmp_path / "a")
    mx.nd.save(str(tmp_path / "a.training"), {"x": mx.nd.ones(1)})
    with pytest.raises(mx.MXNetError, match="expected a file of a training"):
        fit(tmp_path / "a")


def test_iterators_without_a_state_begin_anew(tmp_path):
    class Plain(mx.io.DataIter):
        def __init__(self):
            super().__init__(8)
            self.inner = batches()
            self.provide_data = self.inner.provide_data
            self.provide_label = self.inner.provide_label

        def reset(self):
            self.inner.reset()

        def next(self):
            return self.inner.next()

    fit(tmp_path / "a", data=Plain())
    assert fit(tmp_path / "a", data=Plain(), num_epoch=3).epochs == [0, 1, 2]
    with pytest.raises(mx.MXNetError, match="another kind of train_data"):
        fit(tmp_path / "b")
        fit(tmp_path / "b", data=Plain())


def test_states_of_iterators():
    np.random.seed(3)
    random.seed(3)
    data = batches()
    data.next()
    state = data.state_dict()
    expected = data.next().data[0].asnumpy()
    other = batches()
    other.load_state_dict(state)
    np.testing.assert_array_equal(other.next().data[0].asnumpy(), expected)
    sentences = [[1, 2], [3, 4, 5], [6, 7], [1, 3]]
    words = mx.rnn.BucketSentenceIter(sentences, 1, buckets=[2, 3])
    words.next()
    state = words.state_dict()
    expected = [each.data[0].asnumpy().tolist() for each in words]
    other = mx.rnn.BucketSentenceIter(sentences, 1, buckets=[2, 3])
    other.load_state_dict(state)
    assert [each.data[0].asnumpy().tolist() for each in other] == expected
    with pytest.raises(mx.MXNetError, match="other sentences"):
        mx.rnn.BucketSentenceIter(sentences[:2], 1, buckets=[2, 3]).load_state_dict(state)


def test_the_file_of_another_network_is_named(tmp_path):
    fit(tmp_path / "a", num_epoch=1)
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, name="other")
    other = mx.mod.Module(mx.sym.SoftmaxOutput(net, name="softmax"))
    with pytest.raises(ValueError, match=r"a\.training is of another network: .*'other_bias'"):
        fit(tmp_path / "a", other)
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=4, name="fc")
    larger = mx.mod.Module(mx.sym.SoftmaxOutput(net, name="softmax"))
    with pytest.raises(ValueError, match=r"a\.training is of another network: .*fc_bias"):
        fit(tmp_path / "a", larger)


def test_one_epoch_is_one(tmp_path):
    stopping = mx.callback.EarlyStopping("Train-accuracy", min_delta=2.0)
    history = fit(tmp_path / "a", num_epoch=5, callbacks=[stopping])
    assert history.reason.endswith("for 1 epoch")
