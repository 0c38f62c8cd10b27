// The optimizers' updates, with the rules of the CPU's update.h: one pass over weight, gradient and
// states. W is the type of weight, gradient and out; S of the states; T of the arithmetic. With
// `master`, the last state is the weight in T, from which W is rounded.
#include "common.cuh"
#include "update/update.h"

using cynet::UpdateParams;

struct KernelArgs {  // same layout as in optimizer/_joined.pyx and operator/cuda/update.py
  UpdateParams values;
  const UpdateParams* now;  // parameters for a replay of a recorded graph, or null
};

template <typename T>
union Uninitialised {  // a Rule has no default constructor on the device
  cynet::Rule<T> rule;
  T numbers[9];  // arguments of the rules
  __device__ explicit Uninitialised(const UpdateParams& p)  // arguments of a rule
      : numbers{T(p.lr), T(p.wd), T(p.rescale), T(cynet::clip_limit(p.clip)), T(p.a), T(p.b),
                T(p.c),  T(p.d),  T(p.e)} {}
};

template <class R, typename W, typename S, typename T, bool master>
__global__ void update(const W* weight, const W* grad, W* out, S* state0, S* state1, S* state2,
                       T* exact, const KernelArgs params, Index n, int add) {
  const Uninitialised<T> p(params.now == nullptr ? params.values : *params.now);
  CYNET_FOR(i, n) {
    T a = R::N > 0 ? load(state0, i) : T(0);
    T b = R::N > 1 ? load(state1, i) : T(0);
    T c = R::N > 2 ? load(state2, i) : T(0);
    const T before = master ? exact[i] : load(weight, i);
    const T next = R::template step<T>(p.rule, before, load(grad, i), a, b, c);
    if (R::N > 0) state0[i] = narrow<S>(a);
    if (R::N > 1) state1[i] = narrow<S>(b);
    if (R::N > 2) state2[i] = narrow<S>(c);
    if (master) exact[i] = next;
    store(out, i, next, add);
  }
}
