"""ImageDetRecordIter against MXNet 1.9.1's batches, and what its random parts may do."""

from pathlib import Path

import numpy as np
import pytest

import cynet as mx
from cynet.image import codec
from tests.fixtures.box_batches import CASES, write

FIXTURE = np.load(Path(__file__).parent.parent / "fixtures" / "box_batches.npz")


@pytest.fixture
def path(tmp_path):
    write(mx.recordio, tmp_path / "a.rec")
    return tmp_path / "a.rec"


@pytest.mark.parametrize("name", CASES)
def test_batches(path, name):
    iterator = mx.io.ImageDetRecordIter(path_imgrec=path, batch_size=2, **CASES[name])
    batches = []
    for _ in range(2):
        batches += list(iterator)
        iterator.reset()
    data = np.concatenate([b.data[0].asnumpy() for b in batches])
    labels = np.concatenate([b.label[0].asnumpy() for b in batches])
    assert iterator.provide_label == [("softmax_label", (2, labels.shape[1]))]
    if name == "no_round":  # MXNet fills up with what the batch before had in that place
        assert np.array_equal(labels[:5], FIXTURE[f"{name}_label"][:5])
        assert np.array_equal(data[:5], FIXTURE[f"{name}_data"][:5])
        return
    assert np.array_equal(labels, FIXTURE[f"{name}_label"])
    assert [b.pad for b in batches] == FIXTURE[f"{name}_pad"].tolist()
    assert np.array_equal(np.concatenate([b.index for b in batches]), FIXTURE[f"{name}_index"])
    difference = np.abs(data - FIXTURE[f"{name}_data"])
    assert difference.max() < 1e-5 * max(1, np.abs(data).max())


# --- what is random: an image whose colors say where each pixel was -------------------------------
HEIGHT, WIDTH = 150, 200


def written(path, boxes, count, image=None, label=None):
    """A file of `count` records of one image."""
    if image is None:
        y, x = np.mgrid[:HEIGHT, :WIDTH]
        image = np.stack([x * 0 + 99, y, x], 2).astype(np.uint8)  # blue, green, red
    content = codec.encode_image(image, ".png", 1)
    label = np.concatenate([[2, 5], *boxes]) if label is None else label
    record = mx.recordio.MXRecordIO(str(path), "w")
    for i in range(count):
        record.write(mx.recordio.pack(mx.recordio.IRHeader(0, label, i, 0), content))
    record.close()


def augmented(folder, boxes, count=200, image=None, **options):
    """(images, boxes of each) of one batch."""
    written(folder / "one.rec", boxes, count, image)
    height, width = (HEIGHT, WIDTH) if image is None else image.shape[:2]
    iterator = mx.io.ImageDetRecordIter(
        path_imgrec=folder / "one.rec", batch_size=count, data_shape=(3, height, width), **options
    )
    batch = next(iterator)
    rows = batch.label[0].asnumpy()
    found = [row[6 : 4 + int(row[3])].reshape(-1, 5) for row in rows]
    return batch.data[0].asnumpy(), found


