"""Operators that only carry what a user defines: tested by the tests named here."""

CASES = []
EXCEPTIONS = {
    "Custom": "computes what a CustomOp does: tests/operator/test_custom.py",
    "_Native": "computes what a NumpyOp does: tests/operator/test_python_op.py",
    "_NDArray": "computes what an NDArrayOp does: tests/operator/test_python_op.py",
}
