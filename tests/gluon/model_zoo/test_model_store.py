"""cynet.gluon.model_zoo.model_store: files by checksum, from disk or a repository."""

import hashlib
import json
import zipfile
from pathlib import Path

import numpy as np
import pytest

import cynet as mx
from cynet.gluon import utils
from cynet.gluon.errors import MismatchError
from cynet.gluon.model_zoo import model_store, vision
from cynet.gluon.model_zoo.torch_names import torch_names
from cynet.gluon.model_zoo.torch_state import convert_torch_arrays, to_torch
from cynet.gluon.model_zoo.vision import catalog

FOUND = json.loads(
    (Path(__file__).parent.parent.parent / "fixtures" / "model_zoo.json").read_text()
)
NAME = "mobilenet0.25"


def test_checksums_are_those_of_mxnet():
    assert model_store._model_sha1 == FOUND["sha1"]
    assert model_store.short_hash("resnet18_v1") == "a0666292"


def test_models_without_weights():
    for call in (model_store.short_hash, model_store.get_model_file):
        with pytest.raises(ValueError, match="there are no trained weights of 'mobilenet0.30'"):
            call("mobilenet0.30")
    with pytest.raises(ValueError, match="there are no trained weights of 'mobilenet0.30'"):
        vision.get_mobilenet(0.3, pretrained=True)


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """A repository on disk that has weights of one model, whose checksum is expected.

    Returns the network whose weights they are, and the folder of archives."""
    net = vision.get_model(NAME)
    net.initialize(mx.init.Xavier())
    net(mx.nd.zeros((1, 3, 32, 32)))
    file = tmp_path / "weights.params"
    net.save_parameters(str(file))
    sha1 = hashlib.sha1(file.read_bytes()).hexdigest()
    monkeypatch.setitem(model_store._model_sha1, NAME, sha1)
    folder = tmp_path / "remote" / "gluon" / "models"
    folder.mkdir(parents=True)
    with zipfile.ZipFile(folder / f"{NAME}-{sha1[:8]}.zip", "w") as archive:
        archive.write(file, f"{NAME}-{sha1[:8]}.params")
    monkeypatch.setattr(utils, "_REPOSITORY_URL", (tmp_path / "remote").as_uri() + "/")
    return net, folder


def test_pretrained(repository, tmp_path):
    """Downloaded once, then read from disk; the network gives what its origin gives."""
    net, folder = repository
    data = mx.nd.array(np.random.RandomState(0).rand(1, 3, 32, 32))
    root = tmp_path / "models"
    again = vision.get_model(NAME, pretrained=True, root=str(root), ctx=mx.cpu(1))
    assert again.output.weight.list_ctx() == [mx.cpu(1)]
    there = again(data.as_in_context(mx.cpu(1))).asnumpy()
    np.testing.assert_array_equal(there, net(data).asnumpy())
    for each in folder.iterdir():
        each.unlink()
    third = vision.mobilenet0_25(pretrained=True, root=str(root))
    np.testing.assert_array_equal(third(data).asnumpy(), net(data).asnumpy())
    assert [p.name for p in root.iterdir()] == [f"{NAME}-{model_store.short_hash(NAME)}.params"]
    model_store.purge(str(root))
    assert not list(root.iterdir())


def test_another_number_of_classes(repository, tmp_path):
    """The weights are those of 1000 classes."""
    with pytest.raises(AssertionError, match="output.weight"):
        vision.get_model(NAME, pretrained=True, root=str(tmp_path / "models"), classes=10)


def test_a_file_that_was_changed(repository, tmp_path):
    """It is downloaded again, and that is said."""
    path = Path(model_store.get_model_file(NAME, root=str(tmp_path / "models")))
    good = path.read_bytes()
    path.write_bytes(good[:-1])
    with pytest.warns(UserWarning, match="another checksum"):
        assert model_store.get_model_file(NAME, root=str(tmp_path / "models")) == str(path)
    assert path.read_bytes() == good


def test_a_repository_with_another_file(repository, tmp_path):
    """Weights of a wrong checksum are not kept."""
    _, folder = repository
    stem = f"{NAME}-{model_store.short_hash(NAME)}"
    with zipfile.ZipFile(folder / f"{stem}.zip", "w") as archive:
        archive.writestr(f"{stem}.params", b"other")
    root = tmp_path / "models"
    with pytest.raises(ValueError, match="another checksum"):
        model_store.get_model_file(NAME, root=str(root))
    assert not list(root.iterdir())
    with zipfile.ZipFile(folder / f"{stem}.zip", "w") as archive:
        archive.writestr("other.params", b"other")
    with pytest.raises(ValueError, match=f"no archive with {stem}.params"):
        model_store.get_model_file(NAME, root=str(root))
    (folder / f"{stem}.zip").write_bytes(b"no archive")
    with pytest.raises(ValueError, match="no archive"):
        model_store.get_model_file(NAME, root=str(root))


def test_no_repository(tmp_path, monkeypatch):
    monkeypatch.setattr(utils, "_REPOSITORY_URL", (tmp_path / "nowhere").as_uri() + "/")
    where = f"put the file .* into {tmp_path}.*, unpacked, as alexnet-44335d1f.params"
    with pytest.raises(OSError, match=f"download of .*alexnet-44335d1f.zip.*{where}"):
        vision.alexnet(pretrained=True, root=str(tmp_path / "models"))
    assert not list((tmp_path / "models").iterdir())


