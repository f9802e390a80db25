// Functions and methods that read and write at computed places. The arithmetic is in ops/index.cpp.
#include "bind/answers.hpp"
#include "bind/bound.hpp"
#include "bind/tensor.hpp"
#include "ops/list.hpp"

namespace sg::bind {

// An index for each dimension, None where it is not indexed; a mask counts as the coordinates of the chosen elements.
struct Indices {
  std::vector<Tensor> list;
};
template <>
struct From<Indices> {
  static Indices get(Fetched& f, PyObject* o) {
    Indices indices;
    Object list(is_tensor(o) ? nullptr : PySequence_Fast(o, ""));
    if (!list) {
      PyErr_Clear();
      fail<TypeError>(f.op, "a sequence of indices is needed, got " + type_name(o), "write (i, j)");
    }
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(list.get()); ++i) {
      PyObject* key = PySequence_Fast_GET_ITEM(list.get(), i);
      if (list.get() == o) leave_to_elements(f.op, key);
      const Tensor t = key == Py_None ? Tensor() : legacy_mask(tensor_of(f.op, key));
      if (!t || t.dtype() != DType::boolean)
        indices.list.push_back(t);
      else
        for (const Tensor& c : coordinates_of(t)) indices.list.push_back(c);
    }
    return indices;
  }
};

namespace {

Tensor index_put(const Tensor& x, Indices indices, const Tensor& values, bool accumulate) {
  if (indices.list.size() > static_cast<size_t>(x.rank()))
    fail<IndexError>("index_put", std::to_string(indices.list.size()) + " indices for shape " + x.shape().str(),
                     "use at most one a dimension");
  return sg::index_put(x, indices.list, values, accumulate);
}

constexpr Callable callables[] = {
    {"gather", bound<sg::gather>},
    {"take_along_dim", bound<sg::take_along_dim>},
    {"take", bound<sg::take>},
    {"index_select", bound<sg::index_select>},
    {"scatter", bound<sg::scatter>},
    {"scatter_add", bound<sg::scatter_add>},
    {"scatter_reduce", bound<sg::scatter_reduce>},
    {"index_add", bound<sg::index_add>},
    {"index_copy", bound<sg::index_copy>},
    {"index_fill", bound<sg::index_fill>},
    {"embedding", bound<sg::embedding>},
    {"index_put", bound<index_put>},
    {"masked_scatter", bound<sg::masked_scatter>},
    {"scatter_", writes<sg::scatter_>},
    {"index_copy_", writes<sg::index_copy_>},
    {"index_fill_", writes<sg::index_fill_>},
    {"scatter_add_", in_place<bound<sg::scatter_add>>},
    {"scatter_reduce_", in_place<bound<sg::scatter_reduce>>},
    {"index_add_", in_place<bound<sg::index_add>>},
    {"index_put_", in_place<bound<index_put>>},
    {"masked_fill_", in_place<bound<sg::masked_fill>>},
    {"masked_scatter_", in_place<bound<sg::masked_scatter>>},
    {"_set_legacy_keys", bound<set_legacy_keys>},
};

}  // namespace

void add_indexing(PyObject* module) { add_callables(module, callables); }

}  // namespace sg::bind
