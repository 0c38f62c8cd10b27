// Winograd's convolutions at one CPU level: loops over vectors of LANES channels, after
// winograd_transforms.h. Included by winograd.h for each level. M is the number of outputs of a
// tile in a direction, K = 7 - M that of weights; N that of the pixels of a tile that are written:
// M, or 6 where tiles of a gradient are spread over the inputs.
//
// Blocks of scratch, 64-byte aligned; a position is (row i, column j) of a 6x6 transform:
//   forward   u[filter block][i][channel][j][LANES]                     weights
//             v[i][tile / ROWS][channel block][j][tile % ROWS][LANES]   tiles of one block
//             s[tile][i][N][LANES]               products, the columns turned to pixels already
//   gradient  du[position][filter block][channel][LANES]                sums for the weights
//             v[position][channel block][tile][LANES], m[position][filter block][tile][LANES]

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

// The NxN pixels of one tile and filter block: bias, sum, relu, edges.
template <int N>
inline void write_tile(const float* s, const Image& image, const Tile& tile, int64_t block,
                       const Finish& finish, float* y) {
  const int64_t filters = image.channels, lanes = std::min<int64_t>(LANES, filters - block * LANES);
  const int64_t top = -tile.row, bottom = image.height - tile.row;
  const int64_t left = -tile.column, right = image.width - tile.column;
  const int64_t row = image.width * filters;
  float* base = y + (tile.image * image.height + tile.row) * row + tile.column * filters +
                block * LANES;
  const bool plain = !finish.bias && !finish.relu && !finish.add;
  if (plain && lanes == LANES && top <= 0 && left <= 0 && bottom >= N && right >= N) {
    output_tile<N>(s, [=](int i, int j, Vec v) CYNET_XLAMBDA {
      store(base + i * row + j * filters, v);
    });
    return;
  }
  Vec bias = {};
  if (finish.bias) bias = load_part(finish.bias + block * LANES, lanes);
  output_tile<N>(s, [=](int i, int j, Vec v) CYNET_XLAMBDA {
    if (i < top || i >= bottom || j < left || j >= right) return;
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
// columns' transform to s[tile][i][N].
template <int N>
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
    Vec x[6], y[N];
#pragma GCC unroll 6
    for (int j = 0; j < 6; ++j) x[j] = sum[j][r];
    gather<N>(x, y);
#pragma GCC unroll 6
    for (int j = 0; j < N; ++j) at(s + (r * 6 * N + j) * LANES) = y[j];
  }
}

// u[channel] += sum over tiles of v[tile][channel] m[tile], COUNT channels by one filter block.
template <int COUNT>
CYNET_XINLINE void outer(const float* v, const float* m, int64_t tiles, float* u) {
  Vec sum[COUNT];
#pragma GCC unroll 16
  for (int c = 0; c < COUNT; ++c) sum[c] = at(u + c * LANES);
#pragma GCC unroll 2
  for (int64_t t = 0; t < tiles; ++t) {
    const Vec gradient = at(m + t * LANES);
#pragma GCC unroll 16
    for (int c = 0; c < COUNT; ++c) sum[c] += v[t * LANES + c] * gradient;
  }
#pragma GCC unroll 16
  for (int c = 0; c < COUNT; ++c) at(u + c * LANES) = sum[c];
}

// As many channels as there are, or up to three more.
inline void outer_of(int64_t channels, const float* v, const float* m, int64_t tiles, float* u) {
  if (channels > LANES * 3 / 4) return outer<LANES>(v, m, tiles, u);
  if (channels > LANES / 2) return outer<LANES * 3 / 4>(v, m, tiles, u);
  if (channels > LANES / 4) return outer<LANES / 2>(v, m, tiles, u);
  outer<LANES / 4>(v, m, tiles, u);
}

// ----- weights

// One filter block of one channel: filter after filter `step` floats apart to 36 positions in
// u[i][channel][j]; with `turn` by 180 degrees.
template <int K>
inline void weights_in(const float* w, int64_t step, bool turn, int64_t lanes, float* u,
                       int64_t channels) {
  alignas(64) float taps[K * K][LANES] = {};
  for (int64_t lane = 0; lane < lanes; ++lane, w += step)
    for (int k = 0; k < K * K; ++k) taps[k][lane] = w[turn ? K * K - 1 - k : k];
  Vec t[6][K], x[6], g[K];
#pragma GCC unroll 5
  for (int k = 0; k < K; ++k) {
#pragma GCC unroll 5
    for (int i = 0; i < K; ++i) g[i] = at(taps[i * K + k]);
    weight_all<K>(g, x);
#pragma GCC unroll 6
    for (int i = 0; i < 6; ++i) t[i][k] = x[i];
  }
#pragma GCC unroll 6
  for (int i = 0; i < 6; ++i) {
    weight_all<K>(t[i], x);
#pragma GCC unroll 6
    for (int j = 0; j < 6; ++j) at(u + (i * channels * 6 + j) * LANES) = x[j];
  }
}

// The way back: `parts` sums of 36 positions, `apart` floats apart, to filters' gradients.
template <int K>
inline void weights_out(const float* du, int64_t position, int64_t parts, int64_t apart,
                        int64_t lanes, bool add, float* dw, int64_t step) {
  alignas(64) float taps[K * K][LANES];
  Vec t[6][K], x[6], g[K];
  for (int i = 0; i < 6; ++i) {
#pragma GCC unroll 6
    for (int j = 0; j < 6; ++j) {
      const float* from = du + (i * 6 + j) * position;
      x[j] = at(from);
      for (int64_t part = 1; part < parts; ++part) x[j] += at(from + part * apart);
    }
    weight_gradient_all<K>(x, t[i]);
  }
#pragma GCC unroll 5
  for (int k = 0; k < K; ++k) {
#pragma GCC unroll 6
    for (int i = 0; i < 6; ++i) x[i] = t[i][k];
    weight_gradient_all<K>(x, g);
#pragma GCC unroll 5
    for (int i = 0; i < K; ++i) at(taps[i * K + k]) = g[i];
  }
  for (int64_t lane = 0; lane < lanes; ++lane, dw += step)
    for (int k = 0; k < K * K; ++k) dw[k] = add ? dw[k] + taps[k][lane] : taps[k][lane];
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

  ForwardPlan(int64_t channels, int64_t filters, int pixels)
      : channel_blocks(blocks_of(channels)), filter_blocks(blocks_of(filters)) {
    // few tiles: v stays in the first cache; with many weights, the more tiles the fewer reads of u
    tile_block = channels <= 64 ? 8 : channels <= 256 ? 16 : 32;
    group = channel_blocks * 6 * ROWS * LANES;
    row = tile_block / ROWS * group + 16;
    zeros = padded(channels + LANES);
    u = padded(filter_blocks * 36 * channels * LANES);
    part = padded(6 * row) + padded(6 * pixels * tile_block * LANES);
  }
  int64_t size(int threads, bool packed = false) const {
    return zeros + (packed ? 0 : u) + threads * part;
  }
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

// A part of the work: tiles begin .. end, filter blocks first .. last.
struct Part {
  int64_t begin, end, first_block, last_block;
};

// A part of y = x * w, a correlation with the first pixel at -pad; or where N is 6
// those of the transposed map, from x's tiles of MxM pixels to y's of 6x6, which overlap and are
// added.
template <int M, int N>
inline void convolve(const Problem& p, const ForwardPlan& plan, const float* zeros, const float* u,
                     const Part& part, float* space) {
  constexpr bool spread = N == 6;
  float* v = space;
  float* s = v + padded(6 * plan.row);
  const Tiles tiles(spread ? p.from : p.to, M);
  const int64_t pad_h = spread ? 0 : p.pad_h, pad_w = spread ? 0 : p.pad_w;
  for (int64_t first = part.begin; first < part.end; first += plan.tile_block) {
    const int64_t count = std::min(plan.tile_block, part.end - first);
    const int64_t groups = (count + ROWS - 1) / ROWS;
    for (int64_t t = 0; t < groups * ROWS; ++t) {
      float* own = v + t / ROWS * plan.group + t % ROWS * LANES;
      const Tile tile = tiles(std::min(first + t, part.end - 1), pad_h, pad_w);  // the last again
      read_tile<spread ? M : 6>(
          p.x, p.from, tile, zeros, [&](int64_t b, const auto& get) CYNET_XLAMBDA {
            float* to = own + b * 6 * ROWS * LANES;
            if constexpr (spread)
              gradient_tile<M>(get, to, plan.row, ROWS * LANES);
            else
              input_tile(get, to, plan.row, ROWS * LANES);
          });
    }
    for (int64_t b = part.first_block; b < part.last_block; ++b) {
      for (int64_t i = 0; i < 6; ++i) {
        const float* weights = u + (b * 6 + i) * p.from.channels * 6 * LANES;
        for (int64_t g = 0; g < groups; ++g)
          product<N>(v + i * plan.row + g * plan.group, weights, p.from.channels,
                     s + (g * ROWS * 6 + i) * N * LANES);
      }
      for (int64_t t = 0; t < count; ++t) {
        const Tile tile = tiles(first + t, p.pad_h - pad_h, p.pad_w - pad_w);
        write_tile<N>(s + t * 6 * N * LANES, p.to, tile, b, p.finish, p.y);
      }
    }
  }
}

// u of w of KxK. The steps are those between an output's and an input's channels in w.
template <int K>
inline void weights_all(int64_t channels, int64_t filters, const float* w, int64_t out_step,
                        int64_t in_step, bool turn, int threads, float* u) {
  parallel_for(threads, blocks_of(filters) * channels, [=](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t b = i / channels, c = i % channels;
      weights_in<K>(w + b * LANES * out_step + c * in_step, out_step, turn,
                    std::min<int64_t>(LANES, filters - b * LANES),
                    u + (b * 36 * channels + c * 6) * LANES, channels);
    }
  });
}

// From w, as weights_all has it; or from `u`, made before, when that is given.
template <int M, int N>
inline void convolve_all(const Problem& p, const float* u, const float* w, int64_t out_step,
                         int64_t in_step, bool turn, int threads, float* space) {
  const int64_t channels = p.from.channels, filters = p.to.channels;
  const ForwardPlan plan(channels, filters, N);
  float* zeros = space;
  float* parts = zeros + plan.zeros;
  std::memset(zeros, 0, plan.zeros * sizeof(float));
  if (u == nullptr) {
    float* made = parts;
    parts += plan.u;
    weights_all<7 - M>(channels, filters, w, out_step, in_step, turn, threads, made);
    u = made;
  }
  // tiles that overlap belong to one thread: whole images
  const int64_t tiles = Tiles(N == 6 ? p.from : p.to, M).count;
  const int64_t unit = N == 6 ? tiles / p.from.batch : ROWS, units = (tiles + unit - 1) / unit;
  // few tiles of many channels: weights are most of what there is to read, each thread its own
  const bool by_filters = N != 6 && channels >= 64 && units < 8 * threads;
  const int64_t blocks = plan.filter_blocks;
  for_parts(threads, [&](int64_t i) {
    const int64_t begin = units * i / threads * unit, end = units * (i + 1) / threads * unit;
    const Part part = by_filters
                          ? Part{0, tiles, blocks * i / threads, blocks * (i + 1) / threads}
                          : Part{begin, std::min(end, tiles), 0, blocks};
    convolve<M, N>(p, plan, zeros, u, part, parts + i * plan.part);
  });
}

// du = sums of transformed x by transformed y over tiles begin .. end, filter blocks c .. last.
template <int M>
inline void correlate(const Problem& p, const GradientPlan& plan, const float* zeros, int64_t c,
                      int64_t last, int64_t begin, int64_t end, float* du, float* space) {
  float* v = space;
  float* m = v + padded(36 * plan.v_position);
  const Tiles tiles(p.to, M);
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
      read_tile<M>(p.y, p.to, tiles(first + t, 0, 0), zeros,
                   [&](int64_t b, const auto& get) CYNET_XLAMBDA {
                     if (b >= c && b < last)
                       gradient_tile<M>(get, m + (b - c) * plan.v_block + t * LANES,
                                        6 * plan.m_position, plan.m_position);
                   });
    for (int64_t q = 0; q < 36; ++q)
      for (int64_t f = 0; f < last - c; ++f)
        for (int64_t b = 0; b < plan.channel_blocks; ++b)
          outer_of(p.from.channels - b * LANES, v + q * plan.v_position + b * plan.v_block,
                   m + q * plan.m_position + f * plan.v_block, count,
                   du + q * plan.u_position + f * plan.u_block + b * LANES * LANES);
  }
}