def test_networks_without_an_address(tmp_path):
    """Where the file goes and what it is called is said; there it is found."""
    path = tmp_path / "models" / "vit_b_16.params"
    said = rf"or put it into {path}: .*convert FILE.safetensors {path} --network vit_b_16 --from"
    with pytest.raises(FileNotFoundError, match=said):
        vision.vit_b_16(pretrained=True, root=str(tmp_path / "models"))
    assert not (tmp_path / "models").exists()
    net = vision.efficientnet_b0(classes=3)
    net.initialize(mx.init.Xavier())
    x = mx.nd.ones((1, 3, 32, 32))
    wanted = net(x).asnumpy()
    net.save_parameters(str(tmp_path / "efficientnet_b0.params"))
    again = vision.get_model("efficientnet_b0", classes=3, pretrained=True, root=str(tmp_path))
    np.testing.assert_array_equal(again(x).asnumpy(), wanted)
    names = set(catalog.NETWORKS)
    assert names == {*model_store._model_sha1, *model_store._CONVERTED_NETWORKS}


def test_weights_of_a_file(tmp_path):
    """As save_parameters, collect_params().save and export write them; other endings, too."""
    net = vision.get_model(NAME, classes=7)
    net.initialize(mx.init.Xavier())
    net.hybridize()
    x = mx.nd.array(np.random.RandomState(0).rand(1, 3, 32, 32))
    wanted = net(x).asnumpy()
    net.save_parameters(str(tmp_path / "a.params"))
    net.save_parameters(str(tmp_path / "b.safetensors"))
    net.collect_params().save(str(tmp_path / "c.params"))
    net.export(str(tmp_path / "d"))
    for file in ("a.params", "b.safetensors", "c.params", "d-0000.params"):
        for path in (tmp_path / file, str(tmp_path / file)):
            prefix = {"prefix": net.prefix} if file == "c.params" else {}
            again = vision.get_model(NAME, classes=7, pretrained=path, **prefix)
            np.testing.assert_allclose(again(x).asnumpy(), wanted, rtol=1e-3)
    with pytest.raises(MismatchError, match=r"output.weight(?s:.)*give net.output another layer"):
        vision.get_model(NAME, classes=3, pretrained=tmp_path / "a.params")
    with pytest.raises(FileNotFoundError, match="nowhere.params"):
        vision.get_model(NAME, pretrained=str(tmp_path / "nowhere.params"))
    mx.nd.save(str(tmp_path / "e.params"), [mx.nd.ones(1)])
    with pytest.raises(ValueError, match="no names"):
        vision.get_model(NAME, pretrained=str(tmp_path / "e.params"))


def test_weights_of_a_file_of_torchvision(tmp_path):
    net = vision.squeezenet1_1(classes=5)
    net.initialize(mx.init.Xavier())
    x = mx.nd.array(np.random.RandomState(0).rand(1, 3, 224, 224))
    wanted = net(x).asnumpy()
    net.save_parameters(str(tmp_path / "ours.params"))
    state = to_torch("squeezenet1.1", mx.nd.load(str(tmp_path / "ours.params")))
    assert "classifier.1.weight" in state
    path = str(tmp_path / "theirs.safetensors")
    mx.nd.save(path, state)
    again = vision.squeezenet1_1(classes=5, pretrained=path)
    np.testing.assert_array_equal(again(x).asnumpy(), wanted)
    del state["classifier.1.weight"]
    mx.nd.save(path, state)
    with pytest.raises(ValueError, match="theirs.safetensors: .*lacks 'classifier.1.weight'"):
        vision.squeezenet1_1(classes=5, pretrained=path)


@pytest.mark.parametrize("network", sorted(catalog.NETWORKS))
def test_whose_names_a_file_has(network):
    """torchvision's are converted, the zoo's and whole ones are left as they are."""
    net = vision.get_model(network)
    for names in (net._collect_params_with_prefix(), net.collect_params()):
        arrays = dict.fromkeys(names, mx.nd.ones(1))
        assert convert_torch_arrays(network, net, arrays, "x") is arrays
    try:
        names = torch_names(network)
    except NotImplementedError:  # torchvision has no such network
        return
    several = mx.nd.ones(12)  # some arrays are cut into parts
    found = convert_torch_arrays(network, net, dict.fromkeys(names.values(), several), "x")
    assert found.keys() == names.keys()


def test_another_address(repository, tmp_path, monkeypatch):
    monkeypatch.setattr(utils, "_REPOSITORY_URL", (tmp_path / "nowhere").as_uri() + "/")
    with pytest.raises(OSError, match="download of .*pretrained='FILE'"):
        model_store.get_model_file(NAME, root=str(tmp_path / "models"))
    for name in ("CYNET_GLUON_REPO", "MXNET_GLUON_REPO"):
        monkeypatch.setenv(name, (tmp_path / "remote").as_uri())  # without a slash at its end
        path = model_store.get_model_file(NAME, root=str(tmp_path / name))
        assert Path(path).exists()
        monkeypatch.delenv(name)
