// Products at one CPU level, after microkernel_loops.h. Included by small.h for each level.
//
// b is packed: panels of up to WIDTH vectors of columns are copied to scratch in the order in which
// they are read, panel[k][vector][LANES]. The sums of ROWS rows by a panel's width are held in
// registers; a is read in place. The order of the sums is that of k.

using namespace cynet::products;

constexpr int64_t DEPTH = LANES == 16 ? 1024 : 256;  // rows of b in a panel of a plain product
constexpr int64_t PANEL_FLOATS = DEPTH * WIDTH * LANES;  // floats of a packed panel of b
constexpr int64_t STRIP = LANES == 16 ? 3 : 8, BLOCK = 64;  // panels packed together; rows of a
constexpr int64_t L2_FLOATS = 1 << 16;  // floats of an a that stays in the second-level cache
constexpr int64_t FILTERS = 16;  // filters that are packed at a time: a cache line
// Rows of a transposed a so far apart share few cache sets, so they are copied.
constexpr int64_t FAR_ROW_STRIDE = 512;  // floats from row to row
constexpr int64_t SCRATCH_FLOATS = STRIP * PANEL_FLOATS + DEPTH * BLOCK + FLOATS_APART;

constexpr int64_t round_to_16(int64_t n) { return (n + 15) / 16 * 16; }

// ----- sums

// A vector type of n floats, one for each of n rows.
#if defined(__GNUC__)
template <int N>
struct RowFloatsType {  // a vector type of N floats
  typedef float type __attribute__((vector_size(N * 4)));
};
template <>
struct RowFloatsType<1> {  // a vector type of one float
  typedef float type;
};
template <int N>
using RowFloats = typename RowFloatsType<N>::type;  // a vector of N floats
#else
template <int N>
struct RowFloats {  // N floats, one for each of N rows
  float of[N];
  RowFloats& operator+=(const RowFloats& other) {
    for (int i = 0; i < N; ++i) of[i] += other.of[i];
    return *this;
  }
};
#endif

template <class T>
CYNET_XINLINE T load_as(const float* from) {  // unaligned floats as a vector T
  T all;
  std::memcpy(&all, from, sizeof all);
  return all;
}

// Writes a vector of sums, or its first `lanes` floats; adds the bias and the old values, and
// applies relu or its gradient, as the job says.
CYNET_XINLINE void write_sums(const TileJob& job, Vec y, float* to, const float* bias,
                              const float* mask, int64_t lanes) {
  const bool part = lanes < LANES;
  const auto given = [&](const float* from)
                         CYNET_XLAMBDA { return part ? load_part(from, lanes) : load(from); };
  if (bias) y += given(bias);
  if (job.add) y += given(to);
  if (job.relu) y = rectify(y);
  if (mask) y *= relu_gradient(given(mask));
  if (part) store_part(to, y, lanes);
  else store(to, y);
}

