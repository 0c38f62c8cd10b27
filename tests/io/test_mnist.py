"""IDX files and MNISTIter."""

import bz2
import gzip
import lzma
import struct
import tracemalloc

import numpy as np
import pytest

import cynet as mx
from cynet.base.errors import ArgumentError, FormatError, ShapeError

BOTH = "input_shape", "data_shape"


def idx(array):
    """The bytes of an array of unsigned bytes in the IDX format."""
    return struct.pack(f">HBB{array.ndim}I", 0, 8, array.ndim, *array.shape) + array.tobytes()


@pytest.fixture
def files(tmp_path, rng):
    images = rng.integers(0, 256, (10, 4, 4), dtype=np.uint8)
    labels = np.arange(10, dtype=np.uint8)
    (tmp_path / "images").write_bytes(idx(images))
    (tmp_path / "labels.gz").write_bytes(gzip.compress(idx(labels)))
    return str(tmp_path / "images"), str(tmp_path / "labels.gz"), images


def test_batches(files):
    image, label, images = files
    it = mx.io.MNISTIter(image=image, label=label, batch_size=4, shuffle=False)
    assert it.provide_data == [("data", (4, 1, 4, 4))]
    assert it.provide_label == [("softmax_label", (4,))]
    batches = list(it)
    assert [batch.label[0].asnumpy().tolist() for batch in batches] == [[0, 1, 2, 3], [4, 5, 6, 7]]
    np.testing.assert_array_equal(batches[0].data[0].asnumpy()[:, 0], images[:4].astype("f4") / 256)
    flat = mx.io.MNISTIter(image=image, label=label, batch_size=4, flat=True, shuffle=True, seed=3)
    assert flat.provide_data == [("data", (4, 16))]
    part = mx.io.MNISTIter(
        image=image, label=label, batch_size=2, shuffle=False, num_parts=2, part_index=1
    )
    assert part.next().label[0].asnumpy().tolist() == [5, 6]


def test_parts_take_all_images(files):
    """As many each as MXNet 1.9.1 gives them of ten images."""
    image, label, _ = files
    found = []
    for part in range(4):
        options = {"batch_size": 1, "shuffle": False, "num_parts": 4, "part_index": part}
        iterator = mx.io.MNISTIter(image=image, label=label, **options)
        found.append([int(batch.label[0].asnumpy()[0]) for batch in iterator])
    assert found == [[0, 1], [2, 3, 4], [5, 6], [7, 8, 9]]


def test_shuffle_is_fixed_by_the_seed(files):
    orders = [
        [
            batch.label[0].asnumpy().tolist()
            for batch in mx.io.MNISTIter(image=files[0], label=files[1], batch_size=5, seed=seed)
        ]
        for seed in (1, 1, 2)
    ]
    assert orders[0] == orders[1] != orders[2]


def test_shapes_of_images(files):
    """Either name gives it; both are to say the same, and as many numbers as an image has."""
    image, label, images = files
    size = images[0].size
    for shape in ((size,), (1, *images.shape[1:]), (size, 1)):
        for given in ({"input_shape": shape}, {"data_shape": shape}, dict.fromkeys(BOTH, shape)):
            it = mx.io.MNISTIter(image=image, label=label, batch_size=2, **given)
            assert it.provide_data[0].shape == (2, *shape)
    wrong = [dict(zip(BOTH, pair)) for pair in (((size,), (1, size)), ((1, size), (size,)))]
    wrong += [{name: (size + more,)} for name in BOTH for more in (1, -1)]
    for given in wrong:
        with pytest.raises(ShapeError, match="MNISTIter: input_shape, data_shape .* for images of"):
            mx.io.MNISTIter(image=image, label=label, batch_size=2, **given)


