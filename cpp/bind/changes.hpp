// What a step changes in Python, such as its count, together with what it does to tensors.
// Threads: the GIL is held.
#pragma once
#include <vector>

#include "bind/errors.hpp"

namespace sg::bind {

// Attributes that get new values, (object, name, value) each. Nothing of Python's runs meanwhile, so that an interrupt finds
// all of them changed, or none.
class Changes {
 public:
  explicit Changes(PyObject* list) : list_(list) {}
  void make();
  void undo() noexcept;

 private:
  PyObject* list_;
  std::vector<Object> before_;
};

}  // namespace sg::bind
