// Host memory in blocks of whole pages: mapped as needed, split, merged with free neighbours,
// unmapped when unused for long. Not thread-safe: the pool holds its lock.
#pragma once
#include <cstddef>
#include <cstdint>

#include <atomic>
#include <cstdlib>
#include <thread>
// A spin lock, as it is held for tens of instructions only: a mutex would double the cost of a
// block. Yields, in case its holder has lost its core.
struct CynetSpinLock {  // lock that yields after some spins
  std::atomic<bool> taken{false};
  void lock() {
    for (int spins = 0; taken.exchange(true, std::memory_order_acquire); ++spins)
      if (spins >= 64) std::this_thread::yield();
  }
  void unlock() { taken.store(false, std::memory_order_release); }
};

#if defined(_WIN32)
// Windows cannot unmap a part of a mapping: the pool uses free lists for all sizes.
static const bool CYNET_HAS_ARENAS = false;
struct CynetArena {  // stand-in where arenas are not supported
  size_t free_bytes = 0, used = 0, peak = 0;
  uint64_t due = UINT64_MAX, patience = 0;
  void init(size_t, uint64_t, uint64_t, size_t) {}
  size_t size_class_bytes(size_t n) const { return n; }
  void* take_block(size_t, size_t*) { return nullptr; }
  void* map_block(size_t, size_t*, uint64_t, CynetSpinLock*) { return nullptr; }
  void return_block(void*) {}
  size_t excess_bytes(uint64_t) { return 0; }
  void* detach_blocks(size_t, bool) { return nullptr; }
  void unmap_blocks(void*, CynetSpinLock*) {}
};
#else
#include <sys/mman.h>

#if !defined(MAP_ANONYMOUS)
#define MAP_ANONYMOUS MAP_ANON
#endif
static const bool CYNET_HAS_ARENAS = true;

struct CynetArena {  // allocator of blocks in mapped pages
  struct Block {  // free or taken range of a mapping
    char* at;
    size_t size;
    Block* before;  // neighbours in memory, nullptr where the mapping ends
    Block* after;
    Block* next;  // next block in the list: free, detached or spare
    Block* previous;
    bool taken;
    bool stays;         // detached only to return its pages to the system
    uint32_t place[2];  // index in ends[0] and ends[1], if it is there
  };
  struct MappingEnds {  // blocks at one side of the mappings
    Block** list = nullptr;
    size_t n = 0, capacity = 0;
  };
  // Linux allows 65,530 mappings per process; beyond this number an arena makes no holes.
  static const size_t MAX_MAPPINGS = 1024;
  static const int STEPS = 32, LOWEST = 12, POWERS = 36;  // 32 size classes per doubling

  Block* lists[POWERS * STEPS] = {};
  uint32_t steps[POWERS] = {};  // bit s of power p: the list of this size class is not empty
  uint64_t powers = 0;          // bit p: a list of power p is not empty
  size_t grain = 0;             // sizes and addresses are multiples of it
  size_t used = 0, free_bytes = 0;
  Block* spare = nullptr;
  Block** table = nullptr;  // taken blocks by address: open addressing, linear probing
  size_t n_slots = 0, n_taken = 0;
  MappingEnds ends[2];  // [0] the first blocks of mappings, [1] the last ones
    // The bytes to keep: the maximum in use during the last `patience` allocations of the pool.
  size_t peak = 0;
  // If released memory is needed again within `soon` allocations, `patience` doubles, up to `soon`.
  uint64_t due = UINT64_MAX, patience = 0, base = 0, soon = 0, released_at = 0;
  // An arena of at most `least` bytes is never trimmed.
  size_t least = 0;
  bool released = false, came_back = false;

  // A start address far from other mappings, so that later mappings can follow directly: the
  // process's other mappings grow from the ends of the address space. Only a hint.
  char* home = nullptr;

  void init(size_t grain_, uint64_t patience_, uint64_t soon_, size_t least_) {  // sets its limits
    static std::atomic<unsigned> made{0};
    const uint64_t apart = (uint64_t)1 << 38, at = (16 + made++) * apart;
    if (sizeof(void*) == 8 && at < (uint64_t)1 << 46) home = (char*)(uintptr_t)at;
    grain = grain_, patience = base = patience_, soon = soon_, least = least_;
  }

  static int log2(size_t n) { return 63 - __builtin_clzll((unsigned long long)n); }
  // Returns the bytes of n's size class: at most 1/32 more than n, or a multiple of grain.
  size_t size_class_bytes(size_t n) const {
    const int e = log2(n - 1);
    size_t unit = (size_t)1 << (e - 5);
    if (unit < grain) unit = grain;
    return (n + unit - 1) & ~(unit - 1);
  }
  static int size_class_index(size_t size) {
    const int e = log2(size);
    return (e - LOWEST) * STEPS + (int)((size >> (e - 5)) & (STEPS - 1));
  }

