# SPIROGRAD_GLIBC=2.28: the module also runs with this older glibc, and brings its own libstdc++. It is linked against
# link libraries as of that version (older_glibc.py) and what that version lacks (older_glibc.c).
set(sg_glibc_dir "${PROJECT_BINARY_DIR}/glibc-${SPIROGRAD_GLIBC}")
execute_process(
  COMMAND "${Python_EXECUTABLE}" "${PROJECT_SOURCE_DIR}/cpp/cmake/older_glibc.py" "${SPIROGRAD_GLIBC}"
          "${sg_glibc_dir}" "${CMAKE_NM}" "${CMAKE_CXX_COMPILER}"
  COMMAND_ERROR_IS_FATAL ANY)
enable_language(C)
add_library(sg_older_glibc OBJECT "${PROJECT_SOURCE_DIR}/cpp/cmake/older_glibc.c")
target_compile_options(sg_older_glibc PRIVATE -O2 -fvisibility=hidden)
target_sources(_core PRIVATE $<TARGET_OBJECTS:sg_older_glibc>)
target_link_options(_core PRIVATE "-L${sg_glibc_dir}" -static-libstdc++ -Wl,--gc-sections -Wl,--no-as-needed
  -Wl,--undefined=__cxa_pure_virtual)
target_link_libraries(_core PRIVATE pthread)
