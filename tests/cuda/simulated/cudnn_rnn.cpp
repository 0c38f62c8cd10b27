// Recurrent layers of the simulated libcudnn: one sequence after another, in double. Clipped cells
// and sequences of length 0 are as cuDNN 9.19 had them on an H200.
#include <cmath>
#include <map>
#include <memory>
#include <vector>

#include "cudnn.h"

enum { RELU = 0, TANH = 1, LSTM = 2, GRU = 3 };

struct Rnn {
  int mode = -1, directions = 1, type = -1, inputs = 0, hidden = 0, width = 0, layers = 0;
  int padded = 0, math = 0;
  int clip = 0, nan = 1;
  double low = 0, high = 0;
  int64_t gates() const { return mode == LSTM ? 4 : mode == GRU ? 3 : 1; }
  int64_t outputs() const { return int64_t(directions) * width; }
  bool projected() const { return width != hidden; }
};

struct RnnData {
  int type = -1;
  int64_t steps = 0, batch = 0, size = 0;
  std::vector<int> lengths;
};

Living<Rnn> rnns;
Living<RnnData> rnn_data;
static bool apart = false;   // weights lie apart in the weight space
static int64_t more = 0;     // bytes of reserve beyond what is needed
static int last_math = -1;
static const int64_t WORK[2] = {640, 1280};
enum { RESERVE = 48 };

// A reserve has the number of what forward remembers: a copy of it is as good. The newest 4096.
typedef std::shared_ptr<std::vector<double>> Memories;
static std::map<int64_t, Memories> remembered;
static std::mutex memory_lock;

static void remember(void* reserve, const Memories& what) {
  static int64_t newest = 0;
  std::lock_guard<std::mutex> hold(memory_lock);
  remembered[++newest] = what;
  remembered.erase(newest - 4096);
  memset(reserve, 0, RESERVE);
  memcpy(static_cast<char*>(reserve) + 8, &newest, sizeof(newest));
}

static Memories recall(const void* reserve) {
  int64_t number;
  memcpy(&number, static_cast<const char*>(reserve) + 8, sizeof(number));
  std::lock_guard<std::mutex> hold(memory_lock);
  const auto found = remembered.find(number);
  return found == remembered.end() ? nullptr : found->second;
}

static int64_t bytes_of(int type) { return type == 1 ? 8 : type == 0 ? 4 : 2; }
static bool known(int type) { return (type >= 0 && type <= 2) || type == CUDNN_BFLOAT16; }

// Where the parameters of a pass lie in the weight space, in elements: matrices and biases of all
// gates, of the input and of the state. As documented: linear layers in the order of gates.
struct Place {
  int64_t inputs, matrix[3], bias[2];
};

static std::vector<Place> places(const Rnn& r, int64_t* size) {
  std::vector<Place> found;
  int64_t at = apart ? 3 : 0;
  const int64_t rows = r.gates() * r.hidden, gap = apart ? 5 : 0;
  for (int k = 0; k < r.layers * r.directions; ++k) {
    Place p;
    p.inputs = k < r.directions ? r.inputs : r.outputs();
    p.matrix[0] = at, at += rows * p.inputs + gap;
    p.matrix[1] = at, at += rows * r.width + gap;
    p.matrix[2] = at, at += r.projected() ? r.width * r.hidden + gap : 0;
    found.push_back(p);
  }
  for (Place& p : found)
    for (int i = 0; i < 2; ++i) p.bias[i] = at, at += rows + gap;
  *size = at;
  return found;
}

// What a pass remembers, in doubles: gates, cells, the recurrent product of a GRU's
// third gate, gradients of sums of both kinds, states before their projection and the gradient behind
// it; each layer's output before all of that.
struct Memory {
  int64_t pass, layer, total;
  Memory(const Rnn& r, const RnnData& x) {
    const int64_t cells = x.steps * x.batch * r.hidden;
    const int64_t outs = x.steps * x.batch * r.width;
    pass = cells * (3 * r.gates() + 3) + outs;
    layer = r.directions * (pass + outs);
    total = layer * r.layers;
  }
};

static double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

