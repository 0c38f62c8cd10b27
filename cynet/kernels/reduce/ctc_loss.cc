// Connectionist temporal classification: reads and checks labels and lengths, runs ctc_loss.h.
#include "reduce/ctc_loss.h"

#include "movement/rows.h"

namespace cynet {
#define CTC_FIELDS(field) field(int64_t, blank) field(int64_t, padding)
CYNET_PARAMS(CTCParams, CTC_FIELDS)

namespace {
enum { DATA_LENGTHS, LABEL_LENGTHS, LABELS };  // kinds of errors

// The sizes of a CTC loss. Inputs from in[first] on: scores, labels, and optional lengths of both.
CTCShape make_ctc_shape(const Args& args, int first) {
  const int64_t *scores = args.in[first]->shape, *labels = args.in[first + 1]->shape;
  return {scores[0], scores[1], scores[2], labels[1], args.as<CTCParams>().blank,
          nullptr,   nullptr,   nullptr};
}

int64_t ctc_integer_count(const CTCShape& s) { return s.batch * (s.maximum + 2); }

template <int first>
int64_t ctc_workspace_bytes(const Args& args) {
  const CTCShape s = make_ctc_shape(args, first);
  const int64_t numbers = ctc_shared_elements(s) + args.threads * ctc_thread_elements(s, first > 0);
  return ctc_integer_count(s) * sizeof(int64_t) + numbers * sizeof(double);
}

void copy_as_int64(const Blob* from, int64_t* to) {
  if (from) call_for_dtype<ReadIndices<false>>(from->dtype, 1, from->data, to, from->size);
}

bool fail_ctc(const Args& args, const CTCShape& s, int what, int64_t b, int64_t i, int64_t value) {
  const int64_t maximum = what == DATA_LENGTHS ? s.steps : s.maximum;
  args.fail(b, {double(what), double(i), double(value), double(maximum), double(s.classes)});
  return false;
}

// Reads labels and lengths into the workspace; returns true if they are valid.
bool read_ctc_inputs(const Args& args, int first, CTCShape* s) {
  int64_t* labels = static_cast<int64_t*>(args.space);
  int64_t *times = labels + s->batch * s->maximum, *lengths = times + s->batch;
  const Blob *has_times = args.in[first + 2], *has_lengths = args.in[first + 3];
  s->labels = labels, s->times = times, s->lengths = lengths;
  copy_as_int64(args.in[first + 1], labels);
  copy_as_int64(has_times, times);
  copy_as_int64(has_lengths, lengths);
  const int64_t maximum = s->maximum, padding = args.as<CTCParams>().padding;
  for (int64_t b = 0; b < s->batch; ++b) {
    if (!has_times) times[b] = s->steps;
    else if (times[b] < 0 || times[b] > s->steps)
      return fail_ctc(args, *s, DATA_LENGTHS, b, 0, times[b]);
    if (!has_lengths) {
      lengths[b] = 0;
      while (lengths[b] < maximum && labels[b * maximum + lengths[b]] != padding) ++lengths[b];
    } else if (lengths[b] < 0 || lengths[b] > maximum) {
      return fail_ctc(args, *s, LABEL_LENGTHS, b, 0, lengths[b]);
    }
    for (int64_t i = 0; i < lengths[b]; ++i) {
      const int64_t label = labels[b * maximum + i];
      if (label < 0 || label >= s->classes || label == s->blank)
        return fail_ctc(args, *s, LABELS, b, i, label);
    }
  }
  return true;
}

template <typename T>
T* ctc_scratch(const Args& args, const CTCShape& s) {
  return reinterpret_cast<T*>(static_cast<int64_t*>(args.space) + ctc_integer_count(s));
}

template <typename T>
void ctc_loss(const Args& args) {
  CTCShape s = make_ctc_shape(args, 0);
  if (read_ctc_inputs(args, 0, &s))
    ctc_forward(args.level, s, args.input<T>(0), args.output<T>(0), args.add[0],
                ctc_scratch<T>(args, s), args.threads);
}

template <typename T>
void ctc_loss_grad(const Args& args) {
  CTCShape s = make_ctc_shape(args, 1);
  if (read_ctc_inputs(args, 1, &s))
    ctc_backward(args.level, s, args.input<T>(0), args.input<T>(1), args.output<T>(0), args.add[0],
                 ctc_scratch<T>(args, s), args.threads);
}
}  // namespace
}  // namespace cynet

CYNET_PLAIN_SPACE_KERNEL(ctc_loss, CTCParams, 1, ctc_workspace_bytes<0>, CYNET_FLOATS)
CYNET_PLAIN_SPACE_KERNEL(ctc_loss_grad, CTCParams, 1, ctc_workspace_bytes<1>, CYNET_FLOATS)
