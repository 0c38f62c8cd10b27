// Steps of recurrent layers at one CPU level, after small_loops.h.
//
// RNN: h' = f(W x + b + R h + b'), Elman, "Finding structure in time", 1990. LSTM: Hochreiter and
// Schmidhuber, "Long short-term memory", 1997, with the forget gate of Gers, Schmidhuber and
// Cummins, 2000. GRU: Cho et al., 2014, with the reset gate after the recurrent product.

// ----- products with packed weights

inline int64_t packed_float_count(int64_t k, int64_t n) { return k * vector_count(n) * LANES; }

// Packs b, (k, n) or (n, k) where `transposed`, into panels in the order in which
// multiply_packed() reads them.
inline void pack_matrix(const float* b, int64_t b_row, bool transposed, int64_t k, int64_t n,
                        float* to) {
  for (int64_t first = 0; first < k; first += DEPTH) {
    const int64_t depth = std::min(DEPTH, k - first);
    for_panels(0, vector_count(n), n, WIDTH, [&](int64_t j, int64_t end) {
      if (transposed) pack_transposed(b + j * b_row + first, b_row, depth, end - j, 1, 0, to);
      else pack_lines(b + first * b_row + j, b_row, depth, end - j, to);
      to += packed_float_count(depth, end - j);
    });
  }
}

// c = a b, or c += a b if `add`: a is (m, k), b (k, n) and packed.
inline void multiply_packed(const Recurrence& r, bool, const float* a, int64_t a_row, int64_t m,
                            const float* packed, const float*, int64_t k, int64_t n, float* c,
                            int64_t c_row, bool add) {
  if (r.products) return r.products->multiply_packed(a, a_row, m, packed, k, n, c, c_row, add);
  const TermOffsets term = {0, 0};
  const ResultPart target = {0, 0, 1};
  for (int64_t row = 0; row < m; row += BLOCK) {
    const float* panel = packed;
    const int64_t last = std::min(BLOCK, m - row);
    for (int64_t first = 0; first < k; first += DEPTH) {
      const int64_t depth = std::min(DEPTH, k - first);
      const TileJob job = {a + row * a_row + first, a_row, depth, c_row, false, add || first > 0};
      for_panels(0, vector_count(n), n, WIDTH, [&](int64_t j, int64_t end) {
        compute_rows<true>(job, panel, end - j, target, &term, c + row * c_row + j, nullptr, 0,
                           last);
        panel += packed_float_count(depth, end - j);
      });
    }
  }
}

// The same product with an unpacked b, (n, k) where `transposed`.
inline void multiply_packed(const Recurrence& r, bool transposed, const double* a, int64_t a_row,
                            int64_t m, const double*, const double* weight, int64_t k, int64_t n,
                            double* c, int64_t c_row, bool add) {
  r.gemm(0, transposed, m, n, k, 1.0, a, a_row, weight, transposed ? k : n, add ? 1.0 : 0.0, c,
         c_row);
}

inline int64_t part_size(const Recurrence& r, int64_t k, int64_t n) {  // of a packed (k, n)
  return r.wide ? 0 : r.products ? r.products->size(k, n) : packed_float_count(k, n);
}

inline int64_t packed_size(const Recurrence& r, bool backward) {  // elements of packed weights
  const int64_t hidden = r.hidden, n = gate_count(r.mode) * hidden, state = r.state;
  if (backward) return part_size(r, n, state) + (r.projection ? part_size(r, state, hidden) : 0);
  if (r.mode == GRU) return part_size(r, hidden, 2 * hidden) + part_size(r, hidden, hidden);
  return part_size(r, state, n) + (r.projection ? part_size(r, hidden, state) : 0);
}

inline void pack_weights(const Recurrence& r, bool backward, void* to) {
  if (r.wide) return;
  const auto pack = r.products ? r.products->pack : &pack_matrix;
  const int64_t hidden = r.hidden, n = gate_count(r.mode) * hidden, state = r.state;
  const float* b = static_cast<const float*>(r.weight);
  const float* projection = static_cast<const float*>(r.projection);
  float* packed = static_cast<float*>(to);
  if (backward) {
    pack(b, state, false, n, state, packed);
    if (projection) pack(projection, hidden, false, state, hidden, packed + part_size(r, n, state));
  } else if (r.mode == GRU) {
    pack(b, hidden, true, hidden, 2 * hidden, packed);
    pack(b + 2 * hidden * hidden, hidden, true, hidden, hidden,
         packed + part_size(r, hidden, 2 * hidden));
  } else {
    pack(b, state, true, state, n, packed);
    if (projection) pack(projection, hidden, true, hidden, state, packed + part_size(r, state, n));
  }
}

// ----- detection of a zero initial state

