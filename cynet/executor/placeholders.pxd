"""Addresses that no process has, which a plan is built on where its arrays are given later."""

cdef enum:
    APART = 42  # bits between the addresses of two placeholders
    FROM = 1 << 20  # the first one's number: behind all addresses that a process can have

cdef inline void* address_of(size_t number) noexcept nogil:
    return <void*>((number + FROM) << APART)

cdef inline size_t number_of(const void* address) noexcept nogil:
    # The placeholder that this byte belongs to; for any other address a number that no placeholder
    # has.
    cdef size_t number = <size_t>address >> APART
    return number - FROM if number >= FROM else <size_t>-1
