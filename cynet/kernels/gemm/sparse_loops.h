// Products that leave out the zeros of the left operand, at one CPU level. After small_loops.h;
// included by small.h for each level.
//
// Half or more of a matrix is exact zeros after a ReLU, in the gradient behind one, and in images
// of digits. Each row of a chunk of a's columns becomes a list of its nonzero numbers, and a row of
// the result is the sum of as many rows of b's panel. If a panel has an infinity or NaN, zeros are
// multiplied, too, as in any other product.

constexpr int SPARSE_WIDTH = LANES == 16 ? 4 : 8;  // vectors of a panel: sums held in registers
constexpr int64_t SPARSE_DEPTH = 128;  // rows of a panel that fits the first-level cache
constexpr int64_t SPARSE_ROWS = 256;  // rows of a that get lists at a time
constexpr int64_t LIST = SPARSE_DEPTH + LANES;
constexpr int64_t SPARSE_SCRATCH =  // floats per thread: panel, values and positions of the lists
    SPARSE_DEPTH * SPARSE_WIDTH * LANES + 2 * SPARSE_ROWS * LIST + FLOATS_APART;
constexpr int64_t SAMPLE = 64;  // vectors of a that are sampled

// The lists of a block of rows: the nonzero values and their places in the chunk.
struct Lists {
  float* values;
  int32_t* places;
  int32_t counts[SPARSE_ROWS];
  bool zeros;  // zeros are listed, too

  explicit Lists(float* space)
      : values(space), places(reinterpret_cast<int32_t*>(space + SPARSE_ROWS * LIST)) {}

  // Appends the first `n` lanes of v, which begin at place k.
  CYNET_XINLINE void append(int64_t row, Vec v, int64_t k, int64_t n) {
    float* value = values + row * LIST + counts[row];
    int32_t* place = places + row * LIST + counts[row];
#if CYNET_LANES == 16
    const __m512 lanes = reinterpret_cast<__m512>(v);
    const __mmask16 some = static_cast<__mmask16>((1u << n) - 1);
    const __mmask16 mask =
        zeros ? some : _mm512_mask_cmp_ps_mask(some, lanes, _mm512_setzero_ps(), _CMP_NEQ_UQ);
    const __m512i here = _mm512_add_epi32(
        _mm512_set1_epi32(static_cast<int>(k)),
        _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
    _mm512_storeu_ps(value, _mm512_maskz_compress_ps(mask, lanes));
    _mm512_storeu_si512(place, _mm512_maskz_compress_epi32(mask, here));
    counts[row] += __builtin_popcount(mask);
#elif CYNET_LANES == 8
    const __m256 lanes = reinterpret_cast<__m256>(v);
    const int some = (1 << n) - 1;
    const __m256 differ = _mm256_cmp_ps(lanes, _mm256_setzero_ps(), _CMP_NEQ_UQ);
    const int mask = zeros ? some : some & _mm256_movemask_ps(differ);
    const __m256i order =
        _mm256_cvtepu8_epi32(_mm_cvtsi64_si128(static_cast<int64_t>(LANE_ORDERS.of[mask])));
    _mm256_storeu_ps(value, _mm256_permutevar8x32_ps(lanes, order));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(place),
                        _mm256_add_epi32(order, _mm256_set1_epi32(static_cast<int>(k))));
    counts[row] += __builtin_popcount(mask);
#else
    float all[LANES];
    store(all, v);
    int32_t count = 0;
    for (int32_t i = 0; i < n; ++i) {
      value[count] = all[i];
      place[count] = static_cast<int32_t>(k) + i;
      count += zeros || all[i] != 0;
    }
    counts[row] += count;
#endif
  }

  // Makes the lists of `rows` rows and `depth` columns at a. The columns `copied` are also written
  // to `copy`, with `past` by non-temporal stores of whole vectors.
  void fill(const float* a, int64_t step, bool turned, int64_t rows, int64_t depth, bool all,
            float* copy = nullptr, Span copied = {0, 0}, bool past = false) {
    zeros = all;
    std::fill(counts, counts + rows, 0);
    if (!turned) {
      for (int64_t r = 0; r < rows; ++r)
        for (int64_t k = 0; k < depth; k += LANES) {
          const int64_t n = std::min<int64_t>(LANES, depth - k);
          const float* from = a + r * step + k;
          const Vec v = n == LANES ? load(from) : load_part(from, n);
          if (k >= copied.begin && k < copied.end) {
            if (past && n == LANES) store_past(copy + r * step + k, v);
            else store_part(copy + r * step + k, v, n);
          }
          append(r, v, k, n);
        }
      return;
    }
    for (int64_t r = 0; r < rows; r += LANES) {
      const int64_t width = std::min<int64_t>(LANES, rows - r);
      for (int64_t k = 0; k < depth; k += LANES) {
        const int64_t n = std::min<int64_t>(LANES, depth - k);
        Vec block[LANES] = {};
        load_turned(a + k * step + r, step, n, width, block);
        for (int64_t i = 0; i < width; ++i) append(r + i, block[i], k, n);
      }
    }
  }

