// Gradients of slices on their way to the tensor that was sliced. They are collected, so that slices that lie side by
// side are written into one tensor, each element once.
#pragma once
#include <vector>

#include "graph/grad.hpp"

namespace sg {

struct GradPart {
  Ref<GradNode> slice;  // of slice_row()
  Tensor g;
};

// Given by ops/.
const OpInfo& slice_row();  // a range of every step-th place along one dimension; StridedAttributes
Tensor put_together(const std::vector<GradPart>& parts);  // the gradient of slice->in[0], the same for all

}  // namespace sg