static double clipped(const Rnn& r, double c) {
  if (!r.clip) return c;
  if (c != c) return r.nan ? c : r.low;
  return c < r.low ? r.low : c > r.high ? r.high : c;
}

static bool free_of_clip(const Rnn& r, double c) { return !r.clip || (c > r.low && c < r.high); }

// One run: what the calls hand over.
struct Run {
  Rnn r;
  RnnData x;
  std::vector<Place> place;
  double* reserve;
  int64_t cells, outs, pass_size, layer_size;

  Run(const Rnn& rnn, const RnnData& data, double* memory) : r(rnn), x(data), reserve(memory) {
    int64_t size;
    place = places(r, &size);
    const Memory m(r, x);
    cells = x.steps * x.batch * r.hidden;
    outs = x.steps * x.batch * r.width;
    pass_size = m.pass;
    layer_size = m.layer;
  }
  double* output(int layer) const { return reserve + layer * layer_size; }
  double* gates(int k) const {
    return output(k / r.directions) + r.directions * outs + k % r.directions * pass_size;
  }
  double* cell(int k) const { return gates(k) + r.gates() * cells; }
  double* product(int k) const { return cell(k) + cells; }
  double* sums(int k) const { return product(k) + cells; }
  double* sums_h(int k) const { return sums(k) + r.gates() * cells; }
  double* full(int k) const { return sums_h(k) + r.gates() * cells; }
  double* behind(int k) const { return full(k) + cells; }
  // x of a layer at (t, n, j)
  template <typename T>
  double input(const T* data, int layer, int64_t t, int64_t n, int64_t j) const {
    if (layer == 0) return data[(t * x.batch + n) * r.inputs + j];
    return output(layer - 1)[(t * x.batch + n) * r.outputs() + j];
  }
  // h before step t of pass k; `first` are the given states or NULL
  template <typename T>
  double before(const T* first, int k, int64_t t, int64_t n, int64_t j) const {
    const int direction = k % r.directions;
    const int64_t from = direction ? t + 1 : t - 1;
    if (from < 0 || from >= x.lengths[n])
      return first ? double(first[(k * x.batch + n) * r.width + j]) : 0.0;
    return output(k / r.directions)[(from * x.batch + n) * r.outputs() + direction * r.width + j];
  }
  template <typename T>
  double cell_before(const T* first, int k, int64_t t, int64_t n, int64_t j) const {
    const int64_t from = k % r.directions ? t + 1 : t - 1;
    if (from < 0 || from >= x.lengths[n])
      return first ? double(first[(k * x.batch + n) * r.hidden + j]) : 0.0;
    return cell(k)[(from * x.batch + n) * r.hidden + j];
  }
};

