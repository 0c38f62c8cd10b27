// Choosing by value: clip and where, with their gradients. Included by where_clip.pyx alone.
#ifndef CYNET_SELECT_H
#define CYNET_SELECT_H

#include <cstdint>
#include <type_traits>

#include "elementwise/convert.h"
#include "common/half.h"
#include "isa/kernel_table.h"
#include "isa/levels.h"
#include "parallel.h"
#include "common/wrapping.h"

namespace cynet {

// half is computed in float
template <typename T>
using plain = typename std::conditional<std::is_same<T, half>::value, float, T>::type;

template <typename T>
CYNET_XINLINE void emit(T& out, plain<T> value, bool add) {
  if constexpr (std::is_same<T, half>::value) {
    out = half(add ? static_cast<float>(out) + value : value);
  } else {
    out = add ? sum_of(out, value) : value;
  }
}

// Calls F::run<T>(args...) for the C++ type of `dtype`.
template <class F, typename... Args>
inline void by_dtype(int dtype, Args... args) {
  switch (dtype) {
    case F32:
      return F::template run<float>(args...);
    case F64:
      return F::template run<double>(args...);
    case F16:
      return F::template run<half>(args...);
    case I32:
      return F::template run<int32_t>(args...);
    case I8:
      return F::template run<int8_t>(args...);
    case I64:
      return F::template run<int64_t>(args...);
    case BOOL:
      return F::template run<bool>(args...);
    default:
      return F::template run<uint8_t>(args...);
  }
}

// mask[i] = condition[i] != 0
typedef void (*TruthLoop)(const void* condition, uint8_t* mask, int64_t n);

}  // namespace cynet

#define CYNET_LOOPS "elementwise/where_clip_loops.h"
#include "isa/for_each_isa.h"

