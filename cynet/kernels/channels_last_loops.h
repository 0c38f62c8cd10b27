// Loops of channels_last.h, after vectors.h, compiled once for each level of CPU capability
// (levels.h).
//
// Channels are taken a vector register at a time: vectors wider than the level's would be taken
// apart, and comparisons of such element by element. Sums are kept in double once a block of rows
// is done, and are cut by rows in fixed parts, so they do not depend on the number of threads.

#ifdef __GNUC__
typedef Vec Lanes;
constexpr int kLanes = LANES;

// Types of n lanes.
template <int n>
struct Vector {
  typedef float Floats __attribute__((vector_size(n * sizeof(float))));
  typedef int32_t Marks __attribute__((vector_size(n * sizeof(int32_t))));
};

// The first n of the lanes; the rest is 0 and is not stored.
CYNET_XINLINE Lanes take(const float* p, int n) { return n == LANES ? load(p) : load_part(p, n); }
CYNET_XINLINE void put(float* p, const Lanes& v, int n) {
  if (n == LANES) store(p, v);
  else store_part(p, v, n);
}
#else  // no vector types: one lane
typedef float Lanes;
constexpr int kLanes = 1;

template <int n>
struct Vector {
  typedef float Floats;
  typedef int32_t Marks;
};

CYNET_XINLINE Lanes take(const float* p, int) { return *p; }
CYNET_XINLINE void put(float* p, Lanes v, int) { *p = v; }
#endif

// Sum of what `term` gives for each row, into two doubles a channel and part: total[part][0|1][c].
// term(row, c, n, first, second) adds to two vectors.
template <typename Term>
static inline void norm_sums(const NormShape* s, int threads, double* total, Term term) {
  const int64_t C = s->channels, parts = norm_parts(s);
  parallel_for(threads, parts, [=](int64_t begin, int64_t end) {
    for (int64_t part = begin; part < end; ++part) {
      double* first = total + part * 2 * C;
      double* second = first + C;
      for (int64_t c = 0; c < 2 * C; ++c) first[c] = 0;
      const int64_t last = std::min(s->rows, (part + 1) * kRowsAPart);
      for (int64_t block = part * kRowsAPart; block < last; block += kRowsABlock) {
        const int64_t stop = std::min(last, block + kRowsABlock);
        for (int64_t c = 0; c < C; c += kLanes) {
          const int n = static_cast<int>(std::min<int64_t>(kLanes, C - c));
          Lanes a0 = {}, b0 = {}, a1 = {}, b1 = {};
          int64_t row = block;
          for (; row + 1 < stop; row += 2) {
            term(row, c, n, a0, b0);
            term(row + 1, c, n, a1, b1);
          }
          if (row < stop) term(row, c, n, a0, b0);
          a0 += a1;
          b0 += b1;
          float a[kLanes], b[kLanes];
          std::memcpy(a, &a0, sizeof a);
          std::memcpy(b, &b0, sizeof b);
          for (int i = 0; i < n; ++i) first[c + i] += a[i];
          for (int i = 0; i < n; ++i) second[c + i] += b[i];
        }
      }
    }
  });
}

// Mean and biased variance of each channel into mean[c] and variance[c] (doubles in `space`'s
// front).
static void norm_statistics(const NormShape* s, const float* x, int threads, double* space) {
  const int64_t C = s->channels;
  // around the first row, so that a large mean costs no digits
  norm_sums(s, threads, space, [=](int64_t row, int64_t c, int n, Lanes& a, Lanes& b) {
    const Lanes d = take(x + row * C + c, n) - take(x + c, n);
    a += d;
    b += d * d;
  });
  for (int64_t part = 1; part < norm_parts(s); ++part)
    for (int64_t c = 0; c < 2 * C; ++c) space[c] += space[part * 2 * C + c];
  for (int64_t c = 0; c < C; ++c) {
    const double shift = space[c] / s->rows;
    const double variance = space[C + c] / s->rows - shift * shift;
    space[c] = x[c] + shift;
    space[C + c] = variance > 0 ? variance : 0;
  }
}

// y (+)= act(x * scale + shift + residual), scale and shift a channel.
static void norm_apply(const NormShape* s, const float* x, const float* scale, const float* shift,
                       const float* residual, float* y, bool add, int threads) {
  const int64_t C = s->channels;
  const bool relu = s->relu;
  parallel_for(threads, s->rows, [=](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const float* from = x + row * C;
      float* to = y + row * C;
      for (int64_t c = 0; c < C; c += kLanes) {
        const int n = static_cast<int>(std::min<int64_t>(kLanes, C - c));
        Lanes v = take(from + c, n) * take(scale + c, n) + take(shift + c, n);
        if (residual) v += take(residual + row * C + c, n);
        if (relu) v = v < 0 ? Lanes{} : v;
        if (add) v += take(to + c, n);
        put(to + c, v, n);
      }
    }
  });
}

