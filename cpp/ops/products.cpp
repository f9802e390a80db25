// Products under PyTorch's names, each one matmul of views. Computes nothing itself.
#include <algorithm>

#include "base/error.hpp"
#include "ops/list.hpp"

namespace sg {
namespace {

void check_rank(const char* op, const Tensor& x, int rank) {
  if (x.rank() != rank)
    fail<ValueError>(
        op, "a tensor of shape " + x.shape().str() + " where " + std::to_string(rank) + " dimension(s) are needed",
        "reshape it, or use matmul()");
}

bool is_value(const Tensor& number, double value) {
  return number.is_number() &&
         (is_float(number.dtype()) ? number->number.f : static_cast<double>(number->number.i)) == value;
}

Tensor scaled(const Tensor& x, const Tensor& by) { return is_value(by, 1) ? x : x * by; }

// beta * input + alpha * product, in the product's shape.
Tensor added(const char* op, const Tensor& input, const Tensor& product, const Tensor& beta, const Tensor& alpha) {
  if (!(broadcast_shapes(op, input.shape(), product.shape()) == product.shape()))
    fail<ValueError>(
        op, "input of shape " + input.shape().str() + " does not fit the product of shape " + product.shape().str(),
        "reshape it");
  const Tensor right = scaled(product, alpha);
  return is_value(beta, 0) ? right : scaled(input, beta) + right;
}

// matmul() of tensors that must have these ranks.
Tensor product(const char* op, const Tensor& a, int rank_a, const Tensor& b, int rank_b) {
  check_rank(op, a, rank_a);
  check_rank(op, b, rank_b);
  return matmul(a, b);
}

}  // namespace

Tensor mm(const Tensor& input, const Tensor& mat2) { return product("mm", input, 2, mat2, 2); }

Tensor bmm(const Tensor& input, const Tensor& mat2) {
  check_rank("bmm", input, 3);
  check_rank("bmm", mat2, 3);
  if (input.shape()[0] != mat2.shape()[0])
    fail<ValueError>("bmm", "batch sizes differ, " + input.shape().str() + " and " + mat2.shape().str(),
                     "use equal ones, or matmul()");
  return matmul(input, mat2);
}

Tensor mv(const Tensor& input, const Tensor& vec) { return product("mv", input, 2, vec, 1); }

Tensor dot(const Tensor& input, const Tensor& tensor) { return product("dot", input, 1, tensor, 1); }

Tensor outer(const Tensor& input, const Tensor& vec2) {
  check_rank("outer", input, 1);
  check_rank("outer", vec2, 1);
  return unsqueeze(input, 1) * unsqueeze(vec2, 0);
}

Tensor inner(const Tensor& input, const Tensor& other) {
  if (input.rank() == 0 || other.rank() == 0) return input * other;
  return tensordot(input, other, {-1}, {-1});
}

Tensor kron(const Tensor& input, const Tensor& other) {
  const int rank = std::max(input.rank(), other.rank());
  Dims a, b, shape;  // sizes of one between those of the other
  int parts = 0;
  auto size = [&](const Tensor& x, int d) { return d < rank - x.rank() ? 1 : x.shape()[d - (rank - x.rank())]; };
  for (int d = 0; d < rank; ++d) {
    const int64_t m = size(input, d), n = size(other, d);
    shape.push(times("kron", m, n));
    parts += (m != 1) + (n != 1);
  }
  check_size("kron", shape);
  if (parts > kMaxRank) {
    Tensor wide = input;
    Dims repeats;
    for (int d = 0; d < rank; ++d) repeats.push(size(input, d));
    while (wide.rank() < rank) wide = unsqueeze(wide, 0);
    for (int d = 0; d < rank; ++d) wide = repeat_interleave(wide, size(other, d), d);
    return wide * repeat(other, repeats);
  }
  for (int d = 0; d < rank; ++d) {
    const int64_t m = size(input, d), n = size(other, d);
    if (m != 1) a.push(m), b.push(1);
    if (n != 1) a.push(1), b.push(n);
  }
  return reshape(reshape(input, a) * reshape(other, b), shape);
}

Tensor addmm(const Tensor& input, const Tensor& mat1, const Tensor& mat2, const Tensor& beta, const Tensor& alpha) {
  check_rank("addmm", mat1, 2);
  check_rank("addmm", mat2, 2);
  return added("addmm", input, matmul(mat1, mat2), beta, alpha);
}

Tensor addmv(const Tensor& input, const Tensor& mat, const Tensor& vec, const Tensor& beta, const Tensor& alpha) {
  return added("addmv", input, mv(mat, vec), beta, alpha);
}

Tensor baddbmm(const Tensor& input, const Tensor& batch1, const Tensor& batch2, const Tensor& beta,
               const Tensor& alpha) {
  return added("baddbmm", input, bmm(batch1, batch2), beta, alpha);
}

Tensor addbmm(const Tensor& input, const Tensor& batch1, const Tensor& batch2, const Tensor& beta,
              const Tensor& alpha) {
  check_rank("addbmm", batch1, 3);
  check_rank("addbmm", batch2, 3);
  return added("addbmm", input, tensordot(batch1, batch2, {0, 2}, {0, 1}), beta, alpha);
}

Tensor tensordot(const Tensor& a0, const Tensor& b0, const Dims& dims_a, const Dims& dims_b) {
  if (dims_a.rank != dims_b.rank)
    fail<ValueError>("tensordot", "dims " + dims_a.str() + " and " + dims_b.str() + " differ in length",
                     "name as many of each");
  Tensor a = a0, b = b0;
  uint32_t in_a = 0, in_b = 0;
  Dims order_a, order_b, front;
  for (int i = 0; i < dims_a.rank; ++i) {
    const int p = normal_axis("tensordot", dims_a[i], a.rank()), q = normal_axis("tensordot", dims_b[i], b.rank());
    int64_t m = a.rank() ? a.shape()[p] : 1, n = b.rank() ? b.shape()[q] : 1;
    if (m == 1 && n > 1) b = cast(sum(b, {q}, true), b.dtype()), n = 1;  // the one element meets all of the other's
    if (n == 1 && m > 1) a = cast(sum(a, {p}, true), a.dtype()), m = 1;
    if (m != n || (in_a >> p & 1) || (in_b >> q & 1))
      fail<ValueError>("tensordot",
                       "dimension " + std::to_string(p) + " of " + a.shape().str() + " and " + std::to_string(q) +
                           " of " + b.shape().str() + " do not pair",
                       "name each dimension once, with equal sizes");
    in_a |= 1u << p;
    in_b |= 1u << q;
  }
  int64_t rows = 1, columns = 1, shared = 1;
  for (int d = 0; d < a.rank(); ++d) {
    if (in_a >> d & 1) continue;
    order_a.push(d);
    front.push(a.shape()[d]);
    rows *= a.shape()[d];
  }
  for (int i = 0; i < dims_a.rank; ++i) {
    if (a.rank() == 0 || b.rank() == 0) continue;
    order_a.push(normal_axis("tensordot", dims_a[i], a.rank()));
    order_b.push(normal_axis("tensordot", dims_b[i], b.rank()));
    shared *= b.shape()[static_cast<int>(order_b[i])];
  }
  for (int d = 0; d < b.rank(); ++d) {
    if (in_b >> d & 1) continue;
    order_b.push(d);
    front.push(b.shape()[d]);
    columns *= b.shape()[d];
  }
  const Tensor left = reshape(permute(a, order_a), {rows, shared});
  const Tensor right = reshape(permute(b, order_b), {shared, columns});
  return reshape(matmul(left, right), front);
}

Tensor tensordot(const Tensor& a, const Tensor& b, int64_t dims) {
  if (dims < 0 || dims > std::min(a.rank(), b.rank()))
    fail<ValueError>("tensordot", std::to_string(dims) + " dims of " + a.shape().str() + " and " + b.shape().str(),
                     "use at most what both have");
  Dims last, first;
  for (int64_t d = 0; d < dims; ++d) {
    last.push(a.rank() - dims + d);
    first.push(d);
  }
  return tensordot(a, b, last, first);
}

Tensor chain_matmul(const std::vector<Tensor>& matrices) {
  if (matrices.empty()) fail<ValueError>("chain_matmul", "no matrices", "give one or more");
  Tensor out = matrices[0];
  for (size_t i = 1; i < matrices.size(); ++i) out = mm(out, matrices[i]);
  return copied(out, matrices[0]);
}

}  // namespace sg
