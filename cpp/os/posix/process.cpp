// The process on Linux and macOS.
#include "os/process.hpp"

#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

#include <cstdlib>

namespace sg::os {

std::string variable(const char* name) {
#if defined(__GLIBC__)
  const char* value = secure_getenv(name);
#else
  const char* value = issetugid() ? nullptr : std::getenv(name);
#endif
  return value ? value : "";
}

int64_t process_id() noexcept { return getpid(); }

void at_fork(void (*before)(), void (*in_parent)(), void (*in_child)()) noexcept {
  pthread_atfork(before, in_parent, in_child);
}

void* function_of(const std::string& library, const char* function, std::string& why) {
  void* loaded = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  void* found = loaded ? dlsym(loaded, function) : nullptr;
  if (!found)
    if (const char* reason = dlerror()) why = reason;
  return found;
}

}  // namespace sg::os
