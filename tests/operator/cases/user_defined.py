"""Operators that only carry what a user defines: tested by the tests named here."""

CASES = []
EXCEPTIONS = {
    "Custom": "computes what a CustomOp does: tests/operator/custom/test_custom.py",
    "_Native": "computes what a NumpyOp does: tests/operator/custom/test_legacy.py",
    "_NDArray": "computes what an NDArrayOp does: tests/operator/custom/test_legacy.py",
}
