"""mx.image against MXNet 1.9.1: values, random draws, files (tests/fixtures/image_cases.py)."""

import random
import struct
from pathlib import Path

import numpy as np
import pytest

import cynet as mx
from tests.fixtures.image_cases import CASES, image_and_label

FIXTURE = np.load(Path(__file__).parent.parent / "fixtures" / "image.npz")
FILES = sorted(name[5:] for name in FIXTURE.files if name.startswith("file_"))
IMAGE = image_and_label()[0]


@pytest.mark.parametrize("name", CASES)
def test_values(name):
    random.seed(7)
    np.random.seed(7)
    given = mx.nd.array(IMAGE, dtype="uint8")
    found = CASES[name](mx, given)
    assert np.array_equal(given.asnumpy(), IMAGE)
    found = found.asnumpy() if isinstance(found, mx.nd.NDArray) else np.asarray(found)
    expected = FIXTURE[name]
    assert found.shape == expected.shape and found.dtype == expected.dtype
    if found.dtype == np.uint8:  # OpenCV's bicubic of another version may round another way
        assert np.abs(found.astype(int) - expected).max() <= 1
    else:
        assert np.allclose(found, expected, rtol=1e-4, atol=2e-3)


@pytest.mark.parametrize("name", FILES)
def test_decoding(name, tmp_path):
    content = FIXTURE[f"file_{name}"]
    for flag in (0, 1):
        expected = FIXTURE[f"decoded_{name}_{flag}"]
        found = mx.image.imdecode(content.tobytes(), flag=flag)
        assert found.dtype == np.uint8 and np.array_equal(found.asnumpy(), expected)
    bgr = mx.image.imdecode(content, to_rgb=0).asnumpy()
    assert np.array_equal(bgr, FIXTURE[f"decoded_{name}_bgr"])
    path = tmp_path / name
    path.write_bytes(content)
    out = mx.nd.zeros(expected.shape, dtype="uint8")
    assert mx.image.imread(path, out=out) is out and np.array_equal(out.asnumpy(), expected)
    with pytest.raises(mx.errors.ShapeError, match="out"):
        mx.image.imread(path, out=mx.nd.zeros((2, 2, 3)))


def turned_jpeg(orientation):
    """A JPEG whose EXIF data say that it is to be turned."""
    content = FIXTURE["file_a.jpg"].tobytes()
    tags = struct.pack("<HHIHH", 0x112, 3, 1, orientation, 0)
    exif = b"Exif\0\0II*\0" + struct.pack("<IH", 8, 1) + tags + bytes(4)
    return content[:2] + b"\xff\xe1" + struct.pack(">H", len(exif) + 2) + exif + content[2:]


def test_which_images_are_turned(tmp_path):
    """As in MXNet 1.9.1, and as OpenCV does it: all but those that are taken as they are."""
    plain, content = FIXTURE["decoded_a.jpg_1"], turned_jpeg(6)
    (tmp_path / "a.jpg").write_bytes(content)
    upright = np.rot90(plain, -1)
    assert np.array_equal(mx.image.imdecode(content).asnumpy(), upright)
    assert np.array_equal(mx.image.imread(tmp_path / "a.jpg").asnumpy(), upright)
    grey = mx.image.imdecode(content, flag=0).asnumpy()
    assert np.array_equal(grey, np.rot90(FIXTURE["decoded_a.jpg_0"], -1))
    assert np.array_equal(mx.image.imdecode(content, flag=-1, to_rgb=1).asnumpy()[..., ::-1], plain)
    for orientation, turned in (
        (1, plain),
        (2, plain[:, ::-1]),
        (3, plain[::-1, ::-1]),
        (4, plain[::-1]),
        (5, plain.transpose(1, 0, 2)),
        (8, np.rot90(plain)),
    ):
        assert np.array_equal(mx.image.imdecode(turned_jpeg(orientation)).asnumpy(), turned)
    record = mx.recordio.MXRecordIO(tmp_path / "a.rec", "w")
    record.write(mx.recordio.pack(mx.recordio.IRHeader(0, 1.0, 0, 0), content))
    record.close()
    height, width = plain.shape[:2]
    options = {"path_imgrec": str(tmp_path / "a.rec"), "batch_size": 1}
    batch = next(mx.image.ImageIter(data_shape=(3, width, height), **options))
    assert np.array_equal(batch.data[0].asnumpy()[0], upright.transpose(2, 0, 1))
    batch = next(mx.io.ImageRecordUInt8Iter(data_shape=(3, width, height), **options))
    assert np.array_equal(batch.data[0].asnumpy()[0], upright.transpose(2, 0, 1))


def test_compressed_arrays():
    content = FIXTURE["file_a.png"]
    given = mx.nd.array(content, dtype="uint8")
    assert np.array_equal(mx.image.imdecode(given).asnumpy(), FIXTURE["decoded_a.png_1"])
    with pytest.raises(TypeError, match="is bytes, got an array of float32"):
        mx.image.imdecode(content.astype("float32"))


def test_what_is_no_image(tmp_path):
    for content, says in ((b"", "no bytes"), (b"abc", "3 bytes that are not an image")):
        with pytest.raises(mx.errors.FormatError, match=says):
            mx.image.imdecode(content)
    with pytest.raises(TypeError, match="bytes or an array of uint8, got str"):
        mx.image.imdecode("abc")
    (tmp_path / "a.jpg").write_bytes(b"text")
    with pytest.raises(mx.errors.FormatError, match=r"a\.jpg"):
        mx.image.imread(tmp_path / "a.jpg")
    with pytest.raises(FileNotFoundError, match="no such file or directory"):
        mx.image.imread(tmp_path / "b.jpg")


