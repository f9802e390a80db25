// Prints plans and counts their bytes. Knows neither nodes nor devices.
#include "plan/plan.hpp"

namespace sg {
namespace {

std::string memory_text(const Memory& m) {
  switch (m.kind) {
    case Memory::Kind::leaf:
      return "leaf " + std::to_string(m.index);
    case Memory::Kind::output:
      return "output " + std::to_string(m.index) + (m.donor >= 0 ? " in place of leaf " + std::to_string(m.donor) : "");
    case Memory::Kind::temp:
      return "arena + " + std::to_string(m.offset);
  }
  return "";
}

std::string product_text(const Product& p) {
  return "product [" + std::to_string(p.batch) + ", " + std::to_string(p.m) + ", " + std::to_string(p.k) + "] @ [" +
         std::to_string(p.batch) + ", " + std::to_string(p.k) + ", " + std::to_string(p.n) + "]" +
         (p.sliced ? ", slices of a sum of " + std::to_string(p.sliced) : "") + ", epilogue " + p.epilogue.print();
}

std::string instance_text(const Instance& instance) {
  std::string s;
  switch (instance.kernel.kind) {
    case Kernel::Kind::program:
      s = instance.kernel.program.print();
      break;
    case Kernel::Kind::product:
      s = product_text(*instance.kernel.product);
      break;
    case Kernel::Kind::copy:
      s = "copy\n";
      break;
    case Kernel::Kind::custom:
      s = "own kernel, words";
      for (int64_t word : instance.kernel.custom->words) s += " " + std::to_string(word);
      s += "\n";
      break;
  }
  s += "  bindings";
  for (const Binding& b : instance.bindings) s += " m" + std::to_string(b.memory);
  s += "; reads";
  for (int32_t m : instance.reads) s += " m" + std::to_string(m);
  s += "; writes";
  for (int32_t m : instance.writes) s += " m" + std::to_string(m);
  return s + "\n";
}

}  // namespace

std::string Plan::print() const {
  std::string s = "plan on " + device.str() + ": " + std::to_string(steps.size()) + " steps, arena " +
                  std::to_string(arena_bytes) + " bytes\n";
  for (size_t m = 0; m < memories.size(); ++m)
    s += "  m" + std::to_string(m) + ": " + memory_text(memories[m]) + ", " + std::to_string(memories[m].bytes) +
         " bytes\n";
  for (size_t i = 0; i < steps.size(); ++i) {
    s += "step " + std::to_string(i) + " " + steps[i].name;
    if (steps[i].instances.size() > 1) s += " x " + std::to_string(steps[i].instances.size());
    s += "\n";
    for (const Instance& instance : steps[i].instances) s += instance_text(instance);
  }
  return s;
}

namespace {
template <class T>
int64_t bytes_of(const std::vector<T>& list) {
  return static_cast<int64_t>(list.capacity() * sizeof(T));
}
int64_t bytes_of(const Program& p) { return bytes_of(p.views) + bytes_of(p.code); }
int64_t bytes_of(const Instance& i) {
  const CustomKernel& custom = *i.kernel.custom;
  const size_t boxed = (i.kernel.product ? sizeof(Product) : 0) + (i.kernel.custom ? sizeof(CustomKernel) : 0);
  return static_cast<int64_t>(boxed) + bytes_of(i.kernel.program) + bytes_of(i.kernel.product->epilogue) +
         bytes_of(custom.tensors) + bytes_of(custom.words) + static_cast<int64_t>(custom.source.capacity()) +
         bytes_of(i.bindings) + bytes_of(i.numbers) + bytes_of(i.reads) + bytes_of(i.writes) + bytes_of(i.checks) +
         bytes_of(i.guards);
}
}  // namespace

int64_t Plan::bytes() const {
  int64_t sum = bytes_of(memories) + bytes_of(steps);
  for (const Step& step : steps) {
    sum += bytes_of(step.instances) + bytes_of(step.nodes);
    for (const Instance& instance : step.instances) sum += bytes_of(instance);
  }
  return sum;
}

}  // namespace sg
