// Owns the order of all rows, which is that of the docs. A row that is not named here is not tested.
#include "ops/list.hpp"

#include "ops/ops.hpp"

namespace sg {

const std::vector<const OpInfo*>& all_ops() {
  static const std::vector<const OpInfo*> list = {
#define SG_ROW(Op, ...) &ops::Op,
      SG_POINTWISE_BINARY(SG_ROW) SG_POINTWISE_COMPARE(SG_ROW) SG_POINTWISE_UNARY(SG_ROW) SG_POINTWISE_TERNARY(SG_ROW)
#undef SG_ROW
          & ops::Where,
      &ops::Cast,
      &ops::Contiguous,
      &ops::Stored,
      &ops::Full,
      &ops::Arange,
      &ops::Rand,
      &ops::Randn,
      &ops::RandomBits,
      &ops::CheckClass,
      &ops::NllLoss,
      &ops::OneHot,
      &ops::Sum,
      &ops::Product,
      &ops::Max,
      &ops::Min,
      &ops::Choose,
      &ops::Median,
      &ops::Matmul,
      &ops::Attention,
      &ops::AttentionAfter,
      &ops::AttentionGradient,
      &ops::AttentionKept,
      &ops::Lstm,
      &ops::LstmGradient,
      &ops::LstmResident,
      &ops::LstmGradientResident,
      &ops::Gru,
      &ops::GruGradient,
      &ops::GruResident,
      &ops::GruGradientResident,
      &ops::Rnn,
      &ops::RnnGradient,
      &ops::RnnResident,
      &ops::RnnGradientResident,
      &ops::Convolution,
      &ops::ConvolutionImage,
      &ops::ConvolutionWeight,
      &ops::Pixels,
      &ops::PixelsWeights,
      &ops::WinogradValues,
      &ops::Winograd,
      &ops::WinogradWeights,
      &ops::GroupedSpread,
      &ops::GroupedWeights,
      &ops::Chosen,
      &ops::ChosenImage,
      &ops::WindowSum,
      &ops::WindowSumImage,
      &ops::Banded,
      &ops::Reshape,
      &ops::Permute,
      &ops::Expand,
      &ops::Flip,
      &ops::Slice,
      &ops::Diagonal,
      &ops::Unfold,
      &ops::AsStrided,
      &ops::Embed,
      &ops::Join,
      &ops::Border,
      &ops::BorderImage,
      &ops::Strided,
      &ops::Assign,
      &ops::Take,
      &ops::AddRows,
      &ops::MultiplyRows,
      &ops::MaxRows,
      &ops::MinRows,
      &ops::Put,
      &ops::Order,
      &ops::Select,
      &ops::Search,
      &ops::CumSum,
      &ops::CumProd,
      &ops::LogCumSumExp,
      &ops::CumMax,
      &ops::CumMin,
      &ops::LinearScan,
      &ops::Empty};
  return list;
}

const std::vector<const OpInfo*>& elementwise_ops() {
  static const std::vector<const OpInfo*> list = {
#define SG_ROW(Op, ...) &ops::Op,
      SG_POINTWISE_BINARY(SG_ROW) SG_POINTWISE_COMPARE(SG_ROW) SG_POINTWISE_UNARY(SG_ROW)
#undef SG_ROW
  };
  return list;
}

}  // namespace sg
