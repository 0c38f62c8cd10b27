"""Exact limits and rare ways of what reads images, each beside a value that is written here."""

import json
import logging
import struct
import threading
from pathlib import Path

import numpy as np
import pytest

import cynet as mx
from cynet.base.errors import ArgumentError, ArgumentTypeError, FormatError, StateError
from cynet.image import image_header
from cynet.image.box_augment import BoxAugmenter
from cynet.image.boxes import (
    box_areas,
    intersection_areas,
    mirror_boxes,
    move_boxes,
    select_nonempty_boxes,
    split_box_label,
)
from cynet.image.geometry import checked_numbers, choose_interpolation
from cynet.image.record_augment import RecordAugmenter
from cynet.image.record_options import AUGMENT_OPTIONS, BOX_AUGMENT_OPTIONS
from cynet.image.rotate import check_angle_limits
from cynet.image.source import (
    FileSource,
    RecordSource,
    parse_image_list,
    part_range,
    read_list_file,
    record_files,
)
from tests.fixtures import augmenter_lists as lists

cv2 = pytest.importorskip("cv2")

PNG = b"\x89PNG\r\n\x1a\n"


def png(width, height, rest=b""):
    return PNG + struct.pack(">I", 13) + b"IHDR" + struct.pack(">II", width, height) + rest


def jpeg(width, height, before=b"", mark=0xC0):
    return b"\xff\xd8" + before + struct.pack(">BBHBHH", 0xFF, mark, 17, 8, height, width)


def bmp(width, height):
    return b"BM" + bytes(16) + struct.pack("<ii", width, height)


def gif(width, height):
    return b"GIF89a" + struct.pack("<HH", width, height)


APP = b"\xff\xe0" + struct.pack(">H", 6) + b"abcd"
SIZES = {
    "png": (png(7, 5), (7, 5)),
    "jpeg": (jpeg(7, 5), (7, 5)),
    "bmp": (bmp(7, 5), (7, 5)),
    "bmp from above": (bmp(7, -5), (7, 5)),
    "bmp turned": (bmp(-7, 5), (7, 5)),
    "gif": (gif(7, 5), (7, 5)),
    "gif 87": (b"GIF87a" + gif(7, 5)[6:], (7, 5)),
    "behind a segment": (jpeg(7, 5, APP), (7, 5)),
    "behind two": (jpeg(7, 5, APP + APP), (7, 5)),
    "filled": (jpeg(7, 5, b"\xff\xff"), (7, 5)),
    **{f"mark {m:#x}": (jpeg(7, 5, bytes([0xFF, m])), (7, 5)) for m in (0xD0, 0xD9, 0x01)},
    **{f"frame {m:#x}": (jpeg(7, 5, mark=m), (7, 5)) for m in (0xC1, 0xC3, 0xC5, 0xCB, 0xCF)},
    **{f"no frame {m:#x}": (jpeg(7, 5, mark=m), None) for m in (0xC4, 0xC8, 0xCC, 0xBF, 0xE0)},
    "no mark": (b"\xff\xd8\x00" + jpeg(7, 5)[2:], None),
    "another kind": (b"text of no image at all, but long", None),
    "nothing": (b"", None),
}


@pytest.mark.parametrize("name", SIZES)
def test_the_size_that_a_head_says(name):
    content, size = SIZES[name]
    assert image_header._declared_size(content) == size
    if size is not None:  # whole heads alone
        assert image_header._declared_size(content[:-1]) is None


@pytest.mark.parametrize(("content", "most"), [(1, 8388608), (10000, 11000000)])
@pytest.mark.parametrize("more", [0, 1])
def test_the_most_pixels(content, most, more):
    """2**23, or 1100 for each byte."""
    head = png(most + more, 1)
    # no chunk behind the first: its length would be looked at
    head += bytes(max(content - len(head), 0))
    if more:
        with pytest.raises(FormatError, match=f"says that it has {most + 1} x 1 pixels: more than"):
            image_header.check_header(head)
    else:
        image_header.check_header(head)


