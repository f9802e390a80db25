# sg_vulkan: what device/gpu includes and links: Vulkan headers, volk (volk.c goes into one unit of device/gpu),
# VMA and glslang. Installed ones first (CMAKE_PREFIX_PATH, the project's own .deps/vulkan), else FetchContent.
# SG_GLSLANG_VALIDATOR is the shader compiler for shaders/*.comp.
list(APPEND CMAKE_PREFIX_PATH "${PROJECT_SOURCE_DIR}/.deps/vulkan")
include(FetchContent)
set(FETCHCONTENT_QUIET OFF)

# Pinned releases: one URL, one SHA-256 each.
set(sg_pin_headers https://github.com/KhronosGroup/Vulkan-Headers/archive/refs/tags/v1.4.363.tar.gz
    cbaf687d3c59b9666fe080e7f8396b6b4f4d344a768ee6b337c59852f4526b68)
set(sg_pin_volk https://github.com/zeux/volk/archive/refs/tags/vulkan-sdk-1.4.357.0.tar.gz
    6400c7b23e24d17e4f04bac49b55b06c4e87677d33398e90344743ec73560ca6)
set(sg_pin_vma https://github.com/GPUOpen-LibrariesAndSDKs/VulkanMemoryAllocator/archive/refs/tags/v3.4.0.tar.gz
    822aa850c6ce77346ae96a8a1d351d52e77e85929f35363849a0a4e638e0a2a1)
set(sg_pin_glslang https://github.com/KhronosGroup/glslang/archive/refs/tags/16.6.0.tar.gz
    9c09b901149c729df745057dafa815278aaa101b84d2b6e14f16a42de52f97f2)

# sg_fetch(NAME RESULT): download only; the variable RESULT gets the source folder.
function(sg_fetch name result)
  list(GET sg_pin_${name} 0 url)
  list(GET sg_pin_${name} 1 hash)
  message(STATUS "spirograd: ${name} is not installed, fetching ${url}")
  FetchContent_Declare(sg_${name} URL "${url}" URL_HASH SHA256=${hash} DOWNLOAD_EXTRACT_TIMESTAMP OFF
    SOURCE_SUBDIR none)
  FetchContent_MakeAvailable(sg_${name})
  set(${result} "${sg_${name}_SOURCE_DIR}" PARENT_SCOPE)
endfunction()

# Vulkan headers new enough for what device/gpu names: 1.4 with cooperative matrices.
find_path(SG_VULKAN_INCLUDE vulkan/vulkan.h NO_CACHE)
if(SG_VULKAN_INCLUDE)
  file(STRINGS "${SG_VULKAN_INCLUDE}/vulkan/vulkan_core.h" sg_vk_version REGEX "#define VK_HEADER_VERSION ")
  file(STRINGS "${SG_VULKAN_INCLUDE}/vulkan/vulkan_core.h" sg_vk_14 REGEX "#define VK_API_VERSION_1_4")
  if(NOT sg_vk_14)
    message(STATUS "spirograd: the Vulkan headers in ${SG_VULKAN_INCLUDE} are older than 1.4, not used")
    set(SG_VULKAN_INCLUDE "")
  endif()
endif()
if(NOT SG_VULKAN_INCLUDE)
  sg_fetch(headers sg_headers_dir)
  set(SG_VULKAN_INCLUDE "${sg_headers_dir}/include")
endif()
find_path(SG_VOLK_INCLUDE volk.c NO_CACHE)
if(NOT SG_VOLK_INCLUDE)
  sg_fetch(volk SG_VOLK_INCLUDE)
endif()
find_path(SG_VMA_INCLUDE vk_mem_alloc.h PATH_SUFFIXES vma NO_CACHE)
if(SG_VMA_INCLUDE)
  file(STRINGS "${SG_VMA_INCLUDE}/vk_mem_alloc.h" sg_vma_volk REGEX "vmaImportVulkanFunctionsFromVolk")
  if(NOT sg_vma_volk)
    message(STATUS "spirograd: the VMA in ${SG_VMA_INCLUDE} is older than 3.3, not used")
    set(SG_VMA_INCLUDE "")
  endif()