// Computes R rows of a target by V vectors of columns, the last with `lanes` lanes. With SUMS a is
// one term and transposed, and the sums of its rows go to `sums`.
template <int R, int V, bool LINES, bool SUMS = false>
inline void compute_tile(const TileJob& job, const float* a, const float* panel,
                         const TermOffsets* begin, const TermOffsets* end, float* c,
                         const float* bias, int64_t lanes, float* sums = nullptr) {
  Vec sum[R][V] = {};
  RowFloats<R> whole = {};
  const int64_t step = job.step, depth = job.depth;
  for (int r = 0; r < R; ++r)  // prefetch the result's lines
    for (int v = 0; v < V; ++v) prefetch_line<true>(c + r * job.c_row + v * LANES);
  const float* mask = job.mask ? job.mask + (c - job.masked) : nullptr;
  for (int r = 0; r < R && mask; ++r)
    for (int v = 0; v < V; ++v) prefetch_line<false>(mask + r * job.c_row + v * LANES);
  for (const TermOffsets* term = begin; term < end; ++term) {
    const float* x = a + term->a;
    const float* w = panel + term->b * V * LANES;
    const auto add = [&](int64_t k, int64_t stop) {
#pragma GCC unroll 4
      for (; k < stop; ++k) {
        Vec weight[V];
#pragma GCC unroll 3
        for (int v = 0; v < V; ++v) weight[v] = at(w + (k * V + v) * LANES);
        if constexpr (SUMS) whole += load_as<RowFloats<R>>(x + k * step);
#pragma GCC unroll 8
        for (int r = 0; r < R; ++r) {
          const float value = LINES ? x[r * step + k] : x[k * step + r];
#pragma GCC unroll 3
          for (int v = 0; v < V; ++v) sum[r][v] += value * weight[v];
        }
      }
    };
    add(0, depth);
  }
  if constexpr (SUMS) {
    if (job.add_sums) whole += load_as<RowFloats<R>>(sums);
    std::memcpy(sums, &whole, sizeof whole);
  }
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) {
    float* to = c + r * job.c_row;
#pragma GCC unroll 3
    for (int v = 0; v < V; ++v)
      write_sums(job, sum[r][v], to + v * LANES, bias ? bias + v * LANES : nullptr,
                 mask ? mask + r * job.c_row + v * LANES : nullptr, v == V - 1 ? lanes : LANES);
  }
}

template <int R, int V, bool LINES, bool SUMS>
inline int64_t compute_tiles(const TileJob& job, const float* panel, const ResultPart& t,
                             const TermOffsets* terms, float* c, const float* bias, int64_t lanes,
                             int64_t row, int64_t last) {
  for (; row + R <= last; row += R)
    compute_tile<R, V, LINES, SUMS>(job, job.a + (LINES ? row * job.step : row), panel,
                                    terms + t.begin, terms + t.end, c + t.c + row * job.c_row, bias,
                                    lanes, SUMS ? job.sums + row : nullptr);
  return row;
}

// Computes rows row .. last of one target.
template <int V, bool LINES, bool SUMS>
inline void compute_target_rows(const TileJob& job, const float* panel, const ResultPart& t,
                                const TermOffsets* terms, float* c, const float* bias,
                                int64_t lanes, int64_t row, int64_t last) {
  row = compute_tiles<ROWS, V, LINES, SUMS>(job, panel, t, terms, c, bias, lanes, row, last);
  if (ROWS == 8)
    row = compute_tiles<4, V, LINES, SUMS>(job, panel, t, terms, c, bias, lanes, row, last);
  row = compute_tiles<2, V, LINES, SUMS>(job, panel, t, terms, c, bias, lanes, row, last);
  compute_tiles<1, V, LINES, SUMS>(job, panel, t, terms, c, bias, lanes, row, last);
}

// Computes products of rows with `columns` columns of the panel; c and bias begin at its first.
template <bool LINES, bool SUMS = false>
inline void compute_rows(const TileJob& job, const float* panel, int64_t columns,
                         const ResultPart& t, const TermOffsets* terms, float* c, const float* bias,
                         int64_t row, int64_t last) {
  const int64_t vectors = vector_count(columns), lanes = columns - (vectors - 1) * LANES;
  const auto run = vectors == 3   ? &compute_target_rows<3, LINES, SUMS>
                   : vectors == 2 ? &compute_target_rows<2, LINES, SUMS>
                                  : &compute_target_rows<1, LINES, SUMS>;
  run(job, panel, t, terms, c, bias, lanes, row, last);
}

// ----- panels

// Packs rows of `columns` floats, `step` apart, padded with zeros to whole vectors.
inline void pack_lines(const float* from, int64_t step, int64_t n, int64_t columns, float* panel) {
  const int64_t width = vector_count(columns) * LANES, whole = columns / LANES;
  for (int64_t k = 0; k < n; ++k, from += step, panel += width) {
    for (int64_t v = 0; v < whole; ++v) at(panel + v * LANES) = load(from + v * LANES);
    if (whole * LANES < columns)
      at(panel + whole * LANES) = load_part(from + whole * LANES, columns - whole * LANES);
  }
}

