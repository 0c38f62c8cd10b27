"""Training steps of two ranks: cynet, and PyTorch's DistributedDataParallel over gloo.

``python -m cynet.launch -n 2 --threads 1 benchmarks/beside_ddp.py``; the same with ``PYTHON -u``
before the script, where PYTHON has PyTorch, and ``--torch`` behind it. ``--shards`` compares
sharded optimizer states with whole ones. Rank 0 prints medians, of steps in turns.
"""

import os
import statistics
import sys
from pathlib import Path

import numpy as np
from distributed import EXAMPLE, NETWORKS, in_turns
from harness import readable

REPEAT, STEPS = 12, 3


def show(name, together, alone, sums, rank):
    """A row: a step, one where ranks only meet, the sums alone, and the share that is hidden."""
    together, alone, sums = (statistics.median(each) / STEPS for each in (together, alone, sums))
    hidden = 1 - (together - alone) / sums
    if rank == 0:
        print(
            f"{name}: a step {readable(together)}, with a barrier for sums {readable(alone)}, sums"
            f" alone {readable(sums)}: {100 * hidden:.0f} % hidden",
            flush=True,
        )


def of_torch():
    """PyTorch's rows."""
    import torch
    import torch.distributed as dist
    from torch import nn

    sys.path.insert(0, str(Path(__file__).parent / "peers"))
    from networks_torch import resnet20

    def lenet():
        layers, before = [], 1
        for filters in (20, 50):
            layers += [nn.Conv2d(before, filters, 5), nn.Tanh(), nn.MaxPool2d(2, 2)]
            before = filters
        return nn.Sequential(
            *layers, nn.Flatten(), nn.Linear(800, 500), nn.Tanh(), nn.Linear(500, 10)
        )

    torch.set_num_threads(1)
    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    os.environ.setdefault("MASTER_PORT", "29517")
    rank, size = (int(os.environ[f"OMPI_COMM_WORLD_{name}"]) for name in ("RANK", "SIZE"))
    dist.init_process_group("gloo", rank=rank, world_size=size)
    for name, (network, _, batch, shape) in NETWORKS.items():
        torch.manual_seed(0)
        net = nn.parallel.DistributedDataParallel({"lenet": lenet, "resnet": resnet20}[network]())
        trainer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
        x, y = torch.randn(batch, *shape), torch.randint(0, 10, (batch,))
        flat = torch.ones(sum(each.numel() for each in net.parameters()))

        def step(net=net, trainer=trainer, x=x, y=y):
            for _ in range(STEPS):
                trainer.zero_grad()
                nn.functional.cross_entropy(net(x), y).backward()
                trainer.step()

        def alone(net=net, trainer=trainer, x=x, y=y):
            with net.no_sync():
                for _ in range(STEPS):
                    trainer.zero_grad()
                    nn.functional.cross_entropy(net(x), y).backward()
                    trainer.step()
                    dist.barrier()

        def sums(flat=flat):
            for _ in range(STEPS):
                dist.all_reduce(flat)

        show(f"PyTorch, {name}", *in_turns([step, alone, sums], dist.barrier, REPEAT), rank)


def trained(mx, symbol, kvstore, batch, shape, optimizer="sgd", steps=STEPS, **options):
    """A Module, and a function of its steps."""
    module = mx.mod.Module(symbol, **options)
    rng = np.random.RandomState(0)
    module.bind([("data", (batch, *shape))], [("softmax_label", (batch,))])
    module.init_params(mx.init.Xavier())
    settings = {"momentum": 0.9} if optimizer == "sgd" else {}
    module.init_optimizer(kvstore, optimizer, {"learning_rate": 1e-3, **settings})
    data = mx.io.DataBatch(
        [mx.nd.array(rng.randn(batch, *shape))], [mx.nd.array(rng.randint(0, 10, batch))]
    )

    def step():
        for _ in range(steps):
            module.train_step(data)
        mx.nd.waitall()

    return module, step


def symbol_of(name):
    """The Symbol of a row of the table."""
    sys.path.insert(0, str(EXAMPLE))
    network, options, _, _ = NETWORKS[name]
    found = __import__(f"symbols.{network}", fromlist=["get_symbol"])
    return found.get_symbol(num_classes=10, **options)