endif()
if(NOT SG_VMA_INCLUDE)
  sg_fetch(vma sg_vma_dir)
  set(SG_VMA_INCLUDE "${sg_vma_dir}/include")
endif()

find_package(glslang CONFIG QUIET)
if(NOT TARGET glslang::glslang)
  list(GET sg_pin_glslang 0 sg_glslang_url)
  list(GET sg_pin_glslang 1 sg_glslang_hash)
  message(STATUS "spirograd: glslang is not installed, fetching ${sg_glslang_url} (builds in 1 to 3 minutes)")
  set(ENABLE_OPT OFF)
  set(ENABLE_HLSL OFF)
  set(GLSLANG_TESTS OFF)
  set(GLSLANG_ENABLE_INSTALL OFF)
  set(ENABLE_GLSLANG_BINARIES ON)
  set(BUILD_EXTERNAL OFF)
  set(BUILD_SHARED_LIBS OFF)
  FetchContent_Declare(glslang URL "${sg_glslang_url}" URL_HASH SHA256=${sg_glslang_hash}
    DOWNLOAD_EXTRACT_TIMESTAMP OFF SYSTEM)
  FetchContent_MakeAvailable(glslang)
  set(SG_GLSLANG_VALIDATOR $<TARGET_FILE:glslang-standalone>)
  set(SG_GLSLANG_VALIDATOR_TARGET glslang-standalone)
  set(sg_glslang_from "source")
  # Installed, the SPIR-V generator's headers lie in glslang/SPIRV; in the source tree they do not.
  file(GLOB sg_spirv_headers "${glslang_SOURCE_DIR}/SPIRV/*.h")
  file(COPY ${sg_spirv_headers} DESTINATION "${PROJECT_BINARY_DIR}/glslang_include/glslang/SPIRV")
  set(sg_glslang_include "${PROJECT_BINARY_DIR}/glslang_include")
else()
  # A shader compiler of its own for cross builds: -DSG_GLSLANG_VALIDATOR=...
  if(NOT SG_GLSLANG_VALIDATOR)
    if(TARGET glslang::glslangValidator)
      get_target_property(sg_validator glslang::glslangValidator LOCATION)
      if(sg_validator AND EXISTS "${sg_validator}")
        set(SG_GLSLANG_VALIDATOR "${sg_validator}")
      endif()
    endif()
    if(NOT SG_GLSLANG_VALIDATOR)
      find_program(SG_GLSLANG_VALIDATOR NAMES glslangValidator glslang NO_CACHE)
    endif()
  endif()
  set(sg_glslang_from "installed")
endif()
if(NOT SG_GLSLANG_VALIDATOR)
  message(FATAL_ERROR "spirograd: no shader compiler (glslangValidator) found; run tools/deps.sh, install "
                      "glslang-tools, or configure with -DSPIROGRAD_GPU=OFF")
endif()

add_library(sg_vulkan INTERFACE)
target_include_directories(sg_vulkan SYSTEM INTERFACE
  "${SG_VULKAN_INCLUDE}" "${SG_VOLK_INCLUDE}" "${SG_VMA_INCLUDE}" ${sg_glslang_include})
target_compile_definitions(sg_vulkan INTERFACE VK_NO_PROTOTYPES VMA_STATIC_VULKAN_FUNCTIONS=0
  VMA_DYNAMIC_VULKAN_FUNCTIONS=0)
target_link_libraries(sg_vulkan INTERFACE glslang::glslang-default-resource-limits glslang::glslang ${CMAKE_DL_LIBS})
message(STATUS "spirograd: Vulkan headers ${SG_VULKAN_INCLUDE}, glslang ${sg_glslang_from}, "
               "shader compiler ${SG_GLSLANG_VALIDATOR}")
