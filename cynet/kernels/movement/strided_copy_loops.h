// Rows of a strided copy, compiled for each level (levels.h). Included by strided_copy.h.

#include "elementwise/convert_loops.h"

// Vector instructions convert floats to int32, not to int64: parts whose values all fit use them.
template <typename D, typename S>
CYNET_XINLINE void convert_row(D* dst, const S* src, int64_t n) {
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

// memcpy. Non-temporal stores if several cores copy what several cores will read: cache lines that
// all have read would be taken back from them one by one.
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

template <typename D, typename S>
CYNET_XINLINE void copy_row(D* dst, const S* src, int64_t n, int64_t dst_step, int64_t src_step,
                            bool shared) {
  if (dst_step == 1 && src_step == 1) {
    if constexpr (std::is_same_v<D, S>) {
      copy_bytes(dst, src, static_cast<size_t>(n) * sizeof(D), shared);
    } else {
      convert_row(dst, src, n);
    }
  } else if (dst_step == 1 && src_step == 0) {
    const D value = convert_one<D>(*src);
    for (int64_t i = 0; i < n; ++i) dst[i] = value;
  } else if (dst_step == 1 && src_step == -1) {
    for (int64_t i = 0; i < n; ++i) dst[i] = convert_one<D>(src[-i]);
  } else {
    for (int64_t i = 0; i < n; ++i) dst[i * dst_step] = convert_one<D>(src[i * src_step]);
  }
}

// Rows [begin, end) over all axes but the last; with one axis, elements [begin, end).
template <typename D, typename S>
void copy_range(const StridedCopy& c, int64_t begin, int64_t end) {
  D* dst = static_cast<D*>(c.dst);
  const S* src = static_cast<const S*>(c.src);
  const int last = c.ndim - 1;
  if (last == 0) {
    copy_row(dst + begin * c.dst_stride[0], src + begin * c.src_stride[0], end - begin,
             c.dst_stride[0], c.src_stride[0], c.shared);
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
  for (int64_t row = begin; row < end; ++row) {
    copy_row(dst + to, src + from, c.shape[last], c.dst_stride[last], c.src_stride[last],
             c.shared);
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
