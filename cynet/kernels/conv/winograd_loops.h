// Winograd's convolutions in one form: loops over vectors of LANES channels. After
// winograd_tiles.h; included by winograd_forms.h for each form.
//
// P, M and K are defined in winograd_transforms.h. N is the number of pixels written per direction
// of a tile: M, or P if tiles of a gradient are added to the inputs. Scratch is laid out as in
// winograd_plans.h.

// ----- weights

constexpr int64_t MAX_TAPS = MAX_KERNEL * MAX_KERNEL;  // taps of a window

// The positions of a phase's KxK taps in the window, -1 for a missing tap; with `turn`, in the
// window rotated by 180 degrees.
template <int K>
struct TapPositions {  // positions of a phase's taps in the window
  int64_t at[K * K];
  TapPositions(int64_t kernel, int64_t step, int64_t phase, bool turn) {
    for (int64_t t = 0; t < K * K; ++t) {
      const int64_t i = t / K * step + phase / 2, j = t % K * step + phase % 2;
      at[turn ? K * K - 1 - t : t] = i < kernel && j < kernel ? i * kernel + j : -1;
    }
  }
};

// Reads windows of `taps` weights of one channel, filters `step` floats apart, to
// window[tap][LANES]; and the inverse.
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

// Transforms the taps of a phase, filter block and channel to positions u[i * down + j * across].
template <int P, int K>
inline void transform_weights(const float (*window)[LANES], const TapPositions<K>& from, float* u,
                              int64_t down, int64_t across) {
  Vec t[P][K], x[P], g[K];
#pragma GCC unroll 5
  for (int k = 0; k < K; ++k) {
#pragma GCC unroll 5
    for (int i = 0; i < K; ++i) {
      const int64_t tap = from.at[i * K + k];
      g[i] = tap < 0 ? Vec{} : at(window[tap]);
    }
    transform_weight<P, K>(g, x);
#pragma GCC unroll 6
    for (int i = 0; i < P; ++i) t[i][k] = x[i];
  }
#pragma GCC unroll 6
  for (int i = 0; i < P; ++i) {
    transform_weight<P, K>(t[i], x);
#pragma GCC unroll 6
    for (int j = 0; j < P; ++j) at(u + i * down + j * across) = x[j];
  }
}

// The transpose of transform_weights: `parts` sums of PxP positions, `apart` floats apart, to taps.
template <int P, int K>
inline void gather_tap_gradients(const float* du, int64_t position, int64_t parts, int64_t apart,
                                 const TapPositions<K>& to, float (*window)[LANES]) {
  Vec t[P][K], x[P], g[K];
  for (int i = 0; i < P; ++i) {
#pragma GCC unroll 6
    for (int j = 0; j < P; ++j) {
      const float* from = du + (i * P + j) * position;
      x[j] = at(from);
      for (int64_t part = 1; part < parts; ++part) x[j] += at(from + part * apart);
    }
    transform_weight_gradient<P, K>(x, t[i]);
  }
#pragma GCC unroll 5
  for (int k = 0; k < K; ++k) {
#pragma GCC unroll 6
    for (int i = 0; i < P; ++i) x[i] = t[i][k];
    transform_weight_gradient<P, K>(x, g);
#pragma GCC unroll 5
    for (int i = 0; i < K; ++i)
      if (to.at[i * K + k] >= 0) at(window[to.at[i * K + k]]) = g[i];
  }
}

// ----- whole arrays

// A part of the work: tiles begin .. end, filter blocks first .. last.
struct WorkPart {  // a thread's tiles and filter blocks
  int64_t begin, end, first_block, last_block;
};

// Divides y = x * w among threads: the tiles of `to`, or with `spread` those of `from`. With few
// tiles and many channels, weights dominate the reads, so threads share the filters instead.
struct WorkParts {  // how threads share tiles or filters
  int64_t threads, tiles, unit, units;
  bool by_filters;

