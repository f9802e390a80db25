// Pointwise programs: one thread an element, or four elements where every tensor allows 16-byte steps. A step over
// several tensors is one dispatch: a table of first workgroups tells each workgroup which tensor it works on.
#include <algorithm>

#include "device/gpu/lower/glsl_kernel.hpp"
#include "device/gpu/lower/shaders.hpp"

namespace sg::glsl {
namespace {

using Entry = Arguments::Entry;
// Each load of an argument is a memory access, so kernels with many arguments copy them to shared memory once.
constexpr size_t kStageFrom = 64, kStageUpTo = 3072;
constexpr size_t kLongCode = 512;  // with longer code one element is enough work for a thread

void pad_rank(Program& p, int rank) {
  auto pad = [&](Dims& d, int64_t value) {
    Dims out;
    for (int i = d.rank; i < rank; ++i) out.push(value);
    for (int64_t v : d) out.push(v);
    d = out;
  };
  for (View& v : p.views) pad(v.strides, 0);
  pad(p.domain, 1);
}

Layout layout_of(const Step& step) {
  Layout l;
  int rank = 1;
  l.instances.reserve(step.instances.size());
  l.programs.reserve(step.instances.size());
  for (const Instance& i : step.instances) {
    l.instances.push_back(&i);
    l.programs.push_back(i.kernel.program);
    collapse(l.programs.back());
    rank = std::max<int>(rank, l.programs.back().domain.rank);
  }
  for (Program& p : l.programs) pad_rank(p, rank);
  l.find_width();
  return l;
}

bool all_in_fours(const Layout& l, const Features& features) {
  const Program& p = l.program();
  const int last = p.domain.rank - 1;
  if (p.code.size() > kLongCode || std::ssize(p.views) > features.tiles->pointwise_views) return false;
  for (const Program& q : l.programs)
    if (last > 0 && q.domain[last] % 4) return false;
  for (size_t v = 0; v < p.views.size(); ++v)
    if (l.has_memory(static_cast<int>(v)) && !l.in_fours(static_cast<int>(v))) return false;
  // A broadcast store writes one element from every thread: left to the scalar class.
  return std::none_of(p.code.begin(), p.code.end(),
                      [&](const Instr& i) { return i.code == Code::store && l.zero(i.slot, last); });
}

void write_function(Writer& w, Arguments& args, const Layout& l, int width, const std::string& head) {
  Body body(w, args, l);
  w.open(head);
  const std::string first = width == 4 ? "first" : "i";
  if (width == 4) w.line("const Index first = 4 * i;");
  body.pointwise(width, body.coordinates(first, 0, l.program().domain.rank));
  w.close().line();
}

// The instance that a workgroup works on: the last one whose first workgroup is not after it.
void write_search(Writer& w, size_t words) {
  w.line("uint low = 0, high = uint(Words(push.block).at[0]);");
  w.open("while (high - low > 1)");
  w.line("const uint middle = (low + high) / 2;");
  w.line("if (uint(Words(push.block).at[1 + middle]) <= gl_WorkGroupID.x) low = middle; else high = middle;");
  w.close();
  w.line("const uint table = 2 + uint(Words(push.block).at[0]);");
  w.line("arguments = " +
         address_add("push.block", offset_text(8) + " * (table + low * " + std::to_string(words) + "u)") + ";");
  w.line("const uint group = gl_WorkGroupID.x - uint(Words(push.block).at[1 + low]);");
  w.line("const uint groups = uint(Words(push.block).at[2 + low]) - uint(Words(push.block).at[1 + low]);");
}

void write_loop(Writer& w, bool four, bool tail) {
  w.line("const Index thread = Index(group) * gl_WorkGroupSize.x + gl_LocalInvocationID.x;");
  w.line("const Index step = Index(groups) * gl_WorkGroupSize.x;");
  w.line(four ? "for (Index i = thread; i < count / 4; i += step) four(i);"
              : "for (Index i = thread; i < count; i += step) one(i);");
  if (tail) w.line("if (thread < count % 4) one(count / 4 * 4 + thread);");
}

// Workgroups of each instance: enough for its elements, scaled down if the device allows fewer.
std::vector<int64_t> share_groups(const Layout& l, int64_t per_group, int64_t most) {
  std::vector<int64_t> groups;
  int64_t total = 0;
  for (const Program& p : l.programs) {
    groups.push_back((p.domain.numel() + per_group - 1) / per_group);
    total += groups.back();
  }
  if (groups.size() == 1) return {std::min(total, most)};
  // Rounding down, but at least one: the sum stays below `most` with one spare group an instance.
  const double share = static_cast<double>(std::max<int64_t>(most - static_cast<int64_t>(groups.size()), 1)) /
                       static_cast<double>(std::max<int64_t>(total, 1));
  if (total > most)
    for (int64_t& g : groups)
      if (g) g = std::max<int64_t>(1, static_cast<int64_t>(static_cast<double>(g) * share));
  return groups;
}

void fill_arguments(Lowered& out, const Layout& l, const Arguments& args, const std::vector<int64_t>& groups) {
  int64_t total = 0;
  if (groups.size() == 1) {
    out.arguments = args.words(l, 0);
    total = groups[0];
  } else {
    out.arguments.push_back({.value = static_cast<int64_t>(groups.size())});
    for (int64_t g : groups) {
      out.arguments.push_back({.value = total});
      total += g;
    }
    out.arguments.push_back({.value = total});
    for (size_t i = 0; i < groups.size(); ++i)
      for (const ArgWord& w : args.words(l, i)) out.arguments.push_back(w);
  }
  out.groups[0] = static_cast<uint32_t>(total);
}

Shaders::Written write_pointwise(const Layout& l, bool four, int64_t threads, const Features& features) {
  const bool several = l.programs.size() > 1, tail = four && l.program().domain.rank == 1;
  Arguments args;
  args.use(Entry::count);
  Writer functions, main;
  if (four) write_function(functions, args, l, 4, "void four(Index i)");
  if (!four || tail) write_function(functions, args, l, 1, "void one(Index i)");
  Body body(main, args, l);
  body.use_status();
  main.open("void main()");
  if (several) {
    write_search(main, args.size());
  } else {
    main.line("const uint group = gl_WorkGroupID.x, groups = gl_NumWorkGroups.x;");
  }
  const bool staged = !features.software && args.size() > kStageFrom && args.size() <= kStageUpTo;
  if (staged) {
    main.line("for (uint i = gl_LocalInvocationIndex; i < " + std::to_string(args.size()) +
              "u; i += gl_WorkGroupSize.x) staged[i] = Words(arguments).at[i];");
    main.line("barrier();");
  }
  body.begin_main();
  write_loop(main, four, tail);
  body.end_main();
  main.close();
  const std::string kind = std::string("Pointwise, ") + (four ? "four elements" : "one element") + " a thread" +
                           (several ? ", several tensors" : "");
  std::string source = preamble(kind, l, args, several, features, staged) +
                       "layout(local_size_x = " + std::to_string(threads) + ") in;\n\n" + functions.text + main.text;
  return {sealed({.source = std::move(source)}), std::move(args)};
}

}  // namespace

Lowered lower_pointwise(const Step& step, const Features& features, Shaders& shaders) {
  const Layout l = layout_of(step);
  if (const int along = transposed_dimension(l); along >= 0 && features.max_group_threads >= 256)
    return lower_transposed(step, l, along, features, shaders);
  const bool four = all_in_fours(l, features);
  const int64_t threads = std::min<int64_t>(256, features.max_group_threads);
  Form form(Form::Kind::pointwise);
  form.add(l);
  form.add({four});
  const auto write = [&] { return write_pointwise(l, four, threads, features); };
  const Shaders::Written& known = shaders.find(std::move(form), write);
  Lowered out;
  out.name = step.name;
  out.shader = known.shader;
  // The tail's elements need threads too: with less than four elements there is no full step.
  const int64_t per_group = threads * (four ? 4 : 1);
  fill_arguments(out, l, known.arguments, share_groups(l, per_group, features.max_groups));
  return out;
}

}  // namespace sg::glsl
