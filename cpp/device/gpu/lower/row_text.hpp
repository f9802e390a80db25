// The text of a row kernel. rows.cpp decides the shape, RowText writes it.
#pragma once
#include <set>
#include <string>
#include <vector>

#include "device/gpu/lower/glsl_kernel.hpp"

namespace sg::glsl {

struct RowShape {
  bool general = false;                          // lanes and rows are arguments, nothing waits in registers
  bool adjacent = false;                         // neighbouring threads are neighbouring rows, not columns
  bool in_registers = false;                     // values wait for later phases in registers; one tile covers the row
  bool lean = false;                             // what is cheap to compute or to load again is not kept
  bool late_stores = false;                      // element stores only in the last phase
  bool shuffles = false;                         // lanes fold by exchanging values, eight at a time
  int width = 1;                                 // columns of one load
  int64_t lanes = 1, rows = 256, threads = 256;  // of a row, of a workgroup, of a workgroup
  int64_t items = 1;                             // loads a lane has in flight
  std::vector<std::set<int32_t>> needed;         // by phase: element values
  std::vector<std::vector<int32_t>> roots;       // by phase: reduces and element stores
  std::set<int32_t> kept;                        // element values that cross into a later phase
  std::set<int32_t> cached;                      // loads of what is the same in all rows: again in each phase, at use
  std::vector<int> first;                        // phase that makes a value first, -1: none
};

class RowText {
 public:
  RowText(const Layout& layout, Arguments& arguments, const RowShape& shape)
      : l_(layout), p_(layout.program()), s_(shape), args_(arguments), body_(w_, arguments, layout) {}
  std::string write();

 private:
  std::string folds();
  void fold_shared(Writer& w, const Instr& i, const std::string& array) const;
  void fold_shuffled(Writer& w, const Instr& i, const std::string& array) const;
  void fold_shared_general(Writer& w, const Instr& i, const std::string& array) const;
  void fold_shuffled_general(Writer& w, const Instr& i, const std::string& array) const;
  std::string shared_place(const std::string& array, const std::string& lane) const;
  std::string head();
  std::string fold_name(const Instr& i) const;
  void row_head();
  void row_values(int phase);
  void row_stores();
  void row_loop();
  void begin_sums();
  void store_sums();
  void phase(int phase);
  void tile_loads(int phase);
  void tile_code(int phase);
  void element_value(int phase, int32_t id);
  void accumulate(int32_t id);
  void fold(int32_t id);
  void open_items();
  void close_items();
  bool fresh(int phase, int32_t id) const;          // made in this phase, not taken over
  std::string loaded(int phase, int32_t id) const;  // name of the array that a load of this phase fills
  bool four(int view) const;                        // loaded in steps of four
  int partials() const;
  bool folds_lanes() const { return s_.general || s_.lanes > 1; }
  std::string lane_of(const std::string& array, bool vector) const;
  std::string load_here(int32_t id);
  std::string place(int view);  // element number at the current column
  std::string array_type(DType t) const;

  const Layout& l_;
  const Program& p_;
  const RowShape& s_;
  Arguments& args_;
  Writer w_;
  Body body_;
  std::vector<std::string> coords_;  // names of the row's coordinates, and of the element's at hand
  std::set<int> based_;              // views whose row has an offset of its own
};

}  // namespace sg::glsl
