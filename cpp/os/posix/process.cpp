// The process on Linux and macOS.
#include "os/process.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

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

bool has_ended(int64_t id) noexcept {
  if (id <= 0) return false;
  if (kill(static_cast<pid_t>(id), 0) != 0) return errno == ESRCH;
  char text[512];
  std::snprintf(text, sizeof text, "/proc/%lld/stat", static_cast<long long>(id));  // Linux
  const int file = open(text, O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  const ssize_t length = read(file, text, sizeof text - 1);
  close(file);
  if (length <= 0) return false;
  text[length] = 0;
  const char* name_end = std::strrchr(text, ')');
  return name_end && (name_end[2] == 'Z' || name_end[2] == 'X');
}

void at_fork(void (*before)(), void (*in_parent)(), void (*in_child)()) noexcept {
  pthread_atfork(before, in_parent, in_child);
}

bool at_exit(bool (*leave)() noexcept) noexcept {
  static bool (*leaving)() noexcept;
  leaving = leave;
#ifdef __GLIBC__
  const auto end = [](int status, void*) {
    if (leaving()) return;
    std::fflush(nullptr);
    _exit(status);
  };
  return on_exit(end, nullptr) == 0;
#else
  return std::atexit([] { leaving(); }) == 0;
#endif
}

void close_descriptor(int descriptor) noexcept { close(descriptor); }

std::string own_folder() {
  Dl_info facts;
  if (dladdr(reinterpret_cast<void*>(&own_folder), &facts) == 0 || !facts.dli_fname) return "";
  const std::string file = facts.dli_fname;
  const size_t slash = file.rfind('/');
  return slash == std::string::npos ? "." : file.substr(0, slash);
}

void* function_of(const std::string& library, const char* function, std::string& why) {
  void* loaded = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  void* found = loaded ? dlsym(loaded, function) : nullptr;
  if (!found)
    if (const char* reason = dlerror()) why = reason;
  return found;
}

}  // namespace sg::os
