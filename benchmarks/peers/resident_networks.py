"""Resident memory of processes that train or run networks of the zoo, beside PyTorch and MXNet.

``python benchmarks/peers/resident_networks.py --torch PYTHON --mxnet PYTHON`` prints what was
resident at most in MB (VmHWM) when a process of its own had made three steps of 224x224. Training
is SGD with momentum. Linux only.
"""

import argparse
import os
import subprocess
import sys

NETWORKS = {"ResNet-50": "resnet50_v1", "MobileNet v2": "mobilenetv2_1.0", "VGG-16": "vgg16"}
ROWS = [("training", 8), ("prediction", 8), ("prediction", 1)]
STEPS = 3


def gluon(package, network, mode, batch):
    """Steps of cynet or mxnet."""
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
    mx = __import__(package)
    net = mx.gluon.model_zoo.vision.get_model(NETWORKS[network])
    net.initialize(mx.init.Xavier())
    net.hybridize(static_alloc=True, static_shape=True)
    x = mx.nd.random.normal(shape=(batch, 3, 224, 224))
    if mode == "prediction":
        for _ in range(STEPS):
            net(x).wait_to_read()
        return
    settings = {"learning_rate": 0.01, "momentum": 0.9}
    trainer = mx.gluon.Trainer(net.collect_params(), "sgd", settings)
    loss, label = mx.gluon.loss.SoftmaxCrossEntropyLoss(), mx.nd.zeros(batch)
    for _ in range(STEPS):
        with mx.autograd.record():
            value = loss(net(x), label)
        value.backward()
        trainer.step(batch)
        mx.nd.waitall()


def torch_network(nn, network):
    """torchvision's resnet50, mobilenet_v2 or vgg16, built of plain layers."""

    class Sum(nn.Module):
        def __init__(self, body, shortcut=None, last=None):
            super().__init__()
            self.body, self.shortcut, self.last = body, shortcut or nn.Identity(), last

        def forward(self, x):
            x = self.body(x) + self.shortcut(x)
            return x if self.last is None else self.last(x)

    def conv(before, after, kernel=1, stride=1, groups=1, last=None):
        layers = [
            nn.Conv2d(before, after, kernel, stride, kernel // 2, groups=groups, bias=False),
            nn.BatchNorm2d(after),
        ]
        return layers if last is None else [*layers, last(inplace=True)]

    if network == "VGG-16":
        layers, before = [], 3
        for count, size in ((2, 64), (2, 128), (3, 256), (3, 512), (3, 512)):
            for _ in range(count):
                layers += [nn.Conv2d(before, size, 3, padding=1), nn.ReLU(inplace=True)]
                before = size
            layers.append(nn.MaxPool2d(2, 2))
        layers.append(nn.Flatten())
        for before, size in ((25088, 4096), (4096, 4096)):
            layers += [nn.Linear(before, size), nn.ReLU(inplace=True), nn.Dropout()]
        return nn.Sequential(*layers, nn.Linear(4096, 1000))
    if network == "ResNet-50":
        layers = [*conv(3, 64, 7, 2, last=nn.ReLU), nn.MaxPool2d(3, 2, 1)]
        before = 64
        for i, count in enumerate((3, 4, 6, 3)):
            inner, after = 64 << i, 256 << i
            for j in range(count):
                stride = 2 if i and not j else 1
                body = [
                    *conv(before, inner, last=nn.ReLU),
                    *conv(inner, inner, 3, stride, last=nn.ReLU),
                    *conv(inner, after),
                ]
                short = None if j else nn.Sequential(*conv(before, after, 1, stride))
                layers.append(Sum(nn.Sequential(*body), short, nn.ReLU(inplace=True)))
                before = after
    else:
        layers, before = conv(3, 32, 3, 2, last=nn.ReLU6), 32
        for wide, after, count, stride in (
            (1, 16, 1, 1),
            (6, 24, 2, 2),
            (6, 32, 3, 2),
            (6, 64, 4, 2),
            (6, 96, 3, 1),
            (6, 160, 3, 2),
            (6, 320, 1, 1),
        ):
            for j in range(count):
                inner, step = before * wide, 1 if j else stride
                body = conv(before, inner, last=nn.ReLU6) if wide > 1 else []
                body += [*conv(inner, inner, 3, step, inner, nn.ReLU6), *conv(inner, after)]
                body = nn.Sequential(*body)
                layers.append(Sum(body) if j else body)
                before = after
        layers, before = [*layers, *conv(320, 1280, last=nn.ReLU6)], 1280
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(before, 1000))


def torch_steps(network, mode, batch):
    """Steps of PyTorch."""
    import torch

    net, x = torch_network(torch.nn, network), torch.randn(batch, 3, 224, 224)
    if mode == "prediction":
        net.eval()
        with torch.inference_mode():
            for _ in range(STEPS):
                net(x)
        return
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
    loss, label = torch.nn.CrossEntropyLoss(), torch.zeros(batch, dtype=torch.long)
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss(net(x), label).backward()
        optimizer.step()


def run(package, network, mode, batch):
    """Bytes that were resident at most."""
    if package == "torch":
        torch_steps(network, mode, batch)
    else:
        gluon(package, network, mode, batch)
    with open("/proc/self/status") as file:
        print(next(int(line.split()[1]) for line in file if line.startswith("VmHWM")) << 10)


def main():
    """Print the table, or do one run."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--torch", metavar="PYTHON")
    parser.add_argument("--mxnet", metavar="PYTHON")
    parser.add_argument("--run", nargs=4, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.run:
        run(*args.run[:3], int(args.run[3]))
        return
    pythons = {"cynet": sys.executable, "torch": args.torch, "mxnet": args.mxnet}
    pythons = {package: python for package, python in pythons.items() if python}
    print(f"| network | | batch | {' | '.join(pythons)} |")
    print("|---|---" + "|---" * (1 + len(pythons)) + "|")
    for network in NETWORKS:
        for mode, batch in ROWS:
            found = []
            for package, python in pythons.items():
                command = [python, "-W", "ignore", __file__, "--run", package, network, mode]
                done = subprocess.run(
                    [*command, str(batch)], check=True, stdout=subprocess.PIPE, text=True
                )
                found.append(f"{int(done.stdout.split()[-1]) / 1e6:.0f}")
            print(f"| {network} | {mode} | {batch} | {' | '.join(found)} |", flush=True)


if __name__ == "__main__":
    main()
