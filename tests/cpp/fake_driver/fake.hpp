// A Vulkan driver that stands before the real one: the loader loads it in the real one's place, so that layers see what
// it pretends. It needs these variables:
//   FAKE_DRIVER_REAL=libvulkan_lvp.so      the real driver
//   FAKE_DRIVER_LIMITS=name=value,...      other limits and features than the real driver's (limits.cpp)
//   FAKE_DRIVER_SUBMISSIONS=skip           submissions are done at once and nothing runs (submissions.cpp)
//   FAKE_DRIVER_LOG=file                   a line for each pipeline (pipelines.cpp)
// A hook takes the place of one function: it keeps the real one and gives its own.
#pragma once
#ifndef VK_NO_PROTOTYPES
#define VK_NO_PROTOTYPES
#endif
#include <vulkan/vulkan.h>

#include <cstdlib>
#include <string>

namespace fake {

struct Hook {
  const char* name;
  PFN_vkVoidFunction mine;
  PFN_vkVoidFunction* real;
};

template <class F>
Hook hook(const char* name, F mine, F& real) {
  return {name, reinterpret_cast<PFN_vkVoidFunction>(mine), reinterpret_cast<PFN_vkVoidFunction*>(&real)};
}

inline std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

// The function to give out instead of `real`; null: there is no hook of that name.
PFN_vkVoidFunction limits_hook(const char* name, PFN_vkVoidFunction real);
PFN_vkVoidFunction submissions_hook(const char* name, PFN_vkVoidFunction real);
PFN_vkVoidFunction pipelines_hook(const char* name, PFN_vkVoidFunction real);

template <size_t n>
PFN_vkVoidFunction find(const Hook (&hooks)[n], const char* name, PFN_vkVoidFunction real) {
  for (const Hook& h : hooks)
    if (std::string(h.name) == name) {
      *h.real = real;
      return h.mine;
    }
  return nullptr;
}

}  // namespace fake
