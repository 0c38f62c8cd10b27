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

// The limit that a clip parameter means; infinity for "none".
CYNET_XINLINE double clip_limit(double clip) {  // infinity for a negative `clip`
  return clip < 0 ? bit_cast<double>(static_cast<int64_t>(0x7ff0000000000000LL)) : clip;
}
template <typename T>
CYNET_XINLINE T clamp(T x, T limit) {
  const T low = limit < x ? limit : x;  // two instructions; NaN stays NaN
  return -limit > low ? -limit : low;
}
template <typename T>
CYNET_XINLINE T clip_if_set(T x, T limit) {  // a negative limit is none
  return limit < 0 ? x : clamp(x, limit);
}

// A rule: `static T step(const Rule<T>& p, T w, T g, T& s0, T& s1, T& s2)` returns the weight and
// updates the states; N is their number. Each rule takes the raw gradient. RESTS: without decay a
// weight with gradient 0 does not change (an infinite one may become NaN, as 0 times it is). Its
// numbers beside these are p.a to p.e: each rule begins with what they are. An optimizer names its
// rule in a subclass of FusedOptimizer (optimizer/fused.py).
template <typename T>
struct Rule {  // numbers of an update rule
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
  CYNET_XINLINE T clipped_gradient(T g) const { return clamp(rescale * g, clip); }
  CYNET_XINLINE T decayed_gradient(T g, T w) const { return clamp(rescale * g, clip) + wd * w; }
};

struct sgd {
  enum { N = 0, RESTS = 1 };
  template <typename T>
  static CYNET_XINLINE T step(const Rule<T>& p, T w, T g, T&, T&, T&) {
    return w - p.lr * p.decayed_gradient(g, w);
  }
};
struct sgd_mom {
  enum { N = 1, RESTS = 0 };
  template <typename T>
  static CYNET_XINLINE T step(const Rule<T>& p, T w, T g, T& mom, T&, T&) {
    const T momentum = p.a;
    mom = momentum * mom - p.lr * p.decayed_gradient(g, w);
    return w + mom;
  }
};
struct nag_mom {
  enum { N = 1, RESTS = 0 };
  template <typename T>
  static CYNET_XINLINE T step(const Rule<T>& p, T w, T g, T& mom, T&, T&) {
    const T momentum = p.a;
    const T d = p.decayed_gradient(g, w);
    mom = momentum * mom - p.lr * d;
    return w + momentum * mom - p.lr * d;
  }
};
struct signsgd {
  enum { N = 0, RESTS = 1 };
  template <typename T>
  static CYNET_XINLINE T step(const Rule<T>& p, T w, T g, T&, T&, T&) {
    return (T(1) - p.lr * p.wd) * w - p.lr * T((g > 0) - (g < 0));
  }
};
struct signum {
  enum { N = 1, RESTS = 0 };
  template <typename T>
  static CYNET_XINLINE T step(const Rule<T>& p, T w, T g, T& mom, T&, T&) {
    const T momentum = p.a, wd_lh = p.b;
    mom = momentum * mom - (T(1) - momentum) * p.wd * w - (T(1) - momentum) * p.clipped_gradient(g);
    return (T(1) - p.lr * wd_lh) * w + p.lr * T((mom > 0) - (mom < 0));
  }
};
struct adam {
  enum { N = 2, RESTS = 0 };
  template <typename T>
  static CYNET_XINLINE T step(const Rule<T>& p, T w, T g, T& mean, T& var, T&) {
    const T beta1 = p.a, beta2 = p.b, epsilon = p.c;
    const T d = clamp(p.rescale * g + p.wd * w, p.clip);
    mean = beta1 * mean + (T(1) - beta1) * d;
    var = beta2 * var + (T(1) - beta2) * d * d;
    return w - p.lr * mean / (std::sqrt(var) + epsilon);
  }
};
struct rmsprop {
  enum { N = 1, RESTS = 0 };
  template <typename T>
  static CYNET_XINLINE T step(const Rule<T>& p, T w, T g, T& n, T&, T&) {
    const T gamma1 = p.a, epsilon = p.b, clip_weights = p.c;
    const T d = clamp(p.rescale * g + p.wd * w, p.clip);
    n = (T(1) - gamma1) * d * d + gamma1 * n;
    return clip_if_set(w - p.lr * d / std::sqrt(n + epsilon), clip_weights);
  }
};
struct rmspropalex {
  enum { N = 3, RESTS = 0 };
  template <typename T>
  static CYNET_XINLINE T step(const Rule<T>& p, T w, T g, T& n, T& mean, T& delta) {
    const T gamma1 = p.a, epsilon = p.b, clip_weights = p.c, gamma2 = p.d;
    const T d = clamp(p.rescale * g + p.wd * w, p.clip);
    n = (T(1) - gamma1) * d * d + gamma1 * n;
    mean = (T(1) - gamma1) * d + gamma1 * mean;
    delta = gamma2 * delta - p.lr * d / std::sqrt(n - mean * mean + epsilon);
    return clip_if_set(w + delta, clip_weights);
  }
};
struct ftrl {
  enum { N = 2, RESTS = 0 };
  template <typename T>
  static CYNET_XINLINE T step(const Rule<T>& p, T w, T g, T& z, T& n, T&) {
    const T lamda1 = p.a, beta = p.b;
    const T d = p.clipped_gradient(g);
    const T next = n + d * d;
    z += d - (std::sqrt(next) - std::sqrt(n)) * w / p.lr;
    n = next;
    const T size = z < 0 ? -z : z;
    const T sign = T((z > 0) - (z < 0));
    return size <= lamda1 ? T(0) : (sign * lamda1 - z) / ((beta + std::sqrt(n)) / p.lr + p.wd);
  }
};
struct ftml {  // states d, v, z; beta1_t: beta1 to the power of the step
  enum { N = 3, RESTS = 0 };
  template <typename T>
  static CYNET_XINLINE T step(const Rule<T>& p, T w, T g, T& d, T& v, T& z) {
    const T beta1 = p.a, beta2 = p.b, epsilon = p.c, beta1_t = p.d, beta2_t = p.e;
    const T x = clamp(p.rescale * g + p.wd * w, p.clip);
    v = beta2 * v + (T(1) - beta2) * x * x;
    const T unbiased = T(1) / (T(1) - beta2_t),
            per_lr = (T(1) - beta1_t) / p.lr;  // the same for all elements
    const T next = per_lr * (std::sqrt(unbiased * v) + epsilon);
    z = beta1 * z + (T(1) - beta1) * x - (next - beta1 * d) * w;
    d = next;
    return -z / d;
  }
};

