// Functions and methods of convolutions and pooling: names, signatures, docs. The arithmetic is in ops/convolution.cpp
// and ops/pooling.cpp.
#include "ops/convolution.hpp"

#include "bind/bound.hpp"
#include "engine/engine.hpp"
#include "ops/list.hpp"

namespace sg::bind {

template <>
struct From<TextOrDims> {
  static TextOrDims get(Fetched& f, PyObject* o) {
    if (PyUnicode_Check(o)) return From<std::string>::get(f, o);
    return From<Dims>::get(f, o);
  }
};

namespace {

#define SG_SIZES "int | Sequence[int]"
#define SG_OPTIONS                                                                                                \
  "input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: " SG_SIZES " = 1, padding: str | " SG_SIZES \
  " = 0, dilation: " SG_SIZES " = 1, groups: int = 1"
#define SG_TRANSPOSED_OPTIONS                                                                               \
  "input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: " SG_SIZES " = 1, padding: " SG_SIZES \
  " = 0, output_padding: " SG_SIZES " = 0, groups: int = 1, dilation: " SG_SIZES " = 1"
#define SG_CONVOLUTION_DOC(dims, example)                                                                           \
  "The products of a kernel with each place of an input of " dims                                                   \
  ", summed: [n, channels, ...] -> [n, outputs, "                                                                   \
  "...]; n may be missing.\n\nArgs:\n    weight: [outputs, channels / groups, ...].\n    bias: [outputs], added.\n" \
  "    stride: from place to place.\n    padding: zeros on both sides; 'valid' is 0, 'same' keeps the size.\n"      \
  "    dilation: from element to element of the kernel.\n    groups: channels and outputs in so many parts, each "  \
  "for itself.\n\nRaises:\n    ValueError: shapes or options that do not fit.\n\nExample:\n    >>> " example
#define SG_TRANSPOSED_DOC(dims, example)                                                                          \
  "The transposed convolution over " dims                                                                         \
  ": what backward() of a convolution does to its input. [n, channels, ...] "                                     \
  "-> [n, outputs, ...].\n\nArgs:\n    weight: [channels, outputs / groups, ...].\n    bias: [outputs], added.\n" \
  "    stride, padding, groups, dilation: of that convolution.\n    output_padding: more of the result at its "   \
  "end.\n\nRaises:\n    ValueError: shapes or options that do not fit.\n\nExample:\n    >>> " example

#define SG_POOL \
  "input: Tensor, kernel_size: " SG_SIZES ", stride: " SG_SIZES " | None = None, padding: " SG_SIZES " = 0"
#define SG_MAX_POOL SG_POOL ", dilation: " SG_SIZES " = 1, ceil_mode: bool = False"
#define SG_AVG_POOL SG_POOL ", ceil_mode: bool = False, count_include_pad: bool = True"
#define SG_POOL_DOC                                                                                                 \
  "of each window: [n, channels, ...] -> [n, channels, ...]; n may be missing.\n\nArgs:\n    kernel_size: of the "  \
  "window.\n    stride: from window to window; None: their size.\n    padding: on both sides, at most half of the " \
  "window.\n    ceil_mode: whether windows may reach beyond the end.\n"
#define SG_MAX_DOC(what) what SG_POOL_DOC "    dilation: from element to element of a window.\n"
#define SG_AVG_DOC "The mean " SG_POOL_DOC "    count_include_pad: whether padding counts.\n"
#define SG_POOL_RAISES(example) \
  "\nRaises:\n    ValueError: a window larger than the input.\n\nExample:\n    >>> " example

const Callable callables[] = {
    {"_convolutions_ignore_sizes", bound<sg::convolution::ignore_sizes>, "ignore: bool", "bool",
     "Whether small convolutions, too, go the ways of large ones on any GPU from now on. Returns whether they did.",
     Scope::function},
    {"max_pool1d", bound<sg::max_pool1d>, SG_MAX_POOL, "Tensor",
     SG_MAX_DOC("The largest element ")
         SG_POOL_RAISES("sg.max_pool1d(sg.tensor([[1.0, 3.0, 2.0, 0.0]]), 2).tolist()\n    [[3.0, 2.0]]"),
     Scope::function},
    {"max_pool2d", bound<sg::max_pool2d>, SG_MAX_POOL, "Tensor",
     SG_MAX_DOC("The largest element ") SG_POOL_RAISES("sg.max_pool2d(sg.ones(2, 3, 8, 8), 2).shape\n    (2, 3, 4, 4)"),
     Scope::function},
    {"max_pool1d_with_indices", bound<sg::max_pool1d_with_indices>, SG_MAX_POOL, "tuple[Tensor, Tensor]",
     SG_MAX_DOC("The largest element, and its place along the input, ")
         SG_POOL_RAISES("sg.max_pool1d_with_indices(sg.tensor([[1.0, 3.0, 2.0, 0.0]]), 2).indices.tolist()\n    [[1, "
                        "2]]"),
     Scope::function},
    {"max_pool2d_with_indices", bound<sg::max_pool2d_with_indices>, SG_MAX_POOL, "tuple[Tensor, Tensor]",
     SG_MAX_DOC("The largest element, and its place in the image as if that were flat, ")
         SG_POOL_RAISES("sg.max_pool2d_with_indices(sg.tensor([[[1.0, 3.0], [2.0, 0.0]]]), 2).indices.tolist()\n    "
                        "[[[1]]]"),
     Scope::function},
    {"avg_pool1d", bound<sg::avg_pool1d>, SG_AVG_POOL, "Tensor",
     SG_AVG_DOC SG_POOL_RAISES("sg.avg_pool1d(sg.tensor([[1.0, 3.0, 2.0, 0.0]]), 2).tolist()\n    [[2.0, 1.0]]"),
     Scope::function},
    {"avg_pool2d", bound<sg::avg_pool2d>, SG_AVG_POOL ", divisor_override: int | None = None", "Tensor",
     SG_AVG_DOC "    divisor_override: what sums are divided by.\n" SG_POOL_RAISES(
         "sg.avg_pool2d(sg.ones(2, 3, 8, 8), 2).shape\n    (2, 3, 4, 4)"),
     Scope::function},
    {"conv1d", bound<sg::conv1d>, SG_OPTIONS, "Tensor",
     SG_CONVOLUTION_DOC("one dimension", "sg.conv1d(sg.ones(1, 1, 4), sg.ones(1, 1, 3)).tolist()\n    [[[3.0, 3.0]]]"),
     Scope::function, Autocast::narrow},
    {"conv2d", bound<sg::conv2d>, SG_OPTIONS, "Tensor",
     SG_CONVOLUTION_DOC("two dimensions",
                        "sg.conv2d(sg.ones(2, 3, 8, 8), sg.ones(4, 3, 3, 3), padding=1).shape\n    (2, 4, 8, 8)"),
     Scope::function, Autocast::narrow},
    {"conv3d", bound<sg::conv3d>, SG_OPTIONS, "Tensor",
     SG_CONVOLUTION_DOC("three dimensions",
                        "sg.conv3d(sg.ones(1, 1, 4, 4, 4), sg.ones(2, 1, 3, 3, 3)).shape\n    (1, 2, 2, 2, 2)"),
     Scope::function, Autocast::narrow},
    {"conv_transpose1d", bound<sg::conv_transpose1d>, SG_TRANSPOSED_OPTIONS, "Tensor",
     SG_TRANSPOSED_DOC("one dimension",
                       "sg.conv_transpose1d(sg.ones(1, 1, 2), sg.ones(1, 1, 3)).tolist()\n    [[[1.0, 2.0, 2.0, "
                       "1.0]]]"),
     Scope::function, Autocast::narrow},
    {"conv_transpose2d", bound<sg::conv_transpose2d>, SG_TRANSPOSED_OPTIONS, "Tensor",
     SG_TRANSPOSED_DOC("two dimensions",
                       "sg.conv_transpose2d(sg.ones(1, 3, 4, 4), sg.ones(3, 2, 2, 2), stride=2).shape\n    (1, 2, 8, "
                       "8)"),
     Scope::function, Autocast::narrow},
};

const Features& features_of(DeviceId device) { return device_of(device).features(); }

}  // namespace

void add_convolutions(PyObject* module) {
  sg::convolution::ask_for_features(features_of);
  add_callables(module, callables);
}

}  // namespace sg::bind