template <int M>
inline void correlate_all(const Problem& p, bool add, float* dw, int threads, float* space) {
  constexpr int K = 7 - M;
  const int64_t channels = p.from.channels, filters = p.to.channels;
  const GradientPlan plan(channels, filters);
  float* zeros = space;
  float* du = zeros + plan.zeros;
  float* parts = du + plan.u * threads;
  std::memset(zeros, 0, plan.zeros * sizeof(float));
  const int64_t tiles = Tiles(p.to, M).count;
  for (int64_t first = 0; first < plan.filter_blocks; first += plan.chunk) {
    const int64_t last = std::min(first + plan.chunk, plan.filter_blocks);
    for_parts(threads, [&](int64_t part) {
      correlate<M>(p, plan, zeros, first, last, tiles * part / threads,
                   tiles * (part + 1) / threads, du + part * plan.u, parts + part * plan.part);
    });
    parallel_for(threads, (last - first) * channels, [=, &plan](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t b = i / channels, c = i % channels, filter = (first + b) * LANES;
        weights_out<K>(du + b * plan.u_block + c * LANES, plan.u_position, threads, plan.u,
                       std::min<int64_t>(LANES, filters - filter), add,
                       dw + (filter * channels + c) * K * K, channels * K * K);
      }
    });
  }
}