// Packs a transposed operand: each column is n contiguous floats, `step` apart, with the taps of a
// channel after one another. Tap t of channel i becomes row t * apart + i of the panel.
inline void pack_transposed(const float* from, int64_t step, int64_t n, int64_t columns,
                            int64_t taps, int64_t apart, float* panel) {
  const int64_t width = vector_count(columns) * LANES;
  for (int64_t j = 0; j < columns; j += LANES) {
    const int64_t lanes = std::min<int64_t>(LANES, columns - j);
    int64_t tap = 0, channel = 0, e = 0;
#if CYNET_LANES >= 8
    if (taps == 1 && lanes == LANES) {
      for (; e + 4 <= n; e += 4) {
        Vec rows[4];
        load_transposed_fours(from + j * step + e, step, rows);
#pragma GCC unroll 4
        for (int i = 0; i < 4; ++i) at(panel + (e + i) * width + j) = rows[i];
      }
      channel = e;
    }
#endif
    for (; e < n; e += LANES) {
      const int64_t count = std::min<int64_t>(LANES, n - e);
      Vec rows[LANES] = {};
      const float* block = from + j * step + e;
      if (count == LANES && lanes == LANES) load_transposed(block, step, LANES, LANES, rows);
      else if (count == 1) rows[0] = load_strided(block, step, lanes);
      else load_transposed(block, step, lanes, count, rows);
      for (int64_t i = 0; i < count; ++i) {
        at(panel + (tap * apart + channel) * width + j) = rows[i];
        if (++tap == taps) {
          tap = 0;
          ++channel;
        }
      }
    }
  }
}

// Calls body(begin, end) for parts of at most `width` vectors of the vectors first .. last.
template <class Body>
inline void for_panels(int64_t first, int64_t last, int64_t n, int64_t width, const Body& body) {
  const int64_t count = (last - first + width - 1) / width;
  for (int64_t i = 0; i < count; ++i)
    body((first + part_start(last - first, i, count)) * LANES,
         std::min((first + part_start(last - first, i + 1, count)) * LANES, n));
}

inline ThreadGrid thread_grid(int64_t m, int64_t n, int threads, bool b_shared) {
  return ThreadGrid(threads, m, n, vector_count(n), (m + ROWS - 1) / ROWS, b_shared);
}

// Calls body(part, first row, last row, first vector, last vector) for each thread's share.
template <class Body>
inline void for_threads(const ThreadGrid& grid, int64_t rows, int64_t columns, const Body& body) {
  const int64_t vectors = vector_count(columns), blocks = (rows + ROWS - 1) / ROWS;
  for_parts(grid.part_count(), [&](int64_t part) {
    const int64_t i = part / grid.columns, j = part % grid.columns;
    body(part, part_start(blocks, i, grid.rows) * ROWS,
         std::min(part_start(blocks, i + 1, grid.rows) * ROWS, rows),
         part_start(vectors, j, grid.columns), part_start(vectors, j + 1, grid.columns));
  });
}

template <class Body>
inline void for_threads(int threads, int64_t rows, int64_t columns, const Body& body) {
  for_threads(thread_grid(rows, columns, threads, false), rows, columns, body);
}

// ----- whole arrays

inline bool shares_a(int64_t m, int64_t n, int threads) {  // every thread reads all of a
  return thread_grid(m, n, threads, false).rows == 1;
}

