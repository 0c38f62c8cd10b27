"""Examples by topic: each prints what its README says, learns, draws, saves what can be used."""

import os
import re
import struct
from importlib.util import find_spec

import numpy as np
import pytest

import cynet as mx
from tests import example_output, scripts
from tests.example_output import ROOT, difference, of_folder, run
from tests.long_runs import STRESS, only_in_stress

# Programs, what they print in the end, and what the figures in it are to be.
LEARN = {
    "autoencoder/autoencoder.py": (
        r"squared error ([\d.]+); of 8 principal components ([\d.]+)",
        lambda error, linear: error < 0.8 * linear,
    ),
    "autoencoder/vae.py": (
        r"images: ([\d.]+) nats; by pixels' means ([\d.]+)",
        lambda bound, known: bound < known - 1,
    ),
    "adversarial/fgsm.py": (
        r"step 0.000  accuracy ([\d.]+) (?:.|\n)*step 0.200  accuracy ([\d.]+)  by noise ([\d.]+)",
        lambda plain, fooled, noise: plain > 0.93 and noise > 0.8 and fooled < noise - 0.3,
    ),
    "text/text_cnn.py": (r"validation accuracy: ([\d.]+) %", lambda percent: percent > 97),
    "text/bucketing.py": (
        r"perplexity ([\d.]+); by frequencies alone ([\d.]+)",
        lambda perplexity, frequencies: perplexity < 5 < 20 < frequencies,
    ),
    "neural_style/neural_style.py": (
        r"apart: ([\d.]+) %(?:.|\n)*loss of style: ([\d.]+), at the beginning ([\d.]+)",
        lambda percent, end, begin: percent > 50 and end < begin / 20,
    ),
    "time_series/forecast.py": (
        r"absolute error ([\d.]+); of the day before ([\d.]+), of the week before ([\d.]+)",
        lambda error, day, week: error < 0.95 * min(day, week),
    ),
    "reinforcement/actor_critic.py": (r"after training: ([\d.]+)", lambda steps: steps > 120),
    "reinforcement/dqn.py": (r"after training: ([\d.]+)", lambda steps: steps > 120),
    "engine/cholesky.py": (r"largest error of \S+ @ \S+: (\S+)", lambda error: error < 1e-12),
    "profiling/profile_training.py": (
        r"an epoch: (\d+) ms without the profiler, (\d+) ms with it",
        lambda plain, profiled: plain > 0 and profiled > 0,
    ),
    **dict.fromkeys(
        (
            "custom_op/softmax_custom.py",
            "custom_op/softmax_numpy.py",
            "custom_op/softmax_raw.py",
            "custom_op/softmax_simple.py",
            "distributed/train_gluon.py",
            "distributed/train_module.py",
        ),
        (r"validation accuracy: ([\d.]+) %", lambda percent: percent > 92),
    ),
    "custom_op/tile.py": (
        r"gradient: \(1, 10, 10\) each ([\d.]+) to ([\d.]+)",
        lambda least, most: least == most == 10,
    ),
    "quantization/quantize.py": (
        r"float32: ([\d.]+) % in .*\nint8: ([\d.]+) % in",
        lambda plain, quantized: plain > 90 and quantized >= plain - 0.6,  # two of 359 samples
    ),
    "ssd/train.py": (r"mean average precision ([\d.]+)", lambda precision: precision > 0.7),
    "ssd/detect.py": (r"([\d.]+): out/shapes_val", lambda score: score > 0.4),
    **dict.fromkeys(
        (
            "sparse/factorization_machine.py",
            "sparse/linear_classification.py",
            "sparse/matrix_factorization.py",
            "sparse/wide_deep.py",
        ),
        (
            r"accuracy ([\d.]+); a step touches \d+ of \d+ rows \(([\d.]+)%\)",
            lambda accuracy, percent: accuracy > 0.75 and 0 < percent < 35,
        ),
    ),
}
FOLDERS = sorted({program.partition("/")[0] for program in LEARN})
HELPERS = {"reviews", "tokens", "pictures", "cart_pole", "made_up", "training", "dataset", "metric"}
# By tests/examples/test_quantization.py and test_language.py: too long, or for another package.
TRIED = {"quantization/train_quantized.py", "language/gpt.py", "language/classify.py"}
# Whose figures depend on the machine: chaotic ones, and times; lines whose order does.
FREE = {
    "reinforcement": {"figures": False},
    "engine": {"figures": False},
    "ssd": {"figures": False, "free": r".*: out/shapes_val"},
    "profiling": {"figures": False, "free": r"(conv|norm|fc|pool|relu|activation|softmax|reshape)"},
}
INPUTS = {
    "autoencoder": [(2, 1, 8, 8)],
    "decoder": [(2, 2)],
    "textures": [(2, 3, 40, 40)],
    "forecaster": [(2, 48, 5)],
    "actor_critic": [(3, 4)],
    "dqn": [(3, 4)],
    "block": [(2, 1, 8, 8)],
    "lenet-int8": [(2, 1, 8, 8)],
    "text-int8": [(2, 24)],
}
OUTPUTS = {
    "autoencoder": (2, 1, 8, 8),
    "decoder": (2, 1, 8, 8),
    "textures": (2, 6),
    "forecaster": (2, 24),
    "actor_critic": (3, 2),
    "dqn": (3, 2),
    "block": (2, 10),
    "lenet-int8": (2, 10),
    "text-int8": (2, 2),
}