namespace cynet {

struct Clip {
  template <typename T>
  static void run(int threads, int level, const void* x_, double low_, double high_, void* out_,
                  int64_t n, bool add) {
    typedef plain<T> P;
    typedef void (*Loop)(const T* x, P low, P high, T* out, int64_t n, bool add);
    static const Loop loops[] = CYNET_AT_LEVELS(clip_loop<T>);
    const Loop loop = loops[level];
    const T* x = static_cast<const T*>(x_);
    T* out = static_cast<T*>(out_);
    const P low = lower_limit<P>(low_), high = upper_limit<P>(high_);
    parallel_for(threads, n, [=](int64_t begin, int64_t end) {
      loop(x + begin, low, high, out + begin, end - begin, add);
    });
  }
};

struct ClipGrad {
  template <typename T>
  static void run(int threads, const void* g_, const void* x_, double low_, double high_,
                  void* out_, int64_t n, bool add) {
    typedef plain<T> P;
    const T* g = static_cast<const T*>(g_);
    const T* x = static_cast<const T*>(x_);
    T* out = static_cast<T*>(out_);
    const P low = lower_limit<P>(low_), high = upper_limit<P>(high_);
    parallel_for(threads, n, [=](int64_t begin, int64_t end) {
      CYNET_IVDEP
      for (int64_t i = begin; i < end; ++i) {
        const P v = x[i], pass = static_cast<P>(g[i]);
        emit(out[i], v < low || v > high ? P(0) : pass, add);
      }
    });
  }
};

struct HardSigmoid {
  template <typename T>
  static void run(int threads, int level, const void* x_, double slope_, double shift_, void* out_,
                  int64_t n, bool add) {
    typedef plain<T> P;
    typedef void (*Loop)(const T* x, P slope, P shift, T* out, int64_t n, bool add);
    static const Loop loops[] = CYNET_AT_LEVELS(hard_sigmoid_loop<T>);
    const Loop loop = loops[level];
    const T* x = static_cast<const T*>(x_);
    T* out = static_cast<T*>(out_);
    const P slope = static_cast<P>(slope_), shift = static_cast<P>(shift_);
    parallel_for(threads, n, [=](int64_t begin, int64_t end) {
      loop(x + begin, slope, shift, out + begin, end - begin, add);
    });
  }
};

// y is the output
struct HardSigmoidGrad {
  template <typename T>
  static void run(int threads, const void* g_, const void* y_, double slope_, void* out_, int64_t n,
                  bool add) {
    typedef plain<T> P;
    const T* g = static_cast<const T*>(g_);
    const T* y = static_cast<const T*>(y_);
    T* out = static_cast<T*>(out_);
    const P slope = static_cast<P>(slope_);
    parallel_for(threads, n, [=](int64_t begin, int64_t end) {
      CYNET_IVDEP
      for (int64_t i = begin; i < end; ++i) {
        const P v = y[i], scaled = static_cast<P>(slope * g[i]);
        emit(out[i], v > P(0) && v < P(1) ? scaled : P(0), add);
      }
    });
  }
};

// One condition stands for `each` neighbouring elements. x NULL: zero is taken where the condition
// holds, y NULL: where it does not; so the same loop gives the gradients.
struct Where {
  template <typename T>
  static void run(int threads, int level, int cond_dtype, const void* condition, int64_t each,
                  const void* x_, const void* y_, void* out_, int64_t n, bool add) {
    enum { STEP = 1024 };
    typedef void (*Loop)(const uint8_t* mask, const T* x, const T* y, T* out, int64_t n);
    static const Loop loops[] = CYNET_AT_LEVELS(where_loop<T>);
    static const TruthLoop truths[N_DTYPE][N_LEVEL] = {
        CYNET_AT_LEVELS(truth_loop<float>),   CYNET_AT_LEVELS(truth_loop<double>),
        CYNET_AT_LEVELS(truth_loop<half>),    CYNET_AT_LEVELS(truth_loop<uint8_t>),
        CYNET_AT_LEVELS(truth_loop<int32_t>), CYNET_AT_LEVELS(truth_loop<int8_t>),
        CYNET_AT_LEVELS(truth_loop<int64_t>), CYNET_AT_LEVELS(truth_loop<uint8_t>)};
    const Loop loop = loops[level];
    const TruthLoop truth = truths[cond_dtype][level];
    const T* x = static_cast<const T*>(x_);
    const T* y = static_cast<const T*>(y_);
    T* out = static_cast<T*>(out_);
    const int64_t size = element_size(cond_dtype), conditions = n / each;
    parallel_for(threads, conditions, [=](int64_t begin, int64_t end) {
      uint8_t mask[STEP];
      const T zeros[STEP] = {};
      T chosen[STEP];
      for (int64_t c = begin; c < end; c += STEP) {
        const int64_t m = end - c < STEP ? end - c : static_cast<int64_t>(STEP);
        truth(static_cast<const char*>(condition) + c * size, mask, m);
        if (each == 1) {
          loop(mask, x ? x + c : zeros, y ? y + c : zeros, add ? chosen : out + c, m);
          if (add)
            for (int64_t i = 0; i < m; ++i)
              emit(out[c + i], static_cast<plain<T>>(chosen[i]), true);
          continue;
        }
        for (int64_t i = 0; i < m; ++i) {
          const T* from = mask[i] ? x : y;
          for (int64_t k = (c + i) * each; k < (c + i + 1) * each; ++k)
            emit(out[k], from ? static_cast<plain<T>>(from[k]) : plain<T>(0), add);
        }
      }
    });
  }
};

inline void clip_all(int threads, int level, int dtype, const void* x, double low, double high,
                     void* out, int64_t n, bool add) {
  by_dtype<Clip>(dtype, threads, level, x, low, high, out, n, add);
}
inline void clip_grad_all(int threads, int dtype, const void* g, const void* x, double low,
                          double high, void* out, int64_t n, bool add) {
  by_dtype<ClipGrad>(dtype, threads, g, x, low, high, out, n, add);
}
inline void hard_sigmoid_all(int threads, int level, int dtype, const void* x, double slope,
                             double shift, void* out, int64_t n, bool add) {
  by_dtype<HardSigmoid>(dtype, threads, level, x, slope, shift, out, n, add);
}
inline void hard_sigmoid_grad_all(int threads, int dtype, const void* g, const void* y,
                                  double slope, void* out, int64_t n, bool add) {
  by_dtype<HardSigmoidGrad>(dtype, threads, g, y, slope, out, n, add);
}
inline void where_all(int threads, int level, int dtype, int cond_dtype, const void* condition,
                      int64_t each, const void* x, const void* y, void* out, int64_t n, bool add) {
  by_dtype<Where>(dtype, threads, level, cond_dtype, condition, each, x, y, out, n, add);
}

}  // namespace cynet

#endif
