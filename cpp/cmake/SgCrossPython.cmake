# Python when cross compiling. The interpreter that runs the scripts of the build is this system's; of the other system's
# Python the headers, the suffix of a module and (Windows) the import library are named, because nothing can ask it.
find_package(Python 3.10 REQUIRED COMPONENTS Interpreter)
if(NOT EXISTS "${SPIROGRAD_PYTHON_INCLUDE}/Python.h" OR NOT SPIROGRAD_PYTHON_SUFFIX)
  message(FATAL_ERROR "spirograd: for another system's Python set SPIROGRAD_PYTHON_INCLUDE and SPIROGRAD_PYTHON_SUFFIX "
                      "(and for Windows SPIROGRAD_PYTHON_LIBRARY), or SPIROGRAD_PYTHON=OFF for the C++ library alone")
endif()
add_library(Python::Module INTERFACE IMPORTED)
target_include_directories(Python::Module SYSTEM INTERFACE "${SPIROGRAD_PYTHON_INCLUDE}")
target_link_libraries(Python::Module INTERFACE ${SPIROGRAD_PYTHON_LIBRARY})
set(Python_INCLUDE_DIRS "${SPIROGRAD_PYTHON_INCLUDE}")
set(PYTHON_MODULE_EXTENSION "${SPIROGRAD_PYTHON_SUFFIX}")
set(PYTHON_MODULE_DEBUG_POSTFIX "")
set(PYTHON_IS_DEBUG OFF)
# What pybind11 calls; find_package defines it with Development.Module alone.
function(python_add_library name)
  add_library(${name} ${ARGN})
  target_link_libraries(${name} PRIVATE Python::Module)
endfunction()
