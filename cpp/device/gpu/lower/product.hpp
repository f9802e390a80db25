// What the lowering of products on float32 arithmetic and on matrix units share.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "device/gpu/lower/glsl_kernel.hpp"
#include "device/gpu/lower/shaders.hpp"

namespace sg::glsl {

// void epilogue(uint batch, uint m, uint n, ...): takes `width` sums, 4 or 1, and does what follows the product.
std::string write_epilogue(Arguments& args, const Layout& layout, int width);

// How the device's matrix units multiply: the kernel's specialization constants, and what its text depends on.
struct MatrixProduct {
  MatrixUnits::Path path;
  std::vector<uint32_t> constants;
  bool even;    // rows and batches of both operands begin at multiples of 16 bytes
  bool stored;  // the epilogue has one result, a matrix with neighbouring columns
  int64_t groups;
  void add_to(Form& form) const;
};
// nullopt: they cannot take it.
std::optional<MatrixProduct> choose_matrix_product(const Product& product, const Layout& layout,
                                                   const Features& features);
Shaders::Written write_matrix_product(const Product& product, const Layout& layout,
                                      const std::vector<std::string>& fixed, const MatrixProduct& matrix,
                                      const Features& features);

}  // namespace sg::glsl
