// All steps of an LSTM's layer as one operation (docs/decisions/052-an-lstm-is-one-kernel.md), and its kernel on the CPU: a
// thread computes some features of the state for some rows, their products, then their gates, while both are in its first
// cache. On a GPU: recurrent_gpu.cpp.

#include <algorithm>
#include <cstring>
#include <functional>
#include <type_traits>

#include "base/error.hpp"
#include "base/round.hpp"
#include "graph/node.hpp"
#include "kernel/custom.hpp"
#include "ops/list.hpp"
#include "ops/ops.hpp"
#include "ops/recurrent.hpp"

namespace sg {
namespace {

constexpr int64_t kRows = 64;            // that a thread computes together
constexpr int64_t kLeastWork = 1 << 18;  // multiply-adds that are worth a thread

using namespace recurrent;

enum Word { kSteps, kBatch, kHidden, kReverse, kKeep, kStep, kRow };  // the last two: strides of the first tensor

template <class T>
struct Lstm {
  static constexpr DType kType = std::is_same_v<T, float> ? DType::float32 : DType::float64;
  const CpuArgs& args;
  const int64_t steps = args.words[kSteps], batch = args.words[kBatch], hidden = args.words[kHidden];
  const bool reverse = args.words[kReverse], keep = args.words[kKeep];
  const int64_t state = batch * hidden, panels = divide_up(hidden, kLstmColumns);

  // The n-th step in the order of the forward pass, and where the states before and after it are.
  int64_t step(int64_t n) const { return reverse ? steps - 1 - n : n; }
  int64_t before(int64_t t) const { return reverse ? t + 1 : t; }
  int64_t after(int64_t t) const { return reverse ? t : t + 1; }

  // Panels of kLstmColumns columns of a matrix, those of one k side by side; a panel at each of `to`.
  static void pack(const T* from, int64_t k_step, int64_t column_step, int64_t k, int64_t columns, T* to) {
    for (int64_t p = 0; p < k; ++p)
      for (int64_t j = 0; j < columns; ++j) to[p * kLstmColumns + j] = from[p * k_step + j * column_step];
  }

  struct Tile {
    int64_t panel, row, rows, columns;
    int64_t at(int64_t width) const { return row * width + panel * kLstmColumns; }
  };
  template <class F>
  void each_tile(F f) const {
    const int64_t rows = std::min(kRows, batch), work = rows * 4 * kLstmColumns * hidden;
    args.parallel(
        panels * divide_up(batch, kRows), std::max<int64_t>(1, kLeastWork / std::max<int64_t>(1, work)),
        [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) {
            const int64_t panel = i % panels, row = i / panels * kRows;
            f(Tile{panel, row, std::min(kRows, batch - row), std::min(kLstmColumns, hidden - panel * kLstmColumns)});
          }
        });
  }
  T* products() const { return static_cast<T*>(args.scratch(kRows * 4 * kLstmColumns * sizeof(T))); }

  // c[rows, columns] = a[rows, k] @ a panel
  void multiply(const Tile& tile, const T* a, int64_t k, const T* panel, T* c, int64_t c_row) const {
    args.multiply(kType, {a, panel, c, tile.rows, tile.columns, k, k, 1, kLstmColumns, 1, c_row, 1});
  }

