// Replaces functions that a loaded library imports: Linux, x86-64.
#ifndef CYNET_REBIND_H
#define CYNET_REBIND_H

#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__linux__) && defined(__x86_64__)
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>
#endif

namespace cynet {

struct ImportEntry {  // replacement of an imported function
  const char* name;
  void* function;
};

#if defined(__linux__) && defined(__x86_64__)

// True if the loader has made the address read-only, as it does for eager binding.
static bool is_read_only(const struct link_map* map, uintptr_t place) {
  const Elf64_Ehdr* header = reinterpret_cast<const Elf64_Ehdr*>(map->l_addr);
  const Elf64_Phdr* p = reinterpret_cast<const Elf64_Phdr*>(map->l_addr + header->e_phoff);
  for (int i = 0; i < header->e_phnum; ++i, ++p)
    if (p->p_type == PT_GNU_RELRO && place - map->l_addr - p->p_vaddr < p->p_memsz) return true;
  return false;
}

static bool write_import(const struct link_map* map, uintptr_t place, void* function) {
  const uintptr_t size = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  void* page = reinterpret_cast<void*>(place / size * size);
  const bool sealed = is_read_only(map, place);
  if (sealed && mprotect(page, size, PROT_READ | PROT_WRITE)) return false;
  __atomic_store_n(reinterpret_cast<void**>(place), function, __ATOMIC_RELEASE);
  return !sealed || !mprotect(page, size, PROT_READ);
}

static bool starts_with(const char* name, const char* prefix) {
  return std::strncmp(name, prefix, std::strlen(prefix)) == 0;
}

// Rebinds the imports of a library (a handle) whose names begin with one of `prefixes` (two).
// Returns the name that `imports` lacks, or "" if all are there, or NULL if it is impossible;
// nothing has changed then.
static const char* rebind_imports(void* handle, const char* const* prefixes,
                                  const ImportEntry* imports, size_t n_imports) {
  struct link_map* map = nullptr;
  if (dlinfo(handle, RTLD_DI_LINKMAP, &map)) return nullptr;
  const Elf64_Sym* symbols = nullptr;
  const char* names = nullptr;
  const Elf64_Rela* tables[2] = {nullptr, nullptr};
  size_t sizes[2] = {0, 0};
  for (const Elf64_Dyn* d = map->l_ld; d->d_tag != DT_NULL; ++d) {
    if (d->d_tag == DT_SYMTAB) symbols = reinterpret_cast<const Elf64_Sym*>(d->d_un.d_ptr);
    if (d->d_tag == DT_STRTAB) names = reinterpret_cast<const char*>(d->d_un.d_ptr);
    if (d->d_tag == DT_JMPREL) tables[0] = reinterpret_cast<const Elf64_Rela*>(d->d_un.d_ptr);
    if (d->d_tag == DT_PLTRELSZ) sizes[0] = d->d_un.d_val / sizeof(Elf64_Rela);
    if (d->d_tag == DT_RELA) tables[1] = reinterpret_cast<const Elf64_Rela*>(d->d_un.d_ptr);
    if (d->d_tag == DT_RELASZ) sizes[1] = d->d_un.d_val / sizeof(Elf64_Rela);
  }
  if (!symbols || !names) return nullptr;
  for (int change = 0; change < 2; ++change)  // the first pass checks that all entries exist
    for (int t = 0; t < 2; ++t)
      for (size_t i = 0; tables[t] && i < sizes[t]; ++i) {
        const Elf64_Rela& r = tables[t][i];
        const uint32_t type = ELF64_R_TYPE(r.r_info);
        if (type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT) continue;
        const char* name = names + symbols[ELF64_R_SYM(r.r_info)].st_name;
        if (!starts_with(name, prefixes[0]) && !starts_with(name, prefixes[1])) continue;
        size_t k = 0;
        while (k < n_imports && std::strcmp(imports[k].name, name)) ++k;
        if (k == n_imports) return name;
        if (change && !write_import(map, map->l_addr + r.r_offset, imports[k].function))
          return nullptr;
      }
  return "";
}

#else

static const char* rebind_imports(void*, const char* const*, const ImportEntry*, size_t) {
  return nullptr;
}

#endif

}  // namespace cynet

#endif