@pytest.mark.parametrize("length", [0, 41, 42, 1 << 31])
def test_the_longest_chunk(length):
    content = png(1, 1, bytes(9) + struct.pack(">I", length))
    image_header.check_header(content)  # of which the head of 8 bytes is not there
    content += b"tEXt"
    assert len(content) == 41
    if length <= len(content):
        image_header.check_header(content)
    else:
        with pytest.raises(FormatError, match=f"says that {length} bytes follow at offset 33"):
            image_header.check_header(content)


# --- boxes ----------------------------------------------------------------------------------------
BOXES = np.array(
    [[3, 0.1, 0.2, 0.5, 0.8, 9], [4, 0.5, 0.5, 0.5, 0.9, 8], [5, 0.6, 0.9, 0.9, 0.3, 7]]
)


def test_arithmetic_of_boxes():
    np.testing.assert_allclose(box_areas(BOXES[:, 1:5]), [0.24, 0, 0])
    np.testing.assert_array_equal(select_nonempty_boxes(BOXES), BOXES[:1])
    found = intersection_areas(BOXES[:1, 1:5], (0.3, 0.0, 1.0, 0.4))
    np.testing.assert_allclose(found, [0.2 * 0.2])
    np.testing.assert_allclose(intersection_areas(BOXES[:1, 1:5], (0.5, 0, 1, 1)), [0])
    np.testing.assert_allclose(mirror_boxes(BOXES[:1]), [[3, 0.5, 0.2, 0.9, 0.8, 9]])
    np.testing.assert_allclose(
        move_boxes(BOXES[:1], 0.1, 0.2, 0.5, 0.4), [[3, 0.0, 0.0, 0.8, 1.5, 9]], atol=1e-12
    )
    before = BOXES.copy()
    mirror_boxes(BOXES), move_boxes(BOXES, 0.1, 0.2, 0.3, 0.4)
    np.testing.assert_array_equal(BOXES, before)


def test_heads_of_labels():
    head, boxes = split_box_label([3, 6, 7, *range(12)])
    assert head.tolist() == [3, 6, 7]
    np.testing.assert_array_equal(boxes, np.arange(12).reshape(2, 6))
    head, boxes = split_box_label([2, 5])
    assert head.tolist() == [2, 5] and boxes.shape == (0, 5)


# --- numbers --------------------------------------------------------------------------------------
def test_methods_of_interpolation():
    for interp in range(5):
        assert choose_interpolation(interp) == interp
    for sizes, wanted in (
        ((4, 4, 5, 5), 2),
        ((4, 4, 3, 3), 3),
        ((4, 4, 5, 3), 1),
        ((4, 4, 3, 5), 1),
        ((4, 4, 4, 5), 1),
        ((4, 4, 5, 4), 1),
        ((4, 4, 4, 3), 1),
        ((4, 4, 3, 4), 1),
        ((4, 4, 4, 4), 1),
        (None, 2),
        ((), 2),
    ):
        assert choose_interpolation(9, sizes) == wanted
    assert {choose_interpolation(10) for _ in range(200)} == {0, 1, 2, 3, 4}
    for interp in (-1, 5, 8, 11):
        with pytest.raises(ArgumentError, match=f"interp is 0 to 4, 9 or 10, got {interp}"):
            choose_interpolation(interp)
    with pytest.raises(ArgumentError, match="sizes are 4"):
        choose_interpolation(9, (1, 2, 3))


def test_numbers_and_texts_of_them():
    for given, read in ((1, (1.0,)), ("2", (2.0,)), ("(1, 2.5)", (1.0, 2.5)), ([], ())):
        assert checked_numbers("values", given) == read
    for given in ("x", None, ["a"], "(1", object()):
        with pytest.raises(ArgumentTypeError, match="values are numbers, got"):
            checked_numbers("values", given)


@pytest.mark.parametrize(
    ("given", "kind", "hint"),
    [
        (15, TypeError, r"\(-15, 15\) turns to both sides"),
        (-15, TypeError, r"\(-15, 15\) turns"),
        (True, TypeError, "got True$"),
        ("ab", TypeError, "got 'ab'"),
        ([1], ValueError, r"got \[1\]"),
        ((1, 2, 3), ValueError, r"got \(1, 2, 3\)"),
        (None, TypeError, "got None$"),
    ],
)
def test_limits_of_angles(given, kind, hint):
    assert check_angle_limits((-1, "2")) == (-1.0, 2.0)
    with pytest.raises(kind, match=r"angle_limits are \(low, high\), .*" + hint):
        check_angle_limits(given)


