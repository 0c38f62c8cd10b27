"""Offsets in the arena: each value in turn gets the lowest offset that is free during its lifetime.

The steps are the leaves of a segment tree, in which what lives from one step to another covers
O(log n) nodes. A node holds two sets of used intervals: those of the values that cover it, and
those of all that live at some step under it. What meets a value in time covers a node above one of
the value's, or lives under one of them. Since the arena fills from below, most intervals of a set
grow into one: the lowest free offset is found by O(log n) looks into sets of few intervals.

Where lives and sizes are such that sets have many holes, which values of other sets fill, that
takes longer than a look at every value in the order of their offsets, which is then done instead.
Both find the same.
"""

from cython.operator cimport dereference as at, preincrement as next_of
from cython.operator cimport predecrement as one_before
from libc.stdint cimport int64_t
from libcpp.algorithm cimport inplace_merge, sort
from libcpp.map cimport map
from libcpp.vector cimport vector

cdef enum:
    LOOK_COST = 8  # a look-up in a set takes as long as a scan of so many values
    TOO_LONG = -2  # the search for an offset was given up

# used intervals: begin -> end
ctypedef map[int64_t, int64_t] Intervals

cdef struct PlacedValue:  # its bytes in the arena, its first and last step
    int64_t begin, end
    size_t first, last

cdef cppclass Tree:
    size_t steps            # node k has the children 2k and 2k + 1, step i is node steps + i
    vector[Intervals] covers   # for each node: the values that live at all of its steps
    vector[Intervals] under
    vector[Intervals*] near    # nonempty sets of values that live with the present one
    vector[PlacedValue] placed   # all values; the first `n_sorted` are sorted by offset
    size_t n_sorted
    size_t pause, wait      # values placed by scans alone: in total, and left


def pack_values(list sizes, list firsts, list lasts):  # returns the arena's size, and offsets
    """Return the size of an arena and the offsets of values, which are placed in order.

    sizes (list of int): Bytes of each value.
    firsts, lasts (list of int): The first and last steps of each value's lifetime.

    Returns (int, list of int): the arena's size, and each value's offset.

    Examples
    --------
    >>> pack_values([128, 64, 64], [0, 1, 2], [1, 2, 3])
    (192, [0, 128, 0])
    """
    cdef Tree tree
    cdef int64_t size, offset, total = 0
    cdef size_t first, last
    cdef list offsets = []
    tree.n_sorted = tree.wait = tree.pause = 0
    tree.steps = max(lasts, default=0) + 1
    tree.covers.resize(2 * tree.steps)
    tree.under.resize(2 * tree.steps)
    for size, first, last in zip(sizes, firsts, lasts):
        offset = _find_offset(&tree, first, last, size) if size else 0
        if size:
            _add_value(&tree, first, last, offset, offset + size)
        offsets.append(offset)
        total = max(total, offset + size)
    return total, offsets


