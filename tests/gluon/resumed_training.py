"""Trains a small network with BatchNorm, Dropout, Adam and a schedule.

Arguments: the file, the number of epochs, after how many batches of which epoch to kill itself (-1:
never), and the loader's settings. A checkpoint is written every two batches; the last line is a
digest of everything.
"""

import hashlib
import json
import os
import random
import signal
import sys

import numpy as np

import cynet as mx
from cynet import autograd, gluon
from cynet.gluon import nn

path, epochs, die_epoch, die_batch = sys.argv[1], *map(int, sys.argv[2:5])
settings = json.loads(sys.argv[5])
hybridize = settings.pop("hybridize")
mx.random.seed(5)
np.random.seed(6)
random.seed(7)


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
trainer = gluon.Trainer(
    net.collect_params(), "adam", {"learning_rate": 0.05, "lr_scheduler": schedule}
)
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