def test_shapes_of_what_is_turned():
    image, batch = mx.nd.ones((1, 3, 3)), mx.nd.ones((2, 1, 3, 3))
    for angles in (30, [30, 40], mx.nd.array([30, 40]), np.float32(3)):
        assert mx.image.imrotate(batch, angles).shape == batch.shape
    for angles in ([30], [30, 40, 50], [[30, 40]]):
        with pytest.raises(mx.errors.ShapeError, match="angles for 2 images"):
            mx.image.imrotate(batch, angles)
    with pytest.raises(TypeError, match="rotation_degrees of one image is a number"):
        mx.image.imrotate(image, [30])
    for shape in ((3, 3), (1, 1, 1, 3, 3)):
        with pytest.raises(mx.errors.ShapeError, match="imrotate takes"):
            mx.image.imrotate(mx.nd.ones(shape), 3)


def test_turns_of_each_image():
    """A quarter turn counterclockwise, another one for each image of a batch, and half a turn."""
    image = np.arange(9, dtype="float32").reshape(1, 3, 3)
    batch = mx.nd.array(np.stack([image] * 3))
    found = mx.image.imrotate(batch, [0, 90, 180]).asnumpy()
    for made, times in zip(found, range(3)):
        np.testing.assert_allclose(made[0], np.rot90(image[0], times), atol=1e-4)
    found = mx.image.imrotate(mx.nd.ones((1, 9, 9)), 45).asnumpy()[0]
    assert found[0, 0] == 0 and found[4, 4] == pytest.approx(1)
    assert mx.image.imrotate(mx.nd.ones((1, 9, 9)), 45, zoom_in=True).asnumpy().min() > 0.99
    out = mx.image.imrotate(mx.nd.ones((1, 9, 9)), 45, zoom_out=True).asnumpy()[0]
    y, x = np.mgrid[-4:5, -4:5]  # a diamond whose corners touch the border
    assert (out[abs(x) + abs(y) <= 4] > 0.999).all() and (out[abs(x) + abs(y) > 5] == 0).all()


# --- where images come from -----------------------------------------------------------------------
def write(path, count, first=0, label=None):
    record = mx.recordio.MXIndexedRecordIO(f"{path}.idx", f"{path}.rec", "w")
    for i in range(first, first + count):
        header = mx.recordio.IRHeader(0, float(i) if label is None else label, i, 0)
        record.write_idx(i, mx.recordio.pack(header, b"%d" % i))
    record.close()
    return f"{path}.rec"


def test_names_of_files_of_records(tmp_path):
    b, a = write(tmp_path / "b", 1), write(tmp_path / "a", 1)
    assert record_files(a) == [a] and record_files(f"file://{a}") == [a]
    assert record_files(f"{b};{a}") == [b, a] == record_files(f"{b};;{a};")
    assert record_files(tmp_path) == [a, b] and record_files(f"{b};{tmp_path}") == [b, a, b]
    assert record_files("none.rec") == ["none.rec"]
    both = tmp_path / "x;y.rec"
    both.write_bytes(b"")
    assert record_files(both) == [str(both)]  # which is there by this name
    (tmp_path / "empty").mkdir()
    with pytest.raises(FormatError, match=r"empty' is a folder without files \*.rec"):
        record_files(tmp_path / "empty")


