"""The programs for files of records: what they write is read again, and damage is told."""

import io
import re
import subprocess
import sys

import numpy as np
import pytest

import cynet as mx
from cynet.tools import im2rec, rec
from tests.image.conftest import folder, picture  # noqa: F401 (a fixture)


@pytest.fixture
def classes(folder):  # noqa: F811
    for i, name in enumerate(["b/x", "b/y", "a/z", "a/deep/w"]):
        path = folder / "classes" / f"{name}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        content = mx.recordio.pack_img((0, 0.0, 0, 0), picture(i)[..., ::-1], 3, ".png")
        path.write_bytes(mx.recordio.unpack(content)[1])
    return folder


def records(path):
    """(label, id, image) of each record."""
    record, found = mx.recordio.MXRecordIO(path, "r"), []
    for each in iter(record.read, None):
        header, image = mx.recordio.unpack_img(each)
        found.append((header.label, header.id, image[..., ::-1]))
    return found


def test_lists(classes, capsys):
    prefix = str(classes / "out")
    assert (
        im2rec.main([prefix, str(classes / "classes"), "--list", "--recursive", "--no-shuffle"])
        == 0
    )
    assert (classes / "out.lst").read_text() == (
        "0\t0.000000\ta/z.png\n1\t1.000000\ta/deep/w.png\n2\t2.000000\tb/x.png\n"
        "3\t2.000000\tb/y.png\n"
    )
    assert (classes / "out_synset.txt").read_text() == "a\na/deep\nb\n"
    im2rec.main([prefix, str(classes / "classes"), "--list", "--recursive", "--train-ratio", "0.5",
                 "--test-ratio", "0.25"])  # fmt: skip
    parts = [(classes / f"out_{part}.lst").read_text() for part in ("test", "train", "val")]
    assert [part.count("\n") for part in parts] == [1, 2, 1]
    assert sorted("".join(parts).splitlines()) == (classes / "out.lst").read_text().splitlines()
    im2rec.main([prefix + "c", str(classes / "classes" / "b"), "--list", "--chunks", "2"])
    assert len((classes / "outc_1.lst").read_text().splitlines()) == 1


@pytest.mark.parametrize("processes", ["1", "2"])
def test_records(classes, processes):
    prefix, root = str(classes / "out"), str(classes / "classes")
    im2rec.main([prefix, root, "--list", "--recursive", "--no-shuffle"])
    options = ["--encoding", ".png", "--quality", "3", "--num-thread", processes]
    assert im2rec.main([prefix, root, *options]) == 0
    found = records(prefix + ".rec")
    assert [each[:2] for each in found] == [(0.0, 0), (1.0, 1), (2.0, 2), (2.0, 3)]
    for (_, _, image), number in zip(found, (2, 3, 0, 1)):
        assert np.array_equal(image, picture(number))
    indexed = mx.recordio.MXIndexedRecordIO(prefix + ".idx", prefix + ".rec", "r")
    assert mx.recordio.unpack(indexed.read_idx(3))[0].id == 3
    assert im2rec.main([prefix, root, "--resize", "20", "--center-crop", "--color", "0"]) == 0
    assert all(image.shape == (20, 20) for _, _, image in records(prefix + ".rec"))
    assert im2rec.main([prefix, root, "--pass-through"]) == 0
    assert np.array_equal(records(prefix + ".rec")[2][2], picture(0))


def test_several_labels_and_files_that_are_none(classes, capsys):
    (classes / "out.lst").write_text("4\t1\t2.5\ta/z.png\n5\t3\t4\tnone.png\n")
    prefix, root = str(classes / "out"), str(classes / "classes")
    assert im2rec.main([prefix, root, "--pack-label"]) == 1
    said = capsys.readouterr()
    assert re.search(r"left out: cannot read '.*none\.png': no such file", said.err)
    assert "out.rec: 1 images, 1 left out" in said.out
    ((label, number, _),) = records(prefix + ".rec")
    assert label.tolist() == [1, 2.5] and number == 4
    assert im2rec.main([str(classes / "nothing"), root]) == 1
    assert "--list writes one" in capsys.readouterr().err


def told(*arguments):
    out = io.StringIO()
    status = rec.main(list(map(str, arguments)), out)
    return status, out.getvalue()


def test_looking_at_records(folder, capsys):  # noqa: F811
    path = folder / "images.rec"
    status, text = told(path)
    assert status == 0 and text.startswith("7 records") and "kinds: 7 png" in text
    assert "labels: 7, from 0 to 6" in text
    lines = told(path, "--list", 2)[1].splitlines()
    assert len(lines) == 2 and lines[1].split("\t")[1:4] == ["1", "1", "png"]
    index = (folder / "images.idx").read_bytes()
    (folder / "images.idx").unlink()
    assert told(path, "--index")[0] == 0 and (folder / "images.idx").read_bytes() == index
    assert told(path, "--check") == (0, "7 images are right\n")
    assert told(path, "--extract", folder / "out")[0] == 0
    assert np.array_equal(mx.image.imread(folder / "out" / "00000002_2.png").asnumpy(), picture(2))
    content = path.read_bytes()
    path.write_bytes(content.replace(b"\x89PNG", b"none", 1)[:-40])
    assert told(path, "--check") == (1, "5 images are right\n")
    errors = capsys.readouterr().err.splitlines()
    assert len(errors) == 2 and all("offset" in line for line in errors)
    assert told(folder / "none.rec")[0] == 1


def test_as_programs(folder):  # noqa: F811
    done = subprocess.run(
        [sys.executable, "-m", "cynet.tools.rec", folder / "images.rec"],
        capture_output=True, text=True, timeout=100,
    )  # fmt: skip
    assert done.returncode == 0 and done.stdout.startswith("7 records")
    done = subprocess.run(
        [sys.executable, "-m", "cynet.tools.im2rec", "--help"],
        capture_output=True, text=True, timeout=100,
    )  # fmt: skip
    assert done.returncode == 0 and "--train-ratio" in done.stdout
