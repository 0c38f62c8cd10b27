// The pools' interface to the operating system: memory, its size, fork handlers.
#pragma once
#include <cstddef>
#include <cstdlib>
#if defined(_WIN32)
#include <malloc.h>
#include <windows.h>
static inline void* cynet_host_alloc(size_t n) { return _aligned_malloc(n, 64); }
static inline void cynet_host_free(void* p) { _aligned_free(p); }
static inline void cynet_host_memory_sizes(size_t* available, size_t* total) {
  MEMORYSTATUSEX s;
  s.dwLength = sizeof(s);
  GlobalMemoryStatusEx(&s);
  *available = (size_t)s.ullAvailPhys;
  *total = (size_t)s.ullTotalPhys;
}
static inline size_t cynet_page_bytes() { return 4096; }
static inline void cynet_at_fork(void (*)(), void (*)(), void (*)()) {}
#else
#include <pthread.h>
#include <unistd.h>
static inline void* cynet_host_alloc(size_t n) {
  void* p = nullptr;
  return posix_memalign(&p, 64, n) == 0 ? p : nullptr;
}
static inline size_t cynet_page_bytes() { return (size_t)sysconf(_SC_PAGESIZE); }
static inline void cynet_host_free(void* p) { std::free(p); }
static inline void cynet_host_memory_sizes(size_t* available, size_t* total) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  *total = (size_t)sysconf(_SC_PHYS_PAGES) * page;
#ifdef _SC_AVPHYS_PAGES
  *available = (size_t)sysconf(_SC_AVPHYS_PAGES) * page;
#else
  *available = *total;
#endif
}
static inline void cynet_at_fork(void (*before)(), void (*parent)(), void (*child)()) {
  pthread_atfork(before, parent, child);
}
#endif
#if defined(__SANITIZE_ADDRESS__)
// Under AddressSanitizer memory is not reused, and access behind the requested bytes is an error.
#include <sanitizer/asan_interface.h>
#define CYNET_REUSES_MEMORY 0  // freed blocks go back to the system
static inline void cynet_poison_unused(void* p, size_t used, size_t capacity) {  // for sanitizers
  ASAN_UNPOISON_MEMORY_REGION(p, used);
  ASAN_POISON_MEMORY_REGION((char*)p + used, capacity - used);
}
#else
#define CYNET_REUSES_MEMORY 1  // freed blocks are taken again
static inline void cynet_poison_unused(void*, size_t, size_t) {}
#endif
#if defined(_MSC_VER)
#include <intrin.h>
static inline int cynet_log2(size_t n) {
  unsigned long i;
  _BitScanReverse64(&i, n);
  return (int)i;
}
#else
static inline int cynet_log2(size_t n) { return 63 - __builtin_clzll((unsigned long long)n); }
#endif