def test_samples_of_several_files(tmp_path):
    paths = [write(tmp_path / name, n, k) for name, n, k in (("a", 2, 0), ("b", 1, 2), ("c", 3, 3))]
    source = RecordSource(";".join(paths))
    assert len(source) == 6 and source.keys is None
    assert [source.sample_with_id(i) for i in range(6)] == [
        (i, float(i), b"%d" % i) for i in range(6)
    ]
    assert [source.name(i).partition("', ")[0][-5:] for i in range(6)] == [
        "a.rec",
        "a.rec",
        "b.rec",
        "c.rec",
        "c.rec",
        "c.rec",
    ]
    with pytest.raises(StateError, match="are 3 files of records, not one"):
        source.single_file()
    with pytest.raises(ArgumentError, match="one index, .*a.idx'.*, for 3 files of records"):
        RecordSource(";".join(paths), tmp_path / "a.idx")
    one = RecordSource(paths[2], tmp_path / "c.idx", labels={3: [1, 2], 4: [3, 4]})
    assert one.single_file() == paths[2] and one.keys == [3, 4, 5]
    assert one.label(0) == [1, 2] and one.sample(1) == ([3, 4], b"4") and one.label_size(1) == 2
    for call in (one.label, one.label_size):
        with pytest.raises(FormatError, match=r"c.rec'.*: the list has no image with number 5"):
            call(2)


@pytest.mark.parametrize(("label", "size"), [(3.0, 1), ([1.0], 1), ([1.0, 2.0, 3.0], 3), ([], 1)])
def test_sizes_of_labels(label, size, tmp_path):
    assert RecordSource(write(tmp_path / "a", 1, label=label)).label_size(0) == size


def test_list_files(tmp_path):
    path = tmp_path / "a.lst"
    path.write_text("3\t1.5\tx.png\n\n  \n4.0\t1\t2\tb/y z.png\n")
    found = read_list_file(path)
    assert {k: (v[0].tolist(), v[1]) for k, v in found.items()} == {
        3: ([1.5], "x.png"),
        4: ([1, 2], "b/y z.png"),
    }
    for line in ("3\tx.png", "x\t1\ty", "3\ty\tx", "inf\t1\tx", "nan\t1\tx", "\xff"):
        path.write_bytes(b"1\t1\ta\n" + line.encode("latin-1") + b"\n")
        with pytest.raises(FormatError, match=r"a.lst', line 2: a line has number, label"):
            read_list_file(path)


def test_lists_in_memory(tmp_path):
    found = parse_image_list([[1, "a"], [[1, 2], "b"], [1, 2, 3, tmp_path / "c"]])
    assert [(v.tolist(), p) for v, p in found] == [
        ([1], "a"),
        ([1, 2], "b"),
        ([1, 2, 3], str(tmp_path / "c")),
    ]
    for wrong in (["a"], [1, 2], ["a", 1], []):
        with pytest.raises(ArgumentTypeError, match=r"imglist has items \[label, path\], got"):
            parse_image_list([wrong])
    for root, wanted in ((None, "x"), ("", "x"), ("r", "r/x"), (tmp_path, f"{tmp_path}/x")):
        assert FileSource([(0, "x")], root).path(0) == wanted


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ((7, 0, 1), range(7)),
        ((7, 0, 2), range(3)),
        ((7, 1, 2), range(3, 6)),
        ((2, 2, 3), range(0)),
        ((9, 2, 3), range(6, 9)),
    ],
)
def test_parts(given, wanted):
    assert list(part_range(*given)) == list(wanted)
    for wrong in ((7, -1, 2), (7, 2, 2), (7, 0, 0), (7, 1, 1)):
        with pytest.raises(ArgumentError, match=r"part_index is from 0 to num_parts - 1, got"):
            part_range(*wrong)


# --- lists of augmenters --------------------------------------------------------------------------
LISTS = json.loads((Path(lists.__file__).with_name("augmenter_lists.json")).read_text())


def test_lists_of_augmenters_are_those_of_mxnet():
    """And the crops that they draw."""
    made = json.loads(json.dumps(lists.told(mx)))
    assert made.keys() == LISTS.keys()
    assert not {name: made[name] for name in LISTS if made[name] != LISTS[name]}


