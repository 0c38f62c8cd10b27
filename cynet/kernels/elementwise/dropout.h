// Dropout: masks drawn from a Philox stream, and their application. Element i is made of word i
// behind the block the stream begins with; it stays where its number of [0, 1) is at least p.
#ifndef CYNET_DROPOUT_H
#define CYNET_DROPOUT_H

#include <cstdint>
#include <cstring>

#include "rng/philox_blocks.h"

namespace cynet {

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
constexpr int BYTE_SHIFT[4] = {24, 16, 8, 0};  // of each byte of a 32-bit word, in memory order
#else
constexpr int BYTE_SHIFT[4] = {0, 8, 16, 24};  // of each byte of a 32-bit word, in memory order
#endif

}  // namespace cynet

#define CYNET_PER_ISA_FILE "elementwise/dropout_loops.h"
#include "isa/for_each_isa.h"

namespace cynet {

typedef void (*DrawMask)(const Philox&, int64_t, float, bool*, int64_t);  // draw_mask

inline DrawMask draw_mask_function(int level) {
  static const DrawMask loops[] = CYNET_AT_LEVELS(draw_mask);
  return loops[level];
}

template <typename T>
inline T dropout_scale(double p) {
  return p < 1 ? static_cast<T>(1 / (1 - p)) : T(0);
}

inline void dropout_mask(int level, uint64_t seed, uint64_t stream, double p, bool* keep, int64_t n,
                         int threads) {
  const Philox key(seed, stream);
  const DrawMask draw = draw_mask_function(level);
  for_chunks(threads, n, [=](int64_t first, int64_t count) {
    draw(key, first / 4, static_cast<float>(p), keep + first, count);
  });
}

// y = x / (1 - p) where keep, else 0; or added
template <typename T>
void dropout_apply(int level, const T* x, const bool* keep, double p, T* y, int64_t n, bool add,
                   int threads) {
  static decltype(&baseline::apply_mask<T>) const loops[] = CYNET_AT_LEVELS(apply_mask<T>);
  const auto apply = loops[level];
  parallel_for(threads, n, [=](int64_t begin, int64_t end) {
    apply(x + begin, keep + begin, dropout_scale<T>(p), y + begin, end - begin, add);
  });
}

// Draws the mask and multiplies, chunk by chunk.
template <typename T>
void dropout_forward(int level, uint64_t seed, uint64_t stream, double p, bool* keep, const T* x,
                     T* y, int64_t n, bool add, int threads) {
  const Philox key(seed, stream);
  const DrawMask draw = draw_mask_function(level);
  for_chunks(threads, n, [=](int64_t first, int64_t count) {
    draw(key, first / 4, static_cast<float>(p), keep + first, count);
    dropout_apply(level, x + first, keep + first, p, y + first, count, add, 1);
  });
}

// factor = 0 or 1 / (1 - p), by the random words from block `begin` on; x *= factor
template <typename T>
void dropout_factors(int level, uint64_t seed, uint64_t stream, int64_t begin, double p, T* factor,
                     T* x, int64_t n, int threads) {
  static decltype(&baseline::scale_by_mask<T>) const loops[] = CYNET_AT_LEVELS(scale_by_mask<T>);
  const auto scale = loops[level];
  const Philox key(seed, stream);
  const DrawMask draw = draw_mask_function(level);
  for_chunks(threads, n, [=](int64_t first, int64_t count) {
    bool keep[CHUNK];
    draw(key, begin + first / 4, static_cast<float>(p), keep, count);
    scale(keep, dropout_scale<T>(p), factor + first, x + first, count);
  });
}

// Dropout with a broadcast mask: its stride is 0 along the broadcast axes.
template <typename T>
void dropout_broadcast(const T* x, const bool* keep, double p, T* y, int ndim, const int64_t* shape,
                       const int64_t* stride, bool add) {
  const T scale = dropout_scale<T>(p);
  int64_t at[8] = {0}, n = 1, k = 0;
  for (int axis = 0; axis < ndim; ++axis) n *= shape[axis];
  for (int64_t i = 0; i < n; ++i) {
    const T value = keep[k] ? x[i] * scale : T(0);
    y[i] = add ? y[i] + value : value;
    for (int axis = ndim - 1; axis >= 0; --axis) {
      k += stride[axis];
      if (++at[axis] < shape[axis]) break;
      k -= stride[axis] * shape[axis];
      at[axis] = 0;
    }
  }
}

}  // namespace cynet

#endif
