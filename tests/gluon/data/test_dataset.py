"""Datasets, samplers, batchify, vision datasets and transforms."""

import collections
import gzip
import struct

import numpy as np
import pytest

import cynet as mx
from cynet import nd
from cynet.gluon import data
from cynet.gluon.data import batchify, fetch
from cynet.gluon.data.vision import transforms


def test_array_dataset():
    one = data.ArrayDataset(np.arange(4.0))
    assert one[1] == 1 and type(one[1]) is np.float64 and len(one) == 4
    two = data.ArrayDataset(nd.ones((2, 3)), nd.array([5, 6]))
    x, y = two[1]
    assert x.shape == (3,) and y == 6 and isinstance(y, np.float32)
    with pytest.raises(AssertionError, match="array 1 has 2 samples, array 0 has 1"):
        data.ArrayDataset([1], [1, 2])
    with pytest.raises(AssertionError, match="no array was given"):
        data.ArrayDataset()


def test_transforms_are_lazy_or_not():
    calls = []

    def double(x):
        calls.append(x)
        return 2 * x

    lazy = data.SimpleDataset([1, 2]).transform(double)
    assert not calls and lazy[1] == 4 and lazy[1] == 4 and len(calls) == 2
    done = data.SimpleDataset([1, 2]).transform(double, lazy=False)
    assert len(calls) == 4 and done[1] == 4 and len(calls) == 4
    pairs = data.ArrayDataset([1, 2], [3, 4])
    assert pairs.transform(lambda a, b: a + b)[1] == 6
    assert pairs.transform_first(lambda a: -a)[1] == (-2, 4)
    assert data.SimpleDataset([1]).transform_first(lambda a: -a)[0] == -1


def test_parts():
    ten = data.SimpleDataset(range(10))
    assert list(ten.filter(lambda x: x % 3 == 0)) == [0, 3, 6, 9]
    assert list(ten.take(4)) == [0, 1, 2, 3] and len(data.SimpleDataset([1, 2]).take(100)) == 2
    shards = [list(ten.shard(4, i)) for i in range(4)]
    assert shards == [[0, 1, 2], [3, 4, 5], [6, 7], [8, 9]]
    with pytest.raises(AssertionError, match="shard: there are 4 parts, and none has index 4"):
        ten.shard(4, 4)
    assert list(ten.sample(data.SequentialSampler(3, 5))) == [5, 6, 7]
    with pytest.raises(TypeError, match="sample takes a Sampler"):
        ten.sample([1, 2])


def test_samplers():
    assert list(data.SequentialSampler(3, 5)) == [5, 6, 7]
    np.random.seed(0)
    assert list(data.RandomSampler(5)) == [2, 0, 1, 3, 4]
    seven = data.SequentialSampler(7)
    keep = data.BatchSampler(seven, 3)
    assert list(keep) == [[0, 1, 2], [3, 4, 5], [6]] and len(keep) == 3
    assert len(list(data.BatchSampler(seven, 3, "discard"))) == 2
    rolled = data.BatchSampler(seven, 3, "rollover")
    assert len(list(rolled)) == 2
    assert len(rolled) == 2 and list(rolled) == [[6, 0, 1], [2, 3, 4]]
    five = data.BatchSampler(data.SequentialSampler(5), 3, "rollover")
    assert len(five) == 1 and list(five) == [[0, 1, 2]]
    assert len(five) == 2 and list(five) == [[3, 4, 0], [1, 2, 3]]  # with the two left over
    assert len(five) == 2 and list(five) == [[4, 0, 1], [2, 3, 4]] and len(five) == 1
    with pytest.raises(ValueError, match="is 'keep', 'discard' or 'rollover', got 'foo'"):
        data.BatchSampler(seven, 3, "foo")


def test_the_seed_of_mx_decides_the_order():
    """In MXNet only NumPy's does."""
    found = []
    for _ in range(2):
        mx.random.seed(4)
        found.append([list(data.RandomSampler(20)) for _ in range(2)])
    assert found[0] == found[1] and found[0][0] != found[0][1]


