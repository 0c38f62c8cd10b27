// Rows of a strided copy, compiled for each level (levels.h). Included by strided_copy.h.

#include "elementwise/convert_loops.h"

// Vector instructions convert floats to int32, not to int64: parts whose values all fit use them.
template <typename D, typename S>
void convert_row(void* dst_, const void* src_, int64_t n) {
  D* dst = static_cast<D*>(dst_);
  const S* src = static_cast<const S*>(src_);
  if constexpr (std::is_floating_point_v<S> && std::is_integral_v<D> && sizeof(D) <= 4 &&
                !std::is_same_v<D, bool>) {
    enum { PART = 64 };
    for (; n > 0; n -= PART, dst += PART, src += PART) {
      const int64_t m = n < PART ? n : static_cast<int64_t>(PART);
      int strange = 0;
      for (int64_t i = 0; i < m; ++i)
        strange |= (src[i] > S(-2147483520)) & (src[i] < S(2147483520)) ? 0 : 1;
      if (strange) {
        for (int64_t i = 0; i < m; ++i) dst[i] = convert_one<D>(src[i]);
      } else {
        for (int64_t i = 0; i < m; ++i) dst[i] = static_cast<D>(static_cast<int32_t>(src[i]));
      }
    }
  } else if constexpr (std::is_same_v<S, float> && std::is_same_v<D, half>) {
    convert_run<S, D>(src, dst, n);
  } else {
    for (int64_t i = 0; i < n; ++i) dst[i] = convert_one<D>(src[i]);
  }
}

// memcpy. With non-temporal stores if several cores copy data that several cores will read: cache
// lines shared by all cores would have to be invalidated one by one.
CYNET_XINLINE void copy_bytes(void* dst, const void* src, size_t n, bool shared) {
#ifdef CYNET_X86_LEVELS
  if (shared && n >= 4096) {
#if CYNET_LANES == 16
    typedef __m512i Line;
    const auto move = [](char* to, const char* from) {
      _mm512_stream_si512(reinterpret_cast<Line*>(to), _mm512_loadu_si512(from));
    };
#elif CYNET_LANES == 8
    typedef __m256i Line;
    const auto move = [](char* to, const char* from) {
      _mm256_stream_si256(reinterpret_cast<Line*>(to),
                          _mm256_loadu_si256(reinterpret_cast<const Line*>(from)));
    };
#else
    typedef __m128i Line;
    const auto move = [](char* to, const char* from) {
      _mm_stream_si128(reinterpret_cast<Line*>(to),
                       _mm_loadu_si128(reinterpret_cast<const Line*>(from)));
    };
#endif
    char* to = static_cast<char*>(dst);
    const char* from = static_cast<const char*>(src);
    size_t i = -reinterpret_cast<uintptr_t>(to) % sizeof(Line);
    std::memcpy(to, from, i);
    for (; i + sizeof(Line) <= n; i += sizeof(Line)) move(to + i, from + i);
    _mm_sfence();
    std::memcpy(to + i, from + i, n - i);
    return;
  }
#endif
  std::memcpy(dst, src, n);
}

// Copies n elements of one size, of any type.
template <typename T>
CYNET_XINLINE void move_row(T* dst, int64_t dst_step, const T* src, int64_t src_step, int64_t n) {
  if (dst_step == 1 && src_step == 0) {
    const T value = *src;
    for (int64_t i = 0; i < n; ++i) dst[i] = value;
  } else if (dst_step == 1 && src_step == -1) {
    for (int64_t i = 0; i < n; ++i) dst[i] = src[-i];
  } else if (dst_step == 1) {
    for (int64_t i = 0; i < n; ++i) dst[i] = src[i * src_step];
  } else if (n < 16) {
    for (int64_t i = 0; i < n; ++i) {
#if defined(__GNUC__)
      __asm__ volatile("");  // a short row is not worth a vector loop's beginning
#endif
      dst[i * dst_step] = src[i * src_step];
    }
  } else {
    for (int64_t i = 0; i < n; ++i) dst[i * dst_step] = src[i * src_step];
  }
}

template <typename T>
void move_elements(void* dst, int64_t dst_step, const void* src, int64_t src_step, int64_t n) {
  move_row(static_cast<T*>(dst), dst_step, static_cast<const T*>(src), src_step, n);
}

// Calls row(dst, src, n, dst_step, src_step) for rows [begin, end) over all axes but the last; with
// one axis, for elements [begin, end).
template <class Row>
CYNET_XINLINE void for_rows(const StridedCopy& c, int64_t begin, int64_t end, int64_t dst_size,
                            int64_t src_size, const Row& row) {
  char* dst = static_cast<char*>(c.dst);
  const char* src = static_cast<const char*>(c.src);
  const int last = c.ndim - 1;
  const int64_t dst_step = c.dst_stride[last], src_step = c.src_stride[last];
  if (last == 0) {
    row(dst + begin * dst_step * dst_size, src + begin * src_step * src_size, end - begin, dst_step,
        src_step);
    return;
  }
  int64_t index[kCopyAxes] = {0};
  int64_t rest = begin, to = 0, from = 0;
  for (int i = last - 1; i >= 0; --i) {
    index[i] = rest % c.shape[i];
    rest /= c.shape[i];
    to += index[i] * c.dst_stride[i];
    from += index[i] * c.src_stride[i];
  }
  for (int64_t r = begin; r < end; ++r) {
    row(dst + to * dst_size, src + from * src_size, c.shape[last], dst_step, src_step);
    for (int i = last - 1; i >= 0; --i) {
      to += c.dst_stride[i];
      from += c.src_stride[i];
      if (++index[i] < c.shape[i]) break;
      to -= index[i] * c.dst_stride[i];
      from -= index[i] * c.src_stride[i];
      index[i] = 0;
    }
  }
}

// Copies without type conversion.
template <typename T>
void copy_range(const StridedCopy& c, int64_t begin, int64_t end) {
  for_rows(c, begin, end, sizeof(T), sizeof(T),
           [&](char* dst, const char* src, int64_t n, int64_t dst_step, int64_t src_step)
               CYNET_XLAMBDA {
                 if (dst_step == 1 && src_step == 1)
                   copy_bytes(dst, src, static_cast<size_t>(n) * sizeof(T), c.shared);
                 else
                   move_row(reinterpret_cast<T*>(dst), dst_step, reinterpret_cast<const T*>(src),
                            src_step, n);
               });
}

// True if n numbers are in [0, size); has no branch, so that it is vectorised.
inline bool are_in_range(const int64_t* numbers, int64_t n, int64_t size) {
  int64_t outside = 0;
  for (int64_t i = 0; i < n; ++i) outside |= numbers[i] | (size - 1 - numbers[i]);
  return outside >= 0;
}
