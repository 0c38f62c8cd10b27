// Loops of the elementwise functors, compiled for each level (levels.h). Included by elementwise.h.
//
// A loop computes one contiguous run of elements in one type: float, double or an integer type.

template <bool add, typename T>
CYNET_XINLINE void put_or_add(T& out, T value) {
  if constexpr (add) out = sum_of(out, value);
  else out = value;
}

// Adds to out what write(y, i, m) puts into y[0 .. m), for parts of [0, n): rounding is the same as
// for writes. A loop that did both would round once, or twice, as the compiler likes for vectors
// and for the numbers behind them.
template <typename T, class Write>
CYNET_XINLINE void add_by_parts(T* out, int64_t n, Write&& write) {
  enum { PART = 256 };
  T y[PART];
  for (int64_t start = 0; start < n; start += PART) {
    const int64_t m = n - start < PART ? n - start : static_cast<int64_t>(PART);
    write(y, start, m);
    CYNET_IVDEP
    for (int64_t i = 0; i < m; ++i) out[start + i] = sum_of(out[start + i], y[i]);
  }
}

// out[i] = F(x[i]...) for 64 neighbours. F's vector form (functors.h) is used if it supports all of
// them, else F is called for each, so that no element depends on its neighbours.
template <class F, typename... Operands>
CYNET_XINLINE void fast_form_loop(float* out, int64_t n, const Operands*... x) {
  enum { PART = 64 };
  for (int64_t start = 0; start < n; start += PART) {
    const int64_t stop = n - start < PART ? n : start + PART;
    int strange = 0;
    for (int64_t i = start; i < stop; ++i) strange |= F::is_fast(x[i]...) ? 0 : 1;
    if (strange) {
      for (int64_t i = start; i < stop; ++i)
        out[i] = F::is_fast(x[i]...) ? F::fast_form(x[i]...) : F::template map<float>(x[i]...);
    } else {
      CYNET_IVDEP
      for (int64_t i = start; i < stop; ++i) out[i] = F::fast_form(x[i]...);
    }
  }
}

template <class F, typename T, bool add>
void unary_loop(const void* x_, void* out_, int64_t n) {
  const T* x = static_cast<const T*>(x_);
  T* out = static_cast<T*>(out_);
  if constexpr (add && !can_add_directly<F>) {
    return add_by_parts(out, n,
                        [=](T* y, int64_t i, int64_t m) { unary_loop<F, T, false>(x + i, y, m); });
  }
  if constexpr (has_fast_form<F>::value && std::is_same<T, float>::value)
    return fast_form_loop<F>(out, n, x);
  CYNET_IVDEP
  for (int64_t i = 0; i < n; ++i) put_or_add<add>(out[i], F::template map<T>(x[i]));
}

// Calls body(many, i, m) for parts of [0, n), where many[0 .. m) are all `value`.
template <typename T, class Body>
CYNET_XINLINE void with_repeated_value(T value, int64_t n, Body&& body) {
  enum { PART = 256 };
  T many[PART];
  const int filled = n < PART ? static_cast<int>(n) : static_cast<int>(PART);
  for (int i = 0; i < filled; ++i) many[i] = value;
  for (int64_t i = 0; i < n; i += PART) body(many, i, n - i < PART ? n - i : int64_t(PART));
}