template <typename T>
static void forward(const Run& run, const T* x, T* y, const T* hx, T* hy, const T* cx, T* cy,
                    const T* w) {
  const Rnn& r = run.r;
  const int64_t hidden = r.hidden, batch = run.x.batch, gates = r.gates();
  for (int64_t i = 0; i < r.layers * run.layer_size; ++i) run.reserve[i] = 0;
  for (int k = 0; k < r.layers * r.directions; ++k) {
    const int layer = k / r.directions, direction = k % r.directions;
    const Place& p = run.place[k];
    for (int64_t n = 0; n < batch; ++n) {
      const int64_t length = run.x.lengths[n];
      for (int64_t step = 0; step < length; ++step) {
        const int64_t t = direction ? length - 1 - step : step;
        const int64_t row = (t * batch + n) * hidden;
        for (int64_t j = 0; j < hidden; ++j) {
          double a[4], b[4];
          for (int64_t g = 0; g < gates; ++g) {
            const int64_t line = g * hidden + j;
            a[g] = w[p.bias[0] + line];
            b[g] = w[p.bias[1] + line];
            for (int64_t i = 0; i < p.inputs; ++i)
              a[g] += double(w[p.matrix[0] + line * p.inputs + i]) * run.input(x, layer, t, n, i);
            for (int64_t i = 0; i < r.width; ++i)
              b[g] += double(w[p.matrix[1] + line * r.width + i]) * run.before(hx, k, t, n, i);
          }
          double h;
          double* kept = run.gates(k) + (row + j) * gates;
          if (r.mode == LSTM) {
            kept[0] = sigmoid(a[0] + b[0]);
            kept[1] = sigmoid(a[1] + b[1]);
            kept[2] = std::tanh(a[2] + b[2]);
            kept[3] = sigmoid(a[3] + b[3]);
            const double c =
                kept[1] * clipped(r, run.cell_before(cx, k, t, n, j)) + kept[0] * kept[2];
            run.cell(k)[row + j] = c;
            h = kept[3] * std::tanh(clipped(r, c));
          } else if (r.mode == GRU) {
            kept[0] = sigmoid(a[0] + b[0]);
            kept[1] = sigmoid(a[1] + b[1]);
            run.product(k)[row + j] = b[2];
            kept[2] = std::tanh(a[2] + kept[0] * b[2]);
            h = (1 - kept[1]) * kept[2] + kept[1] * run.before(hx, k, t, n, j);
          } else {
            h = r.mode == TANH ? std::tanh(a[0] + b[0]) : std::fmax(a[0] + b[0], 0);
          }
          run.full(k)[row + j] = h;
        }
        double* out = run.output(layer) + (t * batch + n) * r.outputs() + direction * r.width;
        for (int64_t q = 0; q < r.width; ++q) {
          out[q] = r.projected() ? 0 : run.full(k)[row + q];
          for (int64_t j = 0; j < (r.projected() ? hidden : 0); ++j)
            out[q] += double(w[p.matrix[2] + q * hidden + j]) * run.full(k)[row + j];
        }
      }
      const int64_t end = direction ? -1 : length, at = k * batch + n;
      for (int64_t j = 0; j < r.width && hy; ++j)
        hy[at * r.width + j] = static_cast<T>(length ? run.before(hx, k, end, n, j) : 0);
      for (int64_t j = 0; j < hidden && cy; ++j)
        cy[at * hidden + j] = static_cast<T>(length ? run.cell_before(cx, k, end, n, j) : 0);
    }
  }
  const double* last = run.output(r.layers - 1);
  for (int64_t i = 0; i < run.x.steps * batch * r.outputs(); ++i) y[i] = static_cast<T>(last[i]);
}

