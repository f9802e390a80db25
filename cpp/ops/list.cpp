// Owns the order of all rows, which is that of the docs. A row that is not named here is not tested.
#include "ops/list.hpp"

#include "ops/rows.hpp"

namespace sg {

const std::vector<const OpInfo*>& all_ops() {
  static const std::vector<const OpInfo*> list = {
#define SG_ROW(Op, ...) &rows::Op,
      SG_POINTWISE_BINARY(SG_ROW) SG_POINTWISE_COMPARE(SG_ROW) SG_POINTWISE_UNARY(SG_ROW) SG_POINTWISE_TERNARY(SG_ROW)
#undef SG_ROW
          & rows::Where,
      &rows::Cast,
      &rows::Contiguous,
      &rows::Stored,
      &rows::Full,
      &rows::Arange,
      &rows::Rand,
      &rows::Randn,
      &rows::RandomBits,
      &rows::CheckClass,
      &rows::NllLoss,
      &rows::OneHot,
      &rows::Sum,
      &rows::Product,
      &rows::Max,
      &rows::Min,
      &rows::Choose,
      &rows::Median,
      &rows::Matmul,
      &rows::Attention,
      &rows::AttentionAfter,
      &rows::AttentionGradient,
      &rows::Convolution,
      &rows::ConvolutionImage,
      &rows::ConvolutionWeight,
      &rows::Chosen,
      &rows::ChosenImage,
      &rows::WindowSum,
      &rows::WindowSumImage,
      &rows::Reshape,
      &rows::Permute,
      &rows::Expand,
      &rows::Flip,
      &rows::Slice,
      &rows::Diagonal,
      &rows::Unfold,
      &rows::AsStrided,
      &rows::Embed,
      &rows::Join,
      &rows::Border,
      &rows::BorderImage,
      &rows::Strided,
      &rows::Assign,
      &rows::Take,
      &rows::AddRows,
      &rows::MultiplyRows,
      &rows::MaxRows,
      &rows::MinRows,
      &rows::Put,
      &rows::Order,
      &rows::Select,
      &rows::Search,
      &rows::CumSum,
      &rows::CumProd,
      &rows::LogCumSumExp,
      &rows::CumMax,
      &rows::CumMin,
      &rows::LinearScan,
      &rows::Empty};
  return list;
}

const std::vector<const OpInfo*>& elementwise_ops() {
  static const std::vector<const OpInfo*> list = {
#define SG_ROW(Op, ...) &rows::Op,
      SG_POINTWISE_BINARY(SG_ROW) SG_POINTWISE_COMPARE(SG_ROW) SG_POINTWISE_UNARY(SG_ROW)
#undef SG_ROW
  };
  return list;
}

}  // namespace sg
