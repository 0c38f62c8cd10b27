// The simulated GPUs: streams that are threads, events, memory that is the host's.
#pragma once
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

typedef int Result;
enum {
  kSuccess = 0,
  kInvalidValue = 1,
  kOutOfMemory = 2,
  kNoDevice = 100,
  kInvalidDevice = 101,
  kInvalidImage = 200,
  kInvalidContext = 201,
  kInvalidHandle = 400,
  kNotFound = 500,
  kNotReady = 600,
  kIllegalAddress = 700,
  kTooManyResources = 701,
  kLaunchFailed = 719,
  kNotSupported = 801,
  kCaptureUnsupported = 900,
  kCaptureUnjoined = 904
};

typedef std::function<Result()> Work;

struct Event {
  // Counts records; `done` is the last one that was reached.
  std::mutex guard;
  std::condition_variable wake;
  uint64_t recorded = 0, done = 0;

  uint64_t record() {
    std::lock_guard<std::mutex> lock(guard);
    return ++recorded;
  }
  void reach(uint64_t number) {
    std::lock_guard<std::mutex> lock(guard);
    if (number > done) done = number;
    wake.notify_all();
  }
  uint64_t last() {
    std::lock_guard<std::mutex> lock(guard);
    return recorded;
  }
  void wait(uint64_t number) {
    std::unique_lock<std::mutex> lock(guard);
    wake.wait(lock, [&] { return done >= number; });
  }
};

typedef std::shared_ptr<Event> EventPointer;

struct Context;

struct Graph {
  std::vector<Work> work;
};

// A thread that does what is put on it, in order and late.
struct Stream {
  Context* context;
  std::mutex guard;
  std::condition_variable wake, idle;
  std::deque<Work> queue;
  bool busy = false, ending = false;
  Graph* capturing = nullptr;
  std::thread thread;

  explicit Stream(Context* owner);
  ~Stream();
  Result put(Work work);
  Result wait();
  void run();
};

struct Context {
  int device;
  std::mutex guard;
  std::vector<Stream*> streams;
  std::atomic<int> failed{0};  // sticks, as on a device
  Stream* null_stream = nullptr;

  void wait_all();
};

struct Machine {
  std::mutex guard;
  int count;
  size_t total, used[16] = {};
  std::map<uintptr_t, std::pair<size_t, int>> blocks;  // address -> (bytes, device)
  Context contexts[16];
  int delay_us;

  Machine();
  // True when all n bytes belong to one allocation.
  bool holds(uintptr_t address, size_t n);
};

Machine& machine();
Context* current();
Stream* stream_of(void* handle);
