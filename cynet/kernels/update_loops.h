// The loop of the update rules, compiled for each level (levels.h). Included by update.h.

// W: of weight, gradient and out; S: of the states; T: of the arithmetic. With `master` the state
// after the rule's own is the weight in T, from which W is rounded.
template <class R, typename W, typename S, typename T, bool master, bool add>
void update_loop(int threads, const UpdateParams& params, const UpdateArrays& arrays, int64_t n) {
  const Rule<T> p(params);
  const W* weight = static_cast<const W*>(arrays.weight);
  const W* grad = static_cast<const W*>(arrays.grad);
  W* out = static_cast<W*>(arrays.out);
  S* s0 = static_cast<S*>(arrays.state[0]);
  S* s1 = static_cast<S*>(arrays.state[1]);
  S* s2 = static_cast<S*>(arrays.state[2]);
  T* exact = static_cast<T*>(arrays.state[R::N]);
  parallel_for(threads, n, [=](int64_t begin, int64_t end) {
    CYNET_IVDEP
    for (int64_t i = begin; i < end; ++i) {
      T a = R::N > 0 ? static_cast<T>(s0[i]) : T(0);
      T b = R::N > 1 ? static_cast<T>(s1[i]) : T(0);
      T c = R::N > 2 ? static_cast<T>(s2[i]) : T(0);
      const T before = master ? exact[i] : static_cast<T>(weight[i]);
      const T next = R::template step<T>(p, before, static_cast<T>(grad[i]), a, b, c);
      if (R::N > 0) s0[i] = static_cast<S>(a);
      if (R::N > 1) s1[i] = static_cast<S>(b);
      if (R::N > 2) s2[i] = static_cast<S>(c);
      if (master) exact[i] = next;
      out[i] = static_cast<W>(add ? static_cast<T>(out[i]) + next : next);
    }
  });
}
