"""Sparse arrays in .params files: byte for byte MXNet's, and damaged ones."""

from pathlib import Path

import numpy as np
import pytest
from cynet.errors import CynetError, FormatError

import cynet as mx

FIXTURE = Path(__file__).parents[2] / "fixtures" / "sparse.params"


def arrays():
    sparse = mx.nd.sparse
    values = np.array([1.0, -2.0])
    return {
        "csr": sparse.csr_matrix(([1.0, 2.0, 3.0], [0, 2, 1], [0, 2, 2, 3]), shape=(3, 4)),
        "csr64": sparse.csr_matrix((values, [1, 0], [0, 1, 2]), shape=(2, 2)),
        "rows": sparse.row_sparse_array(([[1.0, 2.0], [3.0, 4.0]], [1, 3]), shape=(6, 2)),
        "dense": mx.nd.array([[1.0, 2.0]]),
        "no_csr": sparse.zeros("csr", (2, 3)),
        "no_rows": sparse.zeros("row_sparse", (2, 3)),
    }


def test_bytes_are_mxnets():
    assert mx.nd.save_tobuffer(arrays()) == FIXTURE.read_bytes()


def test_what_mxnet_wrote_is_read():
    got = mx.nd.load(str(FIXTURE))
    for name, want in arrays().items():
        assert got[name].stype == want.stype
        assert got[name].shape == want.shape
        assert got[name].dtype == want.dtype
        np.testing.assert_array_equal(got[name].asnumpy(), want.asnumpy())


def test_every_byte_changed_and_every_cut():
    """A damaged file is refused as a FormatError, or gives arrays that are sound."""
    whole = FIXTURE.read_bytes()
    for at in range(0, len(whole)):
        with pytest.raises(FormatError, match="expected"):
            mx.nd.load_frombuffer(whole[:at])
    refused = 0
    for at in range(24, len(whole)):
        for value in (0xFF, 0x01):
            damaged = bytearray(whole)
            if damaged[at] == value:
                continue
            damaged[at] = value
            try:
                found = mx.nd.load_frombuffer(bytes(damaged))
            except CynetError as error:
                assert isinstance(error, FormatError)
                refused += 1
                continue
            for array in found.values():
                if array.stype != "default":
                    array.check_format()
                    if array.size < 1 << 20:
                        array.asnumpy()
    assert refused > 500
