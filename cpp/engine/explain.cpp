// Shows what is pending without running it: the graph, the plan, and all stages of one tensor.
#include <algorithm>
#include <set>

#include "engine/flush.hpp"

namespace sg {
namespace {

std::string operand_text(const Operand& o) {
  switch (o.kind) {
    case Operand::Kind::number:
      return is_float(o.dtype) ? std::to_string(o.number.f) : std::to_string(o.number.i);
    case Operand::Kind::index:
      return "position";
    case Operand::Kind::node:
      return (o.node->pending() ? "%" + std::to_string(o.node->log_index) : std::string("data")) +
             (is_contiguous(o.node->domain, o.strides) && !o.offset ? "" : " strides " + o.strides.str());
    case Operand::Kind::none:
      break;
  }
  return "";
}

std::string node_text(const Node& n) {
  std::string s = "%" + std::to_string(n.log_index) + " = " + n.op->name + " " + name_of(n.dtype) + n.domain.str();
  if (n.reduced) {
    s += " folds";
    for (int d = 0; d < n.domain.rank; ++d)
      if (n.reduced >> d & 1) s += " " + std::to_string(d);
  }
  s += " (";
  for (int k = 0; k < n.inputs; ++k) s += (k ? ", " : "") + operand_text(n.in[k]);
  return s + ")" + (n.held.load() > 0 ? "  held" : "") + (n.location ? "  # " + n.location.str() : "") + "\n";
}

}  // namespace

std::string describe_graph(const Tensor& x) {
  EngineLock lock;
  const NodeRef root = x->storage->node.ref();
  if (!root->pending()) return "the value is there: " + std::string(name_of(x.dtype())) + x.shape().str() + "\n";
  std::set<int32_t> seen{root->log_index};
  std::vector<const Node*> open{root.get()};
  while (!open.empty()) {
    const Node* n = open.back();
    open.pop_back();
    for (int k = 0; k < n->inputs; ++k)
      if (n->in[k].kind == Operand::Kind::node && n->in[k].node->pending() &&
          seen.insert(n->in[k].node->log_index).second)
        open.push_back(n->in[k].node.get());
  }
  std::string s;
  const Log& log = *root->log;
  for (int32_t i : seen) s += node_text(*log.nodes[i]);
  return s;
}

std::string describe_new(const Log& log, size_t structure, size_t common) {
  const std::string what = "plan: " + std::to_string(log.nodes.size()) + " operations ";
  const auto after = std::upper_bound(log.begins.begin(), log.begins.end(), common);
  if (common == 0 || after == log.begins.begin()) return what + "like none before";
  if (common >= structure) return what + "as before, but other results are held, or other memory is free";
  std::string first = node_text(**(log.nodes.begin() + (after - log.begins.begin()) - 1));
  first.pop_back();
  return what + "like none before from here on: " + first;
}

std::string describe_new(const Log& log, const std::string& how) {
  return "plan: " + std::to_string(log.nodes.size()) + " operations as before, " + how;
}

std::vector<std::string> PlanView::lines_of(size_t step) const {
  std::vector<std::string> all;
  for (const int32_t node : plan->steps[step].nodes) {
    std::string line = lines[static_cast<size_t>(node)].str();
    if (!line.empty() && std::ranges::find(all, line) == all.end()) all.push_back(std::move(line));
  }
  return all;
}

PlanView plan_of(const Tensor& x, bool compile) {
  EngineLock lock;
  const NodeRef node = x->storage->node.ref();
  return plan_of_log(node->pending() ? *node->log : log_of(x.device()), compile);
}

std::string explain(const Tensor& x) {
  EngineLock lock;
  std::string s = "---- graph ----\n" + describe_graph(x);
  if (!x->storage->node->pending()) return s;
  const PlanView view = plan_of(x, true);
  s += "---- plan ----\n" + view.plan->print();
  for (size_t i = 0; i < view.plan->steps.size(); ++i) {
    const std::string source = view.prepared->source(i);
    if (source.empty()) continue;
    s += "---- kernel " + std::to_string(i) + " " + view.plan->steps[i].name + " ----\n";
    for (const std::string& line : view.lines_of(i)) s += "// " + line + "\n";
    s += source;
    s += "\n---- SPIR-V: " + std::to_string(view.prepared->spirv(i).size()) + " words ----\n";
  }
  return s;
}

}  // namespace sg
