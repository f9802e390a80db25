# The Python module spirograd._core from cpp/bind/*.cpp, and what travels beside it in the wheel.
find_package(pybind11 3.0 CONFIG QUIET)
if(NOT pybind11_FOUND)
  execute_process(COMMAND "${Python_EXECUTABLE}" -m pybind11 --cmakedir OUTPUT_VARIABLE pybind11_DIR
    OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  find_package(pybind11 3.0 CONFIG REQUIRED)
endif()
file(GLOB sg_bind_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/cpp/bind/*.cpp")
if(NOT sg_bind_sources)
  message(STATUS "spirograd: cpp/bind has no sources, no Python module")
  return()
endif()
# Signatures and docstrings: python/spirograd/_core.pyi as C++, and with all texts written out for editors.
set(sg_stub "${PROJECT_SOURCE_DIR}/python/spirograd/_core.pyi")
set(sg_stub_dir "${PROJECT_BINARY_DIR}/stub")
add_custom_command(OUTPUT "${sg_stub_dir}/stub.hpp" "${sg_stub_dir}/stub.cpp" "${sg_stub_dir}/_core.pyi"
  COMMAND "${Python_EXECUTABLE}" "${PROJECT_SOURCE_DIR}/cpp/cmake/signatures.py" "${sg_stub}" "${sg_stub_dir}"
  DEPENDS "${sg_stub}" "${PROJECT_SOURCE_DIR}/cpp/cmake/signatures.py"
  COMMENT "Reading _core.pyi" VERBATIM)
pybind11_add_module(_core MODULE NO_EXTRAS ${sg_bind_sources} "${sg_stub_dir}/stub.hpp"
  "${sg_stub_dir}/stub.cpp")
target_include_directories(_core PRIVATE "${sg_stub_dir}")
if(SPIROGRAD_GPU AND CMAKE_SYSTEM_NAME STREQUAL "Linux")
  target_sources(_core PRIVATE "${PROJECT_SOURCE_DIR}/cpp/cmake/no_hlsl.cpp")
endif()
target_link_libraries(_core PRIVATE spirograd)
sg_precompile(_core)
# Most of what a unit with pybind11 costs is pybind11 itself, so these are compiled as two units, one a core. Names in
# them differ, also those that only their own file sees.
set(sg_group 0)
foreach(source IN LISTS sg_bind_sources)
  file(STRINGS "${source}" includes REGEX "#include (<pybind11/|.bind/caster.hpp)" LIMIT_COUNT 1)
  if(includes)
    set_source_files_properties("${source}" PROPERTIES UNITY_GROUP "pybind11_${sg_group}")
    math(EXPR sg_group "1 - ${sg_group}")
  endif()
endforeach()
set_target_properties(_core PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
target_link_options(_core PRIVATE $<$<PLATFORM_ID:Linux>:-Wl,--exclude-libs,ALL>
  $<$<AND:$<PLATFORM_ID:Linux>,$<CONFIG:Release>>:-s>)
if(SPIROGRAD_GLIBC)
  include(SgOlderGlibc)
endif()
install(TARGETS _core LIBRARY DESTINATION spirograd COMPONENT python)
install(FILES "${sg_stub_dir}/_core.pyi" DESTINATION spirograd COMPONENT python)
if(SKBUILD)
  include(SgSbom)
endif()
