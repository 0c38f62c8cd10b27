// Dropout: draws the mask and applies it.
#include "elementwise/dropout.h"

#include "kernel.h"

namespace cynet {
#define DROPPED_FIELDS(field) \
  field(double, p) field(bool, always) field(bool, repeats) field(Int64s<8>, stride)
CYNET_PARAMS(Dropped, DROPPED_FIELDS)

namespace {
// y (+)= x; the two may be one array
template <typename T>
void copy_or_add(const Args& args, const T* x, T* y, int64_t n) {
  const bool add = args.add[0];
  if (!add && x == y) return;
  parallel_for(n < (1 << 19) ? 1 : args.threads, n, [=](int64_t begin, int64_t end) {
    if (!add) {
      std::memcpy(y + begin, x + begin, (end - begin) * sizeof(T));
      return;
    }
    CYNET_IVDEP
    for (int64_t i = begin; i < end; ++i) y[i] += x[i];
  });
}

template <typename T>
void apply_mask(const Args& args, const bool* keep) {
  const Dropped& p = args.as<Dropped>();
  const Blob& x = *args.in[0];
  if (p.repeats)
    dropout_broadcast(args.input<T>(0), keep, p.p, args.output<T>(0), x.ndim, x.shape,
                      p.stride.data(), args.add[0]);
  else
    dropout_apply(args.level, args.input<T>(0), keep, p.p, args.output<T>(0), x.size, args.add[0],
                  args.threads);
}

// out[0] (+)= in[0] / (1 - p) where the drawn mask out[1] is true, else 0; for inference in[0]
template <typename T>
void dropout(const Args& args) {
  const Dropped& p = args.as<Dropped>();
  const int64_t n = args.in[0]->size, drawn = args.out[1]->size;
  bool* keep = static_cast<bool*>(args.out[1]->data);
  if (!args.training && !p.always) {
    std::memset(keep, 1, drawn);
    if (args.wanted[0]) copy_or_add(args, args.input<T>(0), args.output<T>(0), n);
  } else if (args.wanted[0] && !p.repeats) {
    dropout_forward(args.level, args.seed, args.stream, p.p, keep, args.input<T>(0),
                    args.output<T>(0), n, args.add[0], args.threads);
  } else {
    dropout_mask(args.level, args.seed, args.stream, p.p, keep, drawn, args.threads);
    if (args.wanted[0]) apply_mask<T>(args, keep);
  }
}

template <typename T>
void dropout_grad(const Args& args) {
  if (args.training || args.as<Dropped>().always)
    apply_mask<T>(args, static_cast<const bool*>(args.in[1]->data));
  else copy_or_add(args, args.input<T>(0), args.output<T>(0), args.in[0]->size);
}
}  // namespace
}  // namespace cynet

CYNET_PLAIN_KERNEL(dropout, Dropped, 8, CYNET_FLOATS)
CYNET_PLAIN_KERNEL(dropout_grad, Dropped, 1, CYNET_FLOATS)
