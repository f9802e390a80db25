# What is linked into the module, as spirograd.cdx.json for the wheel's folder .dist-info/sboms (PEP 770).
set(sg_parts "spirograd=${SPIROGRAD_VERSION}" "pybind11=${pybind11_VERSION}")

# sg_version_in(RESULT FILE PATTERN...): the numbers that the patterns find in a header, with dots.
function(sg_version_in result file)
  set(numbers "")
  foreach(pattern IN LISTS ARGN)
    file(STRINGS "${file}" line REGEX "${pattern}" LIMIT_COUNT 1)
    string(REGEX MATCH "${pattern}" _ "${line}")
    string(REPLACE ", " "." number "${CMAKE_MATCH_1}")
    list(APPEND numbers "${number}")
  endforeach()
  list(JOIN numbers "." version)
  set(${result} "${version}" PARENT_SCOPE)
endfunction()

if(SPIROGRAD_GPU)
  set(core "${SG_VULKAN_INCLUDE}/vulkan/vulkan_core.h")
  sg_version_in(sg_headers "${core}" "VK_HEADER_VERSION_COMPLETE VK_MAKE_API_VERSION\\(0, ([0-9, ]+), VK"
    "#define VK_HEADER_VERSION ([0-9]+)")
  sg_version_in(sg_volk "${SG_VOLK_INCLUDE}/volk.h" "#define VOLK_HEADER_VERSION ([0-9]+)")
  sg_version_in(sg_vma "${SG_VMA_INCLUDE}/vk_mem_alloc.h" "<b>Version ([0-9.]+)")
  if(glslang_VERSION)
    set(sg_glslang "${glslang_VERSION}")
  else()
    find_file(sg_build_info glslang/build_info.h HINTS "${SG_VULKAN_INCLUDE}" NO_CACHE)
    if(sg_build_info)
      sg_version_in(sg_glslang "${sg_build_info}" "VERSION_MAJOR ([0-9]+)" "VERSION_MINOR ([0-9]+)" "VERSION_PATCH ([0-9]+)")
    endif()
  endif()
  list(APPEND sg_parts "Vulkan-Headers=${sg_headers}" "volk=${sg_volk}" "VulkanMemoryAllocator=${sg_vma}"
    "glslang=${sg_glslang}")
endif()
if(SPIROGRAD_GLIBC)
  list(APPEND sg_parts "libstdc++=${CMAKE_CXX_COMPILER_VERSION}")
endif()
execute_process(COMMAND "${Python_EXECUTABLE}" "${PROJECT_SOURCE_DIR}/cpp/cmake/sbom.py"
  "${PROJECT_BINARY_DIR}/spirograd.cdx.json" ${sg_parts} COMMAND_ERROR_IS_FATAL ANY)
install(FILES "${PROJECT_BINARY_DIR}/spirograd.cdx.json" DESTINATION "${SKBUILD_METADATA_DIR}/sboms" COMPONENT python)
