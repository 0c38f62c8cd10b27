// Winograd's convolutions at one CPU level: loops over vectors of LANES channels, after
// winograd_products.h. Included by winograd.h for each level. P, M and K as there; N is the
// number of the pixels of a tile that are written: M, or P where tiles of a gradient are spread
// over the inputs. The phases of an image count as channels of their own, in blocks of their own.
//
// Blocks of scratch, 64-byte aligned; a position is (row i, column j) of a PxP transform:
//   forward   u[filter block][i][channel][j][LANES]                     weights
//             v[i][tile / ROWS][channel block][j][tile % ROWS][LANES]   tiles of one block
//             s[filter block][tile][i][N][LANES]  products of FILTERS blocks, the columns turned
//                                                to pixels already
//   gradient  du[position][filter block][channel][LANES]                sums for the weights
//             v[position][channel block][tile][LANES], m[position][filter block][tile][LANES]

// ----- images

constexpr int64_t blocks_of(int64_t n) { return (n + LANES - 1) / LANES; }
constexpr int64_t padded(int64_t n) { return (n + 15) / 16 * 16; }

// Channels of all phases, the ends of their blocks included.
inline int64_t depth(const Image& image) {
  return image.step == 1 ? image.channels : 4 * blocks_of(image.channels) * LANES;
}

// Where a tile's pixels lie in a phase of the image, `step` apart.
inline Tile in_phase(const Image& image, const Tile& tile, int64_t phase) {
  if (image.step == 1) return tile;
  return {tile.image, 2 * tile.row + phase / 2 - image.top,
          2 * tile.column + phase % 2 - image.left};
}

// body(block, get) for each block of channels of one tile of SIDE x SIDE pixels, `step` apart;
// `zeros` stands for the pixels outside. Offsets from it come without a branch: half of a small
// image's tiles reach outside.
template <int SIDE, class Body>
CYNET_XINLINE void read_phase(const float* x, const Image& image, const Tile& tile,
                              const float* zeros, int64_t first, const Body& body) {
  const int64_t channels = image.channels, whole = channels / LANES, rest = channels % LANES;
  const int64_t size = sizeof(float), column = channels * size, row = image.width * column;
  const uintptr_t nothing = reinterpret_cast<uintptr_t>(zeros);
  const int64_t origin = static_cast<int64_t>(reinterpret_cast<uintptr_t>(x) - nothing) +
                         (tile.image * image.height + tile.row) * row + tile.column * column;
  const int64_t step = image.step, down = step * row, across = step * column;
  int64_t pixel[SIDE][SIDE], here[SIDE];
#pragma GCC unroll 6
  for (int j = 0; j < SIDE; ++j)
    here[j] = -static_cast<int64_t>(static_cast<uint64_t>(tile.column + j * step) <
                                    static_cast<uint64_t>(image.width));
#pragma GCC unroll 6
  for (int i = 0; i < SIDE; ++i) {
    const int64_t inside = -static_cast<int64_t>(static_cast<uint64_t>(tile.row + i * step) <
                                                 static_cast<uint64_t>(image.height));
#pragma GCC unroll 6
    for (int j = 0; j < SIDE; ++j)
      pixel[i][j] = (origin + i * down + j * across) & here[j] & inside;
  }
  for (int64_t b = 0; b < whole; ++b) {
    const uintptr_t from = nothing + b * LANES * size;
    body(first + b, [&](int i, int j) CYNET_XLAMBDA {
      return load(reinterpret_cast<const float*>(from + pixel[i][j]));
    });
  }
  if (rest) {
    const uintptr_t from = nothing + whole * LANES * size;
    body(first + whole, [&](int i, int j) CYNET_XLAMBDA {
      return load_part(reinterpret_cast<const float*>(from + pixel[i][j]), rest);
    });
  }
}

// The same for all phases.
template <int SIDE, class Body>
CYNET_XINLINE void read_tile(const float* x, const Image& image, const Tile& tile,
                             const float* zeros, const Body& body) {
  const int64_t blocks = blocks_of(image.channels);
  for (int64_t phase = 0; phase < image.phases(); ++phase)
    read_phase<SIDE>(x, image, in_phase(image, tile, phase), zeros, phase * blocks, body);
}

