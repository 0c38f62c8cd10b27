// Winograd's F(4x4, 3x3) at one CPU level: loops over vectors of LANES channels. Included by
// winograd.h for each level.
//
// Blocks of scratch, 64-byte aligned; a position is (row i, column j) of a 6x6 transform:
//   forward   u[filter block][i][channel][j][LANES]                     weights
//             v[i][tile / ROWS][channel block][j][tile % ROWS][LANES]   input tiles of one block
//             s[tile][i][4][LANES]               products, the columns turned to outputs already
//   gradient  du[position][filter block][channel][LANES]                sums for the weights
//             v[position][channel block][tile][LANES], m[position][filter block][tile][LANES]

using namespace cynet::winograd;

constexpr int LANES = CYNET_LANES;
// Tiles by 6 positions whose sums are held in registers.
constexpr int ROWS = LANES == 16 || WINOGRAD_REGISTERS >= 32 ? 4 : 2;

#if defined(__GNUC__)
typedef float Vec __attribute__((vector_size(LANES * 4), may_alias));
typedef float Loose __attribute__((vector_size(LANES * 4), aligned(4), may_alias));

CYNET_XINLINE Vec load(const float* p) { return *reinterpret_cast<const Loose*>(p); }
CYNET_XINLINE void store(float* p, Vec v) { *reinterpret_cast<Loose*>(p) = v; }
CYNET_XINLINE Vec rectified(Vec v) { return v < 0 ? Vec{} : v; }
#else
struct Vec {
  float lane[LANES];
};
#define WINOGRAD_OPERATOR(op)                                           \
  CYNET_XINLINE Vec operator op(const Vec& a, const Vec& b) {           \
    Vec c;                                                              \
    for (int i = 0; i < LANES; ++i) c.lane[i] = a.lane[i] op b.lane[i]; \
    return c;                                                           \
  }                                                                     \
  CYNET_XINLINE Vec operator op(float a, const Vec& b) {                \
    Vec c;                                                              \
    for (int i = 0; i < LANES; ++i) c.lane[i] = a op b.lane[i];         \
    return c;                                                           \
  }
