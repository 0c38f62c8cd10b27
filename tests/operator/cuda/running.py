"""What the tests of GPU forms share: the emulated device, runs of the CPU's cases on it, calls."""

import functools

import numpy as np
from cynet_cuda_cpu.device import EmulatedDevice

import cynet as mx
from cynet.base.dtype import name_of
from cynet.operator import get_operator
from cynet.operator.cuda import build, has_form
from tests.bfloat16 import widened
from tests.operator.cases import all_cases
from tests.operator.direct import Ready
from tests.operator.runner import Run

TOLERANCE = {
    "bfloat16": (3e-2, 3e-2),
    "float16": (4e-3, 4e-3),
    "float32": (5e-5, 5e-6),
    "float64": (1e-9, 1e-11),
}
SEED = 17


@functools.cache
def device():
    """The emulated device of this process."""
    return EmulatedDevice()


def has_device_form(case):
    """Whether GPUs have what a case runs; cuDNN projects states onto fewer numbers alone."""
    wide = case.params.get("projection_size", 0) >= case.params.get("state_size", 1)
    return has_form(get_operator(case.op).prop) and not wide


CASES = [case for case in all_cases() if has_device_form(case)]


def same(found, expected, what, times=1):
    """Equal, floats within the tolerance of their dtype, or as many `times` it."""
    dtype = name_of(found.dtype)
    rtol, atol = (times * each for each in TOLERANCE.get(dtype, (0, 0)))
    found, expected = (widened(a).astype("d") for a in (found, expected))
    np.testing.assert_allclose(found, expected, rtol, atol, err_msg=f"{dtype}: {what}")


class DeviceRun(Run):
    """A run of a case whose operator is the GPU form."""

    def __init__(self, case, dtype):
        super().__init__(case, dtype)
        self.host = self.op
        types = [name_of(a.dtype) for a in self.inputs]
        self.op = build(self.prop, self.in_shapes, types, device())
        assert type(self.op) is not type(self.host)

    def forward(self, *args, **kwargs):
        mx.random.seed(SEED)  # both draw the same numbers
        return super().forward(*args, **kwargs)

    def backward(self, *args, **kwargs):
        mx.random.seed(SEED)
        return super().backward(*args, **kwargs)

    def on_host(self, method, *args, **kwargs):
        """The same call by the CPU operator."""
        mine, self.op = self.op, self.host
        try:
            return getattr(self, method)(*args, **kwargs)
        finally:
            self.op = mine


def both(op, *inputs, heads=None, train=True, aux=(), **params):
    """(found, wanted) of a call by the GPU form and by the CPU operator: lists of the outputs, and
    with `heads` of the gradients behind them."""
    results = []
    for on in (device(), None):
        ready = Ready(op, inputs, params, aux, on)
        mx.random.seed(SEED)
        outputs = ready.forward(train=train)
        grads = ready.backward(heads, outputs, train=train) if heads is not None else []
        results.append([*outputs, *ready.aux, *grads])
    return results
