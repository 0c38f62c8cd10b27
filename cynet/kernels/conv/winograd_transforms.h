// Winograd's transforms of vectors of LANES channels, at one CPU level. Included by winograd.h for
// each level. Numbers per direction: P of positions (6, or 5 without the point 0), M of a tile's
// outputs, K = P + 1 - M of weights.

using namespace cynet::winograd;

// ----- one-dimensional transforms at the points 0, A, -A, B, -B, infinity

// B^T: 6 inputs to 6 positions, in three parts, so that few registers are live.
CYNET_XINLINE Vec input_end_position(Vec x0, Vec x2, Vec x4) {  // at the points 0 and infinity
  return x4 - (A2 + B2) * x2 + A2 * B2 * x0;
}
CYNET_XINLINE void input_positions(float p, float q2, Vec x1, Vec x2, Vec x3, Vec x4, Vec* plus,
                                   Vec* minus) {
  const Vec even = x4 - q2 * x2, odd = x3 - q2 * x1;
  *plus = even + p * odd;
  *minus = even - p * odd;
}
template <int P>
CYNET_XINLINE void transform_input(const Vec* x, Vec* w) {
  if constexpr (P == 6) {
    *w++ = input_end_position(x[0], x[2], x[4]);
    ++x;
  }
  input_positions(A1, B2, x[0], x[1], x[2], x[3], w, w + 1);
  input_positions(B1, A2, x[0], x[1], x[2], x[3], w + 2, w + 3);
  w[4] = input_end_position(x[0], x[2], x[4]);
}

// P positions to N outputs: A^T with N = M, or B with N = P for gradients of inputs.
template <int P, int N>
CYNET_XINLINE void positions_to_outputs(const Vec* m, Vec* y) {
  constexpr int Z = P - 5;  // the first position behind the point 0
  const Vec sa = m[Z] + m[Z + 1], da = m[Z] - m[Z + 1];
  const Vec sb = m[Z + 2] + m[Z + 3], db = m[Z + 2] - m[Z + 3], last = m[P - 1];
  if constexpr (N == P) {
    y[Z] = A2 * B2 * last - A1 * B2 * da - B1 * A2 * db;
    y[Z + 1] = -B2 * sa - A2 * sb;
    y[Z + 2] = -(A2 + B2) * last + A1 * da + B1 * db;
    y[Z + 3] = sa + sb;
    y[Z + 4] = last;
    if constexpr (P == 6) {
      y[0] = A2 * B2 * m[0];
      y[2] = y[2] - (A2 + B2) * m[0];
      y[4] += m[0];
    }
  } else {
    y[0] = sa + sb;
    if constexpr (P == 6) y[0] += m[0];
    y[1] = N == 2 ? last + A1 * da + B1 * db : A1 * da + B1 * db;
    if constexpr (N > 2) y[2] = N == 3 ? last + A2 * sa + B2 * sb : A2 * sa + B2 * sb;
    if constexpr (N > 3) y[3] = N == 4 ? last + A3 * da + B3 * db : A3 * da + B3 * db;
    if constexpr (N > 4) y[4] = last + A4 * sa + B4 * sb;
  }
}

// The transpose: N coefficients to the values of their polynomial at the positions; A with N = M.
template <int P, int N>
CYNET_XINLINE void outputs_to_positions(const Vec* y, Vec* w) {
  Vec ea = y[0], eb = y[0], oa = y[1], ob = y[1];
  if constexpr (N > 2) ea += A2 * y[2], eb += B2 * y[2];
  if constexpr (N > 3) oa += A2 * y[3], ob += B2 * y[3];
  if constexpr (N > 4) ea += A4 * y[4], eb += B4 * y[4];
  if constexpr (P == 6) *w++ = y[0];
  w[0] = ea + A1 * oa;
  w[1] = ea - A1 * oa;
  w[2] = eb + B1 * ob;
  w[3] = eb - B1 * ob;
  w[4] = y[N - 1];
}