@pytest.mark.parametrize(
    "samples, dtype, wanted",
    [
        ([1, 2], "int64", [1, 2]),
        ([1.5, 2.5], "float64", [1.5, 2.5]),
        ([np.uint8(1), np.uint8(2)], "uint8", [1, 2]),
        ([np.float16(1), np.float16(2)], "float16", [1, 2]),
        ([True, False], "bool", [True, False]),
        ([np.array([1, 2], "int32")] * 2, "int32", [[1, 2], [1, 2]]),
        ([nd.array([1, 2])] * 2, "float32", [[1, 2], [1, 2]]),
        ([[1, 2], [3, 4]], "int64", [[1, 2], [3, 4]]),
        ([[1.5, 2], [3, 4]], "float64", [[1.5, 2], [3, 4]]),
        ([[(1, 2)], [(3, 4)]], "int64", [[[1, 2]], [[3, 4]]]),
        ([[np.ones(2, "f"), np.zeros(2, "f")]] * 2, "float32", [[[1, 1], [0, 0]]] * 2),
    ],
)
def test_default_batches(samples, dtype, wanted):
    batch = batchify.default_batchify_fn(samples)
    assert batch.dtype == np.dtype(dtype) and batch.asnumpy().tolist() == wanted


def test_batches_of_tuples_and_dicts():
    """Dicts, named tuples and str are errors in MXNet."""
    batch = batchify.default_batchify_fn([(1, (2, [3.0]))] * 2)
    assert batch[0].asnumpy().tolist() == [1, 1] and batch[1][1].asnumpy().tolist() == [[3], [3]]
    batch = batchify.default_batchify_fn([{"x": 1, "name": "a"}, {"x": 2, "name": "b"}])
    assert batch["x"].asnumpy().tolist() == [1, 2] and batch["name"] == ["a", "b"]
    words, labels = batchify.default_batchify_fn([([4, 8], 0), ([2, 6], 1)])
    assert words.asnumpy().tolist() == [[4, 8], [2, 6]] and labels.asnumpy().tolist() == [0, 1]
    mixed = batchify.default_batchify_fn([[np.ones(2), 1], [np.ones(2), 2]])
    assert mixed[0].shape == (2, 2) and mixed[1].asnumpy().tolist() == [1, 2]
    point = collections.namedtuple("point", "x y")
    batch = batchify.default_batchify_fn([point(1, 2), point(3, 4)])
    assert type(batch) is point and batch.y.asnumpy().tolist() == [2, 4]


def test_samples_that_do_not_fit_are_named():
    told = r"sample 1, field \[1\], has shape \(3,\), the first \(2,\)"
    with pytest.raises(mx.MXNetError, match=told):
        batchify.default_batchify_fn([(0, np.ones(2)), (0, np.ones(3))])
    with pytest.raises(mx.MXNetError, match="sample 1 has other keys"):
        batchify.default_batchify_fn([{"a": 1}, {"b": 1}])
    with pytest.raises(mx.MXNetError, match="sample 1 has 1 fields, the first 2"):
        batchify.default_batchify_fn([(1, 2), (1,)])
    with pytest.raises(mx.MXNetError, match="sample 1, field .0., has 1 .* batchify.Pad joins"):
        batchify.default_batchify_fn([([1, 2], 0), ([1], 0)])
    with pytest.raises(mx.MXNetError, match="of type object; a batch is made of arrays, numbers"):
        batchify.default_batchify_fn([object()])


def test_batchify_kit():
    assert batchify.Stack()([[1, 2], [3, 4]]).asnumpy().tolist() == [[1, 2], [3, 4]]
    padded, lengths = batchify.Pad(val=-1, ret_length=True)([[1, 2, 3], [4]])
    assert padded.asnumpy().tolist() == [[1, 2, 3], [4, -1, -1]]
    assert lengths.asnumpy().tolist() == [3, 1] and lengths.dtype == np.int32
    padded = batchify.Pad(axis=1, round_to=4)([np.ones((2, 3)), np.ones((2, 1))])
    assert padded.shape == (2, 2, 4) and padded.asnumpy().sum() == 8
    with pytest.raises(mx.MXNetError, match=r"sample 1 has shape \(3, 2\), the first \(2, 2\)"):
        batchify.Pad(axis=1)([np.ones((2, 2)), np.ones((3, 2))])
    group = batchify.Group(batchify.Pad(), batchify.Stack("float32"), batchify.AsList())
    tokens, label, text = group([([1], 0, "a"), ([1, 2], 1, "b")])
    assert tokens.shape == (2, 2) and label.dtype == np.float32 and text == ["a", "b"]
    with pytest.raises(mx.MXNetError, match="sample 0 has 2 fields for 3 functions"):
        group([(1, 2)])


# --- vision --------------------------------------------------------------------------------------
def idx(array):
    return (
        struct.pack(">BBBB", 0, 0, 8, array.ndim)
        + struct.pack(f">{array.ndim}I", *array.shape)
        + array.tobytes()
    )


