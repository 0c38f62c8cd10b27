// The loop of read_in_range.h, compiled for each level (levels.h).

template <typename T>
bool read_in_range_row(const void* numbers_, int64_t m, int64_t n, int64_t* index) {
  const T* numbers = static_cast<const T*>(numbers_);
  if constexpr (std::is_integral<T>::value) {
    typedef std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t> Bits;
    Bits outside = 0;  // first bit: an index is outside; SSE2 cannot compare 64-bit integers
    for (int64_t i = 0; i < m; ++i) {
      const Bits number = static_cast<Bits>(numbers[i]);
      outside |= number | (static_cast<Bits>(n) - 1 - number);
      index[i] = static_cast<int64_t>(numbers[i]);
    }
    return !(outside >> (8 * sizeof(Bits) - 1));
  } else {
    typedef std::conditional_t<sizeof(T) == sizeof(double), double, float> Real;
    const Real end = static_cast<Real>(n);
    int outside = 0;
    for (int64_t i = 0; i < m; ++i) {
      const Real number = convert_one<Real>(numbers[i]);
      const bool inside = number > Real(-1) && number < end;
      outside |= !inside;
      index[i] = static_cast<int32_t>(inside ? number : Real(0));
    }
    return !outside;
  }
}