static inline Lanes norm_upstream(const NormShape* s, const NormGradient* g, int64_t at, int64_t c,
                                  int n, const Lanes& x) {
  Lanes dz = take(g->dy + at, n);
  if (s->relu) {
    if (s->residual) {
      dz = take(g->y + at, n) > 0 ? dz : Lanes{};
    } else {
      dz = x * take(g->scale + c, n) + take(g->shift + c, n) > 0 ? dz : Lanes{};
    }
  }
  return dz;
}

static void norm_backward(const NormShape* s, const NormGradient* g, int threads, double* space) {
  const int64_t C = s->channels;
  norm_sums(s, threads, space, [=](int64_t row, int64_t c, int n, Lanes& a, Lanes& b) {
    const Lanes x = take(g->x + row * C + c, n);
    const Lanes dz = norm_upstream(s, g, row * C + c, c, n, x);
    a += dz;
    b += dz * (x - take(g->mean + c, n));
  });
  for (int64_t part = 1; part < norm_parts(s); ++part)
    for (int64_t c = 0; c < 2 * C; ++c) space[c] += space[part * 2 * C + c];
  float* const p = reinterpret_cast<float*>(space + 2 * norm_parts(s) * C);
  float* const q = p + C;
  float* const r = q + C;
  for (int64_t c = 0; c < C; ++c) {  // dx = p dz + q x + r
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
  parallel_for(threads, s->rows, [=](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      for (int64_t c = 0; c < C; c += kLanes) {
        const int n = static_cast<int>(std::min<int64_t>(kLanes, C - c));
        const int64_t at = row * C + c;
        const Lanes x = take(g->x + at, n);
        const Lanes dz = norm_upstream(s, g, at, c, n, x);
        if (g->dx) {
          Lanes v = dz * take(p + c, n) + x * take(q + c, n) + take(r + c, n);
          if (g->add_x) v += take(g->dx + at, n);
          put(g->dx + at, v, n);
        }
        if (g->dresidual)
          put(g->dresidual + at, g->add_residual ? dz + take(g->dresidual + at, n) : dz, n);
      }
    }
  });
}

struct WindowPart {
  int64_t begin, end, counted;
};

static inline WindowPart window_part(const WindowShape* s, int axis, int64_t at) {
  WindowPart w;
  w.begin = at * s->stride[axis] - s->pad[axis];
  w.end = w.begin + s->kernel[axis];
  w.counted = std::min(w.end, s->in_size[axis] + s->pad_after[axis]) - w.begin;
  w.begin = std::max<int64_t>(w.begin, 0);
  w.end = std::min(w.end, s->in_size[axis]);
  if (!s->count_pad) w.counted = w.end - w.begin;
  w.counted = std::max<int64_t>(w.counted, 0);
  return w;
}

// f(V, c) over the channels [from, to): a vector at a time, then 4, then one; with `again` the last
// vector instead, some of it a second time.
template <typename F>
CYNET_XINLINE void over_channels(int64_t from, int64_t to, bool again, F&& f) {
  int64_t c = from;
#ifdef __GNUC__
  for (; c + LANES <= to; c += LANES) f(Vector<LANES>(), c);
  if (again && c > from && c < to) return f(Vector<LANES>(), to - LANES);
  for (; c + 4 <= to; c += 4) f(Vector<4>(), c);
#endif
  for (; c < to; ++c) f(Vector<1>(), c);
}

template <typename V>
CYNET_XINLINE typename V::Floats fetch(const float* p) {
  typename V::Floats v;
  std::memcpy(&v, p, sizeof v);
  return v;
}

// Whether `each` takes the place of the maximum v: it is larger, or the first NaN.
template <typename Floats>
CYNET_XINLINE auto window_takes(const Floats& each, const Floats& v) {
  return ~(each <= v) & (v == v);
}

// K: windows of K x K, of which each axis has all; 0: as they are
template <typename V, int K>
CYNET_XINLINE typename V::Floats window_forward(const WindowShape* s, const float* x,
                                                const WindowPart& h, const WindowPart& w,
                                                int64_t c) {
  typedef typename V::Floats Floats;
  const int64_t C = s->channels, W = s->in_size[1];
  const int64_t high = K ? K : h.end - h.begin, wide = K ? K : w.end - w.begin;
  const float* from = x + (h.begin * W + w.begin) * C + c;
  Floats v = {};
  if (s->type == 0) {
    if (high <= 0 || wide <= 0) return v - FLT_MAX;
    v = fetch<V>(from);
    for (int64_t i = 0; i < high; ++i) {
      for (int64_t j = 0; j < wide; ++j) {
        const Floats each = fetch<V>(from + (i * W + j) * C);
        v = window_takes(each, v) ? each : v;
      }
    }
    return v;
  }
  for (int64_t i = 0; i < high; ++i)
    for (int64_t j = 0; j < wide; ++j) v += fetch<V>(from + (i * W + j) * C);
  if (s->type == 1) {
    const int64_t counted = h.counted * w.counted;
    v = counted ? v / static_cast<float>(counted) : Floats{};
  }
  return v;
}

// f(the K of above) for a window
template <typename F>
CYNET_XINLINE void by_window(const WindowPart& h, const WindowPart& w, F&& f) {
  const int64_t high = h.end - h.begin, wide = w.end - w.begin;
  if (high == 2 && wide == 2) f(std::integral_constant<int, 2>());
  else if (high == 3 && wide == 3) f(std::integral_constant<int, 3>());
  else f(std::integral_constant<int, 0>());
}