@pytest.mark.parametrize("kind", [data.vision.MNIST, data.vision.FashionMNIST])
def test_mnist_from_a_folder(tmp_path, rng, kind):
    images = {}
    for part in ("train", "t10k"):
        images[part] = rng.integers(0, 255, (3, 28, 28), "uint8")
        (tmp_path / f"{part}-images-idx3-ubyte").write_bytes(idx(images[part]))
        packed = gzip.compress(idx(np.arange(3, dtype="uint8")))
        (tmp_path / f"{part}-labels-idx1-ubyte.gz").write_bytes(packed)
    test = kind(str(tmp_path), train=False)
    image, label = test[2]
    assert image.shape == (28, 28, 1) and image.dtype == np.uint8
    assert label == 2 and type(label) is np.int32
    assert (image.asnumpy()[..., 0] == images["t10k"][2]).all()
    with_transform = kind(str(tmp_path), transform=lambda x, y: (x.astype("float32"), -y))
    assert with_transform[1][1] == -1 and len(with_transform) == 3
    batch = next(iter(data.DataLoader(test, 3)))
    assert batch[0].shape == (3, 28, 28, 1) and batch[1].asnumpy().tolist() == [0, 1, 2]


def test_cifar_from_a_folder(tmp_path, rng, monkeypatch):
    nowhere = (tmp_path / "nowhere").as_uri() + "/"
    monkeypatch.setattr(mx.gluon.utils, "_REPOSITORY_URL", nowhere)
    monkeypatch.setattr(data.vision.downloads, "_CIFAR_URL", nowhere)
    records = rng.integers(0, 255, (2, 3073), "uint8")
    (tmp_path / "test_batch.bin").write_bytes(records.tobytes())
    dataset = data.vision.CIFAR10(str(tmp_path), train=False)
    image, label = dataset[1]
    assert image.shape == (32, 32, 3) and label == records[1, 0]
    assert (image.asnumpy() == records[1, 1:].reshape(3, 32, 32).transpose(1, 2, 0)).all()
    wide = rng.integers(0, 100, (2, 3074), "uint8")
    (tmp_path / "train.bin").write_bytes(wide.tobytes())
    assert data.vision.CIFAR100(str(tmp_path))[0][1] == wide[0, 0]
    assert data.vision.CIFAR100(str(tmp_path), fine_label=True)[0][1] == wide[0, 1]
    (tmp_path / "test_batch.bin").write_bytes(b"abc")
    with pytest.raises(mx.MXNetError, match="expected records of 3073 bytes each, got 3 bytes"):
        data.vision.CIFAR10(str(tmp_path), train=False)
    with pytest.raises(OSError, match=r"cannot be downloaded .*put it, or data_batch_1\.bin, "):
        data.vision.CIFAR10(str(tmp_path))


def test_to_tensor_and_normalize():
    x = nd.array(np.arange(12).reshape(2, 2, 3), dtype="uint8")
    out = transforms.ToTensor()(x)
    np.testing.assert_allclose(
        out.asnumpy()[0], [[0, 0.0117647], [0.0235294, 0.0352941]], rtol=1e-5, atol=1e-7
    )
    assert transforms.ToTensor()(nd.ones((2, 4, 5, 3), dtype="uint8")).shape == (2, 3, 4, 5)
    with pytest.raises(mx.MXNetError, match="operator _image_to_tensor on"):
        transforms.ToTensor()(nd.ones((2, 2)))
    with pytest.raises(
        ValueError, match="NDArrays or Symbols, and there is none among its arguments"
    ):
        transforms.ToTensor()(np.ones((2, 2, 3)))
    out = transforms.Normalize((1, 2, 3), (1, 2, 4))(nd.ones((3, 1, 1)) * 5)
    assert out.asnumpy().ravel().tolist() == [4, 1.5, 0.5]
    assert transforms.Normalize(0.5, 0.5)(nd.ones((2, 3, 4, 4))).asnumpy().max() == 1
    with pytest.raises(mx.MXNetError, match="of 1 or 3 channels, got shape"):
        transforms.Normalize()(nd.ones((2, 4, 4)))


