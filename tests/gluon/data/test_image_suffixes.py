"""Which files of a folder are images: ImageFolderDataset's exts."""

import numpy as np
import pytest

import cynet as mx
from cynet.base.errors import ArgumentTypeError, FormatError
from cynet.gluon.data.vision import ImageFolderDataset

cv2 = pytest.importorskip("cv2")


@pytest.fixture
def folder(tmp_path):
    for kind in ("cat", "dog"):
        (tmp_path / kind).mkdir()
        for name in ("a.png", "b.BMP", "c.webp", "d.txt"):
            if name == "d.txt":
                (tmp_path / kind / name).write_text("no image")
            else:
                image = np.full((4, 5, 3), 40 * (kind == "dog") + len(name), "uint8")
                cv2.imwrite(str(tmp_path / kind / name.lower()), image)
                (tmp_path / kind / name.lower()).rename(tmp_path / kind / name)
    return str(tmp_path)


@pytest.mark.parametrize("exts", [[".bmp"], (".BMP", ".webp"), [".png", ".bmp", ".webp"]])
def test_other_endings(folder, exts):
    with pytest.warns(UserWarning, match="exts= names other endings"):
        data = ImageFolderDataset(folder, exts=exts)
    assert len(data) == 2 * len(exts)
    image, label = data[len(data) - 1]
    assert image.shape == (4, 5, 3) and label == 1
    assert {path.rpartition(".")[2].lower() for path, _ in data.items} == {
        e[1:].lower() for e in exts
    }


def test_those_of_mxnet_by_default(folder):
    with pytest.warns(UserWarning, match="which are not .jpg, .jpeg, .png files"):
        assert len(ImageFolderDataset(folder)) == 2


@pytest.mark.parametrize("exts", [".bmp", ["bmp"], [3], [""]])
def test_no_endings(folder, exts):
    with pytest.raises(ArgumentTypeError, match="exts must be a list of endings"):
        ImageFolderDataset(folder, exts=exts)


@pytest.mark.filterwarnings("ignore:ImageFolderDataset")
def test_none_of_them(folder):
    with pytest.raises(FormatError, match="no folders with .gif files"):
        ImageFolderDataset(folder, exts=[".gif"])


def test_parameters_are_counted():
    net = mx.gluon.nn.Dense(2, in_units=3)
    params = net.collect_params()
    assert len(params) == 2 and len(mx.gluon.ParameterDict()) == 0
    assert mx.gluon.ParameterDict()  # as in MXNet: scripts ask whether one was given
