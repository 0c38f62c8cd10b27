"""mx.gluon.utils: splitting batches, clipping gradients, files."""

import hashlib
import importlib

import numpy as np
import pytest

import cynet as mx
from cynet import nd
from cynet.gluon import utils


def test_split_data():
    x = nd.array(np.arange(12).reshape(6, 2))
    parts = utils.split_data(x, 3)
    assert [each.shape for each in parts] == [(2, 2)] * 3
    assert (np.concatenate([each.asnumpy() for each in parts]) == x.asnumpy()).all()
    told = r"7 samples \(axis 0 of \(7, 2\)\) make no 3 equal parts"
    with pytest.raises(ValueError, match=told):
        utils.split_data(nd.ones((7, 2)), 3)
    for count, wanted in ((7, [3, 2, 2]), (2, [1, 1, 0])):
        parts = utils.split_data(nd.ones((count, 2)), 3, even_split=False)
        assert [each.shape[0] for each in parts] == wanted
    parts = utils.split_data(nd.ones((2, 7)), 3, batch_axis=1, even_split=False)
    assert [each.shape for each in parts] == [(2, 3), (2, 2), (2, 2)]


def test_split_and_load():
    parts = utils.split_and_load(np.arange(8.0).reshape(4, 2), [mx.cpu(0), mx.cpu(1)])
    assert [each.context for each in parts] == [mx.cpu(0), mx.cpu(1)]
    assert parts[1].asnumpy().tolist() == [[4, 5], [6, 7]]
    x = nd.ones((3, 2))
    assert utils.split_and_load(x, [mx.cpu()])[0] is x


@pytest.mark.parametrize("check", [True, False])
def test_clip_global_norm(check):
    arrays = [nd.ones((3, 3)), nd.ones((4, 4))]
    norm = utils.clip_global_norm(arrays, 1, check_isfinite=check)
    assert float(norm if check else norm.asscalar()) == 5
    for each in arrays:
        np.testing.assert_allclose(each.asnumpy(), 0.2, rtol=1e-6)
    utils.clip_global_norm(arrays, 10, check_isfinite=check)
    np.testing.assert_allclose(arrays[0].asnumpy(), 0.2, rtol=1e-6)
    assert isinstance(norm, np.float32) if check else norm.shape == (1,)


def test_clip_what_is_not_finite():
    with pytest.warns(UserWarning, match="the norm is NaN or infinite"):
        utils.clip_global_norm([nd.array([np.nan])], 1)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_clip_global_norm_of_16_bits(dtype):
    """Squares are added in float32: those of 300,000 numbers are beyond float16."""
    array = nd.full((300000,), 0.5, dtype=dtype)
    norm = utils.clip_global_norm([array, nd.full((3,), 300, dtype=dtype)], 27.4)
    want = (300000 * 0.25 + 3 * 300**2) ** 0.5
    np.testing.assert_allclose(norm, want, rtol=1e-5)
    np.testing.assert_allclose(array[:5].astype("float32").asnumpy(), 0.5 * 27.4 / want, rtol=2**-7)


def test_download(tmp_path):
    source = tmp_path / "source.bin"
    source.write_bytes(b"abc")
    digest, url = hashlib.sha1(b"abc").hexdigest(), source.as_uri()
    target = tmp_path / "folder" / "target.bin"
    assert utils.download(url, str(target), sha1_hash=digest) == str(target)
    assert target.read_bytes() == b"abc" and utils.check_sha1(target, digest)
    assert not utils.check_sha1(target, "0" * 40)
    source.write_bytes(b"def")
    utils.download(url, str(target))
    assert target.read_bytes() == b"abc"
    with pytest.raises(OSError, match="another hash"):
        utils.download(url, str(target), overwrite=True, sha1_hash=digest, retries=1)
    assert target.read_bytes() == b"abc"
    utils.download(url, str(target), overwrite=True)
    assert target.read_bytes() == b"def"
    with pytest.raises(OSError, match="download of .*No such file"):
        utils.download(url + "x", str(tmp_path / "x"), retries=0)
    assert utils.download(url, str(tmp_path / "folder")).endswith("source.bin")


def test_repository():
    assert utils._get_repo_url().endswith("/")
    assert utils._get_repo_file_url("gluon", "a.zip").endswith("/gluon/a.zip")


@pytest.mark.parametrize(
    "path, names",
    [
        ("block", "Block HybridBlock SymbolBlock _flatten _regroup"),
        ("parameter", "Constant DeferredInitializationError Parameter shape_is_known"),
        ("nn.basic_layers", "BatchNorm Dense HybridSequential LayerNorm Sequential"),
        ("rnn.rnn_cell", "BidirectionalCell HybridRecurrentCell LSTMCell ModifierCell"),
        ("data.dataset", "ArrayDataset Dataset RecordFileDataset"),
        ("data.vision.datasets", "ImageFolderDataset ImageRecordDataset MNIST"),
    ],
)
def test_names_where_mxnet_has_them(path, names):
    module = importlib.import_module(f"cynet.gluon.{path}")
    assert [each for each in names.split() if not hasattr(module, each)] == []
