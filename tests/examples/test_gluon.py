"""examples/gluon: each program in a small form learns, and what it saved works."""

import importlib.util
import os
import struct
import sys
from pathlib import Path

import numpy as np
import pytest

import cynet as mx
from tests.fixtures import ctc_reader

FOLDER = Path(__file__).parent.parent.parent / "examples" / "gluon"
PROGRAMS = sorted(path.stem for path in FOLDER.glob("*.py") if path.stem != "common")


@pytest.fixture
def run(tmp_path, monkeypatch):
    """``run("program", "--option", ...)``: what its `main` returns; files go to `tmp_path`."""
    monkeypatch.syspath_prepend(str(FOLDER))
    before = np.random.get_state(), mx.random.shuffle_state()

    def call(name, *options):
        sys.modules.pop("common", None)
        spec = importlib.util.spec_from_file_location(f"example_{name}", FOLDER / f"{name}.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module.main(["--out", str(tmp_path), *options])

    yield call
    sys.modules.pop("common", None)
    np.random.set_state(before[0])
    mx.random.set_shuffle_state(before[1])


@pytest.mark.parametrize("name", PROGRAMS)
def test_help(run, name, capsys):
    with pytest.raises(SystemExit) as end:
        run(name, "--help")
    assert end.value.code == 0 and "--epochs" in capsys.readouterr().out


@pytest.mark.parametrize(
    "options",
    [
        ("image_classification", "--epochs", "0"),
        ("image_classification", "--dataset", "digits", "--batch-size", "5000"),
        ("custom_layer", "--levels", "1"),
        ("private_training", "--clip", "0"),
        ("private_training", "--noise", "-1"),
        ("image_folder", "--images", "/no/folder"),
        ("transformer", "--length", "-1"),
        ("word_language_model", "--text", "/no/file"),
    ],
)
def test_options_that_are_refused(run, options, capsys):
    with pytest.raises(SystemExit) as end:
        run(*options)
    assert end.value.code == 2 and options[-2] in capsys.readouterr().err


def test_every_program_is_described():
    text = (FOLDER / "README.md").read_text()
    assert all(f"`{name}.py`" in text for name in PROGRAMS)


def check_png(path, width, height):
    """A PNG of that size, or none where nothing draws."""
    if importlib.util.find_spec("matplotlib") is None:
        assert not path.exists()
        return
    content = path.read_bytes()
    assert content[:8] == b"\x89PNG\r\n\x1a\n"
    assert struct.unpack(">II", content[16:24]) == (width, height)


def check_plot(path, axes=2):
    check_png(path, 500 * axes, 400)


@pytest.mark.parametrize(("left", "axes"), [(1, [["loss"], ["digits", "all"]]), (3, None)])
def test_figures_of_the_plot(tmp_path, monkeypatch, left, axes):
    """The first figures on the left, the others on the right, over epochs from 1 on."""
    pytest.importorskip("matplotlib")
    from matplotlib import pyplot

    monkeypatch.syspath_prepend(str(FOLDER))
    monkeypatch.delitem(sys.modules, "common", raising=False)
    common = importlib.import_module("common")
    monkeypatch.delitem(sys.modules, "common")
    drawn = []
    monkeypatch.setattr(pyplot, "close", drawn.append)
    history = common.History("loss", "digits", "all", left=left)
    history.add(3.0, 0.5, 0.25)
    history.add(2.0, 0.75, 0.5)
    history.plot(tmp_path / "a.png")
    found = [
        {line.get_label(): line.get_xydata().tolist() for line in axis.lines}
        for axis in drawn[0].axes
    ]
    assert [list(axis) for axis in found] == (axes or [["loss", "digits", "all"]])
    assert found[0]["loss"] == [[1, 3], [2, 2]]
    assert found[-1]["all"] == [[1, 0.25], [2, 0.5]]
    assert "epoch" in {axis.get_xlabel() for axis in drawn[0].axes}
    monkeypatch.undo()
    pyplot.close(drawn[0])


@pytest.mark.parametrize("terminal", [True, False])
def test_progress(monkeypatch, capsys, terminal):
    """A bar on a terminal, nothing elsewhere; the items are those that were given."""
    monkeypatch.syspath_prepend(str(FOLDER))
    monkeypatch.delitem(sys.modules, "common", raising=False)
    common = importlib.import_module("common")
    monkeypatch.delitem(sys.modules, "common")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal, raising=False)
    assert list(common.progress(iter("abc"), "letters", 3)) == ["a", "b", "c"]
    assert ("letters" in capsys.readouterr().err) == terminal
    assert (common.bar(3) is not None) == terminal


def test_without_matplotlib(run, tmp_path, monkeypatch, caplog):
    """An example trains and saves its model; a line says why nothing is drawn."""
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    caplog.set_level("INFO")
    run("dcgan", "--epochs", "1", "--width", "8")
    assert "no plot: it needs matplotlib" in caplog.text
    assert "no picture: it needs matplotlib" in caplog.text
    assert not list(tmp_path.glob("*.png")) and (tmp_path / "generator-0000.params").exists()


@pytest.mark.parametrize("options", [(), ("--eager",), ("--network", "mlp", "--workers", "2")])
def test_image_classification(run, tmp_path, options):
    accuracy = run("image_classification", "--dataset", "digits", "--epochs", "3", *options)
    assert accuracy > 0.85
    name = "mlp" if "mlp" in options else "lenet"
    check_plot(tmp_path / f"{name}.png")
    net = mx.gluon.SymbolBlock.imports(
        tmp_path / f"{name}-symbol.json", "data", tmp_path / f"{name}-0000.params"
    )
    assert net(mx.nd.zeros((2, 1, 8, 8))).shape == (2, 10)