// The NxN pixels of one tile and block: bias, sum, relu, edges.
template <int P, int N>
inline void write_tile(const float* s, const Image& image, const Tile& virtual_tile, int64_t block,
                       const Finish& finish, float* y) {
  const int64_t filters = image.channels, blocks = blocks_of(filters);
  const Tile tile = in_phase(image, virtual_tile, block / blocks);
  block %= blocks;
  const int64_t lanes = std::min<int64_t>(LANES, filters - block * LANES), step = image.step;
  const int64_t top = -tile.row, bottom = image.height - tile.row;
  const int64_t left = -tile.column, right = image.width - tile.column;
  const int64_t row = image.width * filters, down = step * row, across = step * filters;
  float* base = y + (tile.image * image.height + tile.row) * row + tile.column * filters +
                block * LANES;
  const bool plain = !finish.bias && !finish.relu && !finish.add;
  if (plain && lanes == LANES && top <= 0 && left <= 0 && bottom > step * (N - 1) &&
      right > step * (N - 1)) {
    output_tile<P, N>(s, [=](int i, int j, Vec v) CYNET_XLAMBDA {
      store(base + i * down + j * across, v);
    });
    return;
  }
  Vec bias = {};
  if (finish.bias) bias = load_part(finish.bias + block * LANES, lanes);
  output_tile<P, N>(s, [=](int i, int j, Vec v) CYNET_XLAMBDA {
    if (i * step < top || i * step >= bottom || j * step < left || j * step >= right) return;
    float* to = base + i * down + j * across;
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

// ----- weights

constexpr int64_t MOST_TAPS = MOST_KERNEL * MOST_KERNEL;  // of a window

// Where the KxK taps of a phase lie in a window, -1 where it has none; with `turn` turned by 180
// degrees.
template <int K>
struct Taps {
  int64_t at[K * K];
  Taps(int64_t kernel, int64_t step, int64_t phase, bool turn) {
    for (int64_t t = 0; t < K * K; ++t) {
      const int64_t i = t / K * step + phase / 2, j = t % K * step + phase % 2;
      at[turn ? K * K - 1 - t : t] = i < kernel && j < kernel ? i * kernel + j : -1;
    }
  }
};

// Windows of `taps` weights of one channel, filter after filter `step` floats apart, to
// window[tap][LANES], and back.
inline void read_windows(const float* w, int64_t step, int64_t taps, int64_t lanes,
                         float (*window)[LANES]) {
  if (lanes < LANES) std::memset(window, 0, taps * sizeof *window);
  for (int64_t lane = 0; lane < lanes; ++lane, w += step)
    for (int64_t k = 0; k < taps; ++k) window[k][lane] = w[k];
}
inline void write_windows(const float (*window)[LANES], int64_t step, int64_t taps, int64_t lanes,
                          bool add, float* w) {
  for (int64_t lane = 0; lane < lanes; ++lane, w += step)
    for (int64_t k = 0; k < taps; ++k) w[k] = add ? w[k] + window[k][lane] : window[k][lane];
}

// One filter block of one channel, a phase's taps to PxP positions in u[i][channel][j].
template <int P, int K>
inline void weights_in(const float (*window)[LANES], const Taps<K>& from, float* u,
                       int64_t channels) {
  Vec t[P][K], x[P], g[K];
#pragma GCC unroll 5
  for (int k = 0; k < K; ++k) {
#pragma GCC unroll 5
    for (int i = 0; i < K; ++i) {
      const int64_t tap = from.at[i * K + k];
      g[i] = tap < 0 ? Vec{} : at(window[tap]);
    }
    weight_all<P, K>(g, x);
#pragma GCC unroll 6
    for (int i = 0; i < P; ++i) t[i][k] = x[i];
  }
#pragma GCC unroll 6
  for (int i = 0; i < P; ++i) {
    weight_all<P, K>(t[i], x);
#pragma GCC unroll 6
    for (int j = 0; j < P; ++j) at(u + (i * channels * P + j) * LANES) = x[j];
  }
}

// The way back: `parts` sums of PxP positions, `apart` floats apart, to a phase's taps.
template <int P, int K>
inline void weights_out(const float* du, int64_t position, int64_t parts, int64_t apart,
                        const Taps<K>& to, float (*window)[LANES]) {
  Vec t[P][K], x[P], g[K];
  for (int i = 0; i < P; ++i) {
#pragma GCC unroll 6
    for (int j = 0; j < P; ++j) {
      const float* from = du + (i * P + j) * position;
      x[j] = at(from);
      for (int64_t part = 1; part < parts; ++part) x[j] += at(from + part * apart);
    }
    weight_gradient_all<P, K>(x, t[i]);
  }
#pragma GCC unroll 5
  for (int k = 0; k < K; ++k) {
#pragma GCC unroll 6
    for (int i = 0; i < P; ++i) x[i] = t[i][k];
    weight_gradient_all<P, K>(x, g);
#pragma GCC unroll 5
    for (int i = 0; i < K; ++i)
      if (to.at[i * K + k] >= 0) at(window[to.at[i * K + k]]) = g[i];
  }
}

// ----- whole arrays

// How scratch is laid out, in floats. An odd number of cache lines between the streams that a
// transform writes keeps them out of each other's cache sets.
struct ForwardPlan {
  int64_t channel_blocks, filter_blocks, tile_block;
  int64_t group, row;      // v of ROWS tiles, and of all tiles, in one row of positions
  int64_t s_block;         // s of a filter block
  int64_t zeros, u, part;  // sizes: a pixel of zeros, weights, a thread's share

  ForwardPlan(int64_t positions, int64_t channels, int64_t filters, int64_t pixels)
      : channel_blocks(blocks_of(channels)), filter_blocks(blocks_of(filters)) {
    // few tiles: v stays in the first cache; with many weights, the more tiles the fewer reads of u
    tile_block = ROWS * (channels <= 64 ? 2 : channels <= 256 ? 4 : 8);
    group = channel_blocks * positions * ROWS * LANES;
    row = tile_block / ROWS * group + 16;
    zeros = padded(channels + LANES);
    u = padded(filter_blocks * positions * positions * channels * LANES);
    s_block = padded(positions * pixels * tile_block * LANES);
    part = padded(positions * row) + FILTERS * s_block;
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

  GradientPlan(int64_t positions, int64_t channels, int64_t filters)
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
    const int64_t all = positions * positions;
    u = padded(all * u_position);
    part = padded(all * v_position) + padded(all * m_position);
  }
  int64_t size(int threads) const { return zeros + threads * (u + part); }
};

// A part of the work: tiles begin .. end, filter blocks first .. last.
struct Part {
  int64_t begin, end, first_block, last_block;
};

// A part of y = x * w, a correlation with the first pixel at -pad; or where N is P
// those of the transposed map, from x's tiles of MxM pixels to y's of PxP, which overlap and are
// added.
template <int P, int M, int N>
inline void convolve(const Problem& p, const ForwardPlan& plan, const float* zeros, const float* u,
                     const Part& part, float* space) {
  constexpr bool spread = N == P;
  float* v = space;
  float* s = v + padded(P * plan.row);
  const int64_t s_block = plan.s_block, channels = depth(p.from);
  const Tiles tiles(spread ? p.from : p.to, M);
  const int64_t pad_h = spread ? 0 : p.pad_h, pad_w = spread ? 0 : p.pad_w;
  for (int64_t first = part.begin; first < part.end; first += plan.tile_block) {
    const int64_t count = std::min(plan.tile_block, part.end - first);
    const int64_t groups = (count + ROWS - 1) / ROWS;
    for (int64_t t = 0; t < groups * ROWS; ++t) {
      float* own = v + t / ROWS * plan.group + t % ROWS * LANES;
      const Tile tile = tiles(std::min(first + t, part.end - 1), pad_h, pad_w);  // the last again
      read_tile<spread ? M : P>(
          p.x, p.from, tile, zeros, [&](int64_t b, const auto& get) CYNET_XLAMBDA {
            float* to = own + b * P * ROWS * LANES;
            if constexpr (spread)
              gradient_tile<P, M>(get, to, plan.row, ROWS * LANES);
            else
              input_tile<P>(get, to, plan.row, ROWS * LANES);
          });
    }
    for (int64_t b = part.first_block; b < part.last_block; b += FILTERS) {
      const int64_t filters = std::min<int64_t>(FILTERS, part.last_block - b);
      for (int64_t i = 0; i < P; ++i) {
        const float* weights = u + (b * P + i) * channels * P * LANES;
        const int64_t u_block = P * channels * P * LANES;
        for (int64_t g = 0; g < groups; ++g) {
          const float* rows = v + i * plan.row + g * plan.group;
          float* to = s + (g * ROWS * P + i) * N * LANES;
          if constexpr (WIDE)
            product<P, N>(rows, weights, channels, to);
          else if (filters == FILTERS)
            product_by_position<P, N, FILTERS>(rows, weights, u_block, channels, to, s_block);
          else
            product_by_position<P, N, 1>(rows, weights, u_block, channels, to, s_block);
        }
      }
      for (int64_t t = 0; t < count; ++t) {
        const Tile tile = tiles(first + t, p.pad_h - pad_h, p.pad_w - pad_w);
        for (int64_t f = 0; f < filters; ++f)
          write_tile<P, N>(s + f * s_block + t * P * N * LANES, p.to, tile, b + f, p.finish, p.y);
      }
    }
  }
}

// w as it lies: floats between an output's and an input's channels; `turn` by 180 degrees.
struct Weights {
  const float* w;
  int64_t kernel, out_step, in_step;
  bool turn;
};

// u of w; the phases of the one image or of the other are parts of a window. Behind the last
// channel of a phase there are zeros.
template <int P, int K>
inline void weights_all(const Image& from, const Image& to, const Weights& w, int threads,
                        float* u) {
  const bool apart = from.step > 1;
  const int64_t depth_in = depth(from), phases = from.phases() * to.phases();
  const int64_t channels = depth_in / from.phases(), blocks = blocks_of(to.channels);
  parallel_for(threads, blocks * channels, [=](int64_t begin, int64_t end) {
    alignas(64) float window[MOST_TAPS][LANES];
    for (int64_t i = begin; i < end; ++i) {
      const int64_t b = i / channels, c = i % channels, filter = b * LANES;
      const int64_t lanes = c < from.channels ? to.channels - filter : 0;
      read_windows(w.w + filter * w.out_step + c * w.in_step, w.out_step, w.kernel * w.kernel,
                   std::min<int64_t>(LANES, lanes), window);
      for (int64_t phase = 0; phase < phases; ++phase) {
        const int64_t block = b + (apart ? 0 : phase * blocks);
        const int64_t channel = c + (apart ? phase * channels : 0);
        weights_in<P, K>(window, Taps<K>(w.kernel, phases > 1 ? 2 : 1, phase, w.turn),
                         u + (block * P * depth_in + channel) * P * LANES, depth_in);
      }
    }
  });
}

// With weights made before, `u`, when they are given.
template <int P, int M, int N>
inline void convolve_all(const Problem& p, const float* u, const Weights& w, int threads,
                         float* space) {
  const int64_t channels = depth(p.from);
  const ForwardPlan plan(P, channels, depth(p.to), N);
  float* zeros = space;
  float* parts = zeros + plan.zeros;
  std::memset(zeros, 0, plan.zeros * sizeof(float));
  if (u == nullptr) {
    float* made = parts;
    parts += plan.u;
    weights_all<P, P + 1 - M>(p.from, p.to, w, threads, made);
    u = made;
  }
  // tiles that overlap belong to one thread: whole images
  const int64_t tiles = Tiles(N == P ? p.from : p.to, M).count;
  const int64_t unit = N == P ? tiles / p.from.batch : ROWS, units = (tiles + unit - 1) / unit;
  // few tiles of many channels: weights are most of what there is to read, each thread its own
  const bool by_filters = N != P && channels >= 64 && units < 8 * threads;
  const int64_t blocks = plan.filter_blocks;
  for_parts(threads, [&](int64_t i) {
    const int64_t begin = units * i / threads * unit, end = units * (i + 1) / threads * unit;
    const Part part = by_filters
                          ? Part{0, tiles, blocks * i / threads, blocks * (i + 1) / threads}
                          : Part{begin, std::min(end, tiles), 0, blocks};
    convolve<P, M, N>(p, plan, zeros, u, part, parts + i * plan.part);
  });
}

// du = sums of transformed x by transformed y over tiles begin .. end, filter blocks c .. last.
template <int P, int M>
inline void correlate(const Problem& p, const GradientPlan& plan, const float* zeros, int64_t c,
                      int64_t last, int64_t begin, int64_t end, float* du, float* space) {
  float* v = space;
  float* m = v + padded(P * P * plan.v_position);
  const int64_t blocks = blocks_of(p.from.channels);
  const Tiles tiles(p.to, M);
  std::memset(du, 0, plan.u * sizeof(float));
  for (int64_t first = begin; first < end; first += plan.tile_block) {
    const int64_t count = std::min(plan.tile_block, end - first);
    for (int64_t t = 0; t < count; ++t)
      read_tile<P>(p.x, p.from, tiles(first + t, p.pad_h, p.pad_w), zeros,
                   [&](int64_t b, const auto& get) CYNET_XLAMBDA {
                     input_tile<P>(get, v + b * plan.v_block + t * LANES, P * plan.v_position,
                                   plan.v_position);
                   });
    for (int64_t t = 0; t < count; ++t)
      read_tile<M>(p.y, p.to, tiles(first + t, 0, 0), zeros,
                   [&](int64_t b, const auto& get) CYNET_XLAMBDA {
                     if (b >= c && b < last)
                       gradient_tile<P, M>(get, m + (b - c) * plan.v_block + t * LANES,
                                           P * plan.m_position, plan.m_position);
                   });
    for (int64_t q = 0; q < P * P; ++q)
      for (int64_t f = 0; f < last - c; f += FILTERS)
        for (int64_t b = 0; b < plan.channel_blocks; ++b)
          outer_of(p.from.channels - b % blocks * LANES, last - c - f,
                   v + q * plan.v_position + b * plan.v_block,
                   m + q * plan.m_position + f * plan.v_block, plan.v_block, count,
                   du + q * plan.u_position + f * plan.u_block + b * LANES * LANES, plan.u_block);
  }
}

template <int P, int M>
inline void correlate_all(const Problem& p, int64_t kernel, bool add, float* dw, int threads,
                          float* space) {
  constexpr int K = P + 1 - M;
  const int64_t channels = p.from.channels, filters = p.to.channels, taps = kernel * kernel;
  const int64_t step = p.from.step, phases = p.from.phases(), blocks = blocks_of(channels);
  const GradientPlan plan(P, depth(p.from), filters);
  float* zeros = space;
  float* du = zeros + plan.zeros;
  float* parts = du + plan.u * threads;
  std::memset(zeros, 0, plan.zeros * sizeof(float));
  const int64_t tiles = Tiles(p.to, M).count;
  for (int64_t first = 0; first < plan.filter_blocks; first += plan.chunk) {
    const int64_t last = std::min(first + plan.chunk, plan.filter_blocks);
    for_parts(threads, [&](int64_t part) {
      correlate<P, M>(p, plan, zeros, first, last, tiles * part / threads,
                      tiles * (part + 1) / threads, du + part * plan.u, parts + part * plan.part);
    });
    parallel_for(threads, (last - first) * channels, [=, &plan](int64_t begin, int64_t end) {
      alignas(64) float window[MOST_TAPS][LANES];
      for (int64_t i = begin; i < end; ++i) {
        const int64_t b = i / channels, c = i % channels, filter = (first + b) * LANES;
        for (int64_t phase = 0; phase < phases; ++phase) {
          const int64_t lane = phase * blocks * LANES + c;
          weights_out<P, K>(du + b * plan.u_block + lane * LANES, plan.u_position, threads, plan.u,
                            Taps<K>(kernel, step, phase, false), window);
        }
        write_windows(window, channels * taps, taps, std::min<int64_t>(LANES, filters - filter),
                      add, dw + (filter * channels + c) * taps);
      }
    });
  }
}

// ----- the three convolutions (contract in winograd.h)

// Pixels in front of the first tile; phases know their own.
inline int64_t first_h(const WinogradShape& s) { return s.stride == 1 ? s.pad_h : 0; }
inline int64_t first_w(const WinogradShape& s) { return s.stride == 1 ? s.pad_w : 0; }

inline int64_t positions_of(const WinogradShape& s) { return taps_of(s) == 2 ? 5 : 6; }

inline int64_t scratch(const WinogradShape& s, int threads, Stage stage) {
  const int64_t side = side_of(taps_of(s)), positions = positions_of(s);
  const int64_t channels = depth(input_of(s));
  if (stage != BACKWARD)
    return ForwardPlan(positions, channels, s.filters, side).size(threads, stage == PACKED);
  return std::max(
      ForwardPlan(positions, s.filters, channels, spreads(s) ? positions : side).size(threads),
      GradientPlan(positions, channels, s.filters).size(threads));
}

inline int64_t packed_size(const WinogradShape& s) {
  return ForwardPlan(positions_of(s), depth(input_of(s)), s.filters, 4).u;
}

// Of functions for 2, 3, 4 and 5 taps the one for `s`.
template <class Function>
inline Function of_taps(const WinogradShape& s, Function two, Function three, Function four,
                        Function five) {
  const int64_t taps = taps_of(s);
  return taps == 2 ? two : taps == 3 ? three : taps == 4 ? four : five;
}

inline void pack(const WinogradShape& s, const float* w, int threads, float* u) {
  const int64_t taps = s.kernel * s.kernel;
  const auto run = of_taps(s, &weights_all<5, 2>, &weights_all<6, 3>, &weights_all<6, 4>,
                           &weights_all<6, 5>);
  run(input_of(s), output_of(s), {w, s.kernel, s.channels * taps, taps, false}, threads, u);
}

inline void forward(const WinogradShape& s, const float* x, const float* w, bool packed,
                    const Finish& finish, float* y, int threads, float* space) {
  const Problem p = {input_of(s), output_of(s), first_h(s), first_w(s), finish, x, y};
  const int64_t taps = s.kernel * s.kernel;
  const auto run = of_taps(s, &convolve_all<5, 4, 4>, &convolve_all<6, 4, 4>,
                           &convolve_all<6, 3, 3>, &convolve_all<6, 2, 2>);
  run(p, packed ? w : nullptr, {w, s.kernel, s.channels * taps, taps, false}, threads, space);
}

inline void backward_data(const WinogradShape& s, const float* w, const float* dy, float* dx,
                          bool add, int threads, float* space) {
  Problem p = {output_of(s), input_of(s), first_h(s), first_w(s), {nullptr, false, add}, dy, dx};
  const int64_t taps = s.kernel * s.kernel;
  Weights weights = {w, s.kernel, taps, s.channels * taps, false};
  if (spreads(s)) {
    const int64_t image = s.height * s.width * s.channels;
    if (!add) parallel_for(threads, s.batch, [=](int64_t begin, int64_t end) {
      std::memset(dx + begin * image, 0, (end - begin) * image * sizeof(float));
    });
    p.finish.add = true;
    const auto run = of_taps(s, &convolve_all<5, 4, 5>, &convolve_all<6, 4, 6>,
                             &convolve_all<6, 3, 6>, &convolve_all<6, 2, 6>);
    run(p, nullptr, weights, threads, space);
  } else {
    p.pad_h = taps_of(s) - 1 - p.pad_h;
    p.pad_w = taps_of(s) - 1 - p.pad_w;
    weights.turn = true;
    const auto run = of_taps(s, &convolve_all<5, 4, 4>, &convolve_all<6, 4, 4>,
                             &convolve_all<6, 3, 3>, &convolve_all<6, 2, 2>);
    run(p, nullptr, weights, threads, space);
  }
}

inline void backward_weight(const WinogradShape& s, const float* x, const float* dy, float* dw,
                            bool add, int threads, float* space) {
  // the gradient is only read
  const Problem p = {input_of(s), output_of(s), first_h(s), first_w(s), {nullptr, false, false},
                     x, const_cast<float*>(dy)};
  const auto run = of_taps(s, &correlate_all<5, 4>, &correlate_all<6, 4>, &correlate_all<6, 3>,
                           &correlate_all<6, 2>);
  run(p, s.kernel, add, dw, threads, space);
}
