// Random arrays: distributions, integers, draws from tables of weights, random orders; the
// rectifier with random slopes.
#include "common/by_dtype.h"
#include "kernel.h"
#include "rng/random_choice.h"
#include "rng/random_fill.h"

namespace cynet {
#define DISTRIBUTED_FIELDS(field) field(int, distribution) field(double, a) field(double, b)
CYNET_PARAMS(Distributed, DISTRIBUTED_FIELDS)
#define INTEGERS_FIELDS(field) field(int64_t, low) field(int64_t, high)
CYNET_PARAMS(Integers, INTEGERS_FIELDS)
#define RANDOM_SLOPES_FIELDS(field) field(double, low) field(double, high)
CYNET_PARAMS(RandomSlopes, RANDOM_SLOPES_FIELDS)

namespace {
// Draws `out`, of any float dtype, with the distribution's constant parameters, or with in[0] and
// in[1], whose pairs serve equal blocks of numbers.
template <typename>
void draw(const Args& args) {
  const Distributed& p = args.as<Distributed>();
  const Blob& out = *args.out[0];
  DrawRequest d = {p.distribution, args.seed, args.stream, p.a, p.b, nullptr, nullptr, 0, 1};
  if (out.size == 0) return;
  if (args.in[0]) {
    d.a_data = args.in[0]->data;
    d.b_data = args.in[1] ? args.in[1]->data : nullptr;
    d.param_dtype = args.in[0]->dtype;
    d.each = out.size / args.in[0]->size;
  }
  auto filled = [&](auto zero, auto computed) {
    typedef decltype(zero) T;
    fill_random<T, decltype(computed)>(args.level, d, args.output<T>(0), out.size, args.add[0],
                                       args.threads);
  };
  if (out.dtype == F32) filled(float(), float());
  else if (out.dtype == F64) filled(double(), double());
  else if (out.dtype == F16) filled(half(), float());
  else filled(bfloat16(), float());
}

// Like draw, for distributions that use rejection.
template <typename T>
void draw_by_rejection(const Args& args) {
  draw<T>(args);
}

template <typename>
void draw_integers(const Args& args) {
  const Integers& p = args.as<Integers>();
  const uint64_t range = static_cast<uint64_t>(p.high) - static_cast<uint64_t>(p.low);
  const int64_t n = args.out[0]->size;
  if (args.out[0]->dtype == I32)
    fill_integers(args.level, args.seed, args.stream, p.low, range, args.output<int32_t>(0), n,
                  args.add[0], args.threads);
  else
    fill_integers(args.level, args.seed, args.stream, p.low, range, args.output<int64_t>(0), n,
                  args.add[0], args.threads);
}

// ----- draws from tables
int64_t choices_workspace_bytes(const Args& args) {
  return args.in[0]->size * sizeof(double) + args.out[0]->size * sizeof(int64_t);
}

template <typename T>
void write_or_add(T* out, double value, bool add) {
  if constexpr (std::is_same<T, half>::value)
    *out = half(static_cast<float>(add ? value + static_cast<float>(*out) : value));
  else *out = static_cast<T>(add ? value + static_cast<double>(*out) : value);
}

// out[0], of any dtype: entries of the rows of in[0] (rows, k), whose weights they are drawn by;
// out[1] logarithms of their probabilities
template <typename T>
void multinomial(const Args& args) {
  const Blob &data = *args.in[0], &out = *args.out[0];
  const int64_t k = data.shape[data.ndim - 1], rows = data.size / k, n = out.size, each = n / rows;
  const T* weights = args.input<T>(0);
  double* sums = static_cast<double*>(args.space);
  int64_t* choices = reinterpret_cast<int64_t*>(sums + data.size);
  const int64_t bad = compute_running_sums(weights, sums, rows, k);
  if (bad >= 0) return args.fail(bad);
  draw_choice(args.seed, args.stream, sums, rows, k, each, choices, args.threads);
  if (args.wanted[0])
    call_for_dtype(out.dtype, [&](auto zero) {
      auto* to = args.output<decltype(zero)>(0);
      for (int64_t i = 0; i < n; ++i) write_or_add(to + i, double(choices[i]), args.add[0]);
    });
  if (T* logs = args.output<T>(1))
    for (int64_t i = 0; i < n; ++i) {
      const int64_t row = i / each;
      const double weight = static_cast<double>(weights[row * k + choices[i]]);
      write_or_add(logs + i, log_ratio(weight, sums[(row + 1) * k - 1]), args.add[1]);
    }
}

// out (+)= the gradient of the weights in[1]. in[0] is the gradient of the drawn log-probabilities,
// in[2] has the draws, of any dtype.
template <typename T>
void multinomial_grad(const Args& args) {
  const Blob &data = *args.in[1], &drawn = *args.in[2];
  T* dx = args.output<T>(0);
  const T *grad = args.in[0] ? args.input<T>(0) : nullptr, *weights = args.input<T>(1);
  if (!args.add[0]) std::memset(dx, 0, args.out[0]->size * sizeof(T));
  if (!grad) return;
  const int64_t k = data.shape[data.ndim - 1], each = drawn.size / (data.size / k);
  for (int64_t i = 0; i < drawn.size; ++i) {
    double number = load_number(drawn.data, drawn.dtype, i);
    if (!(number < static_cast<double>(k)))  // k may be infinity in float16
      number = static_cast<double>(k - 1);
    const int64_t at = i / each * k + (number > 0 ? static_cast<int64_t>(number) : 0);
    write_or_add(dx + at, static_cast<double>(grad[i]) / static_cast<double>(weights[at]), true);
  }
}

// ----- orders
int64_t shuffle_workspace_bytes(const Args& args) { return args.in[0]->shape[0] * sizeof(int64_t); }

// out (+)= the rows of in[0], shuffled
template <typename T>
void shuffle(const Args& args) {
  const int64_t n = args.in[0]->shape[0], width = args.in[0]->size / n;
  int64_t* order = static_cast<int64_t*>(args.space);
  const T* x = args.input<T>(0);
  T* out = args.output<T>(0);
  fill_permutation(args.seed, args.stream, order, n);
  if (!args.add[0])
    return gather_rows(reinterpret_cast<const char*>(x), reinterpret_cast<char*>(out), order, n,
                       width * sizeof(T), args.threads);
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < width; ++j) add_element(out + i * width + j, x[order[i] * width + j]);
}

// ----- out[0] (+)= in[0], times a slope where it is not above 0; in training a random one, out[1]
template <typename T>
void random_rectifier(const Args& args) {
  const RandomSlopes& p = args.as<RandomSlopes>();
  const int64_t n = args.in[0]->size;
  const T *x = args.input<T>(0), slope = static_cast<T>((p.low + p.high) / 2);
  T *y = args.output<T>(0), *slopes = static_cast<T*>(args.out[1]->data);
  const bool add = args.add[0], training = args.training;
  if (training) {
    const DrawRequest d = {kUniform, args.seed, args.stream, p.low, p.high, nullptr, nullptr, 0, 1};
    fill_random<T, T>(args.level, d, slopes, n, false, args.threads);
  } else if (args.wanted[1]) {
    for (int64_t i = 0; i < n; ++i) slopes[i] = args.add[1] ? slopes[i] + slope : slope;
  }
  if (!y) return;
  parallel_for(args.threads, n, [=](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const T value = x[i] > 0 ? x[i] : (training ? slopes[i] : slope) * x[i];
      y[i] = add ? y[i] + value : value;
    }
  });
}
}  // namespace
}  // namespace cynet

// these three kernels read the dtype of out[0] at run time
CYNET_PLAIN_KERNEL(draw, Distributed, 8, float)
CYNET_PLAIN_KERNEL(draw_by_rejection, Distributed, 64, float)
CYNET_PLAIN_KERNEL(draw_integers, Integers, 8, float)
CYNET_PLAIN_SPACE_KERNEL(multinomial, NoParams, 32, choices_workspace_bytes, float, double, half)
CYNET_PLAIN_KERNEL(multinomial_grad, NoParams, 1, float, double, half)
CYNET_PLAIN_SPACE_KERNEL(shuffle, NoParams, 1, shuffle_workspace_bytes, CYNET_NUMBERS, bool)
CYNET_PLAIN_KERNEL(random_rectifier, RandomSlopes, 8, CYNET_FLOATS)
