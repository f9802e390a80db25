// What the block interpreter can do to a block: one table of loops for each instruction set, chosen at run time.
// compile.cpp picks entries when a plan is prepared, interpret.cpp and product.cpp call them. Any thread, no state but
// the status block. Must not know Programs: only codes, types and pointers.
#pragma once
#include <atomic>
#include <cstdint>

#include "base/dtype.hpp"
#include "kernel/gemm.hpp"
#include "kernel/lstm.hpp"
#include "kernel/program.hpp"

namespace sg {
// k as a number of several digits, the last one the fastest, with strides for a and for b.
struct GemmDigits {
  Dims sizes, a, b;
};
}  // namespace sg

namespace sg::cpu {

// d[i] = f(a[i], b[i], c[i]) for i < n; an operand marked scalar is read at index 0 only.
// d may be the same as an operand of the same size, never partly overlap one.
using Fn = void (*)(void* d, const void* a, const void* b, const void* c, int64_t n);
inline constexpr int kScalarA = 1, kScalarB = 2, kScalarC = 4;

// Elements that are added before the total takes them: its error grows with how many there are in a lane, not with the
// row.
inline constexpr int64_t kSumBlock = 1024;
inline constexpr int kFoldLanes = 64;    // partial results side by side
inline constexpr int64_t kShortRun = 8;  // elements of a short row that are added before the total takes them
// A running fold over blocks. Sums of floats add sums of kSumBlock elements in double with compensation; where blocks are
// shorter, `lanes` has the partial results of the first `open` elements.
struct FoldState {
  double sum, carry;
  int64_t integer;
  double extreme;
  void* lanes = nullptr;
  int64_t open = 0;
};
// `b`: of sums of products only. Without elements it adds what is open.
using FoldFn = void (*)(FoldState* state, const void* a, const void* b, int64_t n, bool scalar);
// d[i] = the fold of the `length` elements from a + i * step bytes on, begun with `start`, for i < n.
using RowsFn = void (*)(void* d, const void* a, int64_t step, int64_t length, const FoldState& start, int64_t n);

// Strides in bytes: from element to element of a row in the source, from row to row in the destination.
struct Transposed {
  int64_t stride, row, rows;
};

struct BlockTable {
  const char* name;
  // nullptr: no such loop (the caller then fills a register with the scalar, or fails).
  // `type` is that of the operands (select: of the values; cast: of the source), `to` the target of a cast.
  Fn (*alu)(Code code, DType type, DType to, int scalars);
  // The two instructions (a inner b) outer c, or c outer (a inner b) when flipped, in one pass; float types.
  Fn (*fused)(Code inner, Code outer, bool flipped, DType type, int scalars);
  Fn (*fill)(int size);        // d[i] = a[0]
  Fn (*stream)(int size);      // d[i] = a[i], past the caches; fence() before another thread reads
  Fn (*gather)(int size);      // d[i] = a[i * stride], the byte stride passed as b
  Fn (*scatter)(int size);     // d[i * stride] = a[i], the byte stride passed as b
  Fn (*transpose)(int size);   // a transposed tile: row u of d gets a[i * stride + u], see Transposed, passed as b
  Fn (*gather_at)(int size);   // d[i] = a[b[i]], b int64 in elements
  Fn (*scatter_at)(int size);  // d[b[i]] = a[i] where b[i] is not negative
  Fn iota;                     // int64: d[i] = (int64)a + i * (int64)b
  FoldFn (*fold)(Fold fold, DType type);
  FoldFn (*fold_products)(DType type);  // the sum of a[i] * b[i]; float types
  RowsFn (*fold_rows)(Fold fold, DType type,
                      bool runs);  // runs: sums of float types as across rows, kShortRun at a time
  void (*fence)();
  void (*lstm_forward)(DType type, const LstmPart& part);
  void (*lstm_backward)(DType type, const LstmPart& part);
  void (*gemm_f32)(const GemmTile&);  // its scratch holds gemm_scratch bytes
  void (*gemm_f64)(const GemmTile&);
  void (*dots_f32)(const GemmTile&);  // without scratch
  void (*dots_f64)(const GemmTile&);
  int gemm_rows, gemm_columns_f32;  // the register tile: blocks of a product should be multiples of it
  int64_t gemm_scratch;
};

#if SG_HAS_X86_ISAS
extern const BlockTable kBlocksAvx2, kBlocksAvx512;
#endif
extern const BlockTable kBlocksBaseline;
const BlockTable& blocks();  // the best that this machine has

// What the checks of a run have reported: the failures, and of each the first index (see Report in device.hpp).
struct StatusBlock {
  std::atomic<uint64_t> failed{0};
  struct {
    uint32_t reporter;
    int64_t index, bound;
  } reports[64];
};
constexpr int kMostRuns = 64;  // at once, each with the block of its number
extern StatusBlock status_blocks[kMostRuns];
// `word`: report_word(), with the number of the block in the bits from kBlockShift on.
constexpr int kBlockShift = 40;
void report_index(int64_t index, int64_t bound, uint64_t word);

}  // namespace sg::cpu
