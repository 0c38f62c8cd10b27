// Included first into users' modules (custom/build.py): a module may be loaded before cynet, so it
// looks up the team at its first parallel loop.
#ifndef CYNET_USERS_TEAM_H
#define CYNET_USERS_TEAM_H
#include <dlfcn.h>

#define cynet_run_parts cynet_find_run_parts  // looks up cynet's function
extern "C" __attribute__((weak, visibility("default"))) void cynet_run_parts(
    int parts, void (*function)(void* arg, int part, int parts), void* arg) {
  typedef void (*Run)(int, void (*)(void*, int, int), void*);
  static const Run run = reinterpret_cast<Run>(dlsym(RTLD_DEFAULT, "cynet_run_parts"));
  run(parts, function, arg);
}
#endif
