"""examples/image_classification on records: from a folder of images to what a network sees."""

import re
from pathlib import Path

import numpy as np
import pytest

import cynet as mx
from cynet.image import codec
from cynet.tools import im2rec
from tests import scripts

ROOT = Path(__file__).parent.parent.parent
EXAMPLE = ROOT / "examples" / "image_classification"
SMALL = ("--network", "resnet", "--num-layers", 8, "--image-shape", "3,28,28", "--disp-batches", 2)
SEEN = ("--image-shape", "3,28,28", "--rgb-std", "60")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Pictures of three classes in folders, and records of them."""
    root = tmp_path_factory.mktemp("pictures")
    rng = np.random.default_rng(0)
    for name, low, high in (("dark", 0, 110), ("light", 140, 256), ("striped", 0, 256)):
        (root / "pictures" / name).mkdir(parents=True)
        for number in range(24):
            pixels = rng.integers(low, high, (10, 12, 3), dtype=np.uint8)
            if name == "striped":
                pixels[:], pixels[::2] = 0, 255
            pixels = pixels.repeat(5, 0).repeat(5, 1)
            content = codec.encode_image(pixels, ".jpg", 95)
            (root / "pictures" / name / f"{number}.jpg").write_bytes(content)
    made = [str(root / "data"), str(root / "pictures")]
    assert im2rec.main([*made, "--list", "--recursive", "--train-ratio", "0.75"]) == 0
    assert im2rec.main([*made, "--resize", "40"]) == 0
    assert (root / "data_synset.txt").read_text().split() == ["dark", "light", "striped"]
    return root


def run(script, *args, cwd, fails=False, **environment):
    """What a script prints; it must end as expected, without a traceback."""
    done = scripts.run(EXAMPLE / f"{script}.py", *args, cwd=cwd, **environment)
    assert (done.returncode != 0) == fails, done.stdout[-2000:] + done.stderr[-3000:]
    assert "Traceback" not in done.stderr
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def trained(folder):
    """A checkpoint of three epochs, and what the script said."""
    return run(
        "train_imagenet",
        "--data-train",
        "data_train.rec",
        "--data-val",
        "data_val.rec",
        *SMALL,
        "--rgb-std",
        "60",
        "--num-classes",
        3,
        "--batch-size",
        9,
        "--num-epochs",
        4,
        "--lr",
        0.03,
        "--model-prefix",
        "net",
        "--save-period",
        2,
        cwd=folder,
    )


def test_train_on_records(folder, trained):
    assert "training resnet on 54 images of 3 x 28 x 28, validating on 18" in trained
    assert re.search(r"^Epoch\[0\] Batch \[0-2\]\tSpeed: [\d.]+ samples/sec", trained, re.M)
    assert float(re.search(r"validation accuracy after epoch 4: ([\d.]+) %", trained)[1]) >= 80
    assert sorted(path.name for path in folder.glob("net*")) == [
        "net-0002.params",
        "net-0004.params",
        "net-symbol.json",
    ]


def test_score(folder, trained):
    output = run(
        "score",
        "--model",
        "net",
        "--data-val",
        "data_val.rec",
        *SEEN,
        "--batch-size",
        7,
        "--top-k",
        2,
        cwd=folder,
    )
    said = float(re.search(r"validation accuracy after epoch 4: ([\d.]+) %", trained)[1])
    # training counts what fills up its last batch of 9: there is nothing, 18 images
    assert f"accuracy: {said:.2f} %" in output and "top_k_accuracy_2: " in output
    assert re.search(r"^18 images, [\d.]+ a second", output, re.M)
    few = run(
        "score",
        "--model",
        "net,2",
        "--data-val",
        "data_val.rec",
        *SEEN,
        "--max-num-examples",
        5,
        cwd=folder,
    )
    assert re.search(r"^5 images", few, re.M) and "top_k" not in few


def test_predict(folder, trained):
    names = ["pictures/dark/3.jpg", "pictures/light/5.jpg", "pictures/striped/1.jpg"]
    output = run(
        "predict",
        *names,
        "--model",
        "net",
        "--synset",
        "data_synset.txt",
        "--resize",
        40,
        "--top-k",
        2,
        *SEEN,
        cwd=folder,
    )
    lines = output.splitlines()
    assert lines[::3] == names and all("%" in line for line in lines[1::3])
    assert [line.split()[-1] for line in lines[1::3]] == ["dark", "light", "striped"]
    without = run("predict", names[0], "--model", "net", *SEEN, cwd=folder)
    assert "class 0" in without


def test_fine_tune(folder, trained):
    """Two of the classes; the new layer is the only one that begins anew."""
    output = run(
        "fine_tune",
        "--pretrained-model",
        "net,2",
        "--data-train",
        "data_train.rec",
        "--data-val",
        "data_val.rec",
        *SEEN,
        "--num-classes",
        3,
        "--num-epochs",
        2,
        "--batch-size",
        9,
        "--lr",
        0.02,
        "--warmup-epochs",
        1,
        "--model-prefix",
        "tuned",
        cwd=folder,
    )
    assert float(re.search(r"validation accuracy after epoch 2: ([\d.]+) %", output)[1]) >= 60
    symbol, params, states = mx.model.load_checkpoint(str(folder / "tuned"), 2)
    _, before, _ = mx.model.load_checkpoint(str(folder / "net"), 2)
    assert set(params) - set(before) == {"fc_weight", "fc_bias"}
    assert set(before) - set(params) == {"fc1_weight", "fc1_bias"}
    start = before["conv0_weight"].asnumpy()
    moved = np.abs(params["conv0_weight"].asnumpy() - start).max()
    assert 0 < moved < 0.5 * np.abs(start).max()
    assert states and symbol.list_outputs() == ["softmax_output"]


def test_train_without_data(tmp_path):
    output = run(
        "train_imagenet",
        "--benchmark",
        1,
        *SMALL,
        "--num-classes",
        5,
        "--num-examples",
        16,
        "--batch-size",
        4,
        "--num-epochs",
        1,
        cwd=tmp_path,
    )
    assert "on 16 random images of 3 x 28 x 28, validating on none" in output
    assert "training accuracy after epoch 1" in output


def test_reading_alone(folder):
    output = run(
        "train_imagenet",
        "--test-io",
        1,
        "--data-train",
        "data_train.rec",
        *SMALL,
        "--batch-size",
        9,
        cwd=folder,
    )
    assert "read 54 images" in output and "accuracy" not in output


def test_cifar10(tmp_path):
    """From binary files, which become records once; and the options of MXNet's script."""
    rng = np.random.default_rng(1)
    data = tmp_path / "cifar"
    data.mkdir()
    for name in [*(f"data_batch_{i}.bin" for i in range(1, 6)), "test_batch.bin"]:
        rows = rng.integers(0, 256, (4, 1 + 3072), dtype=np.uint8)
        rows[:, 0] %= 10
        (data / name).write_bytes(rows.tobytes())
    options = ("--data-dir", data, "--num-layers", 8, "--batch-size", 10, "--num-epochs", 1)
    output = run("train_cifar10", *options, cwd=tmp_path)
    assert "training resnet on 20 images of 3 x 28 x 28, validating on 4" in output
    assert sorted(path.name for path in data.glob("*.rec")) == [
        "cifar10_train.rec",
        "cifar10_val.rec",
    ]
    record = mx.recordio.MXRecordIO(str(data / "cifar10_val.rec"), "r")
    header, image = mx.recordio.unpack_img(record.read())
    row = np.frombuffer((data / "test_batch.bin").read_bytes(), np.uint8)[:3073]
    assert header.label == row[0]
    assert np.array_equal(image[:, :, ::-1].transpose(2, 0, 1).ravel(), row[1:])
    written = (data / "cifar10_train.rec").stat().st_mtime_ns
    run("train_cifar10", *options, cwd=tmp_path)
    assert (data / "cifar10_train.rec").stat().st_mtime_ns == written
    (data / "data_batch_3.bin").unlink()
    (data / "cifar10_train.rec").unlink()
    refuses = "http://127.0.0.1:9"  # a proxy that stands for a missing network
    refused = {"http_proxy": refuses, "https_proxy": refuses}
    output = run("train_cifar10", *options, cwd=tmp_path, fails=True, **refused)
    assert "data_batch_3.bin" in output and "--data-dir says where they are" in output


