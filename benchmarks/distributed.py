"""Several processes: push and pull beside bare nonblocking mpi4py, and steps of training.

``python -m cynet.launch -n 2 --threads 1 benchmarks/distributed.py``; rank 0 prints. What is
compared is timed in turns, so that a busy machine is so for both. gloo's allreduce, in an
environment with PyTorch: ``... -n 2 --threads 1 PYTHON -u benchmarks/distributed.py --only-torch``.
"""

import os
import statistics
import sys
import time
from pathlib import Path

import numpy as np
from harness import readable

EXAMPLE = Path(__file__).parent.parent / "examples" / "image_classification"
SIZES = {"4 KB": 1 << 10, "1 MB": 1 << 18, "16 MB": 1 << 22, "64 MB": 1 << 24}
NETWORKS = {  # network, options, batch size of a rank, shape of an image
    "LeNet, batch 64": ("lenet", {}, 64, (1, 28, 28)),
    "ResNet-20, 32x32, batch 64": ("resnet", {"num_layers": 20}, 64, (3, 32, 32)),
}


def in_turns(functions, barrier, repeat):
    """Seconds of each function, a list each; ranks begin each call together."""
    times = [[] for _ in functions]
    for i in range(repeat + 2):
        for function, row in zip(functions, times):
            barrier()
            begin = time.perf_counter()
            function()
            if i >= 2:  # the first steps warm up
                row.append(time.perf_counter() - begin)
    return times


def bare(size):
    """A sum by mpi4py alone: nonblocking, and a loop that yields before it sleeps."""
    from mpi4py import MPI

    comm = MPI.COMM_WORLD.Dup()
    mine, total = np.ones(size, np.float32), np.empty(size, np.float32)

    def function():
        request = comm.Iallreduce(mine, total)
        begin = time.perf_counter()
        while not request.Test():
            if time.perf_counter() - begin > 1e-3:
                time.sleep(1e-4)
            else:
                os.sched_yield()

    return function


def stored(mx, kv, size):
    """Push and pull of one key."""
    kv.init(str(size), mx.nd.zeros(size))
    gradient, out = mx.nd.ones(size), mx.nd.zeros(size)

    def function():
        kv.push(str(size), gradient)
        kv.pull(str(size), out=out)
        out.wait_to_read()

    return function


def trained(mx, kvstore, name):
    """Three steps of Module on a batch of a rank."""
    network, options, batch, shape = NETWORKS[name]
    sys.path.insert(0, str(EXAMPLE))
    module = __import__(f"symbols.{network}", fromlist=["get_symbol"])
    rng = np.random.RandomState(0)
    module = mx.mod.Module(module.get_symbol(num_classes=10, **options))
    module.bind([("data", (batch, *shape))], [("softmax_label", (batch,))])
    module.init_params(mx.init.Xavier())
    settings = {"learning_rate": 0.01, "momentum": 0.9}
    module.init_optimizer(kvstore=kvstore, optimizer="sgd", optimizer_params=settings)
    data = mx.io.DataBatch(
        [mx.nd.array(rng.randn(batch, *shape))], [mx.nd.array(rng.randint(0, 10, batch))]
    )

    def function():
        for _ in range(3):
            module.forward_backward(data)
            module.update()
        mx.nd.waitall()

    return function


def of_torch():
    """gloo's allreduce of each size, where this Python has PyTorch."""
    import torch.distributed as dist
    from torch import ones

    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    os.environ.setdefault("MASTER_PORT", "29517")
    rank, size = (int(os.environ[f"OMPI_COMM_WORLD_{name}"]) for name in ("RANK", "SIZE"))
    dist.init_process_group("gloo", rank=rank, world_size=size)
    for name, n in SIZES.items():
        array = ones(n)
        (times,) = in_turns([lambda array=array: dist.all_reduce(array)], dist.barrier, 15)
        if rank == 0:
            print(f"{name:>6}: gloo {readable(statistics.median(times)):>10}")


def main():
    """Measure, and print on rank 0."""
    if "--only-torch" in sys.argv:
        of_torch()
        return
    from mpi4py import MPI  # imported before cynet's thread initializes MPI

    import cynet as mx

    assert MPI.Query_thread() == MPI.THREAD_MULTIPLE
    kv = mx.kv.create("dist_sync")
    show = print if kv.rank == 0 else lambda *_: None
    show(f"{kv.num_workers} ranks; medians (least)")
    for name, size in SIZES.items():
        ours, raw = in_turns([stored(mx, kv, size), bare(size)], kv.barrier, 15)
        middle = [statistics.median(times) for times in (ours, raw)]
        show(
            f"{name:>6}: push + pull {readable(middle[0]):>10} ({readable(min(ours))}), bare mpi4py"
            f" {readable(middle[1]):>10} ({readable(min(raw))}): {middle[0] / middle[1]:.2f} x"
        )
    for name in NETWORKS:
        together, alone = in_turns([trained(mx, kv, name), trained(mx, None, name)], kv.barrier, 7)
        middle = [statistics.median(times) / 3 for times in (together, alone)]
        show(
            f"{name}: a step {readable(middle[0])}, without sums {readable(middle[1])}:"
            f" {kv.num_workers * middle[1] / middle[0]:.2f} x the examples of one rank, beside"
            f" {kv.num_workers - 1} others"
        )


if __name__ == "__main__":
    main()
