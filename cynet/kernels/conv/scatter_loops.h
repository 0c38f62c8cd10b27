// Gradients of images with few channels: each pixel of dy adds its window to dx; at one CPU level.
// After small_loops.h; included by small.h for each level.
//
// Each pixel of dy adds its window to dx. Here dy's pixels are multiplied by all weights in one
// matrix product whose columns are (row, column, channel), so a row of the window is one contiguous
// term, which is added to dx. oneDNN's kernels use a vector for the channels, most of whose lanes
// are empty if there are few, as in the last layer of a generator. More channels than a chunk are
// done chunk by chunk, with weights packed beforehand (scatter_pack_w), so that few images can be
// shared among threads.

constexpr int64_t SCATTER_PIXELS = 64;  // maximum pixels of a block of rows of dy
constexpr int64_t SCATTER_CHANNELS = 32;  // channels of a chunk

inline int64_t scatter_chunk_count(const ConvWindow& s) {
  return (s.channels + SCATTER_CHANNELS - 1) / SCATTER_CHANNELS;
}

// A chunk of channels, from `first` on: columns and offset of its packed weights.
struct ScatterChunk {
  int64_t first, channels, columns, row, begin;

  ScatterChunk(const ConvWindow& s, int64_t i)
      : first(i * SCATTER_CHANNELS),
        channels(std::min(SCATTER_CHANNELS, s.channels - first)),
        columns(tap_count(s) * channels),
        row(vector_count(columns) * LANES),
        begin(i * round_to_16(s.filters * vector_count(tap_count(s) * SCATTER_CHANNELS) * LANES)) {}
};

inline int64_t scatter_row_count(const ConvWindow& s) {  // rows of dy in a block
  return std::max<int64_t>(1, SCATTER_PIXELS / std::max<int64_t>(s.out_width, 1));
}

inline int64_t scatter_packed_floats(const ConvWindow& s) {
  const ScatterChunk last(s, scatter_chunk_count(s) - 1);
  return last.begin + round_to_16(s.filters * last.row);
}

// Floats of scratch: the weights if they are not packed, and the windows of each thread.
inline int64_t scatter_scratch(const ConvWindow& s, int threads, bool packed) {  // floats
  return (packed ? 0 : scatter_packed_floats(s)) +
         threads * (scatter_row_count(s) * s.out_width * ScatterChunk(s, 0).row + FLOATS_APART);
}

// to += from, without masked stores: later loads wait for a masked store even without overlap.
inline void add_floats(const float* from, float* to, int64_t n) {
  for (; n >= LANES; n -= LANES, from += LANES, to += LANES) store(to, load(to) + load(from));
#if defined(__GNUC__)
  typedef float Loose4 __attribute__((vector_size(16), aligned(4), may_alias));
  for (; n >= 4; n -= 4, from += 4, to += 4)
    *reinterpret_cast<Loose4*>(to) += *reinterpret_cast<const Loose4*>(from);
#endif
  for (; n > 0; --n) *to++ += *from++;
}

// Packs weights (filters, channels, kernel_h, kernel_w) to panels of (row, column, channel).
inline void scatter_pack_w(const ConvWindow& s, const float* w, int threads, float* to) {
  const int64_t taps = tap_count(s), chunks = scatter_chunk_count(s);
  const int64_t parts = std::min<int64_t>(threads, chunks);
  for_parts(parts, [&](int64_t part) {
    for (int64_t i = part_start(chunks, part, parts); i < part_start(chunks, part + 1, parts);
         ++i) {
      const ScatterChunk chunk(s, i);
      float* panel = to + chunk.begin;
      for_panels(0, vector_count(chunk.columns), chunk.columns, WIDTH, [&](int64_t j, int64_t end) {
        const int64_t width = vector_count(end - j) * LANES;
        for (int64_t f = 0; f < s.filters; ++f, panel += width) {
          const float* from = w + (f * s.channels + chunk.first) * taps;
          int64_t tap = j / chunk.channels, c = j % chunk.channels;
          for (int64_t at = 0; at < end - j; ++at) {
            panel[at] = from[c * taps + tap];
            if (++c == chunk.channels) {
              c = 0;
              ++tap;
            }
          }
          std::fill(panel + (end - j), panel + width, 0.0f);
        }
      });
    }
  });
}

