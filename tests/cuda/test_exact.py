"""Random numbers on a device are made of single IEEE operations: what nvcc makes of random.cu."""

import subprocess

import pytest

from cynet.cuda import families
from cynet.cuda.compiler import append_exports, find_nvcc
from tests.cuda.check_nvcc import command, inexact_in
from tests.cuda.ptx import inexact

HEAD = ".visible .entry k()\n{\n"


@pytest.mark.parametrize(
    "line, found",
    [
        ("add.rn.f64 %fd1, %fd2, %fd3;", []),
        ("@%p1 mul.rn.f32 %f1, %f2, %f3;", []),
        ("@!%p12 fma.rn.f32 %f1, %f2, %f3, %f4;", ["fma.rn.f32"]),
        ("add.f64 %fd1, %fd2, %fd3;", ["add.f64"]),
        ("mul.rn.ftz.f32 %f1, %f2, %f3;", ["mul.rn.ftz.f32"]),
        ("sqrt.approx.f32 %f1, %f2;", ["sqrt.approx.f32"]),
        ("sqrt.rn.f64 %fd1, %fd2;", []),
        ("lg2.approx.ftz.f32 %f1, %f2;", ["lg2.approx.ftz.f32"]),
        ("cos.approx.f32 %f1, %f2;", ["cos.approx.f32"]),
        ("cvt.rn.f32.f64 %f1, %fd2;", []),
        ("setp.gt.f64 %p1, %fd1, 0d0000000000000000;", []),
        ("selp.f64 %fd1, %fd2, %fd3, %p1;", []),
        ("mad.lo.s32 %r1, %r2, %r3, %r4;", []),
        ("ld.global.f64 %fd1, [%rd1];", []),
        ("call.uni (retval0), \n  __nv_log, \n (param0);", ["call __nv_log"]),
        ("call.uni \n  slow_path, \n (param0);", ["call slow_path"]),
    ],
)
def test_reading_ptx(line, found):
    assert inexact(f"{HEAD}  {line}\n  ret;\n}}\n") == found


def nvcc():
    found = find_nvcc()
    if found is None:
        pytest.skip("there is no nvcc (pip install nvidia-cuda-nvcc nvidia-cuda-runtime)")
    return found


def test_random_numbers(tmp_path):
    text = append_exports(families.source_text("random"), families.kernel_instances("random"))
    assert inexact_in(nvcc(), "random", text, tmp_path) == []


def test_library_functions_are_seen(tmp_path):
    source = tmp_path / "log.cu"
    source.write_text('extern "C" __global__ void k(double* x) { *x = log(*x); }')
    target = source.with_suffix(".ptx")
    subprocess.run(
        [*command(nvcc(), "sm_90", ["-fmad=false"]), "-ptx", str(source), "-o", str(target)],
        check=True,
    )
    assert "fma.rn.f64" in inexact(target.read_text())