SECOND = {
    "ResizeAug": {"size": 9, "interp": 3},
    "ForceResizeAug": {"size": (9, 8), "interp": 3},
    "RandomCropAug": {"size": (9, 8), "interp": 3},
    "CenterCropAug": {"size": (9, 8), "interp": 0},
    "RandomSizedCropAug": {"size": (9, 8), "area": 0.3, "ratio": (0.5, 0.6), "interp": 4},
    "HorizontalFlipAug": {"p": 0.3},
    "BrightnessJitterAug": {"brightness": 0.3},
    "ContrastJitterAug": {"contrast": 0.3},
    "SaturationJitterAug": {"saturation": 0.3},
    "HueJitterAug": {"hue": 0.3},
    "RandomGrayAug": {"p": 0.3},
    "LightingAug": {"alphastd": 0.3, "eigval": [1.0, 2.0, 3.0], "eigvec": [[1.0] * 3] * 3},
    "ColorNormalizeAug": {"mean": [1.0, 2.0, 3.0], "std": [4.0, 5.0, 6.0]},
    "DetHorizontalFlipAug": {"p": 0.3},
    "DetRandomCropAug": {
        "min_object_covered": 0.3,
        "aspect_ratio_range": (0.5, 0.6),
        "area_range": (0.2, 0.4),
        "min_eject_coverage": 0.7,
        "max_attempts": 3,
    },
    "DetRandomPadAug": {
        "aspect_ratio_range": (0.5, 0.6),
        "area_range": (1.2, 1.4),
        "max_attempts": 3,
        "pad_val": (1, 2, 3),
    },
}


@pytest.mark.parametrize("name", SECOND)
def test_augmenters_tell_what_they_were_given(name):
    given = {k: np.array(v) if isinstance(v, list) else v for k, v in SECOND[name].items()}
    wanted = json.loads(json.dumps([name.lower(), SECOND[name]]))
    assert json.loads(getattr(mx.image, name)(**given).dumps()) == wanted


def test_jitters_that_do_nothing_are_left_out():
    for given, names in (
        ((0.1, 0.2, 0.3), "bcs"),
        ((0, 0.2, 0.3), "cs"),
        ((0.1, 0, 0), "b"),
        ((0, 0.2, 0), "c"),
        ((0, 0, 0.3), "s"),
        ((0, 0, 0), ""),
    ):
        told = mx.image.ColorJitterAug(*given).dumps()[1]
        assert "".join(json.loads(each)[0][0] for each in told) == names


@pytest.mark.parametrize("what", ["mean", "std"])
@pytest.mark.parametrize("make", [mx.image.CreateAugmenter, mx.image.CreateDetAugmenter])
def test_numbers_of_three_colors(make, what):
    for given in ([1.0], [1.0, 2.0, 3.0], np.ones(3), mx.nd.ones(3)):
        assert type(make((3, 4, 4), **{what: given})[-1]).__name__ in (
            "ColorNormalizeAug",
            "DetBorrowAug",
        )
    for given in ([1.0, 2.0], [], [[1.0, 2.0, 3.0]], 1.0, [1.0] * 4):
        with pytest.raises(ArgumentError, match=f"{what} has 1 number or 3, got"):
            make((3, 4, 4), **{what: given})


# --- what record iterators draw -------------------------------------------------------------------
def picture(seed, shape=(18, 25, 3)):
    return np.random.default_rng(seed).integers(0, 256, shape, dtype=np.uint8)