@pytest.mark.parametrize(
    "script, args, says",
    [
        ("train_imagenet", (), "--data-train FILE.rec: which images?"),
        ("train_imagenet", ("--data-train", "no.rec"), "--data-train no.rec: there is no such"),
        ("train_imagenet", ("--data-train", "data_train.lst"), "damaged record at offset 0"),
        (
            "train_imagenet",
            ("--data-train", "data_train.rec", "--rgb-mean", "1,2"),
            "--rgb-mean has 2 numbers, not 3",
        ),
        (
            "train_imagenet",
            ("--data-train", "data_train.rec", "--num-classes", 2, "--batch-size", 9),
            "has 2 classes, 0 to 1",
        ),
        ("train_imagenet", ("--network", "resnt"), "there are alexnet, "),
        ("train_imagenet", ("--image-shape", "3,28"), "invalid shape value: '3,28'"),
        ("score", ("--model", "nix", "--data-val", "data_val.rec"), "there is no nix-symbol.json"),
        ("score", ("--model", "net,x", "--data-val", "data_val.rec"), "PREFIX or PREFIX,EPOCH"),
        ("score", ("--model", "net,9", "--data-val", "data_val.rec"), "net-0009.params"),
        ("predict", ("data_val.rec", "--model", "net"), "that are not an image"),
        ("predict", ("no.jpg", "--model", "net"), "no.jpg"),
        (
            "fine_tune",
            ("--pretrained-model", "net", "--layer-before-fullc", "nothing"),
            "--layer-before-fullc nothing: the layers are id, bn_data",
        ),
    ],
)
def test_wrong_options(folder, trained, script, args, says):
    small = SMALL[2:] if "--network" in args else SMALL
    small = small[:2] + small[4:] if "--image-shape" in args else small
    options = small if script == "train_imagenet" else ()
    output = run(script, *options, *args, cwd=folder, fails=True)
    assert says in output.splitlines()[-1]


@pytest.mark.parametrize(
    "script", ["train_imagenet", "train_cifar10", "fine_tune", "score", "predict"]
)
def test_help(script, tmp_path):
    output = run(script, "--help", cwd=tmp_path)
    assert "--image-shape" in output and "default" in output


def test_names_of_networks(tmp_path):
    """As MXNet's scripts call them."""
    for name in ("resnet-v1", "inception-bn"):
        output = run(
            "train_imagenet",
            "--benchmark",
            1,
            "--network",
            name,
            "--num-layers",
            8,
            "--image-shape",
            "3,28,28",
            "--num-classes",
            2,
            "--num-examples",
            2,
            "--batch-size",
            2,
            "--num-epochs",
            1,
            cwd=tmp_path,
        )
        assert "training accuracy after epoch 1" in output