WINOGRAD_OPERATOR(+)
WINOGRAD_OPERATOR(-)
WINOGRAD_OPERATOR(*)
#undef WINOGRAD_OPERATOR
CYNET_XINLINE Vec& operator+=(Vec& a, const Vec& b) { return a = a + b; }
CYNET_XINLINE Vec load(const float* p) {
  Vec v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
CYNET_XINLINE void store(float* p, const Vec& v) { std::memcpy(p, &v, sizeof v); }
CYNET_XINLINE Vec rectified(Vec v) {
  for (int i = 0; i < LANES; ++i) v.lane[i] = v.lane[i] < 0 ? 0 : v.lane[i];
  return v;
}
#endif

CYNET_XINLINE Vec& at(float* p) { return *reinterpret_cast<Vec*>(p); }
CYNET_XINLINE const Vec& at(const float* p) { return *reinterpret_cast<const Vec*>(p); }

// The first n < LANES floats, zeros behind.
CYNET_XINLINE Vec load_part(const float* p, int64_t n) {
  Vec v = {};
  std::memcpy(&v, p, n * sizeof(float));
  return v;
}
CYNET_XINLINE void store_part(float* p, Vec v, int64_t n) {
  std::memcpy(p, &v, n * sizeof(float));
}

// ----- one-dimensional transforms at the points 0, A, -A, B, -B, infinity

// B^T: 6 inputs to 6 positions, in three parts so that few registers are live.
CYNET_XINLINE Vec input_first(Vec x0, Vec x2, Vec x4) {
  return x4 + (A2 * B2 * x0 - (A2 + B2) * x2);
}
CYNET_XINLINE void input_pair(float p, float q2, Vec x1, Vec x2, Vec x3, Vec x4, Vec* plus,
                              Vec* minus) {
  const Vec even = x4 - q2 * x2, odd = p * x3 - p * q2 * x1;
  *plus = even + odd;
  *minus = even - odd;
}
CYNET_XINLINE void input_all(const Vec* x, Vec* w) {
  w[0] = input_first(x[0], x[2], x[4]);
  input_pair(A1, B2, x[1], x[2], x[3], x[4], w + 1, w + 2);
  input_pair(B1, A2, x[1], x[2], x[3], x[4], w + 3, w + 4);
  w[5] = input_first(x[1], x[3], x[5]);
}

// A^T: 6 positions to 4 outputs.
CYNET_XINLINE void output_all(const Vec* m, Vec* y) {
  const Vec sa = m[1] + m[2], da = m[1] - m[2], sb = m[3] + m[4], db = m[3] - m[4];
  y[0] = m[0] + (sa + sb);
  y[1] = A1 * da + B1 * db;
  y[2] = A2 * sa + B2 * sb;
  y[3] = m[5] + A3 * da + B3 * db;
}

// A: 4 output gradients to 6 positions.
CYNET_XINLINE void gradient_all(const Vec* y, Vec* w) {
  const Vec ea = y[0] + A2 * y[2], oa = A1 * y[1] + A3 * y[3];
  const Vec eb = y[0] + B2 * y[2], ob = B1 * y[1] + B3 * y[3];
  w[0] = y[0];
  w[1] = ea + oa;
  w[2] = ea - oa;
  w[3] = eb + ob;
  w[4] = eb - ob;
  w[5] = y[3];
}

// G: 3 weights to 6 positions; its transpose: 6 positions to 3 weight gradients.
CYNET_XINLINE void weight_all(Vec g0, Vec g1, Vec g2, Vec* w) {
  const Vec ea = GA * g0 + GA * A2 * g2, oa = GA * A1 * g1;
  const Vec eb = GB * g0 + GB * B2 * g2, ob = GB * B1 * g1;
  w[0] = G0 * g0;
  w[1] = ea + oa;
  w[2] = ea - oa;
  w[3] = eb + ob;
  w[4] = eb - ob;
  w[5] = g2;
}
CYNET_XINLINE void weight_gradient_all(const Vec* w, Vec* g) {
  const Vec sa = GA * (w[1] + w[2]), da = GA * (w[1] - w[2]);
  const Vec sb = GB * (w[3] + w[4]), db = GB * (w[3] - w[4]);
  g[0] = G0 * w[0] + (sa + sb);
  g[1] = A1 * da + B1 * db;
  g[2] = w[5] + A2 * sa + B2 * sb;
}

// ----- tiles

// 6x6 pixels by get(row, column) to positions v[i * down + j * across].
template <class Get>
CYNET_XINLINE void input_tile(const Get& get, float* v, int64_t down, int64_t across) {
  Vec row[6], other[6], w[6];
  auto put = [&](int i, const Vec* x) CYNET_XLAMBDA {
    input_all(x, w);
#pragma GCC unroll 6
    for (int j = 0; j < 6; ++j) at(v + i * down + j * across) = w[j];
  };
#pragma GCC unroll 6
  for (int j = 0; j < 6; ++j) row[j] = input_first(get(0, j), get(2, j), get(4, j));
  put(0, row);
#pragma GCC unroll 6
  for (int j = 0; j < 6; ++j)
    input_pair(A1, B2, get(1, j), get(2, j), get(3, j), get(4, j), row + j, other + j);
  put(1, row);
  put(2, other);
#pragma GCC unroll 6
  for (int j = 0; j < 6; ++j)
    input_pair(B1, A2, get(1, j), get(2, j), get(3, j), get(4, j), row + j, other + j);
  put(3, row);
  put(4, other);
#pragma GCC unroll 6
  for (int j = 0; j < 6; ++j) row[j] = input_first(get(1, j), get(3, j), get(5, j));
  put(5, row);
}

// 4x4 output gradients by get(row, column) to 36 positions `stride` floats apart.
template <class Get>
CYNET_XINLINE void gradient_tile(const Get& get, float* m, int64_t stride) {
  Vec w[6], e[4], o[4], x[4];
  auto put = [&](int i, const Vec* y) CYNET_XLAMBDA {
    gradient_all(y, w);
#pragma GCC unroll 6
    for (int j = 0; j < 6; ++j) at(m + (i * 6 + j) * stride) = w[j];
  };
  auto pair = [&](int i, float a1, float a2, float a3) CYNET_XLAMBDA {
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) {
      e[j] = get(0, j) + a2 * get(2, j);
      o[j] = a1 * get(1, j) + a3 * get(3, j);
      x[j] = e[j] + o[j];
    }
    put(i, x);
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) x[j] = e[j] - o[j];
    put(i + 1, x);
  };