template <class F, typename T, bool add>
void binary_loop(const void* a_, int sa, const void* b_, int sb, void* out_, int64_t n) {
  const T* a = static_cast<const T*>(a_);
  const T* b = static_cast<const T*>(b_);
  T* out = static_cast<T*>(out_);
  if constexpr (add && !can_add_directly<F>) {
    return add_by_parts(out, n, [=](T* y, int64_t i, int64_t m) {
      binary_loop<F, T, false>(a + i * sa, sa, b + i * sb, sb, y, m);
    });
  }
  if (sa && sb) {
    if constexpr (has_fast_form<F>::value && std::is_same<T, float>::value)
      return fast_form_loop<F>(out, n, a, b);
    CYNET_IVDEP
    for (int64_t i = 0; i < n; ++i) put_or_add<add>(out[i], F::template map<T>(a[i], b[i]));
  } else if (sa) {
    const T one = b[0];
    if constexpr (has_at_two_functor<F>::value && std::is_floating_point<T>::value) {
      if (one == T(2))
        return binary_loop<typename F::at_two_functor, T, add>(a_, 1, b_, 0, out_, n);
    }
    if constexpr (expands_scalar<F> || (has_fast_form<F>::value && std::is_same<T, float>::value)) {
      return with_repeated_value(one, n, [=](const T* many, int64_t i, int64_t m) {
        binary_loop<F, T, add>(a + i, 1, many, 1, out + i, m);
      });
    }
    CYNET_IVDEP
    for (int64_t i = 0; i < n; ++i) put_or_add<add>(out[i], F::template map<T>(a[i], one));
  } else if (sb) {
    const T one = a[0];
    if constexpr (expands_scalar<F> || (has_fast_form<F>::value && std::is_same<T, float>::value)) {
      return with_repeated_value(one, n, [=](const T* many, int64_t i, int64_t m) {
        binary_loop<F, T, add>(many, 1, b + i, 1, out + i, m);
      });
    }
    CYNET_IVDEP
    for (int64_t i = 0; i < n; ++i) put_or_add<add>(out[i], F::template map<T>(one, b[i]));
  } else {
    const T one = F::template map<T>(a[0], b[0]);
    for (int64_t i = 0; i < n; ++i) put_or_add<add>(out[i], one);
  }
}

template <class F, typename T, bool add>
void grad_loop(const void* g_, int sg, const void* a_, int sa, const void* b_, int sb, void* out_,
               int64_t n) {
  const T* g = static_cast<const T*>(g_);
  const T* a = static_cast<const T*>(a_);
  const T* b = static_cast<const T*>(b_);
  T* out = static_cast<T*>(out_);
  if constexpr (add && !can_add_directly<F>) {
    return add_by_parts(out, n, [=](T* y, int64_t i, int64_t m) {
      grad_loop<F, T, false>(g + i * sg, sg, a + i * sa, sa, b + i * sb, sb, y, m);
    });
  }
  if (sg && sa && sb) {
    CYNET_IVDEP
    for (int64_t i = 0; i < n; ++i)
      put_or_add<add>(out[i], product_of(g[i], F::template map<T>(a[i], b[i])));
  } else if (sg && sa) {
    const T y = b[0];
    if constexpr (has_at_two_functor<F>::value && std::is_floating_point<T>::value) {
      if (y == T(2))
        return grad_loop<typename F::at_two_functor, T, add>(g_, 1, a_, 1, b_, 0, out_, n);
    }
    if constexpr (expands_scalar<F>) {
      return with_repeated_value(y, n, [=](const T* many, int64_t i, int64_t m) {
        grad_loop<F, T, add>(g + i, 1, a + i, 1, many, 1, out + i, m);
      });
    }
    CYNET_IVDEP
    for (int64_t i = 0; i < n; ++i)
      put_or_add<add>(out[i], product_of(g[i], F::template map<T>(a[i], y)));
  } else if (sg && sb) {
    const T x = a[0];
    if constexpr (expands_scalar<F>) {
      return with_repeated_value(x, n, [=](const T* many, int64_t i, int64_t m) {
        grad_loop<F, T, add>(g + i, 1, many, 1, b + i, 1, out + i, m);
      });
    }
    CYNET_IVDEP
    for (int64_t i = 0; i < n; ++i)
      put_or_add<add>(out[i], product_of(g[i], F::template map<T>(x, b[i])));
  } else if (!sg && sa && !sb) {
    const T gy = g[0], y = b[0];
    CYNET_IVDEP
    for (int64_t i = 0; i < n; ++i)
      put_or_add<add>(out[i], product_of(gy, F::template map<T>(a[i], y)));
  } else {
    for (int64_t i = 0; i < n; ++i)
      put_or_add<add>(out[i], product_of(g[i * sg], F::template map<T>(a[i * sa], b[i * sb])));
  }
}
