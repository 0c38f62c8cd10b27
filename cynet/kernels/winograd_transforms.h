// Winograd's transforms at one CPU level: vectors of LANES channels. Included by winograd.h for
// each level. M is the number of outputs of a tile in a direction, K = 7 - M that of weights.

using namespace cynet::winograd;

// Tiles by 6 positions whose sums are held in registers.
constexpr int ROWS = LANES == 16 || WINOGRAD_REGISTERS >= 32 ? 4 : 2;

// ----- one-dimensional transforms at the points 0, A, -A, B, -B, infinity

// B^T: 6 inputs to 6 positions, in three parts so that few registers are live.
CYNET_XINLINE Vec input_first(Vec x0, Vec x2, Vec x4) {
  return x4 + (A2 * B2 * x0 - (A2 + B2) * x2);
}
CYNET_XINLINE void input_pair(float p, float q2, Vec x1, Vec x2, Vec x3, Vec x4, Vec* plus,
                              Vec* minus) {
  const Vec even = x4 - q2 * x2, odd = p * x3 - p * q2 * x1;
  *plus = even + odd;
  *minus = even - odd;
}
CYNET_XINLINE void input_all(const Vec* x, Vec* w) {
  w[0] = input_first(x[0], x[2], x[4]);
  input_pair(A1, B2, x[1], x[2], x[3], x[4], w + 1, w + 2);
  input_pair(B1, A2, x[1], x[2], x[3], x[4], w + 3, w + 4);
  w[5] = input_first(x[1], x[3], x[5]);
}

// 6 positions to N sums of powers: A^T with N = M; or to 6 inputs' gradients: B with N = 6.
template <int N>
CYNET_XINLINE void gather(const Vec* m, Vec* y) {
  const Vec sa = m[1] + m[2], da = m[1] - m[2], sb = m[3] + m[4], db = m[3] - m[4];
  if constexpr (N == 6) {
    y[0] = A2 * B2 * m[0];
    y[1] = A2 * B2 * m[5] - A1 * B2 * da - B1 * A2 * db;
    y[2] = -(A2 + B2) * m[0] - B2 * sa - A2 * sb;
    y[3] = -(A2 + B2) * m[5] + A1 * da + B1 * db;
    y[4] = m[0] + (sa + sb);
    y[5] = m[5];
  } else {
    y[0] = m[0] + (sa + sb);
    y[1] = N == 2 ? m[5] + A1 * da + B1 * db : A1 * da + B1 * db;
    if constexpr (N > 2) y[2] = N == 3 ? m[5] + A2 * sa + B2 * sb : A2 * sa + B2 * sb;
    if constexpr (N > 3) y[3] = N == 4 ? m[5] + A3 * da + B3 * db : A3 * da + B3 * db;
    if constexpr (N > 4) y[4] = m[5] + A4 * sa + B4 * sb;
  }
}

// Its transpose, N coefficients to the polynomial's values at the positions: A with N = M.
template <int N>
CYNET_XINLINE void evaluate(const Vec* y, Vec* w) {
  Vec ea = y[0], eb = y[0], oa = A1 * y[1], ob = B1 * y[1];
  if constexpr (N > 2) ea += A2 * y[2], eb += B2 * y[2];
  if constexpr (N > 3) oa += A3 * y[3], ob += B3 * y[3];
  if constexpr (N > 4) ea += A4 * y[4], eb += B4 * y[4];
  w[0] = y[0];
  w[1] = ea + oa;
  w[2] = ea - oa;
  w[3] = eb + ob;
  w[4] = eb - ob;
  w[5] = y[N - 1];
}

// G: K weights to 6 positions; its transpose: 6 positions to K weight gradients.
CYNET_XINLINE void scale_positions(const Vec* w, Vec* x) {
  x[0] = G0 * w[0];
  x[1] = GA * w[1];
  x[2] = GA * w[2];
  x[3] = GB * w[3];
  x[4] = GB * w[4];
  x[5] = w[5];
}
template <int K>
CYNET_XINLINE void weight_all(const Vec* g, Vec* w) {
  Vec x[6];
  evaluate<K>(g, x);
  scale_positions(x, w);
}
template <int K>
CYNET_XINLINE void weight_gradient_all(const Vec* w, Vec* g) {
  Vec x[6];
  scale_positions(w, x);
  gather<K>(x, g);
}

// ----- tiles

// 6x6 pixels by get(row, column) to positions v[i * down + j * across].
template <class Get>
CYNET_XINLINE void input_tile(const Get& get, float* v, int64_t down, int64_t across) {
  Vec row[6], other[6], w[6];
  auto put = [&](int i, const Vec* x) CYNET_XLAMBDA {
    input_all(x, w);
#pragma GCC unroll 6
    for (int j = 0; j < 6; ++j) at(v + i * down + j * across) = w[j];
  };
#pragma GCC unroll 6
  for (int j = 0; j < 6; ++j) row[j] = input_first(get(0, j), get(2, j), get(4, j));
  put(0, row);
#pragma GCC unroll 6
  for (int j = 0; j < 6; ++j)
    input_pair(A1, B2, get(1, j), get(2, j), get(3, j), get(4, j), row + j, other + j);
  put(1, row);
  put(2, other);
#pragma GCC unroll 6
  for (int j = 0; j < 6; ++j)
    input_pair(B1, A2, get(1, j), get(2, j), get(3, j), get(4, j), row + j, other + j);
  put(3, row);
  put(4, other);
#pragma GCC unroll 6
  for (int j = 0; j < 6; ++j) row[j] = input_first(get(1, j), get(3, j), get(5, j));
  put(5, row);
}

// MxM output gradients by get(row, column) to positions m[i * down + j * across].
template <int M, class Get>
CYNET_XINLINE void gradient_tile(const Get& get, float* m, int64_t down, int64_t across) {
  Vec w[6], e[M], o[M], x[M];
  auto put = [&](int i, const Vec* y) CYNET_XLAMBDA {
    evaluate<M>(y, w);
#pragma GCC unroll 6
    for (int j = 0; j < 6; ++j) at(m + i * down + j * across) = w[j];
  };
  auto pair = [&](int i, float a1, float a2, float a3) CYNET_XLAMBDA {
#pragma GCC unroll 4
    for (int j = 0; j < M; ++j) {
      e[j] = get(0, j);
      o[j] = a1 * get(1, j);
      if constexpr (M > 2) {
        e[j] += a2 * get(2, j);
        o[j] += a3 * get(3, j);
      }
      x[j] = e[j] + o[j];
    }
    put(i, x);
#pragma GCC unroll 4
    for (int j = 0; j < M; ++j) x[j] = e[j] - o[j];
    put(i + 1, x);
  };
#pragma GCC unroll 4
  for (int j = 0; j < M; ++j) x[j] = get(0, j);
  put(0, x);
  pair(1, A1, A2, A3);
  pair(3, B1, B2, B3);
#pragma GCC unroll 4
  for (int j = 0; j < M; ++j) x[j] = get(M - 1, j);
  put(5, x);
}

// s[6][N], whose columns are gathered, to put(row, column, value) of NxN pixels.
template <int N, class Put>
CYNET_XINLINE void output_tile(const float* s, const Put& put) {
  Vec x[6], y[N];
#pragma GCC unroll 6
  for (int j = 0; j < N; ++j) {
#pragma GCC unroll 6
    for (int i = 0; i < 6; ++i) x[i] = at(s + (i * N + j) * LANES);
    gather<N>(x, y);
#pragma GCC unroll 6
    for (int i = 0; i < N; ++i) put(i, j, y[i]);
  }
}
