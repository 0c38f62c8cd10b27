"""ImageIter: which samples it gives, what of them, and what of damaged ones."""

import random

import numpy as np
import pytest

import cynet as mx

from .conftest import picture


def labels(iterator):
    return [(batch.label[0].asnumpy().tolist(), batch.pad) for batch in iterator]


def test_pixels_and_labels(folder):
    """The crop in the middle of each image, as (channels, height, width)."""
    iterator = mx.image.ImageIter(3, (3, 32, 30), path_imgrec=folder / "images.rec")
    assert iterator.provide_data == [("data", (3, 3, 32, 30))]
    assert iterator.provide_label == [("softmax_label", (3,))]
    batch = next(iterator)
    for i in range(3):
        expected = picture(i)[4:36, 9:39].transpose(2, 0, 1)
        assert np.array_equal(batch.data[0][i].asnumpy(), expected)
    assert batch.data[0].dtype == np.float32 and batch.label[0].asnumpy().tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    "handle, first, second",
    [
        (
            "pad",
            [([0, 1, 2], 0), ([3, 4, 5], 0), ([6, 0, 1], 2)],
            [([0, 1, 2], 0), ([3, 4, 5], 0), ([6, 0, 1], 2)],
        ),
        ("discard", [([0, 1, 2], 0), ([3, 4, 5], 0)], [([0, 1, 2], 0), ([3, 4, 5], 0)]),
        ("roll_over", [([0, 1, 2], 0), ([3, 4, 5], 0)], [([6, 0, 1], 0), ([2, 3, 4], 0)]),
    ],
)
def test_the_last_batch(folder, handle, first, second):
    iterator = mx.image.ImageIter(
        3, (3, 32, 32), path_imgrec=folder / "images.rec", last_batch_handle=handle
    )
    assert labels(iterator) == first
    iterator.reset()
    assert labels(iterator) == second
    iterator.hard_reset()
    assert labels(iterator) == first


@pytest.mark.parametrize("batch, left", [(4, 3), (5, 2), (6, 1)])
def test_several_samples_roll_over(folder, batch, left):
    """Each of those that are left, in their order, begins the next epoch; so after a state."""
    made = [
        mx.image.ImageIter(
            batch, (3, 32, 32), path_imgrec=folder / "images.rec", last_batch_handle="roll_over"
        )
        for _ in range(2)
    ]
    assert labels(made[0]) == [(list(range(batch)), 0)]
    made[0].reset()
    made[1].load_state_dict(made[0].state_dict())
    kept = list(range(7 - left, 7))
    for iterator in made:
        first = labels(iterator)[0]
        assert first == ([*kept, *range(batch - left)], 0)


def test_exact_limits_of_parts(folder):
    rec = folder / "images.rec"
    for number in range(7):
        part = mx.image.ImageIter(1, (3, 8, 8), path_imgrec=rec, part_index=number, num_parts=7)
        assert labels(part) == [([number], 0)]
    for index, parts in ((7, 7), (-1, 7), (0, 0), (1, 1)):
        with pytest.raises(mx.errors.ArgumentError, match="part_index is from 0 to num_parts - 1"):
            mx.image.ImageIter(1, (3, 8, 8), path_imgrec=rec, part_index=index, num_parts=parts)


def test_parts_and_shuffling(folder):
    rec, idx = folder / "images.rec", folder / "images.idx"
    for index in (None, idx):
        second = mx.image.ImageIter(
            3, (3, 8, 8), path_imgrec=rec, path_imgidx=index, part_index=1, num_parts=2
        )
        assert labels(second) == [([3, 4, 5], 0)]
    random.seed(3)
    iterator = mx.image.ImageIter(7, (3, 8, 8), path_imgrec=rec, path_imgidx=idx, shuffle=True)
    orders = []
    for _ in range(3):
        orders.append(labels(iterator)[0][0])
        iterator.reset()
    assert all(sorted(order) == list(range(7)) for order in orders) and orders[0] != orders[1]
    random.seed(3)
    again = mx.image.ImageIter(7, (3, 8, 8), path_imgrec=rec, shuffle=True)
    assert labels(again)[0][0] == orders[0]


def test_lists(folder):
    """Of files, in memory, and beside records."""
    iterator = mx.image.ImageIter(
        3, (3, 40, 48), label_width=2, path_imglist=folder / "images.lst", path_root=folder
    )
    batch = next(iterator)
    assert batch.label[0].asnumpy().tolist() == [[0.5, 0], [1.5, 2], [2.5, 4]]
    assert np.array_equal(batch.data[0][2].asnumpy(), picture(2).transpose(2, 0, 1))
    memory = mx.image.ImageIter(
        2, (3, 8, 8), imglist=[[3, "1.png"], [4.0, "2.png"]], path_root=folder, dtype="int32"
    )
    batch = next(memory)
    assert batch.label[0].asnumpy().tolist() == [3, 4] and batch.label[0].dtype == np.int32
    both = mx.image.ImageIter(
        3,
        (3, 8, 8),
        label_width=2,
        path_imgrec=folder / "images.rec",
        path_imglist=folder / "images.lst",
    )
    assert next(both).label[0].asnumpy().tolist() == [[0.5, 0], [1.5, 2], [2.5, 4]]
    with pytest.raises(mx.errors.FormatError, match="no image with number 3"):
        next(both)


