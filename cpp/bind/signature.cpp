// What a signature says that only Python can read: defaults. Knows no op.
#include "bind/signature.hpp"

#include <string>

#include "bind/errors.hpp"

namespace sg::bind {

void fail_row(std::string_view name, const char* what) {
  fail<Error>("row " + std::string(name), what, "correct the row in cpp/bind, or _core.pyi");
}

PyObject* default_of(const Parameter& p) {
  if (p.value || !p.fallback) return p.value;
  Object names(check(PyDict_New()));
  return p.value = check(PyRun_String(p.fallback, Py_eval_input, names.get(), names.get()));  // for ever
}

}  // namespace sg::bind