template <typename T>
static void to_data(const Run& run, const T* dy, T* dx, const T* hx, const T* dhy, T* dhx,
                    const T* cx, const T* dcy, T* dcx, const T* w) {
  const Rnn& r = run.r;
  const int64_t hidden = r.hidden, batch = run.x.batch, gates = r.gates();
  const int64_t rows = run.x.steps * batch;
  std::vector<double> above(dy, dy + rows * r.outputs());
  for (int layer = r.layers - 1; layer >= 0; --layer) {
    const int64_t inputs = run.place[layer * r.directions].inputs;
    std::vector<double> below(rows * inputs);
    for (int direction = 0; direction < r.directions; ++direction) {
      const int k = layer * r.directions + direction;
      const Place& p = run.place[k];
      for (int64_t n = 0; n < batch; ++n) {
        const int64_t length = run.x.lengths[n], at = k * batch + n;
        std::vector<double> dh(r.width), dc(hidden);
        for (int64_t j = 0; j < r.width; ++j)
          dh[j] = dhy && length ? double(dhy[at * r.width + j]) : 0.0;
        for (int64_t j = 0; j < hidden; ++j)
          dc[j] = dcy && length ? double(dcy[at * hidden + j]) : 0.0;
        for (int64_t step = length - 1; step >= 0; --step) {
          const int64_t t = direction ? length - 1 - step : step, row = t * batch + n;
          std::vector<double> next(r.width);
          double* behind = run.behind(k) + row * r.width;
          for (int64_t q = 0; q < r.width; ++q)
            behind[q] = dh[q] + above[row * r.outputs() + direction * r.width + q];
          for (int64_t j = 0; j < hidden; ++j) {
            double d = r.projected() ? 0 : behind[j];
            for (int64_t q = 0; q < (r.projected() ? r.width : 0); ++q)
              d += double(w[p.matrix[2] + q * hidden + j]) * behind[q];
            const double h = run.full(k)[row * hidden + j];
            const double* g = run.gates(k) + (row * hidden + j) * gates;
            double* s = run.sums(k) + (row * hidden + j) * gates;
            double* s_h = run.sums_h(k) + (row * hidden + j) * gates;
            if (r.mode == LSTM) {
              const double c = run.cell(k)[row * hidden + j], tc = std::tanh(clipped(r, c));
              const double c_before = run.cell_before(cx, k, t, n, j);
              const double e = dc[j] + (free_of_clip(r, c) ? d * g[3] * (1 - tc * tc) : 0);
              s[0] = e * g[2] * g[0] * (1 - g[0]);
              s[1] = e * clipped(r, c_before) * g[1] * (1 - g[1]);
              s[2] = e * g[0] * (1 - g[2] * g[2]);
              s[3] = d * tc * g[3] * (1 - g[3]);
              dc[j] = free_of_clip(r, c_before) ? e * g[1] : 0;
            } else if (r.mode == GRU) {
              const double m = run.product(k)[row * hidden + j];
              s[2] = d * (1 - g[1]) * (1 - g[2] * g[2]);
              s[0] = s[2] * m * g[0] * (1 - g[0]);
              s[1] = d * (run.before(hx, k, t, n, j) - g[2]) * g[1] * (1 - g[1]);
              next[j] += d * g[1];
            } else {
              s[0] = r.mode == TANH ? d * (1 - h * h) : h > 0 ? d : 0;
            }
            for (int64_t q = 0; q < gates; ++q) s_h[q] = s[q];
            if (r.mode == GRU) s_h[2] = s[2] * g[0];
          }
          for (int64_t j = 0; j < hidden; ++j)
            for (int64_t q = 0; q < gates; ++q) {
              const int64_t sum = (row * hidden + j) * gates + q, line = q * hidden + j;
              for (int64_t i = 0; i < r.width; ++i)
                next[i] += run.sums_h(k)[sum] * double(w[p.matrix[1] + line * r.width + i]);
              for (int64_t i = 0; i < inputs; ++i)
                below[row * inputs + i] +=
                    run.sums(k)[sum] * double(w[p.matrix[0] + line * inputs + i]);
            }
          dh = next;
        }
        for (int64_t j = 0; j < r.width && dhx; ++j) dhx[at * r.width + j] = static_cast<T>(dh[j]);
        for (int64_t j = 0; j < hidden && dcx; ++j) dcx[at * hidden + j] = static_cast<T>(dc[j]);
      }
    }
    above = below;
  }
  const int64_t size = r.inputs;  // what lies behind a sequence's end is left as it is
  for (size_t i = 0; i < above.size(); ++i)
    if (int64_t(i) / size / batch < run.x.lengths[int64_t(i) / size % batch])
      dx[i] = static_cast<T>(above[i]);
}

template <typename T>
static void to_weights(const Run& run, const T* x, const T* hx, T* dw, int64_t size) {
  const Rnn& r = run.r;
  const int64_t hidden = r.hidden, gates = r.gates();
  std::vector<double> total(size);
  for (int k = 0; k < r.layers * r.directions; ++k) {
    const Place& p = run.place[k];
    for (int64_t n = 0; n < run.x.batch; ++n)
      for (int64_t t = 0; t < run.x.lengths[n]; ++t) {
        const int64_t row = t * run.x.batch + n;
        for (int64_t i = 0; i < (r.projected() ? r.width * hidden : 0); ++i)
          total[p.matrix[2] + i] +=
              run.behind(k)[row * r.width + i / hidden] * run.full(k)[row * hidden + i % hidden];
        for (int64_t j = 0; j < hidden; ++j)
          for (int64_t q = 0; q < gates; ++q) {
            const int64_t sum = (row * hidden + j) * gates + q;
            const int64_t line = q * hidden + j;
            const double s = run.sums(k)[sum], s_h = run.sums_h(k)[sum];
            total[p.bias[0] + line] += s;
            total[p.bias[1] + line] += s_h;
            for (int64_t i = 0; i < p.inputs; ++i)
              total[p.matrix[0] + line * p.inputs + i] +=
                  s * run.input(x, k / r.directions, t, n, i);
            for (int64_t i = 0; i < r.width; ++i)
              total[p.matrix[1] + line * r.width + i] += s_h * run.before(hx, k, t, n, i);
          }
      }
  }
  for (int64_t i = 0; i < size; ++i) put(dw + i, total[i], 1);
}

