// The rows, by name. For files in ops/ only; other folders loop over all_ops().
#pragma once
#include "graph/op.hpp"
#include "math/names.hpp"

namespace sg::ops {

#define SG_ROW(Op, ...) extern const OpInfo Op;
SG_POINTWISE_UNARY(SG_ROW)
SG_POINTWISE_BINARY(SG_ROW)
SG_POINTWISE_COMPARE(SG_ROW)
SG_POINTWISE_TERNARY(SG_ROW)
#undef SG_ROW
extern const OpInfo Where, Cast, Contiguous, Stored;
extern const OpInfo Full, Arange, Rand, Randn, RandomBits, CheckClass, NllLoss, OneHot;
extern const OpInfo Sum, Product, Max, Min, Choose, Median;
extern const OpInfo Matmul, Attention, AttentionAfter, AttentionGradient, AttentionKept;
extern const OpInfo Lstm, LstmGradient, LstmResident, LstmGradientResident;
extern const OpInfo Gru, GruGradient, GruResident, GruGradientResident;
extern const OpInfo Rnn, RnnGradient, RnnResident, RnnGradientResident;
extern const OpInfo Convolution, ConvolutionImage, ConvolutionWeight, Pixels, PixelsWeights;
extern const OpInfo WinogradValues, Winograd, WinogradWeights, GroupedSpread, GroupedWeights;
extern const OpInfo Chosen, ChosenImage, WindowSum, WindowSumImage, Banded;
extern const OpInfo Reshape, Permute, Expand, Flip, Strided, Assign;
extern const OpInfo Slice, Diagonal, Unfold, AsStrided, Embed;
extern const OpInfo Join, Border, BorderImage;
extern const OpInfo Take, AddRows, MultiplyRows, MaxRows, MinRows, Put, Order, Select, Search, Empty;
extern const OpInfo CumSum, CumProd, LogCumSumExp, CumMax, CumMin, LinearScan;

}  // namespace sg::ops

namespace sg {

// The type that operands of products and convolutions are multiplied from: GPUs read halves and add up float32, other
// narrow types are widened first.
inline DType factor_type(DType dtype, DeviceId device) {
  return is_float(dtype) && device.is_gpu() ? dtype : wide_of(dtype);
}

// flip() as a view.
Tensor reversed(const Tensor& x, const Dims& dims);

// The type that both factors are promoted to; who listens to mixed factors hears of two types first.
DType product_type(const char* op, const Tensor& a, const Tensor& b);

struct ChooseAttributes {
  int dim;
};

}  // namespace sg
