// Gradients of images of few channels, as the last layer of a generator makes them, at one CPU
// level; after products_loops.h. Included by products.h for each level.
//
// Each pixel of dy makes its window in dx: a product of dy's pixels by all weights, with what lies
// in a row of the window side by side, so that it is added to dx as one piece of memory. Libraries'
// kernels have a vector for the channels, of which few lanes are used then.

constexpr int64_t SPREAD_PIXELS = 64;  // whose windows are made at a time, or a row of dy

inline int64_t spread_columns(const WindowShape& s) { return taps_of(s) * s.channels; }

inline int64_t spread_rows(const WindowShape& s) {  // of dy at a time
  return std::max<int64_t>(1, SPREAD_PIXELS / std::max<int64_t>(s.out_width, 1));
}

// Floats of scratch: the weights, and the windows of each thread.
inline int64_t spread_scratch(const WindowShape& s, int threads) {
  const int64_t width = vectors_of(spread_columns(s)) * LANES;
  return lines(s.filters * width) +
         threads * (spread_rows(s) * s.out_width * width + FLOATS_APART);
}

// to += from, without masked stores: what follows would wait for them, though it lies behind.
inline void add_piece(const float* from, float* to, int64_t n) {
  for (; n >= LANES; n -= LANES, from += LANES, to += LANES) store(to, load(to) + load(from));
#if defined(__GNUC__)
  typedef float Loose4 __attribute__((vector_size(16), aligned(4), may_alias));
  for (; n >= 4; n -= 4, from += 4, to += 4)
    *reinterpret_cast<Loose4*>(to) += *reinterpret_cast<const Loose4*>(from);
#endif
  for (; n > 0; --n) *to++ += *from++;
}

// Weights (filters, channels, kernel_h, kernel_w) as panels of columns (row, column, channel).
inline void pack_spread(const WindowShape& s, const float* w, float* to) {
  const int64_t taps = taps_of(s), n = spread_columns(s);
  each_panel(0, vectors_of(n), n, WIDTH, [&](int64_t j, int64_t end) {
    const int64_t width = vectors_of(end - j) * LANES;
    for (int64_t f = 0; f < s.filters; ++f, to += width, w += s.channels * taps)
      for (int64_t i = 0; i < width; ++i)
        to[i] = j + i < end ? w[(j + i) % s.channels * taps + (j + i) / s.channels] : 0;
    w -= s.filters * s.channels * taps;
  });
}

// Windows of the pixels of row y of dy, `row` floats apart, to rows begin .. end of an image's dx.
inline void spread_row(const WindowShape& s, const float* windows, int64_t row, int64_t y,
                       int64_t begin, int64_t end, float* dx) {
  const int64_t length = s.kernel_w * s.channels;
  const int64_t turns = (s.kernel_w + s.stride_w - 1) / s.stride_w;  // so that none meets the next
  for (int64_t a = 0; a < s.kernel_h; ++a, windows += length) {
    const int64_t at = y * s.stride_h - s.pad_h + a;
    if (at < begin || at >= end) continue;
    float* to = dx + at * s.width * s.channels;
    for (int64_t turn = 0; turn < turns; ++turn)
      for (int64_t x = turn; x < s.out_width; x += turns) {
        const int64_t left = x * s.stride_w - s.pad_w;
        const int64_t first = std::max<int64_t>(0, -left);
        const int64_t last = std::min(s.kernel_w, s.width - left);
        if (first < last)
          add_piece(windows + x * row + first * s.channels, to + (left + first) * s.channels,
                    (last - first) * s.channels);
      }
  }
}

// dx = gradient of x, or dx += with `add`; windows are not dilated. Images are shared out, or rows
// of them where they are few. The order of the sums does not depend on the number of threads.
inline void spread_data(const WindowShape& s, const float* w, const float* dy, float* dx, bool add,
                        int threads, float* space) {
  const int64_t n = spread_columns(s), row = vectors_of(n) * LANES, step = spread_rows(s);
  const int64_t own = step * s.out_width * row + FLOATS_APART, line = s.width * s.channels;
  const int64_t strips = s.batch >= threads ? 1 : (threads + s.batch - 1) / s.batch;
  const Piece piece = {0, 0};
  const Target target = {0, 0, 1};
  pack_spread(s, w, space);
  float* all = space + lines(s.filters * row);
  const int64_t units = s.batch * strips, parts = std::min<int64_t>(threads, units);
  for_parts(parts, [&](int64_t part) {
    float* windows = all + part * own;
    for (int64_t u = cut(units, part, parts); u < cut(units, part + 1, parts); ++u) {
      const int64_t image = u / strips, begin = cut(s.height, u % strips, strips);
      const int64_t end = cut(s.height, u % strips + 1, strips);
      const float* from = dy + image * pixels_out(s) * s.filters;
      float* to = dx + image * s.height * line;
      if (!add) std::fill(to + begin * line, to + end * line, 0.0f);
      // rows of dy whose windows reach these
      const int64_t reach = begin + s.pad_h - s.kernel_h + 1;
      int64_t y = reach > 0 ? (reach + s.stride_h - 1) / s.stride_h : 0;
      const int64_t stop = std::min(s.out_height, (end - 1 + s.pad_h) / s.stride_h + 1);
      for (; y < stop && begin < end; y += step) {
        const int64_t rows = std::min(step, stop - y), count = rows * s.out_width;
        const float* pixels = from + y * s.out_width * s.filters;
        const Job job = {pixels, s.filters, s.filters, row, false, false};
        const float* panel = space;
        each_panel(0, vectors_of(n), n, WIDTH, [&](int64_t j, int64_t j_end) {
          rows_of<true>(job, panel, j_end - j, target, &piece, windows + j, nullptr, 0, count);
          panel += s.filters * vectors_of(j_end - j) * LANES;
        });
        for (int64_t i = 0; i < rows; ++i)
          spread_row(s, windows + i * s.out_width * row, row, y + i, begin, end, to);
      }
    }
  });
}
