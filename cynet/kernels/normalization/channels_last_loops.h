// Loops of channels_last.h, compiled for each CPU level (levels.h), after simd.h.
//
// Vectors are as wide as the level's: the compiler would split wider ones, and compare their
// elements one by one. Sums of a block of rows are added in double. Blocks have a fixed number of
// rows, so sums do not depend on the number of threads.

#ifdef __GNUC__
// A cache line of channels.
constexpr int kLanes = 16, kParts = kLanes / LANES;  // channels; vectors for them
struct Lanes {  // a cache line of channels
  Vec part[kParts] = {};
};

template <typename F>
CYNET_XINLINE Lanes make_lanes(F&& f) {  // part i is f(i)
  Lanes v;
#pragma GCC unroll 4
  for (int i = 0; i < kParts; ++i) v.part[i] = f(i);
  return v;
}

CYNET_XINLINE Lanes operator+(const Lanes& a, const Lanes& b) {
  return make_lanes([&](int i) CYNET_XLAMBDA { return a.part[i] + b.part[i]; });
}
CYNET_XINLINE Lanes operator-(const Lanes& a, const Lanes& b) {
  return make_lanes([&](int i) CYNET_XLAMBDA { return a.part[i] - b.part[i]; });
}
CYNET_XINLINE Lanes operator*(const Lanes& a, const Lanes& b) {
  return make_lanes([&](int i) CYNET_XLAMBDA { return a.part[i] * b.part[i]; });
}
CYNET_XINLINE Lanes& operator+=(Lanes& a, const Lanes& b) { return a = a + b; }

// v where `sign` is positive, else 0.
CYNET_XINLINE Lanes where_positive(const Lanes& sign, const Lanes& v) {
  return make_lanes([&](int i) CYNET_XLAMBDA { return sign.part[i] > 0 ? v.part[i] : Vec{}; });
}
CYNET_XINLINE Lanes rectify(const Lanes& v) {
  return make_lanes([&](int i) CYNET_XLAMBDA { return rectify(v.part[i]); });
}

// Loads or stores the first n lanes; loads give 0 in other lanes.
CYNET_XINLINE Lanes load_lanes(const float* p, int n) {
  return make_lanes([&](int i) CYNET_XLAMBDA {
    const int left = n - i * LANES;
    return left >= LANES ? load(p + i * LANES) : left > 0 ? load_part(p + i * LANES, left) : Vec{};
  });
}
CYNET_XINLINE void store_lanes(float* p, const Lanes& v, int n) {
#pragma GCC unroll 4
  for (int i = 0; i < kParts; ++i) {
    const int left = n - i * LANES;
    if (left >= LANES) store(p + i * LANES, v.part[i]);
    else if (left > 0) store_part(p + i * LANES, v.part[i], left);
  }
}

CYNET_XINLINE void store_lanes_past_cache(float* p, const Lanes& v) {
#pragma GCC unroll 4
  for (int i = 0; i < kParts; ++i) store_past_cache(p + i * LANES, v.part[i]);
}
#else  // without vector types: one lane
constexpr int kLanes = 1;  // channels that are computed together
typedef float Lanes;

CYNET_XINLINE Lanes where_positive(Lanes sign, Lanes v) { return sign > 0 ? v : 0; }
CYNET_XINLINE Lanes rectify(Lanes v) { return v < 0 ? 0 : v; }
CYNET_XINLINE Lanes load_lanes(const float* p, int) { return *p; }
CYNET_XINLINE void store_lanes(float* p, Lanes v, int) { *p = v; }
CYNET_XINLINE void store_lanes_past_cache(float* p, Lanes v) { *p = v; }
#endif

// Calls f(n, c) for each cache line of C channels: n channels from c on, a constant for whole
// lines.
template <typename F>
CYNET_XINLINE void for_cache_lines(int64_t C, F&& f) {
  int64_t c = 0;
  for (; c + kLanes <= C; c += kLanes) f(std::integral_constant<int, kLanes>(), c);
  if (c < C) f(static_cast<int>(C - c), c);
}

