// Reading and writing rows by index: take, gather, scatter, pick, one-hot, borders.
// Indices are int64 and already within bounds. Included by index.pyx alone.
#ifndef CYNET_INDEX_H
#define CYNET_INDEX_H

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "common/emit.h"

namespace cynet {

// Numbers of any dtype as indices: truncated, those beyond 64 bits the first or last there is, NaN
// the first.
struct ReadIndices {
  template <typename T>
  static void run(int threads, const void* numbers_, int64_t* index, int64_t n) {
    const T* numbers = static_cast<const T*>(numbers_);
    parallel_for(threads, n, [=](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        index[i] = saturated<int64_t>(static_cast<plain<T>>(numbers[i]), INT64_MIN);
    });
  }
};

// dst[o, j, :] (+)= src[o, index[j], :] of shapes (outer, m, inner) and (outer, n, inner)
struct Gather {
  template <typename T>
  static void run(int threads, bool add, int64_t outer, int64_t n, int64_t inner, int64_t m,
                  const int64_t* index, const void* src_, void* dst_) {
    const T* src = static_cast<const T*>(src_);
    T* dst = static_cast<T*>(dst_);
    parallel_for(threads, outer * m, [=](int64_t begin, int64_t end) {
      if (inner == 1 && outer == 1 && !add) {
        for (int64_t r = begin; r < end; ++r) dst[r] = src[index[r]];
        return;
      }
      for (int64_t r = begin; r < end; ++r) {
        const T* from = src + (r / m * n + index[r % m]) * inner;
        T* to = dst + r * inner;
        if (!add) {
          std::memcpy(to, from, static_cast<size_t>(inner) * sizeof(T));
        } else {
          for (int64_t i = 0; i < inner; ++i) emit(to[i], static_cast<plain<T>>(from[i]), true);
        }
      }
    });
  }
};

// dst[o, index[j], :] = src[o, j, :], or += with `add`; j in order, so that the last of equal
// indices wins. Threads part the inner axis (or the outer one), never the indices.
struct Scatter {
  template <typename T>
  static void run(int threads, bool add, int64_t outer, int64_t n, int64_t inner, int64_t m,
                  const int64_t* index, const void* src_, void* dst_) {
    const T* src = static_cast<const T*>(src_);
    T* dst = static_cast<T*>(dst_);
    auto part = [=](int64_t o, int64_t first, int64_t last) {
      for (int64_t j = 0; j < m; ++j) {
        const T* from = src + (o * m + j) * inner;
        T* to = dst + (o * n + index[j]) * inner;
        for (int64_t i = first; i < last; ++i) emit(to[i], static_cast<plain<T>>(from[i]), add);
      }
    };
    if (outer >= threads) {
      parallel_for(threads, outer, [=](int64_t begin, int64_t end) {
        for (int64_t o = begin; o < end; ++o) part(o, 0, inner);
      });
    } else {
      for (int64_t o = 0; o < outer; ++o)
        parallel_for(inner >= 64 ? threads : 1, inner,
                     [=](int64_t begin, int64_t end) { part(o, begin, end); });
    }
  }
};

// One element of each row along the middle axis of src (outer, n, inner): index and picked are
// (outer, inner). Backwards the picked values are added into src.
struct Pick {
  template <typename T>
  static void run(int threads, bool backwards, bool add, int64_t outer, int64_t n, int64_t inner,
                  const int64_t* index, void* src_, void* picked_) {
    T* src = static_cast<T*>(src_);
    T* picked = static_cast<T*>(picked_);
    parallel_for(threads, outer * inner, [=](int64_t begin, int64_t end) {
      if (inner == 1 && !backwards) {
        for (int64_t r = begin; r < end; ++r)
          emit(picked[r], static_cast<plain<T>>(src[r * n + index[r]]), add);
        return;
      }
      for (int64_t r = begin; r < end; ++r) {
        T& element = src[(r / inner * n + index[r]) * inner + r % inner];
        if (backwards) emit(element, static_cast<plain<T>>(picked[r]), true);
        else emit(picked[r], static_cast<plain<T>>(element), add);
      }
    });
  }
};

// out[i, k] = on where k == index[i], else off; an index outside has no `on`.
struct OneHot {
  template <typename T>
  static void run(int threads, bool add, int64_t m, int64_t depth, double on, double off,
                  const int64_t* index, void* out_) {
    T* out = static_cast<T*>(out_);
    const plain<T> yes = convert_one<plain<T>>(on), no = convert_one<plain<T>>(off);
    parallel_for(threads, m, [=](int64_t begin, int64_t end) {
      if (add) {
        for (int64_t i = begin; i < end; ++i)
          for (int64_t k = 0; k < depth; ++k)
            emit(out[i * depth + k], k == index[i] ? yes : no, true);
        return;
      }
      std::fill(out + begin * depth, out + end * depth, static_cast<T>(no));
      for (int64_t i = begin; i < end; ++i)
        if (index[i] >= 0 && index[i] < depth) out[i * depth + index[i]] = static_cast<T>(yes);
    });
  }
};

// Where position i of an axis with borders lies on the axis of n elements inside of them.
inline int64_t inside_of(int64_t i, int64_t before, int64_t n, bool reflect) {
  i -= before;
  if (!reflect) return std::min(std::max<int64_t>(i, 0), n - 1);
  i = i < 0 ? -i : i;
  return i < n ? i : 2 * (n - 1) - i;
}

// dst is src with borders before and after each axis: the nearest element again, or the elements
// mirrored at the edge. Backwards dst is added into src.
struct Borders {
  template <typename T>
  static void run(int threads, bool backwards, bool add, int ndim, bool reflect,
                  const int64_t* dst_shape, const int64_t* src_shape, const int64_t* before,
                  void* src_, void* dst_) {
    T* src = static_cast<T*>(src_);
    T* dst = static_cast<T*>(dst_);
    const int last = ndim - 1;
    int64_t rows = 1, planes = dst_shape[0];
    for (int i = 0; i < last; ++i) rows *= dst_shape[i];
    auto part = [=](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        int64_t rest = r, offset = 0, stride = src_shape[last];
        for (int i = last - 1; i >= 0; --i) {
          offset += inside_of(rest % dst_shape[i], before[i], src_shape[i], reflect) * stride;
          rest /= dst_shape[i];
          stride *= src_shape[i];
        }
        const int64_t n = src_shape[last], inside = before[last], behind = inside + n;
        T* line = dst + r * dst_shape[last];
        auto run = [=](int64_t first, int64_t end, T* element, int64_t step) {
          for (int64_t c = first; c < end; ++c, element += step) {
            if (backwards) emit(*element, static_cast<plain<T>>(line[c]), true);
            else emit(line[c], static_cast<plain<T>>(*element), add);
          }
        };
        T* from = src + offset;
        run(0, inside, from + (reflect ? inside : 0), reflect ? -1 : 0);
        run(inside, behind, from, 1);
        run(behind, dst_shape[last], from + n - 1 - reflect, reflect ? -1 : 0);
      }
    };
    // backwards, several positions write one element: the first axis, which is not padded, is
    // parted
    if (backwards) {
      const int64_t each = planes > 0 ? rows / planes : 0;
      parallel_for(threads, planes, [=](int64_t b, int64_t e) { part(b * each, e * each); });
    } else {
      parallel_for(threads, rows, part);
    }
  }
};