  // x, weight, h and c at the beginning, room for the packed weight; h and c of all steps, gates.
  void forward() const {
    const T *x = args.as<const T>(0), *weight = args.as<const T>(1);
    T *packed = args.as<T>(4), *h = args.as<T>(5), *c = args.as<T>(6), *gates = keep ? args.as<T>(7) : nullptr;
    args.parallel(4 * panels, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t first = i / 4 * kLstmColumns, columns = std::min(kLstmColumns, hidden - first);
        pack(weight + (i % 4 * hidden + first) * hidden, 1, hidden, hidden, columns,
             packed + i * hidden * kLstmColumns);
      }
    });
    const auto c_at = [&](int64_t slot) { return c + (keep ? slot * state : 0); };
    std::copy_n(args.as<const T>(2), state, h + before(step(0)) * state);
    std::copy_n(args.as<const T>(3), state, c_at(before(step(0))));
    for (int64_t n = 0; n < steps; ++n) {
      args.look();
      const int64_t t = step(n);
      each_tile([&](const Tile& tile) {
        T* y = products();
        for (int64_t g = 0; g < 4; ++g)
          multiply(tile, h + before(t) * state + tile.row * hidden, hidden,
                   packed + (tile.panel * 4 + g) * hidden * kLstmColumns, y + g * kLstmColumns, 4 * kLstmColumns);
        LstmPart p{};
        p.rows = tile.rows, p.columns = tile.columns, p.hidden = hidden;
        p.products = y;
        p.x = x + t * args.words[kStep] + tile.row * args.words[kRow] + tile.panel * kLstmColumns;
        p.x_row = args.words[kRow];
        p.gates = gates ? gates + t * 4 * state + tile.at(4 * hidden) : nullptr;
        p.before = c_at(before(t)) + tile.at(hidden);
        p.c = c_at(after(t)) + tile.at(hidden);
        p.h = h + after(t) * state + tile.at(hidden);
        args.lstm_forward(kType, p);
      });
    }
  }

  // The gradients of h and of the last c, weight, c before and after each step, gates, room for the packed weight;
  // gradients of the sums of all steps, and of the first c.
  void backward() const {
    const T *dh = args.as<const T>(0), *weight = args.as<const T>(2), *c_before = args.as<const T>(3);
    T *c = args.as<T>(4), *gates = args.as<T>(5), *packed = args.as<T>(6), *sums = args.as<T>(7), *dc = args.as<T>(8);
    args.parallel(panels, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        pack(weight + i * kLstmColumns, hidden, 1, 4 * hidden, std::min(kLstmColumns, hidden - i * kLstmColumns),
             packed + i * 4 * hidden * kLstmColumns);
    });
    std::copy_n(args.as<const T>(1), state, dc);
    for (int64_t n = steps - 1; n >= 0; --n) {
      args.look();
      const int64_t t = step(n);
      each_tile([&](const Tile& tile) {
        T* y = n + 1 < steps ? products() : nullptr;
        if (y)
          multiply(tile, sums + (step(n + 1) * batch + tile.row) * 4 * hidden, 4 * hidden,
                   packed + tile.panel * 4 * hidden * kLstmColumns, y, kLstmColumns);
        LstmPart p{};
        p.rows = tile.rows, p.columns = tile.columns, p.hidden = hidden;
        p.products = y;
        p.x = dh + t * args.words[kStep] + tile.row * args.words[kRow] + tile.panel * kLstmColumns;
        p.x_row = args.words[kRow];
        p.gates = gates + t * 4 * state + tile.at(4 * hidden);
        p.before = c_before + t * state + tile.at(hidden);
        p.c = c + t * state + tile.at(hidden);
        p.dc = dc + tile.at(hidden);
        p.sums = sums + t * 4 * state + tile.at(4 * hidden);
        args.lstm_backward(kType, p);
      });
    }
  }
};

void run_on_cpu(const Node& node, const Sizes& s, CustomKernel custom, Expansion& e, void (*of_floats)(const CpuArgs&),
                void (*of_doubles)(const CpuArgs&)) {
  const auto size = static_cast<int64_t>(size_of(node.dtype));
  const int64_t packed = 4 * s.hidden * round_up(s.hidden, kLstmColumns);
  custom.tensors.insert(custom.tensors.begin() + node.inputs, {e.temporary(packed * size), node.dtype, true});
  custom.cpu = node.dtype == DType::float32 ? of_floats : of_doubles;
  custom.scratch = kRows * 4 * kLstmColumns * size;
  custom.cost = 8.0 * static_cast<double>(s.steps * s.state() * s.hidden);
  e.launch(node.op->name) = std::move(custom);
}

void expand_forward(const Node& node, bool gpu, Expansion& e) {
  const Sizes s{node.domain[0], node.domain[1], node.domain[2] / 4};
  const bool keep = node.parameters.as<Settings>().keep;
  CustomKernel custom = kernel_of(node, s);
  const int64_t h = (s.steps + 1) * s.state(), c = keep ? h : s.state();
  custom.tensors.push_back({e.result(), node.dtype, true});
  custom.tensors.push_back({e.result(), node.dtype, true, h});
  if (keep || gpu) custom.tensors.push_back({e.result(), node.dtype, true, keep ? h + c : h});
  if (gpu) return launch_on_gpu(node, Cell::lstm, false, s, custom, e);
  run_on_cpu(
      node, s, std::move(custom), e, [](const CpuArgs& args) { Lstm<float>{args}.forward(); },
      [](const CpuArgs& args) { Lstm<double>{args}.forward(); });
}

