"""The networks of the model zoo: names, shapes and graphs are those of MXNet 1.9.1."""

import hashlib
import json
import math
import zipfile

import numpy as np
import pytest

import cynet as mx
from cynet import autograd, gluon, nd
from cynet.gluon.model_zoo import model_store, vision

# Name; arrays and numbers of parameters; the first digits of the SHA-1 of "name shape" lines, by
# structural name and sorted, and by whole name (prefix m_) in order; operators of the graph.
TABLE = """
alexnet 16 61100840 b75830ea3f b3c53a9df8 21
densenet121 606 8062504 ed4854c4d3 6ae36da352 427
densenet161 806 28900936 e2f2c7ee0c 7a16f11e02 567
densenet169 846 14307880 cc979fabec 7c7ebc9aca 595
densenet201 1006 20242984 40076325be 139668cd33 707
inceptionv3 472 23869000 eca293ee26 0149b11db6 313
mobilenet0.25 137 475544 d7d253adc1 6cc0090b3b 84
mobilenet0.5 137 1342536 548e83cff2 da0cb5952e 84
mobilenet0.75 137 2601976 64556bf761 92a3182594 84
mobilenet1.0 137 4253864 5adc6acd91 c64edd20e2 84
mobilenetv2_0.25 266 1526856 b45851d275 35f1bda74b 155
mobilenetv2_0.5 266 1983104 f166911bfb e61f15babf 155
mobilenetv2_0.75 266 2653864 8dfa67c92a 008813f7d0 155
mobilenetv2_1.0 266 3539136 9c204a76c2 9e9707e760 155
resnet101_v1 588 44695144 6d40ef371a 22fc383839 344
resnet101_v2 514 44639412 0f76d0f51d 51ddc901de 344
resnet152_v1 877 60404072 e65421c13f 5c9da6aa02 514
resnet152_v2 769 60329140 144cbe1f8c 717f5fc012 514
resnet18_v1 102 11699112 81981fd088 f5d91574fb 68
resnet18_v2 98 11695796 ee72672f2c 32a43da1e2 69
resnet34_v1 182 21814696 cb0e69d370 f30aad5337 124
resnet34_v2 178 21811380 9594e0e391 f2a513f263 125
resnet50_v1 299 25629032 50ebe40fb8 af8741a15a 174
resnet50_v2 259 25595060 8e6a24b460 17f7195aee 174
squeezenet1.0 52 1248424 7966943e11 4c1d36d621 66
squeezenet1.1 52 1235496 c292a2d58c 65207a0d59 66
vgg11 22 132863336 2824a4b91b 3a3fa92f0c 28
vgg11_bn 54 132874344 7a95501e89 a6c4eaf4b9 36
vgg13 26 133047848 daca5b2fb3 e99da27fe7 32
vgg13_bn 66 133059624 aa769e2a2e a8d61cd33e 42
vgg16 32 138357544 93972d8a7d 4fb70998a2 38
vgg16_bn 84 138374440 8f76b79730 23ee2ab2b8 51
vgg19 38 143667240 7f4b7544fc a1648e7ce1 44
vgg19_bn 102 143689256 4534befb90 9dcc2527d6 60
"""
ROWS = [line.split() for line in TABLE.split("\n") if line]


def digest(items):
    text = "\n".join(f"{name} {each.shape}" for name, each in items)
    return hashlib.sha1(text.encode()).hexdigest()[:10]


@pytest.mark.parametrize("row", ROWS, ids=[row[0] for row in ROWS])
def test_structure(row):
    net = vision.get_model(row[0], prefix="m_")
    size = 299 if row[0] == "inceptionv3" else 224
    net.infer_shape(nd.zeros((1, 3, size, size)))
    params = net.collect_params()
    graph = json.loads(net(mx.sym.var("data")).tojson())
    found = [
        len(params.keys()),
        sum(math.prod(each.shape) for each in params.values()),
        digest(sorted(net._collect_params_with_prefix().items())),
        digest(params.items()),
        sum(each["op"] != "null" for each in graph["nodes"]),
    ]
    assert [str(each) for each in found] == row[1:]