#pragma GCC unroll 4
  for (int j = 0; j < 4; ++j) x[j] = get(0, j);
  put(0, x);
  pair(1, A1, A2, A3);
  pair(3, B1, B2, B3);
#pragma GCC unroll 4
  for (int j = 0; j < 4; ++j) x[j] = get(3, j);
  put(5, x);
}

// s[6][4] to put(row, column, value) of 4x4 outputs.
template <class Put>
CYNET_XINLINE void output_tile(const float* s, const Put& put) {
  Vec x[6], y[4];
#pragma GCC unroll 4
  for (int j = 0; j < 4; ++j) {
#pragma GCC unroll 6
    for (int i = 0; i < 6; ++i) x[i] = at(s + (i * 4 + j) * LANES);
    output_all(x, y);
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) put(i, j, y[i]);
  }
}

// ----- images

// body(channel block, get) for each block of channels of one tile of SIDE x SIDE pixels; `zeros`
// stands for the pixels outside. Offsets from it come without a branch: half of a small image's
// tiles reach outside.
template <int SIDE, class Body>
CYNET_XINLINE void read_tile(const float* x, const Image& image, const Tile& tile,
                             const float* zeros, const Body& body) {
  const int64_t channels = image.channels, whole = channels / LANES, rest = channels % LANES;
  const int64_t size = sizeof(float), column = channels * size, row = image.width * column;
  const uintptr_t nothing = reinterpret_cast<uintptr_t>(zeros);
  const int64_t origin = static_cast<int64_t>(reinterpret_cast<uintptr_t>(x) - nothing) +
                         (tile.image * image.height + tile.row) * row + tile.column * column;
  int64_t pixel[SIDE][SIDE], here[SIDE];
#pragma GCC unroll 6
  for (int j = 0; j < SIDE; ++j)
    here[j] = -static_cast<int64_t>(static_cast<uint64_t>(tile.column + j) <
                                    static_cast<uint64_t>(image.width));
#pragma GCC unroll 6
  for (int i = 0; i < SIDE; ++i) {
    const int64_t inside = -static_cast<int64_t>(static_cast<uint64_t>(tile.row + i) <
                                                 static_cast<uint64_t>(image.height));
#pragma GCC unroll 6
    for (int j = 0; j < SIDE; ++j) pixel[i][j] = (origin + i * row + j * column) & here[j] & inside;
  }
  for (int64_t b = 0; b < whole; ++b) {
    const uintptr_t from = nothing + b * LANES * size;
    body(b, [&](int i, int j) CYNET_XLAMBDA {
      return load(reinterpret_cast<const float*>(from + pixel[i][j]));
    });
  }
  if (rest) {
    const uintptr_t from = nothing + whole * LANES * size;
    body(whole, [&](int i, int j) CYNET_XLAMBDA {
      return load_part(reinterpret_cast<const float*>(from + pixel[i][j]), rest);
    });
  }
}

