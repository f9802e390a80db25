// A naive evaluation of a Program, one element after the other, and a run of it on the CPU device beside that.
#pragma once
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <vector>

#include "device/device.hpp"
#include "math/alu.hpp"

namespace sg::cpu_test {

struct Scalar {
  double f = 0;
  int64_t i = 0;
};

inline Scalar read(const void* p, DType t, int64_t at) {
  switch (t) {
    case DType::boolean:
      return {0, static_cast<const uint8_t*>(p)[at]};
    case DType::int32:
      return {0, static_cast<const int32_t*>(p)[at]};
    case DType::int64:
      return {0, static_cast<const int64_t*>(p)[at]};
    case DType::float32:
      return {static_cast<const float*>(p)[at], 0};
    case DType::float64:
      return {static_cast<const double*>(p)[at], 0};
  }
  return {};
}

inline void write(void* p, DType t, int64_t at, Scalar s) {
  switch (t) {
    case DType::boolean:
      static_cast<uint8_t*>(p)[at] = s.i != 0;
      break;
    case DType::int32:
      static_cast<int32_t*>(p)[at] = static_cast<int32_t>(s.i);
      break;
    case DType::int64:
      static_cast<int64_t*>(p)[at] = s.i;
      break;
    case DType::float32:
      static_cast<float*>(p)[at] = static_cast<float>(s.f);
      break;
    case DType::float64:
      static_cast<double*>(p)[at] = s.f;
      break;
  }
}

inline Scalar rounded(Scalar s, DType t) {
  if (t == DType::float32) s.f = static_cast<float>(s.f);
  if (t == DType::int32) s.i = static_cast<int32_t>(s.i);
  return s;
}

inline Scalar apply(Code code, DType type, DType to, Scalar a, Scalar b, Scalar c) {
  const bool real = is_float(type);
  const auto pick = [&](double f, int64_t i) { return real ? Scalar{f, 0} : Scalar{0, i}; };
  const auto truth = [](bool t) { return Scalar{0, t}; };
  switch (code) {
    case Code::add:
      return pick(a.f + b.f, a.i + b.i);
    case Code::sub:
      return pick(a.f - b.f, a.i - b.i);
    case Code::mul:
      return pick(a.f * b.f, a.i * b.i);
    case Code::div:
      return {a.f / b.f, 0};
    case Code::neg:
      return pick(-a.f, -a.i);
    case Code::maximum:
      return pick(std::isnan(a.f) || a.f > b.f ? a.f : b.f, std::max(a.i, b.i));
    case Code::check_index:
      return a;
    case Code::exp:
      return {std::exp(a.f), 0};
    case Code::tanh:
      return {std::tanh(a.f), 0};
    case Code::lt:
      return truth(real ? a.f < b.f : a.i < b.i);
    case Code::select:
      return a.i ? b : c;
    case Code::cast:
      if (to == DType::boolean) return truth(real ? a.f != 0 : a.i != 0);
      if (is_float(to)) return {real ? a.f : static_cast<double>(a.i), 0};
      return {0, real ? static_cast<int64_t>(a.f) : a.i};
    default:
      FAIL("no reference for " << name_of(code));
  }
  return {};
}

// Evaluates every element of every row afresh; `memory[binding]` is element 0, changed in place by stores.
inline void reference(const Program& p, const std::vector<void*>& memory, const std::vector<Number>& numbers) {
  std::vector<std::pair<View, std::pair<int64_t, Scalar>>> stores;
  for (int64_t row = 0; row < p.rows(); ++row) {
    Dims at = Dims::filled(p.domain.rank, 0);
    for (int64_t d = p.outer() - 1, r = row; d >= 0; --d) at[d] = r % p.domain[d], r /= p.domain[d];
    int64_t columns = p.columns();
    if (p.piece_limit) {
      const int64_t size = p.domain[p.outer()];
      columns = columns / size * std::clamp<int64_t>(p.piece_limit - at[p.outer() - 1] * size, 0, size);
    }
    std::vector<std::vector<Scalar>> values(p.code.size());
    for (size_t n = 0; n < p.code.size(); ++n) {
      const Instr& in = p.code[n];
      values[n].resize(std::max<int64_t>(columns, 1));
      if (in.code == Code::reduce) {
        const bool most = in.fold == Fold::maximum;
        constexpr int64_t kLeast = std::numeric_limits<int64_t>::min(), kMost = std::numeric_limits<int64_t>::max();
        Scalar total;
        if (in.fold != Fold::sum) total = {most ? -INFINITY : INFINITY, most ? kLeast : kMost};
        for (int64_t c = 0; c < columns; ++c) {
          const Scalar v = values[in.a][c];
          if (in.fold == Fold::sum)
            total = {total.f + v.f, total.i + v.i};
          else if (most)
            total = {v.f > total.f || std::isnan(v.f) ? v.f : total.f, std::max(v.i, total.i)};
          else
            total = {v.f < total.f || std::isnan(v.f) ? v.f : total.f, std::min(v.i, total.i)};
        }
        std::fill(values[n].begin(), values[n].end(), rounded(total, in.dtype));
        continue;
      }
      // On an empty row only what is computed once a row exists.
      for (int64_t c = 0; c < std::max<int64_t>(columns, in.per_row ? 1 : 0); ++c) {
        for (int64_t d = p.domain.rank - 1, r = c; d >= p.outer(); --d)
          if (p.domain[d]) at[d] = r % p.domain[d], r /= p.domain[d];
        const auto address = [&](const View& v) {
          int64_t e = v.offset;
          for (int d = 0; d < p.domain.rank; ++d) e += at[d] * v.strides[d];
          return e;
        };
        const auto operand = [&](int32_t i) { return i < 0 ? Scalar{} : values[i][c]; };
        Scalar& out = values[n][c];
        if (in.code == Code::load)
          out = read(memory[p.views[in.slot].binding], in.dtype, address(p.views[in.slot]));
        else if (in.code == Code::load_at)
          out = read(memory[p.views[in.slot].binding], in.dtype, operand(in.a).i);
        else if (in.code == Code::index)
          out = {0, address(p.views[in.slot])};
        else if (in.code == Code::number)
          out = {numbers[in.slot].f, is_float(in.dtype) ? 0 : numbers[in.slot].i};
        else if (in.code == Code::constant)
          out = is_float(in.dtype) ? Scalar{in.imm.f, 0} : Scalar{0, in.imm.i};
        else if (in.code == Code::store)
          stores.push_back({p.views[in.slot], {address(p.views[in.slot]), operand(in.a)}});
        else
          out = apply(in.code, in.code == Code::select ? in.dtype : p.code[in.a].dtype, in.dtype, operand(in.a),
                      operand(in.b), operand(in.c));
        out = rounded(out, in.dtype);
      }
    }
  }
  for (auto& [view, what] : stores) write(memory[view.binding], view.dtype, what.first, what.second);
}

struct Tensor {
  DType dtype;
  int64_t count;
};

inline std::vector<uint8_t> random_bytes(Tensor t, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<uint8_t> bytes(static_cast<size_t>(t.count) * size_of(t.dtype) + 64);
  for (int64_t i = 0; i < t.count; ++i) {
    const double x = static_cast<double>(random() % 4001) / 1000.0 - 2.0;
    write(bytes.data(), t.dtype, i,
          {x, static_cast<int64_t>(t.dtype == DType::boolean ? random() % 2 : random() % 21) -
                  10 * (t.dtype != DType::boolean)});
  }
  return bytes;
}

// One step: bindings [0, inputs) are leaves, the others outputs. Returns the outputs' bytes.
inline std::vector<std::vector<uint8_t>> run_kernel(const Kernel& kernel, const std::vector<Tensor>& tensors,
                                                    int inputs, const std::vector<std::vector<uint8_t>>& contents,
                                                    const std::vector<Number>& numbers = {}) {
  Device& device = cpu_device();
  auto plan = std::make_shared<Plan>();
  Instance instance;
  instance.kernel = kernel;
  std::vector<BufferRef> leaves, outputs;
  for (int i = 0; i < static_cast<int>(tensors.size()); ++i) {
    const int64_t bytes = tensors[i].count * static_cast<int64_t>(size_of(tensors[i].dtype));
    Memory m;
    m.kind = i < inputs ? Memory::Kind::leaf : Memory::Kind::output;
    m.index = i < inputs ? i : i - inputs;
    m.bytes = bytes;
    plan->memories.push_back(m);
    instance.bindings.push_back({i, -1});
    auto& list = i < inputs ? leaves : outputs;
    list.push_back(device.allocate(static_cast<size_t>(bytes)));
    device.upload(list.back(), contents[i].data(), static_cast<size_t>(bytes));
  }
  for (size_t n = 0; n < numbers.size(); ++n) instance.numbers.push_back(static_cast<int32_t>(n));
  plan->leaves = inputs;
  plan->outputs = static_cast<int32_t>(tensors.size()) - inputs;
  plan->numbers = static_cast<int32_t>(numbers.size());
  plan->steps.push_back({"test", {instance}});
  auto prepared = device.prepare(plan);
  device.run(*prepared, {leaves.data(), outputs.data(), nullptr, numbers.data()});
  std::vector<std::vector<uint8_t>> results;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Tensor& t = tensors[inputs + i];
    results.emplace_back(static_cast<size_t>(t.count) * size_of(t.dtype));
    device.download(results.back().data(), outputs[i], 0, results.back().size());
  }
  return results;
}