void expand_backward(const Node& node, bool gpu, Expansion& e) {
  const Sizes s{node.domain[0], node.domain[1], node.domain[2]};
  CustomKernel custom = kernel_of(node, s);
  custom.tensors.push_back({e.result(), node.dtype, true});
  custom.tensors.push_back({e.result(), node.dtype, true, 4 * s.steps * s.state()});
  if (gpu) return launch_on_gpu(node, Cell::lstm, true, s, custom, e);
  run_on_cpu(
      node, s, std::move(custom), e, [](const CpuArgs& args) { Lstm<float>{args}.backward(); },
      [](const CpuArgs& args) { Lstm<double>{args}.backward(); });
}

void check(const char* op, const Tensor& x, std::initializer_list<std::reference_wrapper<const Tensor>> others) {
  const bool gpu = x.device().is_gpu();
  if (!is_float(x.dtype()) || (gpu ? x.dtype() == DType::float64 : x.dtype() != wide_of(x.dtype())))
    fail<TypeError>(op, std::string("there is no kernel for ") + name_of(x.dtype()) + " on " + x.device().str(),
                    gpu ? "use float32 or a half type" : "use float32 or float64");
  for (const Tensor& other : others)
    if (other.dtype() != x.dtype())
      fail<TypeError>(op, std::string(name_of(x.dtype())) + " and " + name_of(other.dtype()), "use one type");
}

}  // namespace

namespace ops {
using recurrent::resident_row, recurrent::row;
const OpInfo Lstm = row("lstm", "All steps of a layer of LSTM.", 4, expand_forward);
const OpInfo LstmGradient =
    row("lstm_gradient", "The gradients of the sums of all steps of an LSTM.", 6, expand_backward);
const OpInfo LstmResident =
    resident_row("lstm_resident", "lstm on a GPU by workgroups that wait for each other.", 4, expand_forward);
const OpInfo LstmGradientResident = resident_row(
    "lstm_gradient_resident", "lstm_gradient on a GPU by workgroups that wait for each other.", 6, expand_backward);
}  // namespace ops

std::vector<Tensor> lstm(const Tensor& x, const Tensor& weight, const Tensor& h, const Tensor& c, bool reverse,
                         bool keep) {
  check("lstm", x, {weight, h, c});
  const Sizes s{x.shape()[0], x.shape()[1], x.shape()[2] / 4};
  const Dims states = {s.steps + 1, s.batch, s.hidden}, gates = {keep ? s.steps : 0, s.batch, 4 * s.hidden};
  const Dims kept = {keep ? s.steps + 1 : 1, s.batch, s.hidden};
  const int64_t resident = resident_for(x);
  const Tensor all = custom_kernel(
      resident ? ops::LstmResident : ops::Lstm, {in_rows(x), contiguous(weight), contiguous(h), contiguous(c)},
      {states.numel() + kept.numel() + gates.numel()}, x.dtype(), Settings{reverse, keep, resident, 0});
  const auto part = [&](const Dims& shape, int64_t at) {
    return part_of(all, x.dtype(), shape, contiguous_strides(shape), at);
  };
  return {part(states, 0), part(kept, states.numel()), part(gates, states.numel() + kept.numel())};
}

std::vector<Tensor> lstm_gradient(const Tensor& dh, const Tensor& dc, const Tensor& weight, const Tensor& before,
                                  const Tensor& after, const Tensor& gates, bool reverse) {
  check("lstm_gradient", dh, {dc, weight, before, after, gates});
  const int64_t resident = resident_for(dh);
  const Tensor columns = dh.device().is_gpu() ? transpose(weight, 0, 1) : weight;  // a sum's in order in memory
  const Tensor all = custom_kernel(
      resident ? ops::LstmGradientResident : ops::LstmGradient,
      {in_rows(dh), contiguous(dc), contiguous(columns), contiguous(before), contiguous(after), contiguous(gates)},
      {gates.numel() + dc.numel()}, dh.dtype(), Settings{reverse, 1, resident, 0});
  return {part_of(all, dh.dtype(), gates.shape(), contiguous_strides(gates.shape()), 0),
          part_of(all, dh.dtype(), dc.shape(), contiguous_strides(dc.shape()), gates.numel())};
}

}  // namespace sg