// ----- the three convolutions (contract in winograd.h)

inline int64_t scratch(const WinogradShape& s, int threads, Stage stage) {
  const int m = static_cast<int>(7 - s.kernel);
  const ForwardPlan plan(s.channels, s.filters, m);
  if (stage != BACKWARD) return plan.size(threads, stage == PACKED);
  return std::max(ForwardPlan(s.filters, s.channels, spreads(s) ? 6 : m).size(threads),
                  GradientPlan(s.channels, s.filters).size(threads));
}

inline int64_t packed_size(const WinogradShape& s) {
  return ForwardPlan(s.channels, s.filters, 7 - static_cast<int>(s.kernel)).u;
}

inline void pack(const WinogradShape& s, const float* w, int threads, float* u) {
  const int64_t taps = s.kernel * s.kernel;
  const auto run = s.kernel == 3 ? &weights_all<3> : &weights_all<5>;
  run(s.channels, s.filters, w, s.channels * taps, taps, false, threads, u);
}

inline void forward(const WinogradShape& s, const float* x, const float* w, bool packed,
                    const Finish& finish, float* y, int threads, float* space) {
  const Problem p = {input_of(s), output_of(s), s.pad_h, s.pad_w, finish, x, y};
  const int64_t taps = s.kernel * s.kernel;
  const auto run = s.kernel == 3 ? &convolve_all<4, 4> : &convolve_all<2, 2>;
  run(p, packed ? w : nullptr, w, s.channels * taps, taps, false, threads, space);
}

