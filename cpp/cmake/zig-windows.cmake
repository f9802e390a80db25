# Toolchain: Windows on x86-64 by zig (`pip install ziglang`), from any system. SG_ZIG names the program.
if(NOT CMAKE_HOST_WIN32)  # named at all, a system is another one than this, whose Python cannot be asked
  set(CMAKE_SYSTEM_NAME Windows)
  set(CMAKE_SYSTEM_PROCESSOR AMD64)
endif()
if(NOT SG_ZIG)
  find_program(SG_ZIG zig)
  if(NOT SG_ZIG)
    execute_process(COMMAND python -c "import ziglang, os; print(os.path.dirname(ziglang.__file__))"
      OUTPUT_VARIABLE sg_zig_folder OUTPUT_STRIP_TRAILING_WHITESPACE)
    find_program(SG_ZIG zig HINTS "${sg_zig_folder}" REQUIRED)
  endif()
endif()
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES SG_ZIG)
set(CMAKE_C_COMPILER "${SG_ZIG}" cc -target x86_64-windows-gnu)
set(CMAKE_CXX_COMPILER "${SG_ZIG}" c++ -target x86_64-windows-gnu)
set(CMAKE_AR "${SG_ZIG}")
set(CMAKE_RANLIB "${SG_ZIG}")
set(CMAKE_USER_MAKE_RULES_OVERRIDE "${CMAKE_CURRENT_LIST_DIR}/zig-archive.cmake")
set(CMAKE_DISABLE_PRECOMPILE_HEADERS ON)  # not tried with zig
