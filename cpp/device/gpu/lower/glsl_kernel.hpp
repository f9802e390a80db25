// What the lowering passes share: a step made ready (Layout), its argument block (Arguments), and the text of a
// kernel's body (Body). Pure; lower.cpp picks the pass: pointwise, rows or product.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "device/gpu/lower/glsl.hpp"
#include "device/gpu/lower/lower.hpp"

namespace sg::glsl {

// The instances of a step with their programs collapsed, and the facts about strides on which the source depends. A
// fact holds if it holds in every instance.
struct Layout {
  std::vector<const Instance*> instances;
  std::vector<Program> programs;  // of the instances, all of one rank
  int piece_dim = -1;             // the outer dimension that counts pieces
  bool wide = false;              // an element number needs more than 31 bits
  std::vector<bool> backwards;    // of each view: whether some stride is negative

  const Program& program() const { return programs.front(); }
  bool zero(int view, int dim) const;  // stride 0
  bool unit(int view, int dim) const;  // stride 1
  // Whether a stride is negative; the offset is then not part of the address.
  bool negative(int view) const { return backwards[static_cast<size_t>(view)]; }
  bool has_memory(int view) const { return program().views[view].binding >= 0; }
  void find_width();  // sets `wide` and `backwards`
  // True when `view` may be read in steps of four along the last dimension, element 0 of a step at a multiple of four.
  bool in_fours(int view) const;
};

// The argument block of one instance: words are added as the text asks for them.
// Words are laid out in the order of their first use, so equal texts have equal layouts; words() then reads the values
// of one instance in that order.
class Arguments {
 public:
  enum class Entry : uint8_t {
    count,
    rows,
    columns,
    size,
    divisor,  // a size, as quotient() in common.glsl wants it
    stride,
    offset,
    tensor,
    index_stride,
    index_offset,
    number,
    status,
    check,
    guard,
    pieces,
    part_rows,
    fixed
  };
  std::string use(Entry entry, int a = 0, int b = 0);
  // A word that does not follow from the layout: an address or a number.
  void fixed(const std::string& name, bool address);
  std::vector<ArgWord> words(const Layout& layout, size_t instance, const std::vector<ArgWord>& fixed = {}) const;
  // "#define size_1 Index(argument(3))", one a line.
  std::string macros(const Program& p, bool wide) const;
  size_t size() const { return slots_.size(); }

 private:
  struct Slot {
    Entry entry;
    int a, b;
    std::string name;
  };
  static ArgWord word(const Slot& s, const Layout& layout, size_t instance);
  std::vector<Slot> slots_;
  int fixed_ = 0;
};

// Writes instructions of a program; the passes decide where loops begin.
class Body {
 public:
  Body(Writer& writer, Arguments& arguments, const Layout& layout) : w_(writer), args_(arguments), layout_(layout) {}

  // "offset0 + c0 * stride0_0 + c1": the element number of `view` at the coordinates of dimensions [0, last), the
  // others 0.
  std::string offset(int view, const std::vector<std::string>& coords, int last);
  // The part of it that dimensions [first, last) contribute.
  std::string along(int view, const std::vector<std::string>& coords, int first, int last);
  // The value of a view without memory, in 64 bits.
  std::string index_value(int view, const std::vector<std::string>& coords, int last);
  std::string tensor(int view) { return args_.use(Arguments::Entry::tensor, view); }
  std::string number(int32_t id);
  // const Index c0 = ...: splits a number that runs over dimensions [first, last).
  std::vector<std::string> coordinates(const std::string& number, int first, int last);
  std::string reference(int view, int width, const std::string& index);
  // The name of a value: constants are written out.
  std::string value(int32_t id) const;
  void alu(int32_t id);  // "precise float v7 = v3 * v5;"
  // What the checks and guards of the program read, and what begins and ends main().
  void use_status();
  void begin_main();
  void end_main();
  std::string report(int check);
  // "if (!is_kept(guard1)) " before a store that a failure may keep from being done.
  std::string unless_kept(const Instr& store);
  // check_index as an expression; where the condition does not hold, of 0
  std::string checked_where(const std::string& condition, int32_t id);

  // All of a pointwise program at one place: `width` elements from `coords` on. `given`: views that are variables.
  void pointwise(int width, const std::vector<std::string>& coords, const std::map<int, std::string>& given = {});

 private:
  void pointwise_inputs(int width, const std::vector<std::string>& coords, const std::map<int, std::string>& given);
  bool of_a_block(const Instr& i) const;
  void blocks();
  void pointwise_code(int width, const std::map<int, std::string>& given);
  Writer& w_;
  Arguments& args_;
  const Layout& layout_;
};

// Text in front of every kernel: comment, version, `defines` for common.glsl, includes, argument macros.
std::string preamble(const std::string& kind, const Layout& layout, const Arguments& arguments, bool several,
                     const Features& features, bool staged = false, const std::string& defines = "");
bool uses(const Program& p, DType t);
bool uses_code(const Program& p, Code c);

// The passes.
Lowered lower_pointwise(const Step& step, const Features& features, Shaders& shaders);
// The dimension along which some tensors are contiguous, although the kernel writes along the last one; -1: none, or
// not worth it.
int transposed_dimension(const Layout& layout);
Lowered lower_transposed(const Step& step, const Layout& layout, int along, const Features& features, Shaders& shaders);
Lowered lower_rows(const Step& step, const Features& features, Fit fit, Shaders& shaders);
Lowered lower_product(const Step& step, const Features& features, Fit fit, Shaders& shaders);
Lowered lower_custom(const Step& step, const Features& features, Shaders& shaders);

// The tile of shaders/product.glsl that fits a product and the device.
ProductTile choose_product(int64_t m, int64_t n, int64_t k, int64_t batch, DType dtype, const Features& features);

}  // namespace sg::glsl
