// A simulated libcuda.so.1: GPUs whose memory is the host's and whose streams are threads that
// begin late, so that a missing dependency shows. Set by the environment:
//   CYNET_SIMULATED_GPUS       how many (default 2)
//   CYNET_SIMULATED_MEMORY_MB  bytes of each, in MiB (default 512)
//   CYNET_SIMULATED_DELAY_US   how long a stream sleeps before each piece of work (default 20)
#include "machine.h"

#include <chrono>
#include <unistd.h>

#define DOOR extern "C" __attribute__((visibility("default")))

static long setting(const char* name, long otherwise) {
  const char* text = getenv(name);
  return text ? atol(text) : otherwise;
}

Machine::Machine()
    : count(setting("CYNET_SIMULATED_GPUS", 2)),
      total((size_t)setting("CYNET_SIMULATED_MEMORY_MB", 512) << 20),
      delay_us(setting("CYNET_SIMULATED_DELAY_US", 20)) {
  for (int i = 0; i < 16; ++i) contexts[i].device = i;
}

bool Machine::holds(uintptr_t address, size_t n) {
  std::lock_guard<std::mutex> lock(guard);
  auto after = blocks.upper_bound(address);
  if (after == blocks.begin()) return false;
  --after;
  return address + n <= after->first + after->second.first;
}

Machine& machine() {
  static Machine* one = new Machine();  // for ever: threads may look while the process ends
  return *one;
}

static thread_local std::vector<Context*> stack;
Context* current() { return stack.empty() ? nullptr : stack.back(); }

// ----- streams
Stream::Stream(Context* owner) : context(owner), thread([this] { run(); }) {
  std::lock_guard<std::mutex> lock(owner->guard);
  owner->streams.push_back(this);
}

Stream::~Stream() {
  {
    std::lock_guard<std::mutex> lock(guard);
    ending = true;
    wake.notify_all();
  }
  thread.join();
}

Result Stream::put(Work work) {
  if (capturing) {
    capturing->work.push_back(work);
    return kSuccess;
  }
  if (context->failed) return context->failed;
  std::lock_guard<std::mutex> lock(guard);
  queue.push_back(work);
  wake.notify_one();
  return kSuccess;
}

Result Stream::wait() {
  if (capturing) return kCaptureUnsupported;
  std::unique_lock<std::mutex> lock(guard);
  idle.wait(lock, [this] { return queue.empty() && !busy; });
  return context->failed;
}

void Stream::run() {
  std::unique_lock<std::mutex> lock(guard);
  while (true) {
    wake.wait(lock, [this] { return ending || !queue.empty(); });
    if (queue.empty()) return;
    Work work = queue.front();
    queue.pop_front();
    busy = true;
    lock.unlock();
    if (machine().delay_us) usleep(machine().delay_us);
    const Result code = work();
    if (code) context->failed = code;
    lock.lock();
    busy = false;
    if (queue.empty()) idle.notify_all();
  }
}

void Context::wait_all() {
  std::vector<Stream*> all;
  {
    std::lock_guard<std::mutex> lock(guard);
    all = streams;
  }
  for (Stream* each : all) each->wait();
}

Stream* stream_of(void* handle) {
  if (handle) return (Stream*)handle;
  Context* context = current();
  if (!context->null_stream) context->null_stream = new Stream(context);
  return context->null_stream;
}

DOOR Result cuStreamCreate(void** out, unsigned) {
  if (!current()) return kInvalidContext;
  *out = new Stream(current());
  return kSuccess;
}
DOOR Result cuStreamDestroy_v2(void* handle) {
  Stream* stream = (Stream*)handle;
  stream->wait();
  {
    std::lock_guard<std::mutex> lock(stream->context->guard);
    auto& all = stream->context->streams;
    for (size_t i = 0; i < all.size(); ++i)
      if (all[i] == stream) all.erase(all.begin() + i--);
  }
  delete stream;
  return kSuccess;
}
DOOR Result cuStreamSynchronize(void* handle) { return stream_of(handle)->wait(); }
DOOR Result cuStreamIsCapturing(void* handle, int* out) {
  return *out = stream_of(handle)->capturing != nullptr, kSuccess;
}
DOOR Result cuLaunchHostFunc(void* handle, void (*function)(void*), void* argument) {
  return stream_of(handle)->put([=] { return function(argument), kSuccess; });
}
DOOR Result cuStreamQuery(void* handle) {
  Stream* stream = stream_of(handle);
  std::lock_guard<std::mutex> lock(stream->guard);
  return stream->queue.empty() && !stream->busy ? kSuccess : kNotReady;
}

