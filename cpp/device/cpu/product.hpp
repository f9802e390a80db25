// Matrix products on the CPU: tiles of the result for the threads, the epilogue over each tile while it is in cache.
// Float products are our own packed kernels (gemm_isa.hpp). The order of the sums does not depend on the tiles, so
// results are the same for any number of threads.
#pragma once
#include <memory>
#include <vector>

#include "device/cpu/compiled.hpp"
#include "device/cpu/executable.hpp"
#include "device/cpu/threads.hpp"
#include "kernel/kernel.hpp"

namespace sg::cpu {

struct ProductPlan {
  Product shape;       // its epilogue is compiled below
  GemmDigits inner;    // when an operand walks: of k, in both
  GemmDigits columns;  // and of n, in b
  bool k_in_rows = false;
  bool dots = false;
  enum class Store : uint8_t {
    direct,  // the epilogue only stores, or adds a row before: products go to their place
    tile,    // epilogue over each tile
    whole,   // epilogue over the finished product: rows with reductions
  } store = Store::direct;
  std::shared_ptr<Executable> epilogue;  // direct: none
  int32_t out_view = -1;                 // direct: the view that is stored to
  Dims out_strides;                      // direct: elements, [batch, m, n]
  int64_t out_offset = 0;
  int32_t bias_view = -1;  // direct: the row that is added, if there is one
  View bias;
  int64_t tile_m = 0, tile_n = 0, tiles_m = 0, tiles_n = 0;
};

// On the calling thread.
void multiply(DType dtype, GemmTile tile);
// TypeError for boolean products.
ProductPlan plan_product(const Product& product, const std::vector<int32_t>& memory_of, Compiled& compiled);
// The scratch memory that a product needs on the calling thread, and on each helping thread.
ScratchSizes scratch_of(const ProductPlan& plan);
ScratchSizes scratch_of_others(const ProductPlan& plan);
// a, b: element 0 of the operands' bindings; bases: of the epilogue's views (view 0 is the accumulator, ignored).
void run_product(const ProductPlan& plan, const char* a, const char* b, std::vector<char*>& bases);

}  // namespace sg::cpu
