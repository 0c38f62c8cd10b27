"""The functions of mx.np.linalg that MXNet 1.9.1 delegates to NumPy."""

from .linalg import cond, lstsq, matrix_power, matrix_rank, multi_dot, qr

__all__ = ["cond", "lstsq", "matrix_power", "matrix_rank", "multi_dot", "qr"]
