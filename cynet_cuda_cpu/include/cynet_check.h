// The checking mode: every access to memory is checked here first.
//
// The compiler calls these functions before each load and store (the calls of its address
// sanitizer, without its runtime), registers each global variable, shared arrays among them, with a
// red zone behind it, and calls a function where an index leaves an array of known size. Array
// arguments are copies with space around them.
#ifndef CYNET_CHECK_H
#define CYNET_CHECK_H

#if CYNET_CHECKED

namespace cynet_emulator {

// A record of a global variable that the compiler registers (the layout is the compiler's).
struct GlobalRecord {  // a global variable, as AddressSanitizer registers it
  uintptr_t begin, size, size_with_red_zone;
  const char* name;
  const char* module;
  uintptr_t has_initializer;
  void* location;
  uintptr_t odr;
};
struct GlobalRecords {  // globals of one module
  GlobalRecord* list;
  size_t count;
};
enum { kMaxGlobals = 64 };
static GlobalRecords globals[kMaxGlobals];
static int global_lists = 0;

// An array argument: [begin, end) in the copy that the kernel gets.
struct ArgumentRange {  // memory of an array argument
  uintptr_t begin, end;
  int argument;
};
static ArgumentRange* ranges = nullptr;
static int range_count = 0;
static char* dynamic_begin = nullptr;
static size_t dynamic_size = 0;

#define CYNET_UNCHECKED __attribute__((no_sanitize("kernel-address"), noinline))  // no checks

CYNET_UNCHECKED static void report_bad_access(uintptr_t at, size_t size, bool write, void* caller,
                                              uintptr_t begin, uintptr_t bytes, int argument,
                                              const char* name) {
  note_failure(block, block->running->thread, kOutOfBounds, 0, "%s", name);
  Failure* failure = block->failure;
  failure->caller = reinterpret_cast<uintptr_t>(caller) - reinterpret_cast<uintptr_t>(__ehdr_start);
  failure->offset = static_cast<int64_t>(at - begin);
  failure->size = static_cast<int64_t>(bytes);
  failure->access = static_cast<int32_t>(size);
  failure->write = write;
  failure->argument = argument;
  stop();
}

CYNET_UNCHECKED static void check(uintptr_t at, size_t size, bool write, void* caller) {  // access
  if (!checking) return;
  for (int i = 0; i < range_count; ++i)
    if (at >= ranges[i].begin && at + size <= ranges[i].end) return;
  const uintptr_t stack = reinterpret_cast<uintptr_t>(block->running->stack);
  if (at >= stack && at < stack + kStackBytes) return;
  const uintptr_t dynamic = reinterpret_cast<uintptr_t>(dynamic_begin);
  if (dynamic_size && at >= dynamic && at + size <= dynamic + dynamic_size) return;
  set_checking(false);
  for (int i = 0; i < global_lists; ++i)
    for (size_t k = 0; k < globals[i].count; ++k) {
      const GlobalRecord& g = globals[i].list[k];
      if (at + size <= g.begin || at >= g.begin + g.size_with_red_zone) continue;
      if (at >= g.begin && at + size <= g.begin + g.size) {
        set_checking(true);
        return;
      }
      report_bad_access(at, size, write, caller, g.begin, g.size, -1, g.name);
    }
  // other parts of the object: tables of constants, this thread's threadIdx
  const uintptr_t image = reinterpret_cast<uintptr_t>(__ehdr_start);
  if (at >= image && at < reinterpret_cast<uintptr_t>(_end)) {
    set_checking(true);
    return;
  }
  if (at < kNullBytes) {
    note_failure(block, block->running->thread, kFault, 0, "%s", "");
    block->failure->access = kNull;
    block->failure->caller =
        reinterpret_cast<uintptr_t>(caller) - reinterpret_cast<uintptr_t>(__ehdr_start);
    stop();
  }
  // the nearest array is reported
  uintptr_t best = ~static_cast<uintptr_t>(0), begin = 0, bytes = 0;
  int argument = -1;
  for (int i = 0; i <= range_count; ++i) {
    const bool dynamics = i == range_count;
    if (dynamics && !dynamic_begin) continue;
    const uintptr_t from = dynamics ? dynamic : ranges[i].begin;
    const uintptr_t to = dynamics ? dynamic + dynamic_size : ranges[i].end;
    const uintptr_t distance = at < from ? from - at : at - to;
    if (distance >= best) continue;
    best = distance, begin = from, bytes = to - from;
    argument = dynamics ? -1 : ranges[i].argument;
  }
  report_bad_access(at, size, write, caller, begin, bytes, argument, "dynamic shared memory");
}

struct SourceLocation {  // as UBSan has it
  const char* file;
  uint32_t line, column;
};
struct IndexData {  // UBSan's report of a bad index
  SourceLocation where;
  struct TypeDescriptor {  // UBSan's type of an array or index
    uint16_t kind, info;
    char name[1];
  }* array;
  TypeDescriptor* index;
};

CYNET_UNCHECKED static void report_bad_index(void* data, void* index) {
  if (!checking) return;
  set_checking(false);
  const IndexData* found = static_cast<IndexData*>(data);
  note_failure(block, block->running->thread, kIndex, found->where.line, "%s", found->array->name);
  // the index is a word, sign extended or not by its type: (bits << 1 | signed) in info
  const int bits = 1 << (found->index->info >> 1);
  int64_t value = reinterpret_cast<intptr_t>(index);
  if (bits < 64 && (found->index->info & 1)) value = value << (64 - bits) >> (64 - bits);
  block->failure->offset = value;
  stop();
}

}  // namespace cynet_emulator

