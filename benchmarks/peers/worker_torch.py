"""Times one workload in PyTorch, the way its users write it: ``worker_torch.py WORKLOAD [MODE]``.

Prints one line of JSON: the best of its modes (eager, channels last, compiled, both; for prediction
also compiled with frozen weights) or the one named, the median seconds of one step in it, and those
of every mode tried.
"""

import json
import sys
import time
import warnings
from pathlib import Path

import torch
import torch._inductor.config
from torch import nn
from torch.nn import functional

sys.path.insert(0, str(Path(__file__).parents[1]))
import networks_torch as networks
from harness import median_time
from networks_torch import conv


def mlp():
    layers = [nn.Flatten(), nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 64), nn.ReLU()]
    return nn.Sequential(*layers, nn.Linear(64, 10))


def lenet():
    layers = []
    for before, after in ((1, 20), (20, 50)):
        layers += [nn.Conv2d(before, after, 5), nn.Tanh(), nn.MaxPool2d(2)]
    layers += [nn.Flatten(), nn.Linear(800, 500), nn.Tanh(), nn.Linear(500, 10)]
    return nn.Sequential(*layers)


class Bottleneck(nn.Module):
    """Version 2: norm and activation in front of each convolution."""

    def __init__(self, before, after, stride, same):
        super().__init__()
        inner = after // 4
        self.first = nn.Sequential(nn.BatchNorm2d(before), nn.ReLU())
        self.rest = nn.Sequential(
            conv(before, inner, 1),
            nn.BatchNorm2d(inner),
            nn.ReLU(),
            conv(inner, inner, 3, stride),
            nn.BatchNorm2d(inner),
            nn.ReLU(),
            conv(inner, after, 1),
        )
        self.shortcut = None if same else conv(before, after, 1, stride)

    def forward(self, x):
        y = self.first(x)
        return self.rest(y) + (x if self.shortcut is None else self.shortcut(y))


def resnet50():
    layers = [nn.BatchNorm2d(3), conv(3, 64, 7, 2), nn.BatchNorm2d(64), nn.ReLU()]
    layers.append(nn.MaxPool2d(3, 2, 1))
    before = 64
    for stage, units in enumerate((3, 4, 6, 3)):
        after = 256 << stage
        for unit in range(units):
            stride = 2 if stage and not unit else 1
            layers.append(Bottleneck(before, after, stride, unit > 0))
            before = after
    layers += [nn.BatchNorm2d(before), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten()]
    return nn.Sequential(*layers, nn.Linear(before, 1000))


def norm_conv(before, after, kernel, stride=1):
    """Convolution, norm, activation."""
    layers = [conv(before, after, kernel, stride, bias=True), nn.BatchNorm2d(after), nn.ReLU()]
    return nn.Sequential(*layers)


class Inception(nn.Module):
    """The module of examples/image_classification/symbols/inception_bn.py."""

    def __init__(self, before, one, reduce3, three, reduce_double, double, projection, pool):
        super().__init__()
        stride = 1 if one else 2
        branches = [norm_conv(before, one, 1)] if one else []
        branches.append(
            nn.Sequential(norm_conv(before, reduce3, 1), norm_conv(reduce3, three, 3, stride))
        )
        branches.append(
            nn.Sequential(
                norm_conv(before, reduce_double, 1),
                norm_conv(reduce_double, double, 3),
                norm_conv(double, double, 3, stride),
            )
        )
        pooling = (nn.AvgPool2d if pool == "avg" else nn.MaxPool2d)(3, stride, 1)
        last = [pooling, norm_conv(before, projection, 1)] if projection else [pooling]
        branches.append(nn.Sequential(*last))
        self.branches = nn.ModuleList(branches)
        self.channels = one + three + double + (projection or before)

    def forward(self, x):
        return torch.cat([branch(x) for branch in self.branches], 1)


def inception_bn(classes=1000):
    layers = [norm_conv(3, 64, 7, 2), nn.MaxPool2d(3, 2), norm_conv(64, 64, 1)]
    layers += [norm_conv(64, 192, 3), nn.MaxPool2d(3, 2)]
    channels = 192
    for filters in (
        (64, 64, 64, 64, 96, 32, "avg"),
        (64, 64, 96, 64, 96, 64, "avg"),
        (0, 128, 160, 64, 96, 0, "max"),
        (224, 64, 96, 96, 128, 128, "avg"),
        (192, 96, 128, 96, 128, 128, "avg"),
        (160, 128, 160, 128, 160, 128, "avg"),
        (96, 128, 192, 160, 192, 128, "avg"),
        (0, 128, 192, 192, 256, 0, "max"),
        (352, 192, 320, 160, 224, 128, "avg"),
        (352, 192, 320, 192, 224, 128, "max"),
    ):
        layers.append(Inception(channels, *filters))
        channels = layers[-1].channels
    layers += [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, classes)]
    return nn.Sequential(*layers)


