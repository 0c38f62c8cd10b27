// Running a grid: the table of kernels that the end of each source fills, and cynet_launch.
#ifndef CYNET_LAUNCH_H
#define CYNET_LAUNCH_H

namespace cynet_emulator {

// ----- arguments of a kernel
// Codes of a kernel's arguments: a pointer has 'p' and the code of its elements, a value 's' and
// the code of its type.
template <typename T>
struct TypeCode {  // type character of T
  static constexpr char value = 'v';
};
#define CYNET_TYPE_CODE(T, code)        \
  template <>                           \
  struct TypeCode<T> {                  \
    static constexpr char value = code; \
  };
CYNET_TYPE_CODE(float, 'f')
CYNET_TYPE_CODE(double, 'd')
CYNET_TYPE_CODE(__half, 'e')
CYNET_TYPE_CODE(bool, '?')
CYNET_TYPE_CODE(char, 'b')
CYNET_TYPE_CODE(signed char, 'b')
CYNET_TYPE_CODE(unsigned char, 'B')
CYNET_TYPE_CODE(short, 'h')
CYNET_TYPE_CODE(unsigned short, 'H')
CYNET_TYPE_CODE(int, 'i')
CYNET_TYPE_CODE(unsigned, 'I')
CYNET_TYPE_CODE(long, 'q')
CYNET_TYPE_CODE(unsigned long, 'Q')
CYNET_TYPE_CODE(long long, 'q')
CYNET_TYPE_CODE(unsigned long long, 'Q')
#undef CYNET_TYPE_CODE

struct ParamInfo {  // kind and type of a kernel parameter
  char kind, code;
  uint16_t size;
};

template <typename T>
struct DescribeParameter {  // makes the ParamInfo of T
  static constexpr ParamInfo value = {'s', TypeCode<T>::value, sizeof(T)};
};
template <typename T>
struct DescribeParameter<T*> {  // of a pointer
  static constexpr ParamInfo value = {'p', TypeCode<std::remove_cv_t<T>>::value, sizeof(void*)};
};

// The dynamic shared memory of the running block.
static __thread char* dynamic_shared = nullptr;

template <auto K>
struct KernelCaller;
template <typename... A, void (*K)(A...)>
struct KernelCaller<K> {  // calls kernel K with unpacked arguments
  static constexpr int count = sizeof...(A);
  static constexpr ParamInfo parameters[sizeof...(A) + 1] = {DescribeParameter<A>::value..., {}};

  static void run(A... values) {  // calls K with checks on
    set_checking(true);
    K(values...);
    set_checking(false);
  }
  template <size_t... I>
  static void run_unpacked(void** values, std::index_sequence<I...>) {  // run() with *values
    run(*static_cast<A*>(values[I])...);
  }
  // Runs a kernel for one thread.
  static void run_thread(void** values) { run_unpacked(values, std::index_sequence_for<A...>()); }