@pytest.mark.parametrize("name, at", [("a.png", 16), ("a.bmp", 18)])
def test_a_size_that_its_bytes_cannot_hold(name, at):
    content = bytearray(FIXTURE[f"file_{name}"].tobytes())
    content[at : at + 8] = b"\0\0\x7f\xff" * 2 if name == "a.png" else b"\xff\x7f\0\0" * 2
    with pytest.raises(mx.errors.FormatError, match="32767 x 32767 pixels"):
        mx.image.imdecode(bytes(content))
    jpeg = bytearray(FIXTURE["file_a.jpg"].tobytes())
    start = jpeg.index(b"\xff\xc0")
    jpeg[start + 5 : start + 9] = b"\x7f\xff\x7f\xff"
    with pytest.raises(mx.errors.FormatError, match="32767 x 32767 pixels"):
        mx.image.imdecode(bytes(jpeg))


def test_wrong_arguments():
    image = mx.nd.array(IMAGE, dtype="uint8")
    with pytest.raises(ValueError, match="interp is 0 to 4, 9 or 10"):
        mx.image.imresize(image, 3, 3, 5)
    with pytest.raises(ValueError, match="width and height are from 1"):
        mx.image.imresize(image, 0, 3)
    with pytest.raises(mx.errors.ShapeError, match=r"\(H, W, C\)"):
        mx.image.imresize(image[:, :, 0], 3, 3)
    with pytest.raises(ValueError, match="has nothing at"):
        mx.image.fixed_crop(image, 31, 0, 3, 3)
    with pytest.raises(ValueError, match="type is 0 to 4"):
        mx.image.copyMakeBorder(image, 1, 1, 1, 1, type=5)
    with pytest.raises(ValueError, match="exclude each other"):
        mx.image.imrotate(mx.nd.zeros((3, 4, 4)), 3, zoom_in=True, zoom_out=True)
    with pytest.raises(TypeError, match="float32"):
        mx.image.imrotate(mx.nd.zeros((3, 4, 4), dtype="uint8"), 3)
    with pytest.raises(ValueError, match="rand_resize needs rand_crop"):
        mx.image.CreateAugmenter((3, 4, 4), rand_resize=True)
    with pytest.raises(ValueError, match="channels, height, width"):
        mx.image.CreateAugmenter((4, 4, 3))


def test_without_opencv(monkeypatch):
    from cynet.base import compat, opencv

    def missing(name):
        raise ImportError(f"No module named {name!r}")

    monkeypatch.setattr(compat.importlib, "import_module", missing)
    opencv.cv.cache_clear()
    try:
        with pytest.raises(
            mx.errors.CynetError, match=r"opencv-python-headless: pip install 'cynet-mx\[image\]'"
        ):
            mx.image.imdecode(b"abc")
    finally:
        opencv.cv.cache_clear()


def test_dumps():
    """As MXNet tells them."""
    image = mx.image
    assert image.ResizeAug(3).dumps() == '["resizeaug", {"size": 3, "interp": 2}]'
    assert image.ColorNormalizeAug(np.ones(3), None).dumps() == (
        '["colornormalizeaug", {"mean": [1.0, 1.0, 1.0], "std": null}]'
    )
    assert image.ColorJitterAug(0.1, 0, 0.3).dumps() == [
        "colorjitteraug",
        [
            '["brightnessjitteraug", {"brightness": 0.1}]',
            '["saturationjitteraug", {"saturation": 0.3}]',
        ],
    ]
    assert image.RandomSizedCropAug((2, 3), 0.5, (0.7, 1.3)).dumps() == (
        '["randomsizedcropaug", {"size": [2, 3], "area": 0.5, "ratio": [0.7, 1.3], "interp": 2}]'
    )


def test_an_augmenter_of_the_user():
    class Twice(mx.image.Augmenter):
        def __call__(self, src):
            return src * 2

    both = mx.image.SequentialAug([mx.image.CastAug(), Twice(), mx.image.CastAug("int32")])
    assert np.array_equal(both(mx.nd.array(IMAGE)).asnumpy(), IMAGE.astype(np.int32) * 2)
    assert "twice" in both.dumps()[1][1]


WHOLE = np.arange(5 * 7 * 3, dtype="uint8").reshape(5, 7, 3)


@pytest.mark.parametrize("x, y, w, h", [(0, 0, 7, 5), (6, 4, 1, 1), (0, 4, 7, 1), (6, 0, 1, 5)])
def test_the_largest_crops(x, y, w, h):
    found = mx.image.fixed_crop(mx.nd.array(WHOLE, dtype="uint8"), x, y, w, h)
    np.testing.assert_array_equal(found.asnumpy(), WHOLE[y : y + h, x : x + w])


@pytest.mark.parametrize(
    "x, y, w, h",
    [
        (-1, 0, 3, 3),
        (0, -1, 3, 3),
        (0, 0, 0, 3),
        (0, 0, 3, 0),
        (7, 0, 1, 1),
        (0, 5, 1, 1),
        (0, -5, 3, 10),
        (-7, 0, 14, 3),
        (-7, -5, 14, 10),
    ],
)
def test_crops_that_are_none(x, y, w, h):
    with pytest.raises(mx.errors.ArgumentError, match="is none|has nothing at"):
        mx.image.fixed_crop(mx.nd.array(WHOLE, dtype="uint8"), x, y, w, h)
