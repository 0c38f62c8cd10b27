// Convolutions by products on images that lie as they are, at one CPU level, after
// line_sums_loops.h. Included by image_products.h for each level.
//
// Without a stride, what tap k of channel c is multiplied by for output pixels behind each other is
// a line of the image that begins `offset` floats behind theirs: b's rows in a product of the
// weights, of which nothing has to be unrolled. Lines run on from row to row of the image; what
// belongs to pixels between the end of a row of the output and the next one is left out at the end.

constexpr int64_t STRIP_PIXELS = WIDTH * LANES;

// Where part of a strip goes: pixels from .. from + n of it to `to` in each filter's plane.
struct ImagePiece {
  int64_t from, to, n;
};

struct ImagePieces {
  ImagePiece all[STRIP_PIXELS];
  int64_t count = 0;

  // Pixels p .. end of a strip that begins at p, counted along the image from output row `row` on.
  ImagePieces(const ImageShape& s, int64_t row, int64_t p, int64_t end) {
    const int64_t width = s.size[2], out_width = s.out[2];
    for (int64_t at = p; at < end;) {
      const int64_t column = at % width, n = std::min(end - at, width - column);
      const int64_t real = std::min(n, out_width - column);
      const int64_t to = (row + at / width) * out_width + column;
      const ImagePiece* before = count ? &all[count - 1] : nullptr;
      const bool follows =
          before && before->to + before->n == to && before->from + before->n == at - p;
      if (real > 0 && follows) all[count - 1].n += real;
      else if (real > 0) all[count++] = {at - p, to, real};
      at += n;
    }
  }

  void put(const float* sums, float* plane, float bias, bool add) const {
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

// Of R filters and V vectors of pixels, `lanes` of the last one.
template <int R, int V, bool PART>
inline void image_sums(const float* x, const int64_t* offsets, int64_t depth, const float* w,
                       int64_t lanes, float* to) {
  const auto line = [&](int64_t k) CYNET_XLAMBDA { return x + offsets[k]; };
  line_sums<R, V, PART>(w, depth, depth, line, lanes, to, STRIP_PIXELS);
}

typedef void (*ImageSums)(const float*, const int64_t*, int64_t, const float*, int64_t, float*);

template <int R>
inline ImageSums image_sums_of(int64_t rows, int64_t vectors, bool part) {
  if constexpr (R > 1)
    if (rows < R) return image_sums_of<R - 1>(rows, vectors, part);
  if (vectors == 3) return part ? &image_sums<R, 3, true> : &image_sums<R, 3, false>;
  return vectors == 2 ? &image_sums<R, 2, true> : &image_sums<R, 1, true>;
}

// Rows begin .. end of all rows of an output, whose image is padded.
inline void image_rows(const ImageShape& s, const float* x, const int64_t* offsets, const float* w,
                       const float* bias, float* y, bool add, int64_t begin, int64_t end) {
  const int64_t width = s.size[2], height = s.out[1], plane = s.out[0] * s.out[1] * s.out[2];
  const int64_t depth = s.depth();
  const int64_t blocks = (s.filters + ROWS - 1) / ROWS;
  float sums[ROWS * STRIP_PIXELS];
  for (int64_t row = begin; row < end;) {
    const int64_t slice = row / height, rows = std::min(end, (slice + 1) * height) - row;
    const int64_t length = (rows - 1) * width + s.out[2];
    const float* lines = x + (slice * s.size[1] + row % height) * width;
    for (int64_t p = 0; p < length; p += STRIP_PIXELS) {
      const int64_t stop = std::min(p + STRIP_PIXELS, length);
      const int64_t vectors = vectors_of(stop - p), lanes = stop - p - (vectors - 1) * LANES;
      const ImagePieces pieces(s, row, p, stop);
      for (int64_t i = 0; i < blocks; ++i) {
        const int64_t first = s.filters * i / blocks, count = s.filters * (i + 1) / blocks - first;
        image_sums_of<ROWS>(count, vectors, stop - p < STRIP_PIXELS)(
            lines + p, offsets, depth, w + first * depth, lanes, sums);
        for (int64_t f = 0; f < count; ++f)
          pieces.put(sums + f * STRIP_PIXELS, y + (first + f) * plane,
                     bias ? bias[first + f] : 0, add);
      }
    }
    row += rows;
  }
}