class Gelu(nn.Module):
    """The activation, written out."""

    def forward(self, x):
        return 0.5 * x * (1 + torch.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))


def gelu_mlp():
    layers = [nn.Flatten(), nn.Linear(784, 1024), Gelu(), nn.Linear(1024, 1024), Gelu()]
    return nn.Sequential(*layers, nn.Linear(1024, 10))


class Formula(nn.Module):
    """Twelve functions of one array."""

    def forward(self, x):
        y = torch.sqrt(x * x + 1) * torch.exp(-x * x)
        return y + x * torch.sigmoid(x) - torch.tanh(x) * 0.5


class Rows(nn.Module):
    """Two LSTM layers over the rows of an image."""

    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(28, 128, 2, batch_first=True)
        self.last = nn.Linear(128, 10)

    def forward(self, x):
        return self.last(self.lstm(x.reshape(-1, 28, 28))[0][:, -1])


# Losses as functions of (output, input, classes). Networks not listed use the cross entropy.
LOSSES = {
    networks.Autoencoder: lambda out, x, y: functional.mse_loss(out, x.flatten(1)),
    networks.image_autoencoder: lambda out, x, y: functional.mse_loss(out, x),
    networks.Generator: lambda out, x, y: out.square().mean(),
    networks.critic: lambda out, x, y: out.mean(),
    networks.discriminator: lambda out, x, y: functional.binary_cross_entropy_with_logits(
        out, (y[:, None] % 2).float()
    ),
    networks.Factorization: lambda out, x, y: functional.mse_loss(out, y.float()),
}
MODES = ("eager", "channels last", "compiled", "compiled, channels last")
# Inductor's freezing: weights become constants of the compiled program, BatchNorm is folded into
# them and they are packed once; what is written to them later is not seen.
FROZEN = ("compiled, frozen", "compiled, frozen, channels last")


def modes(make, shape, names=MODES):
    """(name, network, input, function to call) of each mode."""
    four = (len(shape) == 4 and shape[1] > 1) or make is lenet
    for name in names:
        if ("channels last" in name and not four) or (sys.argv[2:] and name != sys.argv[2]):
            continue
        torch.manual_seed(0)
        words = make in (networks.TextCNN, networks.Factorization)
        net, x = make(), torch.randint(0, 10000, shape) if words else torch.randn(*shape)
        if "channels last" in name:
            net = net.to(memory_format=torch.channels_last)
            x = x.to(memory_format=torch.channels_last)
        yield name, net, x, torch.compile(net) if name.startswith("compiled") else net


def best(times):
    """The fastest mode and its seconds, which the worker prints."""
    mode = min(times, key=times.get)
    return {"mode": mode, "seconds": times[mode], "modes": times}


def train(make, size, shape, repeat):
    """Seconds of a step of SGD in each mode."""
    times = {}
    for name, net, x, function in modes(make, (size, *shape)):
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        pixels = make is networks.UNet
        y = torch.randint(0, 4, (size, *shape[1:])) if pixels else torch.randint(0, 10, (size,))

        loss = LOSSES.get(make, lambda out, x, y: functional.cross_entropy(out, y))

        def step(function=function, optimizer=optimizer, x=x, y=y, loss=loss):
            optimizer.zero_grad(set_to_none=True)
            loss(function(x), x, y).backward()
            optimizer.step()

        times[name] = median_time(step, repeat=repeat)
    return best(times)


def predict(make, size):
    """Seconds of a prediction in each mode."""
    times = {}
    for name, net, x, function in modes(make, (size, 3, 224, 224), MODES + FROZEN):
        net.eval()
        frozen = torch._inductor.config.patch(freezing="frozen" in name)
        with frozen, torch.no_grad() if "frozen" in name else torch.inference_mode():
            times[name] = median_time(
                lambda function=function, x=x: functional.softmax(function(x), 1), repeat=10
            )
    return best(times)


def formula():
    """Seconds of forward and backward of a formula in each mode."""
    times = {}
    for name, _, x, function in modes(Formula, (1_000_000,)):
        x.requires_grad_()
        ones = torch.ones(1_000_000)

        def run(function=function, x=x, ones=ones):
            x.grad = None
            function(x).backward(ones)

        times[name] = median_time(run, repeat=50)
    return best(times)


