// What python/spirograd/_core.pyi says of the functions of the module and of the methods of Tensor: the build reads it
// (cpp/cmake/signatures.py) into stub.hpp and stub.cpp, and the compiler compares it with the C++ function of each
// row. Includes nothing of Python, so that a test can compile it alone.
// Threads: texts never change; `Parameter::value` is written under the GIL.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>

typedef struct _object PyObject;

namespace sg::bind {

// What an argument may be, or a result is, as the bits of a set.
enum Kind : uint16_t {
  kTensor = 1,
  kInt = 2,
  kFloat = 4,
  kBool = 8,
  kStr = 16,
  kNone = 32,
  kSequence = 64,
  kDType = 128,
  kDevice = 256,
  kGenerator = 512,
  kOther = 1024,
  kAnything = 2047
};

// slot: an operator or an attribute of the type, which dispatch.hpp makes.
enum class Scope : uint8_t { method, function, both, slot };

struct Signature {
  std::string_view name;
  Scope scope;
  uint16_t gives;
  int first, count;  // in kTakes; a method's tensor is the first
};

struct Alias {  // another name
  std::string_view name, of;
};

struct Member {  // a class, or an attribute or method of one: "Device.list"
  std::string_view name;
  const char* text;
  size_t doc;  // where the docstring begins, behind what CPython takes for a signature
};

struct Parameter {
  const char* name;
  const char* alias;  // NumPy's word, or the other one that PyTorch uses
  bool several;       // "*shape": takes all that is left
  bool by_name;       // behind a lone "*"
  const char* fallback;
  mutable PyObject* value = nullptr;  // of `fallback`, once a call has needed it
};

// Behind the tensor of a method.
struct Parameters {
  const Parameter* list;
  size_t count;
  const Parameter* begin() const { return list; }
  const Parameter* end() const { return list + count; }
  const Parameter& operator[](size_t i) const { return list[i]; }
};

struct Text {
  Parameters parameters;
  const char* plainly;     // "dim, keepdim=False"
  const char* with_types;  // "dim: int, keepdim: bool = False"
  const char* result;
  const char* doc;
};

}  // namespace sg::bind

#include <stub.hpp>

namespace sg::bind {

extern const Text kTexts[std::size(kSignatures)];  // in their order

// What the C++ function of a row takes and gives. `count` < 0: it reads the arguments of the call itself.
struct Types {
  const uint16_t* takes = nullptr;
  int count = -1;
  uint16_t gives = 0;
  constexpr Types giving(uint16_t kinds) const { return {takes, count, kinds}; }
};

PyObject* default_of(const Parameter& p);  // nullptr without one

[[noreturn]] void fail_row(std::string_view name, const char* what);  // Error; in a constant, the compiler's

// The place of a name in a table that is in order.
template <class Row, size_t n>
constexpr size_t find(const Row (&table)[n], std::string_view name) {
  const Row* found = std::lower_bound(table, table + n, name, [](const Row& r, auto word) { return r.name < word; });
  if (found == table + n || found->name != name) fail_row(name, "_core.pyi has no such name");
  return static_cast<size_t>(found - table);
}

// The docstring of "Device.list"; `signed_doc` also has the line that CPython takes for a signature.
consteval const char* doc(std::string_view name) {
  const Member& m = kMembers[find(kMembers, name)];
  return m.text + m.doc;
}
consteval const char* signed_doc(std::string_view name) { return kMembers[find(kMembers, name)].text; }

// The number of the row's signature.
constexpr size_t checked(std::string_view name, const Types& types) {
  const size_t number = find(kSignatures, name);
  const Signature& s = kSignatures[number];
  if (types.gives & ~s.gives) fail_row(name, "the function gives another type than _core.pyi says");
  if (types.count < 0) return number;
  if (types.count != s.count) fail_row(name, "_core.pyi names more or fewer arguments than the function takes");
  for (int i = 0; i < s.count; ++i)
    if (kTakes[s.first + i] & ~types.takes[i])
      fail_row(name, "_core.pyi offers a type that the function does not take");
  return number;
}

}  // namespace sg::bind