@pytest.fixture(scope="module")
def outputs(tmp_path_factory):
    """``outputs(folder)``: where a README's programs ran, and what each printed."""
    done = {}

    def of(folder):
        if folder not in done:
            cwd = tmp_path_factory.mktemp(folder)
            printed = [run(program, *options, cwd=cwd) for program, options, _ in of_folder(folder)]
            done[folder] = cwd, printed
        return done[folder]

    return of


def learns(program, printed):
    pattern, holds = LEARN[program]
    found = re.search(pattern, printed)
    assert found and holds(*map(float, found.groups())), printed[-1500:]


@pytest.mark.parametrize("folder", FOLDERS)
def test_the_readme_is_true(outputs, folder):
    """Every program is there, prints what is shown, learns; the first line is short."""
    _, printed = outputs(folder)
    shown = of_folder(folder)
    sources = {path.stem for path in (ROOT / "examples" / folder).glob("*.py")} - HELPERS
    programs = {f"{folder}/{stem}.py" for stem in sources} - TRIED
    assert programs == {program for program, _, _ in shown}
    for (program, options, wanted), got in zip(shown, printed):
        assert difference(wanted, got, **FREE.get(folder, {})) is None, f"{program} {options}"
        assert len(got.partition("\n")[0]) < 70
        if not {"--defend", "--predict"} & set(options):
            learns(program, got)


def test_every_folder_is_listed():
    folders = {path.parent.name for path in (ROOT / "examples").glob("*/README.md")}
    assert folders == {
        path.name for path in (ROOT / "examples").iterdir() if any(path.glob("*.py"))
    }
    listed = (ROOT / "examples" / "README.md").read_text()
    assert folders == set(re.findall(r"^\| \[(\w+)\]\(\1/README.md\)", listed, re.M))
    assert len(folders) <= 25


@pytest.mark.parametrize("folder", FOLDERS)
def test_what_is_drawn_and_saved(outputs, folder, monkeypatch):
    """Pictures are PNG files; the line "use it" is code that reads what was saved."""
    cwd, printed = outputs(folder)
    monkeypatch.chdir(cwd)
    text = "".join(printed)
    pictures = re.findall(r": (out/\S+\.png)$", text, re.M)
    assert pictures or find_spec("matplotlib") is None
    for path in pictures:
        content = (cwd / path).read_bytes()
        assert content[:8] == b"\x89PNG\r\n\x1a\n"
        width, height = struct.unpack(">II", content[16:24])
        assert width > 250 and height > 100
    for line in re.findall(r"^use it: (.*)$", text, re.M):
        names = {"mx": mx, "np": np}
        exec(line, names)
        name = re.search(r"out/([\w-]+?)(-symbol|'|\.)", line)[1]
        if name in INPUTS:
            out = names["net"](*map(mx.nd.ones, INPUTS[name]))
            out = out[0] if isinstance(out, list) else out
            assert out.shape == OUTPUTS[name] and np.isfinite(out.asnumpy()).all()


