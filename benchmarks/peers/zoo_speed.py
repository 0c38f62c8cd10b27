"""Networks of the zoo beside torchvision's: time of a prediction and of a training step, 224x224.

``python benchmarks/peers/zoo_speed.py --torch PYTHON [ROW ...]``: PYTHON has torchvision; a row is
NETWORK:MODE:BATCH, for example ``vit_b_16:prediction:8``. Both sides take turns. ``--cpu`` counts
the processor's time on one thread, which means something on a busy machine, too.
"""

import argparse
import os
import subprocess
import sys
import time

ROWS = [
    f"{network}:{mode}:{batch}"
    for network in ("vit_b_16", "convnext_tiny", "efficientnet_b0", "resnet50")
    for mode, batch in (("prediction", 1), ("prediction", 8), ("training", 4))
]


def ours(network, mode, batch):
    """A function that makes one step."""
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
    import cynet as mx

    name = {"resnet50": "resnet50_v1b"}.get(network, network)
    net = mx.gluon.model_zoo.vision.get_model(name)
    net.initialize(mx.init.Xavier())
    net.hybridize(static_alloc=True, static_shape=True)
    x = mx.nd.random.normal(shape=(batch, 3, 224, 224))
    if mode == "prediction":
        return lambda: net(x).wait_to_read()
    settings = {"learning_rate": 0.01, "momentum": 0.9}
    trainer = mx.gluon.Trainer(net.collect_params(), "sgd", settings)
    loss, label = mx.gluon.loss.SoftmaxCrossEntropyLoss(), mx.nd.zeros(batch)
    loss.hybridize()

    def step():
        with mx.autograd.record():
            value = loss(net(x), label)
        value.backward()
        trainer.step(batch)
        mx.nd.waitall()

    return step


def theirs(network, mode, batch):
    """A function that makes one step."""
    import torch
    import torchvision

    net = getattr(torchvision.models, network)(weights=None)
    x = torch.randn(batch, 3, 224, 224)
    if mode == "prediction":
        net.eval()

        def step():
            with torch.inference_mode():
                net(x)

        return step
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
    loss, label = torch.nn.CrossEntropyLoss(), torch.zeros(batch, dtype=torch.long)

    def step():
        optimizer.zero_grad()
        loss(net(x), label).backward()
        optimizer.step()

    return step


def work(side, row, cpu):
    """Answers each line of the input with the milliseconds of a step."""
    network, mode, batch = row.split(":")
    step = (ours if side == "cynet" else theirs)(network, mode, int(batch))
    clock = time.process_time if cpu else time.perf_counter
    for _ in range(2):
        step()
    for _ in sys.stdin:
        begin = clock()
        step()
        print(1e3 * (clock() - begin), flush=True)


def measure(pythons, row, rounds, cpu):
    """The least milliseconds of each side."""
    env = {**os.environ, **({"OMP_NUM_THREADS": "1", "CYNET_NUM_THREADS": "1"} if cpu else {})}
    workers, found = {}, {side: [] for side in pythons}
    for side, python in pythons.items():
        command = [python, "-W", "ignore", __file__, "--work", side, row, *["--cpu"] * cpu]
        workers[side] = subprocess.Popen(
            command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
    for _ in range(rounds):
        for side, worker in workers.items():
            print(file=worker.stdin, flush=True)
            found[side].append(float(worker.stdout.readline()))
    for worker in workers.values():
        worker.stdin.close()
        worker.wait()
    return {side: min(times) for side, times in found.items()}


def main():
    """Print the table, or measure one side of a row."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("rows", nargs="*", default=ROWS, metavar="ROW")
    parser.add_argument("--torch", metavar="PYTHON", help="a Python that has torchvision")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--cpu", action="store_true", help="the processor's time, on one thread")
    parser.add_argument("--work", metavar="SIDE", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.work:
        work(args.work, args.rows[0], args.cpu)
        return
    pythons = {"cynet": sys.executable, "torch": args.torch}
    print("| network | | batch | cynet, ms | PyTorch, ms | x PyTorch |\n|---|---|---|---|---|---|")
    for row in args.rows:
        found = measure(pythons, row, args.rounds, args.cpu)
        ratio = found["torch"] / found["cynet"]
        figures = f"{found['cynet']:.0f} | {found['torch']:.0f} | {ratio:.2f}"
        print(f"| {' | '.join(row.split(':'))} | {figures} |", flush=True)


if __name__ == "__main__":
    main()