def places(images):
    """(x, y, width, height) of the crops, in pixels."""
    out = []
    for red, green, _ in images:
        x = (np.arange(WIDTH) + 0.5) / WIDTH
        y = (np.arange(HEIGHT) + 0.5) / HEIGHT
        width, left = np.polyfit(x[20:-20], red[HEIGHT // 2, 20:-20] + 0.5, 1)
        height, top = np.polyfit(y[20:-20], green[20:-20, WIDTH // 2] + 0.5, 1)
        out.append((left, top, width, height))
    return np.array(out)


ALL = [(0, 0, 0, 1, 1)]
ANY = {"crop_emit_mode": "overlap", "emit_overlap_thresh": 0}


@pytest.mark.parametrize("ratio", [1, 2, 0.5, 3])
def test_size_of_crops(tmp_path, ratio):
    """The side of a crop is a part of the root of the image's area."""
    images, _ = augmented(
        tmp_path,
        ALL,
        rand_crop_prob=1,
        min_crop_scales=0.5,
        max_crop_scales=0.5,
        min_crop_aspect_ratios=ratio,
        max_crop_aspect_ratios=ratio,
        **ANY,
    )
    found, side = places(images), 0.5 * np.sqrt(HEIGHT * WIDTH)
    assert np.abs(found[:, 2] - int(side * np.sqrt(ratio) + 1e-6)).max() < 0.5
    assert np.abs(found[:, 3] - int(side / np.sqrt(ratio) + 1e-6)).max() < 0.5
    free = np.array([WIDTH, HEIGHT]) - found[:, 2:]
    assert (found[:, :2].min(0) < 0.1 * free).all() and (found[:, :2].max(0) > 0.9 * free).all()


def test_ranges_of_crops(tmp_path):
    images, boxes = augmented(
        tmp_path,
        [(0, 0.3, 0.3, 0.7, 0.7)],
        500,
        rand_crop_prob=1,
        min_crop_scales=0.3,
        max_crop_scales=0.9,
        min_crop_aspect_ratios=0.5,
        max_crop_aspect_ratios=2,
        **ANY,
    )
    found = places(images)
    scales = np.sqrt(found[:, 2] * found[:, 3] / (HEIGHT * WIDTH))
    ratios = found[:, 2] / found[:, 3]
    assert 0.28 < scales.min() < 0.36 and 0.84 < scales.max() < 0.91
    assert 0.47 < ratios.min() < 0.7 and 1.7 < ratios.max() < 2.1
    for (x, y, w, h), each in zip(found, boxes):
        corners = [(60 - x) / w, (45 - y) / h, (140 - x) / w, (105 - y) / h]
        assert np.abs(np.clip(corners, 0, 1) - each[0, 1:]).max() < 0.02


A, B = (0, 0.2, 0.2, 0.35, 0.35), (1, 0.65, 0.65, 0.8, 0.8)
HALF = {"rand_crop_prob": 1, "min_crop_scales": (0.5,), "max_crop_scales": (0.5,)}


def cropped(images):
    return (places(images)[:, 2] < WIDTH - 10).mean()


def test_one_object_must_fulfil_the_ranges(tmp_path):
    images, boxes = augmented(tmp_path, [A, B], min_crop_object_coverages=0.99, **HALF)
    assert cropped(images) > 0.95 and {len(each) for each in boxes} == {1}
    size = np.array([b[0, 3:] - b[0, 1:3] for b in boxes]) * places(images)[:, 2:]
    assert np.abs(size - [0.15 * WIDTH, 0.15 * HEIGHT]).max() < 2.5  # whole objects
    images, _ = augmented(tmp_path, [A, B], min_crop_overlaps=0.9, **HALF)
    assert cropped(images) == 0  # no crop is one of the objects
    large = [(0, 0.25, 0.25, 0.75, 0.75)]
    images, boxes = augmented(tmp_path, large, min_crop_sample_coverages=0.5, **HALF)
    x, y, w, h = places(images).T
    inside = (np.minimum(x + w, 150) - np.maximum(x, 50)) * (
        np.minimum(y + h, 112.5) - np.maximum(y, 37.5)
    )
    assert (inside / (w * h) > 0.48).all()


def test_trials_and_kinds_of_crops(tmp_path):
    small = [(0, 0.25, 0.25, 0.45, 0.45)]
    share = [
        cropped(
            augmented(
                tmp_path, small, 300, min_crop_object_coverages=0.9, max_crop_trials=trials, **HALF
            )[0]
        )
        for trials in (1, 50)
    ]
    assert 0.15 < share[0] < 0.45 and share[1] > 0.97
    two = {"num_crop_sampler": 2, "rand_crop_prob": 1, **ANY}
    sizes = {"min_crop_scales": (0.3, 0.7), "max_crop_scales": (0.3, 0.7)}
    widths = places(augmented(tmp_path, ALL, **two, **sizes)[0])[:, 2]
    assert 0.3 < (widths < 60).mean() < 0.7 and ((widths < 60) | (widths > 110)).all()
    # where one kind is impossible the other one is tried
    widths = places(augmented(tmp_path, ALL, min_crop_overlaps=(0.9, 0), **two, **sizes)[0])[:, 2]
    assert (widths > 110).all()


@pytest.mark.parametrize("mode, least", [("center", 0.25), ("overlap", 0.3)])
def test_what_stays_in_a_crop(tmp_path, mode, least):
    images, boxes = augmented(tmp_path, [A, B], crop_emit_mode=mode, **HALF)
    for (_, _, w, h), each in zip(places(images), boxes):
        assert len(each) >= 1
        for object_ in each:
            part = (object_[3] - object_[1]) * w * (object_[4] - object_[2]) * h
            assert part / (0.15 * 0.15 * WIDTH * HEIGHT) > least - 0.06
    only = augmented(tmp_path, [A], crop_emit_mode=mode, **HALF)[1]
    assert {len(each) for each in only} == {1}  # a crop without an object is none


def test_border(tmp_path):
    options = {"rand_pad_prob": 1, "max_pad_scale": 3, "fill_value": 9}
    images, boxes = augmented(tmp_path, [(0, 0.25, 0.25, 0.75, 0.75)], 300, **options)
    corners = np.array([each[0, 1:] for each in boxes])
    scale = 0.5 / (corners[:, 2:] - corners[:, :2])
    assert np.abs(scale[:, 0] - scale[:, 1]).max() < 0.05
    assert 1 <= scale.min() < 1.2 and 2.8 < scale.max() <= 3
    for image, each in zip(images, corners):
        x, y = (each[:2] + each[2:]) / 2 * [WIDTH, HEIGHT]
        assert abs(image[0, int(y), int(x)] - WIDTH / 2) < 4  # the middle is where its box says
    assert (images[:, 2] == 9).any((1, 2)).mean() > 0.95  # some are too thin
    assert (images[:, 2] == 99).any((1, 2)).all()
    images, _ = augmented(tmp_path, ALL, 300, rand_pad_prob=0.3, max_pad_scale=3)
    assert 0.2 < (images[:, 2] == 127).any((1, 2)).mean() < 0.4


@pytest.mark.parametrize("name, channel", [("hue", 0), ("illumination", 1), ("saturation", 2)])
def test_colors(tmp_path, name, channel):
    flat = np.full((60, 80, 3), (60, 120, 180), np.uint8)
    options = {f"max_random_{name}": 10, f"random_{name}_prob": 0.5}
    images, _ = augmented(tmp_path, ALL, 300, flat, **options)
    hls = (
        codec.cv()
        .cvtColor(
            np.ascontiguousarray(images[:, :, 0, 0][None], np.uint8), codec.cv().COLOR_RGB2HLS
        )[0]
        .astype(int)
    )
    change = hls - hls[np.abs(hls - [15, 120, 128]).sum(1).argmin()]
    assert 0.35 < (change[:, channel] != 0).mean() < 0.6
    assert -11 <= change[:, channel].min() <= -8 and 8 <= change[:, channel].max() <= 11
    others = [i for i in range(3) if i != channel]
    assert np.abs(change[:, others]).max() <= 3


def test_contrast(tmp_path):
    flat = np.full((60, 80, 3), (40, 80, 120), np.uint8)
    images, _ = augmented(
        tmp_path, ALL, 300, flat, max_random_contrast=0.5, random_contrast_prob=0.5
    )
    factors = images[:, :, 0, 0] / [120, 80, 40]
    assert np.ptp(factors, axis=1).max() < 0.03
    assert 0.4 < (np.abs(factors[:, 0] - 1) > 0.01).mean() < 0.6
    assert 0.48 <= factors.min() < 0.6 and 1.4 < factors.max() <= 1.5


RANDOM = {
    "rand_crop_prob": 0.7,
    "num_crop_sampler": 2,
    "min_crop_scales": (0.3, 0.6),
    "rand_pad_prob": 0.5,
    "max_pad_scale": 2,
    "rand_mirror_prob": 0.5,
    "max_random_hue": 9,
    "random_hue_prob": 0.5,
    "max_random_contrast": 0.4,
    "random_contrast_prob": 0.5,
    "shuffle": True,
    "seed": 5,
    "data_shape": (3, 16, 20),
}


def test_one_seed_for_any_number_of_threads_and_resuming(path):
    def made(threads=1):
        return mx.io.ImageDetRecordIter(
            path_imgrec=path, batch_size=2, preprocess_threads=threads, **RANDOM
        )

    def taken(iterator):
        return [(b.data[0].asnumpy(), b.label[0].asnumpy()) for b in iterator]

    one, three = made(), made(3)
    for _ in range(2):
        first, second = taken(one), taken(three)
        assert len(first) == len(second) > 1
        for a, b in zip(first, second):
            assert np.array_equal(a[0], b[0]) and np.array_equal(a[1], b[1])
        one.reset(), three.reset()
    next(one)
    state, wanted = one.state_dict(), next(one)
    again = made(2)
    again.load_state_dict(state)
    assert np.array_equal(next(again).data[0].asnumpy(), wanted.data[0].asnumpy())


def test_without_boxes(tmp_path):
    """MXNet ends with an error there."""
    images, boxes = augmented(tmp_path, [], rand_mirror_prob=1, **HALF)
    assert {len(each) for each in boxes} == {0} and cropped(images[:, :, :, ::-1]) == 1


def test_lists(path, tmp_path):
    rows = [f"{i + 10}\t2\t5\t{i}\t0.1\t0.1\t0.{i + 2}\t0.9\tx\n" for i in range(5)]
    (tmp_path / "a.lst").write_text("".join(rows))
    iterator = mx.io.ImageDetRecordIter(
        path_imgrec=path, path_imglist=str(tmp_path / "a.lst"), batch_size=5, data_shape=(3, 8, 8)
    )
    labels = next(iterator).label[0].asnumpy()
    assert labels.shape == (5, 11) and labels[:, 6].tolist() == [0, 1, 2, 3, 4]


def test_refused(path):
    options = {"path_imgrec": path, "batch_size": 2, "data_shape": (3, 8, 8)}
    for says, more in (
        ("no parameters 'rand_crop'", {"rand_crop": True}),
        ("resize_mode='x'", {"resize_mode": "x"}),
        ("crop_emit_mode=1", {"crop_emit_mode": 1}),
        ("dtype is one of float32", {"dtype": "uint8"}),
        ("aug_seq is 'det_aug_default'", {"aug_seq": "aug_default"}),
        ("max_pad_scale", {"max_pad_scale": 0.5}),
        (
            "min_crop_scales has 1 or num_crop_sampler=3 values",
            {"rand_crop_prob": 1, "num_crop_sampler": 3, "min_crop_scales": (0.1, 0.2)},
        ),
        (
            "min_crop_overlaps=0.6 and max_crop_overlaps=0.5",
            {"rand_crop_prob": 1, "min_crop_overlaps": 0.6, "max_crop_overlaps": 0.5},
        ),
        ("max_crop_scales", {"rand_crop_prob": 1, "max_crop_scales": 2}),
        ("num_crop_sampler", {"rand_crop_prob": 1, "num_crop_sampler": 0}),
        ("label_pad_width=5 is less", {"label_pad_width": 5, "label_width": 7}),
    ):
        with pytest.raises((ValueError, TypeError), match=says):
            mx.io.ImageDetRecordIter(**{**options, **more})
    with pytest.raises(mx.errors.FormatError, match="offset 0: its label has 7 numbers"):
        next(mx.io.ImageDetRecordIter(label_pad_width=5, **options))
    with pytest.raises(mx.errors.FormatError, match="its label has 7 numbers; label_width is 12"):
        next(mx.io.ImageDetRecordIter(label_width=12, **options))


@pytest.mark.parametrize("label", [3.0, [2.0], [2, 4, 0, 0, 1, 1], [9, 5, 0, 0, 0, 1, 1]])
def test_labels_that_are_none(tmp_path, label):
    written(tmp_path / "bad.rec", None, 3, label=label)
    options = {"path_imgrec": tmp_path / "bad.rec", "batch_size": 1, "data_shape": (3, 8, 8)}
    with pytest.raises(mx.errors.FormatError, match=r"bad\.rec', record at offset 0: a label"):
        next(mx.io.ImageDetRecordIter(**options))


def test_damaged_headers(path):
    content = bytearray(path.read_bytes())
    content[8:12] = (2**31).to_bytes(4, "little")  # numbers of a label
    path.write_bytes(content)
    options = {"path_imgrec": path, "batch_size": 5, "data_shape": (3, 8, 8)}
    with pytest.raises(mx.errors.FormatError, match="offset 0: .*label has 2147483648 numbers"):
        mx.io.ImageDetRecordIter(**options)
    iterator = mx.io.ImageDetRecordIter(skip_damaged=True, **options)
    assert next(iterator).index.tolist()[1:] == [11, 12, 13, 14]
    assert iterator.skipped == 1
