// The gradient of a tensor from the gradients of its slices. Slices that lie side by side are joined, so that each
// element is written once, however many slices there are. Knows no op.
#include "graph/parts.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <queue>

#include "ops/list.hpp"
#include "ops/ops.hpp"

namespace sg {
namespace {

// A range along one dimension.
struct Range {
  int64_t begin, end;
  Tensor g;
};
using Ranges = std::vector<Range>;

// Ranges along one dimension, of every step-th place; where the step is not 1, they are counted in steps.
struct Family {
  int dim;
  int64_t step;
  bool operator<(const Family& o) const { return dim != o.dim ? dim < o.dim : step < o.step; }
};

// Splits ranges into layers without overlaps, in order: as few layers as the most ranges that cover one place.
std::vector<Ranges> layers_of(Ranges ranges) {
  std::stable_sort(ranges.begin(), ranges.end(), [](const Range& a, const Range& b) { return a.begin < b.begin; });
  using End = std::pair<int64_t, size_t>;
  std::priority_queue<End, std::vector<End>, std::greater<>> ends;
  std::vector<Ranges> layers;
  for (Range& r : ranges) {
    size_t layer = layers.size();
    if (!ends.empty() && ends.top().first <= r.begin) {
      layer = ends.top().second;
      ends.pop();
    } else {
      layers.emplace_back();
    }
    ends.emplace(r.end, layer);
    layers[layer].push_back(std::move(r));
  }
  return layers;
}

// The order of dimensions in memory, if there are no gaps: readers of the gradient read it in this order.
Dims order_of(const Dims& shape, const Dims& strides) {
  Dims order, sizes, steps, plain;
  for (int d = 0; d < shape.rank; ++d) {
    order.push(d);
    plain.push(d);
  }
  std::stable_sort(order.v, order.v + order.rank,
                   [&](int64_t a, int64_t b) { return strides[static_cast<int>(a)] > strides[static_cast<int>(b)]; });
  for (int64_t d : order) {
    sizes.push(shape[static_cast<int>(d)]);
    steps.push(strides[static_cast<int>(d)]);
  }
  return is_contiguous(sizes, steps) ? order : plain;
}

// Zeros without memory: one number that is copied to where it is needed.
Tensor gap(Dims shape, int dim, int64_t size, const Tensor& like) {
  shape[dim] = size;
  return full(shape, 0, like.dtype(), like.device());
}

// The tensor of this shape of whose memory the ranges are views already; undefined: there is none, or the ranges have
// histories, which it would not have.
Tensor as_they_lie(const Ranges& ranges, const Dims& shape, int dim) {
  const Tensor& first = ranges[0].g;
  int64_t end = 0;
  for (const Range& r : ranges) {
    const bool next = r.begin == end && !(grad_enabled() && r.g.requires_grad()) && r.g->storage == first->storage &&
                      r.g.strides() == first.strides() && r.g->offset == first->offset + r.begin * first.strides()[dim];
    if (!next) return Tensor();
    end = r.end;
  }
  return end == shape[dim] ? part_of(first, first.dtype(), shape, first.strides(), first->offset) : Tensor();
}

Tensor joined(const Ranges& ranges, const Dims& shape, const Dims& strides, int dim) {
  if (Tensor whole = as_they_lie(ranges, shape, dim)) return whole;
  std::vector<Tensor> parts;
  int64_t end = 0;
  for (const Range& r : ranges) {
    if (r.begin > end) parts.push_back(gap(shape, dim, r.begin - end, r.g));
    parts.push_back(r.g);
    end = r.end;
  }
  if (end < shape[dim]) parts.push_back(gap(shape, dim, shape[dim] - end, ranges[0].g));
  const Dims order = order_of(shape, strides);
  Dims back = order;
  int to = 0;
  for (int d = 0; d < order.rank; ++d) {
    back[static_cast<int>(order[d])] = d;
    if (order[d] == dim) to = d;
  }
  for (Tensor& part : parts) part = permute(part, order);
  return permute(cat(parts, to), back);
}

}  // namespace

Tensor put_together(const std::vector<GradPart>& parts) {
  const GradInput& into = parts[0].slice->in[0];
  const Dims &shape = into.shape, logical = contiguous_strides(shape);
  Tensor sum;
  const auto add_to_sum = [&](const Tensor& g) { sum = sum ? add(sum, g) : g; };
  const auto alone = [&](const GradPart& part) {
    const auto& place = part.slice->attributes.as<StridedAttributes>();
    add_to_sum(embed(part.g, shape, place.strides, place.offset, 0));
  };
  std::map<Family, std::vector<const GradPart*>> families;
  for (const GradPart& part : parts) {
    if (part.g.numel() == 0 && parts.size() > 1) continue;
    const auto& place = part.slice->attributes.as<StridedAttributes>();
    int dim = 0;
    while (dim < shape.rank && part.g.shape()[dim] == shape[dim]) ++dim;
    if (parts.size() == 1 || dim == shape.rank)
      alone(part);
    else
      families[{dim, place.strides[dim] / logical[dim]}].push_back(&part);
  }
  for (auto& [family, members] : families) {
    const auto [dim, step] = family;
    Ranges ranges;
    for (const GradPart* part : members) {
      const int64_t begin = part->slice->attributes.as<StridedAttributes>().offset / logical[dim],
                    count = part->g.shape()[dim];
      if (step == 1)
        ranges.push_back({begin, begin + count, part->g});
      else if (count * step == shape[dim] && begin < step && shape.rank < kMaxRank)
        ranges.push_back({begin, begin + 1, unsqueeze(part->g, dim + 1)});
      else
        alone(*part);
    }
    if (ranges.empty()) continue;
    Dims rows = shape, strides = into.strides;
    if (step != 1) {  // [n * step] as [n, step]
      rows = strides = Dims();
      for (int d = 0; d < shape.rank; ++d) {
        rows.push(d == dim ? shape[d] / step : shape[d]);
        strides.push(d == dim ? into.strides[d] * step : into.strides[d]);
        if (d != dim) continue;
        rows.push(step);
        strides.push(into.strides[d]);
      }
    }
    for (const Ranges& layer : layers_of(std::move(ranges))) {
      const Tensor g = joined(layer, rows, strides, step == 1 ? dim : dim + 1);
      add_to_sum(step == 1 ? g : reshape(g, shape));
    }
  }
  if (!sum) sum = full(shape, 0, parts[0].g.dtype(), parts[0].g.device());
  return sum;
}

}  // namespace sg
