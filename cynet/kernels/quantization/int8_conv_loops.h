// Convolutions of integers of 8 bits at one CPU level (int8_conv.h), by vectors of int8_vectors.h.

#if CYNET_LANES == 16
enum { TILE = 12 };  // rows of a tile of sums: as many as registers hold
#else
enum { TILE = 6 };
#endif

CYNET_XINLINE int64_t round_up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

// --- the epilogue: sums to outputs -------------------------------------------------------
template <typename T>
CYNET_XINLINE void add_residual(float* v, const void* residual, float unit, int64_t at, int n) {
  const T* r = static_cast<const T*>(residual) + at;
  for (int i = 0; i < n; ++i) v[i] += static_cast<float>(r[i]) * unit;
}

template <typename T>
CYNET_XINLINE void store_rounded(const float* v, T* out, int n) {
  const float shift = 12582912.0f;  // 1.5 * 2^23: adding it rounds to the nearest even integer
  for (int i = 0; i < n; ++i) out[i] = static_cast<T>(static_cast<int32_t>(v[i] + shift - shift));
}

// Writes n <= SHORTS sums of the filters from f on to `out`, from index `at` on.
CYNET_XINLINE void write_few_outputs(const int32_t* sums, int n, const Int8Epilogue& e, int64_t f,
                                     int64_t at, void* out) {
  if (e.scale == nullptr) {
    int32_t* y = static_cast<int32_t*>(out) + at;
    for (int i = 0; i < n; ++i) {
      const uint32_t more = e.whole ? static_cast<uint32_t>(e.whole[f + i]) : 0;
      y[i] = static_cast<int32_t>(static_cast<uint32_t>(sums[i]) + more);
    }
    return;
  }
  float v[SHORTS];
  for (int i = 0; i < n; ++i) v[i] = static_cast<float>(sums[i]) * e.scale[f + i] + e.bias[f + i];
  if (e.residual) {
    if (e.residual_dtype == U8) add_residual<uint8_t>(v, e.residual, e.residual_unit, at, n);
    else if (e.residual_dtype == I8) add_residual<int8_t>(v, e.residual, e.residual_unit, at, n);
    else add_residual<float>(v, e.residual, e.residual_unit, at, n);
  }
  for (int i = 0; i < n; ++i) {
    const float least = v[i] < e.low ? e.low : v[i];
    v[i] = least > e.high ? e.high : least;
  }
  if (e.out_dtype == U8) store_rounded(v, static_cast<uint8_t*>(out) + at, n);
  else if (e.out_dtype == I8) store_rounded(v, static_cast<int8_t*>(out) + at, n);
  else std::memcpy(static_cast<float*>(out) + at, v, n * sizeof(float));
}

#if defined(__GNUC__)
typedef float Floats __attribute__((vector_size(WIDTH * 4), aligned(4), may_alias));
typedef int32_t Whole __attribute__((vector_size(WIDTH * 4), aligned(4), may_alias));
template <typename T>
struct ByteVec;
template <>
struct ByteVec<uint8_t> {  // vector of WIDTH bytes
  typedef uint8_t type __attribute__((vector_size(WIDTH), aligned(1), may_alias));
};
template <>
struct ByteVec<int8_t> {  // vector of WIDTH bytes
  typedef int8_t type __attribute__((vector_size(WIDTH), aligned(1), may_alias));
};

template <typename T>
CYNET_XINLINE Floats as_floats(const T* p) {
  const typename ByteVec<T>::type narrow = *reinterpret_cast<const typename ByteVec<T>::type*>(p);
  return __builtin_convertvector(__builtin_convertvector(narrow, Whole), Floats);
}
template <>
CYNET_XINLINE Floats as_floats(const float* p) {
  return *reinterpret_cast<const Floats*>(p);
}
// Rounded to even; values are within the limits of T.
template <typename T>
CYNET_XINLINE void write_rounded(const Floats* v, T* out) {
#if CYNET_LANES == 16
  for (int i = 0; i < 2; ++i)
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + i * WIDTH),
                     _mm512_cvtepi32_epi8(_mm512_cvtps_epi32((__m512)v[i])));
