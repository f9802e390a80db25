// The second half of compile.cpp: one instruction to one call, with places for operands and results.
// Slot numbers are provisional until compile.cpp knows how many cells and registers there are.
#pragma once
#include <vector>

#include "device/cpu/values.hpp"

namespace sg::cpu {

inline constexpr int32_t kCell = 1 << 20, kRegister = 1 << 21;  // provisional slots start here

struct Node {  // a call to be
  int32_t instr;
  int32_t inner = -1;  // the instruction fused into it
};

struct RowLoad {  // a load_at of elements in a row: both instructions, or none
  int32_t start = -1, position = -1;
};

struct Register {
  int size;                                                               // bytes of an element
  enum class Holds : uint8_t { block, row, units } holds = Holds::block;  // units: one value for each of a tile
};

struct OperandSlot {  // of an operand
  int32_t slot;
  bool scalar;
};

class CallEmitter {
 public:
  CallEmitter(const Program& program, Executable& e, Values& values)
      : p_(program), e_(e), values_(values.of), table_(blocks()) {}

  int32_t new_cell(Number n = {});
  int32_t new_register(int size, Register::Holds holds = Register::Holds::block);
  RowLoad row_load_of(int32_t i) const;
  bool in_tile(int32_t i) const { return instr(i).code == Code::load && view_of(i).transposed; }
  int32_t temporary(int size);  // until released
  void release(int32_t slot);

  void load(int32_t i, std::vector<Op>& ops);
  void alu(const Node& node, std::vector<Op>& ops);
  void store(int32_t i, std::vector<Op>& ops);
  bool can_fold_products(int32_t i) const;  // a fold of a product: one loop does both
  void fold(int32_t i, Phase& out, bool products);

  std::vector<Register> registers;

 private:
  const Instr& instr(int32_t i) const { return p_.code[i]; }
  const ViewUse& view_of(int32_t i) const { return e_.views[instr(i).slot]; }
  void load_at(int32_t i, std::vector<Op>& ops);
  int64_t unit_step(int32_t i) const;
  void store_at(int32_t i, std::vector<Op>& ops);
  void sum_rows(int32_t i, std::vector<Op>& ops);
  OperandSlot operand(int32_t i, bool ahead, std::vector<Op>& ops);
  int32_t as_vector(int32_t slot, DType t, std::vector<Op>& ops, std::vector<int32_t>& used, bool ahead = false);
  int32_t as_int64(int32_t operand, std::vector<Op>& ops);

  const Program& p_;
  Executable& e_;
  std::vector<Value>& values_;
  const BlockTable& table_;
  std::vector<int32_t> free_[9];  // temporaries by size
};

}  // namespace sg::cpu
