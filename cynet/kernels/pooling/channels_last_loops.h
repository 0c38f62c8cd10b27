// Pooling of channels-last floats over 2-d windows, compiled for each CPU level (levels.h) after
// simd.h. Included by pooling.cc.

// Types of n lanes, and the channels per unit of work.
template <int n>
struct Vector {  // vector types of n floats
#ifdef __GNUC__
  typedef float Floats __attribute__((vector_size(n * sizeof(float))));
  typedef int32_t Marks __attribute__((vector_size(n * sizeof(int32_t))));
#else
  typedef float Floats;
  typedef int32_t Marks;
#endif
};
enum { POOL_CHANNELS = 16 };

struct AxisWindow {  // a pooling window along one axis
  int64_t begin, end, counted;
};

static inline AxisWindow window_along_axis(const PoolWindow* s, int axis, int64_t at) {
  AxisWindow w;
  w.begin = at * s->stride[axis] - s->pad[axis];
  w.end = w.begin + s->kernel[axis];
  w.counted = std::min(w.end, s->in_size[axis] + s->pad_after[axis]) - w.begin;
  w.begin = std::max<int64_t>(w.begin, 0);
  w.end = std::min(w.end, s->in_size[axis]);
  if (!s->count_pad) w.counted = w.end - w.begin;
  w.counted = std::max<int64_t>(w.counted, 0);
  return w;
}

// Calls f(V, c) for the channels [from, to): whole vectors, then 4 channels, then single ones. With
// `again` the last vector overlaps the one before instead.
template <typename F>
CYNET_XINLINE void for_channels(int64_t from, int64_t to, bool again, F&& f) {
  int64_t c = from;
#ifdef __GNUC__
  for (; c + LANES <= to; c += LANES) f(Vector<LANES>(), c);
  if (again && c > from && c < to) return f(Vector<LANES>(), to - LANES);
  for (; c + 4 <= to; c += 4) f(Vector<4>(), c);
#endif
  for (; c < to; ++c) f(Vector<1>(), c);
}

template <typename V>
CYNET_XINLINE typename V::Floats load_vector(const float* p) {
  typename V::Floats v;
  std::memcpy(&v, p, sizeof v);
  return v;
}

// True if `each` replaces the maximum v: it is larger, or the first NaN.
template <typename Floats>
CYNET_XINLINE auto replaces_maximum(const Floats& each, const Floats& v) {  // larger or first NaN
  return ~(each <= v) & (v == v);
}

// K: all windows are K x K; 0: sizes are read at run time.
template <typename V, int K>
CYNET_XINLINE typename V::Floats reduce_window(const PoolWindow* s, const float* x,
                                               const AxisWindow& h, const AxisWindow& w,
                                               int64_t c) {
  typedef typename V::Floats Floats;
  const int64_t C = s->channels, W = s->in_size[1];
  const int64_t high = K ? K : h.end - h.begin, wide = K ? K : w.end - w.begin;
  const float* from = x + (h.begin * W + w.begin) * C + c;
  Floats v = {};
  if (s->type == 0) {
    if (high <= 0 || wide <= 0) return v - FLT_MAX;
    v = load_vector<V>(from);
    for (int64_t i = 0; i < high; ++i) {
      for (int64_t j = 0; j < wide; ++j) {
        const Floats each = load_vector<V>(from + (i * W + j) * C);
        v = replaces_maximum(each, v) ? each : v;
      }
    }
    return v;
  }
  for (int64_t i = 0; i < high; ++i)
    for (int64_t j = 0; j < wide; ++j) v += load_vector<V>(from + (i * W + j) * C);
  if (s->type == 1) {
    const int64_t counted = h.counted * w.counted;
    v = counted ? v / static_cast<float>(counted) : Floats{};
  }
  return v;
}

// Calls f with K of a window, or 0.
template <typename F>
CYNET_XINLINE void call_for_window_size(const AxisWindow& h, const AxisWindow& w, F&& f) {
  const int64_t high = h.end - h.begin, wide = w.end - w.begin;
  if (high == 2 && wide == 2) f(std::integral_constant<int, 2>());
  else if (high == 3 && wide == 3) f(std::integral_constant<int, 3>());
  else f(std::integral_constant<int, 0>());
}

