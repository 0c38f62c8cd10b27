"""Every global of every module of MXNet 1.9.1 is there under ``import mxnet``, but for a list.

The table of what MXNet has is written by ``tests/fixtures/globals.py``. What cynet lacks is
in ``tests/fixtures/globals_not_here.txt``; ``python -m tests.base.test_mxnet_globals`` writes it.
"""

import importlib
import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

import cynet
from cynet.base.mxnet_globals import globals_of_mxnet

NOT_HERE = Path(__file__).parents[1] / "fixtures" / "globals_not_here.txt"
OTHERS = {"cv2", "h5py", "requests", "bokeh", "pandas", "sklearn", "graphviz", "tqdm"}


def lacking():
    """Dict of module to what of MXNet's names it lacks; None for a module that is not there."""
    found = {}
    for path, names in globals_of_mxnet().items():
        if path.endswith("*"):
            continue
        try:
            module = importlib.import_module(f"mxnet.{path}" if path != "mxnet" else path)
        except ImportError:
            found[path] = None
            continue
        homes = {name: home[0].partition(".")[0] for name, home in names.items()}
        wanted = [n for n in names if homes[n] not in OTHERS]
        there = {name: hasattr(module, name) for name in wanted}
        if not all(there.values()):
            found[path] = [name for name in wanted if not there[name]]
    return found


def read():
    lines = (line.partition(":") for line in NOT_HERE.read_text().splitlines())
    return {path: words.split() if colon else None for path, colon, words in lines}


def run(code):
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", f"import cynet; cynet.install_as_mxnet()\n{code}"],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def walked():
    """(what is lacking, what ``import *`` gives), found in a process in which mxnet is cynet."""
    code = """
import json
from tests.base.test_mxnet_globals import lacking, starred
print(json.dumps([lacking(), starred()]))
"""
    return json.loads(run(code))


def test_what_is_lacking_is_listed(walked):
    assert walked[0] == read(), (
        "run python -m tests.base.test_mxnet_globals and look at the difference"
    )


def starred():
    """Dict of module to what ``from module import *`` gives."""
    given = {}
    for path in globals_of_mxnet():
        if not path.endswith("*"):
            space = {}
            try:
                exec(f"from {f'mxnet.{path}' if path != 'mxnet' else path} import *", space)
            except ImportError:
                continue
            given[path] = sorted(space.keys() - {"__builtins__"})
    return given


def test_import_star_gives_mxnets_names(walked):
    """Of every module: what its MXNet counterpart gives, as far as it is here, and nothing else."""
    given, table, not_here = walked[1], globals_of_mxnet(), read()
    assert len(given) > 130
    for path, names in given.items():
        public = [n for n in table[path] if not n.startswith("_")]
        lacks = {*(not_here.get(path) or ())}
        promised = {*table.get(f"{path} *", public)}
        assert {*names} <= promised, path
        # `__all__` may list what is nowhere in MXNet's module; packages of others may be missing
        wanted = {n for n in promised - lacks if n in table[path]}
        wanted = {n for n in wanted if table[path][n][0].partition(".")[0] not in OTHERS}
        assert wanted <= {*names}, f"{path}: {sorted(wanted - {*names})}"


def test_random_is_not_replaced():
    """MXNet's operator module gives no `random`: a script's own stays what it was."""
    assert run("import random; from mxnet.operator import *; print(random.__name__)") == "random\n"


EXPLAINED = {
    "from mxnet import notebook": "mx.notebook is a name of MXNet 1.9.1 that cynet does not",
    "import mxnet.notebook": "mx.notebook is a name of MXNet 1.9.1 that cynet does not provide",
    "from mxnet.metric import Acuracy": "mx.metric has no attribute 'Acuracy'; did you mean",
    "from mxnet.ndarray.ndarray import nothing": "has no attribute 'nothing'",
    "from cynet import notebook": "mx.notebook is a name of MXNet 1.9.1 that cynet does not",
    "import cynet.notebook": "mx.notebook is a name of MXNet 1.9.1 that cynet does not provide",
}


def test_an_import_error_explains():
    code = "import json\nsaid = {}\n"
    for statement in EXPLAINED:
        code += f"try: {statement}\nexcept ImportError as e: said[{statement!r}] = repr(e)\n"
    said = json.loads(run(code + "print(json.dumps(said))"))
    for statement, words in EXPLAINED.items():
        assert said[statement].startswith("MissingModuleError") and words in said[statement]


def test_find_spec():
    out = run(
        "import importlib.util as u\n"
        "print(u.find_spec('mxnet').name)\n"
        "import mxnet.metric\n"
        "print(u.find_spec('mxnet').name, u.find_spec('mxnet.metric').name)"
    )
    assert out.split() == ["mxnet", "mxnet", "mxnet.metric"]


def test_what_is_set_is_set_in_cynet():
    """Packages patch MXNet's functions; cynet's own calls meet the patch."""
    out = run(
        "import mxnet as mx\nfrom unittest import mock\n"
        "with mock.patch('mxnet.metric.create', lambda *a, **k: 'patched'):\n"
        "    print(mx.metric.create('acc'), cynet.metric.create('acc'))\n"
        "print(type(cynet.metric.create('acc')).__name__)\n"
        "mx.metric.of_a_script = 5; print(cynet.metric.of_a_script)\n"
        "del mx.metric.of_a_script; print(hasattr(cynet.metric, 'of_a_script'))"
    )
    assert out.split() == ["patched", "patched", "Accuracy", "5", "False"]


def test_operators_stand_in_dict():
    out = run(
        "import mxnet as mx\n"
        "print('box_encode' in mx.nd.contrib.__dict__, 'dot' in vars(mx.nd), 'dot' in vars(mx.sym))"
    )
    assert out.split() == ["True"] * 3


if __name__ == "__main__":
    cynet.install_as_mxnet()
    rows = [p if w is None else f"{p}: {' '.join(w)}" for p, w in lacking().items()]
    NOT_HERE.write_text("\n".join(rows) + "\n")
