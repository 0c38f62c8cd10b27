"""compile_pyx and extension: the cache, and what is said when something is missing or wrong."""

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import cynet as mx
from cynet.base.errors import ArgumentError, CynetError
from cynet.operator.custom import build

ROOT = Path(__file__).parents[3]
TINY = '''"""A tiny module."""
from cynet._typedefs cimport dtype_size

def size():
    return dtype_size({})
'''


@pytest.fixture
def home(tmp_path, monkeypatch):
    """An empty cache; Cython is there."""
    pytest.importorskip("Cython")
    monkeypatch.setenv("CYNET_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def test_cached_and_compiled_again_when_the_file_changes(home, tmp_path, monkeypatch):
    path = tmp_path / "tiny_a.pyx"
    path.write_text(TINY.format(0))
    module = mx.operator.compile_pyx(path)
    assert module.size() == 4 and sys.modules["tiny_a"] is module
    assert mx.operator.compile_pyx(str(path)) is module
    built = list(home.rglob("tiny_a*.so"))
    assert len(built) == 1 and not list(home.rglob("*.cpp"))
    monkeypatch.setattr(build, "_compile_library", None)  # a fresh process takes what is there
    monkeypatch.delitem(sys.modules, "tiny_a")
    assert mx.operator.compile_pyx(path).size() == 4
    monkeypatch.delitem(sys.modules, "tiny_a")
    for spoil in (lambda good: good[:9000], lambda good: good.replace(b"tiny_a", b"tiny_b")):
        good = built[0].read_bytes()
        built[0].unlink()  # the object itself is in use
        built[0].write_bytes(spoil(good))
        built[0].chmod(0o600)
        with pytest.raises(
            TypeError, match="'NoneType' object is not callable"
        ):  # it is compiled anew, by None
            mx.operator.compile_pyx(path)
        built[0].write_bytes(good)
    monkeypatch.undo()
    with mx.config.environment("CYNET_HOME", str(home)):
        path.write_text(TINY.format(1))
        assert mx.operator.compile_pyx(path).size() == 8
        assert len(list(home.rglob("tiny_a*.so"))) == 2


def test_what_the_compiler_says_is_in_the_error(home):
    path = Path(__file__).parents[1] / "pyx" / "bad_syntax.pyx"
    with pytest.raises(CynetError, match="does not compile") as caught:
        mx.operator.compile_pyx(path)
    assert str(path) in str(caught.value)
    assert re.search(r"bad_syntax.pyx:6:\d+: 'NoSuchType' is not a type", str(caught.value))
    assert "bad_syntax" not in sys.modules
    assert mx.nd.ones((1,)).asscalar() == 1


def test_a_missing_compiler_is_named(home, tmp_path, monkeypatch):
    path = tmp_path / "tiny_b.pyx"
    path.write_text(TINY.format(2))
    for variable in ("CC", "CXX", "LDSHARED", "LDCXXSHARED"):
        monkeypatch.setenv(variable, "no-such-compiler")
    with pytest.raises(CynetError, match=r"needs a C\+\+ compiler, and '.*no-such-compiler' was"):
        mx.operator.compile_pyx(path)


@pytest.mark.parametrize("package", ["Cython", "setuptools"])
def test_a_missing_package_is_named(home, tmp_path, monkeypatch, package):
    path = tmp_path / "tiny_c.pyx"
    path.write_text(TINY.format(3))
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(CynetError, match=rf"package {package}: pip install 'cynet-mx\[cython\]'"):
        mx.operator.compile_pyx(path)
    if package == "setuptools":
        with pytest.raises(CynetError, match=r"pip install 'cynet-mx\[cython\]'"):
            mx.operator.extension("tiny_c", path)


def test_what_is_no_file_or_no_name(home, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"there is no file '.*nothing.pyx'") as caught:
        mx.operator.compile_pyx(tmp_path / "nothing.pyx")
    assert isinstance(caught.value, CynetError)
    with pytest.raises(ArgumentError, match=r"expected a .pyx file, got .*nothing.c'"):
        mx.operator.compile_pyx(tmp_path / "nothing.c")
    (tmp_path / "a-b.pyx").write_text(TINY.format(4))
    with pytest.raises(ArgumentError, match="expected an identifier as the name, got 'a-b'"):
        mx.operator.compile_pyx(tmp_path / "a-b.pyx")


def test_a_module_that_fails_when_imported_is_not_left_behind(home, tmp_path):
    path = tmp_path / "tiny_d.pyx"
    path.write_text('"""Fails."""\nraise KeyError(f"import of {__name__}")\n')
    with pytest.raises(KeyError, match="import of tiny_other"):
        mx.operator.compile_pyx(path, name="tiny_other")
    assert not {"tiny_d", "tiny_other"} & {*sys.modules}
    (built,) = home.rglob("*.so")  # under its own name
    assert built.name.startswith("tiny_other-")


def test_setup_py_of_the_example_builds(home, tmp_path):
    """The few lines of setup.py, run as a user does; the operator then is like a built-in."""
    for name in ("setup.py", "leaky.pyx"):
        text = (ROOT / "examples" / "cython_operator" / name).read_text()
        (tmp_path / name).write_text(text.replace('register("leaky")', 'register("leaky_built")'))
    env = {**os.environ, "PYTHONPATH": str(ROOT)}

    def run(*command):
        done = subprocess.run(
            [sys.executable, *command], cwd=tmp_path, env=env, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-3000:]
        return done.stdout

    run("setup.py", "-q", "build_ext", "--inplace")
    code = (
        "import leaky, cynet as mx\n"
        "net = mx.sym.leaky_built(mx.sym.Variable('x'), slope='0.5', name='l')\n"
        "e = net.simple_bind(mx.cpu(), x=(2,)); e.arg_dict['x'][:] = [-1, 3]\n"
        "e.forward(is_train=True); e.backward(mx.nd.ones((2,)))\n"
        "print(e.outputs[0].asnumpy(), e.grad_dict['x'].asnumpy(), net.list_outputs())\n"
        "print(mx.sym.load_json(net.tojson()).tojson() == net.tojson())\n"
        "print(mx.nd.leaky_built.__doc__, mx.nd.leaky_built.__signature__)\n"
    )
    output = run("-c", code)
    assert output.startswith("[-0.5  3. ] [0.5 1. ] ['l_output']\nTrue\n")
    assert "Slope where data is negative." in output and "slope=0.25" in output


def test_extension_keeps_what_the_caller_adds(home, tmp_path):
    path = tmp_path / "tiny_e.pyx"
    path.write_text(TINY.format(5))
    made = mx.operator.extension("deep.tiny_e", path, include_dirs=["here"], libraries=["m"])
    assert made.name == "deep.tiny_e" and made.libraries == ["m"]
    assert made.include_dirs[0] == "here" and np.get_include() in made.include_dirs
    assert not [flag for flag in made.extra_compile_args if "native" in flag]


def test_a_long_compilation_says_so(monkeypatch, capfd):
    monkeypatch.setattr(build, "_SILENT_SECONDS", 0.05)
    with build._announce_slow_build("compiling twice.pyx ..."):
        deadline = time.monotonic() + 20
        said = ""
        while not said and time.monotonic() < deadline:
            time.sleep(0.01)
            said += capfd.readouterr().err
    assert said == "compiling twice.pyx ...\n"
    with build._announce_slow_build("compiling thrice.pyx ..."):
        pass
    time.sleep(0.15)
    assert capfd.readouterr().err == "" and build._SILENT_SECONDS < 2