def test_where_images_come_from(folder):
    """MXNet's attributes, for each kind of source."""
    rec, idx, lst = (folder / f"images.{end}" for end in ("rec", "idx", "lst"))
    plain = mx.image.ImageIter(3, (3, 8, 8), path_imgrec=rec)
    assert plain.imgidx is None and plain.imglist is None and plain.path_root is None
    assert mx.recordio.unpack(plain.imgrec.read())[0].label == 0
    assert next(plain).label[0].asnumpy().tolist() == [0, 1, 2]  # two readers, two places
    keyed = mx.image.ImageIter(
        3, (3, 8, 8), 2, path_imgrec=rec, path_imgidx=idx, path_imglist=lst, num_parts=2
    )
    assert keyed.imgidx == list(range(7)) and keyed.num_image == 3
    assert mx.recordio.unpack(keyed.imgrec.read_idx(5))[0].label == 5
    label, path = keyed.imglist[2]
    assert label.asnumpy().tolist() == [2.5, 4] and path == "2.png"
    memory = mx.image.ImageIter(1, (3, 8, 8), imglist=[[3, "1.png"]], path_root=folder)
    assert memory.imgrec is None and memory.path_root == folder and memory.num_image == 1
    assert list(memory.imglist) == ["1"] and memory.imglist["1"][1] == "1.png"
    boxes = mx.image.ImageDetIter(
        2, (3, 8, 8), path_imgrec=folder / "boxes.rec", path_imgidx=folder / "boxes.idx"
    )
    assert boxes.imgidx == [0, 1, 2, 3] and boxes.num_image == 4
    several = mx.image.ImageIter(2, (3, 8, 8), path_imgrec=f"{rec};{rec}")
    with pytest.raises(mx.errors.StateError, match="are 2 files of records"):
        several.imgrec  # noqa: B018  to read it is the test


def test_augmenters_and_hooks(folder):
    options = {"rand_mirror": True, "mean": True, "resize": 20}
    random.seed(5)
    made = mx.image.ImageIter(7, (3, 16, 16), path_imgrec=folder / "images.rec", **options)
    first = next(made).data[0].asnumpy()
    augmenters = mx.image.CreateAugmenter((3, 16, 16), **options)
    random.seed(5)
    for i in range(7):
        image = mx.nd.array(picture(i), dtype="uint8")
        for each in augmenters:
            image = each(image)
        assert np.allclose(first[i], image.asnumpy().transpose(2, 0, 1))

    class Turned(mx.image.ImageIter):
        def augmentation_transform(self, data):
            return 255 - super().augmentation_transform(data)

    turned = next(Turned(2, (3, 40, 48), path_imgrec=folder / "images.rec"))
    assert np.array_equal(turned.data[0][1].asnumpy(), 255.0 - picture(1).transpose(2, 0, 1))


def test_damaged_images(folder):
    rec = folder / "images.rec"
    content = rec.read_bytes()
    places = [i for i in range(len(content)) if content.startswith(b"\x89PNG", i)]
    rec.write_bytes(content[: places[2]] + b"nothing!" + content[places[2] + 8 :])
    with pytest.raises(mx.errors.FormatError, match=r"images\.rec', record at offset \d+: "):
        labels(mx.image.ImageIter(3, (3, 8, 8), path_imgrec=rec))
    iterator = mx.image.ImageIter(3, (3, 8, 8), path_imgrec=rec, skip_damaged=True)
    assert labels(iterator) == [([0, 1, 3], 0), ([4, 5, 6], 0)] and iterator.skipped == 1


def test_wrong_arguments(folder):
    rec = folder / "images.rec"
    for says, options in (
        ("images come from", {}),
        ("3 channels", {"path_imgrec": rec, "data_shape": (1, 8, 8)}),
        ("channels, height, width", {"path_imgrec": rec, "data_shape": (8, 8)}),
        ("last_batch_handle", {"path_imgrec": rec, "last_batch_handle": "keep"}),
        ("dtype", {"path_imgrec": rec, "dtype": "uint8"}),
        ("part_index", {"path_imgrec": rec, "part_index": 2, "num_parts": 2}),
        ("no images for part 0 of 9", {"path_imgrec": rec, "num_parts": 9}),
    ):
        with pytest.raises(ValueError, match=says):
            mx.image.ImageIter(2, **{"data_shape": (3, 8, 8), **options})
    with pytest.raises(mx.errors.ShapeError, match=r"of shape \(3, 40, 48\), data_shape is"):
        next(mx.image.ImageIter(2, (3, 8, 8), path_imgrec=rec, aug_list=[]))
    with pytest.raises(mx.errors.FormatError, match="has 1 numbers, label_width is 2"):
        next(mx.image.ImageIter(2, (3, 8, 8), 2, path_imgrec=rec))
    (folder / "images.lst").write_text("0\t1\t0.png\n1\t1.png\n")
    with pytest.raises(mx.errors.FormatError, match=r"images\.lst', line 2"):
        mx.image.ImageIter(2, (3, 8, 8), path_imglist=folder / "images.lst")