extern "C" {
#define CYNET_ASAN_HOOK(name, size, write)                                                  \
  __attribute__((visibility("hidden"))) CYNET_UNCHECKED void __asan_##name##size##_noabort( \
      void* at) {                                                                           \
    cynet_emulator::check(reinterpret_cast<uintptr_t>(at), size, write,                     \
                          __builtin_return_address(0));                                     \
  }
#define CYNET_ASAN_HOOKS(size) CYNET_ASAN_HOOK(load, size, false) CYNET_ASAN_HOOK(store, size, true)
CYNET_ASAN_HOOKS(1)
CYNET_ASAN_HOOKS(2)
CYNET_ASAN_HOOKS(4)
CYNET_ASAN_HOOKS(8)
CYNET_ASAN_HOOKS(16)
#undef CYNET_ASAN_HOOK
#undef CYNET_ASAN_HOOKS
#define CYNET_HIDDEN __attribute__((visibility("hidden"))) CYNET_UNCHECKED  // for sanitizers
CYNET_HIDDEN void __asan_loadN_noabort(void* at, long size) {
  cynet_emulator::check(reinterpret_cast<uintptr_t>(at), size, false, __builtin_return_address(0));
}
CYNET_HIDDEN void __asan_storeN_noabort(void* at, long size) {
  cynet_emulator::check(reinterpret_cast<uintptr_t>(at), size, true, __builtin_return_address(0));
}
CYNET_HIDDEN void __asan_handle_no_return() {}
CYNET_HIDDEN void __asan_register_globals(void* list, long count) {
  using namespace cynet_emulator;
  if (global_lists < kMaxGlobals)
    globals[global_lists++] = {static_cast<GlobalRecord*>(list), static_cast<size_t>(count)};
}
CYNET_HIDDEN void __asan_unregister_globals(void*, long) {}
CYNET_HIDDEN void __ubsan_handle_out_of_bounds(void* data, void* index) {
  cynet_emulator::report_bad_index(data, index);
}
CYNET_HIDDEN void __ubsan_handle_out_of_bounds_abort(void* data, void* index) {
  cynet_emulator::report_bad_index(data, index);
}
#undef CYNET_HIDDEN
}

#endif  // CYNET_CHECKED
#endif
