"""GPU forms in bfloat16 on the emulated device, against the CPU operator: a case of each operator.
tests/gpu/test_bfloat16.py runs all cases, on a device."""

import pytest

from tests.operator.cases import all_cases
from tests.operator.cuda.running import DeviceRun, has_device_form
from tests.operator.cuda.test_forms import check_backward, check_forward, differentiable, takes


def first_cases():
    """The first case of each operator that the CPU takes in bfloat16."""
    found = {}
    for case in all_cases():
        if (
            case.op not in found
            and "float32" in case.dtypes
            and has_device_form(case)
            and takes(case, "bfloat16")
        ):
            found[case.op] = case
    return [pytest.param(case, id=op) for op, case in found.items()]


@pytest.mark.parametrize("case", first_cases())
def test_operator(case):
    check_forward(case, "bfloat16")
    if differentiable(case):
        run = DeviceRun(case, "bfloat16")
        outputs, aux = run.on_host("forward")
        check_backward(run, outputs, aux, run.head_grads(), False)