// G: K weights to P positions; and its transpose: P positions to K gradients of weights.
template <int P>
CYNET_XINLINE void weights_to_positions(const Vec* w, Vec* x) {
  constexpr float a = P == 6 ? GA : GA * A1, b = P == 6 ? GB : GB * B1;
  if constexpr (P == 6) *x++ = G0 * *w++;
  x[0] = a * w[0];
  x[1] = (P == 6 ? a : -a) * w[1];
  x[2] = b * w[2];
  x[3] = (P == 6 ? b : -b) * w[3];
  x[4] = w[4];
}
template <int P, int K>
CYNET_XINLINE void transform_weight(const Vec* g, Vec* w) {
  Vec x[P];
  outputs_to_positions<P, K>(g, x);
  weights_to_positions<P>(x, w);
}
template <int P, int K>
CYNET_XINLINE void transform_weight_gradient(const Vec* w, Vec* g) {
  Vec x[P];
  weights_to_positions<P>(w, x);
  positions_to_outputs<P, K>(x, g);
}

// ----- tiles

// PxP pixels, read by get(row, column), to positions v[i * down + j * across].
template <int P, class Get>
CYNET_XINLINE void transform_input_tile(const Get& get, float* v, int64_t down, int64_t across) {
  constexpr int Z = P - 5;  // the first position behind the point 0
  Vec row[P], other[P], w[P];
  auto put = [&](int i, const Vec* x) CYNET_XLAMBDA {
    transform_input<P>(x, w);
#pragma GCC unroll 6
    for (int j = 0; j < P; ++j) at(v + i * down + j * across) = w[j];
  };
  auto first = [&](int i, int z) CYNET_XLAMBDA {
#pragma GCC unroll 6
    for (int j = 0; j < P; ++j)
      row[j] = input_end_position(get(z, j), get(z + 2, j), get(z + 4, j));
    put(i, row);
  };
  auto pair = [&](int i, float p, float q2) CYNET_XLAMBDA {
#pragma GCC unroll 6
    for (int j = 0; j < P; ++j)
      input_positions(p, q2, get(Z, j), get(Z + 1, j), get(Z + 2, j), get(Z + 3, j), row + j,
                      other + j);
    put(i, row);
    put(i + 1, other);
  };
  if constexpr (P == 6) first(0, 0);
  pair(Z, A1, B2);
  pair(Z + 2, B1, A2);
  first(P - 1, Z);
}

// MxM output gradients, read by get(row, column), to positions m[i * down + j * across].
template <int P, int M, class Get>
CYNET_XINLINE void transform_gradient_tile(const Get& get, float* m, int64_t down, int64_t across) {
  Vec w[P], e[M], o[M], x[M];
  auto put = [&](int i, const Vec* y) CYNET_XLAMBDA {
    outputs_to_positions<P, M>(y, w);
#pragma GCC unroll 6
    for (int j = 0; j < P; ++j) at(m + i * down + j * across) = w[j];
  };
  auto pair = [&](int i, float a1, float a2) CYNET_XLAMBDA {
#pragma GCC unroll 4
    for (int j = 0; j < M; ++j) {
      e[j] = get(0, j);
      o[j] = get(1, j);
      if constexpr (M > 2) e[j] += a2 * get(2, j);
      if constexpr (M > 3) o[j] += a2 * get(3, j);
      x[j] = e[j] + a1 * o[j];
    }
    put(i, x);
#pragma GCC unroll 4
    for (int j = 0; j < M; ++j) x[j] = e[j] - a1 * o[j];
    put(i + 1, x);
  };
  auto row = [&](int i, int from) CYNET_XLAMBDA {
#pragma GCC unroll 4
    for (int j = 0; j < M; ++j) x[j] = get(from, j);
    put(i, x);
  };
  if constexpr (P == 6) row(0, 0);
  pair(P - 5, A1, A2);
  pair(P - 3, B1, B2);
  row(P - 1, M - 1);
}

// s[P][N], already transformed along the columns, to NxN pixels by put(row, column, value).
template <int P, int N, class Put>
CYNET_XINLINE void transform_output_tile(const float* s, const Put& put) {
  Vec x[P], y[N];
#pragma GCC unroll 6
  for (int j = 0; j < N; ++j) {
#pragma GCC unroll 6
    for (int i = 0; i < P; ++i) x[i] = at(s + (i * N + j) * LANES);
    positions_to_outputs<P, N>(x, y);
#pragma GCC unroll 6
    for (int i = 0; i < N; ++i) put(i, j, y[i]);
  }
}