// Computes two sums over rows per channel in double, total[part][0|1][c]: terms(n, c) returns a
// function of a row's offset that adds to two vectors.
template <typename Terms>
static inline void sum_columns(const NormShape* s, int threads, double* total, const Terms& terms) {
  const int64_t C = s->channels, rows = s->rows, each = norm_row_count(s),
                parts = norm_part_count(s);
  parallel_for(threads, parts, [=](int64_t begin, int64_t end) {
    // rows are read backwards: the last rows are still in the cache, the next pass starts with the
    // first
    for (int64_t part = end - 1; part >= begin; --part) {
      double* first = total + part * 2 * C;
      double* second = first + C;
      for (int64_t c = 0; c < 2 * C; ++c) first[c] = 0;
      const int64_t first_row = part * each, last = std::min(rows, first_row + each);
      const int64_t apart = (last - first_row) / kPartRows, far = apart * C;
      int64_t block = 0;
      do {
        const int64_t stop = std::min(apart, block + kBlockRows / kPartRows);
        for_cache_lines(C, [=](auto n, int64_t c) {
          const auto term = terms(n, c);
          Lanes a0 = {}, b0 = {}, a1 = {}, b1 = {};
          for (int64_t at = (first_row + block) * C + c; at < (first_row + stop) * C; at += C) {
            term(at, a0, b0);
            term(at + far, a1, b1);
            term(at + 2 * far, a0, b0);
            term(at + 3 * far, a1, b1);
          }
          if (stop == apart)  // rows left over
            for (int64_t row = first_row + kPartRows * apart; row < last; ++row)
              term(row * C + c, a0, b0);
          a0 += a1;
          b0 += b1;
          float a[kLanes], b[kLanes];
          std::memcpy(a, &a0, sizeof a);
          std::memcpy(b, &b0, sizeof b);
          for (int i = 0; i < n; ++i) first[c + i] += a[i];
          for (int i = 0; i < n; ++i) second[c + i] += b[i];
        });
        block = stop;
      } while (block < apart);
    }
  });
}

// Calls map(offset) for each row; maps(n, c) returns map, which writes the row's channels. Each
// thread works on two halves of its rows alternately. They are half a page apart, because a
// processor takes a load to depend on the last store if both addresses agree in their last 12 bits.
template <typename Maps>
static inline void for_norm_rows(const NormShape* s, int threads, const Maps& maps) {
  const int64_t C = s->channels;
  parallel_for(threads, s->rows, [=](int64_t begin, int64_t end) {
    const int64_t few = std::max<int64_t>(1, kMapFloats / C);  // fits the first-level cache
    int64_t half = (end - begin) / 2;
    half -= std::min(half, (half * C + kPageFloats / 2) % kPageFloats / C);
    const int64_t far = half * C;
    for (int64_t block = 0; block < half; block += few) {
      const int64_t from = begin + block, stop = begin + std::min(half, block + few);
      for_cache_lines(C, [=](auto n, int64_t c) {
        const auto map = maps(n, c);
        for (int64_t at = from * C + c; at < stop * C; at += C) {
          map(at);
          map(at + far);
        }
      });
    }
    for_cache_lines(C, [=](auto n, int64_t c) {  // rows left over
      const auto map = maps(n, c);
      for (int64_t at = (begin + 2 * half) * C + c; at < end * C; at += C) map(at);
    });
    fence_past_cache_stores();  // if map used non-temporal stores
  });
}

