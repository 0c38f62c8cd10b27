// Modules and kernels of the simulated driver: an image is an ELF object with a section .cynet that
// says, line by line, which emulated object has each kernel (nvcc.py writes it).
#include "machine.h"

#include <dlfcn.h>
#include <elf.h>
#include <sstream>

#define DOOR extern "C" __attribute__((visibility("default")))

namespace {
struct Request {  // the emulator's Launch (cynet_launch.h)
  void** values;
  const int64_t* bytes;
  uint32_t grid[3], block[3];
  uint64_t shared;
  int32_t threads;
  void* failure;
};
typedef int (*Entry)(int index, const Request* request);

struct Function {
  Entry entry;
  int index, threads_limit;
  std::string name;
  std::vector<size_t> sizes;  // bytes of each argument's value
};
struct Module {
  std::map<std::string, Function> functions;
};
}  // namespace

// Lines: "object PATH", then "kernel SYMBOL INDEX THREADS_LIMIT SIZE...".
DOOR Result cuModuleLoadData(void** out, const void* image) {
  if (!current()) return kInvalidContext;
  const char* bytes = (const char*)image;
  if (memcmp(bytes, ELFMAG, 4)) return kInvalidImage;
  const Elf64_Ehdr* header = (const Elf64_Ehdr*)bytes;
  const Elf64_Shdr* sections = (const Elf64_Shdr*)(bytes + header->e_shoff);
  const char* names = bytes + sections[header->e_shstrndx].sh_offset;
  std::string text;
  for (int i = 0; i < header->e_shnum; ++i)
    if (!strcmp(names + sections[i].sh_name, ".cynet"))
      text.assign(bytes + sections[i].sh_offset, sections[i].sh_size);
  std::istringstream lines(text);
  std::string line, word;
  Module* module = new Module();
  Entry entry = nullptr;
  while (std::getline(lines, line)) {
    std::istringstream words(line);
    words >> word;
    if (word == "object") {
      std::string path;
      words >> path;
      void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
      entry = library ? (Entry)dlsym(library, "cynet_launch") : nullptr;
      if (!entry) return kInvalidImage;
    } else if (word == "kernel") {
      Function function;
      size_t size;
      words >> function.name >> function.index >> function.threads_limit;
      while (words >> size) function.sizes.push_back(size);
      function.entry = entry;
      module->functions[function.name] = function;
    }
  }
  if (!entry) return kInvalidImage;
  *out = module;
  return kSuccess;
}
DOOR Result cuModuleUnload(void* module) { return delete (Module*)module, kSuccess; }
DOOR Result cuModuleGetFunction(void** out, void* module, const char* name) {
  auto& functions = ((Module*)module)->functions;
  auto found = functions.find(name);
  if (found == functions.end()) return kNotFound;
  *out = &found->second;
  return kSuccess;
}
DOOR Result cuFuncGetAttribute(int* out, int attribute, void* function) {
  *out = attribute == 0 ? ((Function*)function)->threads_limit : 0;
  return kSuccess;
}
DOOR Result cuFuncGetParamInfo(void* function, size_t i, size_t* offset, size_t* size) {
  const auto& sizes = ((Function*)function)->sizes;
  if (i >= sizes.size()) return kInvalidValue;
  return *offset = 0, *size = sizes[i], kSuccess;
}
DOOR Result cuFuncSetAttribute(void*, int, int) { return kSuccess; }

DOOR Result cuLaunchKernel(void* kernel, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                           unsigned by, unsigned bz, unsigned shared, void* stream, void** params,
                           void**) {
  if (!current()) return kInvalidContext;
  const Function* function = (const Function*)kernel;
  if (bx * by * bz == 0 || bx * by * bz > 1024 || gx * gy * gz == 0 || shared > 49152)
    return kInvalidValue;
  if ((int)(bx * by * bz) > function->threads_limit) return kTooManyResources;
  auto values = std::make_shared<std::vector<std::vector<char>>>();
  for (size_t i = 0; i < function->sizes.size(); ++i)  // the driver has read them when it returns
    values->emplace_back((char*)params[i], (char*)params[i] + function->sizes[i]);
  Request request = {nullptr, nullptr, {gx, gy, gz}, {bx, by, bz}, shared, 1, nullptr};
  return stream_of(stream)->put([=]() -> Result {
    std::vector<void*> pointers;
    for (auto& each : *values) pointers.push_back(each.data());
    char failure[512];
    Request mine = request;
    mine.values = pointers.data();
    mine.failure = failure;
    return function->entry(function->index, &mine) ? kLaunchFailed : kSuccess;
  });
}
