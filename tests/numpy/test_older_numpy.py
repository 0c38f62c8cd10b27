"""mx.np on NumPy 1.26, with which packages written for MXNet run (make packages)."""

import subprocess
import sys

# what NumPy 2 has and 1.26 has not, of the functions that mx.np follows
NEW_NAMES = (
    *("acos", "acosh", "asin", "asinh", "astype", "atan", "atan2", "atanh", "bitwise_count"),
    *("bitwise_invert", "bitwise_left_shift", "bitwise_right_shift", "concat", "cumulative_prod"),
    *("cumulative_sum", "isdtype", "long", "matrix_transpose", "matvec", "permute_dims", "pow"),
    *("strings", "ulong", "unique_all", "unique_counts", "unique_inverse", "unique_values"),
    *("unstack", "vecdot", "vecmat"),
)
PROGRAM = """
import numpy
import numpy.linalg, numpy.random, numpy.testing
for name in {names}:
    if hasattr(numpy, name):
        delattr(numpy, name)
import cynet
cynet.install_as_mxnet()
import mxnet as mx
x = mx.np.array([1, 2], dtype="int32")
print(mx.np.left_shift(x, 2).tolist(), (x << x).tolist(), mx.np.bitwise_right_shift(8, 2))
print(mx.np.acos(mx.np.ones(1)).tolist(), mx.np.pow(x, 2).tolist(), mx.np.concat([x, x]).tolist())
"""


def test_functions_that_numpy_had_by_other_names():
    program = PROGRAM.format(names=NEW_NAMES)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    wanted = "[4, 8] [2, 8] 2\n[0.0] [1, 4] [1, 2, 1, 2]\n"
    assert done.stdout == wanted
