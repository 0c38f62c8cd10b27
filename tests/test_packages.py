"""Packages written for MXNet, unmodified, against what MXNet 1.9.1 computed with them.

They are there where PACKAGES_FOR_MXNET names the folder that ``tests/fixtures/packages/setup.sh``
filled. The fixtures were written by the same scripts: ``PYTHONPATH=DIR/nlp DIR_OF_MXNET/bin/python
tests/fixtures/packages/nlp_models.py tests/fixtures/nlp_models.npz``, and so for ts_models (whose
environment's packages but NumPy have to be on the path, too).
"""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

HERE = Path(__file__).parent
ROOT = HERE.parent
PACKAGES = Path(os.environ.get("PACKAGES_FOR_MXNET") or "no such folder").absolute()


def run(script, python, path, tmp_path):
    """What the script writes, run by ``python -m cynet``."""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(path), str(ROOT)])}
    out = tmp_path / "found.npz"
    command = [str(python), "-m", "cynet", str(HERE / "fixtures" / "packages" / script), str(out)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    with np.load(out) as found:
        return dict(found)


def wanted(name):
    with np.load(ROOT / "tests" / "fixtures" / name) as found:
        return dict(found)


@pytest.mark.skipif(
    not (PACKAGES / "nlp" / "gluonnlp").exists(), reason="no gluonnlp 0.10.0 in PACKAGES_FOR_MXNET"
)
def test_gluonnlp(tmp_path):
    """BERT-base and AWD-LSTM: outputs, losses, gradients, and a step of gluonnlp's BERTAdam."""
    found = run("nlp_models.py", sys.executable, PACKAGES / "nlp", tmp_path)
    expected = wanted("nlp_models.npz")
    assert found.keys() == expected.keys()
    for name, array in expected.items():
        mean = array[1] / array[2]  # of the absolute values
        np.testing.assert_allclose(found[name][1], array[1], 1e-4, err_msg=name)
        np.testing.assert_allclose(found[name][3:], array[3:], 1e-3, 1e-3 * mean, err_msg=name)


@pytest.mark.skipif(
    not (PACKAGES / "ts" / "gluonts").exists(), reason="no gluonts 0.5.2 in PACKAGES_FOR_MXNET"
)
def test_gluonts(tmp_path):
    """Blocks, distributions, and that DeepAR learns a wave (the script says if not)."""
    python = PACKAGES / "tsenv" / "bin" / "python"
    found = run("ts_models.py", python, PACKAGES / "ts", tmp_path)
    expected = wanted("ts_models.npz")
    assert found.keys() == expected.keys()
    for name, array in expected.items():
        np.testing.assert_allclose(found[name], array, 2e-4, 1e-5, err_msg=name)
