// The text of a program's loads, arithmetic and stores, for one element or four at a time. The passes (pointwise.cpp,
// row_text.cpp, product.cpp) write the loops around it.
#include "device/gpu/lower/glsl_kernel.hpp"

namespace sg::glsl {

using Entry = Arguments::Entry;

// Where a stride is negative, the view's offset is added here; otherwise it is part of the address.
std::string Body::offset(int view, const std::vector<std::string>& coords, int last) {
  const std::string steps = along(view, coords, 0, last);
  if (!layout_.negative(view)) return steps;
  const std::string begin = args_.use(Entry::offset, view);
  return steps == "0" ? begin : begin + " + " + steps;
}

std::string Body::along(int view, const std::vector<std::string>& coords, int first, int last) {
  std::string s;
  for (int d = first; d < last; ++d) {
    if (layout_.zero(view, d)) continue;
    s += (s.empty() ? "" : " + ") + coords[d];
    if (!layout_.unit(view, d)) s += " * " + args_.use(Entry::stride, view, d);
  }
  return s.empty() ? "0" : s;
}

std::string Body::index_value(int view, const std::vector<std::string>& coords, int last) {
  std::string s = args_.use(Entry::index_offset, view);
  for (int d = 0; d < last; ++d) {
    if (layout_.zero(view, d)) continue;
    s += " + int64(" + coords[d] + ")";
    if (!layout_.unit(view, d)) s += " * " + args_.use(Entry::index_stride, view, d);
  }
  return s;
}

std::string Body::number(int32_t id) {
  const Instr& i = layout_.program().code[id];
  return args_.use(Entry::number, i.slot, static_cast<int>(i.dtype));
}

// Quotients and remainders by the sizes, from the last dimension on; the first one needs no division.
std::vector<std::string> Body::coordinates(const std::string& number, int first, int last) {
  std::vector<std::string> c(static_cast<size_t>(layout_.program().domain.rank));
  if (last - first == 1) {
    c[first] = number;
    return c;
  }
  std::string rest = number;
  for (int d = last - 1; d > first; --d) {
    const std::string size = args_.use(Entry::size, d), name = "c" + std::to_string(d);
    const std::string next = "rest" + std::to_string(d);
    if (layout_.wide)
      w_.line("const Index " + name + " = " + rest + " % " + size + ", " + next + " = " + rest + " / " + size + ";");
    else
      w_.line("const uint " + next + " = quotient(" + rest + ", " + args_.use(Entry::divisor, d) + "), " + name +
              " = " + rest + " - " + next + " * " + size + ";");
    c[d] = name;
    rest = next;
  }
  c[first] = rest;
  return c;
}

std::string Body::reference(int view, int width, const std::string& index) {
  return element(layout_.program().views[view].dtype, width, layout_.wide, tensor(view), index);
}

std::string Body::value(int32_t id) const {
  const Instr& i = layout_.program().code[id];
  return i.code == Code::constant ? literal(i.dtype, i.imm) : "v" + std::to_string(id);
}

void Body::use_status() {
  const Program& p = layout_.program();
  if (p.checks() || p.guards()) args_.use(Entry::status);
  for (int k = 1; k <= p.checks(); ++k) args_.use(Entry::check, k);
  for (int k = 1; k <= p.guards(); ++k) args_.use(Entry::guard, k);
}

void Body::begin_main() {
  use_status();
  if (layout_.program().guards()) w_.line("read_failures(status);");
}

void Body::end_main() {
  for (int k = 1; k <= layout_.program().checks(); ++k) w_.line(report(k));
}

std::string Body::report(int check) {
  return "report_index(status, " + std::to_string(check) + ", " + args_.use(Entry::check, check) + ");";
}

std::string Body::unless_kept(const Instr& store) {
  return store.imm.i ? "if (!is_kept(" + args_.use(Entry::guard, static_cast<int>(store.imm.i)) + ")) " : "";
}

std::string Body::checked_where(const std::string& condition, int32_t id) {
  const Instr& i = layout_.program().code[id];
  return expression(layout_.program(), i,
                    [&](int32_t o) { return o == i.a ? "(" + condition + " ? " + value(o) + " : 0l)" : value(o); });
}

void Body::alu(int32_t id) {
  const Instr& i = layout_.program().code[id];
  if (i.code == Code::load_at) {
    w_.line(std::string("const ") + type_name(i.dtype) + " v" + std::to_string(id) + " = " +
            load(i.dtype, 1, reference(i.slot, 1, "Index(" + value(i.a) + ")")) + ";");
    return;
  }
  if (i.code == Code::store_at) {
    const std::string unless = unless_kept(i);
    w_.line(unless + "if (" + value(i.b) + " >= 0l) " + reference(i.slot, 1, "Index(" + value(i.b) + ")") + " = " +
            stored(i.dtype, 1, value(i.a)) + ";");
    return;
  }
  const std::string text = expression(layout_.program(), i, [&](int32_t o) { return value(o); });
  w_.line(temporary(i.dtype) + " v" + std::to_string(id) + " = " + text + ";");
}

// All loads come before any arithmetic, so that they are in flight together.
void Body::pointwise_inputs(int width, const std::vector<std::string>& coords,
                            const std::map<int, std::string>& given) {
  const Program& p = layout_.program();
  const int rank = p.domain.rank;
  for (size_t n = 0; n < p.code.size(); ++n) {
    const Instr& i = p.code[n];
    const std::string id = std::to_string(n);
    if (i.code == Code::load && !given.count(i.slot)) {
      const bool four = width == 4 && !layout_.zero(i.slot, rank - 1);
      const std::string from = reference(i.slot, four ? 4 : 1, offset(i.slot, coords, rank));
      w_.line(std::string("const ") + (four ? vector_name(i.dtype) : type_name(i.dtype)) + (four ? " in" : " v") + id +
              " = " + load(i.dtype, four ? 4 : 1, from) + ";");
    } else if (i.code == Code::index) {
      w_.line("const int64 " + std::string(width == 4 ? "first" : "v") + id + " = " +
              index_value(i.slot, coords, rank) + ";");
    } else if (i.code == Code::number && width == 4) {
      w_.line(std::string("const ") + type_name(i.dtype) + " v" + id + " = " + number(static_cast<int32_t>(n)) + ";");
    } else if (i.code == Code::store && width == 4) {
      w_.line(std::string(vector_name(i.dtype)) + " out" + id + ";");
    }
  }
}

// Whether the random words of four elements are one block of the generator, computed at once.
bool Body::of_a_block(const Instr& i) const {
  if (i.code != Code::random_normal && i.code != Code::random_bits) return false;
  const Program& p = layout_.program();
  const Instr &index = p.code[i.a], &seed = p.code[i.b], &offset = p.code[i.c];
  const auto ready = [](const Instr& o) { return o.code == Code::number || o.code == Code::constant; };
  return index.code == Code::index && ready(seed) && ready(offset) && layout_.in_fours(index.slot) &&
         !layout_.zero(index.slot, p.domain.rank - 1);
}

void Body::blocks() {
  const Program& p = layout_.program();
  for (size_t n = 0; n < p.code.size(); ++n) {
    const Instr& i = p.code[n];
    if (!of_a_block(i)) continue;
    w_.line(std::string("const ") + vector_name(i.dtype) + " four" + std::to_string(n) + " = alu_" + name_of(i.code) +
            "4(first" + std::to_string(i.a) + ", " + value(i.b) + ", " + value(i.c) + ");");
  }
}

// The arithmetic of one element. With four, it stands in a loop over l, and vectors are indexed by l.
void Body::pointwise_code(int width, const std::map<int, std::string>& given) {
  const Program& p = layout_.program();
  const int last = p.domain.rank - 1;
  for (size_t n = 0; n < p.code.size(); ++n) {
    const Instr& i = p.code[n];
    const std::string id = std::to_string(n), name = std::string("const ") + type_name(i.dtype) + " v" + id + " = ";
    if (i.code == Code::load) {
      const auto it = given.find(i.slot);
      if (it != given.end())
        w_.line(name + it->second + (width == 4 ? "[l];" : ";"));
      else if (width == 4 && !layout_.zero(i.slot, last))
        w_.line(name + "in" + id + "[l];");
      else if (width == 4)
        continue;
    } else if (i.code == Code::index) {
      if (width == 4)
        w_.line(name + "first" + id +
                (layout_.zero(i.slot, last)   ? ";"
                 : layout_.unit(i.slot, last) ? " + l;"
                                              : " + l * " + args_.use(Entry::index_stride, i.slot, last) + ";"));
    } else if (i.code == Code::number) {
      if (width == 1) w_.line(name + number(static_cast<int32_t>(n)) + ";");
    } else if (i.code == Code::store) {
      if (width == 4) w_.line("out" + id + "[l] = " + value(i.a) + ";");
    } else if (width == 4 && of_a_block(i)) {
      w_.line(name + "four" + id + "[l];");
    } else if (i.code > Code::reduce) {
      alu(static_cast<int32_t>(n));
    }
  }
}

void Body::pointwise(int width, const std::vector<std::string>& coords, const std::map<int, std::string>& given) {
  const Program& p = layout_.program();
  pointwise_inputs(width, coords, given);
  if (width == 4) blocks();
  if (width == 4) w_.open("[[unroll]] for (uint l = 0; l < 4; ++l)");
  pointwise_code(width, given);
  if (width == 4) w_.close();
  for (size_t n = 0; n < p.code.size(); ++n) {
    const Instr& i = p.code[n];
    if (i.code != Code::store) continue;
    const std::string what = width == 4 ? "out" + std::to_string(n) : value(i.a);
    const auto to = given.find(i.slot);
    const std::string unless = unless_kept(i);
    if (to != given.end())
      w_.line(to->second + " = " + what + ";");
    else
      w_.line(unless + reference(i.slot, width, offset(i.slot, coords, p.domain.rank)) + " = " +
              stored(i.dtype, width, what) + ";");
  }
}

}  // namespace sg::glsl