// Packs STRIP panels at a time and multiplies BLOCK rows of a by all of them, so that an a that
// does not fit the cache (L2_FLOATS) is read once per strip.
inline void multiply(const Product& p, int threads, float* space) {
  const TermOffsets term = {0, 0};
  const ResultPart target = {0, 0, 1};
  const auto run = p.a_transposed ? &compute_rows<false> : &compute_rows<true>;
  const ThreadGrid grid = thread_grid(p.m, p.n, threads, p.b_shared);
  const int64_t strip = p.m * p.k <= L2_FLOATS ? 1 : STRIP;
  for_threads(
      grid, p.m, p.n, [&](int64_t part, int64_t row, int64_t last, int64_t first, int64_t end) {
        float* panels = space + part * SCRATCH_FLOATS;
        float* rows = panels + STRIP * PANEL_FLOATS;
        for_panels(first, end, p.n, strip * WIDTH, [&](int64_t left, int64_t right) {
          const int64_t parts = std::max<int64_t>((p.k + DEPTH - 1) / DEPTH, 1);
          for (int64_t i = 0; i < parts; ++i) {
            const int64_t k = part_start(p.k, i, parts), depth = part_start(p.k, i + 1, parts) - k;
            const bool ends = i + 1 == parts;
            TileJob job = {p.a + (p.a_transposed ? k * p.a_row : k),
                           p.a_row,
                           depth,
                           p.c_row,
                           p.relu && ends,
                           p.add || i > 0};
            if (ends) {
              job.mask = p.mask;
              job.masked = p.c;
            }
            const auto each = [&](const auto& body) {
              float* panel = panels;
              for_panels(left / LANES, vector_count(right), p.n, WIDTH,
                         [&](int64_t j, int64_t j_end) {
                           body(j, j_end - j, panel);
                           panel += PANEL_FLOATS;
                         });
            };
            each([&](int64_t j, int64_t columns, float* panel) {
              if (p.b_transposed)
                pack_transposed(p.b + j * p.b_row + k, p.b_row, depth, columns, 1, 0, panel);
              else pack_lines(p.b + k * p.b_row + j, p.b_row, depth, columns, panel);
            });
            for (int64_t block = row; block < last; block += BLOCK) {
              const int64_t stop = std::min(block + BLOCK, last);
              TileJob own = job;
              own.a += p.a_transposed ? block : block * p.a_row;
              if (p.a_transposed && p.a_row >= FAR_ROW_STRIDE) {
                pack_lines(own.a, p.a_row, depth, stop - block, rows);
                own.a = rows;
                own.step = vector_count(stop - block) * LANES;
              }
              if (p.sums) {
                own.sums = p.sums + block;
                own.add_sums = p.add_sums || i > 0;
              }
              each([&](int64_t j, int64_t columns, const float* panel) {
                const auto multiply_rows = p.sums && j == 0 ? &compute_rows<false, true> : run;
                multiply_rows(own, panel, columns, target, &term, p.c + block * p.c_row + j,
                              p.bias && i == 0 ? p.bias + j : nullptr, 0, stop - block);
              });
            }
          }
        });
      });
}

// Floats of workspace per thread for products over `channels` channels.
inline int64_t panel_scratch_floats(const ConvWindow& s, int64_t channels) {
  return tap_count(s) * rows_per_tap(channels) * WIDTH * LANES + FLOATS_APART;
}

// Floats of scratch per thread for dw: a panel, the sums of ROWS filters, filters of dy.
inline int64_t weight_grad_floats(const ConvWindow& s) {
  return (input_pixels(s) * s.batch + tap_count(s) * ROWS) * WIDTH * LANES +
         output_pixels(s) * s.batch * FILTERS + FLOATS_APART;
}

inline int64_t window_scratch_floats(const ConvWindow& s, int threads, bool backward) {
  if (!backward)
    return WindowTerms::scratch_floats(s, FORWARD) + threads * panel_scratch_floats(s, s.channels);
  const int64_t data =
      WindowTerms::scratch_floats(s, DATA) + threads * panel_scratch_floats(s, s.filters);
  const int64_t weight = WindowTerms::scratch_floats(s, WEIGHT) + threads * weight_grad_floats(s);
  return std::max(data, weight);
}

