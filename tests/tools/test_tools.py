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
    im2rec.main(
        [
            prefix,
            str(classes / "classes"),
            "--list",
            "--recursive",
            "--train-ratio",
            "0.5",
            "--test-ratio",
            "0.25",
        ]
    )
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
    (folder / "images.lst").unlink()
    assert told(path, "--check") == (0, "7 images are right\n")
    assert told(path, "--extract", folder / "out")[0] == 0
    assert np.array_equal(mx.image.imread(folder / "out" / "00000002_2.png").asnumpy(), picture(2))
    content = path.read_bytes()
    path.write_bytes(content.replace(b"\x89PNG", b"none", 1)[:-40])
    assert told(path, "--check") == (1, "5 images are right\n")
    errors = capsys.readouterr().err.splitlines()
    assert len(errors) == 3 and all("offset" in line for line in errors)
    assert told(folder / "none.rec")[0] == 1


def test_as_programs(folder):  # noqa: F811
    done = subprocess.run(
        [sys.executable, "-m", "cynet.tools.rec", folder / "images.rec"],
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.returncode == 0 and done.stdout.startswith("7 records")
    done = subprocess.run(
        [sys.executable, "-m", "cynet.tools.im2rec", "--help"],
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.returncode == 0 and "--train-ratio" in done.stdout


# --- what is there stays --------------------------------------------------------------------------
def made(classes):
    """Lists and records of the folders; what a file has before something goes wrong."""
    prefix, root = str(classes / "out"), str(classes / "classes")
    assert im2rec.main([prefix, root, "--list", "--recursive", "--no-shuffle"]) == 0
    assert im2rec.main([prefix, root]) == 0
    return prefix, root


def contents(classes):
    return {each.name: each.read_bytes() for each in classes.glob("out*")}


def test_nothing_is_replaced_by_nothing(classes, capsys, monkeypatch):
    """A wrong root, lists that are none, no OpenCV, no image that can be read, no processes."""
    prefix, root = made(classes)
    before = contents(classes)
    wrong, empty = str(classes / "wrong"), classes / "empty"
    empty.mkdir()
    for arguments, said in (
        ([prefix, wrong], "cannot read .*wrong': no such file"),
        ([prefix, wrong, "--list", "--recursive"], "cannot read .*wrong': no such file"),
        ([prefix, root + "/a/z.png"], "cannot read"),
        ([prefix, str(empty)], "none of the 4 images of .*out.lst' below .*empty' can be read"),
        ([prefix, str(empty), "--list", "--recursive"], "empty' has no .jpeg, .jpg, .png in it a"),
        ([prefix, root, "--list"], "--recursive looks deeper"),
        ([prefix, root, "--num-thread", "0"], "--num-thread is 1 or more"),
        ([prefix, root, "--list", "--recursive", "--chunks", "0"], "--chunks is 1 or more"),
    ):
        assert im2rec.main(arguments) == 1
        assert re.search(said, capsys.readouterr().err), said
        assert contents(classes) == before

    def missing():
        raise mx.errors.MissingModuleError("no cv2")

    monkeypatch.setattr(im2rec, "cv", missing)
    assert im2rec.main([prefix, root]) == 1 and "no cv2" in capsys.readouterr().err
    assert contents(classes) == before
    assert im2rec.main([prefix, root, "--pass-through"]) == 0
    monkeypatch.undo()
    for lines in ("", "no list\n", "0\t1.0\n"):
        (classes / "out.lst").write_text(lines)
        before = contents(classes)
        assert im2rec.main([prefix, root]) == 1 and "out.lst" in capsys.readouterr().err
        assert contents(classes) == before


def test_no_list_is_packed_before_all_can_be_read(classes, capsys):
    prefix, root = made(classes)
    (classes / "out_b.lst").write_text("no list\n")
    before = contents(classes)
    assert im2rec.main([prefix, root]) == 1 and "out_b.lst" in capsys.readouterr().err
    assert contents(classes) == before


INTERRUPTED = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
from cynet.tools import im2rec
write, count = im2rec.MXIndexedRecordIO.write_idx, 0
def counted(*args):
    global count
    count += 1
    if count == 3:
        os.kill(os.getpid(), getattr(signal, sys.argv[1]))
    return write(*args)
im2rec.MXIndexedRecordIO.write_idx = counted
sys.exit(im2rec.main(sys.argv[2:]))
"""


@pytest.mark.parametrize(("how", "processes"), [("SIGINT", "2"), ("SIGKILL", "1")])
def test_a_program_that_is_ended(classes, how, processes):
    prefix, root = made(classes)
    before = contents(classes)
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, how, prefix, root, "--num-thread", processes],
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert contents(classes) == before
    if how == "SIGINT":
        assert done.returncode == 130 and "Traceback" not in done.stderr
        assert "interrupted: the files are as they were" in done.stderr


def test_progress_where_there_is_no_terminal(classes, capsys, monkeypatch):
    monkeypatch.setattr(im2rec, "_PROGRESS_SECONDS", 0.0)
    made(classes)
    assert "out: 3 of 4 images" in capsys.readouterr().err


def test_checking_against_a_list(classes, capsys):
    prefix, _ = made(classes)
    path, lines = prefix + ".rec", (classes / "out.lst").read_text().splitlines(keepends=True)
    capsys.readouterr()
    assert told(path, "--check")[0] == 0
    assert told(path, "--check", "--list", prefix + ".lst")[0] == 0
    other = classes / "other.lst"
    for text, said in (
        ("".join(lines) + "9\t0\tx.png\n", r"not records of 1 images: numbers 9"),
        ("".join(lines[1:]), r"records that are not in the list, of 1 images: numbers 0"),
        ("".join(lines).replace("1.000000", "7"), r"other labels than in the list, of 1 images: n"),
    ):
        other.write_text(text)
        assert told(path, "--check", "--list", other)[0] == 1
        assert re.search(said, capsys.readouterr().err)
        (classes / "out.lst").write_text(text)
        assert told(path, "--check")[0] == 1
        capsys.readouterr()
    (classes / "out.lst").unlink()
    (classes / "out.idx").write_text("0\t0\n1\t8\n")
    assert told(path, "--check")[0] == 1
    said = capsys.readouterr().err
    assert "1 offsets without a record: at 8" in said and "3 records that are not in it" in said
    (classes / "empty.rec").write_bytes(b"")
    (classes / "empty.idx").write_text("0\t0\n")
    assert told(classes / "empty.rec", "--check")[0] == 1
    assert told(classes / "empty.rec", "--index")[0] == 1
    assert (classes / "empty.idx").read_text() == "0\t0\n"
    for wrong in (["--list", "x"], ["--list", "3", "--index"]):
        with pytest.raises(SystemExit):
            told(path, *wrong)
