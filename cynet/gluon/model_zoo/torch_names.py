"""Names of zoo networks' parameters in torchvision's state dicts."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

from ...base.errors import ArgumentError, UndefinedError, shown
from ..nn import Conv2D, HybridSequential
from .vision.catalog import get_model

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .vision.network import Network

_VGG = {"11": (1, 1, 2, 2, 2), "13": (2, 2, 2, 2, 2), "16": (2, 2, 3, 3, 3), "19": (2, 2, 4, 4, 4)}
_DENSENET_BLOCKS = {"121": (6, 12, 24, 16), "161": (6, 12, 36, 24), "169": (6, 12, 32, 32)}
_DENSENET_BLOCKS["201"] = (6, 12, 48, 32)
_RESNET_STAGES = {  # number of layers -> (blocks per stage, convolutions per block)
    "18_v1": ((2, 2, 2, 2), 2),
    "34_v1": ((3, 4, 6, 3), 2),
    "50_v1b": ((3, 4, 6, 3), 3),
    "101_v1b": ((3, 4, 23, 3), 3),
    "152_v1b": ((3, 8, 36, 3), 3),
}
_TORCH_WORD = {"gamma": "weight", "beta": "bias"}  # MXNet's word -> PyTorch's
_INCEPTION_STEM = "1a_3x3 2a_3x3 2b_3x3 3b_1x1 4a_3x3"  # layers before the blocks
_INCEPTION_BRANCHES = {  # blocks of torchvision's Inception v3 -> their branches
    "5b 5c 5d": "1x1 5x5_1 5x5_2 3x3dbl_1 3x3dbl_2 3x3dbl_3 _pool",
    "6a": "3x3 3x3dbl_1 3x3dbl_2 3x3dbl_3",
    "6b 6c 6d 6e": "1x1 7x7_1 7x7_2 7x7_3 7x7dbl_1 7x7dbl_2 7x7dbl_3 7x7dbl_4 7x7dbl_5 _pool",
    "7a": "3x3_1 3x3_2 7x7x3_1 7x7x3_2 7x7x3_3 7x7x3_4",
    "7b 7c": "1x1 3x3_1 3x3_2a 3x3_2b 3x3dbl_1 3x3dbl_2 3x3dbl_3a 3x3dbl_3b _pool",
}


def _alexnet_names(*_: Any) -> Iterator[str]:
    yield from (f"features.{i}" for i in (0, 3, 6, 8, 10))
    yield from (f"classifier.{i}" for i in (1, 4, 6))


def _vgg_names(kind: str, _: Network) -> Iterator[str]:
    depth, _, norm = kind.partition("_")
    at = 0
    for count in _VGG[depth]:
        for _ in range(count):
            yield from (f"features.{at + i}" for i in range(2 if norm else 1))
            at += 3 if norm else 2
        at += 1  # pooling
    yield from (f"classifier.{i}" for i in (0, 3, 6))


def _resnet_names(kind: str, _: Network) -> Iterator[str]:
    yield from ("conv1", "bn1")
    stages, convolutions = _RESNET_STAGES[kind]
    for stage, count in enumerate(stages, 1):
        for block in range(count):
            where = f"layer{stage}.{block}"
            for i in range(1, convolutions + 1):
                yield from (f"{where}.conv{i}", f"{where}.bn{i}")
            if block == 0 and (stage > 1 or convolutions == 3):
                yield from (f"{where}.downsample.{i}" for i in (0, 1))
    yield "fc"


def _squeezenet_names(kind: str, _: Network) -> Iterator[str]:
    fires = (3, 4, 5, 7, 8, 9, 10, 12) if kind == "1.0" else (3, 4, 6, 7, 9, 10, 11, 12)
    yield "features.0"
    for i, each in itertools.product(fires, ("squeeze", "expand1x1", "expand3x3")):
        yield f"features.{i}.{each}"
    yield "classifier.1"


def _densenet_names(kind: str, _: Network) -> Iterator[str]:
    yield from ("features.conv0", "features.norm0")
    for block, count in enumerate(_DENSENET_BLOCKS[kind], 1):
        for layer, each in itertools.product(
            range(1, count + 1), ("norm1", "conv1", "norm2", "conv2")
        ):
            yield f"features.denseblock{block}.denselayer{layer}.{each}"
        if block < len(_DENSENET_BLOCKS[kind]):
            yield from (f"features.transition{block}.{each}" for each in ("norm", "conv"))
    yield from ("features.norm5", "classifier")


def _inception_names(*_: Any) -> Iterator[str]:
    layers = [f"Conv2d_{each}" for each in _INCEPTION_STEM.split()]
    for blocks, branches in _INCEPTION_BRANCHES.items():
        pairs = itertools.product(blocks.split(), branches.split())
        layers += [f"Mixed_{block}.branch{branch}" for block, branch in pairs]
    yield from (f"{layer}.{each}" for layer in layers for each in ("conv", "bn"))
    yield "fc"


def _vit_names(_: str, net: Network) -> Iterator[str | dict[str, str]]:
    yield {"class_token": "class_token", "position": "encoder.pos_embedding"}
    yield "conv_proj"
    for i in range(len(net.features[-2].layers)):
        where = f"encoder.layers.encoder_layer_{i}"
        attention = f"{where}.self_attention"
        whole = {word: f"{attention}.in_proj_{word}" for word in ("weight", "bias")}
        yield from (whole, whole, whole, f"{attention}.out_proj")  # query, key, value
        yield from (f"{where}.{each}" for each in ("mlp.0", "mlp.3", "ln_1", "ln_2"))
    yield from ("encoder.ln", "heads.head")


def _efficientnet_names(_: str, net: Network) -> Iterator[str]:
    yield from ("features.0.0", "features.0.1")
    stages = [each for each in net.features if isinstance(each, HybridSequential)]
    for stage, blocks in enumerate(stages, 1):
        for i, block in enumerate(blocks):
            where = f"features.{stage}.{i}.block"
            wide = sum(isinstance(each, Conv2D) for each in block.body) == 3
            parts = range(4 if wide else 3)
            for part in parts:
                names = ("fc1", "fc2") if part == parts[-2] else ("0", "1")
                yield from (f"{where}.{part}.{name}" for name in names)
    last = len(stages) + 1
    yield from (f"features.{last}.0", f"features.{last}.1", "classifier.1")


def _convnext_names(_: str, net: Network) -> Iterator[str | dict[str, str]]:
    stages = [each for each in net.features if isinstance(each, HybridSequential)]
    for stage, blocks in enumerate(stages):
        yield from (f"features.{2 * stage}.{i}" for i in (0, 1))
        for i in range(len(blocks)):
            where = f"features.{2 * stage + 1}.{i}"
            yield {"scale": f"{where}.layer_scale"}
            yield from (f"{where}.block.{part}" for part in (0, 2, 3, 5))
    yield from ("classifier.0", "classifier.2")


_NAMES_BY_FAMILY = {  # family of networks -> function of its parameter names
    "alexnet": _alexnet_names,
    "vgg": _vgg_names,
    "resnet": _resnet_names,
    "squeezenet": _squeezenet_names,
    "densenet": _densenet_names,
    "inceptionv3": _inception_names,
    "vit": _vit_names,
    "efficientnet": _efficientnet_names,
    "convnext": _convnext_names,
}


def torch_names(network: str) -> dict[str, str]:
    """Return a dict of the zoo's structural names to torchvision's names of the parameters.

    Parameters
    ----------
    network : str
        As for `get_model`.

    Returns
    -------
    dict of str to str
        Several parameters have one name there if torchvision keeps them in one array: the entries
        of its first axis belong to these parameters in this order, to each as many.

    Raises
    ------
    UndefinedError
        torchvision has no network that computes the same: its ResNet-50 and deeper ones put the
        stride elsewhere (``resnet50_v1b`` is its ResNet-50), its MobileNet v2 has other layers, it
        has no ResNet v2 and no MobileNet.

    Examples
    --------
    >>> torch_names("resnet18_v1")["features.1.gamma"]
    'bn1.weight'
    >>> torch_names("vit_b_16")["features.1.norm.gamma"]
    'encoder.ln.weight'
    """
    family = next((f for f in _NAMES_BY_FAMILY if str(network).startswith(f)), None)
    if not isinstance(network, str):
        raise ArgumentError(f"network is a name of the model zoo, got {shown(network)}")
    net = get_model(network)
    kind = network.lower().removeprefix(family or "")
    if family is None or (family == "resnet" and kind not in _RESNET_STAGES):
        raise UndefinedError(f"torchvision has no network that computes what {network} does")
    found, layers = {}, iter(_NAMES_BY_FAMILY[family](kind, net))
    for _, names in itertools.groupby(
        net._collect_params_with_prefix(), lambda name: name.rpartition(".")[0]
    ):
        layer = next(layers)
        for name in names:
            word = name.rpartition(".")[2]
            found[name] = (
                layer[word] if isinstance(layer, dict) else f"{layer}.{_TORCH_WORD.get(word, word)}"
            )
    if left := list(layers):
        raise AssertionError(f"{network}: {left[0]} has no layer")
    return found