  WorkParts(const Image& from, const Image& to, int64_t side, bool spread, int threads)
      : threads(threads), tiles(Tiles(spread ? from : to, side).count) {
    unit = spread ? tiles / from.batch : STEP;  // overlapping tiles must belong to one thread
    units = (tiles + unit - 1) / unit;
    by_filters = !spread && padded_channels(from) >= 64 && units < 8 * threads;
  }
  int64_t max_tiles() const { return by_filters ? tiles : (units + threads - 1) / threads * unit; }
  WorkPart operator()(int64_t i, int64_t blocks) const {
    const auto cut = [&](int64_t n, int64_t part) { return n * part / threads; };
    const int64_t pairs = (blocks + FILTERS - 1) / FILTERS;
    if (by_filters)
      return {0, tiles, cut(pairs, i) * FILTERS, std::min(cut(pairs, i + 1) * FILTERS, blocks)};
    return {cut(units, i) * unit, std::min(cut(units, i + 1) * unit, tiles), 0, blocks};
  }
};

// Computes a part of y = x * w, a correlation with the first pixel at -pad. If N is P, computes the
// transposed map: x's tiles of MxM pixels become y's of PxP, which overlap and are added.
template <int P, int M, int N>
inline void convolve_part(const WinogradProblem& p, const ForwardPlan& plan, const float* zeros,
                          const float* u, const WorkPart& part, float* space) {
  constexpr bool spread = N == P;
  float* v = space;
  float* s = v + plan.v;
  float* strip = s + plan.s;
  const int64_t channels = padded_channels(p.from);
  const Tiles tiles(spread ? p.from : p.to, M);
  const int64_t pad_h = spread ? 0 : p.pad_h, pad_w = spread ? 0 : p.pad_w;
  const TileTargets targets = {
      v, 0, plan.channel_blocks, plan.v_block, plan.v_group, plan.v_down, plan.v_across};
  for (int64_t first = part.begin; first < part.end; first += plan.tile_block) {
    const int64_t end = std::min(first + plan.tile_block, part.end);
    if constexpr (spread) transform_gradients<P, M>(p.x, p.from, tiles, first, end, zeros, targets);
    else
      transform_inputs<P>(p.x, p.from, tiles, M, first, end, pad_h, pad_w, zeros, strip, targets);
    for (int64_t t = end - first; t % STEP; ++t)  // zeros that complete the last block
      for (int64_t b = 0; b < plan.channel_blocks; ++b)
        for (int64_t q = 0; q < P * P; ++q)
          at(targets(b, t) + q / P * plan.v_down + q % P * plan.v_across) = Vec{};
    for (int64_t b = part.first_block; b < part.last_block; b += plan.chunk) {
      const int64_t last = std::min(b + plan.chunk, part.last_block);
      sum_products<P, N>(plan, v, u, channels, end - first, b, last, s);
      for (int64_t t = first; t < end; ++t) {
        const Tile tile = tiles(t, p.pad_h - pad_h, p.pad_w - pad_w);
        const int64_t group = (t - first) / ROWS, row = (t - first) % ROWS;
        const float* from = s + group * plan.s_group + row * plan.s_tile;
        for (int64_t f = b; f < last; ++f, from += plan.s_block)
          write_tile<P, N>(from, plan.s_position, p.to, tile, f, p.finish, p.y);
      }
    }
  }
}

// Strides of w in floats along output and input channels; `turn`: rotated by 180 degrees.
struct WeightStrides {
  const float* w;
  int64_t kernel, out_step, in_step;
  bool turn;
};

