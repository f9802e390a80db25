// Convolutions.
#include "bind/bound.hpp"
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

const Row rows[] = {
    {"conv1d", bound<sg::conv1d>, SG_OPTIONS, "Tensor",
     SG_CONVOLUTION_DOC("one dimension", "sg.conv1d(sg.ones(1, 1, 4), sg.ones(1, 1, 3)).tolist()\n    [[[3.0, 3.0]]]"),
     Where::function},
    {"conv2d", bound<sg::conv2d>, SG_OPTIONS, "Tensor",
     SG_CONVOLUTION_DOC("two dimensions",
                        "sg.conv2d(sg.ones(2, 3, 8, 8), sg.ones(4, 3, 3, 3), padding=1).shape\n    (2, 4, 8, 8)"),
     Where::function},
    {"conv3d", bound<sg::conv3d>, SG_OPTIONS, "Tensor",
     SG_CONVOLUTION_DOC("three dimensions",
                        "sg.conv3d(sg.ones(1, 1, 4, 4, 4), sg.ones(2, 1, 3, 3, 3)).shape\n    (1, 2, 2, 2, 2)"),
     Where::function},
    {"conv_transpose1d", bound<sg::conv_transpose1d>, SG_TRANSPOSED_OPTIONS, "Tensor",
     SG_TRANSPOSED_DOC("one dimension",
                       "sg.conv_transpose1d(sg.ones(1, 1, 2), sg.ones(1, 1, 3)).tolist()\n    [[[1.0, 2.0, 2.0, "
                       "1.0]]]"),
     Where::function},
    {"conv_transpose2d", bound<sg::conv_transpose2d>, SG_TRANSPOSED_OPTIONS, "Tensor",
     SG_TRANSPOSED_DOC("two dimensions",
                       "sg.conv_transpose2d(sg.ones(1, 3, 4, 4), sg.ones(3, 2, 2, 2), stride=2).shape\n    (1, 2, 8, "
                       "8)"),
     Where::function},
};

}  // namespace

void add_convolutions(PyObject* module) { add_rows(module, rows); }

}  // namespace sg::bind