@pytest.mark.parametrize(
    "options",
    [
        {"max_rotate_angle": 40},
        {"max_rotate_angle": 1},
        {"rotate": 30},
        {"max_shear_ratio": 0.3},
        {"min_random_scale": 0.5, "max_random_scale": 1.5},
        {"max_aspect_ratio": 0.4},
        {"min_aspect_ratio": 0.6, "max_aspect_ratio": 1.7},
        {"max_img_size": 12},
        {"min_img_size": 30},
        {
            "max_rotate_angle": 20,
            "max_shear_ratio": 0.2,
            "min_random_scale": 0.8,
            "max_aspect_ratio": 0.2,
            "fill_value": 9,
            "inter_method": 2,
        },
    ],
    ids=str,
)
def test_records_turns(options):
    """One affine map: rotation, shear, scale and ratio of sides, around the middle."""
    o = {
        "max_rotate_angle": 0,
        "rotate": -1,
        "max_shear_ratio": 0.0,
        "min_random_scale": 1.0,
        "max_random_scale": 1.0,
        "max_aspect_ratio": 0.0,
        "min_aspect_ratio": None,
        "min_img_size": 0.0,
        "max_img_size": 1e10,
        "fill_value": 255,
        "inter_method": 1,
        **options,
    }
    drawn = set()
    for seed in range(25):
        x, draws = picture(seed), np.random.default_rng(seed)
        shear = draws.uniform(-o["max_shear_ratio"], o["max_shear_ratio"])
        angle = int(draws.integers(-o["max_rotate_angle"], o["max_rotate_angle"] + 1))
        angle = o["rotate"] if o["rotate"] > 0 else angle
        scale = draws.uniform(o["min_random_scale"], o["max_random_scale"])
        if o["min_aspect_ratio"] is None:
            ratio = 1 + draws.uniform(-o["max_aspect_ratio"], o["max_aspect_ratio"])
        else:
            ratio = draws.uniform(o["min_aspect_ratio"], o["max_aspect_ratio"])
        drawn.add(angle)
        a, b = np.cos(np.deg2rad(angle)), np.sin(np.deg2rad(angle))
        hs = 2 * scale / (1 + ratio)  # the names of MXNet's own documentation
        ws = ratio * hs
        sides = np.clip(
            np.float32(scale) * np.float32([25, 18]), o["min_img_size"], o["max_img_size"]
        )
        w, h = (int(each) for each in sides)
        m = np.array([[hs * a - shear * b * ws, hs * b + shear * a * ws, 0], [-b * ws, a * ws, 0]])
        m[:, 2] = [(sides[i] - m[i, 0] * 25 - m[i, 1] * 18) / 2 for i in (0, 1)]
        wanted = cv2.warpAffine(
            x, m, (w, h), flags=o["inter_method"], borderValue=[o["fill_value"]] * 4
        )
        known = {key: option.default for key, option in AUGMENT_OPTIONS.items()} | options
        found = RecordAugmenter(known, (3, h, w))(x, np.random.default_rng(seed))
        assert np.abs(found.astype(int) - wanted).max() <= 1
    if options.get("max_rotate_angle", 0) == 1:
        assert drawn == {-1, 0, 1}


def boxed(x, seed, shape=(3, 18, 25), **options):
    known = {key: option.default for key, option in BOX_AUGMENT_OPTIONS.items()} | options
    return BoxAugmenter(known, shape)(x, np.zeros((0, 5)), np.random.default_rng(seed))[0]


@pytest.mark.parametrize("name, channel", [("hue", 0), ("illumination", 1), ("saturation", 2)])
@pytest.mark.parametrize("most", [1, 30])
def test_records_of_boxes_have_colors_of_their_own(name, channel, most):
    """Each with its probability, from -most to most."""
    drawn = set()
    for seed in range(40):
        x, draws = picture(seed), np.random.default_rng(seed)
        happens = draws.random() < 0.6
        shift = int(draws.integers(-most, most + 1)) if happens else 0
        drawn.add(shift)
        wanted = x
        if shift:
            hls = cv2.cvtColor(x, cv2.COLOR_RGB2HLS).astype(int)
            hls[..., channel] += shift
            hls[..., 0] %= 180
            wanted = cv2.cvtColor(hls.clip(0, 255).astype(np.uint8), cv2.COLOR_HLS2RGB)
        found = boxed(x, seed, **{f"max_random_{name}": most, f"random_{name}_prob": 0.6})
        np.testing.assert_array_equal(found, wanted)
    assert min(drawn) < 0 < max(drawn) and (most > 1 or drawn == {-1, 0, 1})


