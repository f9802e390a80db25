// Convolutions with few channels a group: products whose second operand is seen through a window, by
// shaders/grouped_correlate.glsl (docs/decisions/062-few-channels-a-group.md).
#include <algorithm>
#include <cstdlib>

#include "device/gpu/lower/product.hpp"
#include "kernel/grouped.hpp"

namespace sg::glsl {
namespace {

// One channel and one output a group.
bool groups_are_rows(const Product& p) { return p.inner.sizes.rank == 2; }

GroupedConvolution convolution_of(const Product& p) {
  GroupedConvolution c;
  const bool alone = groups_are_rows(p);
  const Dims &k = p.inner.sizes, &n = p.columns.sizes;
  c.images = p.folded;
  c.groups = alone ? p.m : p.batch / p.folded;
  c.outputs = alone ? 1 : p.m;
  c.channels = alone ? 1 : k[0];
  c.image[0] = p.window.height, c.image[1] = p.window.width;
  c.before[0] = p.window.top, c.before[1] = p.window.left;
  const int64_t apart[2] = {p.window.pitch, 1};
  for (int d = 0; d < 2; ++d) {
    c.result[d] = n[d];
    c.kernel[d] = k[k.rank - 2 + d];
    c.stride[d] = std::max<int64_t>(p.columns.b[d] / apart[d], 1);
    const int64_t along = p.inner.b[k.rank - 2 + d] / apart[d];
    c.dilation[d] = std::abs(along);
    c.reversed |= along < 0;
  }
  c.group_weights = alone ? p.a_m : p.a_batch;
  c.output_weights = p.a_m;
  c.channel_weights = p.a_walks() ? p.inner.a[0] : p.a_k * c.taps();
  return c;
}

// The result of a product that nothing follows, its elements in order; nullptr: there is more, or another order.
const View* plain_result(const Product& p) {
  const Program& e = p.epilogue;
  const Instr& last = e.code.back();
  if (last.code != Code::store || last.imm.i) return nullptr;
  for (const Instr& i : e.code)
    if (&i != &last && i.code != Code::cast && (i.code != Code::load || i.slot != 0)) return nullptr;
  const View& to = e.views[last.slot];
  const Dims in_order = contiguous_strides(e.domain);
  for (int d = 0; d < 3; ++d)
    if (e.domain[d] > 1 && to.strides[d] != in_order[d]) return nullptr;
  return to.dtype == p.dtype ? &to : nullptr;
}

}  // namespace

Lowered lower_grouped(const Step& step, const Layout& l, const Features& features, Shaders& shaders) {
  const Instance& in = step.only();
  const Product& p = *in.kernel.product;
  const GroupedConvolution c = convolution_of(p);
  const GroupedLaunch launch = launch_correlation(c, p.dtype);
  FixedWords fixed;
  fixed.add("grouped_image", operand(in, p.dtype, p.b_binding, p.b_offset));
  fixed.add("grouped_weights", operand(in, p.dtype, p.a_binding, p.a_offset));
  const View* plain = plain_result(p);
  if (plain) fixed.add("grouped_result", operand(in, p.dtype, plain->binding, plain->offset));
  const std::string tensors = std::to_string(fixed.words.size());
  for (size_t i = 0; i < launch.words.size(); ++i)
    fixed.add("grouped_word" + std::to_string(i), {.value = launch.words[i]});
  Form form(Form::Kind::grouped_product);
  form.add(l);
  form.add(static_cast<uint64_t>(launch.threads));
  form.add({groups_are_rows(p), plain != nullptr});
  form.add(launch.source);
  const auto write = [&] {
    Arguments args;
    fixed.declare(args);
    const std::string epilogue = plain ? "" : "#define EPILOGUE\n" + write_epilogue(args, l, 1) + reports(args, l);
    std::string source =
        preamble("Convolution", l, args, false, features, false, size_of(p.dtype) == 2 ? "#define SG_STORAGE16\n" : "");
    source += "#define SG_THREADS " + std::to_string(launch.threads) +
              "u\n#define tensor(i) Words(arguments).at[i]\n#define word(i) signed_offset_of(Words(arguments).at[" +
              tensors + " + (i)])\n" + (groups_are_rows(p) ? "#define GROUPS_ARE_ROWS\n" : "") + epilogue +
              launch.source;
    return Shaders::Written{sealed({.source = std::move(source)}), std::move(args)};
  };
  const Shaders::Written& written = shaders.find(std::move(form), write);
  Lowered out;
  out.name = step.name;
  out.shader = written.shader;
  out.arguments = written.arguments.words(l, 0, fixed.words);
  out.groups[0] = static_cast<uint32_t>(std::min(launch.groups, features.max_groups));
  out.groups[1] = static_cast<uint32_t>((launch.groups + features.max_groups - 1) / features.max_groups);
  return out;
}

}  // namespace sg::glsl
