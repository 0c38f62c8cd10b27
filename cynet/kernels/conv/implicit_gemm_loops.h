// Implicit gemm on images that are read in place, at one CPU level. After microkernel_loops.h;
// included by implicit_gemm.h for each level.
//
// Without a stride, the inputs that tap k of channel c multiplies for consecutive output pixels are
// consecutive in the image, too, from `offset` floats after the output pixel. So they are a row
// of b in a product of the weights, and nothing is unrolled. Such rows run on from one row of the
// image to the next; the few pixels between rows of the output are computed and dropped. With a
// stride the same is true of a copy in which each phase is contiguous.

constexpr int64_t STRIP_PIXELS = WIDTH * LANES;  // pixels of a tile of sums

// A destination of a strip: its pixels from .. from + n are written at `to` of each filter's plane.
struct StripTarget {  // pixels of a strip and where they go
  int64_t from, to, n;
};

struct StripTargets {  // all destinations of a strip of pixels
  StripTarget all[STRIP_PIXELS];
  int64_t count = 0;

  // The pixels p .. end of a strip, counted along the image from output row `row` on.
  StripTargets(const ImageShape& s, int64_t row, int64_t p, int64_t end) {
    const int64_t width = s.phase_size(2), out_width = s.out[2];
    for (int64_t at = p; at < end;) {
      const int64_t column = at % width, n = std::min(end - at, width - column);
      const int64_t real = std::min(n, out_width - column);
      const int64_t to = (row + at / width) * out_width + column;
      const StripTarget* before = count ? &all[count - 1] : nullptr;
      const bool follows =
          before && before->to + before->n == to && before->from + before->n == at - p;
      if (real > 0 && follows) all[count - 1].n += real;
      else if (real > 0) all[count++] = {at - p, to, real};
      at += n;
    }
  }

  void write_strip(const float* sums, float* plane, float bias, bool add) const {
    for (int64_t i = 0; i < count; ++i) {
      const float* from = sums + all[i].from;
      float* to = plane + all[i].to;
      for (int64_t n = all[i].n; n > 0; n -= LANES, from += LANES, to += LANES) {
        const bool part = n < LANES;
        Vec y = (part ? load_part(from, n) : load(from)) + (bias + Vec{});
        if (add) y += part ? load_part(to, n) : load(to);
        if (part) store_part(to, y, n);
        else store(to, y);
      }
    }
  }
};

// Sums of R filters by V vectors of pixels; the last vector has `lanes` lanes.
template <int R, int V, bool PART>
inline void image_strip_sums(const float* x, const int64_t* offsets, int64_t depth, const float* w,
                             int64_t lanes, float* to) {
  const auto line = [&](int64_t k) CYNET_XLAMBDA { return x + offsets[k]; };
  line_sums<R, V, PART>(w, depth, depth, line, lanes, to, STRIP_PIXELS);
}

typedef void (*ImageSums)(const float*, const int64_t*, int64_t, const float*, int64_t, float*);

template <int R>
inline ImageSums pick_strip_sums(int64_t rows, int64_t vectors, bool part) {
  if constexpr (R > 1)
    if (rows < R) return pick_strip_sums<R - 1>(rows, vectors, part);
  if (vectors == 3) return part ? &image_strip_sums<R, 3, true> : &image_strip_sums<R, 3, false>;
  return vectors == 2 ? &image_strip_sums<R, 2, true> : &image_strip_sums<R, 1, true>;
}