// ----- events
DOOR Result cuEventCreate(void** out, unsigned) {
  if (!current()) return kInvalidContext;
  *out = new EventPointer(std::make_shared<Event>());
  return kSuccess;
}
DOOR Result cuEventDestroy_v2(void* handle) {
  delete (EventPointer*)handle;
  return kSuccess;
}
DOOR Result cuEventRecord(void* handle, void* stream) {
  EventPointer event = *(EventPointer*)handle;
  const uint64_t number = event->record();
  Stream* to = stream_of(stream);
  const Result code = to->put([event, number] {
    event->reach(number);
    return kSuccess;
  });
  if (code) event->reach(number);
  return code;
}
DOOR Result cuEventSynchronize(void* handle) {
  EventPointer event = *(EventPointer*)handle;
  event->wait(event->last());
  return current() ? (Result)current()->failed : kSuccess;
}
DOOR Result cuEventQuery(void* handle) {
  EventPointer event = *(EventPointer*)handle;
  std::lock_guard<std::mutex> lock(event->guard);
  return event->done >= event->recorded ? kSuccess : kNotReady;
}
DOOR Result cuStreamWaitEvent(void* stream, void* handle, unsigned) {
  EventPointer event = *(EventPointer*)handle;
  const uint64_t number = event->last();
  return stream_of(stream)->put([event, number] {
    event->wait(number);
    return kSuccess;
  });
}

// ----- devices and contexts
DOOR Result cuInit(unsigned) { return machine().count > 0 ? kSuccess : kNoDevice; }
DOOR Result cuDriverGetVersion(int* out) { return *out = 13000, kSuccess; }
DOOR Result cuDeviceGetCount(int* out) { return *out = machine().count, kSuccess; }
DOOR Result cuDeviceGet(int* out, int i) {
  if (i < 0 || i >= machine().count) return kInvalidDevice;
  return *out = i, kSuccess;
}
DOOR Result cuDeviceGetName(char* out, int n, int) {
  return snprintf(out, n, "a simulated GPU"), kSuccess;
}
DOOR Result cuDeviceTotalMem_v2(size_t* out, int) { return *out = machine().total, kSuccess; }
DOOR Result cuDeviceComputeCapability(int* major, int* minor, int) {
  return *major = 8, *minor = 0, kSuccess;
}
DOOR Result cuDeviceGetAttribute(int* out, int attribute, int) {
  switch (attribute) {
    case 1:
    case 2:
    case 3: *out = 1024; break;  // threads of a block; of its axes
    case 4: *out = 64; break;
    case 5: *out = 2147483647; break;            // axes of a grid
    case 6:
    case 7: *out = 65535; break;
    case 8:
    case 97: *out = 49152; break;        // shared memory of a block
    case 10: *out = 32; break;                   // a warp
    case 16: *out = 4; break;                    // multiprocessors
    case 75: *out = 8; break;                    // compute capability
    case 76: *out = 0; break;
    default: *out = 0;
  }
  return kSuccess;
}
DOOR Result cuDeviceCanAccessPeer(int* out, int, int) { return *out = 1, kSuccess; }
DOOR Result cuDevicePrimaryCtxRetain(void** out, int i) {
  return *out = &machine().contexts[i], kSuccess;
}
DOOR Result cuDevicePrimaryCtxRelease_v2(int) { return kSuccess; }
DOOR Result cuCtxPushCurrent_v2(void* context) {
  stack.push_back((Context*)context);
  return kSuccess;
}
DOOR Result cuCtxPopCurrent_v2(void** out) {
  if (stack.empty()) return kInvalidContext;
  if (out) *out = stack.back();
  stack.pop_back();
  return kSuccess;
}
DOOR Result cuCtxSetCurrent(void* context) {
  if (stack.empty()) stack.push_back(nullptr);
  stack.back() = (Context*)context;
  return kSuccess;
}
DOOR Result cuCtxGetCurrent(void** out) { return *out = current(), kSuccess; }
DOOR Result cuCtxGetDevice(int* out) {
  if (!current()) return kInvalidContext;
  return *out = current()->device, kSuccess;
}
DOOR Result cuCtxGetApiVersion(void*, unsigned* out) { return *out = 13000, kSuccess; }
DOOR Result cuCtxSynchronize() {
  if (!current()) return kInvalidContext;
  current()->wait_all();
  return current()->failed;
}

// ----- memory
DOOR Result cuMemAlloc_v2(uintptr_t* out, size_t n) {
  if (!current()) return kInvalidContext;
  Machine& all = machine();
  const int device = current()->device;
  std::lock_guard<std::mutex> lock(all.guard);
  if (all.used[device] + n > all.total) return kOutOfMemory;
  void* block = aligned_alloc(256, (n + 255) / 256 * 256);
  if (!block) return kOutOfMemory;
  memset(block, 0xa5, n);  // what was never written is seen
  all.used[device] += n;
  all.blocks[(uintptr_t)block] = {n, device};
  *out = (uintptr_t)block;
  return kSuccess;
}
DOOR Result cuMemFree_v2(uintptr_t address) {
  Machine& all = machine();
  int device;
  {
    std::lock_guard<std::mutex> lock(all.guard);
    auto found = all.blocks.find(address);
    if (found == all.blocks.end()) return kInvalidValue;
    device = found->second.second;
  }
  all.contexts[device].wait_all();
  std::lock_guard<std::mutex> lock(all.guard);
  auto found = all.blocks.find(address);
  all.used[device] -= found->second.first;
  memset((void*)address, 0x5a, found->second.first);
  free((void*)address);
  all.blocks.erase(found);
  return kSuccess;
}
DOOR Result cuMemGetInfo_v2(size_t* available, size_t* total) {
  if (!current()) return kInvalidContext;
  Machine& all = machine();
  std::lock_guard<std::mutex> lock(all.guard);
  *total = all.total;
  *available = all.total - all.used[current()->device];
  return kSuccess;
}
DOOR Result cuMemHostAlloc(void** out, size_t n, unsigned) {
  *out = aligned_alloc(4096, (n + 4095) / 4096 * 4096);
  return *out ? kSuccess : kOutOfMemory;
}
DOOR Result cuMemFreeHost(void* block) {
  for (int i = 0; i < machine().count; ++i) machine().contexts[i].wait_all();
  return free(block), kSuccess;
}

