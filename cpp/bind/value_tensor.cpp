// Tensors made of scalar Values: what layers compute with when they are called with a tensor.
// Promises: the same Values give the same leaf tensor, and its gradient is theirs: it is added to them when .grad of
// one is read or written (value::Language::fetch_grad). A leaf is freed with its Values, or at such an access once no
// gradient graph refers to it.
// Threads: the GIL is held.
#include <algorithm>
#include <vector>

#include "bind/arguments.hpp"
#include "bind/tensor.hpp"
#include "bind/value.hpp"
#include "engine/engine.hpp"
#include "graph/build.hpp"
#include "graph/grad.hpp"
#include "value/graph.hpp"

namespace sg::bind {
namespace {

using value::Node;

struct Leaf {
  Tensor tensor;
  std::vector<Node*> nodes;  // one an element; nullptr: freed
  std::vector<double> data;  // that the tensor holds

  bool reachable() const { return tensor->ref_count() > 1; }
};
using LeafRef = std::shared_ptr<Leaf>;

struct LeafElement {
  LeafRef leaf;
  size_t element;
};

// Where each node with kBridged is. Never destroyed: at exit the devices go first.
auto& places = *new std::unordered_multimap<const Node*, LeafElement>;

template <class F>
LeafRef find(const Node* n, F wanted) {
  const auto [first, last] = places.equal_range(n);
  const auto it = std::find_if(first, last, [&](const auto& entry) { return wanted(*entry.second.leaf); });
  return it == last ? nullptr : it->second.leaf;
}

void place(const LeafRef& leaf) {
  for (size_t i = 0; i < leaf->nodes.size(); ++i) {
    places.insert({leaf->nodes[i], {leaf, i}});
    leaf->nodes[i]->flags |= value::kBridged | value::kExtra;  // kExtra: `forget` is called
  }
}

void remove(const LeafRef& leaf) {
  for (Node* n : leaf->nodes) {
    if (!n) continue;
    auto [it, last] = places.equal_range(n);
    while (it != last) it = it->second.leaf == leaf ? places.erase(it) : std::next(it);
    n->set(value::kBridged, places.contains(n));
  }
}

Tensor upload(const std::vector<double>& data, const Dims& shape, DType dtype, DeviceId device) {
  if (dtype == DType::float64) return from_host(data.data(), shape, dtype, device);
  const std::vector<float> floats(data.begin(), data.end());
  return from_host(floats.data(), shape, dtype, device);
}

template <class T>
std::vector<double> download(const Tensor& x) {
  std::vector<T> out(static_cast<size_t>(x.numel()));
  {
    WithoutGil unlocked;
    read(x, out.data());
  }
  return {out.begin(), out.end()};
}

void add_gradient(Leaf& leaf) {
  const Tensor grad(std::exchange(leaf.tensor->grad, {}));
  const auto numbers = grad.dtype() == DType::float64 ? download<double>(grad) : download<float>(grad);
  for (size_t i = 0; i < numbers.size(); ++i)
    if (Node* n = leaf.nodes[i]) value::set_grad(n, value::grad_of(n) + numbers[i], false);
}

// _tensor_of(list of Values, shape, like): their data on the device of `like`, in its type if that is a float's.
PyObject* tensor_of_values(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return guarded([&]() -> PyObject* {
    constexpr const char* op = "_tensor_of";
    if (count != 3 || !PyList_Check(args[0])) fail<TypeError>(op, "a list, a shape and a tensor are needed", "");
    const Dims shape = to_dims(op, args[1]);
    const Tensor& like = tensor_of(op, args[2]);
    const DType dtype = wide_of(with_fractions(like.dtype()));
    std::vector<Node*> nodes(static_cast<size_t>(PyList_GET_SIZE(args[0])));
    std::vector<double> data(nodes.size());
    for (size_t i = 0; i < nodes.size(); ++i) {
      PyObject* o = PyList_GET_ITEM(args[0], static_cast<Py_ssize_t>(i));
      if (!is_value(o)) fail<TypeError>("Value", "a parameter is a " + type_name(o), "make it a Value");
      nodes[i] = node_of(o);
      data[i] = value::data_of(nodes[i]);
      if (nodes[i]->op != value::Op::leaf && grad_enabled())
        fail<ValueError>("Value", "a parameter was computed, and gradients of tensors would end there",
                         "make it a Value of its own, call with Values, or use no_grad()");
    }
    if (static_cast<int64_t>(nodes.size()) != shape.numel())
      fail<ValueError>(op, std::to_string(nodes.size()) + " Values for the shape " + shape.str(), "");
    if (!grad_enabled() || nodes.empty()) return wrap(upload(data, shape, dtype, like.device()));
    LeafRef leaf = find(nodes[0], [&](const Leaf& l) {
      const Tensor& t = l.tensor;
      return l.nodes == nodes && t.shape() == shape && t.dtype() == dtype && t.device() == like.device();
    });
    if (!leaf) {
      leaf = std::make_shared<Leaf>(Leaf{upload(data, shape, dtype, like.device()), nodes, data});
      leaf->tensor.requires_grad_();
      place(leaf);
    }
    const Tensor tensor = leaf->tensor;  // reachable from here on, whatever other threads look at meanwhile
    if (leaf->data != data) {            // graphs made before keep the values of their time
      tensor->storage = upload(data, shape, dtype, like.device())->storage;
      leaf->data = std::move(data);
    }
    return wrap(tensor);
  });
}

PyMethodDef function = {"_tensor_of", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(tensor_of_values)),
                        METH_FASTCALL, "A tensor of the data of Values; its gradient goes to them."};

}  // namespace

void forget_leaves(Node* n) {
  const auto [first, last] = places.equal_range(n);
  for (auto it = first; it != last; ++it) it->second.leaf->nodes[it->second.element] = nullptr;
  places.erase(first, last);
}

// add_gradient calls this again; by then there is nothing left to add.
void fetch_grad(Node* n) {
  while (LeafRef leaf = find(n, [](const Leaf& l) { return bool(l.tensor.grad()); })) add_gradient(*leaf);
  while (LeafRef leaf = find(n, [](const Leaf& l) { return !l.reachable(); })) remove(leaf);
}

void add_value_tensors(PyObject* module) {
  check(PyModule_AddObjectRef(module, function.ml_name, Object(check(PyCFunction_New(&function, nullptr))).get()));
}

}  // namespace sg::bind
