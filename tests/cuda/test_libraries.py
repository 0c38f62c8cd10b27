"""Where cuBLAS and cuDNN are looked for, what is said where they are missing; their prototypes."""

import os
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest
from cynet.cuda.libraries.library import open_library

from cynet.base.errors import CynetError

CHECK = Path(__file__).parent / "check_libraries.py"


def installed(*packages):
    for package in packages:
        try:
            return metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return None


def test_missing_library():
    with pytest.raises(
        CynetError, match="the system, or from the folder that CYNET_CUDA_LIBRARIES names"
    ) as error:
        open_library("cuNothing", ("libcunothing.so.2", "libcunothing.so.1"), ("nvidia-cunothing",))
    assert str(error.value).startswith("cuNothing is not installed: ")
    for word in ("libcunothing.so.2 or libcunothing.so.1", "nvidia-cunothing", "CYNET_CUDA_LIB"):
        assert word in str(error.value)
    assert "pip install 'cynet-mx[cuda]'" in str(error.value)


def test_library_that_does_not_open(tmp_path, monkeypatch):
    (tmp_path / "libcunothing.so.1").write_text("not a library" * 100)
    monkeypatch.setenv("CYNET_CUDA_LIBRARIES", str(tmp_path))
    with pytest.raises(CynetError, match="cuNothing does not open .*invalid ELF header"):
        open_library("cuNothing", ("libcunothing.so.1",), ())


def test_folder_comes_first(tmp_path, monkeypatch):
    source, library = tmp_path / "one.c", tmp_path / "libcunothing.so.1"
    source.write_text("int number(void) { return 7; }")
    subprocess.run(["cc", "-shared", "-fPIC", str(source), "-o", str(library)], check=True)
    monkeypatch.setenv("CYNET_CUDA_LIBRARIES", str(tmp_path))
    assert open_library("cuNothing", ("libcunothing.so.1",), ()).number() == 7


def test_function_that_a_library_lacks(tmp_path):
    """An old library: the message names it and the function."""
    source = tmp_path / "old.c"
    source.write_text("int cublasCreate_v2(void** handle) { return 0; }")
    library = tmp_path / "libcublas.so.13"
    subprocess.run(["cc", "-shared", "-fPIC", str(source), "-o", str(library)], check=True)
    code = "from cynet.cuda.libraries import cublas; cublas.open_cublas()"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"CYNET_CUDA_LIBRARIES": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert f"cuBLAS at {library} has no function cublasSetStream_v2" in done.stderr, done.stderr


def test_import_opens_nothing():
    code = (
        "import cynet, sys; maps = open('/proc/self/maps').read(); "
        "assert 'libcublas' not in maps and 'libcudnn' not in maps; "
        "assert not [m for m in sys.modules if m.startswith('cynet.cuda.libraries')]"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.skipif(
    not installed("nvidia-cublas", "nvidia-cublas-cu12")
    or not installed("nvidia-cudnn-cu13", "nvidia-cudnn-cu12"),
    reason="the packages nvidia-cublas and nvidia-cudnn-cu13 (or -cu12) are not installed",
)
def test_declarations():
    """Functions, prototypes, numbers and descriptors, against the real libraries."""
    environment = os.environ | {"CYNET_CUDA_LIBRARIES": "", "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, str(CHECK)], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "descriptors made" in done.stdout