  // Returns a free block of n bytes (a result of size_class_bytes()) or nullptr. Lock held.
  void* take_block(size_t n, size_t* got) {  // from the free lists; NULL: none is large enough
    const int index = size_class_index(n), power = index / STEPS;
    int found;
    uint32_t bits = steps[power] & (UINT32_MAX << (index % STEPS));
    if (bits) {
      found = power * STEPS + __builtin_ctz(bits);
    } else {
      const uint64_t above = powers & (UINT64_MAX << power << 1);
      if (!above) return nullptr;
      const int p = __builtin_ctzll(above);
      found = p * STEPS + __builtin_ctz(steps[p]);
    }
    if (!reserve_block_records()) return nullptr;
    Block* b = lists[found];
    remove_from_free_list(b);
    if (b->size > n) add_to_free_list(split_block(b, n));
    free_bytes -= b->size;
    return mark_block_taken(b, got);
  }

  // Returns n bytes of new memory, or nullptr if the system has none. Takes and drops the lock.
  void* map_block(size_t n, size_t* got, uint64_t clock, CynetSpinLock* lock) {
    Block* edge = nullptr;  // the largest free block at an end of a mapping
    lock->lock();
    if (!reserve_block_records()) return lock->unlock(), nullptr;
    char* end = home;
    for (const MappingEnds& side : ends)
      for (size_t i = 0; i < side.n; ++i) {
        Block* b = side.list[i];
        if (!b->taken && (!edge || b->size > edge->size)) edge = b;
        if (b->at + b->size > end) end = b->at + b->size;
      }
    if (edge && edge->size < n) {
      remove_from_free_list(edge);
      free_bytes -= edge->size;
      edge->taken = true;  // so no other thread merges it
    } else {
      edge = nullptr;
    }
    const size_t more = edge ? n - edge->size : n;
    char* below = edge && !edge->before ? edge->at - more : nullptr;
    char* above = edge && !edge->after ? edge->at + edge->size : nullptr;
    lock->unlock();
    char* at = above ? map_exactly_at(above, more) : nullptr;
    if (edge) {
      if (!at && below) at = map_exactly_at(below, more);
      if (!at) {
        lock->lock();
        free_block(edge);
        lock->unlock();
        edge = nullptr;
      }
    }
    if (!at && end) at = map_exactly_at(end, n);
    if (!at) at = map_anywhere(n);
    if (!at) return nullptr;
    lock->lock();
    Block* b = reserve_block_records() ? take_block_record(at, edge ? more : n) : nullptr;
    if (!b) {  // no memory for more records
      if (edge) free_block(edge);
      lock->unlock();
      munmap(at, edge ? more : n);
      return nullptr;
    }
    link_neighbours(b);
    if (released && clock - released_at <= soon) {
      if (patience < soon) patience *= 2;
      came_back = true;
      released = false;
    }
    if (due == UINT64_MAX) due = clock + patience;
    if (edge) {
      if (b->before == edge) b = edge;
      absorb_next(b);
    }
    void* out = mark_block_taken(b, got);
    lock->unlock();
    return out;
  }

  // Takes a block back. Lock held.
  void return_block(void* address) {  // frees a block
    Block* b = remove_from_table((char*)address);
    used -= b->size;
    free_block(b);
  }

  // Returns the number of bytes that were unused for long and should be released. Lock held.
  size_t excess_bytes(uint64_t clock) {  // bytes to return to the system
    if (clock < due) return 0;
    const size_t mapped = used + free_bytes, keep = peak;
    peak = used;
    due = mapped ? clock + patience : UINT64_MAX;
    if (mapped <= least || mapped <= keep || mapped - keep < mapped / 8) return 0;
    if (!came_back) patience = base;
    came_back = false;
    released = true;
    released_at = clock;
    return mapped - keep;
  }

