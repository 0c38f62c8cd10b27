# Written by scripts/make_stubs.py; do not edit.

from collections.abc import Sequence
from .ndarray import NDArray

from .methods.numpy_functions import inv as inv
from .methods.numpy_functions import lstsq as lstsq
from .methods.numpy_functions import norm as norm
from .methods.numpy_functions import qr as qr
def det(A: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Determinants of square matrices; of one matrix an array of one number."""
def eig(A: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> list[NDArray]:
    """Eigenvalues L and eigenvectors V of square matrices: ``A V = V diag(L)``, outputs L and V."""
def extractdiag(A: NDArray, offset: int = 0, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """A diagonal of each square matrix as a vector."""
def extracttrian(A: NDArray, offset: int = 0, lower: bool = True, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """One triangle of each square matrix as a vector."""
def gelqf(A: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> list[NDArray]:
    """LQ factorizations ``A = L Q``: the outputs are Q and L."""
def gemm(A: NDArray, B: NDArray, C: NDArray, transpose_a: bool = False, transpose_b: bool = False, alpha: float = 1.0, beta: float = 1.0, axis: int = -2, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Products of matrices, with a sum: ``alpha op(A) op(B) + beta C``."""
def gemm2(A: NDArray, B: NDArray, transpose_a: bool = False, transpose_b: bool = False, alpha: float = 1.0, axis: int = -2, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Products of matrices: ``alpha op(A) op(B)``; op transposes where asked to."""
def inverse(A: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Inverses of square matrices."""
def makediag(A: NDArray, offset: int = 0, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Square matrices with a diagonal from a vector, zeros elsewhere."""
def maketrian(A: NDArray, offset: int = 0, lower: bool = True, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Square matrices with one triangle from a vector, as `extracttrian` gives it, else zeros."""
def potrf(A: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None, *, lower: bool = True) -> NDArray:
    """Cholesky factors: lower triangular L with ``A = L L'`` of symmetric positive definite A."""
def potri(A: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None, *, lower: bool = True) -> NDArray:
    """Inverses ``(L L')^-1`` from Cholesky factors L, of which the lower triangle is read."""
def slogdet(A: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> list[NDArray]:
    """Signs of determinants, and logarithms of their sizes: two outputs."""
def solve(A: NDArray, B: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Solutions X of ``A X = B``, of B's shape."""
def sumlogdiag(A: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Sums of the logarithms of the diagonals; NaN where an entry is negative."""
def svd(A: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> list[NDArray]:
    """Singular value decompositions ``A = U diag(L) V``: the outputs are U, L and V."""
def syevd(A: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> list[NDArray]:
    """Eigenvectors and eigenvalues of symmetric matrices: ``A = U' diag(L) U``, outputs U and L."""
def syrk(A: NDArray, transpose: bool = False, alpha: float = 1.0, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Gram matrices ``alpha A A'``, with `transpose` ``alpha A' A``."""
def trmm(A: NDArray, B: NDArray, transpose: bool = False, rightside: bool = False, lower: bool = True, alpha: float = 1.0, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Products of triangular matrices: ``alpha op(A) B``, with `rightside` ``alpha B op(A)``."""
def trsm(A: NDArray, B: NDArray, transpose: bool = False, rightside: bool = False, lower: bool = True, alpha: float = 1.0, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Solves triangular equations: the output X has ``op(A) X = alpha B``."""
