// The loops of into_batch.h, compiled for each level (levels.h).

// Writes (pixel - mean) * factor for a row of n pixels as C rows of floats, `plane` apart.
template <int C, bool MIRRORED>
static void write_normalized_row(const uint8_t* in, int64_t n, const float* mean,
                                 const float* factor, float* out, int64_t plane) {
  uint8_t part[C][LOOP_PIXELS];  // channels are separated first, by shuffles
  for (int64_t at = 0; at < n; at += LOOP_PIXELS) {
    const int count = static_cast<int>(n - at < LOOP_PIXELS ? n - at : LOOP_PIXELS);
    const uint8_t* from = in + C * (MIRRORED ? n - at - count : at);
    for (int x = 0; x < count; ++x)
      for (int c = 0; c < C; ++c) part[c][x] = from[C * x + c];
    for (int c = 0; c < C; ++c) {
      const float less = mean[c], by = factor[c];
      float* to = out + c * plane + at;
      for (int x = 0; x < count; ++x)
        to[x] = (static_cast<float>(part[c][MIRRORED ? count - 1 - x : x]) - less) * by;
    }
  }
}

// Copies a row of n pixels as C rows of bytes, limited to `maximum`.
template <int C, bool MIRRORED>
static void write_clipped_row(const uint8_t* in, int64_t n, uint8_t maximum, uint8_t* out,
                              int64_t plane) {
  for (int64_t at = 0; at < n; at += LOOP_PIXELS) {
    const int count = static_cast<int>(n - at < LOOP_PIXELS ? n - at : LOOP_PIXELS);
    uint8_t part[C][LOOP_PIXELS];
    const uint8_t* from = in + C * (MIRRORED ? n - at - count : at);
    for (int x = 0; x < count; ++x)
      for (int c = 0; c < C; ++c)
        part[c][x] = from[C * x + c] < maximum ? from[C * x + c] : maximum;
    for (int c = 0; c < C; ++c) {
      uint8_t* to = out + c * plane + at;
      for (int x = 0; x < count; ++x) to[x] = part[c][MIRRORED ? count - 1 - x : x];
    }
  }
}
