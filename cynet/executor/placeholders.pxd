"""Placeholder addresses, which no memory has, for a plan whose arrays are set later."""

cdef enum:
    PLACEHOLDER_BITS = 42  # placeholder addresses are multiples of 1 << 42
    FIRST_PLACEHOLDER = 1 << 20  # above all addresses of a process

cdef inline void* placeholder_address(size_t number) noexcept nogil:
    return <void*>((number + FIRST_PLACEHOLDER) << PLACEHOLDER_BITS)

cdef inline size_t placeholder_number(const void* address) noexcept nogil:
    # Return the number of the placeholder that an address belongs to; (size_t)-1 for other
    # addresses.
    cdef size_t number = <size_t>address >> PLACEHOLDER_BITS
    return number - FIRST_PLACEHOLDER if number >= FIRST_PLACEHOLDER else <size_t>-1