#elif CYNET_LANES == 8
  const __m256i left = _mm256_cvtps_epi32((__m256)v[0]), right = _mm256_cvtps_epi32((__m256)v[1]);
  const __m256i both = _mm256_permute4x64_epi64(_mm256_packs_epi32(left, right), 0xd8);
  const __m128i low = _mm256_castsi256_si128(both), high = _mm256_extracti128_si256(both, 1);
  const bool bytes = std::numeric_limits<T>::is_signed;
  _mm_storeu_si128(reinterpret_cast<__m128i*>(out),
                   bytes ? _mm_packs_epi16(low, high) : _mm_packus_epi16(low, high));
#else
  store_rounded(reinterpret_cast<const float*>(v), out, SHORTS);
#endif
}

// Writes SHORTS sums of the filters from f on, in vectors.
CYNET_XINLINE void write_vectors(const int32_t* sums, const Int8Epilogue& e, int64_t f, int64_t at,
                                 void* out) {
  Floats v[2];
  const Floats low = Floats{} + e.low, high = Floats{} + e.high;
#pragma GCC unroll 2
  for (int k = 0; k < 2; ++k) {
    const int64_t i = k * WIDTH;
    const Whole whole = *reinterpret_cast<const Whole*>(sums + i);
    Floats x = __builtin_convertvector(whole, Floats) * as_floats(e.scale + f + i) +
               as_floats(e.bias + f + i);
    if (e.residual) {
      if (e.residual_dtype == U8)
        x += as_floats(static_cast<const uint8_t*>(e.residual) + at + i) * e.residual_unit;
      else if (e.residual_dtype == I8)
        x += as_floats(static_cast<const int8_t*>(e.residual) + at + i) * e.residual_unit;
      else x += as_floats(static_cast<const float*>(e.residual) + at + i) * e.residual_unit;
    }
    x = x < low ? low : x;
    v[k] = x > high ? high : x;
  }
  if (e.out_dtype == U8) return write_rounded(v, static_cast<uint8_t*>(out) + at);
  if (e.out_dtype == I8) return write_rounded(v, static_cast<int8_t*>(out) + at);
  std::memcpy(static_cast<float*>(out) + at, v, sizeof v);
}
#endif

static void write_outputs(const int32_t* sums, int64_t n, const Int8Epilogue& e, int64_t f,
                          int64_t at, void* out) {
#if defined(__GNUC__)
  if (n == SHORTS && e.scale) return write_vectors(sums, e, f, at, out);
#endif
  write_few_outputs(sums, static_cast<int>(n), e, f, at, out);
}

// --- windows ------------------------------------------------------------
// The pixel that is number i of the output, and where its window begins.
struct WindowPosition {  // the image and window start of an output pixel
  int64_t image, start[3];
  WindowPosition(const Int8Conv& c, int64_t i) {
    for (int k = 2; k >= 0; --k) {
      start[k] = i % c.out_size[k] * c.stride[k] - c.pad[k];
      i /= c.out_size[k];
    }
    image = i;
  }
};

// The position of a point among the input's pixels, or -1 in the padding.
CYNET_XINLINE int64_t pixel_at(const Int8Conv& c, const WindowPosition& w, int64_t kz, int64_t ky,
                               int64_t kx) {
  const int64_t z = w.start[0] + kz * c.dilate[0], y = w.start[1] + ky * c.dilate[1];
  const int64_t x = w.start[2] + kx * c.dilate[2];
  if (z < 0 || z >= c.in_size[0] || y < 0 || y >= c.in_size[1] || x < 0 || x >= c.in_size[2])
    return -1;
  return ((w.image * c.in_size[0] + z) * c.in_size[1] + y) * c.in_size[2] + x;
}

template <typename T>
CYNET_XINLINE void widen_to_shorts(const T* from, int16_t* to, int64_t n) {
  int64_t i = 0;
  for (; i + SHORTS <= n; i += SHORTS) store_ints(to + i, load_widened(from + i));
  for (; i < n; ++i) to[i] = from[i];
}

