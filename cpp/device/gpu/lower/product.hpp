// What the lowering of products on float32 arithmetic and on matrix units share.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "device/gpu/lower/glsl_kernel.hpp"
#include "device/gpu/lower/shaders.hpp"

namespace sg::glsl {

// The words of a product's arguments that do not follow from its epilogue.
struct FixedWords {
  std::vector<std::string> names;
  std::vector<ArgWord> words;
  void add(std::string name, const ArgWord& word) {
    names.push_back(std::move(name));
    words.push_back(word);
  }
  void declare(Arguments& args) const {
    for (size_t i = 0; i < words.size(); ++i) args.fixed(names[i], words[i].kind == ArgWord::Kind::address);
  }
};

// The address of an element.
ArgWord operand(const Instance& in, DType dtype, int32_t binding, int64_t offset);

// void epilogue(uint batch, uint m, uint n, ...): takes `width` sums, 4 or 1, and does what follows the product.
std::string write_epilogue(Arguments& args, const Layout& layout, int width);
// What the epilogue's checks do at the end, as a macro.
std::string reports(Arguments& args, const Layout& layout);

// An operand b whose elements are neighbours along k for `length` of them; the next ones are those of `shift` columns
// further on: the rows of a convolution's taps.
struct ShiftedRows {
  int64_t length, shift;
};
// Those that matrix units of the path cm2 read as they are.
std::optional<ShiftedRows> shifted_rows_of(const Product& product, const Features& features);
// The product as if it had one row of all elements.
Product as_one_row(const Product& product);

// How the device's matrix units multiply: the kernel's specialization constants, and what its text depends on.
struct MatrixProduct {
  MatrixUnits::Path path;
  std::vector<uint32_t> constants;
  int planes;    // of operands that were float32; 0: they are halves
  bool even;     // rows and batches of both operands begin at multiples of 16 bytes
  bool stored;   // the epilogue has one result, a matrix with neighbouring columns
  bool shifted;  // b begins anew after some elements of k (ShiftedRows)
  int64_t groups;
  uint32_t unroll = 1;   // steps along k in a row; for the path cm2, as the next two
  bool rest = false;     // steps may remain behind them
  bool general = false;  // a kernel that is compiled more quickly, and runs more slowly, than that of Fit::special
  void add_to(Form& form) const;
};
// nullopt: they cannot take it.
std::optional<MatrixProduct> choose_matrix_product(const Product& product, const Layout& layout,
                                                   const Features& features, Fit fit);
Shaders::Written write_matrix_product(const Product& product, const Layout& layout, const FixedWords& fixed,
                                      const MatrixProduct& matrix, const Features& features);

// The product of a convolution with few channels a group.
Lowered lower_grouped(const Step& step, const Layout& layout, const Features& features, Shaders& shaders);

// Whether neighbours in memory of an operand that walks lie along k rather than along the other side.
bool a_runs_along_k(const Product& product);
bool b_runs_along_k(const Product& product);
// What product_operands.glsl is told: which operands walk, and of what the columns are.
struct Walks {
  bool a, b, narrow, folded, one_column;
  Walks(const Product& product, const Layout& layout);
  bool any() const { return a || b; }
  void add_to(Form& form) const { form.add({a, b, narrow, folded, one_column}); }
  std::string flags() const;
};

}  // namespace sg::glsl
