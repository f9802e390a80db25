// Which tile a product on matrix units uses. The scheduler asks too: it writes float32 operands as halves only where a
// kernel will take them.
#pragma once
#include <cstdint>

#include "kernel/features.hpp"

namespace sg {

constexpr uint32_t kWorkgroupStep = 64;  // along k, of all tiles of the path cm2

// What the choice depends on.
struct MatrixProblem {
  MatrixUnits units;
  int64_t m, n, k, batch;     // n: of all columns that are one product
  int planes;                 // of operands that were float32; 0: they are halves
  bool a_along_k, b_along_k;  // which way neighbours in memory run
  bool walks;                 // an operand has no one stride along k
};

// The quickest that fits; null: none does.
const MatrixTile* choose_matrix_tile(const MatrixProblem& problem, const Features& features);

// How the subgroups of a workgroup share a tile of the path cm1: in rows of as many or half as many.
uint32_t rows_of_subgroups(uint32_t subgroups);

}  // namespace sg