def test_records_of_boxes_have_contrasts_of_their_own():
    for seed in range(20):
        x, draws = picture(seed), np.random.default_rng(seed)
        wanted = x
        if draws.random() < 0.7:
            wanted = (x * np.float32(1 + draws.uniform(-0.5, 0.5))).clip(0, 255).astype(np.uint8)
        found = boxed(x, seed, max_random_contrast=0.5, random_contrast_prob=0.7)
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize(
    ("shape", "mode", "wanted"),
    [
        ((18, 25), "force", (10, 12)),
        ((18, 25), "fit", (8, 12)),
        ((18, 25), "shrink", (8, 12)),
        ((5, 6), "fit", (10, 12)),
        ((5, 6), "shrink", (5, 6)),
        ((10, 12), "shrink", (10, 12)),
        ((11, 12), "shrink", (10, 10)),
        ((1, 300), "fit", (1, 12)),
        ((300, 1), "fit", (10, 1)),
        ((300, 1), "shrink", (10, 1)),
        ((10, 13), "shrink", (9, 12)),
    ],
)
def test_last_sizes(shape, mode, wanted):
    assert boxed(picture(1, (*shape, 3)), 0, (3, 10, 12), resize_mode=mode).shape[:2] == wanted


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"max_pad_scale": 0.9}, "max_pad_scale is 1 or more, got 0.9"),
        ({"aug_seq": "mine"}, "aug_seq is 'det_aug_default', got 'mine'"),
        ({"inter_method": 11}, "inter_method is 0 to 4, 9 or 10, got 11"),
        ({"num_crop_sampler": 0}, "num_crop_sampler is 1 or more, got 0"),
        ({"num_crop_sampler": 3, "min_crop_scales": (0, 0)}, "has 1 or num_crop_sampler=3 values"),
        ({"max_crop_scales": (1.1,)}, "max_crop_scales are above 0 and at most 1, got 1.1"),
        ({"max_crop_scales": (0.0,)}, "max_crop_scales are above 0 and at most 1, got 0.0"),
        (
            {"min_crop_scales": (0.6,), "max_crop_scales": (0.5,)},
            "min_crop_scales <= max_crop_scales",
        ),
        ({"min_crop_overlaps": (-0.1,)}, "min_crop_overlaps=-0.1 and max_crop_overlaps=1.0"),
        ({"max_crop_aspect_ratios": (np.inf,)}, "max_crop_aspect_ratios=inf"),
    ],
)
def test_options_of_boxes_that_are_wrong(options, told):
    with pytest.raises(ArgumentError, match=told):
        boxed(picture(1), 0, rand_crop_prob=0.5, **options)


def test_options_of_boxes_at_their_limits():
    for options in (
        {"max_pad_scale": 1.0},
        {"max_crop_scales": (1.0,)},
        {"aug_seq": ""},
        {"min_crop_scales": (0.5,), "max_crop_scales": (0.5,)},
        {"inter_method": 10},
        {"num_crop_sampler": 2, "min_crop_scales": (0, 0.1)},
    ):
        assert boxed(picture(1), 0, rand_crop_prob=0.5, **options).shape == (18, 25, 3)


@pytest.mark.parametrize("given", [{"batch_size": 0}, {"label_width": 0}, {"batch_size": -1}])
def test_iterators_of_no_images(given, folder):
    with pytest.raises(ArgumentError, match="batch_size and label_width are 1 or more, got"):
        mx.image.ImageIter(
            **{
                "batch_size": 1,
                "data_shape": (3, 8, 8),
                "path_imgrec": folder / "images.rec",
                **given,
            }
        )


def test_shapes_of_labels_are_logged_on_request(folder, caplog):
    caplog.set_level(logging.INFO)
    one, other = (
        mx.image.ImageDetIter(1, (3, 8, 8), path_imgrec=folder / "boxes.rec") for _ in range(2)
    )
    one.sync_label_shape(other)
    assert not caplog.records
    one.sync_label_shape(other, verbose=True)
    assert [each.getMessage() for each in caplog.records] == ["label shape: (2, 5)"]


def test_threads_end_when_an_iterator_is_closed(folder):
    before = threading.active_count()
    made = mx.io.ImageRecordIter(
        path_imgrec=folder / "images.rec",
        batch_size=2,
        verbose=False,
        data_shape=(3, 8, 8),
        preprocess_threads=2,
        prefetch_buffer=5,
    )
    assert next(made).pad == 0
    names = [each.name for each in threading.enumerate() if "cynet-images" in each.name]
    assert 1 <= len(names) <= 2
    made.close()
    assert threading.active_count() <= before
    assert next(made).pad == 0
    made.close()


