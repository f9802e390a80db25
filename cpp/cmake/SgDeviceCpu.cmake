# device/cpu: everything once, blocks_isa.cpp once for each instruction set. SG_ISA names the set; code in that file
# must live in a namespace named after it (an inline function shared with other units would let the linker pick the
# AVX-512 copy for everybody: tools/test.sh looks for such symbols).
sg_layer(device/cpu EXCLUDE blocks_isa.cpp)
if(NOT TARGET sg_device_cpu)
  return()
endif()
get_target_property(kind sg_device_cpu TYPE)
if(kind STREQUAL "OBJECT_LIBRARY")
  target_compile_options(sg_device_cpu PRIVATE $<$<NOT:$<CONFIG:Debug>>:-O3>)
  # GCC takes the optimization level from a precompiled header.
  set_target_properties(sg_device_cpu PROPERTIES DISABLE_PRECOMPILE_HEADERS ON)
endif()

set(isa_source "${PROJECT_SOURCE_DIR}/cpp/device/cpu/blocks_isa.cpp")
set_property(DIRECTORY "${PROJECT_SOURCE_DIR}" APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
             "${PROJECT_SOURCE_DIR}/cpp/device/cpu")
if(NOT EXISTS "${isa_source}")
  return()
endif()
set(sg_isas baseline)
set(sg_isa_flags_baseline "")
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$" AND CMAKE_SIZEOF_VOID_P EQUAL 8)
  list(APPEND sg_isas avx2 avx512)
  set(sg_isa_flags_baseline -O2)  # for processors from before 2013: less code
  set(sg_isa_flags_avx2 -mavx2 -mfma -mf16c)
  set(sg_isa_flags_avx512 ${sg_isa_flags_avx2} -mavx512f -mavx512dq -mavx512bw -mavx512vl)
endif()
foreach(isa IN LISTS sg_isas)
  add_library(sg_device_cpu_${isa} OBJECT "${isa_source}")
  target_link_libraries(sg_device_cpu_${isa} PUBLIC sg_flags)
  target_compile_definitions(sg_device_cpu_${isa} PRIVATE SG_ISA=${isa} SG_ISA_${isa}=1)
  target_compile_options(sg_device_cpu_${isa} PRIVATE $<$<NOT:$<CONFIG:Debug>>:-O3> -fno-trapping-math
    ${sg_isa_flags_${isa}} $<$<CXX_COMPILER_ID:Clang,AppleClang>:-Wno-pass-failed>)
  set_property(GLOBAL APPEND PROPERTY SG_LAYERS sg_device_cpu_${isa})
endforeach()
list(LENGTH sg_isas sg_isa_count)
if(sg_isa_count GREATER 1 AND kind STREQUAL "OBJECT_LIBRARY")
  target_compile_definitions(sg_device_cpu PRIVATE SG_HAS_X86_ISAS=1)
endif()