// Copies the window of a pixel in one group of channels to a row of taps * channels shorts.
template <typename T>
static void unroll_window(const Int8Conv& c, const T* data, int64_t pixel, int64_t group,
                          int64_t depth, int16_t* row) {
  const WindowPosition w(c, pixel);
  const int64_t channels = c.channels_per_group();
  int16_t* to = row;
  for (int64_t kz = 0; kz < c.kernel[0]; ++kz)
    for (int64_t ky = 0; ky < c.kernel[1]; ++ky) {
      const int64_t first = pixel_at(c, w, kz, ky, 0);
      const int64_t last = pixel_at(c, w, kz, ky, c.kernel[2] - 1);
      if (first >= 0 && last >= 0 && c.groups == 1 && c.dilate[2] == 1) {  // points are neighbours
        widen_to_shorts(data + first * c.channels, to, c.kernel[2] * channels);
        to += c.kernel[2] * channels;
        continue;
      }
      for (int64_t kx = 0; kx < c.kernel[2]; ++kx, to += channels) {
        const int64_t at = pixel_at(c, w, kz, ky, kx);
        if (at < 0) std::memset(to, 0, channels * sizeof(int16_t));
        else widen_to_shorts(data + at * c.channels + group * channels, to, channels);
      }
    }
  if (to < row + depth) *to = 0;
}

// --- products ------------------------------------------------------------
CYNET_XINLINE int64_t padded_depth(const Int8Conv& c) {  // inputs of an output, made even
  return round_up(c.taps() * c.channels_per_group(), 2);
}

// Makes the compiler finish a row's sums before the next row: all sums would not fit registers.
CYNET_XINLINE void prevent_reordering(Ints& a, Ints& b) {
#if CYNET_LANES == 16
  __asm__ volatile("" : "+v"(a), "+v"(b));
#elif defined(CYNET_X86_LEVELS)
  __asm__ volatile("" : "+x"(a), "+x"(b));
#endif
}

// Computes sums (R, SHORTS) of R rows by a panel of SHORTS filters.
template <int R>
CYNET_XINLINE void multiply_tile(const int16_t* rows, int64_t depth, const int16_t* panel,
                                 int32_t* sums) {
  enum { AT_ONCE = R == 1 ? 4 : R == 2 ? 2 : 1 };  // independent partial sums for each row
  Ints total[AT_ONCE][R][2];
#pragma GCC unroll 16
  for (int u = 0; u < AT_ONCE; ++u)
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) total[u][r][0] = total[u][r][1] = zero_ints();
  int64_t k = 0;
  for (; k + 2 * AT_ONCE <= depth; k += 2 * AT_ONCE) {
#pragma GCC unroll 16
    for (int u = 0; u < AT_ONCE; ++u) {
      const int16_t* at = panel + (k + 2 * u) * SHORTS;
      const Ints left = load_ints(at), right = load_ints(at + SHORTS);
#pragma GCC unroll 16
      for (int r = 0; r < R; ++r) {
        const Ints pair = broadcast_pair(rows + r * depth + k + 2 * u);
        total[u][r][0] = add_ints(total[u][r][0], pair_products(pair, left));
        total[u][r][1] = add_ints(total[u][r][1], pair_products(pair, right));
        prevent_reordering(total[u][r][0], total[u][r][1]);
      }
    }
  }
  for (; k < depth; k += 2) {
    const int16_t* at = panel + k * SHORTS;
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
      const Ints pair = broadcast_pair(rows + r * depth + k);
      total[0][r][0] = add_ints(total[0][r][0], pair_products(pair, load_ints(at)));
      total[0][r][1] = add_ints(total[0][r][1], pair_products(pair, load_ints(at + SHORTS)));
    }
  }
#pragma GCC unroll 16
  for (int u = 1; u < AT_ONCE; ++u)
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 16
      for (int i = 0; i < 2; ++i) total[0][r][i] = add_ints(total[0][r][i], total[u][r][i]);
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 16
    for (int i = 0; i < 2; ++i) store_ints(sums + r * SHORTS + i * WIDTH, total[0][r][i]);
}

