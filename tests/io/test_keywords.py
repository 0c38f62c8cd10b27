"""Every keyword of MXNet's iterators over files: there, with its default, and taken or refused by
its name; names of files and shapes in the kinds that scripts give them in."""

import inspect
import json
import struct
from pathlib import Path

import numpy as np
import pytest

import cynet as mx

KEYWORDS = json.loads(
    (Path(__file__).parents[1] / "fixtures" / "io_keywords.json").read_text()
)  # interfaces.py


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("keywords")
    np.savetxt(path / "a.csv", np.arange(16).reshape(8, 2), delimiter=",")
    (path / "a.svm").write_text("".join(f"{i} 0:{i} 1:1\n" for i in range(8)))
    images = np.arange(8 * 16, dtype=np.uint8)
    (path / "images").write_bytes(struct.pack(">IIII", 2051, 8, 4, 4) + images.tobytes())
    (path / "labels").write_bytes(struct.pack(">II", 2049, 8) + bytes(range(8)))
    with mx.recordio.MXIndexedRecordIO(path / "a.idx", path / "a.rec", "w") as record:
        for i in range(8):
            label = [2, 5, i, 0.1, 0.1, 0.8, 0.8]
            image = np.full((8, 8, 3), i, np.uint8)
            record.write_idx(i, mx.recordio.pack_img((0, label, i, 0), image, 3, ".png"))
    lines = [f"{i}\t2\t5\t{i}\t0.1\t0.1\t0.8\t0.8\t{i}.png\n" for i in range(8)]
    (path / "a.lst").write_text("".join(lines))
    (path / "classes" / "one").mkdir(parents=True)
    image = mx.recordio.pack_img((0, 0.0, 0, 0), np.zeros((4, 4, 3), np.uint8), 3, ".png")
    (path / "classes" / "one" / "0.png").write_bytes(image[24:])
    mx.nd.save(str(path / "mean"), mx.nd.zeros((3, 8, 8)))
    return path


def least(name, folder):
    """Arguments without which there is no iterator."""
    if name == "CSVIter":
        return {"data_csv": str(folder / "a.csv"), "data_shape": (2,), "batch_size": 2}
    if name == "LibSVMIter":
        return {"data_libsvm": str(folder / "a.svm"), "data_shape": (2,), "batch_size": 2}
    if name == "MNISTIter":
        return {"image": str(folder / "images"), "label": str(folder / "labels"), "batch_size": 2}
    known = {"path_imgrec": str(folder / "a.rec"), "data_shape": (3, 8, 8), "batch_size": 2}
    return known if "Det" in name else {**known, "label_width": 7}


def value_of(keyword, kind, folder):
    """A value of a kind, as MXNet's documentation names it; its default where it has one."""
    files = {
        "label_csv": "NULL",
        "label_libsvm": "NULL",
        "path_imglist": str(folder / "a.lst"),
        "path_imgidx": str(folder / "a.idx"),
        "mean_img": str(folder / "mean"),
    }
    default = kind.partition("default=")[2].strip("'")
    if keyword in files:
        return files[keyword]
    if kind.startswith("boolean"):
        return default == "1"
    if "None" in kind and default == "None":
        return None
    if kind.startswith(("int", "long")):
        return int(default)
    if kind.startswith("float"):
        return float(default)
    if default.startswith("["):
        return tuple(json.loads(default))
    return default


ROWS = [(name, key, kind) for name, rows in KEYWORDS.items() for key, kind in rows]


def test_all_are_there_with_their_defaults():
    missing, other = [], []
    for name, keyword, kind in ROWS:
        found = inspect.signature(getattr(mx.io, name)).parameters
        if keyword not in found:
            missing.append((name, keyword))
            continue
        default = found[keyword].default
        if "required" in kind or keyword in ("label_csv", "label_libsvm", "path_imgrec"):
            continue  # here they are required, or None
        wanted = value_of(keyword + " ", kind, Path())
        if isinstance(wanted, float) and wanted != 0:
            wanted = float(f"{wanted:.6g}")  # of float32
        if wanted != default and not (keyword == "dtype" and default == "float32"):
            other.append((name, keyword, default, wanted))
    assert missing == []
    assert other == []


@pytest.mark.parametrize("name", KEYWORDS)
def test_all_are_taken(name, folder):
    make, least_of = getattr(mx.io, name), least(name, folder)
    wanted = [batch.data[0].shape for batch in make(**least_of)]
    for keyword, kind in KEYWORDS[name]:
        if keyword in least_of:
            continue
        value = value_of(keyword, kind, folder)
        batches = make(**least_of, **{keyword: value})
        assert [batch.data[0].shape for batch in batches] == wanted, keyword
        text = "None" if value is None else str(value)
        if value is not None and keyword not in ("dtype", "num_parts", "part_index", "seed"):
            batches = make(**least_of, **{keyword: text})  # as MXNet takes it, which has texts only
            assert [batch.data[0].shape for batch in batches] == wanted, keyword
    for wrong in ("round_bach", "path_imgrek", "shufle"):
        with pytest.raises(TypeError, match=wrong):
            make(**least_of, **{wrong: 1})


