// A Program made ready for the block interpreter: which axis the blocks run along, where every value lives, and one
// short list of calls for each phase. compile.cpp makes it in prepare(), interpret.cpp runs it without allocating.
//
// The domain is split in three groups of dimensions:
//   unit     what is handed to threads: outer coordinates
//   lane     what a block covers: the elements of a pointwise program or of a row (across == false),
//            or one outer dimension, so that a block handles many rows at once (across == true)
//   column   only when across: the inner dimensions, walked one column at a time
// Several threads may run one Executable at once; it does not change, except for the cells of `numbers` between runs.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "device/cpu/blocks.hpp"
#include "kernel/program.hpp"

namespace sg::cpu {

inline constexpr int64_t kTile = 16;     // units that read a transposed operand together
inline constexpr int64_t kRowTile = 64;  // units whose rows at computed places are found together

// One call of a loop. Operands are slots: a slot holds the pointer of a register, a cell or a place in memory.
struct Op {
  enum class What : uint8_t {
    call,       // fn(d, a, b, c)
    strided,    // fn(d, a, the lane step of the view): gather, scatter, iota
    down,       // the same from unit to unit of a tile
    walk_load,  // like strided, run by run of the last lane dimension
    walk_store,
    run,        // fn(d, a + (b + position of the view), its lane step): elements in a row from a computed place on
    transpose,  // of a tile of units; the first of them fills the tile, the others find their row there
  };
  Fn fn = nullptr;
  What what = What::call;
  bool single = false;  // one value instead of a block
  uint8_t size = 4;     // walks: bytes of a register's element
  int32_t d = 0, a = 0, b = 0, c = 0;
  int32_t view = -1;  // index into Executable::views, for all but calls
};

struct FoldOp {
  Fold fold = Fold::sum;
  DType dtype = DType::float32;
  int32_t value = 0;   // slot
  int32_t other = -1;  // slot: the sum is that of their products
  bool scalar = false;
  FoldFn along = nullptr;  // across == false: a block to one number
  RowsFn rows = nullptr;   // folds_rows: rows to one number each
  Fn lanewise = nullptr;   // across == true: total[i] = fold(total[i], value[i])
  Fn fill = nullptr;
  int32_t result = 0;    // slot: a cell, or a register of lanes
  int32_t partial = -1;  // across sums: a register that is added to the result every few columns
  Number identity{};
};

struct Phase {
  std::vector<Op> row;  // once a row (across: once a block of rows)
  std::vector<Op> element;
  std::vector<FoldOp> folds;
};

struct ViewUse {
  int32_t binding = -1;
  int32_t size = 4;         // bytes; 1 for an index view, whose "address" is its value
  int64_t offset = 0;       // elements
  Dims unit, lane, column;  // byte strides
  int64_t lane_step = 0;    // bytes from lane to lane when !walk
  bool walk = false;        // the lane dimensions do not have one common stride
  int64_t part = 0;         // sums over rows: bytes from part to part
  bool streams = false;     // written past the caches
  bool transposed = false;  // elements of successive units lie side by side, those of a block do not: read in tiles
};

struct Advance {  // added to a slot when the block (or column, or row of a tile) is done
  int32_t slot;
  int64_t bytes;
};

struct Fetch {  // a run whose memory is asked for some rows before it is read
  Op run;
  int64_t start_step, position_step;  // from row to row: bytes of the slot of its start, elements of its position
};

struct NextRow {  // the same for a row that lies so many bytes behind the present one
  int32_t slot;
  int64_t step, bytes;
};

struct NumberUse {
  int32_t cell, number;  // number: which argument of the program
  DType dtype;
};

struct CheckUse {
  int32_t cell, number;  // number: which check of the program, from 1 on
};

constexpr int64_t kLanesBytes = kFoldLanes * static_cast<int64_t>(sizeof(double));

struct Executable {
  Dims unit_dims, lane_dims, column_dims;
  bool pointwise = false, across = false;
  bool folds_rows = false;  // across, and rows are folded where they lie, one after the other
  bool adds_runs = false;   // in the order of a block across rows: runs of sum_run columns, each column after the other
  int64_t units = 1, lanes = 1, columns = 1;
  int piece_dim = -1;  // unit dimension that counts pieces
  int64_t piece_limit = 0, piece_size = 0, piece_rest = 1;
  int64_t part_rows = 0;  // units that add up their sum_rows
  int64_t block = 1024;   // lanes in a block
  int64_t sum_run = 0;    // across: columns added before the partial sum goes to the total
  int64_t cost = 1;       // about how many cheap loops pass over an element
  int64_t tile = 1;       // units that read a tile together
  bool streams = false;   // some view does

  std::vector<ViewUse> views;
  std::vector<Number> cells;  // constants, numbers, and one value a row
  std::vector<NumberUse> numbers;
  std::vector<CheckUse> checks;
  std::vector<Op> setup;  // what depends on constants and numbers only
  std::vector<Op> ahead;  // where the runs of a tile of units begin, once a tile: a block of its values is one a unit
  std::vector<Fetch> fetches;
  std::vector<NextRow> next_rows;  // of rows that are one block and have several phases
  std::vector<Phase> phases;

  int32_t slots = 0;  // views, then cells, then registers
  int32_t first_cell = 0, first_register = 0;
  std::vector<int32_t> moving;                     // slots of registers that move: of a whole row, of a tile's units
  std::vector<int64_t> registers;                  // byte offset of each in the frame
  std::vector<Advance> block_steps;                // added to slots after a block (across: after a column)
  std::vector<Advance> unit_steps;                 // after a unit of a tile
  std::vector<std::vector<Advance>> column_steps;  // across: for each column dimension, when it is the one that moves
  int64_t frame_bytes = 0;
  int64_t width() const { return std::min(block, std::max<int64_t>(lanes, 1)); }  // elements of a register
  int64_t state_offset = 0, lanes_offset = 0;  // in the frame: of folds along a row, and of what they leave open

  int64_t bytes() const;  // that its lists take, about
};

// Its bits as type t, in the low bytes.
inline Number cell_of(DType t, Number n) {
  Number cell{};
  switch (t) {
    case DType::boolean: {
      const uint8_t v = n.i != 0;
      std::memcpy(&cell, &v, 1);
      break;
    }
    case DType::int32: {
      const auto v = static_cast<int32_t>(n.i);
      std::memcpy(&cell, &v, 4);
      break;
    }
    case DType::int64:
      cell.i = n.i;
      break;
    case DType::float32: {
      const auto v = static_cast<float>(n.f);
      std::memcpy(&cell, &v, 4);
      break;
    }
    case DType::float64:
      cell.f = n.f;
      break;
    default:  // no constant has a narrow type
      break;
  }
  return cell;
}

struct CompileOptions {
  const std::vector<int32_t>* memory_of = nullptr;  // binding -> memory; equal ones may overlap. Null: all may
  bool tile = false;  // pointwise over [batch, m, n], lanes = n: the epilogue of a product
};
// LimitError when there is no loop for an instruction.
Executable compile(const Program& program, const CompileOptions& options);

// The part of the work that one call covers. lane_end < 0: all lanes.
struct WorkRange {
  int64_t unit_begin = 0, unit_end = 0, lane_begin = 0, lane_end = -1;
};
// bases[v]: address of element 0 of view v (the binding's run-time offset included, the view's own not).
void run_range(const Executable& e, char* const* bases, const WorkRange& range);
// Everything, on all threads when that pays.
void run_all(const Executable& e, char* const* bases);

}  // namespace sg::cpu
