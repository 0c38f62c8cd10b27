"""Gradients of linear algebra in terms of operators, for gradients of gradients: functions of
parameters p, operators F, output gradients g, inputs x and outputs y."""


def _transpose_matrices(F, a):
    """Matrices transposed."""
    return F.SwapAxis(a, dim1=a.ndim - 2, dim2=a.ndim - 1)


def _take_triangle(F, a, lower=True):
    """Return one triangle of each matrix; the other elements are 0."""
    return F.linalg_maketrian(F.linalg_extracttrian(a, lower=lower), lower=lower)


def _diagonal_matrix(F, a):
    return F.linalg_makediag(F.linalg_extractdiag(a))


def _broadcast_number(F, number, like):
    """Broadcast one number for each matrix to the shape of the matrices `like`."""
    shape = (*like.shape[:-2], 1, 1)
    return F.broadcast_to(number.reshape(shape), shape=like.shape)


def trmm_gradients(p, F, g, x, y):
    a, b = x
    flags = {"rightside": p.rightside, "lower": p.lower, "alpha": p.alpha}

    def grad_a():
        first, second = (b, g[0]) if p.rightside != p.transpose else (g[0], b)
        product = F.linalg_gemm2(
            first, second, transpose_a=p.rightside, transpose_b=not p.rightside, alpha=p.alpha
        )
        return _take_triangle(F, product, p.lower)

    return [grad_a, lambda: F.linalg_trmm(a, g[0], transpose=not p.transpose, **flags)]


def trsm_gradients(p, F, g, x, y):
    flags = {"transpose": not p.transpose, "rightside": p.rightside, "lower": p.lower}

    def grad_a():
        w = F.linalg_trsm(x[0], g[0], **flags)
        first, second = (y[0], w) if p.rightside != p.transpose else (w, y[0])
        product = F.linalg_gemm2(
            first, second, transpose_a=p.rightside, transpose_b=not p.rightside, alpha=-1.0
        )
        return _take_triangle(F, product, p.lower)

    return [grad_a, lambda: F.linalg_trsm(x[0], g[0], alpha=p.alpha, **flags)]


def syrk_gradients(p, F, g, x, y):
    def gradient():
        both = g[0] + _transpose_matrices(F, g[0])
        if p.transpose:
            return F.linalg_gemm2(x[0], both, alpha=p.alpha)
        return F.linalg_gemm2(both, x[0], alpha=p.alpha)

    return [gradient]


def potrf_gradients(p, F, g, x, y):
    def gradient():
        lower = y[0] if p.lower else _transpose_matrices(F, y[0])
        factor_grad = g[0] if p.lower else _transpose_matrices(F, g[0])
        inner = F.linalg_gemm2(lower, _take_triangle(F, factor_grad), transpose_a=True)
        inner = _take_triangle(F, inner)
        inner = (inner + _transpose_matrices(F, inner) - _diagonal_matrix(F, inner)) * 0.5
        left = F.linalg_trsm(lower, inner, transpose=True)
        out = F.linalg_trsm(lower, left, rightside=True)
        return (out + _transpose_matrices(F, out)) * 0.5

    return [gradient]


def potri_gradients(p, F, g, x, y):
    def gradient():
        left = F.linalg_gemm2(y[0], g[0] + _transpose_matrices(F, g[0]), alpha=-1.0)
        lower = x[0] if p.lower else _transpose_matrices(F, x[0])
        out = _take_triangle(F, F.linalg_trsm(lower, left, transpose=True, rightside=True))
        return out if p.lower else _transpose_matrices(F, out)

    return [gradient]


def inverse_gradients(p, F, g, x, y):
    def gradient():
        left = F.linalg_gemm2(y[0], g[0], transpose_a=True, alpha=-1.0)
        return F.linalg_gemm2(left, y[0], transpose_b=True)

    return [gradient]


def det_gradients(p, F, g, x, y):
    def gradient():
        factor = _broadcast_number(F, g[0] * F.linalg_det(x[0]), x[0])
        return factor * _transpose_matrices(F, F.linalg_inverse(x[0]))

    return [gradient]


def slogdet_gradients(p, F, g, x, y):
    return [
        lambda: _broadcast_number(F, g[1], x[0]) * _transpose_matrices(F, F.linalg_inverse(x[0]))
    ]


