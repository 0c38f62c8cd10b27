"""Functions of linear algebra that MXNet 1.9.1 delegates to NumPy; here they are those of
mx.np.linalg."""

from .linalg import cond, lstsq, matrix_power, matrix_rank, multi_dot, qr

__all__ = ["cond", "lstsq", "matrix_power", "matrix_rank", "multi_dot", "qr"]