inline void window_forward(const ConvWindow& s, const float* x, const float* w, const float* bias,
                           bool relu, float* y, bool add, int threads, float* space) {
  const WindowTerms all(s, FORWARD, s.channels, s.filters, space);
  const int64_t taps = tap_count(s), length = s.channels * taps;
  const TileJob job = {
      x, input_pixels(s) * s.channels, s.channels, output_pixels(s) * s.filters, relu, add};
  space += WindowTerms::scratch_floats(s, FORWARD);
  for_threads(threads, s.batch, s.filters,
              [&](int64_t part, int64_t row, int64_t last, int64_t first, int64_t end) {
                float* panel = space + part * panel_scratch_floats(s, s.channels);
                for_panels(first, end, s.filters, WIDTH, [&](int64_t j, int64_t j_end) {
                  pack_transposed(w + j * length, length, length, j_end - j, taps,
                                  rows_per_tap(s.channels), panel);
                  for (int64_t i = 0; i < all.size; ++i)
                    compute_rows<true>(job, panel, j_end - j, all.targets[i], all.terms, y + j,
                                       bias ? bias + j : nullptr, row, last);
                });
              });
}

inline void window_data_grad(const ConvWindow& s, const float* w, const float* dy, float* dx,
                             bool add, int threads, float* space) {
  const WindowTerms all(s, DATA, s.filters, s.channels, space);
  const int64_t taps = tap_count(s);
  const TileJob job = {
      dy, output_pixels(s) * s.filters, s.filters, input_pixels(s) * s.channels, false, add};
  space += WindowTerms::scratch_floats(s, DATA);
  for_threads(threads, s.batch, s.channels,
              [&](int64_t part, int64_t row, int64_t last, int64_t first, int64_t end) {
                float* panel = space + part * panel_scratch_floats(s, s.filters);
                for_panels(first, end, s.channels, WIDTH, [&](int64_t j, int64_t j_end) {
                  for (int64_t f = 0; f < s.filters; ++f)
                    pack_transposed(w + (f * s.channels + j) * taps, taps, taps, j_end - j, taps,
                                    rows_per_tap(s.filters),
                                    panel + f * vector_count(j_end - j) * LANES);
                  for (int64_t i = 0; i < all.size; ++i)
                    compute_rows<true>(job, panel, j_end - j, all.targets[i], all.terms, dx + j,
                                       nullptr, row, last);
                });
              });
}

// Writes sums[tap][row][width] of some filters to the gradients of their `columns` channels.
inline void write_tap_gradients(const float* sums, int64_t taps, int64_t rows, int64_t columns,
                                bool add, float* dw, int64_t filter) {
  const int64_t width = vector_count(columns) * LANES, step = ROWS * width;
  for (int64_t r = 0; r < rows; ++r, sums += width, dw += filter)
    for (int64_t c = 0; c < columns; c += LANES) {
      const int64_t lanes = std::min<int64_t>(LANES, columns - c);
      int64_t t = 0;
      const auto write = [&](auto n, auto wide) {  // writes n taps of `wide` channels
        Vec all[LANES] = {};
        for (int64_t i = 0; i < n; ++i) all[i] = at(sums + (t + i) * step + c);
        transpose_lanes(all);
        for (int64_t i = 0; i < wide; ++i) {
          float* to = dw + (c + i) * taps + t;
          store_part(to, add ? load_part(to, n) + all[i] : all[i], n);
        }
      };
      const std::integral_constant<int64_t, LANES> whole;
      for (; t + LANES <= taps && lanes == LANES; t += LANES) write(whole, whole);
      for (; t + 1 < taps; t += LANES) write(std::min<int64_t>(LANES, taps - t), lanes);
      if (t + 1 == taps)  // the last tap of odd windows
        for (int64_t i = 0; i < lanes; ++i) {
          float* to = dw + (c + i) * taps + t;
          *to = sums[t * step + c + i] + (add ? *to : 0);
        }
    }
}

