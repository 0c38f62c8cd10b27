"""Keys of imperative calls: equal only where the same Call serves."""

# Device, dtypes and shapes of the arrays (NDArrayBase), as bytes.
cdef bytes pack(list given, int dev_type, int dev_id)
# A parameter's value.
cdef object freeze(object value)
# Whether this was asked for the same entry and key before, and lately (of some thousands). Asked of
# each call that finds no room; every so often the C library's heap is trimmed then.
cdef bint came_lately(object entry, object key) except -1