// What all three calls check alike.
static int check_run(void* handle, const Rnn* r, const RnnData* x, const RnnData* y,
                     const Tensor* h, const Tensor* c, size_t weights, size_t work,
                     const void* space) {
  int64_t size;
  if (handles.find(handle) == nullptr) return NOT_INITIALIZED;
  if (!r || !x || !y || !h || r->type < 0) return refuse(BAD_PARAM, "descriptor");
  if (x->type != r->type || y->type != r->type || h->type != r->type)
    return refuse(BAD_PARAM, "type");
  if (x->size != r->inputs || y->size != r->outputs() || x->steps != y->steps ||
      x->batch != y->batch || x->lengths != y->lengths)
    return refuse(BAD_PARAM, "data");
  if (h->rank != 3 || h->dims[0] != r->layers * r->directions || h->dims[1] != x->batch ||
      h->dims[2] != r->width)
    return refuse(BAD_PARAM, "states");
  if (r->mode == LSTM && c && (c->rank != 3 || c->dims[2] != r->hidden))
    return refuse(BAD_PARAM, "cells");
  for (int length : x->lengths)
    if (length != x->steps && !r->padded) return refuse(BAD_PARAM, "lengths without padded i/o");
  places(*r, &size);
  if (weights != size_t(size * bytes_of(r->type))) return refuse(BAD_PARAM, "weight space");
  if (work < size_t(WORK[1]) && work != size_t(WORK[0]))
    return refuse(SPACE_TOO_SMALL, "workspace");
  return space ? SUCCESS : refuse(BAD_PARAM, "no workspace");
}

static size_t reserve_bytes() { return RESERVE + more; }

