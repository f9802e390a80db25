// The shaders written so far, by form: everything that their text depends on. A kernel of a known form is not written
// again. Called under the device's lock.
#pragma once
#include <functional>
#include <memory>
#include <unordered_map>
#include <vector>

#include "device/gpu/lower/glsl_kernel.hpp"

namespace sg {

// Everything that the text of a kernel depends on, as words. Sizes, values of strides and numbers are not part of it.
class Form {
 public:
  enum class Kind : uint8_t { pointwise, transposed, rows, product, matrix_product, grouped_product, custom };
  explicit Form(Kind kind) { add(static_cast<uint64_t>(kind)); }
  void add(uint64_t word) { words_.push_back(word); }
  void add(std::initializer_list<bool> facts);
  void add(const std::string& text);
  void add(const glsl::Layout& layout);

  bool operator==(const Form& o) const { return words_ == o.words_; }
  struct Hash {
    size_t operator()(const Form& form) const;
  };

 private:
  std::vector<uint64_t> words_;
};

// Writing the text of a kernel costs more than finding it, so a form that was seen answers without text. Under
// SPIROGRAD_BOUNDS=1 it is written all the same, to find a form that leaves out a fact.
class Shaders {
 public:
  // `checked`: known texts are written again and compared.
  explicit Shaders(bool checked = false) : checked_(checked) {}
  bool checked() const { return checked_; }

  struct Written {
    std::shared_ptr<const Shader> shader;
    glsl::Arguments arguments;
  };
  // The shader of a form; `write` makes it the first time.
  const Written& find(Form form, const std::function<Written()>& write);

 private:
  bool checked_;
  std::unordered_map<Form, Written, Form::Hash> known_;
};

}  // namespace sg