def test_random_transforms():
    image = nd.array(np.arange(27).reshape(3, 3, 3), dtype="uint8")
    for kind in (
        transforms.RandomBrightness(0.5),
        transforms.RandomContrast(0.5),
        transforms.RandomSaturation(0.5),
        transforms.RandomHue(0.5),
        transforms.RandomLighting(0.1),
        transforms.RandomColorJitter(0.5, 0.5, 0.5, 0.5),
        transforms.RandomFlipLeftRight(),
    ):
        out = kind(image)
        assert out.shape == image.shape and out.dtype == np.uint8
    bright = transforms.RandomBrightness(0.5)(nd.ones((3, 3, 3))).asnumpy()
    assert 0.5 <= bright.min() == bright.max() <= 1.5
    gray = nd.ones((2, 2, 3)) * 7
    np.testing.assert_allclose(transforms.RandomHue(1)(gray).asnumpy(), 7, rtol=1e-3)
    np.testing.assert_allclose(transforms.RandomSaturation(1)(gray).asnumpy(), 7, rtol=1e-3)
    np.testing.assert_allclose(transforms.RandomContrast(1)(gray).asnumpy(), 7, rtol=1e-3)


@pytest.mark.parametrize("kind, axis", [("LeftRight", 1), ("TopBottom", 0)])
def test_flips_follow_the_seed(kind, axis):
    image = nd.array(np.arange(12).reshape(2, 2, 3), dtype="uint8")
    flip = getattr(transforms, f"RandomFlip{kind}")()
    found = []
    for _ in range(2):
        mx.random.seed(2)
        found.append([flip(image).asnumpy().tolist() for _ in range(20)])
    both = [image.asnumpy().tolist(), np.flip(image.asnumpy(), axis).tolist()]
    assert found[0] == found[1] and all(each in found[0] for each in both)
    assert all(each in both for each in found[0])


def test_compose():
    chain = transforms.Compose([transforms.ToTensor(), transforms.Normalize(0.0, 1.0)])
    out = chain(nd.ones((8, 8, 3), dtype="uint8"))
    assert out.shape == (3, 8, 8) and out.asnumpy().max() == pytest.approx(1 / 255)
    assert transforms.Compose([lambda x: x + 1, transforms.Cast("float64")])(nd.ones(1)).dtype == (
        np.float64
    )


def test_a_dataset_of_files(tmp_path):
    """What data sets of users' own derive from."""

    class Squares(mx.gluon.data.dataset._DownloadedDataset):
        def _get_data(self):
            self._data, self._label = mx.nd.arange(4), [n * n for n in range(4)]

    data = Squares(str(tmp_path), None)
    assert len(data) == 4 and data[3][1] == 9 and data._root == str(tmp_path)
    assert Squares("~", lambda x, y: y + 1)[2] == 5
    with pytest.raises(NotImplementedError, match="defines no _get_data"):
        mx.gluon.data.dataset._DownloadedDataset(str(tmp_path), None)


@pytest.mark.parametrize("last", ["keep", "discard", "rollover"])
def test_lengths_of_batches_epoch_by_epoch(last):
    """`len` is what the next epoch gives, whatever is left of the one before."""
    for count in range(4, 9):
        batches, left = data.BatchSampler(data.SequentialSampler(count), 3, last), 0
        for _ in range(5):
            rows = left + count if last == "rollover" else count
            wanted = -(-rows // 3) if last == "keep" else rows // 3
            assert len(batches) == wanted == len(list(batches))
            left = rows % 3


@pytest.mark.parametrize("round_to", [None, 1, 3, 4])
def test_padding_to_a_multiple(round_to):
    """Also of lengths that are one."""
    for lengths in ([4], [1, 4], [3, 5], [8, 2], [1]):
        padded = batchify.Pad(round_to=round_to)([np.arange(n) for n in lengths])
        step = round_to or 1
        assert padded.shape == (len(lengths), -(-max(lengths) // step) * step)


@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("own", [False, True], ids=["class", "subclass"])
def test_batches_of_arrays_are_made_by_one_index_each(several, own, monkeypatch):
    made = []

    def host_array(values):
        made.append(values.shape)
        return mx.nd.array(values)

    monkeypatch.setattr(fetch, "host_array", host_array)
    x, y = np.arange(30.0).reshape(10, 3), np.arange(10)
    base = data.ArrayDataset if several else data.SimpleDataset
    kind = type("Own", (base,), {"__getitem__": lambda self, i: base.__getitem__(self, i)})
    dataset = (kind if own else base)(*((x, y) if several else (x,)))
    batches = list(data.DataLoader(dataset, batch_size=5))
    first = batches[1][0] if several else batches[1]
    assert np.array_equal(first.asnumpy(), x[5:])
    assert made == ([] if own else [(5, 3), (5,)] * 2 if several else [(5, 3)] * 2)
