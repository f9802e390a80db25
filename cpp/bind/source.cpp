// Owns a table of the code objects that ran, from which lines can be read without the GIL. Knows no tensors.
#include "bind/source.hpp"

#include <string_view>
#include <unordered_map>

#include "bind/errors.hpp"

// After Python.h; Python 3.10 declares PyFrame_GetBack here alone.
#include <frameobject.h>

namespace sg::bind {
namespace {

// A code object that ran. Its lines are read without the GIL, from a table that does not change.
class PythonCode : public CodeObject {
 public:
  PythonCode(PyCodeObject* code, std::string file) : code_(code), file_(std::move(file)) { Py_INCREF(code_); }
  ~PythonCode() override { Py_DECREF(code_); }
  std::string line(int64_t offset) const override {
#if PY_VERSION_HEX >= 0x030B0000
    const int number = PyCode_Addr2Line(code_, static_cast<int>(offset));
#else
    const auto number = static_cast<int>(offset);
#endif
    return file_ + ":" + std::to_string(number);
  }

 private:
  PyCodeObject* code_;
  std::string file_;
};

int32_t offset_in(PyFrameObject* frame) {
#if PY_VERSION_HEX >= 0x030B0000
  return PyFrame_GetLasti(frame);
#else
  return PyFrame_GetLineNumber(frame);
#endif
}

// The folder of the package: lines in it are not the user's.
const std::string& package() {
  static const std::string folder = [] {
    Object module(PyImport_ImportModule("spirograd"));
    Object file(module ? PyObject_GetAttrString(module.get(), "__file__") : nullptr);
    const char* text = file ? PyUnicode_AsUTF8(file.get()) : nullptr;
    const std::string path = text ? text : "";
    PyErr_Clear();
    return path.substr(0, path.rfind("__init__"));
  }();
  return folder;
}

// An entry holds a reference to its code for ever, so that code objects are never released without the GIL.
struct Known {
  Ref<CodeObject> source;
  bool ours;  // a line of the package
};
using Table = std::unordered_map<PyCodeObject*, Known>;
constexpr size_t kManyCodes = 4096;

const Known& look_up(PyCodeObject* code) {
  static auto* table = new Table;
  static size_t most = kManyCodes;
  const auto at = table->find(code);
  if (at != table->end()) return at->second;
  if (table->size() >= most) {
    std::erase_if(*table, [](const auto& e) { return !e.second.ours && e.second.source->ref_count() == 1; });
    most = table->size() + kManyCodes;
  }
  const char* text = PyUnicode_AsUTF8(code->co_filename);
  PyErr_Clear();
  const std::string file = text ? text : "?";
  const bool ours = !package().empty() && std::string_view(file).starts_with(package());
  return (*table)[code] = {Ref<CodeObject>(new PythonCode(code, file)), ours};
}

}  // namespace

SourceLocation running_line() {
  if (!has_gil()) return {};
  PyFrameObject* frame = PyEval_GetFrame();
  Object held;
  while (frame) {
    Object code(reinterpret_cast<PyObject*>(PyFrame_GetCode(frame)));
    const Known& known = look_up(reinterpret_cast<PyCodeObject*>(code.get()));
    if (!known.ours) return {known.source, offset_in(frame)};
    held = Object(reinterpret_cast<PyObject*>(PyFrame_GetBack(frame)));
    frame = reinterpret_cast<PyFrameObject*>(held.get());
  }
  return {};
}

void warn_at_line(const std::string& message) {
  static PyObject* const registry = check(PyDict_New());
  const std::string line = running_line().str();
  const size_t colon = line.rfind(':');
  check(colon == line.npos ? PyErr_WarnEx(PyExc_UserWarning, message.c_str(), 1)
                           : PyErr_WarnExplicit(PyExc_UserWarning, message.c_str(), line.substr(0, colon).c_str(),
                                                std::stoi(line.substr(colon + 1)), nullptr, registry));
}

}  // namespace sg::bind