@pytest.mark.parametrize("name", KEYWORDS)
def test_names_and_flags_are_heard(name, folder):
    make, least_of = getattr(mx.io, name), least(name, folder)
    batches = make(**least_of, data_name="x", label_name="y")
    assert batches.provide_data[0].name == "x" and batches.provide_label[0].name == "y"
    if "round_batch" in dict(KEYWORDS[name]):
        least_of["batch_size"] = 3
        for text, flag in (("False", False), ("0", False), ("True", True), (0, False)):
            seconds = []
            for value in (text, flag):
                iterator = make(**least_of, round_batch=value)
                list(iterator)
                iterator.reset()
                seconds.append(next(iterator).index.tolist())
            assert seconds[0] == seconds[1] == ([1, 2, 3] if flag else [0, 1, 2])
        with pytest.raises(ValueError, match="round_batch"):
            make(**least_of, round_batch="perhaps")


def test_shapes_of_mnist(folder):
    least_of = least("MNISTIter", folder)
    for more, wanted in (
        ({}, (2, 1, 4, 4)),
        ({"flat": True}, (2, 16)),
        ({"flat": "True", "shuffle": "False"}, (2, 16)),
        ({"data_shape": (16,), "flat": True, "label_name": "sm_label"}, (2, 16)),
        ({"data_shape": 16}, (2, 16)),
        ({"data_shape": "(1, 4, 4)"}, (2, 1, 4, 4)),
        ({"input_shape": (4, 4)}, (2, 4, 4)),
        ({"input_shape": (2, 8), "data_shape": (2, 8)}, (2, 2, 8)),
    ):
        iterator = mx.io.MNISTIter(**least_of, **more)
        assert next(iterator).data[0].shape == wanted == iterator.provide_data[0].shape
    first = next(mx.io.MNISTIter(**least_of, shuffle="False")).label[0].asnumpy()
    assert first.tolist() == [0, 1]
    for wrong in ({"data_shape": (17,)}, {"input_shape": (16,), "data_shape": (4, 4)}):
        with pytest.raises(ValueError, match="data_shape"):
            mx.io.MNISTIter(**least_of, **wrong)
    for wrong in ({"data_shape": "x"}, {"data_shape": (16.5,)}, {"flat": "yes"}):
        with pytest.raises((ValueError, TypeError), match="data_shape|flat"):
            mx.io.MNISTIter(**least_of, **wrong)


@pytest.mark.parametrize("wrong", [2.5, "2.5", "x", (2,), None])
def test_numbers_are_whole(folder, wrong):
    for name in ("ImageRecordIter", "ImageDetRecordIter"):
        least_of = least(name, folder)
        for keyword in ("resize", "preprocess_threads", "prefetch_buffer", "batch_size"):
            if wrong is None and keyword != "batch_size":
                continue
            with pytest.raises((ValueError, TypeError), match=keyword):
                getattr(mx.io, name)(**{**least_of, keyword: wrong})


# --- names of files -------------------------------------------------------------------------------
def readers(folder):
    """(what reads a file of this name, the file) of every reader of data."""
    vision = mx.gluon.data.vision
    shape = {"data_shape": (3, 8, 8), "batch_size": 2}
    return {
        "CSVIter": (lambda p: mx.io.CSVIter(p, (2,), batch_size=2), "a.csv"),
        "CSVIter label": (lambda p: mx.io.CSVIter(folder / "a.csv", (2,), p, (2,), 2), "a.csv"),
        "LibSVMIter": (lambda p: mx.io.LibSVMIter(p, (2,), batch_size=2), "a.svm"),
        "MNISTIter": (lambda p: mx.io.MNISTIter(p, folder / "labels", 2), "images"),
        "MNISTIter label": (lambda p: mx.io.MNISTIter(folder / "images", p, 2), "labels"),
        "read_idx": (mx.io.read_idx, "labels"),
        "ImageRecordIter": (
            lambda p: next(mx.io.ImageRecordIter(path_imgrec=p, label_width=7, **shape)),
            "a.rec",
        ),
        "ImageDetRecordIter": (
            lambda p: next(mx.io.ImageDetRecordIter(path_imgrec=p, **shape)),
            "a.rec",
        ),
        "MXRecordIO": (lambda p: mx.recordio.MXRecordIO(p, "r").read(), "a.rec"),
        "MXIndexedRecordIO": (
            lambda p: mx.recordio.MXIndexedRecordIO(p, folder / "a.rec", "r"),
            "a.idx",
        ),
        "ImageIter": (lambda p: next(mx.image.ImageIter(2, (3, 8, 8), 7, path_imgrec=p)), "a.rec"),
        "ImageIter list": (lambda p: mx.image.ImageIter(2, (3, 8, 8), 7, path_imglist=p), "a.lst"),
        "ImageDetIter": (lambda p: next(mx.image.ImageDetIter(2, (3, 8, 8), p)), "a.rec"),
        "imread": (mx.image.imread, "none.png"),
        "nd.load": (mx.nd.load, "mean"),
        "sym.load": (mx.sym.load, "none.json"),
        "RecordFileDataset": (lambda p: mx.gluon.data.RecordFileDataset(p)[0], "a.rec"),
        "ImageRecordDataset": (lambda p: vision.ImageRecordDataset(p)[0], "a.rec"),
        "ImageFolderDataset": (vision.ImageFolderDataset, "classes"),
    }


