// What the text of a kernel may assume about strides (Layout), and the words of its argument block with the macros that
// read them (Arguments). Knows no kind of kernel.
#include <algorithm>
#include <cstdlib>

#include "base/round.hpp"
#include "device/gpu/lower/glsl_kernel.hpp"

namespace sg::glsl {

bool Layout::zero(int view, int dim) const {
  return std::all_of(programs.begin(), programs.end(),
                     [&](const Program& p) { return p.views[view].strides[dim] == 0 || p.domain[dim] == 1; });
}

bool Layout::unit(int view, int dim) const {
  return std::all_of(programs.begin(), programs.end(),
                     [&](const Program& p) { return p.views[view].strides[dim] == 1; });
}

void Layout::find_width() {
  constexpr int64_t kLimit = INT64_C(2000000000);  // leaves room for a grid beyond the last element
  wide = false;
  backwards.assign(program().views.size(), false);
  for (const Program& p : programs) {
    wide = wide || p.domain.numel() > kLimit;
    for (size_t n = 0; n < p.views.size(); ++n) {
      const View& v = p.views[n];
      int64_t reach = std::max(std::abs(v.offset), v.reach);
      bool back = false;  // 32-bit sums would wrap around, and drivers (lavapipe, NVIDIA) compute such indices wrongly
      for (int d = 0; d < p.domain.rank; ++d) {
        reach += std::abs(v.strides[d]) * std::max<int64_t>(p.domain[d] - 1, 0);
        back = back || v.strides[d] < 0;
      }
      wide = wide || (v.binding >= 0 && (reach > kLimit || back));
      if (back) backwards[n] = true;
    }
  }
}

bool Layout::in_fours(int view) const {
  const int last = program().domain.rank - 1;
  if (zero(view, last)) return true;
  if (negative(view)) return false;
  return unit(view, last) && std::all_of(programs.begin(), programs.end(), [&](const Program& p) {
           const View& v = p.views[view];
           bool even = v.aligned && v.offset % 4 == 0;
           for (int d = 0; d < last; ++d) even = even && (v.strides[d] % 4 == 0 || p.domain[d] == 1);
           return even;
         });
}

std::string Arguments::use(Entry entry, int a, int b) {
  for (const Slot& s : slots_)
    if (s.entry == entry && s.a == a && s.b == b) return s.name;
  const std::string x = std::to_string(a), y = std::to_string(b);
  const std::string names[] = {"count",
                               "rows",
                               "columns",
                               "size" + x,
                               "divisor" + x,
                               "view" + x + "_stride" + y,
                               "view" + x + "_offset",
                               "view" + x,
                               "index" + x + "_stride" + y,
                               "index" + x + "_offset",
                               "number" + x,
                               "status",
                               "check" + x,
                               "guard" + x,
                               "piece_limit",
                               "part_rows"};
  slots_.push_back({entry, a, b, names[static_cast<int>(entry)]});
  return slots_.back().name;
}

void Arguments::fixed(const std::string& name, bool address) {
  slots_.push_back({Entry::fixed, fixed_++, address, name});
}

ArgWord Arguments::word(const Slot& s, const Layout& layout, size_t instance) {
  const Program& p = layout.programs[instance];
  const Instance& in = *layout.instances[instance];
  auto value = [](int64_t v) { return ArgWord{.value = v}; };
  switch (s.entry) {
    case Entry::count:
      return value(p.domain.numel());
    case Entry::rows:
      return value(p.rows());
    case Entry::columns:
      return value(p.columns());
    case Entry::size:
      return value(p.domain[s.a]);
    case Entry::divisor:
      return value(divisor_word(std::max<int64_t>(p.domain[s.a], 1)));
    case Entry::stride:
    case Entry::index_stride:
      return value(p.views[s.a].strides[s.b]);
    case Entry::offset:
    case Entry::index_offset:
      return value(p.views[s.a].offset);
    case Entry::pieces:
      return value(p.piece_limit);
    case Entry::part_rows:
      return value(p.part_rows);
    case Entry::tensor: {
      const View& v = p.views[s.a];
      const Binding& b = in.bindings[v.binding];
      const int64_t bytes = static_cast<int64_t>(size_of(v.dtype));
      return {.kind = ArgWord::Kind::address,
              .dtype = v.dtype,
              .memory = b.memory,
              .start = b.start,
              .value = layout.negative(s.a) ? 0 : v.offset * bytes,
              .element_bytes = bytes};
    }
    case Entry::number:
      return {.kind = ArgWord::Kind::number, .dtype = static_cast<DType>(s.b), .index = in.numbers[s.a]};
    case Entry::status:
      return {.kind = ArgWord::Kind::status};
    case Entry::check:
      return {.kind = ArgWord::Kind::node, .index = in.checks.at(static_cast<size_t>(s.a) - 1)};
    case Entry::guard:
      return {.kind = ArgWord::Kind::node, .index = in.guards.at(static_cast<size_t>(s.a) - 1)};
    case Entry::fixed:
      break;
  }
  return {};
}

std::vector<ArgWord> Arguments::words(const Layout& layout, size_t instance, const std::vector<ArgWord>& fixed) const {
  std::vector<ArgWord> out;
  out.reserve(slots_.size());
  for (const Slot& s : slots_)
    out.push_back(s.entry == Entry::fixed ? fixed.at(static_cast<size_t>(s.a)) : word(s, layout, instance));
  return out;
}

std::string Arguments::macros(const Program& p, bool wide) const {
  std::string text;
  for (size_t i = 0; i < slots_.size(); ++i) {
    const Slot& s = slots_[i];
    std::string read = "argument(" + std::to_string(i) + ")";
    std::string note;
    switch (s.entry) {
      case Entry::divisor:
        break;
      case Entry::tensor:
        note = std::string("  // ") + name_of(p.views[s.a].dtype);
        break;
      case Entry::status:
      case Entry::check:
      case Entry::guard:
        break;
      case Entry::fixed:
        if (!s.b) read = "offset_of(" + read + ")";
        break;
      case Entry::number:
        read = std::string("number_") + name_of(static_cast<DType>(s.b)) + "(" + read + ")";
        break;
      case Entry::index_stride:
      case Entry::index_offset:
        read = "int64(word_bits(" + read + "))";
        break;
      default:
        read = "Index(" + (wide ? "offset_of(" + read + ")" : read) + ")";
    }
    text += "#define " + s.name + " " + read + note + "\n";
  }
  return text;
}

bool uses(const Program& p, DType t) {
  return std::any_of(p.code.begin(), p.code.end(), [&](const Instr& i) { return i.dtype == t; }) ||
         std::any_of(p.views.begin(), p.views.end(), [&](const View& v) { return v.binding >= 0 && v.dtype == t; });
}

bool uses_code(const Program& p, Code c) {
  return std::any_of(p.code.begin(), p.code.end(), [&](const Instr& i) { return i.code == c; });
}

// The text does not contain the kernel's name, so that equal kernels are compiled once.
std::string preamble(const std::string& kind, const Layout& layout, const Arguments& arguments, bool several,
                     const Features& features, bool staged, const std::string& defines) {
  const Program& p = layout.program();
  std::string s = "#version 460\n// " + kind + ".\n" + defines;
  if (layout.wide) s += "#define SG_WIDE\n";
  if (uses(p, DType::float64)) s += "#define SG_FLOAT64\n";
  for (DType t : {DType::int16, DType::float16, DType::bfloat16})
    if (uses(p, t)) {
      s += "#define SG_STORAGE16\n";
      break;
    }
  if (!features.software) s += "#define SG_FUSED_FMA\n";
  if (features.shuffles) s += "#define SG_SHUFFLES\n";
  if (const int checks = p.checks()) s += "#define SG_CHECKS " + std::to_string(checks) + "\n";
  if (p.guards()) s += "#define SG_GUARDS\n";
  s += "#include \"common.glsl\"\n";
  s += alu_includes(p);
  s += std::string("\n#define Index ") + (layout.wide ? "Offset" : "uint") + "\n";
  s += several ? "Address arguments;  // of this workgroup's instance\n" : "#define arguments push.block\n";
  if (staged)
    s += "shared Word staged[" + std::to_string(arguments.size()) + "];\n#define argument(i) staged[i]\n";
  else
    s += "#define argument(i) Words(arguments).at[i]\n";
  return s + arguments.macros(p, layout.wide) + "\n";
}

}  // namespace sg::glsl