static int compute_tile(const int16_t* rows, int64_t left, int64_t depth, const int16_t* panel,
                        int32_t* sums) {
  if (left >= TILE) return multiply_tile<TILE>(rows, depth, panel, sums), TILE;
  if (left >= 4) return multiply_tile<4>(rows, depth, panel, sums), 4;
  if (left >= 2) return multiply_tile<2>(rows, depth, panel, sums), 2;
  return multiply_tile<1>(rows, depth, panel, sums), 1;
}

CYNET_XINLINE int64_t rows_per_block(const Int8Conv& c) {  // output pixels at a time
  const int64_t fit = INT8_BLOCK / (2 * padded_depth(c)) / TILE * TILE;
  return std::min<int64_t>(std::max<int64_t>(fit, TILE), INT8_ROWS);
}

static int64_t int8_bytes_per_thread(const Int8Conv& c) {
  if (c.is_depthwise()) return 0;
  return round_up(rows_per_block(c) * padded_depth(c) * 2, 64) + TILE * SHORTS * 4;
}

template <typename T>
static void convolve_by_products(const Int8Conv& c, const T* data, const int16_t* packed,
                                 const Int8Epilogue& e, void* out, int threads, char* space) {
  const int64_t depth = padded_depth(c), height = rows_per_block(c), pixels = c.out_pixels();
  const int64_t wide = c.filters_per_group(), panels = (wide + SHORTS - 1) / SHORTS;
  const int64_t blocks = (pixels + height - 1) / height * c.groups;
  // few blocks: threads also divide the filters
  const int64_t cuts = std::min<int64_t>(panels, (2 * threads + blocks - 1) / blocks);
  const int64_t tasks = blocks * cuts, parts = std::min<int64_t>(threads, tasks);
  for_parts(parts, [&](int64_t part) {
    char* own = space + part * int8_bytes_per_thread(c);
    int16_t* rows = reinterpret_cast<int16_t*>(own);
    int32_t* sums = reinterpret_cast<int32_t*>(own + round_up(height * depth * 2, 64));
    int64_t unrolled = -1;
    for (int64_t task = tasks * part / parts; task < tasks * (part + 1) / parts; ++task) {
      const int64_t block = task / cuts, cut = task % cuts;
      const int64_t group = block % c.groups, first = block / c.groups * height;
      const int64_t n = std::min<int64_t>(height, pixels - first);
      if (unrolled != block)
        for (int64_t r = 0; r < n; ++r)
          unroll_window(c, data, first + r, group, depth, rows + r * depth);
      unrolled = block;
      for (int64_t p = panels * cut / cuts; p < panels * (cut + 1) / cuts; ++p) {
        const int16_t* panel = packed + (group * panels + p) * depth * SHORTS;
        const int64_t f = group * wide + p * SHORTS;
        const int64_t width = std::min<int64_t>(SHORTS, wide - p * SHORTS);
        for (int64_t r = 0; r < n;) {
          const int made = compute_tile(rows + r * depth, n - r, depth, panel, sums);
          for (int i = 0; i < made; ++i)
            write_outputs(sums + i * SHORTS, width, e, f, (first + r + i) * c.filters + f, out);
          r += made;
        }
      }
    }
  });
}

// --- a filter for each channel ------------------------------------------------------------
// n <= SHORTS channels of two points, nullptr in the padding; to pairs of them.
template <typename T>
CYNET_XINLINE Ints load_channels(const T* p, int64_t n) {
  if (p == nullptr) return zero_ints();
  if (n == SHORTS) return load_widened(p);
  T some[SHORTS] = {};
  std::memcpy(some, p, n * sizeof(T));
  return load_widened(some);
}