def fit_epoch():
    """Seconds of an epoch of LeNet with the accuracy summed up."""
    torch.manual_seed(0)
    images, labels = torch.rand(12800, 1, 28, 28), torch.randint(0, 10, (12800,))
    net = lenet()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)

    def epoch():
        order, right = torch.randperm(len(images)), 0
        for i in range(0, len(images), 128):
            x, y = images[order[i : i + 128]], labels[order[i : i + 128]]
            optimizer.zero_grad(set_to_none=True)
            out = net(x)
            functional.cross_entropy(out, y).backward()
            optimizer.step()
            right += (out.argmax(1) == y).sum().item()

    epoch()
    start = time.perf_counter()
    epoch()
    return best({"eager": time.perf_counter() - start})


def loader(workers):
    """Seconds of an epoch of 2,000 small samples from a DataLoader."""
    samples = [(torch.full((100,), float(i)).numpy(), i % 10) for i in range(2000)]
    settings = {"num_workers": workers, "persistent_workers": True} if workers else {}
    batches = torch.utils.data.DataLoader(samples, 50, shuffle=True, **settings)

    def epoch():
        assert sum(len(x) for x, _ in batches) == 2000

    return best({"eager": median_time(epoch, repeat=7)})


def imperative(name):
    """Seconds of a function of ten million floats, or of an addition of ten."""
    small, a = torch.ones(10), torch.randn(10_000_000)
    matrix = a.view(10_000, 1000)
    run, number = {
        "small_add": (lambda: small + small, 10_000),
        "add": (lambda: a + a, 1),
        "tanh": (lambda: torch.tanh(a), 1),
        "exp": (lambda: torch.exp(a), 1),
        "sum": (lambda: torch.sum(a), 1),
        "softmax": (lambda: torch.softmax(matrix, -1), 1),
    }[name]
    return best({"eager": median_time(run, number)})


def measure(name):
    """Seconds of one workload."""
    training = {
        "mlp": (mlp, 128, (1, 28, 28), 100),
        "gelu": (gelu_mlp, 128, (1, 28, 28), 40),
        "lenet": (lenet, 128, (1, 28, 28), 20),
        "resnet20": (networks.resnet20, 64, (3, 32, 32), 10),
        "inception64": (lambda: inception_bn(10), 32, (3, 64, 64), 7),
        "lstm": (Rows, 64, (1, 28, 28), 20),
        "resnet18": (networks.resnet18, 32, (3, 64, 64), 7),
        "vgg11": (networks.vgg11, 64, (3, 32, 32), 7),
        "alexnet": (networks.alexnet, 8, (3, 224, 224), 5),
        "densenet": (networks.densenet, 32, (3, 32, 32), 7),
        "mobilenet": (networks.mobilenet, 16, (3, 64, 64), 10),
        "mobilenet2": (networks.mobilenet2, 16, (3, 64, 64), 10),
        "unet": (networks.UNet, 4, (3, 64, 64), 10),
        "generator": (networks.Generator, 16, (100, 1, 1), 10),
        "discriminator": (networks.discriminator, 16, (3, 64, 64), 10),
        "critic": (networks.critic, 64, (3, 32, 32), 10),
        "image_autoencoder": (networks.image_autoencoder, 32, (3, 64, 64), 10),
        "attention": (networks.Attention, 16, (64, 256), 15),
        "factorization": (networks.Factorization, 1024, (2,), 50),
        "char_cnn": (networks.char_cnn, 32, (70, 256), 15),
        "text_cnn": (networks.TextCNN, 50, (56,), 15),
        "norm_mlp": (networks.norm_mlp, 128, (1, 28, 28), 30),
        "autoencoder": (networks.Autoencoder, 128, (1, 28, 28), 50),
    }
    if name.startswith("gluon_"):
        name = name.removeprefix("gluon_")
        if name.endswith("_eager"):
            sys.argv[2:] = ["eager"]
            name = name.removesuffix("_eager")
    if name in training:
        return train(*training[name])
    if name.startswith("loader_"):  # PyTorch's loader has no threads
        return loader(2 if name == "loader_processes" else 0)
    if name.startswith(("resnet50", "inception_")):
        kind, _, size = name.rpartition("_")
        return predict(resnet50 if kind == "resnet50" else inception_bn, int(size))
    alone = {"fit_epoch": fit_epoch, "formula": formula}
    return alone[name]() if name in alone else imperative(name)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    print(json.dumps(measure(sys.argv[1])))