// Transforms w to u. The phases of either image are parts of the window. The last channels of a
// phase are padded with zeros.
template <int P, int K>
inline void transform_all_weights(const Image& from, const Image& to, const WeightStrides& w,
                                  int threads, float* u) {
  const bool apart = from.step > 1;
  const ForwardPlan plan(P, padded_channels(from), padded_channels(to), P);
  const int64_t phases = from.phases() * to.phases();
  const int64_t channels = padded_channels(from) / from.phases(), blocks = block_count(to.channels);
  parallel_for(threads, blocks * channels, [=, &plan](int64_t begin, int64_t end) {
    alignas(64) float window[MAX_TAPS][LANES];
    for (int64_t i = begin; i < end; ++i) {
      // Blocks that are interleaved channel by channel, so that whole cache lines are written.
      const int64_t group = i / (channels * FILTERS) * FILTERS, rest = i - group * channels;
      const int64_t beside = std::min<int64_t>(FILTERS, blocks - group);
      const int64_t b = group + rest % beside, c = rest / beside, filter = b * LANES;
      const int64_t lanes = c < from.channels ? to.channels - filter : 0;
      read_windows(w.w + filter * w.out_step + c * w.in_step, w.out_step, w.kernel * w.kernel,
                   std::min<int64_t>(LANES, lanes), window);
      for (int64_t phase = 0; phase < phases; ++phase) {
        const int64_t block = b + (apart ? 0 : phase * blocks);
        const int64_t channel = c + (apart ? phase * channels : 0);
        transform_weights<P, K>(window,
                                TapPositions<K>(w.kernel, phases > 1 ? 2 : 1, phase, w.turn),
                                u + plan.u_offset(block, channel), plan.u_down, plan.u_across);
      }
    }
  });
}

// The whole convolution; `u` has the transformed weights, if they are given.
template <int P, int M, int N>
inline void convolve_images(const WinogradProblem& p, const float* u, const WeightStrides& w,
                            int threads, float* space) {
  const int64_t channels = padded_channels(p.from);
  const WorkParts shares(p.from, p.to, M, N == P, threads);
  const ForwardPlan plan(P, channels, padded_channels(p.to), N, shares.max_tiles());
  float* zeros = space;
  float* parts = zeros + spaced_floats(plan.zeros);
  std::memset(zeros, 0, plan.zeros * sizeof(float));
  if (u == nullptr) {
    float* made = parts;
    parts += spaced_floats(plan.u);
    transform_all_weights<P, P + 1 - M>(p.from, p.to, w, threads, made);
    u = made;
  }
  for_parts(threads, [&](int64_t i) {
    convolve_part<P, M, N>(p, plan, zeros, u, shares(i, plan.filter_blocks), parts + i * plan.part);
  });
}

// du = sums of transformed x * transformed y over tiles begin .. end, filter blocks c .. last.
template <int P, int M>
inline void correlate_part(const WinogradProblem& p, const GradientPlan& plan, const float* zeros,
                           int64_t c, int64_t last, int64_t begin, int64_t end, float* du,
                           float* space) {
  float* v = space;
  float* m = v + plan.v;
  float* strip = m + plan.m;
  const int64_t blocks = block_count(p.from.channels);
  const Tiles tiles(p.to, M);
  for (int64_t q = 0; q < P * P; ++q)
    std::memset(du + q * plan.u_position, 0, (last - c) * plan.u_block * sizeof(float));
  for (int64_t first = begin; first < end; first += plan.tile_block) {
    const int64_t count = std::min(plan.tile_block, end - first);
    transform_inputs<P>(p.x, p.from, tiles, M, first, first + count, p.pad_h, p.pad_w, zeros, strip,
                        {v, 0, plan.channel_blocks, plan.v_block, ROWS * LANES, P * plan.v_position,
                         plan.v_position});
    transform_gradients<P, M>(
        p.y, p.to, tiles, first, first + count, zeros,
        {m, c, last, plan.v_block, ROWS * LANES, P * plan.m_position, plan.m_position});
    for (int64_t q = 0; q < P * P; ++q)
      for (int64_t f = 0; f < last - c; f += FILTERS)
        for (int64_t b = 0; b < plan.channel_blocks; ++b)
          add_outer_products(p.from.channels - b % blocks * LANES, last - c - f,
                             v + q * plan.v_position + b * plan.v_block,
                             m + q * plan.m_position + f * plan.v_block, plan.v_block, count,
                             du + q * plan.u_position + f * plan.u_block + b * LANES * LANES,
                             plan.u_block);
  }
}