  // Takes at most `bytes` of free memory out of the arena, the largest blocks first; returns a list
  // for unmap_blocks(). Where that would make one hole too many it ends, or, for `all`, blocks give
  // back their pages and stay. Lock held.
  void* detach_blocks(size_t bytes, bool all) {  // takes free blocks out, for unmap_blocks
    Block* out = nullptr;
    bytes = (bytes + grain - 1) & ~(grain - 1);
    while (powers && bytes >= grain && reserve_block_records()) {
      const int p = 63 - __builtin_clzll(powers);
      Block* b = lists[p * STEPS + 31 - __builtin_clz(steps[p])];
      const bool hole = b->after && (b->before || b->size > bytes);
      const bool stays = hole && ends[0].n >= MAX_MAPPINGS;
      if (stays && !all) break;
      remove_from_free_list(b);
      if (b->size > bytes) {  // only its upper end is detached
        Block* lower = b;
        b = split_block(lower, lower->size - bytes);
        add_to_free_list(lower);
      }
      if (!stays) unlink_neighbours(b);
      bytes -= b->size;
      free_bytes -= b->size;
      b->taken = true;
      b->stays = stays;
      b->next = out;
      out = b;
    }
    return out;
  }

  // Returns the memory of detach_blocks() to the system. Takes and drops the lock.
  void unmap_blocks(void* list, CynetSpinLock* lock) {  // blocks of detach_blocks
    for (Block* b = (Block*)list; b;) {
      Block* next = b->next;
      const bool gone = !b->stays && munmap(b->at, b->size) == 0;
      if (!gone) madvise(b->at, b->size, MADV_DONTNEED);
      lock->lock();
      if (gone) {
        free_block_record(b);
      } else if (b->stays) {
        free_block(b);
      } else {  // the process has its maximum number of mappings
        b->before = b->after = nullptr;
        if (reserve_block_records()) link_neighbours(b), free_block(b);
      }
      lock->unlock();
      b = next;
    }
  }

 private:
  // Reserves at least four records, so that splitting cannot fail, and space in the tables.
  // Returns false and changes nothing if the system has no memory for them.
  bool reserve_block_records() {  // for the next steps; false: no memory
    if (2 * (n_taken + 2) > n_slots && !grow_block_table()) return false;
    for (MappingEnds& side : ends) {
      if (side.n < side.capacity) continue;
      const size_t capacity = side.capacity ? 2 * side.capacity : 64;
      void* p = std::realloc(side.list, capacity * sizeof(Block*));
      if (!p) return false;
      side.list = (Block**)p;
      side.capacity = capacity;
    }
    Block* b = spare;
    for (int i = 0; i < 4; ++i, b = b->next) {
      if (b) continue;
      b = (Block*)std::calloc(64, sizeof(Block));  // never freed
      if (!b) return false;
      for (int j = 0; j < 63; ++j) b[j].next = b + j + 1;
      b[63].next = spare;
      spare = b;
      return true;
    }
    return true;
  }
  void free_block(Block* b) {
    free_bytes += b->size;
    b->taken = false;
    add_to_free_list(join_free_neighbours(b));
  }
  Block* take_block_record(char* at, size_t size) {  // from the spare ones
    Block* b = spare;
    spare = b->next;
    *b = {at, size, nullptr, nullptr, nullptr, nullptr, true, false, {0, 0}};
    return b;
  }
  void free_block_record(Block* b) {
    b->next = spare;
    spare = b;
  }
  void add_to_free_list(Block* b) {
    const int index = size_class_index(b->size);
    b->previous = nullptr;
    b->next = lists[index];
    if (b->next) b->next->previous = b;
    lists[index] = b;
    steps[index / STEPS] |= (uint32_t)1 << (index % STEPS);
    powers |= (uint64_t)1 << (index / STEPS);
  }
  void remove_from_free_list(Block* b) {
    const int index = size_class_index(b->size), power = index / STEPS;
    if (b->next) b->next->previous = b->previous;
    if (b->previous) {
      b->previous->next = b->next;
    } else if (!(lists[index] = b->next)) {
      steps[power] &= ~((uint32_t)1 << (index % STEPS));
      if (!steps[power]) powers &= ~((uint64_t)1 << power);
    }
  }
  // Shrinks b to its first n bytes; returns the remainder, free and in no list.
  Block* split_block(Block* b, size_t n) {
    Block* rest = take_block_record(b->at + n, b->size - n);
    rest->taken = false;
    rest->before = b;
    rest->after = b->after;
    if (b->after) b->after->before = rest;
    else replace_end(1, b, rest);
    b->after = rest;
    b->size = n;
    return rest;
  }
  void absorb_next(Block* b) {  // merges the next block into b
    Block* gone = b->after;
    b->size += gone->size;
    b->after = gone->after;
    if (b->after) b->after->before = b;
    else replace_end(1, gone, b);
    free_block_record(gone);
  }
  // Merges b with its free neighbours; b and the result are in no list.
  Block* join_free_neighbours(Block* b) {
    if (b->after && !b->after->taken) {
      remove_from_free_list(b->after);
      absorb_next(b);
    }
    if (b->before && !b->before->taken) {
      b = b->before;
      remove_from_free_list(b);
      absorb_next(b);
    }
    return b;
  }
  void add_mapping_end(int side, Block* b) {  // lists b as a first or last block
    b->place[side] = (uint32_t)ends[side].n;
    ends[side].list[ends[side].n++] = b;
  }
  void remove_mapping_end(int side, Block* b) {  // the opposite of add_mapping_end
    Block* last = ends[side].list[--ends[side].n];
    replace_end(side, last, b->place[side]);
  }
  void replace_end(int side, Block* old, Block* now) { replace_end(side, now, old->place[side]); }
  void replace_end(int side, Block* now, uint32_t place) {  // `now` takes that place
    now->place[side] = place;
    ends[side].list[place] = now;
  }
  void link_neighbours(Block* b) {  // links a new mapping's block to its neighbours
    Block *before = nullptr, *after = nullptr;
    for (size_t i = 0; i < ends[1].n; ++i)
      if (ends[1].list[i]->at + ends[1].list[i]->size == b->at) before = ends[1].list[i];
    for (size_t i = 0; i < ends[0].n; ++i)
      if (ends[0].list[i]->at == b->at + b->size) after = ends[0].list[i];
    b->before = before;
    b->after = after;
    if (before) {
      remove_mapping_end(1, before);
      before->after = b;
    } else {
      add_mapping_end(0, b);
    }
    if (after) {
      remove_mapping_end(0, after);
      after->before = b;
    } else {
      add_mapping_end(1, b);
    }
  }
  void unlink_neighbours(Block* b) {  // the opposite
    if (b->before) {
      b->before->after = nullptr;
      add_mapping_end(1, b->before);
    } else {
      remove_mapping_end(0, b);
    }
    if (b->after) {
      b->after->before = nullptr;
      add_mapping_end(0, b->after);
    } else {
      remove_mapping_end(1, b);
    }
  }