inline int32_t magnitude_bits(float x) { return bit_cast<int32_t>(x) & 0x7fffffff; }
inline int64_t magnitude_bits(double x) { return bit_cast<int64_t>(x) & 0x7fffffffffffffff; }

// The bits of the largest magnitude: 0 if all are zero, above those of infinity for a NaN.
template <typename T>
inline auto greatest_bits(const T* x, int64_t n) {
  auto maximum = magnitude_bits(T(0));
  for (int64_t i = 0; i < n; ++i) maximum = std::max(maximum, magnitude_bits(x[i]));
  return maximum;
}

// True if all products of the initial state with n numbers y are zero.
template <typename T>
inline bool is_first_step_zero(const Recurrence& r, const T* y, int64_t n) {
  const int64_t first = r.previous_index(r.reverse ? r.steps - 1 : 0), size = r.batch * r.state;
  return !greatest_bits(static_cast<const T*>(r.h) + first * size, size) &&
         greatest_bits(y, n) < magnitude_bits(std::numeric_limits<T>::infinity());
}

// True if the first step adds nothing to the gradient of the recurrent weights.
template <typename T>
inline bool is_first_gradient_zero(const Recurrence& r) {
  const int64_t size = r.batch * gate_count(r.mode) * r.hidden;
  const T* sums = static_cast<const T*>(r.dgates_h) + (r.reverse ? (r.steps - 1) * size : 0);
  return is_first_step_zero(r, sums, size);
}

// ----- gates of one sequence in one step

// LSTM cells are stored unclipped. Like cuDNN, CLIP bounds them where they are used.
template <bool CLIP, typename T>
struct CellClipping {
  T low, high;
  bool clip_nan;
  explicit CellClipping(const Recurrence& r)
      : low(static_cast<T>(r.clip_min)), high(static_cast<T>(r.clip_max)), clip_nan(r.clip_nan) {}
  T clipped_cell(T c) const {
    if (!CLIP) return c;
    const T value = clip_nan && c != c ? low : c;
    return value < low ? low : (value > high ? high : value);
  }
  // The gradient of c, when d is the gradient of used(c).
  T cell_gradient(T c, T d) const { return !CLIP || (c > low && c < high) ? d : T(0); }
};

template <bool CLIP, typename T>
inline void compute_lstm_gates(const Recurrence& r, T* gates, const T* c_before, T* c, T* h) {
  const int64_t n = r.hidden;
  const CellClipping<CLIP, T> cells(r);
  T *in = gates, *forget = gates + n, *cell = gates + 2 * n, *out = gates + 3 * n;
  CYNET_IVDEP
  for (int64_t j = 0; j < n; ++j) {
    const T i = math::sigmoid(in[j]), f = math::sigmoid(forget[j]), g = math::tanh(cell[j]);
    in[j] = i;
    forget[j] = f;
    cell[j] = g;
    c[j] = f * cells.clipped_cell(c_before[j]) + i * g;
  }
  CYNET_IVDEP
  for (int64_t j = 0; j < n; ++j) {
    const T o = math::sigmoid(out[j]);
    out[j] = o;
    h[j] = o * math::tanh(cells.clipped_cell(c[j]));
  }
}

template <typename T>
inline void compute_gru_gates(const Recurrence& r, T* gates, T* product, const T* h_before, T* h) {
  const int64_t n = r.hidden;
  const T* bias = static_cast<const T*>(r.bias_n);
  T *reset = gates, *update = gates + n, *fresh = gates + 2 * n;
  CYNET_IVDEP
  for (int64_t j = 0; j < n; ++j) {
    const T p = product[j] + bias[j], a = math::sigmoid(reset[j]), z = math::sigmoid(update[j]);
    const T value = math::tanh(fresh[j] + a * p);
    product[j] = p;
    reset[j] = a;
    update[j] = z;
    fresh[j] = value;
    h[j] = value + z * (h_before[j] - value);
  }
}

template <typename T>
inline void compute_plain_rnn(const Recurrence& r, const T* sums, T* h) {
  if (r.mode == RNN_RELU) {
    for (int64_t j = 0; j < r.hidden; ++j) h[j] = sums[j] < 0 ? T(0) : sums[j];
  } else {
    CYNET_IVDEP
    for (int64_t j = 0; j < r.hidden; ++j) h[j] = math::tanh(sums[j]);
  }
}

// y = h, or y += h; h NULL means zeros.
template <typename T>
inline void copy_or_add(const T* h, T* y, int64_t n, bool add) {
  if (add)
    for (int64_t j = 0; h && j < n; ++j) y[j] += h[j];
  else if (h) std::memcpy(y, h, n * sizeof(T));
  else std::memset(y, 0, n * sizeof(T));
}