  float sum(int64_t row) const {
    const float* from = values + row * LIST;
    Vec all = {};
    int64_t i = 0;
    for (; i + LANES <= counts[row]; i += LANES) all += load(from + i);
    if (i < counts[row]) all += load_part(from + i, counts[row] - i);
    float sum;
    sums_of<1>(&all, &sum);
    return sum;
  }
};

// Whether the packed panel has an infinity or NaN, from what packing has seen.
inline bool is_unbounded(Vec seen) {
  float all[LANES];
  store(all, seen);
  bool found = false;
  for (int k = 0; k < LANES; ++k) found |= all[k] != 0;
  return found;
}

// One row of the result: V vectors of columns, the last one with `lanes` lanes.
template <int V>
inline void sparse_row(const float* values, const int32_t* places, int64_t count,
                       const float* panel, float* c, const float* bias, bool add, bool relu,
                       const float* mask, int64_t lanes) {
  // A narrow panel adds to several sums in turn, else each addition would wait for the last one.
  constexpr int TURNS = V >= SPARSE_WIDTH ? 1 : 2 * V >= SPARSE_WIDTH ? 2 : 4;
  Vec sums[TURNS][V] = {};
  const auto step = [&](Vec value, int32_t place, Vec* sum) {
    const float* w = panel + int64_t(place) * (V * LANES);
#pragma GCC unroll 8
    for (int v = 0; v < V; ++v) sum[v] += value * at(w + v * LANES);
  };
  int64_t i = 0;
#if CYNET_LANES == 16
  __m512i lane[4];
  for (int k = 0; k < 4; ++k) lane[k] = _mm512_set1_epi32(k);
#endif
  for (; i + 4 <= count; i += 4) {
#if CYNET_LANES == 16
    const __m512 four = _mm512_castps128_ps512(_mm_loadu_ps(values + i));
#pragma GCC unroll 4
    for (int k = 0; k < 4; ++k)
      step(reinterpret_cast<Vec>(_mm512_permutexvar_ps(lane[k], four)), places[i + k],
           sums[k % TURNS]);
#else
#pragma GCC unroll 4
    for (int k = 0; k < 4; ++k) step(Vec{} + values[i + k], places[i + k], sums[k % TURNS]);
#endif
  }
  for (; i < count; ++i) step(Vec{} + values[i], places[i], sums[0]);
#pragma GCC unroll 8
  for (int v = 0; v < V; ++v) {
    const bool part = v == V - 1 && lanes < LANES;
    Vec y = sums[0][v];
#pragma GCC unroll 4
    for (int turn = 1; turn < TURNS; ++turn) y += sums[turn][v];
    if (bias) y += part ? load_part(bias + v * LANES, lanes) : load(bias + v * LANES);
    if (add) y += part ? load_part(c + v * LANES, lanes) : load(c + v * LANES);
    if (relu) y = rectified(y);
    if (mask)
      y *= rectified_gradient(part ? load_part(mask + v * LANES, lanes) : load(mask + v * LANES));
    if (part)
      store_part(c + v * LANES, y, lanes);
    else
      store(c + v * LANES, y);
  }
}

template <int V>
inline void sparse_rows(const Lists& lists, int64_t rows, const float* panel, float* c,
                        int64_t c_row, const float* bias, bool add, bool relu,
                        const float* mask, int64_t lanes) {
  for (int64_t r = 0; r < rows; ++r)
    sparse_row<V>(lists.values + r * LIST, lists.places + r * LIST, lists.counts[r], panel,
                  c + r * c_row, bias, add, relu, mask ? mask + r * c_row : nullptr, lanes);
}

