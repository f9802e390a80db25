// Small hand-made plans for the GPU tests: float32 vectors and pointwise programs.
#pragma once
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "device/device.hpp"

namespace sg_test {

inline int expected_messages = 0;  // validation errors that a test provoked

inline int32_t leaf(sg::Plan& p, int64_t n) {
  p.memories.push_back({sg::Memory::Kind::leaf, p.leaves++, n * 4, 0, -1});
  return static_cast<int32_t>(p.memories.size() - 1);
}
inline int32_t output(sg::Plan& p, int64_t n, int32_t donor = -1) {
  p.memories.push_back({sg::Memory::Kind::output, p.outputs++, n * 4, 0, donor});
  return static_cast<int32_t>(p.memories.size() - 1);
}
inline int32_t temp(sg::Plan& p, int64_t n, int64_t offset) {
  p.memories.push_back({sg::Memory::Kind::temp, 0, n * 4, offset, -1});
  p.arena_bytes = std::max(p.arena_bytes, offset + n * 4);
  return static_cast<int32_t>(p.memories.size() - 1);
}

inline sg::View vector_view(int32_t binding) {
  sg::View v;
  v.binding = binding;
  v.strides = sg::Dims{1};
  return v;
}

// out = a (op) b, element by element; `number` >= 0: b is that run-time number.
inline sg::Instance binary(sg::Code op, int64_t n, int32_t a, int32_t b, int32_t out, int32_t number = -1) {
  sg::ProgramBuilder builder;
  builder.program.domain = sg::Dims{n};
  const sg::Expr x = builder.load(builder.add_view(vector_view(0)));
  const bool from_number = number >= 0;
  const sg::Expr y = from_number ? builder.number(sg::DType::float32) : builder.load(builder.add_view(vector_view(1)));
  const int32_t to = builder.add_view(vector_view(from_number ? 1 : 2));
  builder.store(to, builder.alu(op, sg::DType::float32, x, y));
  annotate(builder.program);
  sg::Instance i;
  i.kernel.program = builder.program;
  i.bindings.push_back({a, -1});
  i.reads.push_back(a);
  if (from_number) {
    i.numbers = {number};
  } else {
    i.bindings.push_back({b, -1});
    if (b != a) i.reads.push_back(b);
  }
  i.bindings.push_back({out, -1});
  i.writes = {out};
  return i;
}
inline sg::Instance copy(int32_t from, int32_t to) {
  sg::Instance i;
  i.kernel.kind = sg::Kernel::Kind::copy;
  i.bindings = {{from, -1}, {to, -1}};
  i.reads = {from};
  i.writes = {to};
  return i;
}
inline void step(sg::Plan& p, const std::string& name, sg::Instance i) {
  sg::Step s;
  s.name = name;
  s.instances.push_back(std::move(i));
  p.steps.push_back(std::move(s));
}

inline sg::BufferRef filled(sg::Device& d, size_t n, float value) {
  const std::vector<float> host(n, value);
  sg::BufferRef b = d.allocate(n * 4);
  d.upload(b, host.data(), n * 4);
  return b;
}
inline std::vector<float> read(sg::Device& d, const sg::BufferRef& b, size_t n) {
  std::vector<float> host(n, -1e30f);
  d.download(host.data(), b, 0, n * 4);
  return host;
}
inline bool all_equal(const std::vector<float>& v, float value) {
  for (float x : v)
    if (!(x == value)) return false;
  return true;
}

struct RunBuffers {
  std::vector<sg::BufferRef> leaves, outputs;
  std::vector<sg::Number> numbers;
  std::vector<uint64_t> nodes = {};
  uint32_t number = 0;
  uint64_t own = 0;
};
inline void run(sg::Device& d, sg::Prepared& p, const RunBuffers& r) {
  const int64_t zero = 0;
  sg::RunArguments arguments;
  arguments.leaves = r.leaves.data();
  arguments.outputs = r.outputs.data();
  arguments.offsets = &zero;
  arguments.numbers = r.numbers.data();
  arguments.nodes = r.nodes.data();
  arguments.run = r.number;
  arguments.own = r.own;
  d.run(p, arguments);
}

}  // namespace sg_test
