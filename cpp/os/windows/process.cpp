// The process on Windows, which has no fork().
#include "os/process.hpp"

#include <windows.h>

#include <cstdlib>

#include "os/windows/text.hpp"

namespace sg::os {

std::string variable(const char* name) {
  const std::wstring wide_name = wide(name);
  std::wstring value(GetEnvironmentVariableW(wide_name.c_str(), nullptr, 0), L'\0');
  if (value.empty()) return "";
  const DWORD size = GetEnvironmentVariableW(wide_name.c_str(), value.data(), static_cast<DWORD>(value.size()));
  if (size >= value.size()) return "";  // another thread has just set a longer one
  value.resize(size);
  return narrow(value);
}

int64_t process_id() noexcept { return static_cast<int64_t>(GetCurrentProcessId()); }

bool has_ended(int64_t id) noexcept {
  if (id <= 0) return false;
  const HANDLE process = OpenProcess(SYNCHRONIZE, FALSE, static_cast<DWORD>(id));
  if (!process) return GetLastError() == ERROR_INVALID_PARAMETER;
  const bool ended = WaitForSingleObject(process, 0) == WAIT_OBJECT_0;
  CloseHandle(process);
  return ended;
}

void at_fork(void (*)(), void (*)(), void (*)()) noexcept {}

bool at_exit(bool (*leave)() noexcept) noexcept {
  static bool (*leaving)() noexcept;
  leaving = leave;
  return std::atexit([] { leaving(); }) == 0;
}

void close_descriptor(int) noexcept {}  // drivers open handles here, which nobody asks for

std::string own_folder() {
  HMODULE own = nullptr;
  GetModuleHandleExW(GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT,
                     reinterpret_cast<LPCWSTR>(&own_folder), &own);
  wchar_t file[1024];
  const DWORD size = GetModuleFileNameW(own, file, sizeof file / sizeof *file);
  const std::string path = narrow({file, size});
  return path.substr(0, path.find_last_of("\\/"));
}

void* function_of(const std::string& library, const char* function, std::string& why) {
  const HMODULE loaded = LoadLibraryW(wide(library).c_str());
  void* found = loaded ? reinterpret_cast<void*>(GetProcAddress(loaded, function)) : nullptr;
  if (!found) why = last_error();
  return found;
}

}  // namespace sg::os
