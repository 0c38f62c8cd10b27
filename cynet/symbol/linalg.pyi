# Written by scripts/make_stubs.py; do not edit.

from .symbol import Symbol

def det(A: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Determinants of square matrices; of one matrix an array of one number."""
def eig(A: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Eigenvalues L and eigenvectors V of square matrices: ``A V = V diag(L)``, outputs L and V."""
def extractdiag(A: Symbol | None = None, offset: int = 0, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """A diagonal of each square matrix as a vector."""
def extracttrian(A: Symbol | None = None, offset: int = 0, lower: bool = True, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """One triangle of each square matrix as a vector."""
def gelqf(A: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """LQ factorizations ``A = L Q``: the outputs are Q and L."""
def gemm(A: Symbol | None = None, B: Symbol | None = None, C: Symbol | None = None, transpose_a: bool = False, transpose_b: bool = False, alpha: float = 1.0, beta: float = 1.0, axis: int = -2, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Products of matrices, with a sum: ``alpha op(A) op(B) + beta C``."""
def gemm2(A: Symbol | None = None, B: Symbol | None = None, transpose_a: bool = False, transpose_b: bool = False, alpha: float = 1.0, axis: int = -2, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Products of matrices: ``alpha op(A) op(B)``; op transposes where asked to."""
def inverse(A: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Inverses of square matrices."""
def makediag(A: Symbol | None = None, offset: int = 0, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Square matrices with a diagonal from a vector, zeros elsewhere."""
def maketrian(A: Symbol | None = None, offset: int = 0, lower: bool = True, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Square matrices with one triangle from a vector, as `extracttrian` gives it, else zeros."""
def potrf(A: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None, *, lower: bool = True) -> Symbol:
    """Cholesky factors: lower triangular L with ``A = L L'`` of symmetric positive definite A."""
def potri(A: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None, *, lower: bool = True) -> Symbol:
    """Inverses ``(L L')^-1`` from Cholesky factors L, of which the lower triangle is read."""
def slogdet(A: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Signs of determinants, and logarithms of their sizes: two outputs."""
def solve(A: Symbol | None = None, B: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Solutions X of ``A X = B``, of B's shape."""
def sumlogdiag(A: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Sums of the logarithms of the diagonals; NaN where an entry is negative."""
def svd(A: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Singular value decompositions ``A = U diag(L) V``: the outputs are U, L and V."""
def syevd(A: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Eigenvectors and eigenvalues of symmetric matrices: ``A = U' diag(L) U``, outputs U and L."""
def syrk(A: Symbol | None = None, transpose: bool = False, alpha: float = 1.0, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Gram matrices ``alpha A A'``, with `transpose` ``alpha A' A``."""
def trmm(A: Symbol | None = None, B: Symbol | None = None, transpose: bool = False, rightside: bool = False, lower: bool = True, alpha: float = 1.0, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Products of triangular matrices: ``alpha op(A) B``, with `rightside` ``alpha B op(A)``."""
def trsm(A: Symbol | None = None, B: Symbol | None = None, transpose: bool = False, rightside: bool = False, lower: bool = True, alpha: float = 1.0, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Solves triangular equations: the output X has ``op(A) X = alpha B``."""