// Packs dy of `count` filters, in groups of ROWS filters: [group][pixel][image][ROWS].
inline void pack_output_grads(const ConvWindow& s, const float* from, int64_t count, float* to) {
  const int64_t pixels = output_pixels(s);
  for (int64_t p = 0; p < pixels; ++p)
    for (int64_t b = 0; b < s.batch; ++b)
      for (int64_t r = 0; r < count; r += ROWS) {
        const float* row = from + (b * pixels + p) * s.filters + r;
        float* place = to + (r * pixels + p * ROWS) * s.batch + b * ROWS;
        const int64_t n = std::min<int64_t>(ROWS, count - r);
        if (n == ROWS) std::memcpy(place, row, ROWS * sizeof(float));
        else std::copy(row, row + n, place);
      }
}

inline void window_weight_grad(const ConvWindow& s, const float* x, const float* dy, float* dw,
                               bool add, int threads, float* space) {
  const int64_t taps = tap_count(s), pixels = input_pixels(s), filter = s.channels * taps;
  const int64_t panel_size = pixels * s.batch * WIDTH * LANES;
  const WindowTerms all(s, WEIGHT, s.batch * ROWS, 0, space);
  space += WindowTerms::scratch_floats(s, WEIGHT);
  for_threads(threads, s.filters, s.channels,
              [&](int64_t part, int64_t row, int64_t last, int64_t first, int64_t end) {
                float* panel = space + part * weight_grad_floats(s);
                float* sums = panel + panel_size;
                float* packed = sums + taps * ROWS * WIDTH * LANES;
                for_panels(first, end, s.channels, WIDTH, [&](int64_t j, int64_t j_end) {
                  const int64_t width = vector_count(j_end - j) * LANES;
                  for (int64_t q = 0; q < pixels; ++q)
                    pack_lines(x + q * s.channels + j, pixels * s.channels, s.batch, j_end - j,
                               panel + q * s.batch * width);
                  for (int64_t f = row; f < last; f += FILTERS) {
                    const int64_t block = std::min(FILTERS, last - f);
                    pack_output_grads(s, dy + f, block, packed);
                    for (int64_t r = 0; r < block; r += ROWS) {
                      const int64_t count = std::min<int64_t>(ROWS, block - r);
                      const float* group = packed + r * output_pixels(s) * s.batch;
                      const TileJob job = {group, ROWS, s.batch, width, false, false};
                      for (int64_t t = 0; t < taps; ++t)
                        compute_rows<false>(job, panel, width, all.targets[t], all.terms,
                                            sums + t * ROWS * width, nullptr, 0, count);
                      write_tap_gradients(sums, taps, count, j_end - j, add,
                                          dw + (f + r) * filter + j * taps, filter);
                    }
                  }
                });
              });
}

// The gradient of the weights of a depthwise convolution: dw (channels, 1, kernel_h, kernel_w),
// with at most MAX_TAPS taps.
inline void depthwise_weight_grad(const ConvWindow& s, const float* x, const float* dy, float* dw,
                                  bool add, int threads) {
  const int64_t taps = tap_count(s), channels = s.channels;
  parallel_for(threads, vector_count(channels), [&](int64_t begin, int64_t end) {
    for (int64_t c = begin * LANES; c < end * LANES; c += LANES) {
      const int64_t lanes = std::min<int64_t>(LANES, channels - c);
      const auto part = [&](const float* from) CYNET_XLAMBDA {
        return lanes == LANES ? load(from + c) : load_part(from + c, lanes);
      };
      Vec sums[MAX_TAPS] = {};
      for_taps(s, [&](int64_t p, int64_t q, int64_t tap) {
        Vec sum = sums[tap];
        for (int64_t b = 0; b < s.batch; ++b)
          sum += part(dy + (b * output_pixels(s) + p) * channels) *
                 part(x + (b * input_pixels(s) + q) * channels);
        sums[tap] = sum;
      });
      for (int64_t tap = 0; tap < taps; ++tap) {
        float all[LANES];
        store(all, sums[tap]);
        for (int64_t i = 0; i < lanes; ++i) {
          float* to = dw + (c + i) * taps + tap;
          *to = all[i] + (add ? *to : 0);
        }
      }
    }
  });
}