struct nag {  // the momentum takes the decay of the new weight
  enum { N = 1, RESTS = 0 };
  template <typename T>
  static CYNET_XINLINE T step(const Rule<T>& p, T w, T g, T& mom, T&, T&) {
    const T momentum = p.a;
    const T decayed_mom = momentum * mom, moved = p.lr * p.decayed_gradient(g, w);
    const T next = w + momentum * (decayed_mom - moved) - moved;
    mom = decayed_mom - p.lr * p.decayed_gradient(g, next);
    return next;
  }
};
struct adagrad {
  enum { N = 1, RESTS = 0 };
  template <typename T>
  static CYNET_XINLINE T step(const Rule<T>& p, T w, T g, T& sum, T&, T&) {
    const T epsilon = p.a;
    const T d = p.clipped_gradient(g);
    sum += d * d;
    return w - p.lr * (d / std::sqrt(sum + epsilon) + p.wd * w);
  }
};
struct adadelta {  // states: means of squares of gradients and of steps
  enum { N = 2, RESTS = 0 };
  template <typename T>
  static CYNET_XINLINE T step(const Rule<T>& p, T w, T g, T& gradients, T& steps, T&) {
    const T rho = p.a, epsilon = p.b;
    const T d = p.clipped_gradient(g);
    gradients = rho * gradients + (T(1) - rho) * d * d;
    const T delta = std::sqrt(steps + epsilon) / std::sqrt(gradients + epsilon) * d;
    steps = rho * steps + (T(1) - rho) * delta * delta;
    return w - (delta + p.wd * w);
  }
};
struct adamax {
  enum { N = 2, RESTS = 0 };
  template <typename T>
  static CYNET_XINLINE T step(const Rule<T>& p, T w, T g, T& mean, T& largest, T&) {
    const T beta1 = p.a, beta2 = p.b;
    const T d = clamp(p.rescale * g + p.wd * w, p.clip), size = d < 0 ? -d : d;
    mean = beta1 * mean + (T(1) - beta1) * d;
    const T before = beta2 * largest;
    largest = before > size ? before : size;
    return w - p.lr * mean / (largest + T(1e-8));
  }
};
struct nadam {
  enum { N = 2, RESTS = 0 };
  template <typename T>
  static CYNET_XINLINE T step(const Rule<T>& p, T w, T g, T& mean, T& var, T&) {
    const T beta1 = p.a, beta2 = p.b, epsilon = p.c, gradient_part = p.d, mean_part = p.e;
    const T x = clamp(p.rescale * g + p.wd * w, p.clip);
    mean = beta1 * mean + (T(1) - beta1) * x;
    var = beta2 * var + (T(1) - beta2) * x * x;
    return w - p.lr * (gradient_part * x + mean_part * mean) / (std::sqrt(var) + epsilon);
  }
};

