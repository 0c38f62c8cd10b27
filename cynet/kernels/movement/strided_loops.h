// A row of a copy between strided views, compiled for each level (levels.h). Included by strided.h.

template <typename T, int mode>
void move_strided_row(T* dst, int64_t ds, const T* src, int64_t ss, int64_t n) {
  if (ds == 1 && ss == 1) {
    if constexpr (mode == STRIDED_WRITE) {
      std::memcpy(dst, src, static_cast<size_t>(n) * sizeof(T));
    } else {
      for (int64_t i = 0; i < n; ++i) write_with_mode<T, mode>(dst[i], src[i]);
    }
  } else if (ds == 1 && ss == 0) {
    const T value = *src;
    for (int64_t i = 0; i < n; ++i) write_with_mode<T, mode>(dst[i], value);
  } else if (ds == 1 && ss == -1) {
    CYNET_IVDEP
    for (int64_t i = 0; i < n; ++i) write_with_mode<T, mode>(dst[i], src[-i]);
  } else {
    for (int64_t i = 0; i < n; ++i) write_with_mode<T, mode>(dst[i * ds], src[i * ss]);
  }
}
