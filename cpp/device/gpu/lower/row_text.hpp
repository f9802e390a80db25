// The text of a row kernel. rows.cpp decides the shape, RowText writes it.
#pragma once
#include <set>
#include <string>
#include <vector>

#include "device/gpu/lower/glsl_kernel.hpp"

namespace sg::glsl {

// Chosen by rows.cpp from the program, the strides and the device; the text follows from it and the layout alone.
struct RowShape {
  bool general = false;                          // lanes and rows are arguments, nothing is kept in registers
  bool adjacent = false;                         // neighbouring threads work on neighbouring rows, not columns
  bool in_registers = false;                     // values for later phases stay in registers; one tile covers the row
  bool lean = false;                             // values that are cheap to compute or load again are not kept
  bool late_stores = false;                      // elements are stored only in the last phase
  bool shuffles = false;                         // lanes exchange values through their subgroup, in eights
  int width = 1;                                 // columns per load: 1 or 4
  bool singly = false;                           // a lane has four columns at a time, but loads them one by one
  int64_t lanes = 1, rows = 256, threads = 256;  // threads of a row; rows and threads of a workgroup
  int64_t items = 1;                             // loads that a lane has in flight
  std::vector<std::set<int32_t>> needed;         // by phase: the element values it needs
  std::vector<std::vector<int32_t>> roots;       // by phase: its reduces and element stores
  std::set<int32_t> kept;                        // element values that a later phase reads
  std::set<int32_t> cached;  // loads of values that all rows share: repeated in each phase, at their use
  std::vector<int> first;    // the first phase that computes a value; -1: none
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
  std::string step_of_lane() const;
  void phase(int phase);
  void tile_loads(int phase);
  void tile_code(int phase);
  void element_value(int phase, int32_t id);
  void accumulate(int32_t id);
  void fold(int32_t id);
  void open_items();
  void close_items();
  bool fresh(int phase, int32_t id) const;          // computed in this phase, not kept from an earlier one
  std::string loaded(int phase, int32_t id) const;  // the array that a load of this phase fills
  bool four(int view) const;                        // loaded in steps of four
  int partials() const;
  bool folds_lanes() const { return s_.general || s_.lanes > 1; }
  std::string lane_of(const std::string& array, bool vector) const;
  std::string load_here(int32_t id);
  std::string place(int view);  // the element's index at the current column
  std::string array_type(DType t) const;

  const Layout& l_;
  const Program& p_;
  const RowShape& s_;
  Arguments& args_;
  Writer w_;
  Body body_;
  std::vector<std::string> coords_;  // names of the coordinates of the row and of the current element
  std::set<int> based_;              // views with a variable for the offset of the row
};

}  // namespace sg::glsl
