// Transforms tiles of images to positions and back, in one form. After winograd_plans.h; included
// by winograd_forms.h for each form. The phases of an image count as further channels, in blocks of
// their own.

// Channels of all phases, each rounded up to whole blocks.
inline int64_t padded_channels(const Image& image) {
  return image.step == 1 ? image.channels : 4 * block_count(image.channels) * LANES;
}

// The tile's position in a phase of the image, whose pixels are `step` apart.
inline Tile tile_in_phase(const Image& image, const Tile& tile, int64_t phase) {
  if (image.step == 1) return tile;
  return {tile.image, 2 * tile.row + phase / 2 - image.top,
          2 * tile.column + phase % 2 - image.left};
}

// The number of steps that fit into `pixels`, rounded up; negative for negative `pixels`.
inline int64_t pixels_to_steps(const Image& image, int64_t pixels) {
  return image.step == 1 ? pixels : (pixels + 1) / 2;
}

// Calls body(block, get) for each block of channels of a tile of SIDE x SIDE pixels, `step` apart.
// Pixels outside are read from `zeros`. The offset is computed without a branch: half of a small
// image's tiles reach outside.
template <int SIDE, class Body>
CYNET_XINLINE void read_phase_tile(const float* x, const Image& image, const Tile& tile,
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

// Reads a tile of all phases of a strided convolution.
template <int SIDE, class Body>
CYNET_XINLINE void read_tile(const float* x, const Image& image, const Tile& tile,
                             const float* zeros, const Body& body) {
  const int64_t blocks = block_count(image.channels);
  for (int64_t phase = 0; phase < image.phases(); ++phase)
    read_phase_tile<SIDE>(x, image, tile_in_phase(image, tile, phase), zeros, phase * blocks, body);
}

// Transforms the columns left .. right of P rows, `row` floats apart, read by get(place, row), to P
// lines.
template <int P, class Get>
CYNET_XINLINE void transform_rows(const float* from, int64_t row, int64_t column, int64_t left,
                                  int64_t right, float* strip, int64_t line, const Get& get) {
  for (int64_t j = left; j < right; ++j) {
    Vec a[P], w[P];
#pragma GCC unroll 6
    for (int i = 0; i < P; ++i) a[i] = get(from + j * column + i * row, i);
    transform_input<P>(a, w);
#pragma GCC unroll 6
    for (int i = 0; i < P; ++i) at(strip + i * line + j * LANES) = w[i];
  }
}

// Transforms the columns of one tile in the strip to positions v[i * down + j * across].
template <int P>
CYNET_XINLINE void transform_strip_columns(const float* strip, int64_t line, float* v, int64_t down,
                                           int64_t across) {
  for (int i = 0; i < P; ++i, v += down, strip += line) {
    Vec a[P], w[P];
#pragma GCC unroll 6
    for (int j = 0; j < P; ++j) a[j] = at(strip + j * LANES);
    transform_input<P>(a, w);
#pragma GCC unroll 6
    for (int j = 0; j < P; ++j) at(v + j * across) = w[j];
  }
}

// Destination of the positions of tiles: blocks begin .. end, `block` floats apart, and groups of
// ROWS adjacent tiles, `group` floats apart. Position (row i, column j) of a tile is at i * down +
// j * across.
struct TileTargets {  // where positions of transformed tiles go
  float* v;
  int64_t begin, end, block, group, down, across;
  float* operator()(int64_t b, int64_t tile) const {
    return v + (b - begin) * block + tile / ROWS * group + tile % ROWS * LANES;
  }
};

// Transforms `count` adjacent tiles, `side` pixels apart; `first` is tile t of `to`. Rows are
// transformed once into `strip` for all tiles, because adjacent tiles share columns.
template <int P>
inline void transform_adjacent_tiles(const float* x, const Image& image, const Tile& first,
                                     int64_t side, int64_t count, float* strip, int64_t t,
                                     const TileTargets& to) {
  const int64_t channels = image.channels, blocks = block_count(channels), step = image.step;
  const int64_t all = (count - 1) * side + P, line = all * LANES;
  for (int64_t phase = 0; phase < image.phases(); ++phase) {
    const Tile tile = tile_in_phase(image, first, phase);
    const int64_t left = std::clamp<int64_t>(pixels_to_steps(image, -tile.column), 0, all);
    const int64_t right =
        std::clamp<int64_t>(pixels_to_steps(image, image.width - tile.column), left, all);
    const int64_t row = step * image.width * channels, column = step * channels;
    const float* pixels =
        x + ((tile.image * image.height + tile.row) * image.width + tile.column) * channels;
    for (int64_t b = 0; b < blocks; ++b) {
      const int64_t lanes = std::min<int64_t>(LANES, channels - b * LANES);
      int64_t known[P];  // channels of each row; 0 if the row is outside
      bool whole = lanes == LANES;
#pragma GCC unroll 6
      for (int i = 0; i < P; ++i) {
        const int64_t at_row = tile.row + i * step;
        known[i] = at_row >= 0 && at_row < image.height ? lanes : 0;
        whole = whole && known[i] > 0;
        for (int64_t j = 0; j < left; ++j) at(strip + i * line + j * LANES) = Vec{};
        for (int64_t j = right; j < all; ++j) at(strip + i * line + j * LANES) = Vec{};
      }
      const float* from = pixels + b * LANES;
      if (whole)
        transform_rows<P>(from, row, column, left, right, strip, line,
                          [&](const float* p, int) CYNET_XLAMBDA { return load(p); });
      else
        transform_rows<P>(from, row, column, left, right, strip, line,
                          [&](const float* p, int i)
                              CYNET_XLAMBDA { return load_part(p, known[i]); });
      for (int64_t k = 0; k < count; ++k)
        transform_strip_columns<P>(strip + k * side * LANES, line, to(phase * blocks + b, t + k),
                                   to.down, to.across);
    }
  }
}

// Transforms tiles begin .. end of PxP pixels, `side` apart; `begin` is tile 0 of `to`.
template <int P>
inline void transform_inputs(const float* x, const Image& image, const Tiles& tiles, int64_t side,
                             int64_t begin, int64_t end, int64_t pad_h, int64_t pad_w,
                             const float* zeros, float* strip, const TileTargets& to) {
  if constexpr (!USES_STRIPS) {
    for (int64_t t = begin; t < end; ++t)
      read_tile<P>(x, image, tiles(t, pad_h, pad_w), zeros,
                   [&](int64_t b, const auto& get) CYNET_XLAMBDA {
                     transform_input_tile<P>(get, to(b, t - begin), to.down, to.across);
                   });
  } else {
    for (int64_t t = begin, count; t < end; t += count) {
      count = std::min(end - t, tiles.across - t % tiles.across);
      transform_adjacent_tiles<P>(x, image, tiles(t, pad_h, pad_w), side, count, strip, t - begin,
                                  to);
    }
  }
}

// Transforms tiles begin .. end of MxM output gradients to positions of the requested blocks;
// `begin` is tile 0 of `to`.
template <int P, int M>
inline void transform_gradients(const float* dy, const Image& image, const Tiles& tiles,
                                int64_t begin, int64_t end, const float* zeros,
                                const TileTargets& to) {
  for (int64_t t = begin; t < end; ++t)
    read_tile<M>(dy, image, tiles(t, 0, 0), zeros, [&](int64_t b, const auto& get) CYNET_XLAMBDA {
      if (b >= to.begin && b < to.end)
        transform_gradient_tile<P, M>(get, to(b, t - begin), to.down, to.across);
    });
}

// Writes the NxN pixels of one tile and block: bias, sum, relu, edges of the image. s has positions
// `apart` floats apart, or is [P][N].
template <int P, int N>
inline void write_tile(const float* s, int64_t apart, const Image& image, const Tile& virtual_tile,
                       int64_t block, const Epilogue& finish, float* y) {
  alignas(64) float transposed[BY_ROW ? 1 : P * N * LANES];
  if constexpr (!BY_ROW) {
#pragma GCC unroll 6
    for (int i = 0; i < P; ++i, s += P * apart)
      transform_columns<P, N>([&](int j) CYNET_XLAMBDA { return at(s + j * apart); },
                              transposed + i * N * LANES);
    s = transposed;
  }
  const int64_t filters = image.channels, blocks = block_count(filters);
  const Tile tile = tile_in_phase(image, virtual_tile, block / blocks);
  block %= blocks;
  const int64_t lanes = std::min<int64_t>(LANES, filters - block * LANES), step = image.step;
  const int64_t top = -tile.row, bottom = image.height - tile.row;
  const int64_t left = -tile.column, right = image.width - tile.column;
  const int64_t row = image.width * filters, down = step * row, across = step * filters;
  float* base =
      y + (tile.image * image.height + tile.row) * row + tile.column * filters + block * LANES;
  const bool plain = !finish.bias && !finish.relu && !finish.add;
  if (plain && lanes == LANES && top <= 0 && left <= 0 && bottom > step * (N - 1) &&
      right > step * (N - 1)) {
    transform_output_tile<P, N>(
        s, [=](int i, int j, Vec v) CYNET_XLAMBDA { store(base + i * down + j * across, v); });
    return;
  }
  alignas(64) float pixels[N * N * LANES];
  transform_output_tile<P, N>(
      s, [&](int i, int j, Vec v) CYNET_XLAMBDA { at(pixels + (i * N + j) * LANES) = v; });
  Vec bias = {};
  if (finish.bias) bias = load_part(finish.bias + block * LANES, lanes);
  const int64_t first_row = std::max<int64_t>(pixels_to_steps(image, top), 0);
  const int64_t last_row = std::min<int64_t>(pixels_to_steps(image, bottom), N);
  const int64_t first = std::max<int64_t>(pixels_to_steps(image, left), 0);
  const int64_t last = std::min<int64_t>(pixels_to_steps(image, right), N);
  for (int64_t i = first_row; i < last_row; ++i)
    for (int64_t j = first; j < last; ++j) {
      float* to = base + i * down + j * across;
      Vec v = at(pixels + (i * N + j) * LANES) + bias;
      if (lanes == LANES) {
        if (finish.add) v += load(to);
        store(to, finish.relu ? rectify(v) : v);
      } else {
        if (finish.add) v += load_part(to, lanes);
        store_part(to, finish.relu ? rectify(v) : v, lanes);
      }
    }
}