inline void backward_data(const WinogradShape& s, const float* w, const float* dy, float* dx,
                          bool add, int threads, float* space) {
  Problem p = {output_of(s), input_of(s), s.pad_h, s.pad_w, {nullptr, false, add}, dy, dx};
  const int64_t taps = s.kernel * s.kernel;
  if (spreads(s)) {
    const int64_t image = s.height * s.width * s.channels;
    if (!add) parallel_for(threads, s.batch, [=](int64_t begin, int64_t end) {
      std::memset(dx + begin * image, 0, (end - begin) * image * sizeof(float));
    });
    p.finish.add = true;
    const auto run = s.kernel == 3 ? &convolve_all<4, 6> : &convolve_all<2, 6>;
    run(p, nullptr, w, taps, s.channels * taps, false, threads, space);
  } else {
    p.pad_h = s.kernel - 1 - s.pad_h;
    p.pad_w = s.kernel - 1 - s.pad_w;
    const auto run = s.kernel == 3 ? &convolve_all<4, 4> : &convolve_all<2, 2>;
    run(p, nullptr, w, taps, s.channels * taps, true, threads, space);
  }
}

inline void backward_weight(const WinogradShape& s, const float* x, const float* dy, float* dw,
                            bool add, int threads, float* space) {
  // the gradient is only read
  const Problem p = {input_of(s),  output_of(s), s.pad_h, s.pad_w, {nullptr, false, false},
                     x, const_cast<float*>(dy)};
  const auto run = s.kernel == 3 ? &correlate_all<4> : &correlate_all<2>;
  run(p, add, dw, threads, space);
}
