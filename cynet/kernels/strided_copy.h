// Copies with strides on both sides and a change of element type: assignment, slices, casts, fills.
#ifndef CYNET_STRIDED_COPY_H
#define CYNET_STRIDED_COPY_H

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "element.h"
#include "half.h"
#include "parallel.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace cynet {

constexpr int kCopyAxes = 16;

// Element (i, j, ...) of dst at dst + i * dst_stride[0] + ...; the same for src. Strides count
// elements and may be 0 (src only: broadcast) or negative.
struct StridedCopy {
  void* dst;
  const void* src;
  int dst_type, src_type, ndim;  // DType codes of _typedefs.pxd
  int64_t shape[kCopyAxes], dst_stride[kCopyAxes], src_stride[kCopyAxes];
  bool shared;  // by several threads: set by strided_copy
};

// memcpy; past the caches where several cores are going to read what is copied by several, since
// lines that they have all read are taken back from them one by one.
inline void copy_bytes(void* dst, const void* src, size_t n, bool shared) {
#if defined(__SSE2__)
  if (shared && n >= 4096) {
    char* to = static_cast<char*>(dst);
    const char* from = static_cast<const char*>(src);
    const size_t head = -reinterpret_cast<uintptr_t>(to) % 16;
    std::memcpy(to, from, head);
    size_t i = head;
    for (; i + 16 <= n; i += 16)
      _mm_stream_si128(reinterpret_cast<__m128i*>(to + i),
                       _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i)));
    _mm_sfence();
    std::memcpy(to + i, from + i, n - i);
    return;
  }
#endif
  std::memcpy(dst, src, n);
}

template <typename D, typename S>
inline void copy_row(D* dst, const S* src, int64_t n, int64_t dst_step, int64_t src_step,
                     bool shared) {
  if (dst_step == 1 && src_step == 1) {
    if constexpr (std::is_same_v<D, S>) {
      copy_bytes(dst, src, static_cast<size_t>(n) * sizeof(D), shared);
    } else {
      for (int64_t i = 0; i < n; ++i) dst[i] = convert_element<D>(src[i]);
    }
  } else if (dst_step == 1 && src_step == 0) {
    const D value = convert_element<D>(*src);
    for (int64_t i = 0; i < n; ++i) dst[i] = value;
  } else {
    for (int64_t i = 0; i < n; ++i) dst[i * dst_step] = convert_element<D>(src[i * src_step]);
  }
}

// Drops axes of length 1, joins neighbours that both sides walk as one; leaves at least one axis.
inline void coalesce(StridedCopy* c) {
  int n = 0;
  for (int i = 0; i < c->ndim; ++i) {
    if (c->shape[i] == 1) continue;
    if (n > 0 && c->dst_stride[n - 1] == c->dst_stride[i] * c->shape[i] &&
        c->src_stride[n - 1] == c->src_stride[i] * c->shape[i]) {
      c->shape[n - 1] *= c->shape[i];
      c->dst_stride[n - 1] = c->dst_stride[i];
      c->src_stride[n - 1] = c->src_stride[i];
      continue;
    }
    c->shape[n] = c->shape[i];
    c->dst_stride[n] = c->dst_stride[i];
    c->src_stride[n] = c->src_stride[i];
    ++n;
  }
  if (n == 0) {
    c->shape[0] = 1;
    c->dst_stride[0] = c->src_stride[0] = 1;
    n = 1;
  }
  c->ndim = n;
}

// Rows [begin, end) of all rows but the last axis; with one axis, elements [begin, end).
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
    copy_row(dst + to, src + from, c.shape[last], c.dst_stride[last], c.src_stride[last], c.shared);
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

typedef void (*CopyFunction)(const StridedCopy&, int64_t, int64_t);

template <typename D>
CopyFunction copy_from(int src_type) {
  static const CopyFunction table[] = {
      copy_range<D, float>,   copy_range<D, double>, copy_range<D, half>,    copy_range<D, uint8_t>,
      copy_range<D, int32_t>, copy_range<D, int8_t>, copy_range<D, int64_t>, copy_range<D, bool>};
  return table[src_type];
}

inline CopyFunction copy_function(int dst_type, int src_type) {
  switch (dst_type) {
    case 0: return copy_from<float>(src_type);
    case 1: return copy_from<double>(src_type);
    case 2: return copy_from<half>(src_type);
    case 3: return copy_from<uint8_t>(src_type);
    case 4: return copy_from<int32_t>(src_type);
    case 5: return copy_from<int8_t>(src_type);
    case 6: return copy_from<int64_t>(src_type);
    default: return copy_from<bool>(src_type);
  }
}

// `c` must have no axis of length 0; it is changed.
inline void strided_copy(StridedCopy* c, int threads) {
  coalesce(c);
  c->shared = threads > 1;
  int64_t rows = c->ndim == 1 ? c->shape[0] : 1;
  for (int i = 0; i + 1 < c->ndim; ++i) rows *= c->shape[i];
  const CopyFunction function = copy_function(c->dst_type, c->src_type);
  parallel_for(threads, rows, [=](int64_t begin, int64_t end) { function(*c, begin, end); });
}

// Row i of dst from row rows[i] of src, all of `nbytes` bytes.
inline void gather_rows(char* dst, const char* src, const int64_t* rows, int64_t n, int64_t nbytes,
                        int threads) {
  parallel_for(threads, n, [=](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      std::memcpy(dst + i * nbytes, src + rows[i] * nbytes, static_cast<size_t>(nbytes));
    }
  });
}

// Row rows[i] of dst from row i of src, in order: where a row occurs twice, the last one stays.
inline void scatter_rows(char* dst, const char* src, const int64_t* rows, int64_t n,
                         int64_t nbytes) {
  for (int64_t i = 0; i < n; ++i) {
    std::memcpy(dst + rows[i] * nbytes, src + i * nbytes, static_cast<size_t>(nbytes));
  }
}

}  // namespace cynet

#endif