  // Runs a kernel for all threads of a block that does not synchronise.
  static void run_kernel_loop(A... values) {  // for all threads of a block
    for (unsigned z = 0; z < blockDim.z; ++z)
      for (unsigned y = 0; y < blockDim.y; ++y) {
        threadIdx.y = y, threadIdx.z = z;
        const unsigned n = blockDim.x;
        for (unsigned x = 0; x < n; ++x) {
          threadIdx.x = x;
          K(values...);
        }
      }
  }
  template <size_t... I>
  static void loop_unpacked(void** values, std::index_sequence<I...>) {  // the loop with *values
    run_kernel_loop(*static_cast<A*>(values[I])...);
  }
  static void run_threads(void** values) { loop_unpacked(values, std::index_sequence_for<A...>()); }
};

struct Entry {  // a kernel in the table of a module
  const char* name;
  void (*run_thread)(void**);  // NULL: the kernel does not synchronise
  void (*run_threads)(void**);   // runs all threads; NULL: `run_thread` does
  int count;
  const ParamInfo* parameters;
};

// The arguments of a launch; `bytes` has the size of each array argument, -1 for values.
struct Launch {  // arguments of a launch
  void** values;
  const int64_t* bytes;
  uint32_t grid[3];
  uint32_t block[3];
  uint64_t shared;
  int32_t threads;
  Failure* failure;
};

static inline void set_block_index(int64_t i) {
  blockIdx.x = static_cast<unsigned>(i % gridDim.x);
  blockIdx.y = static_cast<unsigned>(i / gridDim.x % gridDim.y);
  blockIdx.z = static_cast<unsigned>(i / gridDim.x / gridDim.y);
}

// Blocks of a kernel that does not synchronise. `own` is there to note a failure.
__attribute__((noinline)) static bool loop_blocks(Block* own, const Entry& entry, void** values,
                                                  Failure* failure, int64_t begin, int64_t end,
                                                  const volatile bool* stopped) {
  jmp_buf here;
  memset(own, 0, sizeof(Block));
  own->failure = failure;
  block = own;
  way_out = &here;
  bool good = true;
  if (setjmp(here) == 0) {
    for (int64_t i = begin; i < end && !*stopped; ++i) {
      set_block_index(i);
      entry.run_threads(values);
    }
  } else {
    good = false;
  }
  block = nullptr;
  return good;
}

// Blocks [begin, end) of the grid, one after another, until `stopped`.
static bool run_blocks(const Entry& entry, const Launch& launch, void** values, Failure* failure,
                       int64_t begin, int64_t end, const volatile bool* stopped) {
  catch_faults();
  gridDim = dim3(launch.grid[0], launch.grid[1], launch.grid[2]);
  blockDim = dim3(launch.block[0], launch.block[1], launch.block[2]);
  const int count = static_cast<int>(blockDim.x * blockDim.y * blockDim.z);
  const size_t shared = (launch.shared + 127) & ~static_cast<size_t>(127);
  char* memory = shared ? static_cast<char*>(aligned_alloc(128, shared)) : nullptr;
  dynamic_shared = memory;
#if CYNET_CHECKED
  dynamic_begin = memory;
  dynamic_size = launch.shared;
#endif
  Block own;
  bool good = !launch.shared || memory;
  if (entry.run_thread) {
    good = init_block(&own, count, entry.run_thread, values, failure) && good;
    for (int64_t i = begin; good && i < end && !*stopped; ++i) {
      set_block_index(i);
      good = run_block(&own);
    }
    close_block(&own);
  } else if (good) {
    good = loop_blocks(&own, entry, values, failure, begin, end, stopped);
  }
  free(memory);
  if (!good && failure->kind == kNone) failure->kind = kMemory;
  return good;
}

static bool run_grid(const Entry& entry, const Launch& launch, void** values, int threads) {
  const int64_t blocks = static_cast<int64_t>(launch.grid[0]) * launch.grid[1] * launch.grid[2];
  volatile bool stopped = false;
  bool taken = false;
  cynet::parallel_for(threads, blocks, [&](int64_t begin, int64_t end) {
    Failure own;
    own.kind = kNone;
    if (run_blocks(entry, launch, values, &own, begin, end, &stopped)) return;
    stopped = true;
    if (!__atomic_test_and_set(&taken, __ATOMIC_ACQ_REL)) *launch.failure = own;
  });
  return !stopped;
}

#if CYNET_CHECKED
// The kernel works on copies of its arrays with space around them; arrays that share memory share
// it in the copy, too. What it wrote is copied back when it succeeded.
static bool run_on_copies(const Entry& entry, const Launch& launch) {  // copies arrays
  static pthread_mutex_t one_launch = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&one_launch);
  enum { kSpace = 4096 };
  struct Span {  // an array argument and its copy
    uintptr_t begin, end;
    char* copy;
  };
  Span* spans = static_cast<Span*>(calloc(entry.count + 1, sizeof(Span)));
  void** values = static_cast<void**>(malloc((entry.count + 1) * sizeof(void*)));
  void** pointers = static_cast<void**>(malloc((entry.count + 1) * sizeof(void*)));
  ranges = static_cast<ArgumentRange*>(malloc((entry.count + 1) * sizeof(ArgumentRange)));
  range_count = 0;
  int count = 0;
  bool good = spans && values && pointers && ranges;
  const auto is_array = [&](int i) {  // null stays null
    return launch.bytes[i] >= 0 && *static_cast<void**>(launch.values[i]) != nullptr;
  };
  for (int i = 0; good && i < entry.count; ++i) {
    if (!is_array(i)) continue;
    Span span = {reinterpret_cast<uintptr_t>(*static_cast<void**>(launch.values[i])), 0, nullptr};
    span.end = span.begin + launch.bytes[i];
    for (int k = 0; k < count;) {  // merge the spans that overlap it
      if (spans[k].begin < span.end && span.begin < spans[k].end) {
        if (spans[k].begin < span.begin) span.begin = spans[k].begin;
        if (spans[k].end > span.end) span.end = spans[k].end;
        spans[k] = spans[--count];
        k = 0;
      } else {
        ++k;
      }
    }
    spans[count++] = span;
  }
  for (int k = 0; good && k < count; ++k) {
    const size_t size = spans[k].end - spans[k].begin;
    spans[k].copy = static_cast<char*>(aligned_alloc(128, (size + 2 * kSpace + 127) & ~127ull));
    good = spans[k].copy != nullptr;
    if (good) memcpy(spans[k].copy + kSpace, reinterpret_cast<void*>(spans[k].begin), size);
  }
  for (int i = 0; good && i < entry.count; ++i) {
    values[i] = launch.values[i];
    if (!is_array(i)) continue;
    const uintptr_t from = reinterpret_cast<uintptr_t>(*static_cast<void**>(launch.values[i]));
    int k = 0;
    while (from < spans[k].begin || from + launch.bytes[i] > spans[k].end) ++k;
    pointers[i] = spans[k].copy + kSpace + (from - spans[k].begin);
    values[i] = &pointers[i];
    const uintptr_t begin = reinterpret_cast<uintptr_t>(pointers[i]);
    ranges[range_count++] = {begin, begin + launch.bytes[i], i};
  }
  if (good) good = run_grid(entry, launch, values, 1);
  else launch.failure->kind = kMemory;
  for (int k = 0; k < count; ++k) {
    void* real = reinterpret_cast<void*>(spans[k].begin);
    const size_t size = spans[k].end - spans[k].begin;
    if (good && memcmp(real, spans[k].copy + kSpace, size) != 0)  // others may read inputs
      memcpy(real, spans[k].copy + kSpace, size);
    free(spans[k].copy);
  }
  free(spans);
  free(values);
  free(pointers);
  free(ranges);
  ranges = nullptr;
  pthread_mutex_unlock(&one_launch);
  return good;
}
#endif

}  // namespace cynet_emulator

