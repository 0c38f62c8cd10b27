"""Callbacks of fit: stopping, best checkpoint, learning rates, histories; clipping by norm."""

import csv
import json
import logging

import numpy as np
import pytest

import cynet as mx


def network(context=None):
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, name="fc")
    return mx.mod.Module(mx.sym.SoftmaxOutput(net, name="softmax"), context=context)


def batches(rows=24):
    rng = np.random.RandomState(0)
    return mx.io.NDArrayIter(rng.randn(rows, 4), rng.randint(0, 3, rows), 8)


class Scripted(mx.metric.EvalMetric):
    """Its value in each epoch is given."""

    def __init__(self, values, name="accuracy"):
        self.values, self.epoch = values, -1
        super().__init__(name)

    def reset(self):
        self.epoch += 1

    def update(self, labels, preds):
        pass

    def get(self):
        return self.name, self.values[max(self.epoch - 1, 0)]

    get_global = get


class Recorder(mx.callback.FitCallback):
    def __init__(self):
        self.seen = []

    def begin(self, state):
        self.seen.append("begin")

    def batch_end(self, state):
        self.seen.append((state.epoch, state.nbatch))

    def epoch_end(self, state):
        self.seen.append(f"epoch {state.epoch} {state.optimizer.learning_rate:.3g}")

    def end(self, state):
        self.seen.append("end")


def fit(values=(0.1,) * 20, module=None, callbacks=(), **settings):
    settings = {"num_epoch": 6, "verbose": False, **settings}
    return (module or network()).fit(
        batches(), eval_metric=Scripted(list(values)), callbacks=callbacks, **settings
    )


def test_what_is_called():
    recorder = Recorder()
    history = fit(callbacks=recorder, num_epoch=1)
    assert recorder.seen == ["begin", (0, 0), (0, 1), (0, 2), "epoch 0 0.01", "end"]
    assert history.reason is None


def test_an_error_ends_callbacks_too():
    class Failing(mx.callback.FitCallback):
        def batch_end(self, state):
            raise OSError("disk is full")

    recorder = Recorder()
    with pytest.raises(OSError, match="disk is full"):
        fit(callbacks=[recorder, Failing()])
    assert recorder.seen[-1] == "end"


def stop_at_batch(param):
    if (param.epoch, param.nbatch) == (1, 1):
        raise mx.callback.StopTraining("enough")


def stop_at_epoch(epoch, *rest):
    raise mx.callback.StopTraining("one is enough")


def test_any_callback_may_stop():
    recorder = Recorder()
    data = batches()
    history = network().fit(
        data, num_epoch=4, batch_end_callback=stop_at_batch, callbacks=[recorder], verbose=False
    )
    assert history.epochs == [0] and history.reason == "enough"
    assert recorder.seen[-2:] == [(1, 0), "end"]
    assert len(list(data)) == 3  # it was reset
    assert fit(epoch_end_callback=stop_at_epoch).reason == "one is enough"

    def stop_at_validation(param):
        raise mx.callback.StopTraining("validated")

    history = network().fit(
        batches(), batches(), num_epoch=4, eval_end_callback=stop_at_validation, verbose=False
    )
    assert history.epochs == [0] and history.reason == "validated"


@pytest.mark.parametrize(
    "values, settings, epochs",
    [
        ([0.1, 0.2, 0.2, 0.3, 0.3, 0.4], {"patience": 1}, 6),
        ([0.1, 0.2, 0.2, 0.2, 0.3, 0.3], {"patience": 1}, 4),
        ([0.1, 0.2, 0.25, 0.3, 0.3, 0.3], {"patience": 0, "min_delta": 0.08}, 3),
        ([0.3, 0.2, 0.1, 0.2, 0.3, 0.3], {"patience": 0, "mode": "min"}, 4),
        ([0.1, float("nan"), 0.2, float("nan"), float("nan"), 0.3], {"patience": 1}, 5),
    ],
)
@pytest.mark.filterwarnings("ignore:fit. Train-.* is nan")
def test_early_stopping(values, settings, epochs):
    recorder = Recorder()
    stopping = mx.callback.EarlyStopping("Train-accuracy", **settings)
    history = fit(values, callbacks=[stopping, recorder])
    assert len(history.epochs) == epochs
    assert (history.reason is None) == (epochs == 6)
    # the other callbacks see the last epoch
    assert recorder.seen[-2].startswith(f"epoch {epochs - 1}")


def test_best_checkpoint(tmp_path):
    prefix = str(tmp_path / "best")
    seen = []

    def keep(epoch, symbol, arg_params, aux_params):
        seen.append(arg_params["fc_weight"].asnumpy())

    best = mx.callback.BestCheckpoint(prefix, "accuracy", save_optimizer_states=True)
    fit([0.1, 0.4, 0.2, 0.4, 0.3, 0.1], callbacks=best, epoch_end_callback=keep)
    assert best.best_epoch == 1 and best.best == 0.4
    _, arg_params, _ = mx.model.load_checkpoint(prefix, 0)
    np.testing.assert_array_equal(arg_params["fc_weight"].asnumpy(), seen[1])
    assert (tmp_path / "best-0000.states").exists()
    with pytest.raises(mx.MXNetError, match="does not exist"):
        fit(callbacks=mx.callback.BestCheckpoint(str(tmp_path / "no" / "x"), "accuracy"))


