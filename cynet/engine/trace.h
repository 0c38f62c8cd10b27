// The profiler's trace: a ring buffer of records for each thread, filled without the GIL.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <map>
#include <mutex>
#include <new>
#include <string>
#include <tuple>
#include <unordered_set>
#include <vector>
#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace cynet_trace {

// A traced event or span, of one cache line. Its texts are never freed (intern_text).
struct Record {  // a traced event or span
  int64_t begin, end;  // nanoseconds of the steady clock; equal for events
  const char* name;
  const char* node;  // name of the graph's node, or nullptr
  const char* category;
  int64_t value;  // bytes in use on the device, a counter's value, or an object's id
  int16_t dev_type, dev_id;
  int16_t kind;
  int16_t backward;
  int64_t unused;
};

struct RecordTotal {  // statistics of the durations or values of equal records
  int64_t count = 0, sum = 0, least = 0, maximum = 0;

  void add(int64_t value) {  // duration or value of one record
    least = count ? std::min(least, value) : value;
    maximum = count ? std::max(maximum, value) : value;
    sum += value;
    count += 1;
  }
};

// name, node, category, kind, backward
using Key = std::tuple<const char*, const char*, const char*, int, int>;  // of the sums of records

// The last records of one thread, and the sums of overwritten records.
struct RecordRing {  // the last records of one thread
  std::atomic<bool> held{false};
  std::vector<Record> records;
  uint64_t count = 0;  // records made
  uint64_t counted_from = 0;  // records before this one are not in the sums
  int64_t last = 0;  // end of the last record on a device
  std::map<Key, RecordTotal> folded;
  int64_t thread = 0;  // the system's id of the thread
  char label[48] = "";
  bool alive = true;

  void lock() {  // waits by spinning
    while (held.exchange(true, std::memory_order_acquire)) {
    }
  }
  void unlock() { held.store(false, std::memory_order_release); }
};

inline Key key_of(const Record& r) { return Key(r.name, r.node, r.category, r.kind, r.backward); }

// Returns the amount that is summed: a counter's value, else the duration.
inline int64_t summed_amount(const Record& r, int counter) {  // duration or a counter's value
  return r.kind == counter ? r.value : r.end - r.begin;
}

struct TraceState {  // of the process
  std::mutex guard;  // guards the list of rings and the texts
  std::vector<RecordRing*> rings;
  std::unordered_set<std::string> texts;  // interned texts; a set's elements keep their addresses
  std::atomic<size_t> capacity{size_t(1) << 16};
  std::atomic<int64_t> dropped{0};  // number of records dropped for want of memory
};

inline TraceState& state() {  // of the process
  static TraceState* s = new TraceState();  // never freed: threads may end after main does
  return *s;
}

struct ThreadSlot {  // a thread's ring and label
  RecordRing* ring = nullptr;
  bool over = false;
  char label[48] = "";
  ~ThreadSlot() {
    over = true;
    if (ring != nullptr) {
      std::lock_guard<std::mutex> held(state().guard);
      ring->alive = false;
      ring = nullptr;
    }
  }
};

inline ThreadSlot& thread_slot() {  // of the calling thread
  static thread_local ThreadSlot m;
  return m;
}

inline RecordRing* this_thread_ring() noexcept {
  ThreadSlot& m = thread_slot();
  if (m.ring != nullptr || m.over) return m.ring;
  try {
    RecordRing* ring = new RecordRing();
    try {
      ring->records.resize(state().capacity.load());
      std::lock_guard<std::mutex> held(state().guard);
      state().rings.push_back(ring);
    } catch (...) {
      delete ring;
      throw;
    }
#if defined(__linux__)
    ring->thread = static_cast<int64_t>(syscall(SYS_gettid));
#endif
    std::copy(m.label, m.label + sizeof(m.label), ring->label);
    m.ring = ring;
  } catch (...) {
    state().dropped.fetch_add(1);
  }
  return m.ring;
}

