"""Networks of worker_torch.py that follow those of networks_mx.py and of the examples."""

import torch
from networks_mx import INVERTED
from torch import nn
from torch.nn import functional


def conv(before, after, kernel, stride=1, bias=False, groups=1):
    return nn.Conv2d(before, after, kernel, stride, kernel // 2, groups=groups, bias=bias)


class BasicUnit(nn.Module):
    """Two 3x3 convolutions, activations behind them."""

    def __init__(self, before, after, stride, projection=False):
        super().__init__()
        self.body = nn.Sequential(
            conv(before, after, 3, stride),
            nn.BatchNorm2d(after),
            nn.ReLU(),
            conv(after, after, 3),
            nn.BatchNorm2d(after),
        )
        self.shortcut = nn.Identity()
        if stride > 1 or projection:
            self.shortcut = nn.Sequential(conv(before, after, 1, stride), nn.BatchNorm2d(after))

    def forward(self, x):
        return functional.relu(self.body(x) + self.shortcut(x))


def resnet20():
    layers = [conv(3, 16, 3), nn.BatchNorm2d(16), nn.ReLU()]
    before = 16
    for after in (16, 32, 64):
        for unit in range(3):
            layers.append(BasicUnit(before, after, 2 if after > 16 and not unit else 1))
            before = after
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10))


def resnet18():
    layers = [conv(3, 64, 7, 2), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
    before = 64
    for after in (64, 128, 256, 512):
        for unit in range(2):
            stride = 2 if after > 64 and not unit else 1
            layers.append(BasicUnit(before, after, stride, projection=not unit))
            before = after
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 10))


def dense(before):
    """The three layers behind VGG's and AlexNet's convolutions."""
    layers = [nn.Flatten()]
    for units in (4096, 4096):
        layers += [nn.Linear(before, units), nn.ReLU(), nn.Dropout(0.5)]
        before = units
    return [*layers, nn.Linear(before, 10)]


def vgg11():
    layers, before = [], 3
    for count, after in ((1, 64), (1, 128), (2, 256), (2, 512), (2, 512)):
        for _ in range(count):
            layers += [conv(before, after, 3, bias=True), nn.ReLU()]
            before = after
        layers.append(nn.MaxPool2d(2))
    return nn.Sequential(*layers, *dense(512))


def alexnet():
    layers, before = [], 3
    for after, kernel, stride, pad, norm, pool in (
        (96, 11, 4, 0, True, True),
        (256, 5, 1, 2, True, True),
        (384, 3, 1, 1, False, False),
        (384, 3, 1, 1, False, False),
        (256, 3, 1, 1, False, True),
    ):
        layers += [nn.Conv2d(before, after, kernel, stride, pad), nn.ReLU()]
        if norm:
            layers.append(nn.LocalResponseNorm(5, 1e-4, 0.75, 2))
        if pool:
            layers.append(nn.MaxPool2d(3, 2))
        before = after
    return nn.Sequential(*layers, *dense(256 * 5 * 5))


class DenseLayer(nn.Module):
    """Norm, activation, convolution; the result is concatenated to the input."""

    def __init__(self, before, growth):
        super().__init__()
        self.body = nn.Sequential(nn.BatchNorm2d(before), nn.ReLU(), conv(before, growth, 3))

    def forward(self, x):
        return torch.cat([x, self.body(x)], 1)


def densenet(growth=12, count=6):
    channels = 2 * growth
    layers = [conv(3, channels, 3)]
    for block in range(3):
        for _ in range(count):
            layers.append(DenseLayer(channels, growth))
            channels += growth
        layers += [nn.BatchNorm2d(channels), nn.ReLU()]
        if block < 2:
            layers += [conv(channels, channels, 1), nn.AvgPool2d(2)]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, 10))


def mobilenet():
    layers, before = [conv(3, 16, 3, 2), nn.BatchNorm2d(16), nn.ReLU()], 16
    for after, stride in (
        *((32, 1), (64, 2), (64, 1), (128, 2), (128, 1), (256, 2)),
        *((256, 1),) * 5,
        *((512, 2), (512, 1)),
    ):
        layers += [conv(before, before, 3, stride, groups=before), nn.BatchNorm2d(before)]
        layers += [nn.ReLU(), conv(before, after, 1), nn.BatchNorm2d(after), nn.ReLU()]
        before = after
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(before, 10))


class Autoencoder(nn.Module):
    """The distance from the input is its loss."""

    def __init__(self):
        super().__init__()
        layers, before = [nn.Flatten()], 784
        for units in (512, 128, 32, 128, 512):
            layers += [nn.Linear(before, units), nn.ReLU()]
            before = units
        self.body = nn.Sequential(*layers, nn.Linear(before, 784))

    def forward(self, x):
        return self.body(x)


def _wide(before, after, kernel, stride=1, groups=1):
    layers = [conv(before, after, kernel, stride, groups=groups), nn.BatchNorm2d(after)]
    return [*layers, nn.ReLU6()]


class Inverted(nn.Module):
    """A unit of MobileNet v2."""

    def __init__(self, before, after, wider, stride):
        super().__init__()
        inner = before * wider
        layers = _wide(before, inner, 1) if wider > 1 else []
        layers += _wide(inner, inner, 3, stride, inner)
        self.body = nn.Sequential(*layers, conv(inner, after, 1), nn.BatchNorm2d(after))
        self.adds = stride == 1 and before == after

    def forward(self, x):
        return x + self.body(x) if self.adds else self.body(x)


