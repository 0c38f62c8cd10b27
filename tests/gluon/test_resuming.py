"""A training that is killed and resumed ends with the same bytes; one seed decides everything."""

import json
import os
import signal
import subprocess
import sys

import pytest

# Trains a small network with BatchNorm, Dropout, Adam and a schedule. `argv`: the file, the epoch
# to stop before, after how many batches of which epoch to kill itself (-1: never), and the loader's
# settings. A checkpoint is written every two batches; the last line is a digest of everything.
PROGRAM = """
import hashlib, json, os, random, signal, sys
import numpy as np
import cynet as mx
from cynet import autograd, gluon
from cynet.gluon import nn

path, epochs, die_epoch, die_batch = sys.argv[1], *map(int, sys.argv[2:5])
settings = json.loads(sys.argv[5])
hybridize = settings.pop("hybridize")
mx.random.seed(5); np.random.seed(6); random.seed(7)

class Noisy(gluon.data.Dataset):
    def __len__(self):
        return 22
    def __getitem__(self, i):
        noise = gluon.data.sample_generator().normal(size=6)
        return (np.arange(6) * (i % 5) / 9 + noise).astype("float32"), np.float32(i % 3)

net = nn.HybridSequential()
net.add(nn.Dense(8, activation="tanh"), nn.BatchNorm(), nn.Dropout(0.3), nn.Dense(3))
net.initialize(mx.init.Xavier())
if hybridize:
    net.hybridize()
loss_of = gluon.loss.SoftmaxCrossEntropyLoss()
schedule = mx.lr_scheduler.FactorScheduler(3, 0.9)
trainer = gluon.Trainer(net.collect_params(), "adam",
                        {"learning_rate": 0.05, "lr_scheduler": schedule})
loader = gluon.data.DataLoader(Noisy(), 4, shuffle=True, last_batch="rollover", **settings)
order = []
begin = gluon.load_training(path, net, trainer, loader) if os.path.exists(path) else 0
for epoch in range(begin, epochs):
    for x, y in loader:
        order.append(x.asnumpy().tobytes())
        with autograd.record():
            loss = loss_of(net(x), y)
        loss.backward()
        trainer.step(len(x))
        batch = loader.state_dict()["batch"]
        random.random(), np.random.rand()
        if (epoch, batch) == (die_epoch, die_batch):
            os.kill(os.getpid(), signal.SIGKILL)
        if batch % 2 == 0:
            gluon.save_training(path, net, trainer, loader, epoch)
    gluon.save_training(path, net, trainer, loader, epoch + 1)
    if (epoch, -1) == (die_epoch, die_batch):
        os.kill(os.getpid(), signal.SIGKILL)
digest = hashlib.sha256()
for name, each in net._collect_params_with_prefix().items():
    digest.update(name.encode() + each.data().asnumpy().tobytes())
for name, state in trainer._updaters[0].states.items():
    digest.update(name.encode() + b"".join(each.asnumpy().tobytes() for each in state))
digest.update(repr((trainer.learning_rate, random.random(), np.random.rand())).encode())
digest.update(mx.nd.random.uniform(shape=4).asnumpy().tobytes())
print(digest.hexdigest(), hashlib.sha256(b"".join(order)).hexdigest())
"""
HERE, PROCESS = {"hybridize": False}, {"hybridize": True, "num_workers": 1}
THREADS = {"hybridize": True, "num_workers": 2, "thread_pool": True}


def run(prefix, settings, epochs=4, die=(-1, 0)):
    arguments = [prefix, epochs, *die, json.dumps(settings)]
    process = subprocess.run(
        [sys.executable, "-c", PROGRAM, *map(str, arguments)],
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    if die[0] >= 0:
        assert process.returncode == -signal.SIGKILL, process.stderr
        return None
    assert process.returncode == 0, process.stderr
    return process.stdout.split()


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Digests of the training without a break, for each way to run it."""
    found = {}

    def of(settings):
        key = json.dumps(settings)
        if key not in found:
            found[key] = run(tmp_path_factory.mktemp("whole") / "net", settings)
        return found[key]

    return of


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
@pytest.mark.parametrize(
    "settings, die", [(HERE, (1, -1)), (HERE, (2, 3)), (PROCESS, (2, 3)), (THREADS, (1, 5))]
)
def test_killed_and_resumed(settings, die, tmp_path, whole):
    run(tmp_path / "net", settings, die=die)
    assert run(tmp_path / "net", settings)[0] == whole(settings)[0]
    assert not [each for each in os.listdir(tmp_path) if each.endswith(".part")]


@pytest.mark.parametrize("hybridize", [False, True], ids=["eager", "hybridized"])
def test_workers_change_no_byte(hybridize, whole):
    """0, 1 and 2 workers, processes and threads."""
    found = []
    for workers, threads in ((0, False), (1, False), (2, False), (1, True), (2, True)):
        settings = {"hybridize": hybridize}
        if workers:
            settings.update({"num_workers": workers} | ({"thread_pool": True} if threads else {}))
        found.append(whole(settings))
    assert len({tuple(each) for each in found}) == 1


def test_hybridizing_changes_no_order(whole):
    assert whole({"hybridize": False})[1] == whole({"hybridize": True})[1]
