// Choosing by value: clip, hard sigmoid and where, with their gradients.
#ifndef CYNET_LANES
#include "common/emit.h"
#include "kernel.h"

namespace cynet {
#define LIMITS_FIELDS(field) field(double, low) field(double, high)
CYNET_PARAMS(Limits, LIMITS_FIELDS)
#define HARD_SIGMOID_FIELDS(field) field(double, slope) field(double, shift)
CYNET_PARAMS(Line, HARD_SIGMOID_FIELDS)

// mask[i] = condition[i] != 0
typedef void (*TruthLoop)(const void* condition, uint8_t* mask, int64_t n);

// Calls loop(begin, n) for parts of the first output.
template <class Loop>
static void for_output_parts(const Args& args, Loop loop) {
  parallel_for(args.threads, args.out[0]->size,
               [=](int64_t begin, int64_t end) { loop(begin, end - begin); });
}
}  // namespace cynet

#define CYNET_PER_ISA_FILE "elementwise/where_clip.cc"
#include "isa/for_each_isa.h"

CYNET_KERNEL(clip, Limits, 1, CYNET_NUMBERS)
CYNET_KERNEL(clip_grad, Limits, 1, CYNET_NUMBERS)
CYNET_KERNEL(hard_sigmoid, Line, 1, float, double, half)
CYNET_KERNEL(hard_sigmoid_grad, Line, 1, float, double, half)
CYNET_KERNEL(where, NoParams, 1, CYNET_NUMBERS, bool)
CYNET_KERNEL(where_grad, NoParams, 1, CYNET_NUMBERS, bool)
#else
namespace {

// out = or += f(x).
template <typename T, class F>
CYNET_XINLINE void map_loop(const T* x, T* out, int64_t n, bool add, const F& f) {
  if (add) {
    CYNET_IVDEP
    for (int64_t i = 0; i < n; ++i) emit(out[i], f(x[i]), true);
  } else {
    CYNET_IVDEP
    for (int64_t i = 0; i < n; ++i) emit(out[i], f(x[i]), false);
  }
}

// out = or += f(x, g).
template <typename T, class F>
CYNET_XINLINE void map_loop(const T* x, const T* g, T* out, int64_t n, bool add, const F& f) {
  typedef compute_t<T> P;
  if (add) {
    CYNET_IVDEP
    for (int64_t i = 0; i < n; ++i) emit(out[i], f(P(x[i]), P(g[i])), true);
  } else {
    CYNET_IVDEP
    for (int64_t i = 0; i < n; ++i) emit(out[i], f(P(x[i]), P(g[i])), false);
  }
}

template <typename T>
void clip_loop(const T* x, compute_t<T> low, compute_t<T> high, T* out, int64_t n, bool add) {
  map_loop(x, out, n, add, [=](compute_t<T> v) { return v < low ? low : (v > high ? high : v); });
}

// slope * x + shift limited to [0, 1]
template <typename T>
void hard_sigmoid_loop(const T* x, compute_t<T> slope, compute_t<T> shift, T* out, int64_t n,
                       bool add) {
  typedef compute_t<T> P;
  map_loop(x, out, n, add, [=](P x) {
    const P v = static_cast<P>(slope * x + shift);
    return v < P(0) ? P(0) : (v > P(1) ? P(1) : v);
  });
}

template <typename T>
void truth_loop(const void* condition_, uint8_t* mask, int64_t n) {
  const T* condition = static_cast<const T*>(condition_);
  for (int64_t i = 0; i < n; ++i)
    mask[i] = static_cast<compute_t<T> >(condition[i]) != compute_t<T>(0);
}

template <typename T>
void where_loop(const uint8_t* mask, const T* x, const T* y, T* out, int64_t n) {
  CYNET_IVDEP
  for (int64_t i = 0; i < n; ++i) {
    const T a = x[i], b = y[i];
    out[i] = mask[i] ? a : b;
  }
}

template <typename T>
void clip(const Args& args) {
  typedef compute_t<T> P;
  const Limits& p = args.as<Limits>();
  const P low = lower_limit<P>(p.low), high = upper_limit<P>(p.high);
  for_output_parts(args, [=, &args](int64_t begin, int64_t n) {
    clip_loop(args.input<T>(0) + begin, low, high, args.output<T>(0) + begin, n, args.add[0]);
  });
}

template <typename T>
void clip_grad_loop(const T* g, const T* x, compute_t<T> low, compute_t<T> high, T* out, int64_t n,
                    bool add) {
  map_loop(x, g, out, n, add, [=](compute_t<T> v, compute_t<T> pass) {
    return v < low || v > high ? compute_t<T>(0) : pass;
  });
}

// dx (+)= dy where low <= x <= high
template <typename T>
void clip_grad(const Args& args) {
  const Limits& p = args.as<Limits>();
  const auto low = lower_limit<compute_t<T> >(p.low), high = upper_limit<compute_t<T> >(p.high);
  for_output_parts(args, [=, &args](int64_t begin, int64_t n) {
    clip_grad_loop(args.input<T>(0) + begin, args.input<T>(1) + begin, low, high,
                   args.output<T>(0) + begin, n, args.add[0]);
  });
}

template <typename T>
void hard_sigmoid_grad_loop(const T* g, const T* y, compute_t<T> slope, T* out, int64_t n,
                            bool add) {
  typedef compute_t<T> P;
  map_loop(y, g, out, n, add,
           [=](P v, P pass) { return v > P(0) && v < P(1) ? static_cast<P>(slope * pass) : P(0); });
}

// dx (+)= slope dy where 0 < y < 1
template <typename T>
void hard_sigmoid_grad(const Args& args) {
  const auto slope = static_cast<compute_t<T> >(args.as<Line>().slope);
  for_output_parts(args, [=, &args](int64_t begin, int64_t n) {
    hard_sigmoid_grad_loop(args.input<T>(0) + begin, args.input<T>(1) + begin, slope,
                           args.output<T>(0) + begin, n, args.add[0]);
  });
}

template <typename T>
void hard_sigmoid(const Args& args) {
  typedef compute_t<T> P;
  const Line& p = args.as<Line>();
  for_output_parts(args, [=, &args](int64_t begin, int64_t n) {
    hard_sigmoid_loop(args.input<T>(0) + begin, static_cast<P>(p.slope), static_cast<P>(p.shift),
                      args.output<T>(0) + begin, n, args.add[0]);
  });
}

// out (+)= x where the condition is true, else y. One condition may serve several neighbors. x
// nullptr: 0 if the condition holds; y nullptr: 0 if it does not.
template <typename T>
void select_each(const Args& args, const Blob& condition, const T* x, const T* y, T* out, int64_t n,
                 bool add) {
  enum { STEP = 1024 };
  static const TruthLoop truths[N_DTYPE] = {
      truth_loop<float>,   truth_loop<double>, truth_loop<half>,    truth_loop<uint8_t>,
      truth_loop<int32_t>, truth_loop<int8_t>, truth_loop<int64_t>, truth_loop<uint8_t>};
  const TruthLoop truth = truths[dtype_index(condition.dtype)];
  const int64_t size = element_size(condition.dtype), each = n / condition.size;
  parallel_for(args.threads, condition.size, [=, &condition](int64_t begin, int64_t end) {
    uint8_t mask[STEP];
    const T zeros[STEP] = {};
    T chosen[STEP];
    for (int64_t c = begin; c < end; c += STEP) {
      const int64_t m = end - c < STEP ? end - c : static_cast<int64_t>(STEP);
      truth(static_cast<const char*>(condition.data) + c * size, mask, m);
      if (each == 1) {
        where_loop(mask, x ? x + c : zeros, y ? y + c : zeros, add ? chosen : out + c, m);
        if (add)
          for (int64_t i = 0; i < m; ++i)
            emit(out[c + i], static_cast<compute_t<T> >(chosen[i]), true);
        continue;
      }
      for (int64_t i = 0; i < m; ++i) {
        const T* from = mask[i] ? x : y;
        for (int64_t k = (c + i) * each; k < (c + i + 1) * each; ++k)
          emit(out[k], from ? static_cast<compute_t<T> >(from[k]) : compute_t<T>(0), add);
      }
    }
  });
}

// out (+)= where(condition, x, y); in: condition, x, y
template <typename T>
void where(const Args& args) {
  select_each(args, *args.in[0], args.input<T>(1), args.input<T>(2), args.output<T>(0),
              args.out[0]->size, args.add[0]);
}

// Computes dx and dy from the condition and the gradient.
template <typename T>
void where_grad(const Args& args) {
  const T *g = args.input<T>(1), *none = nullptr;
  const int64_t n = args.in[1]->size;
  if (args.wanted[0]) select_each(args, *args.in[0], g, none, args.output<T>(0), n, args.add[0]);
  if (args.wanted[1]) select_each(args, *args.in[0], none, g, args.output<T>(1), n, args.add[1]);
}
}
#endif
