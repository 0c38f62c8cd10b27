"""ImageRecordIter against MXNet 1.9.1's batches, and what threads, errors and resuming do."""

import gc
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import cynet as mx
from cynet.image.pipeline import BatchPipeline
from cynet.image.record_augment import RecordAugmenter
from cynet.image.record_options import AUGMENT_OPTIONS
from tests.fixtures.record_batches import CASES, write

FIXTURE = np.load(Path(__file__).parent.parent / "fixtures" / "record_batches.npz")
# OpenCV turns images in another way since 3.4; resizing may round another way.
NEAR = {"rotate": 1.0, "scale": 1.0, "scale_between": 0.5, "scale_down": 0.5, "resize_cubic": 0.5}


@pytest.fixture
def path(tmp_path):
    write(mx.recordio, tmp_path / "a.rec")
    return tmp_path / "a.rec"


def taken(iterator, epochs=1):
    """(data, labels, pads) of all batches."""
    batches = []
    for _ in range(epochs):
        batches += [(b.data[0].asnumpy(), b.label[0].asnumpy(), b.pad) for b in iterator]
        iterator.reset()
    data, labels, pads = zip(*batches)
    return np.concatenate(data), np.concatenate(labels), list(pads)


def kinds():
    """(name, prefix of the dtype) of each case that MXNet computed."""
    found = [(n, p) for n in CASES for p in ("", "uint8_", "int8_")]
    found = [(n, p) for n, p in found if f"{p}{n}_data" in FIXTURE.files]
    assert {name for name, _ in found} == set(CASES) and len(found) > len(CASES)
    return found


@pytest.mark.parametrize(("name", "prefix"), kinds())
def test_batches(path, name, prefix):
    kind = {"": "", "uint8_": "UInt8", "int8_": "Int8"}[prefix]
    iterator = getattr(mx.io, f"ImageRecord{kind}Iter")(
        path_imgrec=str(path), batch_size=2, **CASES[name]
    )
    data, labels, pads = taken(iterator, 2)
    expected = FIXTURE[f"{prefix}{name}_data"]
    assert data.shape == expected.shape and data.dtype == expected.dtype
    assert np.array_equal(labels, FIXTURE[f"{prefix}{name}_label"])
    assert pads == FIXTURE[f"{prefix}{name}_pad"].tolist()
    difference = np.abs(data.astype(float) - expected)
    if name in NEAR:
        assert difference.mean() < NEAR[name]
    else:
        assert difference.max() < 1e-5 * max(1, np.abs(expected).max())


RANDOM = {
    "data_shape": (3, 14, 16),
    "shuffle": True,
    "rand_crop": True,
    "rand_mirror": True,
    "max_rotate_angle": 20,
    "max_aspect_ratio": 0.2,
    "max_shear_ratio": 0.1,
    "brightness": 0.1,
    "contrast": 0.1,
    "saturation": 0.1,
    "pca_noise": 0.1,
    "random_h": 10,
    "random_s": 10,
    "random_l": 10,
    "max_random_contrast": 0.2,
    "max_random_illumination": 10.0,
    "seed": 3,
    "max_random_scale": 1.4,
    "min_random_scale": 0.9,
}


AREA = {
    "random_resized_crop": True,
    "min_random_area": 0.3,
    "rand_crop": False,
    "max_random_scale": 1,
    "min_random_scale": 1,
}


@pytest.mark.parametrize("more", [{}, AREA])
def test_one_seed_for_any_number_of_threads(path, more):
    found = []
    for threads, ahead in ((1, 1), (0, 0), (3, 2), (4, 9)):
        iterator = mx.io.ImageRecordIter(
            path_imgrec=path,
            batch_size=3,
            preprocess_threads=threads,
            prefetch_buffer=ahead,
            **{**RANDOM, **more},
        )
        found.append(taken(iterator, 3))
    for data, labels, pads in found[1:]:
        assert np.array_equal(data, found[0][0]) and np.array_equal(labels, found[0][1])
        assert pads == found[0][2]
    other = mx.io.ImageRecordIter(path_imgrec=path, batch_size=3, **{**RANDOM, **more, "seed": 4})
    assert not np.array_equal(taken(other)[0], found[0][0][:6])


