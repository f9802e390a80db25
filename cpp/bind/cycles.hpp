// Cycles of Python objects that lead through gradient graphs: a tensor whose hook knows the tensor, a function that
// keeps its own result. A Python object that holds a graph reports to Python's collector what it alone keeps alive
// through the graph; what C++ or another tensor holds too is not reported, because the collector must not free it.
// Threads: the GIL is held.
#pragma once
#include <atomic>

#include "bind/errors.hpp"
#include "graph/grad.hpp"

namespace sg::bind {

extern std::atomic<int64_t> in_graphs;    // holders of Python objects in graphs: none, no walks
extern std::atomic<int32_t> without_gil;  // threads that are recording something without the GIL

// For tp_traverse and tp_clear of objects that hold a tensor or an op. Clearing frees Python objects, not the graph.
int show_given(const Ref<TensorImpl>& tensor, const Ref<GradNode>& op, visitproc visit, void* arg);
void take_given(const Ref<TensorImpl>& tensor, const Ref<GradNode>& op);

}  // namespace sg::bind
