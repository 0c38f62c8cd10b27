"""Cases of cast_storage and _sparse_retain on dense arrays."""

import numpy as np

from .case import Case, Input

EVERY = ("float16", "float32", "float64", "int32", "int64", "uint8", "int8")
FLOATS = ("float32", "float64")


def retain(data, indices):
    out = np.zeros_like(data)
    rows = indices.astype(int).ravel()
    out[rows] = data[rows]
    return out


CASES = [
    *(
        Case(
            "cast_storage",
            [(3, 4)],
            lambda x, stype: x,
            {"stype": stype},
            back=(0,),
            exact=True,
            grad=dtypes is FLOATS,
            dtypes=dtypes,
            note="" if dtypes is FLOATS else "integers",
        )
        for stype in ("default", "row_sparse", "csr")
        for dtypes in (FLOATS, EVERY[:1] + EVERY[3:])
    ),
    Case(
        "_sparse_retain",
        [(5, 3), Input((3,), [3, 1, 3], "int64")],
        retain,
        back=(0,),
        grad=(0,),
        exact=True,
    ),
    Case(
        "_sparse_retain",
        [(4, 2, 2), Input((2, 1), [0, 2], "int32")],
        retain,
        back=(0,),
        grad=(0,),
        exact=True,
    ),
    Case(
        "_sparse_retain",
        [(3, 2), Input((2,), [0, 2], "float32")],
        retain,
        back=(0,),
        grad=(),
        exact=True,
        dtypes=("int32", "int8"),
    ),
]
