// Loops of the optimizers' update operators: one pass over weight, gradient and states. The mp_
// operators keep float32 masters of float16 weights. The table is update.cc.
#ifndef CYNET_UPDATE_H
#define CYNET_UPDATE_H

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "common/bfloat16.h"
#include "elementwise/elementwise.h"
#include "parallel.h"
#include "update/update_arrays.h"

namespace cynet {

// Infinity: a limit for "none".
CYNET_XINLINE double clip_limit(double clip) {
  return clip < 0 ? bit_cast<double>(static_cast<int64_t>(0x7ff0000000000000LL)) : clip;
}
template <typename T>
CYNET_XINLINE T within(T x, T limit) {
  const T low = limit < x ? limit : x;  // two instructions; NaN stays NaN
  return -limit > low ? -limit : low;
}
template <typename T>
CYNET_XINLINE T clipped(T x, T limit) {
  return limit < 0 ? x : within(x, limit);
}

// A rule: `static T step(const P& p, T w, T g, T& s0, T& s1, T& s2)` returns the new weight and
// updates the states; N is their number. Each rule takes the raw gradient. RESTS: without decay a
// weight with gradient 0 does not change (an infinite one may become NaN, as 0 times it is).
template <typename T>
struct Rule {
  T lr, wd, rescale, clip, a, b, c, d, e;
  explicit Rule(const UpdateParams& p)
      : lr(T(p.lr)),
        wd(T(p.wd)),
        rescale(T(p.rescale)),
        clip(T(clip_limit(p.clip))),
        a(T(p.a)),
        b(T(p.b)),
        c(T(p.c)),
        d(T(p.d)),
        e(T(p.e)) {}
  CYNET_XINLINE T gradient(T g) const { return within(rescale * g, clip); }
  CYNET_XINLINE T decayed(T g, T w) const { return within(rescale * g, clip) + wd * w; }
};

struct sgd {
  enum { N = 0, RESTS = 1 };
  template <typename T>
  static CYNET_XINLINE T step(const Rule<T>& p, T w, T g, T&, T&, T&) {
    return w - p.lr * p.decayed(g, w);
  }
};
struct sgd_mom {  // a: momentum
  enum { N = 1, RESTS = 0 };
  template <typename T>
  static CYNET_XINLINE T step(const Rule<T>& p, T w, T g, T& mom, T&, T&) {
    mom = p.a * mom - p.lr * p.decayed(g, w);
    return w + mom;
  }
};
struct nag_mom {  // a: momentum
  enum { N = 1, RESTS = 0 };
  template <typename T>
  static CYNET_XINLINE T step(const Rule<T>& p, T w, T g, T& mom, T&, T&) {
    const T d = p.decayed(g, w);
    mom = p.a * mom - p.lr * d;
    return w + p.a * mom - p.lr * d;
  }
};
struct signsgd {
  enum { N = 0, RESTS = 1 };
  template <typename T>
  static CYNET_XINLINE T step(const Rule<T>& p, T w, T g, T&, T&, T&) {
    return (T(1) - p.lr * p.wd) * w - p.lr * T((g > 0) - (g < 0));
  }
};
struct signum {  // a: momentum, b: wd_lh
  enum { N = 1, RESTS = 0 };
  template <typename T>
  static CYNET_XINLINE T step(const Rule<T>& p, T w, T g, T& mom, T&, T&) {
    mom = p.a * mom - (T(1) - p.a) * p.wd * w - (T(1) - p.a) * p.gradient(g);
    return (T(1) - p.lr * p.b) * w + p.lr * T((mom > 0) - (mom < 0));
  }
};
struct adam {  // a: beta1, b: beta2, c: epsilon
  enum { N = 2, RESTS = 0 };
  template <typename T>
  static CYNET_XINLINE T step(const Rule<T>& p, T w, T g, T& mean, T& var, T&) {
    const T d = within(p.rescale * g + p.wd * w, p.clip);
    mean = p.a * mean + (T(1) - p.a) * d;
    var = p.b * var + (T(1) - p.b) * d * d;
    return w - p.lr * mean / (std::sqrt(var) + p.c);
  }
};
struct rmsprop {  // a: gamma1, b: epsilon, c: clip_weights
  enum { N = 1, RESTS = 0 };
  template <typename T>
  static CYNET_XINLINE T step(const Rule<T>& p, T w, T g, T& n, T&, T&) {
    const T d = within(p.rescale * g + p.wd * w, p.clip);
    n = (T(1) - p.a) * d * d + p.a * n;
    return clipped(w - p.lr * d / std::sqrt(n + p.b), p.c);
  }
};
struct rmspropalex {  // a: gamma1, b: epsilon, c: clip_weights, d: gamma2
  enum { N = 3, RESTS = 0 };
  template <typename T>
  static CYNET_XINLINE T step(const Rule<T>& p, T w, T g, T& n, T& mean, T& delta) {
    const T d = within(p.rescale * g + p.wd * w, p.clip);
    n = (T(1) - p.a) * d * d + p.a * n;
    mean = (T(1) - p.a) * d + p.a * mean;
    delta = p.d * delta - p.lr * d / std::sqrt(n - mean * mean + p.b);
    return clipped(w + delta, p.c);
  }
};
struct ftrl {  // a: lamda1, b: beta
  enum { N = 2, RESTS = 0 };
  template <typename T>
  static CYNET_XINLINE T step(const Rule<T>& p, T w, T g, T& z, T& n, T&) {
    const T d = p.gradient(g);
    const T next = n + d * d;
    z += d - (std::sqrt(next) - std::sqrt(n)) * w / p.lr;
    n = next;
    const T size = z < 0 ? -z : z;
    const T sign = T((z > 0) - (z < 0));
    return size <= p.a ? T(0) : (sign * p.a - z) / ((p.b + std::sqrt(n)) / p.lr + p.wd);
  }
};
struct ftml {  // a: beta1, b: beta2, c: epsilon, d: beta1^t, e: beta2^t; states d, v, z
  enum { N = 3, RESTS = 0 };
  template <typename T>
  static CYNET_XINLINE T step(const Rule<T>& p, T w, T g, T& d, T& v, T& z) {
    const T x = within(p.rescale * g + p.wd * w, p.clip);
    v = p.b * v + (T(1) - p.b) * x * x;
    const T unbiased = T(1) / (T(1) - p.e), per_lr = (T(1) - p.d) / p.lr;  // the same for all
    const T next = per_lr * (std::sqrt(unbiased * v) + p.c);
    z = p.a * z + (T(1) - p.a) * x - (next - p.a * d) * w;
    d = next;
    return -z / d;
  }
};

struct nag {  // a: momentum, which takes the decay of the new weight
  enum { N = 1, RESTS = 0 };
  template <typename T>
  static CYNET_XINLINE T step(const Rule<T>& p, T w, T g, T& mom, T&, T&) {
    const T kept = p.a * mom, moved = p.lr * p.decayed(g, w);
    const T next = w + p.a * (kept - moved) - moved;
    mom = kept - p.lr * p.decayed(g, next);
    return next;
  }
};
struct adagrad {  // a: epsilon
  enum { N = 1, RESTS = 0 };
  template <typename T>
  static CYNET_XINLINE T step(const Rule<T>& p, T w, T g, T& sum, T&, T&) {
    const T d = p.gradient(g);
    sum += d * d;
    return w - p.lr * (d / std::sqrt(sum + p.a) + p.wd * w);
  }
};
struct adadelta {  // a: rho, b: epsilon; states: means of squares of gradients and of steps
  enum { N = 2, RESTS = 0 };
  template <typename T>
  static CYNET_XINLINE T step(const Rule<T>& p, T w, T g, T& gradients, T& steps, T&) {
    const T d = p.gradient(g);
    gradients = p.a * gradients + (T(1) - p.a) * d * d;
    const T delta = std::sqrt(steps + p.b) / std::sqrt(gradients + p.b) * d;
    steps = p.a * steps + (T(1) - p.a) * delta * delta;
    return w - (delta + p.wd * w);
  }
};
struct adamax {  // a: beta1, b: beta2
  enum { N = 2, RESTS = 0 };
  template <typename T>
  static CYNET_XINLINE T step(const Rule<T>& p, T w, T g, T& mean, T& largest, T&) {
    const T d = within(p.rescale * g + p.wd * w, p.clip), size = d < 0 ? -d : d;
    mean = p.a * mean + (T(1) - p.a) * d;
    const T before = p.b * largest;
    largest = before > size ? before : size;
    return w - p.lr * mean / (largest + T(1e-8));
  }
};
struct nadam {  // a: beta1, b: beta2, c: epsilon, d: part of the gradient, e: of the mean
  enum { N = 2, RESTS = 0 };
  template <typename T>
  static CYNET_XINLINE T step(const Rule<T>& p, T w, T g, T& mean, T& var, T&) {
    const T x = within(p.rescale * g + p.wd * w, p.clip);
    mean = p.a * mean + (T(1) - p.a) * x;
    var = p.b * var + (T(1) - p.b) * x * x;
    return w - p.lr * (p.d * x + p.e * mean) / (std::sqrt(var) + p.c);
  }
};

struct adamw {  // a: beta1, b: beta2, c: epsilon, d: factor of the step
  enum { N = 2, RESTS = 0 };
  template <typename T>
  static CYNET_XINLINE T step(const Rule<T>& p, T w, T g, T& mean, T& var, T&) {
    const T x = p.gradient(g);
    mean = p.a * mean + (T(1) - p.a) * x;
    var = p.b * var + (T(1) - p.b) * x * x;
    return w - p.lr * (p.d * mean / (std::sqrt(var) + p.c) + p.wd * w);
  }
};
struct lion {  // a: part of the mean in the step, b: decay of the mean
  enum { N = 1, RESTS = 0 };
  template <typename T>
  static CYNET_XINLINE T step(const Rule<T>& p, T w, T g, T& mean, T&, T&) {
    const T x = p.gradient(g), move = p.a * mean + (T(1) - p.a) * x;
    mean = p.b * mean + (T(1) - p.b) * x;
    return w - p.lr * (T((move > 0) - (move < 0)) + p.wd * w);
  }
};
struct lamb_step {  // a: beta1, b: beta2, c: epsilon, d: factor of the step
  enum { N = 2, RESTS = 0 };
  template <typename T>
  static CYNET_XINLINE T step(const Rule<T>& p, T w, T g, T& mean, T& var, T&) {
    const T x = p.gradient(g);
    mean = p.a * mean + (T(1) - p.a) * x;
    var = p.b * var + (T(1) - p.b) * x * x;
    return p.d * mean / (std::sqrt(var) + p.c) + p.wd * w;
  }
};
struct lamb_move {  // numbers of lamb_step, whose states it only reads
  enum { N = 2, RESTS = 0 };
  template <typename T>
  static CYNET_XINLINE T step(const Rule<T>& p, T w, T, T& mean, T& var, T&) {
    return w - p.lr * (p.d * mean / (std::sqrt(var) + p.c) + p.wd * w);
  }
};
struct along {  // a step that another rule gave
  enum { N = 0, RESTS = 0 };
  template <typename T>
  static CYNET_XINLINE T step(const Rule<T>& p, T w, T g, T&, T&, T&) {
    return w - p.lr * g;
  }
};
struct hold {  // leaves the weight unchanged
  enum { N = 0, RESTS = 0 };
  template <typename T>
  static CYNET_XINLINE T step(const Rule<T>&, T w, T, T&, T&, T&) {
    return w;
  }
};

// A rule whose output is not a weight: of the states' type, and a float master is unchanged.
template <class R>
constexpr bool gives_step = std::is_same<R, lamb_step>::value;
// A rule that leaves its states unchanged.
template <class R>
constexpr bool only_reads = std::is_same<R, lamb_move>::value;
// A rule that divides by the rate, in its sums of gradients: a rate of 0 changes nothing at all.
template <class R>
constexpr bool divides_by_rate = std::is_same<R, ftrl>::value || std::is_same<R, ftml>::value;
template <class R>
struct unmoved {
  enum { N = R::N, RESTS = 0 };
  template <typename T>
  static CYNET_XINLINE T step(const Rule<T>&, T w, T, T&, T&, T&) {
    return w;
  }
};
// A rule whose gradient has the states' type, whatever the weight's.
template <class R>
constexpr bool takes_step = std::is_same<R, along>::value;

}  // namespace cynet

#define CYNET_LOOPS "update/update_loops.h"
#include "isa/for_each_isa.h"

#endif