// Computes mean[c] and the biased variance[c] as doubles at the start of `space`.
static void norm_statistics(const NormShape* s, const float* x, int threads, double* space) {
  const int64_t C = s->channels;
  // Sums are relative to the first row, so that a large mean costs no digits.
  sum_columns(s, threads, space, [=](auto n, int64_t c) {
    const Lanes around = load_lanes(x + c, n);
    return [=](int64_t at, Lanes& a, Lanes& b) CYNET_XLAMBDA {
      const Lanes d = load_lanes(x + at, n) - around;
      a += d;
      b += d * d;
    };
  });
  for (int64_t part = 1; part < norm_part_count(s); ++part)
    for (int64_t c = 0; c < 2 * C; ++c) space[c] += space[part * 2 * C + c];
  for (int64_t c = 0; c < C; ++c) {
    const double shift = space[c] / s->rows;
    const double variance = space[C + c] / s->rows - shift * shift;
    space[c] = x[c] + shift;
    space[C + c] = variance > 0 ? variance : 0;
  }
}

// y (+)= act(x * scale + shift + residual) with a scale and a shift per channel. PLAIN: nothing is
// added. PAST: y consists of whole cache lines and is written by non-temporal stores.
template <bool PLAIN, bool RELU, bool PAST>
static inline void norm_apply_variant(const NormShape* s, const float* x, const float* scale,
                                      const float* shift, const float* residual, float* y, bool add,
                                      int threads) {
  for_norm_rows(s, threads, [=](auto n, int64_t c) {
    const Lanes factor = load_lanes(scale + c, n), offset = load_lanes(shift + c, n);
    return [=](int64_t at) CYNET_XLAMBDA {
      Lanes v = load_lanes(x + at, n) * factor + offset;
      if (!PLAIN && residual) v += load_lanes(residual + at, n);
      if (RELU) v = rectify(v);
      if (!PLAIN && add) v += load_lanes(y + at, n);
      if (PAST) store_lanes_past_cache(y + at, v);
      else store_lanes(y + at, v, n);
    };
  });
}

template <bool RELU>
static inline void norm_apply_relu(const NormShape* s, const float* x, const float* scale,
                                   const float* shift, const float* residual, float* y, bool add,
                                   int threads) {
  const bool plain = !residual && !add;
  const bool past = s->rows * s->channels * int64_t(sizeof(float)) > BEYOND_CACHES && x != y &&
                    s->channels % kLanes == 0 && reinterpret_cast<uintptr_t>(y) % 64 == 0;
  const auto apply = !plain ? norm_apply_variant<false, RELU, false>
                     : past ? norm_apply_variant<true, RELU, true>
                            : norm_apply_variant<true, RELU, false>;
  apply(s, x, scale, shift, residual, y, add, threads);
}

static void norm_apply(const NormShape* s, const float* x, const float* scale, const float* shift,
                       const float* residual, float* y, bool add, int threads) {
  const auto apply = s->relu ? norm_apply_relu<true> : norm_apply_relu<false>;
  apply(s, x, scale, shift, residual, y, add, threads);
}

// The array from which relu's mask is computed.
enum NormMask { NO_MASK, MASK_OF_X, MASK_OF_Y };

// Calls f with the kind of mask as a compile-time constant.
template <typename F>
static inline void call_for_mask(const NormShape* s, F&& f) {
  if (!s->relu) f(std::integral_constant<NormMask, NO_MASK>());
  else if (s->residual) f(std::integral_constant<NormMask, MASK_OF_Y>());
  else f(std::integral_constant<NormMask, MASK_OF_X>());
}

// Returns f(offset, x): the gradient of the normalized values of n channels.
template <NormMask MASK, typename N>
CYNET_XINLINE auto masked_gradient(const NormGradient* g, N n, int64_t c) {
  const float *dy = g->dy, *y = g->y;
  const Lanes factor = MASK == MASK_OF_X ? load_lanes(g->scale + c, n) : Lanes{};
  const Lanes offset = MASK == MASK_OF_X ? load_lanes(g->shift + c, n) : Lanes{};
  return [=](int64_t at, const Lanes& x) CYNET_XLAMBDA {
    const Lanes dz = load_lanes(dy + at, n);
    if constexpr (MASK == NO_MASK) return dz;
    if constexpr (MASK == MASK_OF_Y) return where_positive(load_lanes(y + at, n), dz);
    return where_positive(x * factor + offset, dz);
  };
}