// Computes all steps of the sequences begin .. end.
template <typename T>
inline void forward_steps(const Recurrence& r, int64_t begin, int64_t end) {
  const int64_t n = r.hidden, m = r.state, width = gate_count(r.mode) * n, rows = end - begin;
  const T *weight = static_cast<const T*>(r.weight), *packed = static_cast<const T*>(r.packed);
  const T* projection = static_cast<const T*>(r.projection);
  T *all_h = static_cast<T*>(r.h), *all_c = static_cast<T*>(r.c);
  for (int64_t step = 0; step < r.steps; ++step) {
    const int64_t t = r.reverse ? r.steps - 1 - step : step, first = t * r.batch + begin;
    const int64_t from = r.previous_index(t) * r.batch + begin,
                  to = r.state_index(t) * r.batch + begin;
    T* gates = static_cast<T*>(r.gates) + first * width;
    T* product = r.mode == GRU ? static_cast<T*>(r.n) + first * n : nullptr;
    T* full = projection ? static_cast<T*>(r.full) + first * n : nullptr;
    const int64_t added = r.mode == GRU ? 2 * n : width;
    const bool vanishes = step == 0 && is_first_step_zero(r, weight, width * m);
    if (!vanishes)
      multiply_packed(r, true, all_h + from * m, m, rows, packed, weight, m, added, gates, width,
                      true);
    if (vanishes && r.mode == GRU) std::memset(product, 0, rows * n * sizeof(T));
    else if (r.mode == GRU)
      multiply_packed(r, true, all_h + from * m, n, rows, packed + part_size(r, n, added),
                      weight + added * n, n, n, product, n, false);
    auto finish = [&](int64_t i, bool active) {
      T* h = all_h + (to + i) * m;
      if (!active) std::memcpy(h, all_h + (from + i) * m, m * sizeof(T));
      if (r.y)
        copy_or_add(active ? h : nullptr, static_cast<T*>(r.y) + (first + i) * r.y_row, m, r.y_add);
    };
    for (int64_t i = 0; i < rows; ++i) {
      T* h = projection ? full + i * n : all_h + (to + i) * m;
      const bool active = r.is_active(t, begin + i);
      if (!active) {
        if (projection) std::memset(h, 0, n * sizeof(T));
        if (r.mode == LSTM)
          std::memcpy(all_c + (to + i) * n, all_c + (from + i) * n, n * sizeof(T));
      } else if (r.mode == LSTM) {
        (r.clip ? compute_lstm_gates<true, T>
                : compute_lstm_gates<false, T>)(r, gates + i * width, all_c + (from + i) * n,
                                                all_c + (to + i) * n, h);
      } else if (r.mode == GRU) {
        compute_gru_gates(r, gates + i * width, product + i * n, all_h + (from + i) * m, h);
      } else {
        compute_plain_rnn(r, gates + i * width, h);
      }
      if (!projection) finish(i, active);
    }
    if (!projection) continue;
    multiply_packed(r, true, full, n, rows, packed + part_size(r, m, width), projection, n, m,
                    all_h + to * m, m, false);
    for (int64_t i = 0; i < rows; ++i) finish(i, r.is_active(t, begin + i));
  }
}

// ----- gradients of the gates of one sequence in one step
// dh comes as the gradient of h and leaves without what the product by the weights will add.

template <bool CLIP, typename T>
inline void lstm_gradient(const Recurrence& r, const T* gates, const T* c_before, const T* c,
                          const T* dh, T* dc, T* sums) {
  const int64_t n = r.hidden;
  const T *in = gates, *forget = gates + n, *cell = gates + 2 * n, *out = gates + 3 * n;
  const CellClipping<CLIP, T> cells(r);
  CYNET_IVDEP
  for (int64_t j = 0; j < n; ++j) {
    const T t = math::tanh(cells.clipped_cell(c[j])), o = out[j], d = dh[j] * o;
    sums[3 * n + j] = d * t * (1 - o);
    dc[j] += cells.cell_gradient(c[j], d * (1 - t * t));
  }
  CYNET_IVDEP
  for (int64_t j = 0; j < n; ++j) {
    const T i = in[j], f = forget[j], g = cell[j], d = dc[j];
    sums[j] = d * g * i * (1 - i);
    sums[n + j] = d * cells.clipped_cell(c_before[j]) * f * (1 - f);
    sums[2 * n + j] = d * i * (1 - g * g);
    dc[j] = cells.cell_gradient(c_before[j], d * f);
  }
}