  void* mark_block_taken(Block* b, size_t* got) {
    b->taken = true;
    size_t i = block_table_slot(b->at);
    while (table[i]) i = (i + 1) & (n_slots - 1);
    table[i] = b;
    ++n_taken;
    used += b->size;
    if (used > peak) peak = used;
    *got = b->size;
    return b->at;
  }
  size_t block_table_slot(char* at) const {  // index of the first slot to try
    return ((uint64_t)((uintptr_t)at / grain) * 0x9E3779B97F4A7C15u >> 32) & (n_slots - 1);
  }
  Block* remove_from_table(char* at) {
    const size_t mask = n_slots - 1;
    size_t i = block_table_slot(at);
    while (table[i]->at != at) i = (i + 1) & mask;
    Block* b = table[i];
    for (size_t j = i;;) {  // move later entries up, so that no search ends early
      j = (j + 1) & mask;
      if (!table[j]) break;
      if (((j - block_table_slot(table[j]->at)) & mask) < ((j - i) & mask)) continue;
      table[i] = table[j];
      i = j;
    }
    table[i] = nullptr;
    --n_taken;
    return b;
  }
  bool grow_block_table() {
    const size_t n_old = n_slots, n = n_old ? 2 * n_old : 64;
    Block** old = table;
    Block** fresh = (Block**)std::calloc(n, sizeof(Block*));
    if (!fresh) return false;
    table = fresh;
    n_slots = n;
    for (size_t j = 0; j < n_old; ++j) {
      if (!old[j]) continue;
      size_t i = block_table_slot(old[j]->at);
      while (table[i]) i = (i + 1) & (n - 1);
      table[i] = old[j];
    }
    std::free(old);
    return true;
  }

  bool uses_huge_pages() const { return grain >= (size_t)2 << 20; }
  char* map_pages(char* wish, size_t n) const {  // at `wish` if it is free
    void* p = mmap(wish, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return p == MAP_FAILED ? nullptr : (char*)p;
  }
  char* advise_huge_pages(char* p, size_t n) const {
#ifdef MADV_HUGEPAGE
    if (uses_huge_pages()) madvise(p, n, MADV_HUGEPAGE);
#endif
    return p;
  }
  char* map_exactly_at(char* wish, size_t n) const {
    char* p = map_pages(wish, n);
    if (p == wish) return advise_huge_pages(p, n);
    if (p) munmap(p, n);
    return nullptr;
  }
  char* map_anywhere(size_t n) const {
    if (!uses_huge_pages()) return map_pages(nullptr, n);
    char* p = map_pages(nullptr, n + grain);
    if (!p) return nullptr;
    const size_t skip = (grain - (uintptr_t)p % grain) % grain;
    if (skip) munmap(p, skip);
    munmap(p + skip + n, grain - skip);
    return advise_huge_pages(p + skip, n);
  }
};
#endif