def test_names():
    assert len(ROWS) == 34
    with pytest.raises(
        ValueError, match="Model 'nope' is not supported. Available options"
    ) as told:
        vision.get_model("nope")
    assert all(row[0] in str(told.value) for row in ROWS)
    with pytest.raises(AssertionError, match="Invalid number of layers: 19. Options are"):
        vision.get_resnet(1, 19)
    assert gluon.model_zoo.get_model is vision.get_model
    with mx.name.NameManager():
        net = vision.resnet18_v1()
        assert net.prefix == "resnetv10_"
        names = list(net.collect_params().keys())
        assert names[0] == "resnetv10_conv0_weight"
        assert "resnetv10_stage1_batchnorm0_gamma" in names
        assert list(net._children) == ["features", "output"] and len(net.features) == 9
        assert repr(net.output) == "Dense(512 -> 1000, linear)"
        assert "mobilenetv20_output_pred_weight" in vision.mobilenet_v2_0_25().collect_params()
    names = net._collect_params_with_prefix()
    assert list(names)[:2] == ["features.0.weight", "features.1.gamma"] and len(names) == 102


@pytest.mark.parametrize("version", [1, 2])
def test_a_network_for_thumbnails_trains(version, rng):
    net = vision.get_resnet(version, 18, classes=10, thumbnail=True)
    net.initialize(mx.init.Xavier())
    x = nd.array(rng.normal(size=(2, 3, 32, 32)))
    wanted = net(x).asnumpy()
    assert wanted.shape == (2, 10)
    net.hybridize()
    np.testing.assert_allclose(net(x).asnumpy(), wanted, rtol=1e-3, atol=1e-4)
    with autograd.record():
        y = net(x)
    y.backward()
    assert all(
        np.isfinite(p.grad().asnumpy()).all() for p in net.collect_params(".*weight").values()
    )


@pytest.fixture
def trained(tmp_path, monkeypatch):
    """A folder with parameters of squeezenet1.1, under the name of their hash."""
    net = vision.squeezenet1_1(classes=3)
    net.initialize(mx.init.Constant(0.5))
    net.infer_shape(nd.zeros((1, 3, 224, 224)))
    for each in net.collect_params().values():
        each._finish_deferred_init()
    path = tmp_path / "a.params"
    net.save_parameters(path)
    sha1 = hashlib.sha1(path.read_bytes()).hexdigest()
    monkeypatch.setitem(model_store._model_sha1, "squeezenet1.1", sha1)
    file = f"squeezenet1.1-{sha1[:8]}"
    return tmp_path, path, file


def test_trained_parameters_from_a_folder(trained):
    folder, path, file = trained
    path.rename(folder / f"{file}.params")
    net = vision.squeezenet1_1(pretrained=True, root=str(folder), classes=3)
    assert (net.features[0].weight.data().asnumpy() == 0.5).all()
    model_store.purge(folder)
    assert not list(folder.iterdir())


def test_trained_parameters_are_downloaded_and_checked(trained, monkeypatch):
    folder, path, file = trained
    source = folder / "source"
    source.mkdir()
    with zipfile.ZipFile(source / f"{file}.zip", "w") as archive:
        archive.write(path, f"{file}.params")
    monkeypatch.setattr(model_store, "_get_repo_file_url", lambda _, name: (source / name).as_uri())
    root = folder / "models"
    net = vision.squeezenet1_1(pretrained=True, root=root, classes=3)
    assert (net.features[0].weight.data().asnumpy() == 0.5).all()
    assert [each.name for each in root.iterdir()] == [f"{file}.params"]
    monkeypatch.setitem(model_store._model_sha1, "squeezenet1.1", file[-8:] + "0" * 32)
    (root / f"{file}.params").unlink()
    with pytest.raises(OSError, match="has another hash"):
        vision.squeezenet1_1(pretrained=True, root=root, classes=3)
