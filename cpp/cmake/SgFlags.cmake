# sg_flags: what every unit of ours is compiled with. Third-party code gets none of it.
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_CXX_SCAN_FOR_MODULES OFF)  # there are none, and Clang would need clang-scan-deps for it
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
# -O2 compiles the engine in two thirds of the time of -O3; the CPU kernels ask for -O3 themselves.
string(REPLACE "-O3" "-O2" CMAKE_CXX_FLAGS_RELEASE "${CMAKE_CXX_FLAGS_RELEASE}")

set(sg_compilers "GNU 12" "Clang 15" "AppleClang 15")
foreach(entry IN LISTS sg_compilers)
  separate_arguments(entry UNIX_COMMAND "${entry}")
  list(GET entry 0 id)
  list(GET entry 1 least)
  if(CMAKE_CXX_COMPILER_ID STREQUAL id AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS least)
    message(FATAL_ERROR "spirograd: ${id} ${CMAKE_CXX_COMPILER_VERSION} is too old; install ${id} >= ${least} "
                        "or name another compiler with CXX=...")
  endif()
endforeach()

add_library(sg_flags INTERFACE)
target_compile_options(sg_flags INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wpedantic;-ffp-contract=off;-fno-math-errno>
  $<$<BOOL:${SPIROGRAD_WERROR}>:-Werror>)
target_include_directories(sg_flags INTERFACE "${PROJECT_SOURCE_DIR}/cpp")
target_compile_definitions(sg_flags INTERFACE
  SPIROGRAD_VERSION="${SPIROGRAD_VERSION}" SPIROGRAD_GPU=$<BOOL:${SPIROGRAD_GPU}>)
set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)
target_link_libraries(sg_flags INTERFACE Threads::Threads)

if(SPIROGRAD_SANITIZE)
  # vptr needs type information of every class, and glslang is built without.
  add_compile_options(-fsanitize=address,undefined -fno-sanitize=vptr -fno-sanitize-recover=undefined
    -fno-omit-frame-pointer -g1)
  add_link_options(-fsanitize=address,undefined)
endif()
if(SPIROGRAD_SANITIZE_THREADS)
  add_compile_options(-fsanitize=thread -fno-omit-frame-pointer -g1)
  add_link_options(-fsanitize=thread)
endif()
