// What the text of a callable says of its parameters, and whether the callable fits its function.
// Threads: the GIL is held.
#pragma once
#include <string>
#include <vector>

#include "bind/methods.hpp"

namespace sg::bind {

struct Parameter {
  std::string name;
  const char* alias = nullptr;  // NumPy's word, or the other one that PyTorch uses
  bool several = false;         // "*shape": takes all that is left
  bool by_name = false;         // behind a lone "*"
  PyObject* fallback = nullptr;
};
const std::vector<Parameter>& parameters_of(const Callable& callable);  // parsed at the first call

// Error when the callable has no name, one that is taken, no result or no doc, when its parameters cannot be read, or
// when they are not as many as its function takes.
void check_callable(PyObject* module, const Callable& callable);

void add_callable_check(PyObject* module);  // for tests

}  // namespace sg::bind