def test_a_crop_by_area_and_another_one(path):
    options = {"path_imgrec": path, "batch_size": 2, "data_shape": (3, 8, 8)}
    for name, value in (("rand_crop", True), ("max_random_scale", 1.5), ("min_crop_size", 5)):
        with pytest.raises(ValueError, match=f"random_resized_crop and {name}=.* exclude"):
            mx.io.ImageRecordIter(random_resized_crop=True, **{name: value}, **options)


def test_mean_of_each_pixel(path, tmp_path):
    """It stands for the channels' means, and is mirrored with the image, as in MXNet."""
    options = {"path_imgrec": path, "batch_size": 5, "data_shape": (3, 24, 31)}
    plain = taken(mx.io.ImageRecordIter(**options))[0]
    mean = np.arange(3 * 24 * 31, dtype=np.float32).reshape(3, 24, 31) / 10
    mx.nd.save(str(tmp_path / "mean.nd"), {"mean_img": mx.nd.array(mean)})
    options["mean_img"] = str(tmp_path / "mean.nd")
    found = taken(mx.io.ImageRecordIter(mean_r=9, std_g=4, scale=0.5, **options))[0]
    expected = (plain - mean) * np.array([0.5, 0.125, 0.5])[:, None, None]
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-4)
    found = taken(mx.io.ImageRecordIter(mirror=True, **options))[0]
    np.testing.assert_allclose(found, (plain - mean)[..., ::-1], rtol=1e-6, atol=1e-4)


def test_files_of_records(path, tmp_path):
    """Several, or a folder of them; one file's name may hold a semicolon."""
    folder = tmp_path / "parts"
    folder.mkdir()
    for name, first in (("b.rec", 10), ("a.rec", 20)):
        record = mx.recordio.MXRecordIO(folder / name, "w")
        for number in range(3):
            header = mx.recordio.IRHeader(0, float(first + number), first + number, 0)
            record.write(mx.recordio.pack_img(header, np.zeros((9, 9, 3), np.uint8)))
        record.close()
    (folder / "a.idx").write_text("other files do not count")
    options = {"batch_size": 2, "data_shape": (3, 8, 8)}
    several = f"{folder}/b.rec;{folder}/a.rec"
    for given, first in (
        (several, [10, 11, 12, 20, 21, 22]),
        (folder, [20, 21, 22, 10, 11, 12]),
        (f"file://{folder}/b.rec", [10, 11, 12, 10]),
    ):
        iterator = mx.io.ImageRecordIter(path_imgrec=given, **options)
        assert taken(iterator)[1].tolist() == first
    shuffled = mx.io.ImageRecordIter(path_imgrec=several, shuffle=True, num_parts=2, **options)
    assert sorted(taken(shuffled)[1].tolist())[:3] == [10, 11, 12]
    path.rename(tmp_path / "x;y.rec")
    assert mx.io.ImageRecordIter(path_imgrec=tmp_path / "x;y.rec", **options).num_data == 5
    damage(folder / "a.rec", 1)
    with pytest.raises(mx.errors.FormatError, match=r"a\.rec', record at offset \d+: "):
        taken(mx.io.ImageRecordIter(path_imgrec=several, **options))
    (tmp_path / "none").mkdir()
    for given, says in (
        (tmp_path / "none", r"without files \*\.rec"),
        (f"{path};", "no such file"),
    ):
        with pytest.raises(mx.MXNetError, match=says):
            mx.io.ImageRecordIter(path_imgrec=given, **options)
    with pytest.raises(ValueError, match="one index, .*, for 2 files of records"):
        mx.io.ImageRecordIter(path_imgrec=several, path_imgidx=folder / "a.idx", **options)


def test_every_image_once_an_epoch(path):
    iterator = mx.io.ImageRecordIter(
        path_imgrec=path, batch_size=2, data_shape=(3, 8, 8), shuffle=True
    )
    given = taken(iterator, 4)[1].tolist()
    # What filled up a batch is not given again: every five in a row are all five.
    assert all(len({*given[i : i + 5]}) == 5 for i in range(0, 20, 5))
    assert len({tuple(given[i : i + 5]) for i in range(0, 20, 5)}) > 1


def test_without_round_batch(path):
    iterator = mx.io.ImageRecordIter(
        path_imgrec=path, batch_size=3, data_shape=(3, 8, 8), round_batch=False
    )
    _, labels, pads = taken(iterator, 2)
    assert labels.tolist() == [0.5, 1.5, 2.5, 3.5, 4.5, 0.5] * 2 and pads == [0, 1] * 2