inline void append_record(const Record& record, int counter) noexcept {
  RecordRing* ring = this_thread_ring();
  if (ring == nullptr) return;
  ring->lock();
  Record& place = ring->records[ring->count % ring->records.size()];
  if (ring->count >= ring->records.size() + ring->counted_from) {
    try {
      ring->folded[key_of(place)].add(summed_amount(place, counter));
    } catch (...) {
      state().dropped.fetch_add(1);
    }
  }
  place = record;
  if (record.dev_type >= 0) ring->last = record.end;
  ring->count += 1;
  ring->unlock();
}

// Returns the end of the last record of this thread on a device; 0 if there is none.
inline int64_t last_device_end() noexcept {  // time, of a record
  ThreadSlot& m = thread_slot();
  return m.ring == nullptr ? 0 : m.ring->last;
}

inline void label_thread(const char* kind, int number) noexcept {
  ThreadSlot& m = thread_slot();
  std::snprintf(m.label, sizeof(m.label), "%s %d", kind, number);
}

// Returns a copy of the text that is never freed; nullptr if there is no memory.
inline const char* intern_text(const char* text) noexcept {
  try {
    std::lock_guard<std::mutex> held(state().guard);
    return state().texts.emplace(text).first->c_str();
  } catch (...) {
    return nullptr;
  }
}

inline void set_capacity(size_t n) { state().capacity.store(n); }  // records of a ring

// Drops all records, or only resets the sums.
inline void clear_records(bool all) {  // false: only their sums
  std::lock_guard<std::mutex> held(state().guard);
  std::vector<RecordRing*> live;
  for (RecordRing* ring : state().rings) {
    if (all && !ring->alive) {
      delete ring;
      continue;
    }
    ring->lock();
    ring->folded.clear();
    ring->counted_from = ring->count;
    if (all) {
      ring->count = ring->counted_from = 0;
      ring->records.resize(state().capacity.load());
    }
    ring->unlock();
    live.push_back(ring);
  }
  state().rings.swap(live);
  if (all) state().dropped.store(0);
}

struct ThreadRecords {  // a copy of one thread's ring
  int64_t thread;
  std::string label;
  uint64_t lost;  // records that were overwritten
  std::vector<Record> records;
};

inline void copy_records(std::vector<ThreadRecords>* out) {  // of each thread
  std::lock_guard<std::mutex> held(state().guard);
  for (RecordRing* ring : state().rings) {
    ThreadRecords thread;
    ring->lock();
    const size_t size = ring->records.size();
    thread.thread = ring->thread;
    thread.label = ring->label;
    thread.lost = ring->count > size ? ring->count - size : 0;
    for (uint64_t i = thread.lost; i < ring->count; ++i)
      thread.records.push_back(ring->records[i % size]);
    ring->unlock();
    out->push_back(std::move(thread));
  }
}

inline void read_totals(std::map<Key, RecordTotal>* out, int counter) {  // sums of all records
  std::lock_guard<std::mutex> held(state().guard);
  for (RecordRing* ring : state().rings) {
    ring->lock();
    for (const auto& each : ring->folded) {
      RecordTotal& total = (*out)[each.first];
      const RecordTotal& more = each.second;
      total.least = total.count ? std::min(total.least, more.least) : more.least;
      total.maximum = total.count ? std::max(total.maximum, more.maximum) : more.maximum;
      total.sum += more.sum;
      total.count += more.count;
    }
    const size_t size = ring->records.size();
    const uint64_t oldest = ring->count > size ? ring->count - size : 0;
    for (uint64_t i = std::max(oldest, ring->counted_from); i < ring->count; ++i) {
      const Record& record = ring->records[i % size];
      (*out)[key_of(record)].add(summed_amount(record, counter));
    }
    ring->unlock();
  }
}

inline int64_t dropped_records() { return state().dropped.load(); }  // for want of memory

// Fork handlers; the child begins without records.
inline void before_fork() { state().guard.lock(); }  // locks the list of rings
inline void after_fork_parent() { state().guard.unlock(); }  // unlocks the list of rings
inline void after_fork_child() {  // drops all rings
  state().rings.clear();  // the child has only this thread; others may have held a ring's lock
  thread_slot().ring = nullptr;
  state().guard.unlock();
}

}  // namespace cynet_trace