static void pool_images(const PoolWindow* s, const float* x, float* y, bool add, int threads) {
  const int64_t C = s->channels, OH = s->out_size[0], OW = s->out_size[1];
  const int64_t image = s->in_size[0] * s->in_size[1] * C;
  parallel_for(threads, s->batch * OH, [=](int64_t begin, int64_t end) {
    for (int64_t line = begin; line < end; ++line) {
      const AxisWindow h = window_along_axis(s, 0, line % OH);
      const float* from = x + line / OH * image;
      for (int64_t j = 0; j < OW; ++j) {
        const AxisWindow w = window_along_axis(s, 1, j);
        float* out = y + (line * OW + j) * C;
        call_for_window_size(h, w, [=](auto size) {
          for_channels(0, C, !add, [=](auto kind, int64_t c) {
            typedef decltype(kind) V;
            typename V::Floats v = reduce_window<V, decltype(size)::value>(s, from, h, w, c);
            if (add) v += load_vector<V>(out + c);
            std::memcpy(out + c, &v, sizeof v);
          });
        });
      }
    }
  });
}

// Adds the gradient of an output to its window; of equal maxima the first one gets it. With `fresh`
// the elements of the window are overwritten instead.
template <typename V, int K>
CYNET_XINLINE void scatter_window_grad(const PoolWindow* s, const float* x, const float* dy,
                                       const AxisWindow& h, const AxisWindow& w, float* dx,
                                       int64_t c, bool fresh) {
  typedef typename V::Floats Floats;
  typedef typename V::Marks Marks;
  const int64_t C = s->channels, W = s->in_size[1], first = (h.begin * W + w.begin) * C + c;
  const int64_t high = K ? K : h.end - h.begin, wide = K ? K : w.end - w.begin;
  if (high <= 0 || wide <= 0) return;
  const Floats grad = load_vector<V>(dy);
  Floats part = grad;
  Marks where = {};  // index of the maximum in the window
  if (s->type == 0) {
    Floats best = load_vector<V>(x + first);
    for (int64_t i = 0; i < high; ++i) {
      for (int64_t j = 0; j < wide; ++j) {
        const Floats each = load_vector<V>(x + first + (i * W + j) * C);
        const auto take = replaces_maximum(each, best);
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
      const Floats sum = fresh ? part : part + load_vector<V>(to);
      std::memcpy(to, &sum, sizeof sum);
    }
  }
}

// True if every element of the input is in exactly one window.
static bool do_windows_tile_input(const PoolWindow* s) {
  for (int axis = 0; axis < 2; ++axis)
    if (s->stride[axis] != s->kernel[axis] || s->pad[axis] != 0 ||
        s->out_size[axis] * s->kernel[axis] != s->in_size[axis])
      return false;
  return true;
}

static void unpool_images(const PoolWindow* s, const float* dy, const float* x, float* dx, bool add,
                          int threads) {
  const int64_t C = s->channels, OH = s->out_size[0], OW = s->out_size[1];
  const int64_t pixels = s->in_size[0] * s->in_size[1];
  const int64_t blocks = (C + int64_t(POOL_CHANNELS) - 1) / int64_t(POOL_CHANNELS);
  // Divides images among threads, or groups of channels if there are few images.
  const int64_t groups = s->batch >= threads ? 1 : std::min<int64_t>(blocks, threads);
  const bool fresh = !add && do_windows_tile_input(s);
  parallel_for(threads, s->batch * groups, [=](int64_t begin, int64_t end) {
    for (int64_t work = begin; work < end; ++work) {
      const int64_t n_image = work / groups, group = work % groups;
      const int64_t from = blocks * group / groups * int64_t(POOL_CHANNELS);
      const int64_t to = std::min(C, blocks * (group + 1) / groups * int64_t(POOL_CHANNELS));
      const float* in = x ? x + n_image * pixels * C : nullptr;
      float* out = dx + n_image * pixels * C;
      if (!add && !fresh)
        for (int64_t p = 0; p < pixels; ++p)
          std::memset(out + p * C + from, 0, (to - from) * sizeof(float));
      for (int64_t i = 0; i < OH; ++i) {
        const AxisWindow h = window_along_axis(s, 0, i);
        for (int64_t j = 0; j < OW; ++j) {
          const AxisWindow w = window_along_axis(s, 1, j);
          const float* grad = dy + ((n_image * OH + i) * OW + j) * C;
          call_for_window_size(h, w, [=](auto size) {
            for_channels(from, to, fresh, [=](auto kind, int64_t c) {
              scatter_window_grad<decltype(kind), decltype(size)::value>(s, in, grad + c, h, w, out,
                                                                         c, fresh);
            });
          });
        }
      }
    }
  });
}
