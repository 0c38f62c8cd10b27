// Runs of arithmetic (arithmetic.h), compiled for each level (levels.h). Included by arithmetic.h.
//
// A tile of K vectors goes through all steps in registers. One case of the switch holds one step's
// operation, and setup.py forbids to join the product and the sum of a scaled operand: each result
// is rounded as by a loop of its own.

template <typename T>
struct Lanes {
  typedef T Vec __attribute__((vector_size(CYNET_LANES * 4), may_alias));
  typedef T Loose __attribute__((vector_size(CYNET_LANES * 4), aligned(sizeof(T)), may_alias));
  enum { COUNT = CYNET_LANES * 4 / sizeof(T) };

  template <bool part>
  static CYNET_XINLINE Vec load(const T* p, int j, int64_t n) {
    if constexpr (!part) return *reinterpret_cast<const Loose*>(p + j * COUNT);
    Vec v = {};
    std::memcpy(&v, p, n * sizeof(T));
    return v;
  }
  template <bool part>
  static CYNET_XINLINE void store(T* p, int j, Vec v, int64_t n) {
    if constexpr (part) std::memcpy(p, &v, n * sizeof(T));
    else *reinterpret_cast<Loose*>(p + j * COUNT) = v;
  }
  static CYNET_XINLINE Vec repeat(const char* number) {
    return *reinterpret_cast<const T*>(number) - Vec{};  // minus: -0 stays -0
  }
};

template <int op, typename Vec>
CYNET_XINLINE Vec compute_op(Vec a, Vec b) {
  if constexpr (op == PLUS) return a + b;
  else if constexpr (op == MINUS) return a - b;
  else if constexpr (op == FROM) return b - a;
  else if constexpr (op == TIMES) return a * b;
  else if constexpr (op == OVER) return a / b;
  else if constexpr (op == UNDER) return b / a;
  else if constexpr (op == NEGATIVE) return -a;
  else if constexpr (op == SQUARE) return a * a;
  else if constexpr (op == RELU) return a < 0 ? Vec{} : a;
  else return b;
}

// The operation on the values and an operand of that form, from element i on.
template <int op, int form, bool part, typename T, typename Vec, int K>
CYNET_XINLINE void apply_arithmetic_step(Vec (&value)[K], const ArithmeticStep& step, int64_t i,
                                         int64_t n) {
  typedef Lanes<T> L;
  constexpr bool scaled = form == SCALED || form == SCALED_AHEAD;
  const T* p = reinterpret_cast<const T*>(step.at) + i;
  Vec number = {};
  if constexpr (form == REPEATED) number = L::repeat(step.at);
  if constexpr (scaled) number = L::repeat(step.number);
#pragma GCC unroll 16
  for (int j = 0; j < K; ++j) {
    Vec b = number;
    if constexpr (form != REPEATED) b = L::template load<part>(p, j, n);
    if constexpr (scaled) b = b * number;
    if constexpr (!part && (form == PLAIN_AHEAD || form == SCALED_AHEAD))
      __builtin_prefetch(p + (K + j) * L::COUNT);
    value[j] = compute_op<op>(value[j], b);
  }
}

// Elements [i, i + K vectors); with `part` K is 1, and there are n elements, less than a vector.
template <typename T, int K, bool part>
CYNET_XINLINE void run_tile_steps(const ArithmeticStep* steps, int count, int64_t i, int64_t n) {
  typedef typename Lanes<T>::Vec Vec;
  Vec value[K] = {};
  for (int k = 0; k < count; ++k) {
    const ArithmeticStep& step = steps[k];
#define CYNET_STEP_CASE(op, form) \
  case op* FORMS + form: apply_arithmetic_step<op, form, part, T>(value, step, i, n); break;
#define CYNET_STEP_CASES(op)        \
  CYNET_STEP_CASE(op, PLAIN)        \
  CYNET_STEP_CASE(op, PLAIN_AHEAD)  \
  CYNET_STEP_CASE(op, SCALED)       \
  CYNET_STEP_CASE(op, SCALED_AHEAD) \
  CYNET_STEP_CASE(op, REPEATED)
    switch (step.code) {
      CYNET_STEP_CASES(TAKE)
      CYNET_STEP_CASES(PLUS)
      CYNET_STEP_CASES(MINUS)
      CYNET_STEP_CASES(FROM)
      CYNET_STEP_CASES(TIMES)
      CYNET_STEP_CASES(OVER)
      CYNET_STEP_CASES(UNDER)
      // without an operand
      CYNET_STEP_CASE(NEGATIVE, REPEATED)
      CYNET_STEP_CASE(SQUARE, REPEATED)
      CYNET_STEP_CASE(RELU, REPEATED)
      case PUT* FORMS + PLAIN:
      case PUT* FORMS + PLAIN_AHEAD:
#pragma GCC unroll 16
        for (int j = 0; j < K; ++j) {
          T* to = reinterpret_cast<T*>(const_cast<char*>(step.at)) + i;
          Lanes<T>::template store<part>(to, j, value[j], n);
        }
        break;
    }
#undef CYNET_STEP_CASES
#undef CYNET_STEP_CASE
  }
}

template <typename T>
void run_steps_on_array(const ArithmeticStep* steps, int count, int64_t n) {
  enum { LARGE = CYNET_LANES == 16 ? 16 : 12, SMALL = 4, VECTOR = Lanes<T>::COUNT };
  int64_t i = 0;
  for (; i + LARGE * VECTOR <= n; i += LARGE * VECTOR)
    run_tile_steps<T, LARGE, false>(steps, count, i, 0);
  for (; i + SMALL * VECTOR <= n; i += SMALL * VECTOR)
    run_tile_steps<T, SMALL, false>(steps, count, i, 0);
  for (; i + VECTOR <= n; i += VECTOR) run_tile_steps<T, 1, false>(steps, count, i, 0);
  if (i < n) run_tile_steps<T, 1, true>(steps, count, i, n - i);
}