template <NormMask MASK>
static inline void norm_gradient_sums(const NormShape* s, const NormGradient* g, int threads,
                                      double* space) {
  const float* const in = g->x;
  sum_columns(s, threads, space, [=](auto n, int64_t c) {
    const auto upstream = masked_gradient<MASK>(g, n, c);
    const Lanes mean = load_lanes(g->mean + c, n);
    return [=](int64_t at, Lanes& a, Lanes& b) CYNET_XLAMBDA {
      const Lanes x = load_lanes(in + at, n), dz = upstream(at, x);
      a += dz;
      b += dz * (x - mean);
    };
  });
}

// dx = p dz + q x + r. ONLY: no other gradient is computed.
template <NormMask MASK, bool ONLY>
static inline void norm_input_gradient(const NormShape* s, const NormGradient* g, const float* p,
                                       const float* q, const float* r, int threads) {
  const float* const in = g->x;
  float *const dx = g->dx, *const dresidual = g->dresidual;
  const bool add_x = g->add_x, add_residual = g->add_residual;
  for_norm_rows(s, threads, [=](auto n, int64_t c) {
    const auto upstream = masked_gradient<MASK>(g, n, c);
    const Lanes a = load_lanes(p + c, n), b = load_lanes(q + c, n), d = load_lanes(r + c, n);
    return [=](int64_t at) CYNET_XLAMBDA {
      const Lanes x = load_lanes(in + at, n), dz = upstream(at, x);
      if (ONLY || dx) {
        Lanes v = dz * a + x * b + d;
        if (!ONLY && add_x) v += load_lanes(dx + at, n);
        store_lanes(dx + at, v, n);
      }
      if (!ONLY && dresidual)
        store_lanes(dresidual + at, add_residual ? dz + load_lanes(dresidual + at, n) : dz, n);
    };
  });
}

static void norm_backward(const NormShape* s, const NormGradient* g, int threads, double* space) {
  const int64_t C = s->channels;
  call_for_mask(s, [=](auto mask) { norm_gradient_sums<mask.value>(s, g, threads, space); });
  for (int64_t part = 1; part < norm_part_count(s); ++part)
    for (int64_t c = 0; c < 2 * C; ++c) space[c] += space[part * 2 * C + c];
  float* const p = reinterpret_cast<float*>(space + 2 * norm_part_count(s) * C);
  float* const q = p + C;
  float* const r = q + C;
  for (int64_t c = 0; c < C; ++c) {
    const double total = space[c], product = space[C + c], inv = g->inv_std[c];
    const double gamma = s->fixed ? 1.0 : g->gamma[c];
    if (g->dbeta) g->dbeta[c] = static_cast<float>((g->add_beta ? g->dbeta[c] : 0) + total);
    if (g->dgamma) {
      const double d = s->fixed ? 0.0 : product * inv;
      g->dgamma[c] = static_cast<float>((g->add_gamma ? g->dgamma[c] : 0) + d);
    }
    const double b = g->constant ? 0 : -gamma * inv * inv * inv * product / s->rows;
    p[c] = static_cast<float>(gamma * inv);
    q[c] = static_cast<float>(b);
    r[c] = static_cast<float>(g->constant ? 0 : -gamma * inv * total / s->rows - b * g->mean[c]);
  }
  if (!g->dx && !g->dresidual) return;
  const bool only = !g->dresidual && !g->add_x;
  call_for_mask(s, [=](auto mask) {
    constexpr NormMask MASK = mask.value;
    const auto map = only ? norm_input_gradient<MASK, true> : norm_input_gradient<MASK, false>;
    map(s, g, p, q, r, threads);
  });
}