def test_a_batch_of_more_images_than_there_are(files):
    """Of a part, too: the largest batch is all of its images."""
    given = {"image": files[0], "label": files[1], "shuffle": False}
    for most, more in ((10, {}), (5, {"num_parts": 2})):
        assert len(list(mx.io.MNISTIter(batch_size=most, **given, **more))) == 1
        with pytest.raises(ArgumentError, match=f"batch_size {most + 1} is more than the {most}"):
            mx.io.MNISTIter(batch_size=most + 1, **given, **more)


def test_refused(files, tmp_path):
    image, label, _ = files
    with pytest.raises(FileNotFoundError, match="nowhere"):
        mx.io.MNISTIter(image="nowhere", label=label)
    with pytest.raises(ArgumentError, match="part_index"):
        mx.io.MNISTIter(image=image, label=label, num_parts=2, part_index=2)
    with pytest.raises(ShapeError, match="MNISTIter: images must have shape"):
        mx.io.MNISTIter(image=label, label=image)
    whole = (tmp_path / "images").read_bytes()
    packed = (tmp_path / "labels.gz").read_bytes()
    for bad in (
        b"",
        b"\0\0\x08",
        b"\0\0\x77\x01",
        whole[:9],
        whole[:-1],
        whole + b"x",
        b"text",
        packed[:-9],
        packed[:30],
        whole[:4] + b"\xff" * 12,
        whole[:3] + b"\xff" + bytes(1020),
        b"\0\0\x08\x04" + struct.pack(">4I", 65535, 2**32 - 1, 2**32 - 65535, 0),
        gzip.compress(whole + b"x", mtime=0),
        gzip.compress(whole[:-1], mtime=0),
        gzip.compress(whole[:5], mtime=0),
    ):
        (tmp_path / "bad").write_bytes(bad)
        with pytest.raises(FormatError, match="bad"):
            mx.io.read_idx(str(tmp_path / "bad"))


@pytest.mark.parametrize(
    "code, dtype", [(9, "i1"), (11, ">i2"), (12, ">i4"), (13, ">f4"), (14, ">f8")]
)
def test_other_dtypes(tmp_path, code, dtype):
    array = np.arange(6).reshape(2, 3).astype(dtype)
    path = tmp_path / "a"
    path.write_bytes(struct.pack(">HBB2I", 0, code, 2, 2, 3) + array.tobytes())
    np.testing.assert_array_equal(mx.io.read_idx(str(path)), array)


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
def test_compressed(tmp_path, pack):
    array = np.arange(6, dtype="u1").reshape(2, 3)
    (tmp_path / "a").write_bytes(pack(idx(array)))
    np.testing.assert_array_equal(mx.io.read_idx(tmp_path / "a"), array)
    (tmp_path / "a").write_bytes(pack(idx(array))[:-3])
    with pytest.raises(FormatError, match="data are damaged"):
        mx.io.read_idx(tmp_path / "a")


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_figures_of_a_file_cut_off(tmp_path, pack):
    path = tmp_path / "a"
    content = idx(np.arange(6, dtype="u1").reshape(2, 3))  # 4 bytes, two lengths, the values
    for length in (17, 12):
        path.write_bytes(pack(content[:length]))
        with pytest.raises(FormatError, match=rf"\(2, 3\) needs 18 bytes, found {length}$"):
            mx.io.read_idx(path)
    path.write_bytes(pack(content[:9]))
    with pytest.raises(FormatError, match="is truncated: 9 bytes, the header takes 12"):
        mx.io.read_idx(path)


def test_no_more_is_unpacked_than_the_header_says(tmp_path):
    tracemalloc.start()
    try:
        path = tmp_path / "bomb"
        path.write_bytes(gzip.compress(bytes([0, 0, 8, 1, 0, 0, 0, 5]) + bytes(1 << 26)))
        tracemalloc.reset_peak()
        with pytest.raises(FormatError, match=r"shape \(5,\) needs 13 bytes, found more"):
            mx.io.read_idx(path)
        assert tracemalloc.get_traced_memory()[1] < 1 << 23
    finally:
        tracemalloc.stop()