# --- borders, windows and batches -----------------------------------------------------------------
@pytest.mark.parametrize("channels", [1, 3, 4])
def test_borders_of_one_number(channels):
    x = mx.nd.array(picture(1, (4, 5, channels)), dtype="uint8")
    found = mx.image.copyMakeBorder(x, 1, 2, 3, 4, value=7).asnumpy()
    wanted = np.pad(x.asnumpy(), ((1, 2), (3, 4), (0, 0)), constant_values=7)
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("color", [9, (9,), [9]])
def test_borders_of_boxes_of_one_number(color):
    """It is that of every channel."""
    made, seen = mx.image.DetRandomPadAug(area_range=(2.0, 3.0), pad_val=color), 0
    for _ in range(20):
        out, _ = made.apply(np.full((8, 8, 3), 200, np.uint8), np.array([[0, 0, 0, 1, 1.0]]))
        assert set(np.unique(out)) <= {9, 200}
        seen += out.shape != (8, 8, 3)
    assert seen > 5


@pytest.mark.parametrize(
    ("size", "kind"),
    [((36, 50), 2), ((9, 12), 3), ((36, 12), 1), ((9, 50), 1), ((18, 50), 1), ((18, 12), 1)],
)
def test_records_choose_a_method(size, kind):
    """9: cubic to enlarge, by area to shrink, else linear."""
    x = picture(2)
    np.testing.assert_array_equal(
        boxed(x, 0, (3, *size), inter_method=9), cv2.resize(x, size[::-1], interpolation=kind)
    )
    draws = np.random.default_rng(5)
    np.testing.assert_array_equal(
        boxed(x, 5, (3, *size), inter_method=10),
        cv2.resize(x, size[::-1], interpolation=int(draws.integers(5))),
    )


@pytest.mark.parametrize(
    ("option", "value"),
    [("rotate", 1), ("rotate", 0), ("rotate", -1), ("resize", 0), ("resize", -1), ("resize", 1)],
)
def test_the_least_that_counts(option, value):
    x = picture(3)
    known = {key: each.default for key, each in AUGMENT_OPTIONS.items()} | {option: value}
    found = RecordAugmenter(known, (3, 18, 25))(x, np.random.default_rng(0))
    assert np.array_equal(found, x) == (value < 1)


def test_images_in_a_window(folder, monkeypatch):
    shown = []
    monkeypatch.setattr(cv2, "imshow", lambda *given: shown.append(given), raising=False)
    monkeypatch.setattr(cv2, "waitKey", lambda *given: shown.append(given), raising=False)
    made = mx.image.ImageDetIter(1, (3, 40, 48), path_imgrec=folder / "boxes.rec")
    drawn = next(made.draw_next(waitKey=5, window_name="boxes", color=(1, 2, 3)))
    (name, image), waited = shown
    assert name == "boxes" and waited == (5,)
    np.testing.assert_array_equal(image, drawn[..., ::-1])
    list(made.draw_next(color=(1, 2, 3)))
    assert len(shown) == 2


@pytest.mark.parametrize("shape", [(5,), (1, 4), (1, 1, 5)])
def test_boxes_of_an_augmenter_that_are_none(folder, shape):
    class Wrong(mx.image.DetAugmenter):
        def __call__(self, src, label):
            return src, np.ones(shape, "float32")

    augmenters = [*mx.image.CreateDetAugmenter((3, 8, 8)), Wrong()]
    made = mx.image.ImageDetIter(
        1, (3, 8, 8), path_imgrec=folder / "boxes.rec", aug_list=augmenters
    )
    with pytest.raises(FormatError, match="expected are rows of 5 numbers or more"):
        next(made)


def test_resets_before_the_first_batch_change_nothing(folder):
    def made():
        return mx.io.ImageRecordIter(
            path_imgrec=folder / "images.rec",
            batch_size=3,
            data_shape=(3, 8, 8),
            shuffle=True,
            verbose=False,
            prefetch_buffer=1,
        )

    one, other = made(), made()
    for _ in range(3):
        one.reset()
    wanted = [each.label[0].asnumpy().tolist() for each in other]
    assert [each.label[0].asnumpy().tolist() for each in one] == wanted
    one.reset()
    with pytest.raises(StateError, match="is at no batch"):
        one.getdata()
    one.close()
    other.close()