def mobilenet2():
    layers, before = _wide(3, 32, 3, 2), 32
    for wider, after, count, stride in INVERTED:
        for unit in range(count):
            layers.append(Inverted(before, after, wider, 1 if unit else stride))
            before = after
    layers += [*_wide(before, 1280, 1), nn.AdaptiveAvgPool2d(1), nn.Flatten()]
    return nn.Sequential(*layers, nn.Linear(1280, 10))


class UNet(nn.Module):
    """Classes of pixels."""

    def __init__(self, widths=(32, 64, 128), classes=4):
        super().__init__()

        def block(before, after):
            layers = []
            for channels in (before, after):
                layers += [conv(channels, after, 3), nn.BatchNorm2d(after), nn.ReLU()]
            return nn.Sequential(*layers)

        pairs = list(zip((3, *widths), widths))
        self.down = nn.ModuleList(block(*pair) for pair in pairs)
        self.inner = block(widths[-1], 2 * widths[-1])
        self.up = nn.ModuleList(nn.ConvTranspose2d(2 * n, n, 2, 2) for n in reversed(widths))
        self.joined = nn.ModuleList(block(2 * n, n) for n in reversed(widths))
        self.last = nn.Conv2d(widths[0], classes, 1)

    def forward(self, x):
        beside = []
        for block in self.down:
            beside.append(block(x))
            x = functional.max_pool2d(beside[-1], 2)
        x = self.inner(x)
        for up, block in zip(self.up, self.joined):
            x = block(torch.cat([beside.pop(), up(x)], 1))
        return self.last(x)


class Generator(nn.Sequential):
    """A generator of images; its loss is the mean of squares."""

    def __init__(self):
        layers, before = [], 100
        for after, stride, pad in ((512, 1, 0), (256, 2, 1), (128, 2, 1), (64, 2, 1)):
            layers.append(nn.ConvTranspose2d(before, after, 4, stride, pad, bias=False))
            layers += [nn.BatchNorm2d(after), nn.ReLU()]
            before = after
        super().__init__(*layers, nn.ConvTranspose2d(before, 3, 4, 2, 1, bias=False), nn.Tanh())


class TextCNN(nn.Module):
    """Sentences of words as numbers."""

    def __init__(self, length=128):
        super().__init__()
        self.words = nn.Embedding(10000, length)
        self.windows = nn.ModuleList(nn.Conv1d(length, 100, k) for k in (3, 4, 5))
        self.last = nn.Sequential(nn.Dropout(0.5), nn.Linear(300, 10))

    def forward(self, x):
        x = self.words(x).transpose(1, 2)
        return self.last(torch.cat([functional.relu(w(x)).amax(2) for w in self.windows], 1))


def norm_mlp():
    layers, before = [nn.Flatten()], 784
    for _ in range(3):
        layers += [nn.Linear(before, 1024), nn.BatchNorm1d(1024), nn.ReLU(), nn.Dropout(0.5)]
        before = 1024
    return nn.Sequential(*layers, nn.Linear(before, 10))


def discriminator():
    layers, before = [], 3
    for after in (64, 128, 256, 512):
        layers.append(nn.Conv2d(before, after, 4, 2, 1, bias=False))
        layers += [nn.BatchNorm2d(after)] if before > 3 else []
        layers.append(nn.LeakyReLU(0.2))
        before = after
    return nn.Sequential(*layers, nn.Conv2d(before, 1, 4, bias=False), nn.Flatten())


def critic():
    layers, before = [], 3
    for after in (64, 128, 256):
        layers += [conv(before, after, 5, 2), nn.LeakyReLU(0.2)]
        before = after
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(256 * 4 * 4, 1))


def image_autoencoder():
    layers, before = [], 3
    for after in (32, 64, 128):
        layers += [conv(before, after, 3, 2), nn.ReLU()]
        before = after
    for after in (64, 32, 3):
        layers.append(nn.ConvTranspose2d(before, after, 4, 2, 1, bias=False))
        layers.append(nn.ReLU() if after > 3 else nn.Sigmoid())
        before = after
    return nn.Sequential(*layers)


class Attention(nn.Module):
    """Two encoder blocks, the mean over positions."""

    def __init__(self, width=256, heads=8):
        super().__init__()
        self.blocks = nn.Sequential(
            *(
                nn.TransformerEncoderLayer(width, heads, 4 * width, 0.0, batch_first=True)
                for _ in range(2)
            )
        )
        self.last = nn.Linear(width, 10)

    def forward(self, x):
        return self.last(self.blocks(x).mean(1))


class Factorization(nn.Module):
    """Dense gradients of both tables."""

    def __init__(self, rows=20000, length=64):
        super().__init__()
        self.user, self.item = nn.Embedding(rows, length), nn.Embedding(rows, length)

    def forward(self, x):
        return (self.user(x[:, 0]) * self.item(x[:, 1])).sum(1)


def char_cnn():
    layers, before = [], 70
    for k, pool in ((7, 3), (7, 3), (3, 0), (3, 0), (3, 3)):
        layers += [nn.Conv1d(before, 128, k), nn.ReLU()]
        layers += [nn.MaxPool1d(pool)] if pool else []
        before = 128
    layers.append(nn.Flatten())
    for before in (128 * 6, 512):
        layers += [nn.Linear(before, 512), nn.ReLU(), nn.Dropout(0.5)]
    return nn.Sequential(*layers, nn.Linear(512, 10))
