// Products with fewer rows than a panel of b would pay for, at one CPU level, after vectors.h.
// Included by products.h for each level.
//
// b, whose columns lie in lines, is read where it lies, and each line is multiplied by a's: a
// prediction for one or a few samples takes as long as its weights take to come from memory. The
// order of the sums does not depend on the number of threads.

using namespace cynet::products;

constexpr int64_t FEW = 16;  // with so many rows panels pay
constexpr int FEW_ROWS = LANES == 16 ? 4 : 2;  // by 4 columns: sums held in registers

inline bool few_suits(const Product& p) { return p.m < FEW && p.b_turned && !p.a_turned; }

// The sum of each vector's lanes.
template <int C>
CYNET_XINLINE void sums_of(const Vec* vectors, float* sums) {
#if defined(__GNUC__)
  if constexpr (C == 4) {
    const auto pair = [](Vec v, Vec w) {
      const Four a = folded<Plus>(v), b = folded<Plus>(w);
      return Four{a[0], b[0], a[1], b[1]} + Four{a[2], b[2], a[3], b[3]};
    };
    const Four a = pair(vectors[0], vectors[1]), b = pair(vectors[2], vectors[3]);
    const Four all = Four{a[0], a[1], b[0], b[1]} + Four{a[2], a[3], b[2], b[3]};
    std::memcpy(sums, &all, sizeof all);
  } else {
    for (int c = 0; c < C; ++c) sums[c] = fold<Plus>(vectors[c]);
  }
#else
  for (int c = 0; c < C; ++c) {
    sums[c] = 0;
    for (int i = 0; i < LANES; ++i) sums[c] += vectors[c].lane[i];
  }
#endif
}

// R rows by C columns of the result.
template <int R, int C>
inline void few_dots(const Product& p, int64_t row, int64_t column) {
  Vec sums[R][C] = {};
  const float* a = p.a + row * p.a_row;
  const float* b = p.b + column * p.b_row;
  const auto add = [&](const auto& read) {
    Vec lines[C];
#pragma GCC unroll 4
    for (int c = 0; c < C; ++c) lines[c] = read(b + c * p.b_row);
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) {
      const Vec value = read(a + r * p.a_row);
#pragma GCC unroll 4
      for (int c = 0; c < C; ++c) sums[r][c] += value * lines[c];
    }
  };
  int64_t k = 0;
  for (; k + LANES <= p.k; k += LANES) add([&](const float* from) { return load(from + k); });
  if (k < p.k) add([&](const float* from) { return load_part(from + k, p.k - k); });
#pragma GCC unroll 4
  for (int r = 0; r < R; ++r) {
    float all[C];
    sums_of<C>(sums[r], all);
#pragma GCC unroll 4
    for (int c = 0; c < C; ++c) {
      float* to = p.c + (row + r) * p.c_row + column + c;
      float y = all[c];
      if (p.bias) y += p.bias[column + c];
      if (p.add) y += *to;
      if (p.mask) y *= (p.mask[to - p.c] > 0 ? 1 : 0 * p.mask[to - p.c]);
      *to = p.relu && y < 0 ? 0 : y;
    }
  }
}

template <int C>
inline void few_columns(const Product& p, int64_t column) {
  int64_t row = 0;
  for (; row + FEW_ROWS <= p.m; row += FEW_ROWS) few_dots<FEW_ROWS, C>(p, row, column);
  for (; row + 2 <= p.m; row += 2) few_dots<2, C>(p, row, column);
  if (row < p.m) few_dots<1, C>(p, row, column);
}

inline void multiply_few(const Product& p, int threads) {
  if (p.copy)
    for (int64_t i = 0; i < p.m; ++i)
      std::memcpy(p.copy + i * p.a_row, p.a + i * p.a_row, p.k * sizeof(float));
  parallel_for(threads, (p.n + 3) / 4, [&](int64_t begin, int64_t end) {
    const int64_t last = std::min(4 * end, p.n);
    int64_t j = 4 * begin;
    for (; j + 4 <= last; j += 4) few_columns<4>(p, j);
    for (; j < last; ++j) few_columns<1>(p, j);
  });
}
