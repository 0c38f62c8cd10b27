// What the simulated libraries share: element types, objects that live, work on a stream.
#pragma once
#include <dlfcn.h>

#include <cstdint>
#include <cstring>
#include <functional>
#include <mutex>
#include <set>

// float16 in memory, float in arithmetic.
struct Half {
  uint16_t bits;
  Half(double value = 0) {
    // Among the numbers of 11 significant bits the nearest one, ties to even.
    uint16_t sign = value < 0 || (value == 0 && 1 / value < 0) ? 0x8000 : 0;
    if (value < 0) value = -value;
    if (value != value) {
      bits = 0x7e00;
    } else if (value >= 65520) {
      bits = sign | 0x7c00;
    } else {
      int exponent = -14;
      while (exponent < 15 && value >= __builtin_ldexp(1.0, exponent + 1)) ++exponent;
      double steps = __builtin_ldexp(value, 10 - exponent);  // below 2048
      double whole = __builtin_nearbyint(steps);
      int units = static_cast<int>(whole);
      bits = units < 1024 ? sign | units
                          : sign + static_cast<uint16_t>(((exponent + 14) << 10) + units);
    }
  }
  operator double() const {
    const int exponent = bits >> 10 & 31, fraction = bits & 1023;
    double value;
    if (exponent == 31) value = fraction ? __builtin_nan("") : __builtin_inf();
    else if (exponent) value = __builtin_ldexp(1024 + fraction, exponent - 25);
    else value = __builtin_ldexp(fraction, -24);
    return bits & 0x8000 ? -value : value;
  }
};

// bfloat16 in memory: the upper half of a float, rounded to the nearest one, ties to even.
struct Bfloat16 {
  uint16_t bits;
  Bfloat16(double value = 0) {
    const float f = static_cast<float>(value);
    uint32_t all;
    memcpy(&all, &f, sizeof(all));
    bits = value != value ? 0x7fc0 : (all + 0x7fff + (all >> 16 & 1)) >> 16;
  }
  operator double() const {
    const uint32_t all = static_cast<uint32_t>(bits) << 16;
    float f;
    memcpy(&f, &all, sizeof(f));
    return f;
  }
};

enum { CUDA_BFLOAT16 = 14, CUDNN_BFLOAT16 = 9 };  // cudaDataType, cudnnDataType_t

// Calls f with a value of the type: 0 float, 1 double, 2 half in both enumerations.
template <typename F>
void with_type(int type, F f) {
  if (type == 0) f(float());
  if (type == 1) f(double());
  if (type == 2) f(Half());
  if (type == CUDA_BFLOAT16 || type == CUDNN_BFLOAT16) f(Bfloat16());
}

inline double scalar(const void* p, bool is_double) {
  return is_double ? *static_cast<const double*>(p) : *static_cast<const float*>(p);
}

// Objects that the caller has made and not yet destroyed.
template <typename T>
class Living {
  std::set<const void*> alive;
  std::mutex lock;

 public:
  T* make() {
    std::lock_guard<std::mutex> hold(lock);
    T* object = new T();
    alive.insert(object);
    return object;
  }
  T* find(const void* p) {
    std::lock_guard<std::mutex> hold(lock);
    return alive.count(p) ? static_cast<T*>(const_cast<void*>(p)) : nullptr;
  }
  bool destroy(void* p) {
    std::lock_guard<std::mutex> hold(lock);
    if (!alive.erase(p)) return false;
    delete static_cast<T*>(p);
    return true;
  }
  int count() {
    std::lock_guard<std::mutex> hold(lock);
    return static_cast<int>(alive.size());
  }
};

// Queue `work` on the stream of the simulated driver; at once where there is no stream. What is
// captured into a graph runs whenever the graph does, so that work is kept.
inline bool queue(void* stream, std::function<void()> work) {
  if (stream == nullptr) {
    work();
    return true;
  }
  static void* driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (driver == nullptr) return false;
  typedef int (*launch_host_function)(void*, void (*)(void*), void*);
  typedef int (*is_capturing)(void*, int*);
  static auto launch = reinterpret_cast<launch_host_function>(dlsym(driver, "cuLaunchHostFunc"));
  static auto asked = reinterpret_cast<is_capturing>(dlsym(driver, "cuStreamIsCapturing"));
  int captured = 0;
  if (launch == nullptr || asked == nullptr || asked(stream, &captured)) return false;
  auto keep = [](void* p) { (*static_cast<std::function<void()>*>(p))(); };
  auto once = [](void* p) {
    auto* work = static_cast<std::function<void()>*>(p);
    (*work)();
    delete work;
  };
  void (*run)(void*) = once;
  if (captured) run = keep;
  return launch(stream, run, new std::function<void()>(std::move(work))) == 0;
}