inline void compare(const void* got, const void* want, Tensor t, double tolerance) {
  int64_t wrong = 0, first = -1;
  for (int64_t i = 0; i < t.count; ++i) {
    const Scalar a = read(got, t.dtype, i), b = read(want, t.dtype, i);
    const bool same = a.i == b.i && (a.f == b.f || (std::isnan(a.f) && std::isnan(b.f)) ||
                                     std::abs(a.f - b.f) <= tolerance * (1 + std::abs(b.f)));
    if (!same && wrong++ == 0) first = i;
  }
  INFO("first difference at " << first);
  if (first >= 0) {
    INFO("got " << read(got, t.dtype, first).f << " / " << read(got, t.dtype, first).i << ", wanted "
                << read(want, t.dtype, first).f << " / " << read(want, t.dtype, first).i);
    CHECK(wrong == 0);
    return;
  }
  CHECK(wrong == 0);
}

inline void check(Program p, const std::vector<Tensor>& tensors, int inputs, const std::vector<Number>& numbers = {},
                  double tolerance = 2e-6) {
  annotate(p);
  INFO(p.print());
  std::vector<std::vector<uint8_t>> contents;
  for (size_t i = 0; i < tensors.size(); ++i)
    contents.push_back(random_bytes(tensors[i], static_cast<uint32_t>(i) + 1));
  Kernel kernel;
  kernel.program = p;
  const auto results = run_kernel(kernel, tensors, inputs, contents, numbers);
  std::vector<void*> memory;
  for (auto& c : contents) memory.push_back(c.data());
  reference(p, memory, numbers);
  for (size_t i = 0; i < results.size(); ++i)
    compare(results[i].data(), contents[inputs + i].data(), tensors[inputs + i], tolerance);
}

inline View view(int32_t binding, Dims strides, DType t = DType::float32, int64_t offset = 0) {
  View v;
  v.binding = binding;
  v.dtype = t;
  v.strides = strides;
  v.offset = offset;
  return v;
}

inline Number number(double f) {
  Number n;
  n.f = f;
  return n;
}

}  // namespace sg::cpu_test