def test_image_folder(run, tmp_path):
    """Images of one's own: two kinds of pattern, as arrays and as .ppm; then one is recognized."""
    pytest.importorskip("PIL")
    rng = np.random.RandomState(0)
    for name in ("columns", "rows"):
        (tmp_path / "photos" / name).mkdir(parents=True)
        for i in range(60):
            stripes = (np.arange(30) // rng.randint(3, 6) % 2 * 200 + rng.randint(50)).astype(
                "uint8"
            )
            image = np.broadcast_to(stripes[:, None, None], (30, 30 + i % 7, 3))
            image = image if name == "rows" else image.transpose(1, 0, 2)
            path = tmp_path / "photos" / name / f"{i:02d}"
            if i % 2:
                np.save(path.with_suffix(".npy"), image)
            else:
                header = b"P6 %d %d 255\n" % image.shape[1::-1]
                path.with_suffix(".ppm").write_bytes(header + image.tobytes())
    shape = ("--size", "32")
    options = ("--images", str(tmp_path / "photos"), "--batch-size", "12", "--flip", *shape)
    assert run("image_folder", *options, "--epochs", "8", "--lr", "0.01") > 0.9
    check_plot(tmp_path / "mobilenet0.25.png")
    for name in ("columns", "rows"):
        image = tmp_path / "photos" / name / "04.ppm"
        assert run("image_folder", "--predict", str(image), *shape) == name


def test_image_folder_refuses(run, tmp_path):
    (tmp_path / "one").mkdir()
    with pytest.raises(SystemExit, match="two folders of images or more"):
        run("image_folder", "--images", str(tmp_path))
    (tmp_path / "two").mkdir()
    np.save(tmp_path / "two" / "a.npy", np.zeros((4, 4, 3)))
    with pytest.raises(SystemExit, match=r"this is \(4, 4, 3\) float64"):
        run("image_folder", "--images", str(tmp_path), "--batch-size", "1")


def test_image_folder_without_options(run):
    """On the digits that ship, by two processes."""
    assert run("image_folder", "--size", "32", "--epochs", "5", "--workers", "2") > 0.7


def test_custom_layer(run, tmp_path):
    assert run("custom_layer", "--epochs", "3") > 0.85
    check_plot(tmp_path / "custom_layer.png")


def test_transformer(run, tmp_path):
    assert run("transformer", "--epochs", "3", "--samples", "3200", "--length", "5") > 0.5
    check_plot(tmp_path / "sorter.png")


def test_ctc_line_reader(run, tmp_path):
    assert run("ctc_line_reader", "--epochs", "6", "--samples", "1600", "--digits", "3") > 0.5
    check_plot(tmp_path / "reader.png")
    net = mx.gluon.SymbolBlock.imports(
        tmp_path / "reader-symbol.json", "data", tmp_path / "reader-0000.params"
    )
    assert net(mx.nd.zeros((2, 1, 8, 48))).shape == (2, 24, 11)


def test_ctc_line_reader_against_mxnet(monkeypatch):
    """Names, scores, losses and gradients of MXNet 1.9.1 with the same weights."""
    monkeypatch.syspath_prepend(str(FOLDER))
    monkeypatch.delitem(sys.modules, "common", raising=False)
    found = ctc_reader.arrays(mx, ctc_reader.program())
    monkeypatch.delitem(sys.modules, "common")
    with np.load(ctc_reader.HERE / "ctc_reader.npz") as wanted:
        assert list(found) == list(wanted)
        for name, array in wanted.items():
            np.testing.assert_allclose(found[name], array, 1e-4, 1e-5, err_msg=name)


def test_word_language_model(run, tmp_path):
    assert run("word_language_model", "--epochs", "2") < 9  # of the words held back
    assert os.path.getsize(tmp_path / "language.params") > 1000
    check_plot(tmp_path / "language.png", axes=1)


def test_dcgan(run, tmp_path):
    assert 0.1 < run("dcgan", "--epochs", "1", "--width", "8") < 20
    check_png(tmp_path / "digits.png", 80, 80)
    check_plot(tmp_path / "generator.png")


@pytest.mark.parametrize("options", [(), ("--eager", "--noise", "0")])
def test_private_training(run, tmp_path, caplog, options):
    caplog.set_level("INFO")
    assert run("private_training", "--epochs", "6", *options) > 0.7
    bound = "epsilon below inf" if options else "epsilon below 8.34"  # 6 / 4.5 + 2 sqrt(...)
    assert bound in caplog.text
    check_plot(tmp_path / "private_training.png")


def test_spatial_transformer(run, tmp_path):
    """It reads what the same classifier does not, that sees the whole image."""
    assert run("spatial_transformer") > 0.85 > run("spatial_transformer", "--plain", "--eager")
    check_plot(tmp_path / "spatial_transformer.png")
    check_png(tmp_path / "seen.png", 192, 48)
    net = mx.gluon.SymbolBlock.imports(
        tmp_path / "spatial_transformer-symbol.json",
        "data",
        tmp_path / "spatial_transformer-0000.params",
    )
    assert net(mx.nd.zeros((2, 1, 24, 24))).shape == (2, 10)