def test_reduce_on_plateau():
    recorder = Recorder()
    reduce = mx.callback.ReduceOnPlateau("accuracy", 0.1, patience=1, min_lr=0.0005)
    fit([0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1], callbacks=[reduce, recorder], num_epoch=8)
    rates = [word.split()[2] for word in recorder.seen if str(word).startswith("epoch")]
    assert rates == ["0.01", "0.01", "0.001", "0.001", "0.0005", "0.0005", "0.0005", "0.0005"]
    schedule = {"learning_rate": 0.1, "lr_scheduler": mx.lr_scheduler.FactorScheduler(3)}
    with pytest.raises(mx.MXNetError, match="has an lr_scheduler"):
        fit(callbacks=reduce, optimizer_params=schedule)


def test_history_files(tmp_path):
    files = [mx.callback.HistoryFile(str(tmp_path / name)) for name in ("h.csv", "h.jsonl")]
    history = fit([0.25, 0.5], callbacks=files, num_epoch=2)
    with open(tmp_path / "h.csv") as file:
        rows = list(csv.DictReader(file))
    assert [(row["epoch"], row["Train-accuracy"]) for row in rows] == [("0", "0.25"), ("1", "0.5")]
    lines = [json.loads(line) for line in (tmp_path / "h.jsonl").read_text().splitlines()]
    assert [line["seconds"] for line in lines] == history.times
    assert [*lines[0]] == ["epoch", "Train-accuracy", "seconds"]


def test_time_left(caplog):
    with caplog.at_level(logging.INFO):
        fit(callbacks=mx.callback.TimeLeft(), num_epoch=3)
    lines = [r.getMessage() for r in caplog.records if "time left" in r.getMessage()]
    assert len(lines) == 3 and lines[-1] == "Epoch[2] time left: 0:00:00"


@pytest.mark.parametrize(
    "make, words",
    [
        (lambda c: fit(callbacks=[print]), "callbacks takes FitCallbacks"),
        (lambda c: fit(callbacks=[c.EarlyStopping]), "callbacks takes FitCallbacks"),
        (lambda c: fit(callbacks=c.EarlyStopping("acuracy", mode="max")), "no metric .acuracy"),
        (lambda c: c.EarlyStopping("x"), "'x' does not say whether"),
        (lambda c: c.EarlyStopping("x", mode="maximum"), "mode must be 'auto', 'min' or 'max'"),
        (lambda c: c.ReduceOnPlateau("loss", 1.5), "factor must be in"),
        (lambda c: c.HistoryFile("h.xls"), "ends in none of"),
    ],
)
def test_refused(make, words):
    with pytest.raises(mx.MXNetError, match=words):
        make(mx.callback)


def test_gradients_are_clipped_by_the_norm_of_all():
    module, data = network(), batches()
    module.bind(data.provide_data, data.provide_label)
    module.init_params(mx.init.Uniform(1.0))
    module.init_optimizer(optimizer_params={"learning_rate": 1.0})
    module.forward_backward(data.next())
    before = {k: v.asnumpy() for k, v in module.get_params()[0].items()}
    names = module._param_names
    grads = {n: g[0].asnumpy() / 8 for n, g in zip(names, module._exec_group.grad_arrays)}
    norm = np.sqrt(sum((g.astype(np.float64) ** 2).sum() for g in grads.values()))
    found = module.clip_gradients(norm / 4)
    np.testing.assert_allclose(found.asnumpy(), [norm], rtol=1e-5)
    module.update()
    for name, after in module.get_params()[0].items():
        wanted = before[name] - grads[name] / 4
        np.testing.assert_allclose(after.asnumpy(), wanted, rtol=1e-4, atol=1e-6)


def test_fit_clips():
    def weights(**settings):
        module = network()
        fit(module=module, num_epoch=1, initializer=mx.init.One(), **settings)
        return module.get_params()[0]["fc_weight"].asnumpy()

    free, loose, tight = weights(), weights(clip_global_norm=1e6), weights(clip_global_norm=1e-3)
    np.testing.assert_allclose(loose, free, rtol=1e-6)
    # three steps of a learning rate of 0.01, each of a norm of 0.001 at most
    assert 0 < np.linalg.norm(tight - 1) <= 3.1e-5 < np.linalg.norm(free - 1)
    with pytest.raises(mx.MXNetError, match="must be above 0"):
        fit(clip_global_norm=-1)
    with pytest.raises(mx.MXNetError, match="on several devices"):
        fit(module=network([mx.cpu(0), mx.cpu(1)]), clip_global_norm=1.0)
