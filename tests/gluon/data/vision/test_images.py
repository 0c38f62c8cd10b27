"""Datasets of records and of image files, also read by the workers of a DataLoader."""

import re

import numpy as np
import pytest

import cynet as mx
from cynet.gluon import data
from tests.image.conftest import folder, picture  # noqa: F401 (a fixture)


def test_records(folder):  # noqa: F811
    records = data.RecordFileDataset(folder / "images.rec")
    assert len(records) == 7
    header, content = mx.recordio.unpack(records[3])
    assert header.label == 3 and content.startswith(b"\x89PNG")
    with pytest.raises(IndexError, match="whose index has 7"):
        records[7]
    with pytest.raises(FileNotFoundError, match=r"none\.rec"):
        data.RecordFileDataset(folder / "none.rec")


@pytest.mark.parametrize(
    "options", [{}, {"num_workers": 2}, {"num_workers": 2, "thread_pool": True}]
)
def test_images_of_records(folder, options):  # noqa: F811
    images = data.vision.ImageRecordDataset(folder / "images.rec")
    image, label = images[5]
    assert label == 5.0 and np.array_equal(image.asnumpy(), picture(5))
    loader = data.DataLoader(images, 3, **options)
    batches = [(x.asnumpy(), y.asnumpy().tolist()) for x, y in loader]
    assert [each[1] for each in batches] == [[0, 1, 2], [3, 4, 5], [6]]
    assert np.array_equal(np.concatenate([b[0] for b in batches]), [picture(i) for i in range(7)])
    loader.close()


def test_grey_and_transform(folder):  # noqa: F811
    grey = data.vision.ImageRecordDataset(folder / "boxes.rec", 0, lambda x, y: (x.shape, len(y)))
    assert grey[0] == ((40, 48, 1), 7) and grey[1] == ((40, 48, 1), 12)


def test_a_damaged_image(folder):  # noqa: F811
    content = (folder / "images.rec").read_bytes()
    (folder / "images.rec").write_bytes(content.replace(b"\x89PNG", b"nothing"[:4], 1))
    images = data.vision.ImageRecordDataset(folder / "images.rec")
    with pytest.raises(mx.errors.FormatError, match=r"record 0 of '.*images\.rec'"):
        images[0]
    assert images[1][1] == 1


def test_a_folder_of_classes(folder):  # noqa: F811
    root = folder / "classes"
    for i, name in enumerate(["b", "a"]):
        (root / name).mkdir(parents=True)
        (root / name / "2.PNG").write_bytes((folder / f"{i}.png").read_bytes())
        (root / name / "1.png").write_bytes((folder / "2.png").read_bytes())
    images = data.vision.ImageFolderDataset(root)
    assert images.synsets == ["a", "b"] and len(images) == 4
    assert [label for _, label in images.items] == [0, 0, 1, 1]
    image, label = images[1]
    assert label == 0 and np.array_equal(image.asnumpy(), picture(1))
    (root / "a" / "text.txt").write_text("")
    (root / "file").write_text("")
    with pytest.warns(UserWarning) as warned:
        assert len(data.vision.ImageFolderDataset(root)) == 4
    (warning,) = warned  # one for all of them
    assert warning.filename == __file__
    assert re.search(r"2 files are left out.*'a/text.txt', 'file'", str(warning.message))
    with pytest.raises(FileNotFoundError, match="none"):
        data.vision.ImageFolderDataset(folder / "none")
    (folder / "empty").mkdir()
    with pytest.raises(mx.errors.FormatError, match="no folders with"):
        data.vision.ImageFolderDataset(folder / "empty")


def test_what_programs_leave_in_folders(folder):  # noqa: F811
    """Files of the system are passed over in silence; a hidden folder is a class, as in MXNet, and
    is told, since it shifts the labels."""
    root = folder / "classes"
    (root / "cats").mkdir(parents=True)
    (root / "cats" / "x.png").write_bytes((folder / "0.png").read_bytes())
    for name in (".DS_Store", "Thumbs.db", "cats/.nfs01", "cats/desktop.ini"):
        (root / name).write_bytes(b"x")
    images = data.vision.ImageFolderDataset(root)  # a warning would be an error
    assert images.synsets == ["cats"] and len(images) == 1
    (root / ".ipynb_checkpoints").mkdir()
    with pytest.warns(UserWarning, match=r"hidden folders are classes.*'.ipynb_checkpoints'"):
        images = data.vision.ImageFolderDataset(root)
    assert images.synsets == [".ipynb_checkpoints", "cats"] and images.items[0][1] == 1


def test_damaged_images_that_are_skipped(folder, caplog):  # noqa: F811
    """In their place stands the next one that can be read, also behind the last."""
    root = folder / "classes"
    for number in range(3):
        (root / str(number)).mkdir(parents=True)
        (root / str(number) / "x.png").write_bytes((folder / f"{number}.png").read_bytes())
    for number in (0, 2):
        (root / str(number) / "x.png").write_bytes(b"damaged")
    with pytest.raises(
        mx.errors.FormatError, match="7 bytes that are not an image that OpenCV knows: b'damaged'"
    ):
        data.vision.ImageFolderDataset(root)[0]
    images = data.vision.ImageFolderDataset(root, skip_damaged=True)
    assert [label for _, label in images] == [1, 1, 1] and images.skipped == 3
    assert images[-1][1] == 1 and len(images) == 3
    assert all("x.png" in record.message for record in caplog.records)
    (root / "1" / "x.png").unlink()
    with pytest.raises(mx.errors.FormatError, match="no image can be read"):
        images[0]
    path = folder / "images.rec"
    path.write_bytes(path.read_bytes().replace(b"\x89PNG", b"none", 1))
    with pytest.raises(mx.errors.FormatError, match="record 0"):
        data.vision.ImageRecordDataset(path)[0]
    images = data.vision.ImageRecordDataset(path, skip_damaged=True)
    assert [label for _, label in images] == [1, 1, 2, 3, 4, 5, 6] and images.skipped == 1