cdef int64_t _find_offset(Tree* tree, size_t first, size_t last, int64_t size) except -1 nogil:
    """Return the lowest offset that is free from step `first` to step `last`."""
    cdef int64_t offset
    if tree.wait:
        tree.wait -= 1
    else:
        _collect_intervals(tree, first, last)
        offset = _lowest_free_offset(&tree.near, size, tree.placed.size() // LOOK_COST)
        if offset != TOO_LONG:
            tree.pause = 0
            return offset
        tree.wait = tree.pause = 2 * tree.pause + 1
    return _offset_by_scan(tree, first, last, size)


cdef int _collect_intervals(Tree* tree, size_t first, size_t last) except -1 nogil:
    """Collect the used intervals of all values that live at a step from `first` to `last`."""
    cdef size_t left = first + tree.steps, right = last + tree.steps
    cdef size_t above_left = left, above_right = right
    tree.near.clear()
    while above_right:
        _add_near_intervals(tree, &tree.covers[above_left])
        if above_right != above_left:
            _add_near_intervals(tree, &tree.covers[above_right])
        above_left >>= 1
        above_right >>= 1
    right += 1
    while left < right:
        if left & 1:
            _add_near_intervals(tree, &tree.under[left])
            left += 1
        if right & 1:
            right -= 1
            _add_near_intervals(tree, &tree.under[right])
        left >>= 1
        right >>= 1
    return 0


cdef int _add_near_intervals(Tree* tree, Intervals* used) except -1 nogil:
    if not used.empty():
        tree.near.push_back(used)
    return 0


cdef int _add_value(Tree* tree, size_t first, size_t last, int64_t begin,
                    int64_t end) except -1 nogil:
    """Add a value's interval to the tree's nodes of its steps."""
    cdef size_t left = first + tree.steps, right = last + tree.steps
    cdef size_t above_left = left, above_right = right
    cdef PlacedValue value
    value.begin, value.end, value.first, value.last = begin, end, first, last
    tree.placed.push_back(value)
    while above_right:
        _merge_interval(&tree.under[above_left], begin, end)
        if above_right != above_left:
            _merge_interval(&tree.under[above_right], begin, end)
        above_left >>= 1
        above_right >>= 1
    right += 1
    while left < right:
        if left & 1:
            _merge_interval(&tree.under[left], begin, end)
            _merge_interval(&tree.covers[left], begin, end)
            left += 1
        if right & 1:
            right -= 1
            _merge_interval(&tree.under[right], begin, end)
            _merge_interval(&tree.covers[right], begin, end)
        left >>= 1
        right >>= 1
    return 0


cdef int _merge_interval(Intervals* used, int64_t begin, int64_t end) except -1 nogil:
    """Add an interval; it is merged with intervals that it overlaps or touches."""
    cdef Intervals.iterator each = used.upper_bound(begin)
    if each != used.begin():
        one_before(each)
        if at(each).second >= end:
            return 0
        if at(each).second < begin:
            next_of(each)
    while each != used.end() and at(each).first <= end:
        begin, end = min(begin, at(each).first), max(end, at(each).second)
        each = used.erase(each)
    used[0][begin] = end
    return 0


cdef int64_t _lowest_free_offset(
        const vector[Intervals*]* near, int64_t size, size_t maximum) noexcept nogil:
    """Return the lowest offset at which `size` bytes are free in all sets, or TOO_LONG after about
    `maximum` look-ups."""
    cdef int64_t begin = 0, free
    cdef size_t i = 0, agreed = 0, looks = 0, n = near.size()
    while agreed < n:
        free = _lowest_offset_from(near[0][i], begin, size, &looks)
        agreed = agreed + 1 if free == begin else 1
        begin = free
        i = i + 1 if i + 1 < n else 0
        looks += 1
        if looks > maximum + 8 * n:
            return TOO_LONG
    return begin


cdef int64_t _lowest_offset_from(
        Intervals* used, int64_t begin, int64_t size, size_t* looks) noexcept nogil:
    """Return the lowest offset from `begin` on that is free in one set."""
    cdef Intervals.iterator each = used.upper_bound(begin)
    if each != used.begin():
        one_before(each)
        begin = max(begin, at(each).second)
        next_of(each)
    while each != used.end() and at(each).first < begin + size:
        begin = at(each).second
        next_of(each)
        looks[0] += 1
    return begin


cdef int64_t _offset_by_scan(Tree* tree, size_t first, size_t last, int64_t size) except -1 nogil:
    """`_lowest_free_offset` by a scan of all values, which is faster if sets have many holes."""
    cdef vector[PlacedValue].iterator middle = tree.placed.begin() + tree.n_sorted
    cdef int64_t offset = 0
    cdef size_t i
    cdef PlacedValue* each
    sort(middle, tree.placed.end(), _has_lower_offset)
    inplace_merge(tree.placed.begin(), middle, tree.placed.end(), _has_lower_offset)
    tree.n_sorted = tree.placed.size()
    for i in range(tree.n_sorted):
        each = &tree.placed[i]
        if each.last < first or last < each.first:
            continue
        if offset + size <= each.begin:
            break
        offset = max(offset, each.end)
    return offset


cdef bint _has_lower_offset(const PlacedValue& a, const PlacedValue& b) noexcept nogil:
    return a.begin < b.begin
