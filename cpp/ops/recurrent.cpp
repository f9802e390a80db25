// GRU and plain recurrent layers as one operation for all steps of a layer, on a GPU, and what lstm.cpp shares with them.
#include "ops/recurrent.hpp"

#include <functional>

#include "base/error.hpp"
#include "base/log.hpp"
#include "ops/convolution.hpp"
#include "ops/list.hpp"
#include "ops/ops.hpp"

namespace sg {
namespace recurrent {

int64_t resident_for(const Tensor& x) {
  constexpr int64_t kMost = 65535;
  if (!x.device().is_gpu() || x.shape()[0] == 1) return 0;
  if (env("SPIROGRAD_RECURRENT").empty()) return convolution::features_of(x.device()).resident;
  return env_whole("SPIROGRAD_RECURRENT", 0, kMost);
}

CustomKernel kernel_of(const Node& node, const Sizes& s) {
  const auto a = node.parameters.as<Settings>();
  CustomKernel custom;
  for (int32_t i = 0; i < node.inputs; ++i) custom.tensors.push_back({i, node.dtype});
  custom.words = {s.steps, s.batch, s.hidden, a.reverse, a.keep, node.in[0].strides[0], node.in[0].strides[1]};
  return custom;
}

Tensor in_rows(const Tensor& x) { return x.strides()[2] == 1 ? x : contiguous(x); }

}  // namespace recurrent

namespace {
using namespace recurrent;

void check_on_gpu(const char* op, const Tensor& x, std::initializer_list<std::reference_wrapper<const Tensor>> others) {
  if (!x.device().is_gpu() || !is_float(x.dtype()) || x.dtype() == DType::float64)
    fail<TypeError>(op, std::string("there is no kernel for ") + name_of(x.dtype()) + " on " + x.device().str(),
                    "use float32 or a half type on a GPU");
  for (const Tensor& other : others)
    if (other.dtype() != x.dtype())
      fail<TypeError>(op, std::string(name_of(x.dtype())) + " and " + name_of(other.dtype()), "use one type");
}

// The parts of a result, one behind the other.
std::vector<Tensor> parts_of(const Tensor& all, std::initializer_list<Dims> shapes) {
  std::vector<Tensor> parts;
  int64_t at = 0;
  for (const Dims& shape : shapes) {
    parts.push_back(part_of(all, all.dtype(), shape, contiguous_strides(shape), at));
    at += shape.numel();
  }
  return parts;
}

void add_results(const Node& node, CustomKernel& custom, std::initializer_list<int64_t> offsets, const Expansion& e) {
  for (int64_t offset : offsets) custom.tensors.push_back({e.result(), node.dtype, true, offset});
}

void expand_gru(const Node& node, bool, Expansion& e) {
  const Sizes s{node.domain[0], node.domain[1], node.domain[2] / 3};
  const int64_t gates = node.parameters.as<Settings>().keep ? (s.steps + 1) * s.state() : 0;
  CustomKernel custom = kernel_of(node, s);
  add_results(node, custom, {0, gates}, e);
  launch_on_gpu(node, Cell::gru, false, s, custom, e);
}

void expand_gru_gradient(const Node& node, bool, Expansion& e) {
  const Sizes s{node.domain[0], node.domain[1], node.domain[2]};
  const int64_t rows = 3 * s.steps * s.state();
  CustomKernel custom = kernel_of(node, s);
  add_results(node, custom, {0, rows, 2 * rows}, e);
  launch_on_gpu(node, Cell::gru, true, s, custom, e);
}

void expand_rnn(const Node& node, bool, Expansion& e) {
  const Sizes s{node.domain[0], node.domain[1], node.domain[2]};
  CustomKernel custom = kernel_of(node, s);
  add_results(node, custom, {0}, e);
  launch_on_gpu(node, Cell::rnn, false, s, custom, e);
}

void expand_rnn_gradient(const Node& node, bool, Expansion& e) {
  const Sizes s{node.domain[0], node.domain[1], node.domain[2]};
  CustomKernel custom = kernel_of(node, s);
  add_results(node, custom, {0}, e);
  launch_on_gpu(node, Cell::rnn, true, s, custom, e);
}

constexpr char kGru[] = "All steps of a layer of GRU, on a GPU.",
               kRnn[] = "All steps of a layer of tanh or relu, on a GPU.";
constexpr char kGruGradient[] = "The gradients of the products of all steps of a GRU, on a GPU.";
constexpr char kRnnGradient[] = "The gradients of the sums of all steps of a layer of tanh or relu, on a GPU.";

}  // namespace

namespace ops {
using recurrent::resident_row, recurrent::row;
const OpInfo Gru = row("gru", kGru, 4, expand_gru), GruResident = resident_row("gru_resident", kGru, 4, expand_gru);
const OpInfo GruGradient = row("gru_gradient", kGruGradient, 4, expand_gru_gradient);
const OpInfo GruGradientResident = resident_row("gru_gradient_resident", kGruGradient, 4, expand_gru_gradient);
const OpInfo Rnn = row("rnn", kRnn, 3, expand_rnn), RnnResident = resident_row("rnn_resident", kRnn, 3, expand_rnn);
const OpInfo RnnGradient = row("rnn_gradient", kRnnGradient, 3, expand_rnn_gradient);
const OpInfo RnnGradientResident = resident_row("rnn_gradient_resident", kRnnGradient, 3, expand_rnn_gradient);
}  // namespace ops

std::vector<Tensor> gru(const Tensor& x, const Tensor& weight, const std::optional<Tensor>& bias, const Tensor& h,
                        bool reverse, bool keep) {
  check_on_gpu("gru", x, {weight, h, bias ? *bias : h});
  const int64_t steps = x.shape()[0], batch = x.shape()[1], hidden = x.shape()[2] / 3;
  const Dims states = {steps + 1, batch, hidden}, gates = {keep ? steps : 0, batch, 4 * hidden};
  const int64_t resident = resident_for(x);
  const Tensor whole = contiguous(weight);
  const Tensor all = custom_kernel(
      resident ? ops::GruResident : ops::Gru, {in_rows(x), whole, contiguous(h), bias ? contiguous(*bias) : whole},
      {states.numel() + gates.numel()}, x.dtype(), Settings{reverse, keep, resident, bias.has_value()});
  return parts_of(all, {states, gates});
}

std::vector<Tensor> gru_gradient(const Tensor& dh, const Tensor& weight, const Tensor& before, const Tensor& gates,
                                 bool reverse) {
  check_on_gpu("gru_gradient", dh, {weight, before, gates});
  const Dims state = {dh.shape()[1], dh.shape()[2]}, rows = {dh.shape()[0], state[0], 3 * state[1]};
  const int64_t resident = resident_for(dh);
  const Tensor all =
      custom_kernel(resident ? ops::GruGradientResident : ops::GruGradient,
                    {in_rows(dh), contiguous(transpose(weight, 0, 1)), contiguous(before), contiguous(gates)},
                    {2 * rows.numel() + state.numel()}, dh.dtype(), Settings{reverse, 1, resident, 0});
  return parts_of(all, {rows, rows, state});
}

Tensor rnn(const Tensor& x, const Tensor& weight, const Tensor& h, bool relu, bool reverse) {
  check_on_gpu("rnn", x, {weight, h});
  const int64_t resident = resident_for(x);
  return custom_kernel(resident ? ops::RnnResident : ops::Rnn, {in_rows(x), contiguous(weight), contiguous(h)},
                       {x.shape()[0] + 1, x.shape()[1], x.shape()[2]}, x.dtype(), Settings{reverse, 1, resident, relu});
}

Tensor rnn_gradient(const Tensor& dh, const Tensor& weight, const Tensor& after, bool relu, bool reverse) {
  check_on_gpu("rnn_gradient", dh, {weight, after});
  const int64_t resident = resident_for(dh);
  return custom_kernel(resident ? ops::RnnGradientResident : ops::RnnGradient,
                       {in_rows(dh), contiguous(transpose(weight, 0, 1)), contiguous(after)}, dh.shape(), dh.dtype(),
                       Settings{reverse, 1, resident, relu});
}

}  // namespace sg
