// The one way to include Vulkan: volk's function pointers (filled at first GPU use) and VMA's declarations.
// No other folder than device/gpu includes this.
#pragma once
#ifndef VK_NO_PROTOTYPES
#define VK_NO_PROTOTYPES
#endif
#ifndef VMA_STATIC_VULKAN_FUNCTIONS
#define VMA_STATIC_VULKAN_FUNCTIONS 0
#endif
#ifndef VMA_DYNAMIC_VULKAN_FUNCTIONS
#define VMA_DYNAMIC_VULKAN_FUNCTIONS 0
#endif
#include <volk.h>

// VMA's header declares inline helpers that do not survive -Wall -Wextra everywhere.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpragmas"
#pragma GCC diagnostic ignored "-Wunknown-warning-option"
#pragma GCC diagnostic ignored "-Wnullability-extension"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#include <vk_mem_alloc.h>
#pragma GCC diagnostic pop