// Adds the windows of the pixels of row y of dy to the rows begin .. end of an image's dx; `dx` is
// the chunk's first channel.
inline void add_row_windows(const ConvWindow& s, const ScatterChunk& chunk, const float* windows,
                            int64_t y, int64_t begin, int64_t end, float* dx) {
  const int64_t length = s.kernel_w * chunk.channels;
  // the windows of one pass do not overlap
  const int64_t passes = (s.kernel_w + s.stride_w - 1) / s.stride_w;
  const bool whole = chunk.channels == s.channels;
  for (int64_t a = 0; a < s.kernel_h; ++a, windows += length) {
    const int64_t at = y * s.stride_h - s.pad_h + a;
    if (at < begin || at >= end) continue;
    float* to = dx + at * s.width * s.channels;
    for (int64_t pass = 0; pass < passes; ++pass)
      for (int64_t x = pass; x < s.out_width; x += passes) {
        const int64_t left = x * s.stride_w - s.pad_w;
        const int64_t first = std::max<int64_t>(0, -left);
        const int64_t last = std::min(s.kernel_w, s.width - left);
        const float* from = windows + x * chunk.row + first * chunk.channels;
        float* place = to + (left + first) * s.channels;
        if (whole && first < last) add_floats(from, place, (last - first) * s.channels);
        for (int64_t b = first; !whole && b < last; ++b) {
          add_floats(from, place, chunk.channels);
          from += chunk.channels;
          place += s.channels;
        }
      }
  }
}

// dx = gradient of x, or dx += if `add`; windows are not dilated. Threads share images and chunks
// of channels, or rows if these are few. The order of the sums does not depend on the number of
// threads. If `packed` is given, w is not read.
inline void scatter_to_dx(const ConvWindow& s, const float* w, const float* packed, const float* dy,
                          float* dx, bool add, int threads, float* space) {
  const int64_t chunks = scatter_chunk_count(s), step = scatter_row_count(s),
                line = s.width * s.channels;
  const int64_t own = step * s.out_width * ScatterChunk(s, 0).row + FLOATS_APART;
  const int64_t images = s.batch * chunks;
  const int64_t strips = images >= threads ? 1 : (threads + images - 1) / images;
  const TermOffsets term = {0, 0};
  const ResultPart target = {0, 0, 1};
  if (!packed) {
    scatter_pack_w(s, w, threads, space);
    packed = space;
    space += scatter_packed_floats(s);
  }
  const int64_t units = images * strips, parts = std::min<int64_t>(threads, units);
  for_parts(parts, [&](int64_t part) {
    float* windows = space + part * own;
    for (int64_t u = part_start(units, part, parts); u < part_start(units, part + 1, parts); ++u) {
      const ScatterChunk chunk(s, u / strips / s.batch);
      const int64_t image = u / strips % s.batch, begin = part_start(s.height, u % strips, strips);
      const int64_t end = part_start(s.height, u % strips + 1, strips);
      const float* from = dy + image * output_pixels(s) * s.filters;
      float* to = dx + image * s.height * line + chunk.first;
      for (int64_t i = begin * s.width; !add && i < end * s.width; ++i)
        std::fill_n(to + i * s.channels, chunk.channels, 0.0f);
      // The rows of dy whose windows touch these rows of dx.
      const int64_t reach = begin + s.pad_h - s.kernel_h + 1;
      int64_t y = reach > 0 ? (reach + s.stride_h - 1) / s.stride_h : 0;
      const int64_t stop = std::min(s.out_height, (end - 1 + s.pad_h) / s.stride_h + 1);
      for (; y < stop && begin < end; y += step) {
        const int64_t rows = std::min(step, stop - y), count = rows * s.out_width;
        const float* pixels = from + y * s.out_width * s.filters;
        const TileJob job = {pixels, s.filters, s.filters, chunk.row, false, false};
        const float* panel = packed + chunk.begin;
        for_panels(0, vector_count(chunk.columns), chunk.columns, WIDTH,
                   [&](int64_t j, int64_t j_end) {
                     compute_rows<true>(job, panel, j_end - j, target, &term, windows + j, nullptr,
                                        0, count);
                     panel += s.filters * vector_count(j_end - j) * LANES;
                   });
        for (int64_t i = 0; i < rows; ++i)
          add_row_windows(s, chunk, windows + i * s.out_width * chunk.row, y + i, begin, end, to);
      }
    }
  });
}
