// Functions and methods of views, and of ops that move, join and repeat elements. The
// arithmetic is in ops/movement.cpp, ops/join.cpp and ops/triangle.cpp.
#include <algorithm>
#include <vector>

#include "bind/bound.hpp"
#include "bind/device.hpp"
#include "graph/grad.hpp"
#include "ops/list.hpp"

namespace sg::bind {
namespace {

constexpr Tensor (*view_of_shape)(const Tensor&, const Dims&) = sg::view;

// view(dtype) is Python's: spirograd._bits.
PyObject* view(const Call& c) {
  const bool one = c.count + (c.names ? PyTuple_GET_SIZE(c.names) : 0) == 1;
  if (!one || !is_dtype_object(c.values[0])) return Body{bound<view_of_shape>}.run(c);
  Object module(check(PyImport_ImportModule("spirograd._bits")));
  return check(PyObject_CallMethod(module.get(), "view", "OO", c.self, c.values[0]));
}
constexpr Tensor (*squeeze)(const Tensor&, const std::optional<Dims>&) = sg::squeeze;
constexpr Tensor (*repeat_interleave)(const Tensor&, const Tensor&, std::optional<int64_t>,
                                      std::optional<int64_t>) = sg::repeat_interleave;

Dims broadcast_shapes(const std::vector<Dims>& shapes) {
  Dims all;
  for (const Dims& shape : shapes) all = sg::broadcast_shapes("broadcast_shapes", all, shape);
  return all;
}

constexpr Callable views[] = {
    {"reshape", bound<sg::reshape>},
    {"view", view},
    {"view_as", bound<sg::view_as>},
    {"reshape_as", bound<sg::reshape_as>},
    {"expand_as", bound<sg::expand_as>},
    {"ravel", bound<sg::ravel>},
    {"flatten", bound<sg::flatten>},
    {"unflatten", bound<sg::unflatten>},
    {"permute", bound<sg::permute>},
    {"transpose", bound<sg::transpose>},
    {"swapaxes", bound<sg::transpose>},
    {"t", bound<sg::t>},
    {"moveaxis", bound<sg::moveaxis>},
    {"expand", bound<sg::expand>},
    {"unsqueeze", bound<sg::unsqueeze>},
    {"squeeze", bound<squeeze>},
    {"select", bound<sg::select>},
    {"narrow", bound<sg::narrow>},
    {"diagonal", bound<sg::diagonal>},
    {"unfold", bound<sg::unfold>},
    {"as_strided", bound<sg::as_strided>},
    {"unbind", bound<sg::unbind>},
    {"split", bound<sg::split>},
    {"split_with_sizes", bound<sg::split_with_sizes>},
    {"chunk", bound<sg::chunk>},
    {"tensor_split", bound<sg::tensor_split>},
    {"hsplit", bound<sg::hsplit>},
    {"vsplit", bound<sg::vsplit>},
    {"atleast_1d", bound<sg::atleast_1d>},
    {"atleast_2d", bound<sg::atleast_2d>},
    {"atleast_3d", bound<sg::atleast_3d>},
    {"broadcast_tensors", bound<sg::broadcast_tensors>},
    {"broadcast_shapes", bound<broadcast_shapes>},
    {"contiguous", bound<sg::contiguous>},
    {"clone", bound<sg::clone>},
    {"detach", bound<&Tensor::detach>},
};

constexpr Callable callables[] = {
    {"cat", bound<sg::cat>},
    {"_stored", bound<sg::stored>},
    {"_snapshot", bound<sg::snapshot>},
    {"stack", bound<sg::stack>},
    {"hstack", bound<sg::hstack>},
    {"vstack", bound<sg::vstack>},
    {"dstack", bound<sg::dstack>},
    {"block_diag", bound<sg::block_diag>},
    {"meshgrid", bound<sg::meshgrid>},
    {"cartesian_prod", bound<sg::cartesian_prod>},
    {"tril_indices", bound<sg::tril_indices>},
    {"triu_indices", bound<sg::triu_indices>},
    {"repeat", bound<sg::repeat>},
    {"tile", bound<sg::tile>},
    {"repeat_interleave", bound<repeat_interleave>},
    {"flip", bound<sg::flip>},
    {"fliplr", bound<sg::fliplr>},
    {"flipud", bound<sg::flipud>},
    {"roll", bound<sg::roll>},
    {"rot90", bound<sg::rot90>},
    {"pad", bound<sg::pad>},
    {"diag", bound<sg::diag>},
    {"diag_embed", bound<sg::diag_embed>},
    {"tril", bound<sg::tril>},
    {"tril_", in_place<bound<sg::tril>>},
    {"triu_", in_place<bound<sg::triu>>},
    {"triu", bound<sg::triu>},
};

}  // namespace

void add_movement(PyObject* module) {
  add_callables(module, views);
  add_callables(module, callables);
}

}  // namespace sg::bind
