// Groups of threads: the block, tiles of a warp, and sums over them.
#ifndef CYNET_COOPERATIVE_GROUPS_H
#define CYNET_COOPERATIVE_GROUPS_H

namespace cooperative_groups {

// `line` is the source line of the call.
class thread_block {
 public:
  void sync(int line = __builtin_LINE()) const { ::cynet_emulator::barrier(line); }
  static unsigned thread_rank() {
    return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  }
  static unsigned size() { return blockDim.x * blockDim.y * blockDim.z; }
  static unsigned num_threads() { return size(); }
  static dim3 thread_index() { return threadIdx; }
  static dim3 group_index() { return blockIdx; }
  static dim3 dim_threads() { return blockDim; }
  static dim3 group_dim() { return blockDim; }
};
static inline thread_block this_thread_block() { return thread_block(); }

// `Size` neighbours within a warp.
template <unsigned Size>
class thread_block_tile {
  static_assert(Size >= 1 && Size <= 32 && (Size & (Size - 1)) == 0,
                "a tile has 1, 2, 4, 8, 16 or 32 threads on the CPU");

 public:
  static unsigned thread_rank() { return thread_block::thread_rank() % Size; }
  static constexpr unsigned size() { return Size; }
  static constexpr unsigned num_threads() { return Size; }
  static unsigned meta_group_rank() { return thread_block::thread_rank() / Size; }
  static unsigned meta_group_size() { return (thread_block::size() + Size - 1) / Size; }
  void sync(int line = __builtin_LINE()) const { ::cynet_emulator::sync_warp(line, tile_mask()); }
  template <typename T>
  T shfl(T value, int source, int line = __builtin_LINE()) const {
    return ::cynet_emulator::shuffle(line, tile_mask(), value, source, Size);
  }
  template <typename T>
  T shfl_up(T value, unsigned delta, int line = __builtin_LINE()) const {
    return ::cynet_emulator::shuffle_up(line, tile_mask(), value, delta, Size);
  }
  template <typename T>
  T shfl_down(T value, unsigned delta, int line = __builtin_LINE()) const {
    return ::cynet_emulator::shuffle_down(line, tile_mask(), value, delta, Size);
  }
  template <typename T>
  T shfl_xor(T value, int flip, int line = __builtin_LINE()) const {
    return ::cynet_emulator::shuffle_xor(line, tile_mask(), value, flip, Size);
  }
  int any(int predicate, int line = __builtin_LINE()) const {
    return ::cynet_emulator::any(line, tile_mask(), predicate);
  }
  int all(int predicate, int line = __builtin_LINE()) const {
    return (~ballot(predicate, line) & (tile_mask() >> first_lane() & lane_mask())) == 0;
  }
  unsigned ballot(int predicate, int line = __builtin_LINE()) const {
    return ::cynet_emulator::ballot(line, tile_mask(), predicate) >> first_lane() & lane_mask();
  }

 private:
  static unsigned lane_mask() { return Size == 32 ? ~0u : (1u << (Size & 31)) - 1; }
  static unsigned first_lane() { return ::cynet_emulator::lane_index() & ~(Size - 1); }
  static unsigned tile_mask() { return lane_mask() << first_lane(); }
};
template <unsigned Size>
static inline thread_block_tile<Size> tiled_partition(const thread_block&) {
  return thread_block_tile<Size>();
}

template <typename G>
static inline void sync(const G& group, int line = __builtin_LINE()) {
  group.sync(line);
}

template <typename T>
struct plus {
  T operator()(T a, T b) const { return a + b; }
};
template <typename T>
struct less {
  T operator()(T a, T b) const { return b < a ? b : a; }
};
template <typename T>
struct greater {
  T operator()(T a, T b) const { return a < b ? b : a; }
};
// The reduction of a tile's values; every thread of the tile gets the result.
template <unsigned Size, typename T, typename F>
static inline T reduce(const thread_block_tile<Size>& tile, T value, F join,
                       int line = __builtin_LINE()) {
  for (unsigned flip = Size / 2; flip > 0; flip /= 2)
    value = join(value, tile.shfl_xor(value, static_cast<int>(flip), line));
  return value;
}

}  // namespace cooperative_groups

#endif
