"""Parameters between files, and between the zoo and torchvision (torch_zoo.py)."""

import collections
import json
import pickle
import re
import zlib
from pathlib import Path

import numpy as np
import pytest

import cynet as mx
from cynet.gluon.model_zoo import vision
from cynet.gluon.model_zoo.torch_names import torch_names
from cynet.tools import convert
from tests import scripts
from tests.fixtures.torch_zoo import image, values
from tests.long_runs import only_in_stress

WANTED = json.loads((Path(__file__).parents[1] / "fixtures" / "torch_zoo.json").read_text())
LARGE = [
    "alexnet",
    "efficientnet_b1",
    "efficientnet_b5",
    "inceptionv3",
    "resnet34_v1",
    "resnet152_v1b",
    "vit_b_16",
]
SMALL = [
    "convnext_tiny",
    "densenet121",
    "efficientnet_b0",
    "resnet18_v1",
    "resnet50_v1b",
    "squeezenet1.1",
    "vit_s_16",
]


@pytest.mark.parametrize("network", WANTED)
def test_names(network):
    names = list(dict.fromkeys(torch_names(network).values()))
    if network.startswith("vit"):  # whose layers stand in another order here
        names.sort()
    assert zlib.crc32(" ".join(names).encode()) == WANTED[network]["names"]


@pytest.mark.parametrize(
    "network", [*SMALL, *(pytest.param(n, marks=only_in_stress) for n in LARGE)]
)
def test_what_they_compute(network, tmp_path):
    size = WANTED[network]["size"]
    more = {"image_size": size} if network.startswith("vit") else {}
    net = vision.get_model(network, **more)
    net.initialize()
    x = mx.nd.array(image(size))
    net(x)
    shapes = {k: p.shape for k, p in net._collect_params_with_prefix().items()}
    names = torch_names(network)
    together = collections.Counter(names.values())
    state = {}
    for ours, theirs in names.items():
        first, *rest = shapes[ours]
        state[theirs] = mx.nd.array(values(theirs, (first * together[theirs], *rest)))
    state["bn.num_batches_tracked"] = mx.nd.ones(1)
    path = str(tmp_path / "net.params")
    mx.nd.save(path, convert.from_torch(network, state))
    net.load_parameters(path)
    wanted = np.array(WANTED[network]["out"])
    for _ in range(2):
        found = net(x).asnumpy()[0, ::50]
        assert np.abs(found - wanted).max() <= 1e-4 * np.abs(wanted).max()
        net.hybridize()
    del state["bn.num_batches_tracked"]
    back = convert.to_torch(network, mx.nd.load(path))
    assert back.keys() == state.keys()
    for name, value in state.items():
        np.testing.assert_array_equal(back[name].asnumpy(), value.asnumpy())


def test_refusals():
    for network in ("resnet50_v1", "resnet18_v2", "mobilenet1.0", "mobilenetv2_1.0"):
        with pytest.raises(mx.MXNetError, match="no network that computes what"):
            torch_names(network)
    with pytest.raises(ValueError, match="there is no network 'resnet19'"):
        torch_names("resnet19")
    with pytest.raises(ValueError, match="the state dict lacks 'classifier.1.bias'"):
        convert.from_torch("alexnet", {})
    with pytest.raises(ValueError, match="there is no parameter 'features.0.weight'"):
        convert.to_torch("alexnet", {})
    whole = {name: mx.nd.ones(1) for name in torch_names("alexnet").values()}
    with pytest.raises(ValueError, match="no layer takes 'more.weight'"):
        convert.from_torch("alexnet", {**whole, "more.weight": mx.nd.ones(1)})
    whole = {name: mx.nd.ones(4) for name in torch_names("vit_b_32").values()}
    with pytest.raises(
        ValueError, match=r"vit_b_32: .*in_proj_\w+ of shape \(4,\) is not 3 arrays"
    ):
        convert.from_torch("vit_b_32", whole)


@pytest.mark.parametrize(
    ("network", "since", "older"),
    [
        ("densenet121", r"(denselayer\d+\.(?:norm|conv))([12])\.", r"\1.\2."),
        ("vit_b_16", r"\.mlp\.([03])\.", lambda m: f".mlp.linear_{1 + int(m[1]) // 3}."),
    ],
)
def test_names_of_older_files(network, since, older):
    names = set(torch_names(network).values())
    arrays = {name: mx.nd.full(3, i) for i, name in enumerate(sorted(names))}
    files = {re.sub(since, older, name): value for name, value in arrays.items()}
    assert len(files.keys() - names) > 40
    found = convert.from_torch(network, files)
    assert found.keys() == torch_names(network).keys()
    for name, value in convert.to_torch(network, found).items():
        np.testing.assert_array_equal(value.asnumpy(), arrays[name].asnumpy())


def run(*args):
    return scripts.run("cynet.tools.convert", *args)


def test_command_line(tmp_path):
    one, two, three = (tmp_path / f"x.{e}" for e in ("params", "npz", "safetensors"))
    mx.nd.save(one, {"w": mx.nd.array([1, 2, 3])})
    done = run(one, two)
    assert (done.returncode, done.stdout) == (0, f"{two}: 1 arrays\n")
    assert run(two, three).returncode == 0
    assert mx.nd.load(three)["w"].asnumpy().tolist() == [1, 2, 3]
    done = run(three, one, "--network", "alexnet", "--from", "torch")
    assert done.returncode == 1 and "the state dict lacks" in done.stderr
    assert run(one, two, "--network", "alexnet").returncode == 2
    assert "no such file" in run(tmp_path / "none.npz", one).stderr.lower()
    assert "--from" in run("--help").stdout


def test_endings_and_what_files_begin_with(tmp_path, capsys):
    source = tmp_path / "x.params"
    mx.nd.save(source, {"w": mx.nd.ones(2)})
    for name in ("x.h5", "x.pt", "x.onnx", "x", "params", "x.params.bak"):
        assert convert.main([str(source), str(tmp_path / name)]) == 1
        said = capsys.readouterr().err
        assert ".params, .npz, .safetensors" in said and name in said
    assert [each.name for each in tmp_path.iterdir()] == ["x.params"]
    assert convert.main([str(source), str(tmp_path / "y.NPZ")]) == 0
    for begin, said in (
        (b"PK\x03\x04", "PyTorch.*safetensors.*NumPy's, call it NAME.npz"),
        (pickle.dumps({"w": [1.0]}, 2), "a pickle, as PyTorch's files are.*safetensors"),
        (pickle.dumps({"w": [1.0]}), "a pickle"),
        (b"\x89HDF\r\n\x1a\n", "HDF5, as Keras"),
        (b"\x93NUMPY\x01\x00", "numpy.load"),
        (b"\x1f\x8b\x08\0\0\0\0\0", "compressed by gzip"),
    ):
        (tmp_path / "net.pt").write_bytes(begin + b"\0" * 40)
        assert convert.main([str(tmp_path / "net.pt"), str(source)]) == 1
        assert re.search(said, capsys.readouterr().err)
        with pytest.raises(mx.errors.FormatError, match=said):
            mx.nd.load(tmp_path / "net.pt")
    assert mx.nd.load(source)["w"].shape == (2,)
