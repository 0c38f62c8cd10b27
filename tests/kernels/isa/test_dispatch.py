"""Levels of CPU capability: which one is used, and that operators agree with NumPy at each."""

import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from cynet.base.errors import ArgumentError
from cynet.kernels.isa.dispatch import cpu_capabilities, cpu_capability, level_number, parse_level

OTHER = "neon" if platform.machine() == "aarch64" else "avx2"
ROOT = Path(__file__).parents[3]
# Elementwise families, reductions, softmax and updates: what has loops for each level.
CHOSEN = "exp or log or tanh or sigmoid or relu or softmax or sum or norm or max or sgd or adam"
CHOSEN += " or gammaln or reductions or beyond_the_cache or neighbours"


def run(level, *command):
    return subprocess.run(
        [sys.executable, *command],
        env={**os.environ, "CYNET_CPU_CAPABILITY": level},
        capture_output=True,
        text=True,
        cwd=ROOT,
    )


def test_level_in_use_is_one_of_the_machine():
    assert cpu_capability() in cpu_capabilities()
    assert cpu_capabilities()[0] == "baseline"


@pytest.mark.parametrize("level", cpu_capabilities())
def test_environment_variable(level):
    done = run(
        level,
        "-c",
        "from cynet.kernels.isa.dispatch import cpu_capability; print(cpu_capability())",
    )
    assert done.stdout.strip() == level, done.stderr


def test_what_the_machine_lacks_is_refused():
    assert parse_level("auto", 0) == 0
    if platform.machine() == "x86_64":
        assert parse_level("avx2", 2) == 1
        with pytest.raises(ArgumentError, match="avx512: .* have avx2 at most"):
            parse_level("avx512", 1)
    for level in {"avx2", "avx512", "amx", "neon"} - set(cpu_capabilities()):
        told = run(level, "-c", "import cynet").stderr
        assert f"{level}: this machine" in told or f"architecture, one of baseline, {OTHER}" in told


def test_levels_of_this_architecture():
    assert level_number("baseline") == 0 and level_number(OTHER) == 1
    for bad in ("sse9", "neon" if OTHER == "avx2" else "avx2", None):
        with pytest.raises(ArgumentError, match=f"architecture, one of baseline, {OTHER}.*got"):
            level_number(bad)


def test_unknown_level_is_refused():
    done = run("sse9", "-c", "import cynet")
    assert done.returncode != 0
    assert "CYNET_CPU_CAPABILITY='sse9'" in done.stderr
    assert "expected one of auto, baseline, avx2, avx512, amx" in done.stderr


@pytest.mark.parametrize("level", [x for x in cpu_capabilities() if x != cpu_capability()])
def test_operators_at_each_level(level):
    files = ["tests/operator/test_common.py", "tests/kernels/elementwise"]
    done = run(level, "-m", "pytest", "-q", "-x", "-k", CHOSEN, *files)
    assert done.returncode == 0, done.stdout[-3000:]
    assert " passed" in done.stdout