template <typename T>
inline void gru_gradient(const Recurrence& r, const T* gates, const T* product, const T* h_before,
                         T* dh, T* sums, T* sums_h) {
  const int64_t n = r.hidden;
  const T *reset = gates, *update = gates + n, *fresh = gates + 2 * n;
  CYNET_IVDEP
  for (int64_t j = 0; j < n; ++j) {
    const T a = reset[j], z = update[j], value = fresh[j], d = dh[j];
    const T d_fresh = d * (1 - z) * (1 - value * value);
    const T d_reset = d_fresh * product[j] * a * (1 - a);
    const T d_update = d * (h_before[j] - value) * z * (1 - z);
    sums[j] = sums_h[j] = d_reset;
    sums[n + j] = sums_h[n + j] = d_update;
    sums[2 * n + j] = d_fresh;
    sums_h[2 * n + j] = d_fresh * a;
    dh[j] = d * z;
  }
}

template <typename T>
inline void plain_rnn_gradient(const Recurrence& r, const T* h, const T* dh, T* sums) {
  CYNET_IVDEP
  for (int64_t j = 0; j < r.hidden; ++j)
    sums[j] = r.mode == RNN_RELU ? (h[j] > 0 ? dh[j] : T(0)) : dh[j] * (1 - h[j] * h[j]);
}

template <bool WRITTEN, typename T>
inline void prefetch_all(const T* p, int64_t n) {
  for (int64_t j = 0; j < n; j += 64 / sizeof(T)) prefetch_line<WRITTEN>(p + j);
}

template <typename T>
inline void backward_steps(const Recurrence& r, int64_t begin, int64_t end) {
  const int64_t n = r.hidden, m = r.state, width = gate_count(r.mode) * n, rows = end - begin;
  const T *weight = static_cast<const T*>(r.weight), *packed = static_cast<const T*>(r.packed);
  const T* projection = static_cast<const T*>(r.projection);
  const T *all_h = static_cast<const T*>(r.h), *all_c = static_cast<const T*>(r.c);
  T* all_dh = static_cast<T*>(r.dh) + begin * m;
  T* all_dfull = projection ? static_cast<T*>(r.dfull) + begin * n : all_dh;
  // dh has another part than the product for a GRU, and for sequences that have ended.
  const bool add = r.mode == GRU || r.lengths;
  for (int64_t step = 0; step < r.steps; ++step) {
    const int64_t t = r.reverse ? step : r.steps - 1 - step, first = t * r.batch + begin;
    const int64_t from = r.previous_index(t) * r.batch + begin,
                  to = r.state_index(t) * r.batch + begin;
    const T* gates = static_cast<const T*>(r.gates) + first * width;
    T* sums = static_cast<T*>(r.dgates) + first * width;
    T* sums_h = static_cast<T*>(r.dgates_h) + first * width;
    auto begin_row = [&](int64_t i) {
      T* dh = all_dh + i * m;
      if (!r.dy) return;
      const T* dy = static_cast<const T*>(r.dy) + (first + i) * r.y_row;
      for (int64_t j = 0; j < m; ++j) dh[j] += dy[j];
    };
    if (projection) {
      T* dprojected = static_cast<T*>(r.dprojected) + first * m;
      for (int64_t i = 0; i < rows; ++i) {
        const bool active = r.is_active(t, begin + i);
        if (active) begin_row(i);
        copy_or_add(active ? all_dh + i * m : nullptr, dprojected + i * m, m, false);
      }
      multiply_packed(r, false, dprojected, m, rows, packed + part_size(r, width, m), projection, m,
                      n, all_dfull, n, false);
    }
    for (int64_t i = 0; i < rows; ++i) {
      T* dh = all_dfull + i * n;
      if (i + 1 < rows) {  // prefetch the next sequence's data
        prefetch_all<false>(gates + (i + 1) * width, width);
        prefetch_all<true>(sums + (i + 1) * width, width);
      }
      if (!r.is_active(t, begin + i)) {
        std::memset(sums + i * width, 0, width * sizeof(T));
        if (r.mode == GRU) std::memset(sums_h + i * width, 0, width * sizeof(T));
        continue;
      }
      if (!projection) begin_row(i);
      if (r.mode == LSTM)
        (r.clip ? lstm_gradient<true, T>
                : lstm_gradient<false, T>)(r, gates + i * width, all_c + (from + i) * n,
                                           all_c + (to + i) * n, dh,
                                           static_cast<T*>(r.dc) + (begin + i) * n,
                                           sums + i * width);
      else if (r.mode == GRU)
        gru_gradient(r, gates + i * width, static_cast<const T*>(r.n) + (first + i) * n,
                     all_h + (from + i) * m, dh, sums + i * width, sums_h + i * width);
      else plain_rnn_gradient(r, all_h + (to + i) * m, dh, sums + i * width);
      if (add && r.mode != GRU) std::memset(all_dh + i * m, 0, m * sizeof(T));
    }
    if (step + 1 < r.steps || r.wants_dh)
      multiply_packed(r, false, sums_h, width, rows, packed, weight, width, m, all_dh, m, add);
  }
}
