"""Trains the same small network by all ranks and by one process; each function is a check."""

import numpy as np

import cynet as mx
from cynet.gluon import nn
from cynet.gluon.contrib.estimator import CheckpointHandler, Estimator

B, STEPS, FEATURES, CLASSES = 4, 50, 6, 3
SETTINGS = {
    "sgd": {"learning_rate": 0.1, "momentum": 0.9, "wd": 1e-3},
    "adam": {"learning_rate": 0.01},
    "lamb": {"learning_rate": 0.01},
}


WAYS = ("module", "eager", "hybrid")


def rows(size):
    """(way to train, optimizer) to try with so many ranks: over 2 and 4 all pairs come."""
    names, firsts = list(SETTINGS), {4: (0, 1)}.get(size, (size,))
    return [(way, names[(i + k) % len(names)]) for k in firsts for i, way in enumerate(WAYS)]


def data(size):
    """(x, y) of one step of all ranks together: batches of B, one a rank, for STEPS steps."""
    rng = np.random.RandomState(7)
    x = rng.randn(STEPS * B * size, FEATURES).astype(np.float32)
    y = (x @ rng.randn(FEATURES, CLASSES)).argmax(axis=1).astype(np.float32)
    return x, y


def part(array, rank, size):
    """The rows of a rank: of each step's B * size rows, B in the order of ranks."""
    rows = array.reshape(STEPS, size, B, *array.shape[1:])[:, rank]
    return rows.reshape(STEPS * B, *array.shape[1:])


def symbol():
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=8, name="fc1")
    net = mx.sym.FullyConnected(
        mx.sym.Activation(net, act_type="tanh"), num_hidden=CLASSES, name="fc2"
    )
    return mx.sym.SoftmaxOutput(net, name="softmax")


def first_values(seed):
    rng = np.random.RandomState(seed)
    shapes = {"fc1_weight": (8, FEATURES), "fc1_bias": (8,), "fc2_weight": (CLASSES, 8)}
    shapes["fc2_bias"] = (CLASSES,)
    return {n: mx.nd.array(rng.randn(*shape) * 0.3) for n, shape in shapes.items()}


def module_weights(kvstore, x, y, batch, optimizer, seed=1, shard_states=False, **options):
    module = mx.mod.Module(symbol(), shard_states=shard_states)
    module.fit(
        mx.io.NDArrayIter(x, y, batch),
        num_epoch=1,
        kvstore=kvstore,
        optimizer=optimizer,
        optimizer_params=SETTINGS[optimizer],
        arg_params=first_values(seed),
        verbose=False,
        **options,
    )
    args, _ = module.get_params()
    return {name: array.asnumpy() for name, array in args.items()}


def gluon_weights(kvstore, x, y, batch, optimizer, hybrid, total, seed=1, **options):
    net = nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(nn.Dense(8, activation="tanh", in_units=FEATURES), nn.Dense(CLASSES, in_units=8))
    net.initialize()
    for each, value in zip(net.collect_params().values(), first_values(seed).values()):
        each.set_data(value)
    if hybrid:
        net.hybridize()
    loss_of = mx.gluon.loss.SoftmaxCrossEntropyLoss()
    trainer = mx.gluon.Trainer(
        net.collect_params(), optimizer, SETTINGS[optimizer], kvstore=kvstore, **options
    )
    for i in range(0, len(x), batch):
        with mx.autograd.record():
            loss = loss_of(net(mx.nd.array(x[i : i + batch])), mx.nd.array(y[i : i + batch]))
        loss.backward()
        trainer.step(total)
    return {name: each.data().asnumpy() for name, each in net.collect_params().items()}


def estimated(x, y, epochs, folder, **options):
    """Weights that an Estimator gives, which goes on from its last checkpoint."""
    net = nn.Dense(CLASSES, in_units=FEATURES, prefix="net_")
    net.initialize(mx.init.One())
    trainer = mx.gluon.Trainer(
        net.collect_params(), "adam", {"learning_rate": 0.01}, kvstore="dist_sync", **options
    )
    estimator = Estimator(net, mx.gluon.loss.SoftmaxCrossEntropyLoss(), trainer=trainer)
    estimator.logger.setLevel("WARNING")
    data = mx.gluon.data.DataLoader(mx.gluon.data.ArrayDataset(x, y), B)
    handler = CheckpointHandler(folder, "m", resume_from_checkpoint=True)
    estimator.fit(data, epochs=epochs, event_handlers=[handler])
    assert handler.trained_epoch == epochs - 2  # of the checkpoint that it went on from
    return {name: each.data().asnumpy() for name, each in net.collect_params().items()}


def differ(one, other):
    """The largest difference between two dicts of weights."""
    return max(float(np.abs(one[name] - other[name]).max()) for name in one)