READERS = list(readers(Path()))


@pytest.mark.parametrize("name", READERS)
def test_names_of_files(name, folder):
    """A str or a path is taken; bytes, numbers and what no file can be called are refused, by what
    they are; None is refused where a file must be."""
    read, file = readers(folder)[name]
    for given in (str(folder / file), folder / file):
        if file.startswith("none"):
            with pytest.raises(FileNotFoundError, match=file):
                read(given)
        else:
            read(given)
    for wrong in (str(folder / file).encode(), 3, 1.5, ["a"], "a\0b", np.array(["a"])):
        with pytest.raises(
            (TypeError, ValueError), match="is expected|of records; several with"
        ) as caught:
            read(wrong)
        assert isinstance(caught.value, mx.errors.CynetError)
        assert not isinstance(caught.value, OSError), "it was taken for the name of a file"
    if name not in ("CSVIter label",):  # no labels
        for wrong in (None, ""):
            with pytest.raises((TypeError, ValueError), match="is expected|path_imgrec"):
                read(wrong)


@pytest.mark.parametrize("kind", ["ImageIter", "ImageDetIter"])
def test_roots_and_names_that_are_empty(kind, folder, tmp_path):
    """Scripts hand on the empty texts of options that were not given; an empty root means the names
    as they are."""
    make = getattr(mx.image, kind)
    width = {} if kind == "ImageDetIter" else {"label_width": 7}
    record = mx.recordio.MXRecordIO(folder / "a.rec", "r").read()
    (tmp_path / "0.png").write_bytes(mx.recordio.unpack(record)[1])
    line = "2\t5\t1\t0.1\t0.1\t0.8\t0.8"
    for name, text in (("a.lst", "0.png"), ("whole.lst", str(tmp_path / "0.png"))):
        (tmp_path / name).write_text(f"0\t{line}\t{text}\n")
    labels = [float(each) for each in line.split("\t")]
    rec, idx = str(folder / "a.rec"), str(folder / "a.idx")
    for more in (
        {"path_imglist": str(tmp_path / "whole.lst"), "path_root": ""},
        {"path_imglist": str(tmp_path / "whole.lst")},
        {"path_imglist": tmp_path / "a.lst", "path_root": tmp_path},
        {"path_imglist": str(tmp_path / "a.lst"), "path_root": f"{tmp_path}/", "path_imgrec": ""},
        {"imglist": [[*labels, str(tmp_path / "0.png")]], "path_root": ""},
        {"imglist": [[*labels, "0.png"]], "path_root": str(tmp_path), "path_imglist": ""},
        {"path_imgrec": rec, "path_imgidx": "", "path_imglist": "", "path_root": ""},
        {"path_imgrec": rec, "path_imgidx": idx, "path_root": ""},
    ):
        assert next(make(1, (3, 8, 8), **width, **more)).data[0].shape == (1, 3, 8, 8)
    for wrong in (b"x", 3, "a\0b"):
        with pytest.raises((TypeError, ValueError), match="path_root"):
            make(1, (3, 8, 8), **width, path_imglist=tmp_path / "a.lst", path_root=wrong)


@pytest.mark.parametrize(
    ("values", "wanted"),
    [
        (3, [3, 0, 0]),
        ("3", [3, 0, 0]),
        (2.0, [2, 0, 0]),
        ((1, 2, 3), [1, 2, 3]),
        ([1, 2], [1, 2, 0]),
        ("(1, 2, 3)", [1, 2, 3]),
        ((7,), [7, 0, 0]),
        ((), [9, 9, 9]),
        (np.array([4.0, 5.0, 6.0]), [4, 5, 6]),
        (np.float32(8), [8, 0, 0]),
    ],
)
def test_colors_of_a_border(values, wanted):
    """What MXNet 1.9.1 gives for each of them."""
    image = mx.nd.zeros((2, 2, 3), dtype="uint8")
    found = mx.image.copyMakeBorder(image, 1, 0, 0, 0, value=9, values=values)
    assert found.shape == (3, 2, 3) and found[0, 0].asnumpy().tolist() == wanted
    for wrong in ("x", None, ["a"], {"a": 1}):
        with pytest.raises(TypeError, match="values are numbers"):
            mx.image.copyMakeBorder(image, 1, 0, 0, 0, values=wrong)