def sumlogdiag_gradients(p, F, g, x, y):
    def gradient():
        diagonal = F.linalg_extractdiag(x[0])
        number = g[0].reshape((*diagonal.shape[:-1], 1))
        return F.linalg_makediag(F.broadcast_div(number, diagonal))

    return [gradient]


def gelqf_gradients(p, F, g, x, y):
    def gradient():
        q, lower = y
        inner = F.linalg_gemm2(lower, _take_triangle(F, g[1]), transpose_a=True)
        inner = _take_triangle(F, inner - F.linalg_gemm2(g[0], q, transpose_b=True))
        inner = inner + _transpose_matrices(F, inner) - _diagonal_matrix(F, inner)
        total = g[0] + F.linalg_gemm2(inner, q)
        return F.linalg_trsm(lower, total, transpose=True)

    return [gradient]


def syevd_gradients(p, F, g, x, y):
    def gradient():
        vectors, values = y
        shape = (*values.shape, values.shape[-1])
        column = F.broadcast_to(values.expand_dims(values.ndim), shape=shape)
        apart = column - _transpose_matrices(F, column)
        equal = apart == 0  # the diagonal, too
        inner = F.linalg_gemm2(g[0], vectors, transpose_b=True)
        inner = (inner - _transpose_matrices(F, inner)) * 0.5 * (1 - equal) / (apart + equal)
        inner = inner + F.linalg_makediag(g[1])
        return F.linalg_gemm2(F.linalg_gemm2(vectors, inner, transpose_a=True), vectors)

    return [gradient]


def solve_gradients(p, F, g, x, y):
    def grad_b():
        return F.linalg_solve(_transpose_matrices(F, x[0]), g[0])

    return [lambda: F.linalg_gemm2(grad_b(), y[0], transpose_b=True, alpha=-1.0), grad_b]


def _as_rows_and_columns(F, values):
    """Return vectors of values as columns and as rows of matrices."""
    shape = (*values.shape, values.shape[-1])
    of_rows = F.broadcast_to(values.expand_dims(values.ndim), shape=shape)
    return of_rows, _transpose_matrices(F, of_rows)


def _safe_divide(F, a, b):
    """a / b, which is 0 where b is."""
    none = b == 0
    return a * (1 - none) / (b + none)


def svd_gradients(p, F, g, x, y):
    u, values, v = y

    def gradient():
        of_rows, of_columns = _as_rows_and_columns(F, values)
        of_u = F.linalg_gemm2(u, g[0], transpose_a=True)
        of_v = F.linalg_gemm2(v, g[2], transpose_b=True)
        inner = (of_u - _transpose_matrices(F, of_u)) * of_columns + of_rows * (
            of_v - _transpose_matrices(F, of_v)
        )
        inner = _safe_divide(F, inner, (of_columns - of_rows) * (of_columns + of_rows))
        inner = inner + F.linalg_makediag(g[1])
        out = F.linalg_gemm2(F.linalg_gemm2(u, inner), v)
        if u.shape[-2] > u.shape[-1]:
            beside = g[0] - F.linalg_gemm2(u, of_u)
            lengths = F.broadcast_to(values.expand_dims(values.ndim - 1), shape=u.shape)
            out = out + F.linalg_gemm2(_safe_divide(F, beside, lengths), v)
        if v.shape[-1] > v.shape[-2]:
            beside = g[2] - F.linalg_gemm2(of_v, v, transpose_a=True)
            lengths = F.broadcast_to(values.expand_dims(values.ndim), shape=v.shape)
            out = out + F.linalg_gemm2(u, _safe_divide(F, beside, lengths))
        return out

    return [gradient]


def eig_gradients(p, F, g, x, y):
    values, vectors = y

    def gradient():
        of_rows, of_columns = _as_rows_and_columns(F, values)
        moved = F.linalg_gemm2(vectors, g[1], transpose_a=True)
        gram = F.linalg_gemm2(vectors, vectors, transpose_a=True)
        diagonal = _as_rows_and_columns(F, F.linalg_extractdiag(moved))[1]
        inner = _safe_divide(F, moved - gram * diagonal, of_columns - of_rows)
        inner = inner + F.linalg_makediag(g[0])
        right = F.linalg_gemm2(inner, vectors, transpose_b=True)
        return F.linalg_solve(_transpose_matrices(F, vectors), right)

    return [gradient]