// Running sums along the middle axis; `reverse` sums from the end (the gradient).
struct CumSum {
  template <typename T>
  static void run(int threads, bool reverse, bool add, int64_t outer, int64_t n, int64_t inner,
                  const void* x_, void* out_) {
    typedef typename std::conditional<std::is_integral<T>::value, int64_t, double>::type Sum;
    const T* x = static_cast<const T*>(x_);
    T* out = static_cast<T*>(out_);
    parallel_for(threads, outer * inner, [=](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        const int64_t base = r / inner * n * inner + r % inner;
        Sum sum = 0;
        for (int64_t i = 0; i < n; ++i) {
          const int64_t k = base + (reverse ? n - 1 - i : i) * inner;
          sum = sum_of(sum, static_cast<Sum>(static_cast<plain<T>>(x[k])));
          emit(out[k], static_cast<plain<T>>(sum), add);
        }
      }
    });
  }
};

// Rows (time, batch, inner), or (batch, time, inner) when batch comes first: those at or after
// their sequence's end become `value`; with x NULL nothing but they is touched.
struct MaskRows {
  template <typename T>
  static void run(int threads, bool add, bool batch_first, int64_t time, int64_t batch,
                  int64_t inner, const int64_t* length, const void* x_, double value, void* out_) {
    const T* x = static_cast<const T*>(x_);
    T* out = static_cast<T*>(out_);
    const plain<T> fill = convert_one<plain<T>>(value);
    parallel_for(threads, time * batch, [=](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        const int64_t t = batch_first ? r % time : r / batch;
        const bool inside = t < length[batch_first ? r / time : r % batch];
        for (int64_t i = r * inner; i < (r + 1) * inner; ++i)
          emit(out[i], inside ? static_cast<plain<T>>(x[i]) : fill, add);
      }
    });
  }
};

inline void read_indices_all(int threads, int dtype, const void* numbers, int64_t* index,
                             int64_t n) {
  by_dtype<ReadIndices>(dtype, threads, numbers, index, n);
}
inline void gather_all(int threads, int dtype, bool add, int64_t outer, int64_t n, int64_t inner,
                       int64_t m, const int64_t* index, const void* src, void* dst) {
  by_dtype<Gather>(dtype, threads, add, outer, n, inner, m, index, src, dst);
}
inline void scatter_all(int threads, int dtype, bool add, int64_t outer, int64_t n, int64_t inner,
                        int64_t m, const int64_t* index, const void* src, void* dst) {
  by_dtype<Scatter>(dtype, threads, add, outer, n, inner, m, index, src, dst);
}
inline void pick_all(int threads, int dtype, bool backwards, bool add, int64_t outer, int64_t n,
                     int64_t inner, const int64_t* index, void* src, void* picked) {
  by_dtype<Pick>(dtype, threads, backwards, add, outer, n, inner, index, src, picked);
}
inline void one_hot_all(int threads, int dtype, bool add, int64_t m, int64_t depth, double on,
                        double off, const int64_t* index, void* out) {
  by_dtype<OneHot>(dtype, threads, add, m, depth, on, off, index, out);
}
inline void borders_all(int threads, int dtype, bool backwards, bool add, int ndim, bool reflect,
                        const int64_t* dst_shape, const int64_t* src_shape, const int64_t* before,
                        void* src, void* dst) {
  by_dtype<Borders>(dtype, threads, backwards, add, ndim, reflect, dst_shape, src_shape, before,
                    src, dst);
}
inline void cumsum_all(int threads, int dtype, bool reverse, bool add, int64_t outer, int64_t n,
                       int64_t inner, const void* x, void* out) {
  by_dtype<CumSum>(dtype, threads, reverse, add, outer, n, inner, x, out);
}
inline void mask_rows_all(int threads, int dtype, bool add, bool batch_first, int64_t time,
                          int64_t batch, int64_t inner, const int64_t* length, const void* x,
                          double value, void* out) {
  by_dtype<MaskRows>(dtype, threads, add, batch_first, time, batch, inner, length, x, value, out);
}

}  // namespace cynet

#endif
