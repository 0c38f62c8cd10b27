// The loop of the update rules, compiled for each level (levels.h). Included by update.h.

// True if all bytes of n elements are 0.
template <typename W>
CYNET_XINLINE bool is_all_zero(const W* x, int64_t n) {
  const unsigned char* bytes = reinterpret_cast<const unsigned char*>(x);
  unsigned char any = 0;
  for (int64_t i = 0; i < n * static_cast<int64_t>(sizeof(W)); ++i) any |= bytes[i];
  return any == 0;
}

// Calls run(begin, end) for the parts of the given blocks that may have gradients: most rows of an
// embedding have none. A block whose first LOOK elements are not all zero runs whole.
template <typename W, class Run>
CYNET_XINLINE void for_nonzero_blocks(const W* grad, int64_t first, int64_t last, int64_t n,
                                      const Run& run) {
  constexpr int64_t PART = 64, LOOK = 16;
  for (int64_t block = first; block < last; ++block) {
    const int64_t begin = block * UPDATE_BLOCK, end = std::min(n, begin + UPDATE_BLOCK);
    if (end - begin < UPDATE_BLOCK || !is_all_zero(grad + begin, LOOK)) {
      run(begin, end);
      continue;
    }
    for (int64_t i = begin; i < end; i += PART)
      if (!is_all_zero(grad + i, PART)) run(i, i + PART);
  }
}

// W: type of weight, gradient and out, unless the rule has another one; S: of the states; T: of the
// arithmetic. With `master` the last state is the weight in T, from which W is rounded.
template <class R, typename W, typename S, typename T, bool master, bool add>
void update_loop(int threads, const UpdateParams& params, const UpdateArrays& arrays, int64_t n) {
  const Rule<T> rule(params);
  if constexpr (divides_by_rate<R>) {  // tested here: a branch in the loop costs 40 %
    if (rule.lr == T(0))
      return update_loop<unchanged_weight<R>, W, S, T, master, add>(threads, params, arrays, n);
  }
  typedef typename std::conditional<takes_computed_step<R>, S, W>::type G;
  typedef typename std::conditional<outputs_step<R>, S, W>::type O;
  const W* weight = static_cast<const W*>(arrays.weight);
  const G* grad = static_cast<const G*>(arrays.grad);
  O* out = static_cast<O*>(arrays.out);
  S* s0 = static_cast<S*>(arrays.state[0]);
  S* s1 = static_cast<S*>(arrays.state[1]);
  S* s2 = static_cast<S*>(arrays.state[2]);
  T* exact = static_cast<T*>(arrays.state[R::N]);
  const auto run = [=](int64_t begin, int64_t end) CYNET_NOINLINE {
    const Rule<T> p = rule;  // a copy in registers: no store can alias it
    CYNET_IVDEP
    for (int64_t i = begin; i < end; ++i) {
      T a = R::N > 0 ? static_cast<T>(s0[i]) : T(0);
      T b = R::N > 1 ? static_cast<T>(s1[i]) : T(0);
      T c = R::N > 2 ? static_cast<T>(s2[i]) : T(0);
      const T before = master ? exact[i] : static_cast<T>(weight[i]);
      const T next = R::template step<T>(p, before, static_cast<T>(grad[i]), a, b, c);
      if (R::N > 0 && !only_reads_states<R>) s0[i] = static_cast<S>(a);
      if (R::N > 1 && !only_reads_states<R>) s1[i] = static_cast<S>(b);
      if (R::N > 2) s2[i] = static_cast<S>(c);
      if (master && !outputs_step<R>) exact[i] = next;
      out[i] = static_cast<O>(add ? static_cast<T>(out[i]) + next : next);
    }
  };
  const int64_t blocks = (n + UPDATE_BLOCK - 1) / UPDATE_BLOCK;
  if constexpr (R::RESTS && !master && !add) {
    if (out == weight && can_skip_zero_gradients(params))
      return parallel_for(threads, blocks, [=](int64_t first, int64_t last) {
        for_nonzero_blocks(grad, first, last, n, run);
      });
  }
  // Each thread gets whole blocks: the last elements of a vector loop may round differently.
  parallel_for(threads, blocks, [=](int64_t first, int64_t last) {
    run(first * UPDATE_BLOCK, std::min(n, last * UPDATE_BLOCK));
  });
}