extern "C" {
int cudnnCreateRNNDescriptor(void** d) { return *d = rnns.make(), SUCCESS; }
int cudnnDestroyRNNDescriptor(void* d) { return rnns.destroy(d) ? SUCCESS : BAD_PARAM; }
int cudnnCreateRNNDataDescriptor(void** d) { return *d = rnn_data.make(), SUCCESS; }
int cudnnDestroyRNNDataDescriptor(void* d) { return rnn_data.destroy(d) ? SUCCESS : BAD_PARAM; }

int cudnnSetRNNDescriptor_v8(void* d, int algo, int mode, int bias, int direction, int input,
                             int type, int precision, int math, int inputs, int hidden,
                             int projection, int layers, void* dropout, int flags) {
  Rnn* r = rnns.find(d);
  if (!r || algo != 0 || mode < 0 || mode > 3 || bias != 2 || direction < 0 || direction > 1)
    return refuse(BAD_PARAM, "descriptor, algorithm, mode, bias or direction");
  if (input != 0 || !known(type) || precision != (type == 1 ? 1 : 0))
    return refuse(BAD_PARAM, "input mode, type or precision");
  if (math != 0 && math != 1 && math != 3) return refuse(BAD_PARAM, "math");
  if (inputs < 1 || hidden < 1 || layers < 1 || projection < 1 || projection > hidden ||
      flags < 0 || flags > 1)
    return refuse(BAD_PARAM, "sizes or flags");
  if (projection != hidden && mode != LSTM)
    return refuse(NOT_SUPPORTED, "a projection of what is no LSTM");
  if (dropout != nullptr) return refuse(NOT_SUPPORTED, "the tests give no dropout");
  r->mode = mode, r->directions = direction + 1, r->type = type, r->inputs = inputs;
  r->hidden = hidden, r->width = projection, r->layers = layers, r->padded = flags, r->math = math;
  return SUCCESS;
}

int cudnnRNNSetClip_v8(void* d, int clip, int nan, double low, double high) {
  Rnn* r = rnns.find(d);
  if (!r || r->mode != LSTM || low > high) return refuse(BAD_PARAM, "no LSTM, or bounds");
  r->clip = clip, r->nan = nan, r->low = low, r->high = high;
  return SUCCESS;
}

int cudnnSetRNNDataDescriptor(void* d, int type, int layout, int steps, int batch, int size,
                              const int* lengths, void* fill) {
  RnnData* x = rnn_data.find(d);
  if (!x || !known(type) || layout != 0 || steps < 1 || batch < 1 || size < 1 || !fill)
    return refuse(BAD_PARAM, "descriptor, layout or size");
  for (int n = 0; n < batch; ++n)
    if (lengths[n] < 0 || lengths[n] > steps) return refuse(BAD_PARAM, "length of a sequence");
  x->type = type, x->steps = steps, x->batch = batch, x->size = size;
  x->lengths.assign(lengths, lengths + batch);
  return SUCCESS;
}

int cudnnGetRNNTempSpaceSizes(void* handle, void* d, int mode, void* x_desc, size_t* work,
                              size_t* reserve) {
  Rnn* r = rnns.find(d);
  RnnData* x = rnn_data.find(x_desc);
  if (!handles.find(handle) || !r || !x) return refuse(BAD_PARAM, "handle or descriptor");
  *work = WORK[mode];
  *reserve = mode ? reserve_bytes() : 0;
  return SUCCESS;
}

int cudnnGetRNNWeightSpaceSize(void* handle, void* d, size_t* size) {
  Rnn* r = rnns.find(d);
  int64_t count;
  if (!handles.find(handle) || !r) return refuse(BAD_PARAM, "handle or descriptor");
  places(*r, &count);
  *size = count * bytes_of(r->type);
  return SUCCESS;
}

int cudnnGetRNNWeightParams(void* handle, void* d, int pass, size_t size, const void* weights,
                            int which, void* matrix, void** matrix_at, void* bias, void** bias_at) {
  Rnn* r = rnns.find(d);
  int64_t count;
  if (!handles.find(handle) || !r || !tensors.find(matrix) || !tensors.find(bias))
    return refuse(BAD_PARAM, "handle or descriptor");
  const auto found = places(*r, &count);
  const bool projection = which == 2 * r->gates() && r->projected();
  if (pass < 0 || pass >= int(found.size()) || which < 0 ||
      (which >= 2 * r->gates() && !projection))
    return refuse(BAD_PARAM, "pass or matrix");
  if (size != size_t(count * bytes_of(r->type))) return refuse(BAD_PARAM, "weight space");
  const int side = which >= r->gates();
  const int64_t gate = which % r->gates() * r->hidden;
  const Place& p = found[pass];
  char* begin = static_cast<char*>(const_cast<void*>(weights));
  if (projection) {
    *matrix_at = begin + p.matrix[2] * bytes_of(r->type), *bias_at = nullptr;
    return SUCCESS;
  }
  *matrix_at = begin + (p.matrix[side] + gate * (side ? r->width : p.inputs)) * bytes_of(r->type);
  *bias_at = begin + (p.bias[side] + gate) * bytes_of(r->type);
  return SUCCESS;
}

int cudnnRNNForward(void* handle, void* d, int mode, const int* lengths, void* x_desc,
                    const void* x, void* y_desc, void* y, void* h_desc, const void* hx, void* hy,
                    void* c_desc, const void* cx, void* cy, size_t weights_size,
                    const void* weights, size_t work_size, void* work, size_t reserve_size,
                    void* reserve) {
  const Rnn* r = rnns.find(d);
  const RnnData* tx = rnn_data.find(x_desc);
  const int wrong = check_run(handle, r, tx, rnn_data.find(y_desc), tensors.find(h_desc),
                              tensors.find(c_desc), weights_size, work_size, work);
  if (wrong) return wrong;
  if (!x || !y || !weights || lengths) return refuse(BAD_PARAM, "data");
  if (mode == 1 && (!reserve || reserve_size < reserve_bytes()))
    return refuse(SPACE_TOO_SMALL, "reserve");
  last_math = r->math;
  const Rnn rnn = *r;
  const RnnData data = *tx;
  return run(handles.find(handle), [=] {
    const Memories own = std::make_shared<std::vector<double>>(Memory(rnn, data).total);
    const Run all(rnn, data, own->data());
    if (mode == 1) remember(reserve, own);
    with_type(rnn.type, [&](auto zero) {
      typedef decltype(zero) T;
      memset(work, 0xff, work_size);
      forward(all, static_cast<const T*>(x), static_cast<T*>(y), static_cast<const T*>(hx),
              static_cast<T*>(hy), static_cast<const T*>(cx), static_cast<T*>(cy),
              static_cast<const T*>(weights));
    });
  });
}

int cudnnRNNBackwardData_v8(void* handle, void* d, const int* lengths, void* y_desc, const void* y,
                            const void* dy, void* x_desc, void* dx, void* h_desc, const void* hx,
                            const void* dhy, void* dhx, void* c_desc, const void* cx,
                            const void* dcy, void* dcx, size_t weights_size, const void* weights,
                            size_t work_size, void* work, size_t reserve_size, void* reserve) {
  const Rnn* r = rnns.find(d);
  const RnnData* tx = rnn_data.find(x_desc);
  const int wrong = check_run(handle, r, tx, rnn_data.find(y_desc), tensors.find(h_desc),
                              tensors.find(c_desc), weights_size, work_size, work);
  if (wrong) return wrong;
  if (!y || !dy || !dx || !weights || lengths || work_size < size_t(WORK[1]))
    return refuse(BAD_PARAM, "data");
  if (!reserve || reserve_size < reserve_bytes()) return refuse(SPACE_TOO_SMALL, "reserve");
  const Rnn rnn = *r;
  const RnnData data = *tx;
  return run(handles.find(handle), [=] {
    const Memories from = recall(reserve);
    if (!from || from->size() != size_t(Memory(rnn, data).total)) return;
    const Memories own = std::make_shared<std::vector<double>>(*from);
    const Run all(rnn, data, own->data());
    with_type(rnn.type, [&](auto zero) {
      typedef decltype(zero) T;
      to_data(all, static_cast<const T*>(dy), static_cast<T*>(dx), static_cast<const T*>(hx),
              static_cast<const T*>(dhy), static_cast<T*>(dhx), static_cast<const T*>(cx),
              static_cast<const T*>(dcy), static_cast<T*>(dcx), static_cast<const T*>(weights));
      for (int64_t i = 0; i < all.cells; ++i) all.gates(0)[i] = NAN;  // good for weights alone
      memset(work, 7, work_size);
      remember(reserve, own);
    });
  });
}

int cudnnRNNBackwardWeights_v8(void* handle, void* d, int mode, const int* lengths, void* x_desc,
                               const void* x, void* h_desc, const void* hx, void* y_desc,
                               const void* y, size_t weights_size, void* gradient, size_t work_size,
                               void* work, size_t reserve_size, void* reserve) {
  const Rnn* r = rnns.find(d);
  const RnnData* tx = rnn_data.find(x_desc);
  const int wrong = check_run(handle, r, tx, rnn_data.find(y_desc), tensors.find(h_desc), nullptr,
                              weights_size, work_size, work);
  if (wrong) return wrong;
  if (!x || !y || !gradient || lengths) return refuse(BAD_PARAM, "data");
  if (mode != 0) return refuse(NOT_SUPPORTED, "gradients are only added");
  if (!reserve || reserve_size < reserve_bytes()) return refuse(SPACE_TOO_SMALL, "reserve");
  const Rnn rnn = *r;
  const RnnData data = *tx;
  return run(handles.find(handle), [=] {
    if (static_cast<unsigned char*>(work)[0] != 7) return;  // data's gradient comes first
    const Memories own = recall(reserve);
    if (!own || own->size() != size_t(Memory(rnn, data).total)) return;
    const Run all(rnn, data, own->data());
    with_type(rnn.type, [&](auto zero) {
      typedef decltype(zero) T;
      to_weights(all, static_cast<const T*>(x), static_cast<const T*>(hx),
                 static_cast<T*>(gradient), weights_size / bytes_of(rnn.type));
    });
  });
}

// For the tests: weights apart in the weight space, bytes of reserve nobody needs, math of the last
// run, descriptors that live.
void simulated_weights_apart(int value) { apart = value; }
void simulated_more_reserve(int64_t bytes) { more = bytes; }
int simulated_rnn_math() { return last_math; }
int simulated_rnn_descriptors() { return rnns.count() + rnn_data.count(); }
}