// The 4x4 outputs of one tile and filter block: bias, sum, relu, edges.
inline void write_tile(const float* s, const Image& image, const Tile& tile, int64_t block,
                       const Finish& finish, float* y) {
  const int64_t filters = image.channels, lanes = std::min<int64_t>(LANES, filters - block * LANES);
  const int64_t rows = std::min<int64_t>(4, image.height - tile.row);
  const int64_t columns = std::min<int64_t>(4, image.width - tile.column);
  const int64_t row = image.width * filters;
  float* base = y + (tile.image * image.height + tile.row) * row + tile.column * filters +
                block * LANES;
  const bool plain = !finish.bias && !finish.relu && !finish.add;
  if (plain && lanes == LANES && rows == 4 && columns == 4) {
    output_tile(s, [=](int i, int j, Vec v) CYNET_XLAMBDA {
      store(base + i * row + j * filters, v);
    });
    return;
  }
  Vec bias = {};
  if (finish.bias) bias = load_part(finish.bias + block * LANES, lanes);
  output_tile(s, [=](int i, int j, Vec v) CYNET_XLAMBDA {
    if (i >= rows || j >= columns) return;
    float* to = base + i * row + j * filters;
    v += bias;
    if (lanes == LANES) {
      if (finish.add) v += load(to);
      store(to, finish.relu ? rectified(v) : v);
    } else {
      if (finish.add) v += load_part(to, lanes);
      store_part(to, finish.relu ? rectified(v) : v, lanes);
    }
  });
}

// ----- products

// Row i of the positions of ROWS tiles and one filter block: sums over channels of v u, then the
// columns' transform to s[tile][i][4].
CYNET_XINLINE void product(const float* v, const float* u, int64_t channels, float* s) {
  Vec sum[6][ROWS] = {};
  auto step = [&](int64_t c) CYNET_XLAMBDA {
#pragma GCC unroll 6
    for (int j = 0; j < 6; ++j) {
      const Vec weight = at(u + (c * 6 + j) * LANES);
#pragma GCC unroll 4
      for (int r = 0; r < ROWS; ++r) sum[j][r] += v[(j * ROWS + r) * LANES + c] * weight;
    }
  };
  for (; channels >= LANES; channels -= LANES) {
#pragma GCC unroll 16
    for (int c = 0; c < LANES; ++c) step(c);
    v += 6 * ROWS * LANES;
    u += 6 * LANES * LANES;
  }
  for (int64_t c = 0; c < channels; ++c) step(c);
#pragma GCC unroll 4
  for (int r = 0; r < ROWS; ++r) {
    Vec x[6], y[4];
#pragma GCC unroll 6
    for (int j = 0; j < 6; ++j) x[j] = sum[j][r];
    output_all(x, y);
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) at(s + (r * 24 + j) * LANES) = y[j];
  }
}

// u[channel] += sum over tiles of v[tile][channel] m[tile], LANES channels by one filter block.
CYNET_XINLINE void outer(const float* v, const float* m, int64_t tiles, float* u) {
  Vec sum[LANES];
#pragma GCC unroll 16
  for (int c = 0; c < LANES; ++c) sum[c] = at(u + c * LANES);
#pragma GCC unroll 2
  for (int64_t t = 0; t < tiles; ++t) {
    const Vec gradient = at(m + t * LANES);
#pragma GCC unroll 16
    for (int c = 0; c < LANES; ++c) sum[c] += v[t * LANES + c] * gradient;
  }
#pragma GCC unroll 16
  for (int c = 0; c < LANES; ++c) at(u + c * LANES) = sum[c];
}

// ----- weights