def test_saved_images_fool_the_saved_network(outputs):
    """What fgsm.py saved: its Module takes the images for what the file says."""
    cwd, printed = outputs("adversarial")
    with np.load(cwd / "out" / "plain-fooling.npz") as file:
        images, labels, taken = (file[name] for name in ("images", "labels", "taken"))
    module = mx.mod.Module.load(str(cwd / "out" / "plain"), 8)
    batches = mx.io.NDArrayIter(images, labels, 64)
    module.bind(batches.provide_data, batches.provide_label, for_training=False)
    found = module.predict(batches).asnumpy().argmax(axis=1)
    np.testing.assert_array_equal(found, taken)
    accuracy = re.search(r"step 0.200  accuracy ([\d.]+)", printed[0])[1]
    assert (taken == labels).mean() == pytest.approx(float(accuracy), abs=1e-4)


def test_a_defended_network_is_harder_to_fool(outputs):
    _, printed = outputs("adversarial")
    last = [float(re.search(r"step 0.200  accuracy ([\d.]+)", each)[1]) for each in printed]
    assert last[1] > last[0] + 0.2


def test_word_counts_do_not_tell(tmp_path):
    """The same reviews as word counts: half of them right, so the order of words matters."""
    printed = run("text/text_cnn.py", "--plain", "--samples", 2000, "--epochs", 3, cwd=tmp_path)
    assert float(re.search(r"accuracy: ([\d.]+) %", printed)[1]) < 70


def test_own_texts_and_series(tmp_path):
    rows = [f"{i % 2} {'yes it works' if i % 2 else 'no it broke'} {i % 7}\n" for i in range(200)]
    (tmp_path / "texts").write_text("".join(rows))
    printed = run("text/text_cnn.py", "--text", "texts", "--epochs", 4, cwd=tmp_path)
    assert "validation accuracy: 100.00 %" in printed
    hours = np.arange(1000)
    values = np.sin(hours * np.pi / 12) + hours / 500
    (tmp_path / "a.csv").write_text("hour,load\n" + "\n".join(map("{},{}".format, hours, values)))
    options = ("--csv", "a.csv", "--column", "load", "--context", 24, "--epochs", 4)
    printed = run("time_series/forecast.py", *options, cwd=tmp_path)
    assert float(re.search(r"absolute error ([\d.]+)", printed)[1]) < 0.2


def test_the_lower_factor(outputs):
    """The saved factor is NumPy's."""
    cwd, _ = outputs("engine")
    lower = np.load(cwd / "out" / "lower.npy")
    np.testing.assert_allclose(lower, np.linalg.cholesky(lower @ lower.T), atol=1e-12)


def test_the_physics_of_the_cart(monkeypatch):
    """Against Lagrange's equations of a cart and a rod, solved for both accelerations."""
    monkeypatch.syspath_prepend(str(ROOT / "examples" / "reinforcement"))
    import cart_pole as c

    rng = np.random.default_rng(3)
    carts = c.CartPoles(50, rng)
    carts.states = rng.uniform(-0.2, 0.2, (50, 4)).astype(np.float32)
    pushes = rng.integers(2, size=50)
    before = carts.states.astype(float)
    after, failed, cut = carts.step(pushes)
    assert not failed.any() and not cut.any()
    for (_, speed, angle, turn), push, (_, speed2, angle2, turn2) in zip(before, pushes, after):
        # the rod's moment of inertia about its middle is POLE * HALF**2 / 3
        mass = np.array(
            [
                [c.CART + c.POLE, c.POLE * c.HALF * np.cos(angle)],
                [c.POLE * c.HALF * np.cos(angle), c.POLE * c.HALF**2 * 4 / 3],
            ]
        )
        force = (c.FORCE if push else -c.FORCE) + c.POLE * c.HALF * turn**2 * np.sin(angle)
        pull, bend = np.linalg.solve(mass, [force, c.POLE * c.HALF * c.GRAVITY * np.sin(angle)])
        assert speed2 == pytest.approx(speed + c.STEP * pull, abs=1e-5)
        assert turn2 == pytest.approx(turn + c.STEP * bend, abs=1e-5)
        assert angle2 == pytest.approx(angle + c.STEP * turn, abs=1e-6)