inline void multiply_sparse(const Product& p, int threads, float* space) {
  static constexpr decltype(&sparse_rows<1>) by_width[] = {
      &sparse_rows<1>, &sparse_rows<2>, &sparse_rows<3>, &sparse_rows<4>,
#if CYNET_LANES < 16
      &sparse_rows<5>, &sparse_rows<6>, &sparse_rows<7>, &sparse_rows<8>,
#endif
  };
  const int64_t chunks = std::max<int64_t>(1, (p.k + SPARSE_DEPTH - 1) / SPARSE_DEPTH);
  const bool past = copies_past(p);
  // A list costs as much as packing two columns, and every part of the columns makes all lists.
  const Grid grid(threads, 2 * p.m, p.n, vectors_of(p.n), p.m / LANES, p.b_shared);
  share(grid, p.m, p.n, [&](int64_t part, int64_t begin, int64_t stop, int64_t first,
                            int64_t end) {
    float* panel = space + part * SPARSE_SCRATCH;
    Lists lists(panel + SPARSE_DEPTH * SPARSE_WIDTH * LANES);
    for (int64_t row = begin; row < stop; row += SPARSE_ROWS)
      for (int64_t chunk = 0; chunk < chunks; ++chunk) {
        const bool ends = chunk + 1 == chunks;
        const int64_t rows = std::min(SPARSE_ROWS, stop - row);
        const int64_t k = cut(p.k, chunk, chunks), depth = cut(p.k, chunk + 1, chunks) - k;
        const float* a = p.a + (p.a_turned ? k * p.a_row + row : row * p.a_row + k);
        const Span copied = p.copy ? copied_columns(p, grid, part).within(k, depth) : Span{0, 0};
        lists.fill(a, p.a_row, p.a_turned, rows, depth, false,
                   p.copy ? p.copy + row * p.a_row + k : nullptr, copied, past && k % LANES == 0);
        for (int64_t r = 0; p.sums && first == 0 && r < rows; ++r) {
          float& to = p.sums[row + r];
          to = lists.sum(r) + (p.add_sums || k > 0 ? to : 0);
        }
        each_panel(first, end, p.n, SPARSE_WIDTH, [&](int64_t j, int64_t j_end) {
          const int64_t columns = j_end - j, vectors = vectors_of(columns);
          const bool all = is_unbounded(
              p.b_turned
                  ? pack_turned<true>(p.b + j * p.b_row + k, p.b_row, depth, columns, 1, 0, panel)
                  : pack_lines<true>(p.b + k * p.b_row + j, p.b_row, depth, columns, panel));
          if (all != lists.zeros) lists.fill(a, p.a_row, p.a_turned, rows, depth, all);
          by_width[vectors - 1](lists, rows, panel, p.c + row * p.c_row + j, p.c_row,
                                p.bias && k == 0 ? p.bias + j : nullptr, p.add || k > 0,
                                p.relu && ends,
                                p.mask && ends ? p.mask + row * p.c_row + j : nullptr,
                                columns - (vectors - 1) * LANES);
        });
      }
    if (past) past_stored();
  });
}

// Whether a sample of a has enough zeros: the products left out must pay for the lists, and for
// what AMX would gain (`tiled`).
inline bool sparse_suits(const Product& p, bool tiled) {
#if defined(__GNUC__)
  const int64_t lines = p.a_turned ? p.k : p.m, length = p.a_turned ? p.m : p.k;
  if (p.n < 32 || lines < 16 || length < 16) return false;
  decltype(Vec{} == Vec{}) found = {};
  for (int64_t i = 0; i < SAMPLE; ++i) {
    const float* line = p.a + cut(lines, i, SAMPLE) * p.a_row;
    found -= load(line + i * 7919 % (length - LANES + 1)) == 0;
  }
  int zeros = 0;
  for (int i = 0; i < LANES; ++i) zeros += found[i];
  const double full = 1 - zeros / double(SAMPLE * LANES);
  const bool once = LANES < 16 || multiplies_once();
  // Cost of an element of a list relative to one of a plain product.
  const double each = once ? 1.2 : tiled ? 2.6 : 1.75;
  const double lists = LANES < 16 ? (p.b_turned ? 56 : 40) : once ? 24 : 40;
  return p.n * (1 - each * full) > lists;
#else
  return false;
#endif
}

constexpr int64_t PRODUCT_SCRATCH = SCRATCH > SPARSE_SCRATCH ? SCRATCH : SPARSE_SCRATCH;