// Filter block `block` of one channel: filter after filter `step` floats apart to 36 positions in
// u[i][channel][j]; with `turn` by 180 degrees.
inline void weights_in(const float* w, int64_t step, bool turn, int64_t lanes, float* u,
                       int64_t channels) {
  alignas(64) float taps[9][LANES] = {};
  for (int64_t lane = 0; lane < lanes; ++lane, w += step)
    for (int k = 0; k < 9; ++k) taps[k][lane] = w[turn ? 8 - k : k];
  Vec t[6][3], x[6];
#pragma GCC unroll 3
  for (int k = 0; k < 3; ++k) {
    weight_all(at(taps[k]), at(taps[3 + k]), at(taps[6 + k]), x);
#pragma GCC unroll 6
    for (int i = 0; i < 6; ++i) t[i][k] = x[i];
  }
#pragma GCC unroll 6
  for (int i = 0; i < 6; ++i) {
    weight_all(t[i][0], t[i][1], t[i][2], x);
#pragma GCC unroll 6
    for (int j = 0; j < 6; ++j) at(u + (i * channels * 6 + j) * LANES) = x[j];
  }
}

// The way back: `parts` sums of 36 positions, `apart` floats apart, to filters' gradients.
inline void weights_out(const float* du, int64_t position, int64_t parts, int64_t apart,
                        int64_t lanes, bool add, float* dw, int64_t step) {
  alignas(64) float taps[9][LANES];
  Vec t[6][3], x[6], g[3];
  for (int i = 0; i < 6; ++i) {
#pragma GCC unroll 6
    for (int j = 0; j < 6; ++j) {
      const float* from = du + (i * 6 + j) * position;
      x[j] = at(from);
      for (int64_t part = 1; part < parts; ++part) x[j] += at(from + part * apart);
    }
    weight_gradient_all(x, t[i]);
  }
#pragma GCC unroll 3
  for (int k = 0; k < 3; ++k) {
#pragma GCC unroll 6
    for (int i = 0; i < 6; ++i) x[i] = t[i][k];
    weight_gradient_all(x, g);
#pragma GCC unroll 3
    for (int i = 0; i < 3; ++i) at(taps[i * 3 + k]) = g[i];
  }
  for (int64_t lane = 0; lane < lanes; ++lane, dw += step)
    for (int k = 0; k < 9; ++k) dw[k] = add ? dw[k] + taps[k][lane] : taps[k][lane];
}

// ----- whole arrays

constexpr int64_t blocks_of(int64_t n) { return (n + LANES - 1) / LANES; }
constexpr int64_t padded(int64_t n) { return (n + 15) / 16 * 16; }

// How scratch is laid out, in floats. An odd number of cache lines between the streams that a
// transform writes keeps them out of each other's cache sets.
struct ForwardPlan {
  int64_t channel_blocks, filter_blocks, tile_block;
  int64_t group, row;      // v of ROWS tiles, and of all tiles, in one row of positions
  int64_t zeros, u, part;  // sizes: a pixel of zeros, weights, a thread's share

  ForwardPlan(int64_t channels, int64_t filters)
      : channel_blocks(blocks_of(channels)), filter_blocks(blocks_of(filters)) {
    // few tiles: v stays in the first cache; with many weights, the more tiles the fewer reads of u
    tile_block = channels <= 64 ? 8 : channels <= 256 ? 16 : 32;
    group = channel_blocks * 6 * ROWS * LANES;
    row = tile_block / ROWS * group + 16;
    zeros = padded(channels + LANES);
    u = padded(filter_blocks * 36 * channels * LANES);
    part = padded(6 * row) + padded(24 * tile_block * LANES);
  }
  int64_t size(int threads) const { return zeros + u + threads * part; }
};

struct GradientPlan {
  int64_t channel_blocks, filter_blocks, tile_block;
  int64_t chunk;  // filter blocks worked on at a time, so that their sums stay in the cache
  int64_t u_block, u_position, v_block, v_position, m_position;
  int64_t zeros, u, part;  // sizes: a pixel of zeros, a thread's sums, the rest of its share

