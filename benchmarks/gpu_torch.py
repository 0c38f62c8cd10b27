"""A training step of a network of gpu_networks.py in PyTorch on a GPU: ``gpu_torch.py NAME DTYPE``.

Prints one line of JSON: the median seconds of one step, by mode (eager, CUDA graph).
"""

import json
import sys
import time
from pathlib import Path

import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).parent / "peers"))


def lenet(shape, classes):
    layers = []
    for before, after in ((1, 20), (20, 50)):
        layers += [nn.Conv2d(before, after, 5), nn.Tanh(), nn.MaxPool2d(2)]
    layers += [nn.Flatten(), nn.Linear(800, 500), nn.Tanh(), nn.Linear(500, classes)]
    return nn.Sequential(*layers)


def resnet50(shape, classes):
    import torchvision

    return torchvision.models.resnet50(num_classes=classes)


def mobilenet2(shape, classes):
    import networks_torch

    return networks_torch.mobilenet2()


class LSTM(nn.Module):
    """An LSTM with a linear layer on its last step."""

    def __init__(self, shape, classes, units=512):
        super().__init__()
        self.lstm = nn.LSTM(shape[2], units, 2, batch_first=True)
        self.last = nn.Linear(units, classes)

    def forward(self, x):
        return self.last(self.lstm(x)[0][:, -1])


class Bert(nn.Module):
    """Two encoder blocks, the mean over positions."""

    def __init__(self, shape, classes, heads=12):
        super().__init__()
        width = shape[2]
        options = {"activation": "gelu", "batch_first": True}
        self.blocks = nn.Sequential(
            *(nn.TransformerEncoderLayer(width, heads, 4 * width, 0.0, **options) for _ in "ab")
        )
        self.last = nn.Linear(width, classes)

    def forward(self, x):
        return self.last(self.blocks(x).mean(1))


NETWORKS = {
    "lenet": lenet,
    "resnet50": resnet50,
    "mobilenet2": mobilenet2,
    "lstm": LSTM,
    "bert": Bert,
}


def median(function, repeat):
    """Seconds of one call when calls follow each other, as gpu.py measures them."""
    for _ in range(10):
        function()
    torch.cuda.synchronize()
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        for _ in range(10):
            function()
        torch.cuda.synchronize()
        times.append((time.perf_counter() - start) / 10)
    return sorted(times)[repeat // 2]


def main(name, dtype, shape, classes, repeat):
    """Times of both modes."""
    torch.backends.cudnn.benchmark = True
    net = NETWORKS[name](shape, classes).cuda()
    x, y = torch.randn(*shape).cuda(), torch.randint(0, classes, shape[:1]).cuda()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
    loss = nn.CrossEntropyLoss()
    kind = torch.float16 if dtype == "float32" else getattr(torch, dtype)

    def step():
        optimizer.zero_grad(set_to_none=False)
        with torch.autocast("cuda", kind, enabled=dtype != "float32", cache_enabled=False):
            found = loss(net(x), y)
        found.backward()
        optimizer.step()

    times = {"eager": median(step, repeat)}
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    try:
        with torch.cuda.graph(graph):
            step()
    except RuntimeError as error:
        print(f"no graph of {name}, {dtype}: {error}", file=sys.stderr)
    else:
        times["graph"] = median(graph.replay, repeat)
    print(json.dumps(times))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], *json.loads(sys.argv[3]))