template <int P, int M>
inline void correlate_all(const WinogradProblem& p, int64_t kernel, bool add, float* dw,
                          int threads, float* space) {
  constexpr int K = P + 1 - M;
  const int64_t channels = p.from.channels, filters = p.to.channels, taps = kernel * kernel;
  const int64_t step = p.from.step, phases = p.from.phases(), blocks = block_count(channels);
  const int64_t tiles = Tiles(p.to, M).count;
  const GradientPlan plan(P, padded_channels(p.from), filters, tiles);
  float* zeros = space;
  float* du = zeros + spaced_floats(plan.zeros);
  float* parts = du + plan.sums * plan.cuts;
  std::memset(zeros, 0, plan.zeros * sizeof(float));
  for (int64_t first = 0; first < plan.filter_blocks; first += plan.chunk) {
    const int64_t last = std::min(first + plan.chunk, plan.filter_blocks);
    const int64_t groups = (last - first + FILTERS - 1) / FILTERS;
    const int64_t spans = plan.spans_per_chunk(groups, threads), units = plan.cuts * spans;
    const int64_t workers = std::min<int64_t>(threads, units);
    for_parts(workers, [&](int64_t worker) {
      for (int64_t i = units * worker / workers; i < units * (worker + 1) / workers; ++i) {
        const int64_t cut = i / spans, span = i % spans;
        const int64_t c = groups * span / spans * FILTERS;
        const int64_t end = std::min(groups * (span + 1) / spans * FILTERS, last - first);
        correlate_part<P, M>(p, plan, zeros, first + c, first + end, tiles * cut / plan.cuts,
                             tiles * (cut + 1) / plan.cuts, du + cut * plan.sums + c * plan.u_block,
                             parts + worker * plan.part);
      }
    });
    parallel_for(threads, (last - first) * channels, [=, &plan](int64_t begin, int64_t end) {
      alignas(64) float window[MAX_TAPS][LANES];
      for (int64_t i = begin; i < end; ++i) {
        const int64_t b = i / channels, c = i % channels, filter = (first + b) * LANES;
        for (int64_t phase = 0; phase < phases; ++phase) {
          const int64_t lane = phase * blocks * LANES + c;
          gather_tap_gradients<P, K>(du + b * plan.u_block + lane * LANES, plan.u_position,
                                     plan.cuts, plan.sums,
                                     TapPositions<K>(kernel, step, phase, false), window);
        }
        write_windows(window, channels * taps, taps, std::min<int64_t>(LANES, filters - filter),
                      add, dw + (filter * channels + c) * taps);
      }
    });
  }
}

// ----- the three convolutions (contract in winograd.h)

// Padding above the first tile; with stride 2 each phase has its own.
inline int64_t top_padding(const WinogradShape& s) { return s.stride == 1 ? s.pad_h : 0; }
inline int64_t left_padding(const WinogradShape& s) { return s.stride == 1 ? s.pad_w : 0; }

inline int64_t positions_per_side(const WinogradShape& s) { return tap_count(s) == 2 ? 5 : 6; }

inline int64_t scratch_floats(const WinogradShape& s, int threads, WorkspaceUse stage) {
  const int64_t side = tile_side(tap_count(s)), positions = positions_per_side(s);
  const int64_t channels = padded_channels(input_image(s)),
                tiles = Tiles(output_image(s), side).count;
  if (stage != BACKWARD) {
    const WorkParts shares(input_image(s), output_image(s), side, false, threads);
    return ForwardPlan(positions, channels, s.filters, side, shares.max_tiles())
        .floats(threads, stage == PACKED);
  }
  const WorkParts shares(output_image(s), input_image(s), side, uses_dy_tiles(s), threads);
  return std::max(ForwardPlan(positions, s.filters, channels, uses_dy_tiles(s) ? positions : side,
                              shares.max_tiles())
                      .floats(threads),
                  GradientPlan(positions, channels, s.filters, tiles).floats(threads));
}