def test_parts(path):
    found = []
    for i in range(2):
        options = {"part_index": i, "num_parts": 2, "batch_size": 3, "round_batch": False}
        iterator = mx.io.ImageRecordIter(path_imgrec=path, data_shape=(3, 8, 8), **options)
        found.append(taken(iterator)[1].tolist())
    assert found == [[0.5, 1.5, 2.5], [3.5, 4.5, 3.5]]


def test_ranges_of_random_ones(path):
    """Crops lie anywhere, half are mirrored, a factor and a summand have their ranges."""
    plain = taken(mx.io.ImageRecordIter(path_imgrec=path, batch_size=5, data_shape=(3, 24, 31)))[0]
    options = {"path_imgrec": path, "batch_size": 5, "data_shape": (3, 24, 31)}
    mirrored = taken(mx.io.ImageRecordIter(rand_mirror=True, **options), 40)[0]
    whole = np.tile(plain, (40, 1, 1, 1))
    turned = [np.array_equal(a, b[..., ::-1]) for a, b in zip(mirrored, whole)]
    same = [np.array_equal(a, b) for a, b in zip(mirrored, whole)]
    assert all(a != b for a, b in zip(turned, same)) and 60 < sum(turned) < 140
    changed = taken(
        mx.io.ImageRecordIter(max_random_contrast=0.3, max_random_illumination=20.0, **options), 20
    )[0]
    whole = np.tile(plain, (20, 1, 1, 1))
    fits = [np.polyfit(b.ravel(), a.ravel(), 1) for a, b in zip(changed, whole)]
    factors, summands = np.array(fits).T
    assert 0.7 <= factors.min() < 0.8 and 1.2 < factors.max() <= 1.3
    assert -20.1 <= summands.min() < -10 and 10 < summands.max() <= 20.1
    options["data_shape"] = (3, 23, 29)
    crops = taken(mx.io.ImageRecordUInt8Iter(rand_crop=True, **options), 30)[0]
    places = set()
    for number, each in enumerate(crops):
        image = plain[number % 5]
        found = [
            (x, y)
            for x in range(3)
            for y in range(2)
            if np.array_equal(image[:, y : y + 23, x : x + 29], each)
        ]
        assert found
        places.update(found)
    assert len(places) == 6


def test_jitter_of_colors(rng):
    """One map of colors is what brightness, contrast and saturation do one after the other."""
    names = ("brightness", "contrast", "saturation")
    options = {key: option.default for key, option in AUGMENT_OPTIONS.items()}
    options |= dict.fromkeys(names, 0.4)
    image = rng.integers(0, 256, (12, 9, 3), dtype=np.uint8)
    greys = np.array([0.299, 0.587, 0.114])
    for seed in range(9):
        draws, expected = np.random.default_rng(seed), image.astype(float)
        for which in draws.permutation(3):
            alpha = 1 + draws.uniform(-0.4, 0.4)
            grey = (expected * greys).sum(2, keepdims=True)
            other = [0, grey.mean(), grey][which]
            expected = expected * alpha + other * (1 - alpha)
        augment = RecordAugmenter(options, (3, 12, 9))
        found = augment(image, np.random.default_rng(seed))
        assert np.abs(found - expected.clip(0, 255)).max() <= 1


def test_resuming(path):
    def made():
        return mx.io.ImageRecordIter(path_imgrec=path, batch_size=2, **RANDOM)

    iterator = made()
    batches = []
    for _ in range(3):
        for batch in iterator:
            batches.append((iterator.state_dict(), batch.data[0].asnumpy()))
        iterator.reset()
    assert (
        len(batches) == 3 + 2 + 3
    )  # what fills up the first epoch's last batch is not given again
    for number in range(7):
        again = made()
        again.load_state_dict(batches[number][0])
        if number in (2, 4):  # the last of an epoch
            with pytest.raises(StopIteration):
                next(again)
            again.reset()
        assert np.array_equal(next(again).data[0].asnumpy(), batches[number + 1][1])
    for number in (1, 6):  # in the middle of an epoch: the next one begins
        again, other = made(), made()
        other.load_state_dict(batches[number][0])
        while again.state_dict() != batches[number][0]:
            if next(again, None) is None:
                again.reset()
        again.reset()
        other.reset()
        assert again.state_dict() == other.state_dict()
        assert np.array_equal(next(again).data[0].asnumpy(), next(other).data[0].asnumpy())
    with pytest.raises(mx.errors.FormatError, match="expected a state"):
        iterator.load_state_dict({})
    with pytest.raises(mx.errors.FormatError, match="no such place"):
        iterator.load_state_dict({"epoch": 0, "position": 99})