struct adamw {
  enum { N = 2, RESTS = 0 };
  template <typename T>
  static CYNET_XINLINE T step(const Rule<T>& p, T w, T g, T& mean, T& var, T&) {
    const T beta1 = p.a, beta2 = p.b, epsilon = p.c, step_factor = p.d;
    const T x = p.clipped_gradient(g);
    mean = beta1 * mean + (T(1) - beta1) * x;
    var = beta2 * var + (T(1) - beta2) * x * x;
    return w - p.lr * (step_factor * mean / (std::sqrt(var) + epsilon) + p.wd * w);
  }
};
struct lion {
  enum { N = 1, RESTS = 0 };
  template <typename T>
  static CYNET_XINLINE T step(const Rule<T>& p, T w, T g, T& mean, T&, T&) {
    const T step_decay = p.a, mean_decay = p.b;
    const T x = p.clipped_gradient(g), move = step_decay * mean + (T(1) - step_decay) * x;
    mean = mean_decay * mean + (T(1) - mean_decay) * x;
    return w - p.lr * (T((move > 0) - (move < 0)) + p.wd * w);
  }
};
struct lamb_step {
  enum { N = 2, RESTS = 0 };
  template <typename T>
  static CYNET_XINLINE T step(const Rule<T>& p, T w, T g, T& mean, T& var, T&) {
    const T beta1 = p.a, beta2 = p.b, epsilon = p.c, step_factor = p.d;
    const T x = p.clipped_gradient(g);
    mean = beta1 * mean + (T(1) - beta1) * x;
    var = beta2 * var + (T(1) - beta2) * x * x;
    return step_factor * mean / (std::sqrt(var) + epsilon) + p.wd * w;
  }
};
struct lamb_move {  // parameters of lamb_step, whose states it only reads
  enum { N = 2, RESTS = 0 };
  template <typename T>
  static CYNET_XINLINE T step(const Rule<T>& p, T w, T, T& mean, T& var, T&) {
    const T step_factor = p.d, epsilon = p.c;
    return w - p.lr * (step_factor * mean / (std::sqrt(var) + epsilon) + p.wd * w);
  }
};
struct along {  // applies a step that another rule computed
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

// True if the rule's output is a step, not a weight: it has the states' type.
template <class R>
constexpr bool outputs_step = std::is_same<R, lamb_step>::value;
// True if the rule leaves its states unchanged.
template <class R>
constexpr bool only_reads_states = std::is_same<R, lamb_move>::value;
// True if the rule divides by the rate; a rate of 0 then changes nothing.
template <class R>
constexpr bool divides_by_rate = std::is_same<R, ftrl>::value || std::is_same<R, ftml>::value;
template <class R>
struct unchanged_weight {  // rule whose step leaves a weight as it is
  enum { N = R::N, RESTS = 0 };
  template <typename T>
  static CYNET_XINLINE T step(const Rule<T>&, T w, T, T&, T&, T&) {
    return w;
  }
};
// True if the rule's gradient has the type of its states.
template <class R>
constexpr bool takes_computed_step = std::is_same<R, along>::value;

}  // namespace cynet

#define CYNET_PER_ISA_FILE "update/update_loops.h"
#include "isa/for_each_isa.h"

#endif
