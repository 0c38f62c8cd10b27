"""mx.runtime: the features that MXNet lists, and what is said of this build."""

import json
from importlib import metadata
from pathlib import Path

import pytest

import cynet as mx
from cynet.base.compat import packages

NAMES = json.loads((Path(__file__).parent / "fixtures" / "compat.json").read_text())["features"]


def test_names_are_those_of_mxnet():
    known = {"CPU_SSE3", "CPU_SSE4_1", "CPU_SSE4_2", "CPU_SSE4A"}  # of processors before 2011
    assert {*NAMES} - known == {*mx.runtime.Features()} - known


def test_values():
    features = mx.runtime.Features()
    assert features.is_enabled("blas_open") and not features.is_enabled("TVM_OP")
    assert features["CUDA"].enabled == (mx.context.num_gpus() > 0)
    assert features["CPU_AVX2"].enabled == ("AVX2" in Path("/proc/cpuinfo").read_text().upper())
    assert repr(features["OPENMP"]) == "✔ OPENMP" and "✖ TVM_OP" in repr(features)
    assert [each.name for each in mx.runtime.feature_list()] == list(features)


def test_an_unknown_feature():
    with pytest.raises(mx.MXNetError, match="no feature is named 'fast'; there are CUDA"):
        mx.runtime.Features().is_enabled("fast")


def test_optional_packages_go_by_their_names_at_pip():
    assert "opencv-python-headless" in packages()
    row = next(line for line in mx.runtime.describe().splitlines() if line.startswith("optional"))
    installed = {each.metadata["Name"].lower() for each in metadata.distributions()}
    for name in packages():
        assert (f" {name} " in row) == (name.lower() in installed), name