static void window_pool(const WindowShape* s, const float* x, float* y, bool add, int threads) {
  const int64_t C = s->channels, OH = s->out_size[0], OW = s->out_size[1];
  const int64_t image = s->in_size[0] * s->in_size[1] * C;
  parallel_for(threads, s->batch * OH, [=](int64_t begin, int64_t end) {
    for (int64_t line = begin; line < end; ++line) {
      const WindowPart h = window_part(s, 0, line % OH);
      const float* from = x + line / OH * image;
      for (int64_t j = 0; j < OW; ++j) {
        const WindowPart w = window_part(s, 1, j);
        float* out = y + (line * OW + j) * C;
        by_window(h, w, [=](auto size) {
          over_channels(0, C, !add, [=](auto kind, int64_t c) {
            typedef decltype(kind) V;
            typename V::Floats v = window_forward<V, decltype(size)::value>(s, from, h, w, c);
            if (add) v += fetch<V>(out + c);
            std::memcpy(out + c, &v, sizeof v);
          });
        });
      }
    }
  });
}

// Add one output's gradient to its window; of equal maxima the first gets it. With `fresh` the
// window's elements are written, not added to.
template <typename V, int K>
CYNET_XINLINE void window_spread(const WindowShape* s, const float* x, const float* dy,
                                 const WindowPart& h, const WindowPart& w, float* dx, int64_t c,
                                 bool fresh) {
  typedef typename V::Floats Floats;
  typedef typename V::Marks Marks;
  const int64_t C = s->channels, W = s->in_size[1], first = (h.begin * W + w.begin) * C + c;
  const int64_t high = K ? K : h.end - h.begin, wide = K ? K : w.end - w.begin;
  if (high <= 0 || wide <= 0) return;
  const Floats grad = fetch<V>(dy);
  Floats part = grad;
  Marks where = {};  // which element of the window is its maximum
  if (s->type == 0) {
    Floats best = fetch<V>(x + first);
    for (int64_t i = 0; i < high; ++i) {
      for (int64_t j = 0; j < wide; ++j) {
        const Floats each = fetch<V>(x + first + (i * W + j) * C);
        const auto take = window_takes(each, best);
        best = take ? each : best;
        where = take ? Marks{} + static_cast<int32_t>(i * wide + j) : where;
      }
    }
  } else if (s->type == 1) {
    if (!h.counted || !w.counted) return;
    part = grad / static_cast<float>(h.counted * w.counted);
  }
  for (int64_t i = 0; i < high; ++i) {
    for (int64_t j = 0; j < wide; ++j) {
      float* to = dx + first + (i * W + j) * C;
      if (s->type == 0) part = where == static_cast<int32_t>(i * wide + j) ? grad : Floats{};
      const Floats sum = fresh ? part : part + fetch<V>(to);
      std::memcpy(to, &sum, sizeof sum);
    }
  }
}

// True when every element of the input lies in exactly one window.
static bool windows_tile(const WindowShape* s) {
  for (int axis = 0; axis < 2; ++axis)
    if (s->stride[axis] != s->kernel[axis] || s->pad[axis] != 0 ||
        s->out_size[axis] * s->kernel[axis] != s->in_size[axis])
      return false;
  return true;
}

static void window_unpool(const WindowShape* s, const float* dy, const float* x, float* dx,
                          bool add, int threads) {
  const int64_t C = s->channels, OH = s->out_size[0], OW = s->out_size[1];
  const int64_t pixels = s->in_size[0] * s->in_size[1];
  const int64_t blocks = (C + kLanes - 1) / kLanes;
  // images, or where there are few, groups of channels of images
  const int64_t groups = s->batch >= threads ? 1 : std::min<int64_t>(blocks, threads);
  const bool fresh = !add && windows_tile(s);
  parallel_for(threads, s->batch * groups, [=](int64_t begin, int64_t end) {
    for (int64_t work = begin; work < end; ++work) {
      const int64_t n_image = work / groups, group = work % groups;
      const int64_t from = blocks * group / groups * kLanes;
      const int64_t to = std::min(C, blocks * (group + 1) / groups * kLanes);
      const float* in = x ? x + n_image * pixels * C : nullptr;
      float* out = dx + n_image * pixels * C;
      if (!add && !fresh)
        for (int64_t p = 0; p < pixels; ++p)
          std::memset(out + p * C + from, 0, (to - from) * sizeof(float));
      for (int64_t i = 0; i < OH; ++i) {
        const WindowPart h = window_part(s, 0, i);
        for (int64_t j = 0; j < OW; ++j) {
          const WindowPart w = window_part(s, 1, j);
          const float* grad = dy + ((n_image * OH + i) * OW + j) * C;
          by_window(h, w, [=](auto size) {
            over_channels(from, to, fresh, [=](auto kind, int64_t c) {
              window_spread<decltype(kind), decltype(size)::value>(s, in, grad + c, h, w, out, c,
                                                                   fresh);
            });
          });
        }
      }
    }
  });
}
