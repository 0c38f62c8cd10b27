"""Functions that make, fill, copy and add arrays of gradients."""

from .._core.face cimport Face
from .._ndarray cimport NDArrayBase
from .._typedefs cimport TBlob
from ..ndarray._tape cimport CallNode

cdef str NOT_RECORDED  # error message for an array in no graph; {} is its name


# The module ndarray/sparse/gradients.py.
cdef object sparse_module()
# A new array like `like`, not initialized.
cdef NDArrayBase new_array_like(const TBlob* like, Face face)
cdef NDArrayBase filled_like(const TBlob* like, double value, Face face)
cdef int fill(NDArrayBase array, double value) except -1
cdef int copy_values(NDArrayBase target, NDArrayBase source) except -1
cdef NDArrayBase copy_of(NDArrayBase source)
# a + b, recorded where the thread records.
cdef NDArrayBase add_arrays(NDArrayBase a, NDArrayBase b, NDArrayBase out)
# A view of the array's bytes in the shape of `like`.
cdef NDArrayBase reshaped_like(NDArrayBase array, const TBlob* like)
# The gradient that the user gives for output `i`, in the output's dtype and on its device.
cdef NDArrayBase check_head_grad(NDArrayBase head, object given, int i)
# The graph entry of output `i` of a node.
cdef object entry_of_output(CallNode node, int i)
# The array, linked to the graph entry that it had when it was recorded.
cdef NDArrayBase link_to_entry(NDArrayBase array, object entry)
# The graph entries of the outputs; raises for an output that was not recorded.
cdef list entries_of(list heads)
