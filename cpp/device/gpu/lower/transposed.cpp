// Pointwise programs that read some tensors along one dimension of memory and write along another: a transposed copy. A
// workgroup takes a square of the two dimensions: it reads the transposed tensors into shared memory, row by row as
// they lie in memory, and then computes its elements in the order in which they are written.
#include <algorithm>

#include "device/gpu/lower/glsl_kernel.hpp"
#include "device/gpu/lower/shaders.hpp"

namespace sg::glsl {
namespace {

using Entry = Arguments::Entry;
constexpr int64_t kSide = 32, kThreads = 256;
constexpr size_t kMaxTransposed = 4;  // squares in shared memory

bool reads_transposed(const Layout& l, int view, int along) {
  const int last = l.program().domain.rank - 1;
  return l.has_memory(view) && l.unit(view, along) && !l.unit(view, last) && !l.zero(view, last);
}

std::vector<int> transposed_views(const Layout& l, int along) {
  std::vector<int> views;
  for (const Instr& i : l.program().code)
    if (i.code == Code::load && reads_transposed(l, i.slot, along) &&
        std::find(views.begin(), views.end(), i.slot) == views.end())
      views.push_back(i.slot);
  return views;
}

std::string num(int64_t n) { return std::to_string(n); }

Shaders::Written write_transposed(const Layout& l, int along, const Features& features) {
  const Program& p = l.program();
  const int last = p.domain.rank - 1;
  const std::vector<int> views = transposed_views(l, along);
  Arguments args;
  Writer shared, w;
  Body body(w, args, l);
  std::map<int, std::string> given;
  for (int v : views) {
    const std::string name = "square" + num(v);
    shared.line(std::string("shared ") + type_name(p.views[v].dtype) + " " + name + "[" + num(kSide) + "][" +
                num(kSide + 1) + "];");
    given[v] = name + "[x][y]";
  }
  const std::string size_last = args.use(Entry::size, last), size_along = args.use(Entry::size, along);
  w.open("void main()");
  body.begin_main();
  w.line("const uint x = gl_LocalInvocationID.x % " + num(kSide) + ", first = gl_LocalInvocationID.x / " + num(kSide) +
         ";");
  w.line("const uint wide = (" + size_last + " + " + num(kSide - 1) + ") / " + num(kSide) + ", high = (" + size_along +
         " + " + num(kSide - 1) + ") / " + num(kSide) + ";");
  std::string all = "wide * high";
  for (int d = 0; d < last; ++d)
    if (d != along) all += " * " + args.use(Entry::size, d);
  w.open("for (uint work = gl_WorkGroupID.x; work < " + all + "; work += gl_NumWorkGroups.x)");
  w.line("const uint left = work % wide * " + num(kSide) + ", rows = work / wide, top = rows % high * " + num(kSide) +
         ";");
  std::vector<std::string> coords(static_cast<size_t>(p.domain.rank));
  std::string rest = "rows / high";
  for (int d = last - 1; d >= 0; --d) {
    if (d == along) continue;
    const std::string c = "c" + num(d), next = "rest" + num(d), size = args.use(Entry::size, d);
    w.line("const uint " + c + " = (" + rest + ") % " + size + ", " + next + " = (" + rest + ") / " + size + ";");
    coords[d] = c;
    rest = next;
  }
  w.line("barrier();  // the squares of the turn before are read");
  w.open("[[unroll]] for (uint y = first; y < " + num(kSide) + "; y += " + num(kThreads / kSide) + ")");
  w.line("const uint column = left + y, row = top + x;");
  coords[last] = "column";
  coords[along] = "row";
  w.open("if (column < " + size_last + " && row < " + size_along + ")");
  for (int v : views)
    w.line("square" + num(v) +
           "[y][x] = " + load(p.views[v].dtype, 1, body.reference(v, 1, body.offset(v, coords, p.domain.rank))) + ";");
  w.close().close();
  w.line("barrier();");
  w.open("[[unroll]] for (uint y = first; y < " + num(kSide) + "; y += " + num(kThreads / kSide) + ")");
  w.line("const uint column = left + x, row = top + y;");
  w.line("if (column >= " + size_last + " || row >= " + size_along + ") continue;");
  body.pointwise(1, coords, given);
  w.close().close();
  body.end_main();
  w.close();
  std::string source = preamble("Pointwise, squares transposed in shared memory", l, args, false, features) +
                       "layout(local_size_x = " + num(kThreads) + ") in;\n\n" + shared.text + "\n" + w.text;
  return {sealed({.source = std::move(source)}), std::move(args)};
}

}  // namespace

int transposed_dimension(const Layout& l) {
  const Program& p = l.program();
  const int last = p.domain.rank - 1;
  if (l.programs.size() != 1 || last < 1 || l.wide || p.domain[last] < kSide) return -1;
  for (const Instr& i : p.code)
    if (i.code == Code::store_at || (i.code == Code::store && !l.unit(i.slot, last))) return -1;
  for (int d = 0; d < last; ++d) {
    const size_t n = p.domain[d] < kSide ? 0 : transposed_views(l, d).size();
    if (n > 0 && n <= kMaxTransposed) return d;
  }
  return -1;
}

Lowered lower_transposed(const Step& step, const Layout& l, int along, const Features& features, Shaders& shaders) {
  const Program& p = l.program();
  const int last = p.domain.rank - 1;
  Form form(Form::Kind::transposed);
  form.add(l);
  form.add(static_cast<uint64_t>(along));
  const Shaders::Written& known = shaders.find(std::move(form), [&] { return write_transposed(l, along, features); });
  Lowered out;
  out.name = step.name;
  out.shader = known.shader;
  out.arguments = known.arguments.words(l, 0);
  int64_t groups = (p.domain[last] + kSide - 1) / kSide * ((p.domain[along] + kSide - 1) / kSide);
  for (int d = 0; d < last; ++d)
    if (d != along) groups *= p.domain[d];
  out.groups[0] = static_cast<uint32_t>(std::min(groups, features.max_groups));
  return out;
}

}  // namespace sg::glsl