def of_cynet(mx, kv):
    """cynet's rows."""
    for name, (_, _, batch, shape) in NETWORKS.items():
        module, step = trained(mx, symbol_of(name), kv, batch, shape)
        _, one_step = trained(mx, symbol_of(name), None, batch, shape, steps=1)

        def alone(one_step=one_step):
            for _ in range(STEPS):
                one_step()
                kv.barrier()

        pairs = zip(module._param_names, module._exec_group.grad_arrays)
        keys, grads = zip(*[pair for pair in pairs if pair[1][0] is not None])

        def sums(keys=keys, grads=grads, module=module):
            for _ in range(STEPS):
                kv.sum_up(list(keys), list(grads), optimizer=module._optimizer)
            mx.nd.waitall()

        show(f"cynet, {name}", *in_turns([step, alone, sums], kv.barrier, REPEAT), kv.rank)


def perceptron(mx):
    """Seven layers of 1024 units."""
    net = mx.sym.var("data")
    for i in range(7):
        net = mx.sym.FullyConnected(net, num_hidden=1024, name=f"fc{i}")
        net = mx.sym.Activation(net, act_type="relu")
    net = mx.sym.FullyConnected(net, num_hidden=10, name="out")
    return mx.sym.SoftmaxOutput(net, name="softmax")


def by_trainer(mx, symbol, kv, batch, shape, shards):
    """A Trainer of the network without its loss, and a function of its steps."""
    gluon = mx.gluon
    net = gluon.SymbolBlock(
        symbol.get_internals()[f"{symbol_end(symbol)}_output"], [mx.sym.var("data")]
    )
    vectors = "bias|beta|gamma|moving_mean|moving_var"
    net.initialize(mx.init.Mixed([vectors, ".*"], [mx.init.One(), mx.init.Xavier()]))
    net.hybridize()
    loss_of = gluon.loss.SoftmaxCrossEntropyLoss()
    rng = np.random.RandomState(0)
    x, y = mx.nd.array(rng.randn(batch, *shape)), mx.nd.array(rng.randint(0, 10, batch))
    net(x)
    trainer = gluon.Trainer(
        net.collect_params(), "adam", {"learning_rate": 1e-3}, kv, shard_states=shards
    )

    def step():
        for _ in range(STEPS):
            with mx.autograd.record():
                loss = loss_of(net(x), y)
            loss.backward()
            trainer.step(batch * kv.num_workers)
        mx.nd.waitall()

    return trainer, step


def symbol_end(symbol):
    """The last fully connected layer."""
    names = [n for n in symbol.list_arguments() if n.endswith("_weight")]
    return names[-1].removesuffix("_weight")


def nbytes(updater):
    """Bytes of the states of an Updater."""

    def size(state):
        if state is None:
            return 0
        return sum(map(size, state)) if isinstance(state, (tuple, list)) else state.size * 4

    return sum(map(size, updater.states.values()))


def of_shards(mx, kv):
    """Sharded states beside whole ones, by Module and by Trainer, with Adam."""
    rows = {name: (symbol_of(name), b, shape) for name, (_, _, b, shape) in NETWORKS.items()}
    rows["seven layers of 1024, batch 64"] = perceptron(mx), 64, (1024,)
    for name, (symbol, batch, shape) in rows.items():
        for way in ("Module", "Trainer"):
            made = []
            for shards in (False, True):
                if way == "Module":
                    options = {"optimizer": "adam", "shard_states": shards}
                    made.append(trained(mx, symbol, kv, batch, shape, **options))
                else:
                    made.append(by_trainer(mx, symbol, kv, batch, shape, shards))
            repeat = REPEAT if name != "LeNet, batch 64" else 20 * REPEAT  # 7 ms a step: noise
            times = in_turns([step for _, step in made], kv.barrier, repeat)
            whole, part = (statistics.median(each) / STEPS for each in times)
            updaters = [
                owner._updater if way == "Module" else owner._updaters[0] for owner, _ in made
            ]
            sizes = [nbytes(each) / 1e6 for each in updaters]
            if kv.rank == 0:
                print(
                    f"{way}, {name}: {sizes[1]:.2f} of {sizes[0]:.2f} MB of states; a step"
                    f" {readable(part)} instead of {readable(whole)}: {part / whole:.2f} x",
                    flush=True,
                )


def main():
    """Measure, and print on rank 0."""
    if "--torch" in sys.argv:
        of_torch()
        return
    import cynet as mx

    kv = mx.kv.create("dist_sync")
    (of_shards if "--shards" in sys.argv else of_cynet)(mx, kv)


if __name__ == "__main__":
    main()
