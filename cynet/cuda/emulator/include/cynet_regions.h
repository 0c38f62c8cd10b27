// Kernels as loops over the threads of a block (regions.py): what the rewritten text names.
#ifndef CYNET_REGIONS_H
#define CYNET_REGIONS_H

namespace cynet_emulator {

// The part of the block's first axis that the system thread runs.
static __thread int first_x = 0, last_x = 0;

template <typename T>
using Element = T;

// Memory for what threads keep between two regions, of the system thread, kept between launches.
struct Chunk {
  Chunk* next;
  size_t size, used;
  char* memory() { return reinterpret_cast<char*>(this) + 64; }
};
struct Chunks {
  Chunk* first = nullptr;
  ~Chunks() {
    while (first) {
      Chunk* next = first->next;
      free(first);
      first = next;
    }
  }
  void* take(size_t size) {
    size = (size + 63) & ~static_cast<size_t>(63);
    for (Chunk* each = first; each; each = each->next)
      if (each->size - each->used >= size) {
        each->used += size;
        return each->memory() + each->used - size;
      }
    const size_t whole = size > (256 << 10) ? size : 256 << 10;
    Chunk* chunk = static_cast<Chunk*>(aligned_alloc(64, whole + 64));
    if (!chunk) fail(kMemory, 0);
    *chunk = {first, whole, size};
    first = chunk;
    return chunk->memory();
  }
};
static thread_local Chunks chunks;

// An element for each thread of the block, for as long as the kernel runs.
class Each {
 public:
  explicit Each(int count) : count_(count) {
    for (Chunk* each = chunks.first; each; each = each->next) each->used = 0;
  }
  template <typename T>
  T* take(bool value = false) {
    static_assert(std::is_trivially_copyable<T>::value, "kept in an array for each thread");
    void* memory = chunks.take(count_ * sizeof(T));
    if (value) memset(memory, 1, count_ * sizeof(T));
    return static_cast<T*>(memory);
  }

 private:
  int count_;
};

}  // namespace cynet_emulator

#if defined(__clang__)
#define CYNET_IVDEP _Pragma("clang loop vectorize(assume_safety)")
#else
#define CYNET_IVDEP _Pragma("GCC ivdep")
#endif

// Copies that no store of the kernel can change, and what the compiler may know of them: an index
// that is linear in threadIdx.x is so in 32 bits, too (module.py refuses larger launches).
#define CYNET_BLOCK_BEGIN                                                               \
  [[maybe_unused]] const uint3 blockIdx = ::blockIdx;                                   \
  [[maybe_unused]] const dim3 blockDim = ::blockDim, gridDim = ::gridDim;               \
  const int cynet_first = ::cynet_emulator::first_x, cynet_last = ::cynet_emulator::last_x; \
  if (blockDim.x - 1 > 1023 || blockDim.y - 1 > 1023 || blockDim.z - 1 > 63 ||          \
      cynet_first < 0 || cynet_last > 1024 || blockIdx.x * blockDim.x > 0x7ffffc00u ||  \
      blockIdx.y * blockDim.y > 0x7ffffc00u)                                            \
    __builtin_unreachable();
#define CYNET_EACH_BEGIN \
  ::cynet_emulator::Each cynet_each(static_cast<int>(blockDim.x * blockDim.y * blockDim.z));
#define CYNET_THREADS_BY(...)                                                                  \
  for (int cynet_z = 0; cynet_z < static_cast<int>(blockDim.z); ++cynet_z)                     \
    for (int cynet_y = 0; cynet_y < static_cast<int>(blockDim.y); ++cynet_y)                   \
      __VA_ARGS__ for (int cynet_x = cynet_first; cynet_x < cynet_last; ++cynet_x) {           \
        [[maybe_unused]] const uint3 threadIdx = {static_cast<unsigned>(cynet_x),              \
                                                  static_cast<unsigned>(cynet_y),              \
                                                  static_cast<unsigned>(cynet_z)};             \
        [[maybe_unused]] const int cynet_t =                                                   \
            (cynet_z * static_cast<int>(blockDim.y) + cynet_y) * static_cast<int>(blockDim.x) + \
            cynet_x;
// Of threads that have no memory of their own: their loop may be taken for independent.
#define CYNET_THREADS CYNET_THREADS_BY(CYNET_IVDEP)
#define CYNET_THREADS_ALONE CYNET_THREADS_BY()
#define CYNET_LIVE                     \
  if (!cynet_live[cynet_t]) continue;
#define CYNET_THREADS_END }

#endif