static Result copy(void* to, const void* from, size_t n, bool to_gpu, bool from_gpu, void* stream) {
  if (!current()) return kInvalidContext;
  return stream_of(stream)->put([=]() -> Result {
    if (to_gpu && !machine().holds((uintptr_t)to, n)) return kIllegalAddress;
    if (from_gpu && !machine().holds((uintptr_t)from, n)) return kIllegalAddress;
    memcpy(to, from, n);
    return kSuccess;
  });
}
DOOR Result cuMemcpyHtoDAsync_v2(uintptr_t to, const void* from, size_t n, void* stream) {
  return copy((void*)to, from, n, true, false, stream);
}
DOOR Result cuMemcpyDtoHAsync_v2(void* to, uintptr_t from, size_t n, void* stream) {
  return copy(to, (void*)from, n, false, true, stream);
}
DOOR Result cuMemcpyDtoDAsync_v2(uintptr_t to, uintptr_t from, size_t n, void* stream) {
  return copy((void*)to, (void*)from, n, true, true, stream);
}
DOOR Result cuMemcpyPeerAsync(uintptr_t to, void* to_context, uintptr_t from, void* from_context,
                              size_t n, void* stream) {
  if (!to_context || !from_context) return kInvalidContext;
  return copy((void*)to, (void*)from, n, true, true, stream);
}

template <typename T>
static Result set(uintptr_t to, T value, size_t n, void* stream) {
  if (!current()) return kInvalidContext;
  return stream_of(stream)->put([=]() -> Result {
    if (!machine().holds(to, n * sizeof(T))) return kIllegalAddress;
    for (size_t i = 0; i < n; ++i) ((T*)to)[i] = value;
    return kSuccess;
  });
}
DOOR Result cuMemsetD8Async(uintptr_t to, unsigned char value, size_t n, void* stream) {
  return set(to, value, n, stream);
}
DOOR Result cuMemsetD16Async(uintptr_t to, unsigned short value, size_t n, void* stream) {
  return set(to, value, n, stream);
}
DOOR Result cuMemsetD32Async(uintptr_t to, unsigned value, size_t n, void* stream) {
  return set(to, value, n, stream);
}

// ----- errors
DOOR Result cuGetErrorName(int code, const char** out) {
  switch (code) {
    case kInvalidValue: *out = "CUDA_ERROR_INVALID_VALUE"; break;
    case kOutOfMemory: *out = "CUDA_ERROR_OUT_OF_MEMORY"; break;
    case kInvalidContext: *out = "CUDA_ERROR_INVALID_CONTEXT"; break;
    case kIllegalAddress: *out = "CUDA_ERROR_ILLEGAL_ADDRESS"; break;
    case kLaunchFailed: *out = "CUDA_ERROR_LAUNCH_FAILED"; break;
    case kNotSupported: *out = "CUDA_ERROR_NOT_SUPPORTED"; break;
    default: *out = "CUDA_ERROR_UNKNOWN";
  }
  return kSuccess;
}
DOOR Result cuGetErrorString(int code, const char** out) {
  *out = code == kIllegalAddress ? "an illegal memory access was encountered" : "a simulated error";
  return kSuccess;
}

// ----- graphs
DOOR Result cuStreamBeginCapture_v2(void* handle, int) {
  Stream* stream = stream_of(handle);
  if (stream->capturing) return kInvalidValue;
  stream->capturing = new Graph();
  return kSuccess;
}
DOOR Result cuStreamEndCapture(void* handle, void** out) {
  Stream* stream = stream_of(handle);
  if (!stream->capturing) return kInvalidValue;
  *out = stream->capturing;
  stream->capturing = nullptr;
  return kSuccess;
}
DOOR Result cuGraphInstantiateWithFlags(void** out, void* graph, unsigned long long) {
  *out = new Graph(*(Graph*)graph);
  return kSuccess;
}
DOOR Result cuGraphLaunch(void* executable, void* handle) {
  auto work = ((Graph*)executable)->work;
  return stream_of(handle)->put([work]() -> Result {
    for (const Work& each : work)
      if (const Result code = each()) return code;
    return kSuccess;
  });
}
DOOR Result cuGraphDestroy(void* graph) { return delete (Graph*)graph, kSuccess; }
DOOR Result cuGraphExecDestroy(void* graph) { return delete (Graph*)graph, kSuccess; }