inline int64_t packed_size(const WinogradShape& s) {
  return ForwardPlan(positions_per_side(s), padded_channels(input_image(s)), s.filters, 4).u;
}

// Picks the function for the number of taps of `s`: 2, 3, 4 or 5.
template <class Function>
inline Function pick_by_taps(const WinogradShape& s, Function two, Function three, Function four,
                             Function five) {
  const int64_t taps = tap_count(s);
  return taps == 2 ? two : taps == 3 ? three : taps == 4 ? four : five;
}

inline void pack_weights(const WinogradShape& s, const float* w, int threads, float* u) {
  const int64_t taps = s.kernel * s.kernel;
  const auto run = pick_by_taps(s, &transform_all_weights<5, 2>, &transform_all_weights<6, 3>,
                                &transform_all_weights<6, 4>, &transform_all_weights<6, 5>);
  run(input_image(s), output_image(s), {w, s.kernel, s.channels * taps, taps, false}, threads, u);
}

inline void forward(const WinogradShape& s, const float* x, const float* w, bool packed,
                    const Epilogue& finish, float* y, int threads, float* space) {
  const WinogradProblem p = {
      input_image(s), output_image(s), top_padding(s), left_padding(s), finish, x, y};
  const int64_t taps = s.kernel * s.kernel;
  const auto run = pick_by_taps(s, &convolve_images<5, 4, 4>, &convolve_images<6, 4, 4>,
                                &convolve_images<6, 3, 3>, &convolve_images<6, 2, 2>);
  run(p, packed ? w : nullptr, {w, s.kernel, s.channels * taps, taps, false}, threads, space);
}

inline void backward_data(const WinogradShape& s, const float* w, const float* dy, float* dx,
                          bool add, int threads, float* space) {
  WinogradProblem p = {output_image(s),
                       input_image(s),
                       top_padding(s),
                       left_padding(s),
                       {nullptr, false, add},
                       dy,
                       dx};
  const int64_t taps = s.kernel * s.kernel;
  WeightStrides weights = {w, s.kernel, taps, s.channels * taps, false};
  if (uses_dy_tiles(s)) {
    const int64_t image = s.height * s.width * s.channels;
    if (!add)
      parallel_for(threads, s.batch, [=](int64_t begin, int64_t end) {
        std::memset(dx + begin * image, 0, (end - begin) * image * sizeof(float));
      });
    p.finish.add = true;
    const auto run = pick_by_taps(s, &convolve_images<5, 4, 5>, &convolve_images<6, 4, 6>,
                                  &convolve_images<6, 3, 6>, &convolve_images<6, 2, 6>);
    run(p, nullptr, weights, threads, space);
  } else {
    p.pad_h = tap_count(s) - 1 - p.pad_h;
    p.pad_w = tap_count(s) - 1 - p.pad_w;
    weights.turn = true;
    const auto run = pick_by_taps(s, &convolve_images<5, 4, 4>, &convolve_images<6, 4, 4>,
                                  &convolve_images<6, 3, 3>, &convolve_images<6, 2, 2>);
    run(p, nullptr, weights, threads, space);
  }
}

inline void backward_weight(const WinogradShape& s, const float* x, const float* dy, float* dw,
                            bool add, int threads, float* space) {
  // The gradient is only read.
  const WinogradProblem p = {input_image(s),        output_image(s),         top_padding(s),
                             left_padding(s),       {nullptr, false, false}, x,
                             const_cast<float*>(dy)};
  const auto run = pick_by_taps(s, &correlate_all<5, 4>, &correlate_all<6, 4>, &correlate_all<6, 3>,
                                &correlate_all<6, 2>);
  run(p, s.kernel, add, dw, threads, space);
}

inline constexpr WinogradFunctions WINOGRAD_FUNCTIONS = {
    &scratch_floats, &packed_size, &pack_weights, &forward, &backward_data, &backward_weight};