  GradientPlan(int64_t channels, int64_t filters)
      : channel_blocks(blocks_of(channels)), filter_blocks(blocks_of(filters)) {
    tile_block = 16;
    chunk = std::max<int64_t>(1, 32768 / (channel_blocks * LANES * LANES));
    chunk = std::min(chunk, filter_blocks);
    u_block = channel_blocks * LANES * LANES;
    u_position = chunk * u_block + 16;
    v_block = tile_block * LANES;
    v_position = channel_blocks * v_block + 16;
    m_position = chunk * v_block + 16;
    zeros = padded(std::max(channels, filters) + LANES);
    u = padded(36 * u_position);
    part = padded(36 * v_position) + padded(36 * m_position);
  }
  int64_t size(int threads) const { return zeros + threads * (u + part); }
};

// Tiles begin .. end of y = x * w, a correlation with the first pixel at -pad.
inline void convolve(const Problem& p, const ForwardPlan& plan, const float* zeros, const float* u,
                     int64_t begin, int64_t end, float* space) {
  float* v = space;
  float* s = v + padded(6 * plan.row);
  const Tiles tiles(p.to);
  for (int64_t first = begin; first < end; first += plan.tile_block) {
    const int64_t count = std::min(plan.tile_block, end - first);
    const int64_t groups = (count + ROWS - 1) / ROWS;
    for (int64_t t = 0; t < groups * ROWS; ++t) {
      float* own = v + t / ROWS * plan.group + t % ROWS * LANES;
      const Tile tile = tiles(std::min(first + t, end - 1), p.pad_h, p.pad_w);  // the last again
      read_tile<6>(p.x, p.from, tile, zeros, [&](int64_t b, const auto& get) CYNET_XLAMBDA {
        input_tile(get, own + b * 6 * ROWS * LANES, plan.row, ROWS * LANES);
      });
    }
    for (int64_t b = 0; b < plan.filter_blocks; ++b) {
      for (int64_t i = 0; i < 6; ++i) {
        const float* weights = u + (b * 6 + i) * p.from.channels * 6 * LANES;
        for (int64_t g = 0; g < groups; ++g)
          product(v + i * plan.row + g * plan.group, weights, p.from.channels,
                  s + (g * ROWS * 6 + i) * 4 * LANES);
      }
      for (int64_t t = 0; t < count; ++t)
        write_tile(s + t * 24 * LANES, p.to, tiles(first + t, 0, 0), b, p.finish, p.y);
    }
  }
}

// The weights' steps are those between an output's and an input's channels in w.
inline void convolve_all(const Problem& p, const float* w, int64_t out_step, int64_t in_step,
                         bool turn, int threads, float* space) {
  const int64_t channels = p.from.channels, filters = p.to.channels;
  const ForwardPlan plan(channels, filters);
  float* zeros = space;
  float* u = zeros + plan.zeros;
  float* parts = u + plan.u;
  std::memset(zeros, 0, plan.zeros * sizeof(float));
  parallel_for(threads, plan.filter_blocks * channels, [=](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t b = i / channels, c = i % channels;
      weights_in(w + b * LANES * out_step + c * in_step, out_step, turn,
                 std::min<int64_t>(LANES, filters - b * LANES),
                 u + (b * 36 * channels + c * 6) * LANES, channels);
    }
  });
  const int64_t tiles = Tiles(p.to).count, units = (tiles + ROWS - 1) / ROWS;
  for_parts(threads, [&](int64_t part) {
    convolve(p, plan, zeros, u, units * part / threads * ROWS,
             std::min(units * (part + 1) / threads * ROWS, tiles), parts + part * plan.part);
  });
}