template <typename T>
static void convolve_depthwise(const Int8Conv& c, const T* data, const int16_t* packed,
                               const Int8Epilogue& e, void* out, int threads) {
  const int64_t taps = c.taps(), pairs = (taps + 1) / 2;
  parallel_for(threads, c.out_pixels(), [&](int64_t begin, int64_t end) {
    const T* at[Int8Conv::MAX_TAPS + 1] = {};
    int32_t sums[SHORTS];
    for (int64_t pixel = begin; pixel < end; ++pixel) {
      const WindowPosition w(c, pixel);
      int64_t tap = 0;
      for (int64_t kz = 0; kz < c.kernel[0]; ++kz)
        for (int64_t ky = 0; ky < c.kernel[1]; ++ky)
          for (int64_t kx = 0; kx < c.kernel[2]; ++kx) {
            const int64_t found = pixel_at(c, w, kz, ky, kx);
            at[tap++] = found < 0 ? nullptr : data + found * c.channels;
          }
      for (int64_t first = 0; first < c.channels; first += SHORTS) {
        const int64_t n = std::min<int64_t>(SHORTS, c.channels - first);
        const int16_t* weights = packed + first * 2 * pairs;
        Ints low = zero_ints(), high = zero_ints();
        for (int64_t pair = 0; pair < pairs; ++pair, weights += 2 * SHORTS) {
          const T *one = at[2 * pair], *other = at[2 * pair + 1];
          const Ints a = load_channels(one ? one + first : nullptr, n);
          const Ints b = load_channels(other ? other + first : nullptr, n);
          low = add_ints(low, pair_products(interleave_low(a, b), load_ints(weights)));
          high = add_ints(high, pair_products(interleave_high(a, b), load_ints(weights + SHORTS)));
        }
        store_sums(sums, low, high);
        write_outputs(sums, n, e, first, pixel * c.channels + first, out);
      }
    }
  });
}

// --- the weight ------------------------------------------------------------
static int64_t int8_packed_bytes(const Int8Conv& c) {
  if (c.is_depthwise()) return round_up(c.channels, SHORTS) * 2 * ((c.taps() + 1) / 2) * 2;
  return c.groups * round_up(c.filters_per_group(), SHORTS) * padded_depth(c) * 2;
}

static void pack_depthwise(const Int8Conv& c, const int8_t* weight, int16_t* packed) {
  const int64_t taps = c.taps();
  for (int64_t first = 0; first < c.channels; first += SHORTS)
    for (int64_t tap = 0; tap < taps; tap += 2, packed += 2 * SHORTS) {
      int16_t pair[2][SHORTS] = {};
      for (int64_t i = 0; i < std::min<int64_t>(SHORTS, c.channels - first); ++i)
        for (int k = 0; k < 2 && tap + k < taps; ++k)
          pair[k][i] = weight[(first + i) * taps + tap + k];
      const Ints a = load_ints(pair[0]), b = load_ints(pair[1]);
      store_ints(packed, interleave_low(a, b));
      store_ints(packed + SHORTS, interleave_high(a, b));
    }
}

// Packs, for each panel of SHORTS filters and each two numbers of a row, these two of every filter.
static void int8_pack_weight(const Int8Conv& c, const int8_t* weight, int16_t* packed) {
  if (c.is_depthwise()) return pack_depthwise(c, weight, packed);
  const int64_t taps = c.taps(), channels = c.channels_per_group(), wide = c.filters_per_group();
  const int64_t panels = (wide + SHORTS - 1) / SHORTS, depth = padded_depth(c);
  std::memset(packed, 0, int8_packed_bytes(c));
  for (int64_t f = 0; f < c.filters; ++f) {
    const int64_t group_channels = f % wide, panel = f / wide * panels + group_channels / SHORTS;
    int16_t* to = packed + panel * depth * SHORTS + group_channels % SHORTS * 2;
    for (int64_t tap = 0; tap < taps; ++tap)
      for (int64_t i = 0; i < channels; ++i) {
        const int64_t k = tap * channels + i;
        to[k / 2 * 2 * SHORTS + k % 2] = weight[(f * channels + i) * taps + tap];
      }
  }
}

template <typename T>
static void int8_convolve(const Int8Conv& c, const void* data, const int16_t* packed,
                          const Int8Epilogue& e, void* out, int threads, char* space) {
  const T* x = static_cast<const T*>(data);
  if (c.is_depthwise()) return convolve_depthwise(c, x, packed, e, out, threads);
  convolve_by_products(c, x, packed, e, out, threads, space);
}