@pytest.mark.parametrize(
    "command",
    [
        ("adversarial/fgsm.py", "--epsilon", "2"),
        ("text/text_cnn.py", "--text", "/no/file"),
        ("text/bucketing.py", "--text", "/no/file"),
        ("text/bucketing.py", "--begin", "zebra"),
        ("time_series/forecast.py", "--csv", "/no/file"),
        ("time_series/forecast.py", "--context", "100000"),
        ("neural_style/neural_style.py", "--content", "/no/file"),
        ("neural_style/neural_style.py", "--size", "2"),
        ("reinforcement/dqn.py", "--steps", "0"),
        ("engine/cholesky.py", "--side", "0"),
    ],
)
def test_options_that_are_refused(command, tmp_path):
    program, option, value = command
    done = scripts.run(ROOT / "examples" / program, option, value, cwd=tmp_path)
    assert done.returncode == 2 and option in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr


HELP = """
import os, runpy, sys
for path in sys.argv[1:]:
    sys.argv, sys.path[0] = [path, "--help"], os.path.dirname(path)
    before = set(sys.modules)
    print("===", path)
    try:
        runpy.run_path(path, run_name="__main__")
    except SystemExit as end:
        print("status", end.code)
    for name in {"common"}.union(set(sys.modules) - before):  # each program has its own helpers
        if not name.startswith(("cynet", "numpy")):
            sys.modules.pop(name, None)
"""


def test_help(tmp_path):
    """Of every program, in one process."""
    (tmp_path / "help.py").write_text(HELP)
    folder = tmp_path / "empty"
    folder.mkdir()
    paths = [str(ROOT / "examples" / program) for program in (*LEARN, *TRIED)]
    done = scripts.run(tmp_path / "help.py", *paths, cwd=folder)
    assert done.returncode == 0, done.stderr
    told = dict(re.findall(r"^=== (.+)\n((?:(?!===).*\n)*)", done.stdout, re.M))
    assert [*told] == paths
    assert not [path for path in paths if "--out DIR" not in told[path]]
    assert not [path for path in paths if not told[path].endswith("status 0\n")]
    assert not os.listdir(folder)


def test_differences_are_found():
    """The comparison with a README sees other words, other figures, and missing lines."""
    text = "epoch 1  loss 0.50  (0.1 s)\nend\n"
    assert difference(text, text.replace("0.1 s", "7 s")) is None
    assert difference(text, text.replace("0.50", "0.55")) is None
    assert difference(text, text.replace("0.50", "0.70"))
    assert difference(text, text.replace("0.50", "0.70"), figures=False) is None
    assert difference(text, text.replace("loss", "lost"), figures=False)
    assert difference(text, text.removesuffix("end\n"))
    assert example_output.NUMBER.findall("a 1e-16 b -2.5 c3") == ["1e-16", "-2.5", "3"]


ALONE = [program for program in LEARN if program != "ssd/detect.py"]  # it needs a trained network
SMALL = [(p, o) for f in FOLDERS for p, o, _ in of_folder(f) if p in ALONE and "--predict" not in o]


@only_in_stress
@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize(("program", "options"), SMALL if STRESS else SMALL[:1])
def test_other_seeds(program, options, seed, tmp_path):
    printed = run(program, *options, "--seed", seed, cwd=tmp_path)
    if "--defend" not in options:
        learns(program, printed)


@only_in_stress
@pytest.mark.parametrize("program", ALONE if STRESS else ["autoencoder/vae.py"])
def test_default_runs(program, tmp_path):
    learns(program, run(program, cwd=tmp_path))
