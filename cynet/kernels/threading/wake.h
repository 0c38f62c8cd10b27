// Lets threads sleep until a word of memory changes: futexes on Linux.
#ifndef CYNET_WAKE_H
#define CYNET_WAKE_H

#include <atomic>
#include <cstdint>

#if defined(__linux__)
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>
#else
#include <condition_variable>
#include <mutex>
#endif

namespace cynet {

#if defined(__linux__)

// Sleeps while the word has this value; may wake spuriously.
static inline void sleep_while(std::atomic<uint32_t>* word, uint32_t value) {
  syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, nullptr, nullptr, 0);
}

// Wakes at most this many threads that sleep on the word, after it has changed.
static inline void wake_sleepers(std::atomic<uint32_t>* word, int maximum) {
  syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, maximum, nullptr, nullptr, 0);
}

#else

static std::mutex sleep_guard;
static std::condition_variable sleep_end;

static inline void sleep_while(std::atomic<uint32_t>* word, uint32_t value) {
  std::unique_lock<std::mutex> lock(sleep_guard);
  if (word->load() == value) sleep_end.wait(lock);
}

static inline void wake_sleepers(std::atomic<uint32_t>*, int) {
  std::lock_guard<std::mutex> lock(sleep_guard);
  sleep_end.notify_all();
}

#endif

}  // namespace cynet

#endif
