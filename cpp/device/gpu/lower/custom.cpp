// Custom kernels: their source behind the common head, their tensors and words as the argument block.
#include <algorithm>

#include "base/error.hpp"
#include "device/gpu/lower/glsl_kernel.hpp"
#include "device/gpu/lower/shaders.hpp"

namespace sg::glsl {

Lowered lower_custom(const Step& step, const Features& features, Shaders& shaders) {
  const Instance& in = step.only();
  const CustomKernel& custom = *in.kernel.custom;
  if (custom.threads > features.max_group_threads)
    fail<LimitError>(step.name,
                     "the device runs " + std::to_string(features.max_group_threads) +
                         " threads a workgroup, this op needs " + std::to_string(custom.threads),
                     "use the CPU device");
  const auto has = [&](auto&& test) {
    return std::any_of(custom.tensors.begin(), custom.tensors.end(),
                       [&](const CustomKernel::Tensor& t) { return test(t.dtype); });
  };
  const bool float64 = has([](DType t) { return t == DType::float64; });
  const bool storage16 = has([](DType t) { return size_of(t) == 2; });
  Form form(Form::Kind::custom);
  const bool bfloat16 = has([](DType t) { return t == DType::bfloat16; });
  const bool cm1 = custom.matrix == MatrixUnits::Path::cm1, cm2 = custom.matrix == MatrixUnits::Path::cm2;
  form.add({float64, storage16, bfloat16, cm1, cm2, custom.reports, custom.ballots});
  form.add(custom.tensors.size());
  form.add(static_cast<uint64_t>(custom.threads));
  form.add(custom.source);
  Lowered out;
  out.name = step.name;
  const auto write = [&] {
    std::string text = "#version 460\n";
    if (float64) text += "#define SG_FLOAT64\n";
    if (storage16) text += "#define SG_STORAGE16\n";
    if (cm1 || cm2) text += cm1 ? "#define SG_MATRIX_cm1\n" : "#define SG_MATRIX_cm2\n";
    if ((cm1 || cm2) && bfloat16) text += "#define SG_BFLOAT16\n";
    if (custom.ballots) text += "#define SG_BALLOTS " + std::to_string(features.subgroup) + "u\n";
    if (custom.threads) text += "#define SG_THREADS " + std::to_string(custom.threads) + "u\n";
    if (custom.reports) text += "#define SG_CHECKS 1\n";
    text += features.software ? "#define SG_SOFTWARE\n" : "#define SG_FUSED_FMA\n";
    text +=
        "#include \"common.glsl\"\n#define tensor(i) Words(push.block).at[i]\n#define word(i) "
        "signed_offset_of(Words(push.block).at[" +
        std::to_string(custom.tensors.size()) + " + (i)])\n" + custom.source;
    const bool counted = cm1 || cm2 || custom.ballots;
    return Shaders::Written{
        sealed({.source = std::move(text), .subgroups = counted ? Subgroups::counted : Subgroups::any}), {}};
  };
  out.shader = shaders.find(std::move(form), write).shader;
  for (const CustomKernel::Tensor& t : custom.tensors) {
    const Binding& b = in.bindings[t.binding];
    const auto bytes = static_cast<int64_t>(size_of(t.dtype));
    out.arguments.push_back({.kind = ArgWord::Kind::address,
                             .dtype = t.dtype,
                             .memory = b.memory,
                             .start = b.start,
                             .value = t.offset * bytes,
                             .element_bytes = bytes});
  }
  for (int64_t word : custom.words) out.arguments.push_back({.value = word});
  if (custom.reports) {
    out.arguments.push_back({.kind = ArgWord::Kind::node, .index = in.checks.at(0)});
    out.arguments.push_back({.kind = ArgWord::Kind::status});
  }
  for (int d = 0; d < 3; ++d) out.groups[d] = static_cast<uint32_t>(custom.groups[d]);
  return out;
}

}  // namespace sg::glsl