// Copies n numbers, `step` apart.
inline void copy_strided(const float* from, int64_t step, int64_t n, float* to) {
  for (int64_t i = 0; i < n; ++i) to[i] = from[i * step];
}
inline void copy_contiguous(const float* from, int64_t, int64_t n, float* to) {
  std::memcpy(to, from, n * sizeof(float));
}
// Copies every second number, from two vectors at a time; reads nothing behind the last.
inline void copy_every_second(const float* from, int64_t step, int64_t n, float* to) {
#if CYNET_LANES == 16
  const __m512i evens = _mm512_set_epi32(30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
  for (; n > 0; n -= LANES, from += 2 * LANES, to += LANES) {
    const int64_t count = std::min<int64_t>(n, LANES), all = 2 * count - 1;
    const Vec low = load_part(from, std::min<int64_t>(all, LANES));
    const Vec high = all > LANES ? load_part(from + LANES, all - LANES) : Vec{};
    const __m512 even = _mm512_permutex2var_ps(reinterpret_cast<__m512>(low), evens,
                                               reinterpret_cast<__m512>(high));
    store_part(to, reinterpret_cast<Vec>(even), count);
  }
#elif CYNET_LANES == 8
  for (; n > LANES; n -= LANES, from += 2 * LANES, to += LANES) {
    const __m256 even = _mm256_shuffle_ps(_mm256_loadu_ps(from), _mm256_loadu_ps(from + LANES),
                                          _MM_SHUFFLE(2, 0, 2, 0));
    const __m256d pairs = _mm256_permute4x64_pd(_mm256_castps_pd(even), _MM_SHUFFLE(3, 1, 2, 0));
    _mm256_storeu_ps(to, _mm256_castpd_ps(pairs));
  }
#endif
  copy_strided(from, step, n, to);
}

// The n positions of an axis in one phase: from `from` in the image, from `to` in the phase.
struct PhasePositions {  // positions of an axis in one phase of a stride
  int64_t from, to, n;
  PhasePositions(const ImageShape& s, int axis, int64_t phase) {
    const int64_t stride = s.stride[axis], pad = s.pad[axis], given = s.input_size(axis);
    from = ((phase - pad) % stride + stride) % stride;
    to = (pad + from) / stride;
    bool seen = false;
    for (int64_t tap = 0; tap < s.kernel[axis]; ++tap)
      seen |= tap * s.dilate[axis] % stride == phase;
    n = seen && from < given ? (given - from + stride - 1) / stride : 0;
  }
};

// Copies the channels begin .. end of an image, padded with zeros, into the phases.
inline void copy_to_phases(const ImageShape& s, const float* x, int64_t begin, int64_t end,
                           float* to) {
  const int64_t step = s.stride[2], height = s.input_size(1), width = s.input_size(2);
  const auto copy = step == 1 ? &copy_contiguous : step == 2 ? &copy_every_second : &copy_strided;
  for (int64_t c = begin; c < end; ++c) {
    const float* from = x + c * s.input_size(0) * height * width;
    float* phase = to + c * s.channel_floats();
    std::fill(phase, phase + s.channel_floats(), 0.0f);
    for (int64_t i = 0; i < s.stride[0]; ++i)
      for (int64_t j = 0; j < s.stride[1]; ++j)
        for (int64_t k = 0; k < step;
             ++k, phase += s.phase_size(0) * s.phase_size(1) * s.phase_size(2)) {
          const PhasePositions slices(s, 0, i), rows(s, 1, j), line(s, 2, k);
          for (int64_t d = 0; d < slices.n; ++d)
            for (int64_t h = 0; h < rows.n; ++h) {
              const int64_t slice = slices.from + d * s.stride[0];
              const int64_t row = slice * height + rows.from + h * s.stride[1];
              const int64_t held = (slices.to + d) * s.phase_size(1) + rows.to + h;
              copy(from + row * width + line.from, step, line.n,
                   phase + held * s.phase_size(2) + line.to);
            }
        }
  }
}

// Computes the rows begin .. end of all rows of an output; copies its image where that is needed.
inline void convolve_rows(const ImageShape& s, const float* x, const int64_t* offsets,
                          const float* w, const float* bias, float* y, bool add, int64_t begin,
                          int64_t end) {
  const int64_t width = s.phase_size(2), height = s.out[1], plane = s.out[0] * s.out[1] * s.out[2];
  const int64_t depth = s.summed_rows();
  const int64_t blocks = (s.filters + ROWS - 1) / ROWS;
  float sums[ROWS * STRIP_PIXELS];
  for (int64_t row = begin; row < end;) {
    const int64_t slice = row / height, rows = std::min(end, (slice + 1) * height) - row;
    const int64_t length = (rows - 1) * width + s.out[2];
    const float* lines = x + (slice * s.phase_size(1) + row % height) * width;
    for (int64_t p = 0; p < length; p += STRIP_PIXELS) {
      const int64_t stop = std::min(p + STRIP_PIXELS, length);
      const int64_t vectors = vector_count(stop - p), lanes = stop - p - (vectors - 1) * LANES;
      const StripTargets pieces(s, row, p, stop);
      for (int64_t i = 0; i < blocks; ++i) {
        const int64_t first = s.filters * i / blocks, count = s.filters * (i + 1) / blocks - first;
        pick_strip_sums<ROWS>(count, vectors, stop - p < STRIP_PIXELS)(
            lines + p, offsets, depth, w + first * depth, lanes, sums);
        for (int64_t f = 0; f < count; ++f)
          pieces.write_strip(sums + f * STRIP_PIXELS, y + (first + f) * plane,
                             bias ? bias[first + f] : 0, add);
      }
    }
    row += rows;
  }
}