namespace cynet_emulator {
// Selects the kernel among overloads of a name: the one that returns void.
template <typename... A>
constexpr auto kernel_address(void (*kernel)(A...)) -> void (*)(A...) {  // the void overload
  return kernel;
}
template <bool waits, auto K>
constexpr Entry make_kernel_entry(const char* name) {
  using Caller = KernelCaller<K>;  // short name
  if constexpr (waits || CYNET_CHECKED)  // a kernel is compiled in one way only
    return {name, Caller::run_thread, nullptr, Caller::count, Caller::parameters};
  else return {name, nullptr, Caller::run_threads, Caller::count, Caller::parameters};
}
}  // namespace cynet_emulator

// A row of the table; waits: whether the kernel synchronises.
#define CYNET_KERNEL_ENTRY(waits, name, ...) \
  ::cynet_emulator::make_kernel_entry<waits, ::cynet_emulator::kernel_address(&__VA_ARGS__)>(name)

// The check that follows each declaration of shared arrays, given their sizes.
namespace cynet_emulator {
template <typename... S>
constexpr size_t total_bytes(S... sizes) {  // sum of sizes
  return (static_cast<size_t>(0) + ... + sizes);
}
}  // namespace cynet_emulator
#define CYNET_CHECK_SHARED_BYTES(...)                                             \
  static_assert(::cynet_emulator::total_bytes(__VA_ARGS__) <= CYNET_SHARED_LIMIT, \
                "more than 48 KiB of static shared memory in a block");

#define CYNET_KERNEL_TABLE(...)                                                                 \
  static const ::cynet_emulator::Entry cynet_table[] = {__VA_ARGS__};                           \
  extern "C" __attribute__((visibility("default"))) const ::cynet_emulator::Entry* cynet_entry( \
      int i) {                                                                                  \
    return &cynet_table[i];                                                                     \
  }                                                                                             \
  extern "C" __attribute__((visibility("default"))) int cynet_launch(                           \
      int i, const ::cynet_emulator::Launch* launch) {                                          \
    launch->failure->kind = ::cynet_emulator::kNone;                                            \
    return ::cynet_emulator::launch_entry(cynet_table[i], *launch);                             \
  }

namespace cynet_emulator {
// Runs a launch; returns 0, or the kind of `launch.failure`.
static int launch_entry(const Entry& entry, const Launch& launch) {  // 0, or a failure's kind
#if CYNET_CHECKED
  run_on_copies(entry, launch);
#else
  run_grid(entry, launch, launch.values, launch.threads);
#endif
  return launch.failure->kind;
}
}  // namespace cynet_emulator

#endif