def damage(path, number):
    """Make the image of a record none; the offset of the record."""
    content = bytearray(path.read_bytes())
    record, at = mx.recordio.MXRecordIO(path, "r"), 0
    for _ in range(number):
        at += 8 + -(-len(record.read()) // 4) * 4
    content[at + 32 : at + 60] = b"x" * 28
    path.write_bytes(content)
    return at


def test_damaged_images(path):
    at = damage(path, 3)
    options = {"path_imgrec": path, "batch_size": 2, "data_shape": (3, 8, 8)}
    iterator = mx.io.ImageRecordIter(**options)
    assert next(iterator).label[0].asnumpy().tolist() == [0.5, 1.5]
    with pytest.raises(mx.errors.FormatError, match=rf"a\.rec', record at offset {at}: "):
        next(iterator)
    assert next(iterator).label[0].asnumpy().tolist() == [4.5, 0.5]
    iterator = mx.io.ImageRecordIter(skip_damaged=True, preprocess_threads=1, **options)
    assert taken(iterator)[1].tolist() == [0.5, 1.5, 2.5, 2.5, 4.5, 0.5] and iterator.skipped == 1
    path.write_bytes(b"12345678" * 4)
    with pytest.raises(mx.errors.FormatError, match="offset 0: a record begins with"):
        mx.io.ImageRecordIter(**options)


def test_no_image_can_be_read(path):
    for place in range(5):
        damage(path, place)
    options = {"path_imgrec": path, "batch_size": 2, "data_shape": (3, 8, 8)}
    iterator = mx.io.ImageRecordIter(skip_damaged=True, **options)
    with pytest.raises(mx.errors.FormatError, match=r"a\.rec' has no image that can be read"):
        next(iterator)


@pytest.mark.parametrize("resumed", [False, True])
def test_the_end_stays_the_end(path, resumed):
    """Asked again and again, also where its threads have ended meanwhile."""
    iterator = mx.io.ImageRecordIter(path_imgrec=path, batch_size=3, data_shape=(3, 8, 8))
    assert len(list(iterator)) == 2
    if resumed:
        iterator.close()
    for _ in range(3):
        assert not iterator.iter_next()
        with pytest.raises(StopIteration):
            next(iterator)
    iterator.reset()
    assert len(list(iterator)) == 2


def threads_running():
    return {each for each in threading.enumerate() if each.name.startswith("cynet-images")}


def test_threads_end(path):
    options = {"path_imgrec": path, "batch_size": 2, "data_shape": (3, 8, 8)}
    before = threads_running()  # of other tests' iterators; they may end meanwhile
    for batch in mx.io.ImageRecordIter(**options):
        assert batch.pad == 0
        break
    iterator = mx.io.ImageRecordIter(**options)
    next(iterator)
    assert threads_running() - before
    iterator.close()
    assert next(iterator).label[0].asnumpy().tolist() == [2.5, 3.5]
    del iterator
    gc.collect()
    limit = time.monotonic() + 10
    while threads_running() - before and time.monotonic() < limit:
        time.sleep(0.01)
    assert not threads_running() - before


def test_a_forgotten_pipeline_is_not_waited_for():
    """Garbage is collected anywhere, also where a thread begins and holds what joining needs."""
    begun, go = threading.Event(), threading.Event()

    def fill(task, part):
        begun.set()
        go.wait(20)

    pipeline = BatchPipeline(iter("ab"), 1, fill, 1, 2)
    assert begun.wait(10)
    start = time.monotonic()
    del pipeline
    assert time.monotonic() - start < 10
    go.set()


ENDLESS = """
import sys
import cynet as mx
iterator = mx.io.ImageRecordIter(path_imgrec=sys.argv[1], batch_size=2, data_shape=(3, 8, 8))
print("begun", flush=True)
while True:
    for batch in iterator:
        batch.data[0].wait_to_read()
    iterator.reset()
"""


def test_ctrl_c(path):
    """The process ends at once, and says what ended it."""
    command = [sys.executable, "-c", ENDLESS, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        try:
            assert process.stdout.readline() == b"begun\n"
            time.sleep(0.2)
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=60)
        finally:
            process.kill()
    assert process.returncode != 0 and b"KeyboardInterrupt" in errors


def test_ctrl_c_while_a_thread_begins(path, monkeypatch):
    """Python keeps no note of such a thread. It ends all the same, and no batch is lost."""
    iterator, other = (
        mx.io.ImageRecordIter(path_imgrec=path, batch_size=2, data_shape=(3, 8, 8))
        for _ in range(2)
    )
    wanted = [b.label[0].asnumpy().tolist() for b in other]
    assert [b.label[0].asnumpy().tolist() for b in iterator] == wanted
    other.reset()
    wanted = [b.label[0].asnumpy().tolist() for b in other]
    begin, begun = threading.Thread.start, []

    def interrupted(thread):
        begin(thread)
        begun.append(thread)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", interrupted)
        with pytest.raises(KeyboardInterrupt):
            iterator.reset()
    begun[0].join(10)
    assert not begun[0].is_alive()
    assert [b.label[0].asnumpy().tolist() for b in iterator] == wanted


def _go_on(iterator, answers):
    answers.put([b.label[0].asnumpy().tolist() for b in iterator])


def test_after_fork(path):
    """The child goes on where its parent was, with threads of its own."""
    iterator = mx.io.ImageRecordIter(path_imgrec=path, batch_size=2, data_shape=(3, 8, 8))
    next(iterator)
    fork = multiprocessing.get_context("fork")
    answers = fork.Queue()
    child = fork.Process(target=_go_on, args=(iterator, answers))
    child.start()
    assert answers.get(timeout=60) == [[2.5, 3.5], [4.5, 0.5]]
    child.join()
    assert next(iterator).label[0].asnumpy().tolist() == [2.5, 3.5]


def test_wrong_parameters(path):
    options = {"path_imgrec": path, "batch_size": 2, "data_shape": (3, 8, 8)}
    for says, more in (
        ("no parameters 'rand_corp'", {"rand_corp": 1}),
        ("needs path_imgrec", {"path_imgrec": ""}),
        ("resize='x'", {"resize": "x"}),
        ("1, 3 or 4 channels", {"data_shape": (2, 8, 8)}),
        ("dtype is one of", {"dtype": "float16"}),
        ("part_index", {"part_index": 1}),
        ("inter_method", {"inter_method": 5}),
        ("not 0", {"std_r": 0}),
        ("aug_seq", {"aug_seq": "mine"}),
    ):
        with pytest.raises((ValueError, TypeError), match=says):
            mx.io.ImageRecordIter(**{**options, **more})
    with pytest.raises(TypeError, match="no parameters 'mean_r'"):
        mx.io.ImageRecordUInt8Iter(mean_r=3, **options)
    with pytest.raises(mx.errors.FormatError, match="label has 1 numbers, label_width is 2"):
        next(mx.io.ImageRecordIter(label_width=2, **options))
    with pytest.raises(mx.errors.FormatError, match="an image of 3 channels, not 4"):
        next(mx.io.ImageRecordIter(**{**options, "data_shape": (4, 8, 8)}))
    with pytest.raises(ValueError, match="does not fit"):
        next(mx.io.ImageRecordIter(max_crop_size=30, min_crop_size=30, **options))


def test_mean_image_and_list(path, tmp_path):
    options = {"path_imgrec": path, "batch_size": 5, "data_shape": (3, 8, 8)}
    plain = taken(mx.io.ImageRecordIter(**options))[0]
    mean = np.arange(192, dtype=np.float32).reshape(3, 8, 8)
    mx.nd.save(str(tmp_path / "mean.bin"), {"mean_img": mx.nd.array(mean)})
    found = taken(mx.io.ImageRecordIter(mean_img=str(tmp_path / "mean.bin"), **options))[0]
    assert np.allclose(found, plain - mean)
    (tmp_path / "a.lst").write_text("".join(f"{i + 10}\t{i}\t{-i}\tx\n" for i in range(5)))
    iterator = mx.io.ImageRecordIter(path_imglist=str(tmp_path / "a.lst"), label_width=2, **options)
    batch = next(iterator)
    assert batch.label[0].asnumpy().tolist() == [[i, -i] for i in range(5)]
    assert batch.index.tolist() == [10, 11, 12, 13, 14]


def test_a_mean_image_that_is_not_there_yet(path, tmp_path):
    """It is made of all images, a smaller last batch too, and taken from then on; scripts of MXNet
    count on it."""
    options = {"path_imgrec": path, "data_shape": (3, 8, 8)}
    plain = taken(mx.io.ImageRecordIter(batch_size=5, **options))[0]
    for name, more in (
        ("one", {}),
        ("two", {"rand_mirror": True, "scale": 0.5, "mean_r": 3.0, "shuffle": True}),
    ):
        file = str(tmp_path / name)
        iterator = mx.io.ImageRecordIter(batch_size=2, mean_img=file, **options, **more)
        made = mx.nd.load(file)["mean_img"].asnumpy()
        np.testing.assert_allclose(made, plain.mean(0), rtol=1e-6)
        if not more:
            found = next(iterator).data[0].asnumpy()
            np.testing.assert_allclose(found, plain[:2] - made, atol=1e-4)
        before = os.stat(file).st_mtime_ns
        mx.io.ImageRecordIter(batch_size=2, mean_img=file, **options)
        assert os.stat(file).st_mtime_ns == before
    with pytest.raises(FileNotFoundError, match="none"):
        mx.io.ImageRecordIter(batch_size=2, mean_img=str(tmp_path / "none" / "mean"), **options)


def test_four_channels(tmp_path):
    """Red, green, blue and the one behind them."""
    pixels = np.random.default_rng(0).integers(0, 256, (9, 11, 4), dtype=np.uint8)
    content = mx.recordio.pack_img(mx.recordio.IRHeader(0, 1.0, 0, 0), pixels, 3, ".png")
    record = mx.recordio.MXRecordIO(str(tmp_path / "a.rec"), "w")
    record.write(content)
    record.close()
    options = {"path_imgrec": tmp_path / "a.rec", "batch_size": 1, "data_shape": (4, 9, 11)}
    found = next(mx.io.ImageRecordIter(mean_a=3, std_a=2, mirror=True, **options))
    wanted = pixels[:, ::-1, [2, 1, 0, 3]].transpose(2, 0, 1).astype(np.float32)
    wanted[3] = (wanted[3] - 3) / 2
    assert np.array_equal(found.data[0].asnumpy()[0], wanted)
    plain = next(mx.io.ImageRecordUInt8Iter(**options))
    assert np.array_equal(plain.data[0].asnumpy()[0], pixels[:, :, [2, 1, 0, 3]].transpose(2, 0, 1))


def test_batches_stay_as_they_are(path):
    """Memory of a batch is used again only when nobody has that batch."""
    options = {"path_imgrec": path, "batch_size": 2, "data_shape": (3, 8, 8), "shuffle": True}
    iterator = mx.io.ImageRecordIter(**options)
    kept = []
    for _ in range(6):
        kept += [(b.data[0], b.data[0].asnumpy()) for b in iterator]
        iterator.reset()
    for array, content in kept:
        assert np.array_equal(array.asnumpy(), content)
    pointers = {id(array) for array, _ in kept}
    assert len(pointers) == len(kept)


def test_int8_without_the_mean(tmp_path):
    """Values that MXNet 1.9.1 gives: rounded to even, cut at the ends; std and scale count for
    nothing."""
    image = np.zeros((4, 180, 3), np.uint8)
    image[:, :, 2] = np.arange(5, 185)  # red
    content = mx.recordio.pack_img(mx.recordio.IRHeader(0, 1.0, 0, 0), image, 3, ".png")
    record = mx.recordio.MXRecordIO(str(tmp_path / "a.rec"), "w")
    record.write(content)
    record.close()
    options = {"path_imgrec": tmp_path / "a.rec", "batch_size": 1, "data_shape": (3, 4, 180)}
    for more, wanted in (
        ({}, [5, 17, 113, 125, 127]),
        ({"mean_r": 0.4}, [5, 17, 113, 125, 127]),
        ({"mean_r": 0.6, "scale": 0.5}, [4, 16, 112, 124, 127]),
        ({"mean_r": 100.5, "std_r": 0.3}, [-96, -84, 12, 24, 36]),
    ):
        iterator = mx.io.ImageRecordIter(dtype="int8", **options, **more)
        row = next(iterator).data[0].asnumpy()[0, 0, 0]
        assert row.dtype == np.int8 and row[[0, 12, 108, 120, 132]].tolist() == wanted