// du = sums of transformed x by transformed y over tiles begin .. end, filter blocks c .. last.
inline void correlate(const Problem& p, const GradientPlan& plan, const float* zeros, int64_t c,
                      int64_t last, int64_t begin, int64_t end, float* du, float* space) {
  float* v = space;
  float* m = v + padded(36 * plan.v_position);
  const Tiles tiles(p.to);
  std::memset(du, 0, plan.u * sizeof(float));
  for (int64_t first = begin; first < end; first += plan.tile_block) {
    const int64_t count = std::min(plan.tile_block, end - first);
    for (int64_t t = 0; t < count; ++t)
      read_tile<6>(p.x, p.from, tiles(first + t, p.pad_h, p.pad_w), zeros,
                   [&](int64_t b, const auto& get) CYNET_XLAMBDA {
                     input_tile(get, v + b * plan.v_block + t * LANES, 6 * plan.v_position,
                                plan.v_position);
                   });
    for (int64_t t = 0; t < count; ++t)
      read_tile<4>(p.y, p.to, tiles(first + t, 0, 0), zeros,
                   [&](int64_t b, const auto& get) CYNET_XLAMBDA {
                     if (b >= c && b < last)
                       gradient_tile(get, m + (b - c) * plan.v_block + t * LANES, plan.m_position);
                   });
    for (int64_t q = 0; q < 36; ++q)
      for (int64_t f = 0; f < last - c; ++f)
        for (int64_t b = 0; b < plan.channel_blocks; ++b)
          outer(v + q * plan.v_position + b * plan.v_block,
                m + q * plan.m_position + f * plan.v_block, count,
                du + q * plan.u_position + f * plan.u_block + b * LANES * LANES);
  }
}

inline void correlate_all(const Problem& p, bool add, float* dw, int threads, float* space) {
  const int64_t channels = p.from.channels, filters = p.to.channels;
  const GradientPlan plan(channels, filters);
  float* zeros = space;
  float* du = zeros + plan.zeros;
  float* parts = du + plan.u * threads;
  std::memset(zeros, 0, plan.zeros * sizeof(float));
  const int64_t tiles = Tiles(p.to).count;
  for (int64_t first = 0; first < plan.filter_blocks; first += plan.chunk) {
    const int64_t last = std::min(first + plan.chunk, plan.filter_blocks);
    for_parts(threads, [&](int64_t part) {
      correlate(p, plan, zeros, first, last, tiles * part / threads, tiles * (part + 1) / threads,
                du + part * plan.u, parts + part * plan.part);
    });
    parallel_for(threads, (last - first) * channels, [=, &plan](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t b = i / channels, c = i % channels, filter = (first + b) * LANES;
        weights_out(du + b * plan.u_block + c * LANES, plan.u_position, threads, plan.u,
                    std::min<int64_t>(LANES, filters - filter), add,
                    dw + (filter * channels + c) * 9, channels * 9);
      }
    });
  }
}

// ----- the three convolutions (contract in winograd.h)

inline int64_t scratch(const WinogradShape& shape, int threads, bool backward) {
  const int64_t forward = ForwardPlan(shape.channels, shape.filters).size(threads);
  if (!backward) return forward;
  return std::max(ForwardPlan(shape.filters, shape.channels).size(threads),
                  GradientPlan(shape.channels, shape.filters).size(threads));
}

inline void forward(const WinogradShape& s, const float* x, const float* w, const Finish& finish,
                    float* y, int threads, float* space) {
  const Problem p = {input_of(s), output_of(s), s.pad_h, s.pad_w, finish, x, y};
  convolve_all(p, w, s.channels * 9, 9, false, threads, space);
}

inline void backward_data(const WinogradShape& s, const float* w, const float* dy, float* dx,
                          bool add, int threads, float* space) {
  const Problem p = {output_of(s),         input_of(s), 2 - s.pad_h, 2 - s.pad_w,
                     {nullptr, false, add}, dy,          dx};
  convolve_all(p, w, 9, s.channels * 9, true, threads, space);
}

inline void backward_weight(const WinogradShape& s, const float* x, const float* dy, float* dw,
                            bool add, int threads, float* space) {
  // the gradient is only read
  const Problem p = {input_of(s),  output_of(s), s.pad_h, s.pad_w, {nullptr, false, false},
                     x, const_cast<float*>(dy)};
  correlate_all(p, add, dw, threads, space);
}
