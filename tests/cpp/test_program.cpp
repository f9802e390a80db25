// Kernels as data: building, phases, pruning and merging of dimensions.
#include <catch2/catch_test_macros.hpp>

#include "kernel/custom.hpp"
#include "kernel/expr.hpp"

namespace {

using namespace sg;

View contiguous_view(int32_t binding, const Dims& domain) {
  View v;
  v.binding = binding;
  v.strides = contiguous_strides(domain);
  return v;
}

View row_view(int32_t binding, const Dims& domain, int inner) {
  View v;
  v.binding = binding;
  v.strides = Dims::filled(domain.rank, 0);
  int64_t stride = 1;
  for (int d = domain.rank - inner - 1; d >= 0; --d) {
    v.strides[d] = stride;
    stride *= domain[d];
  }
  return v;
}

size_t count(const Program& p, Code code) {
  size_t n = 0;
  for (const Instr& i : p.code) n += i.code == code;
  return n;
}

}  // namespace

TEST_CASE("equal instructions and equal views are made once", "[program]") {
  ProgramBuilder b;
  b.program.domain = {4};
  const int32_t in = b.add_view(contiguous_view(0, {4}));
  CHECK(b.add_view(contiguous_view(0, {4})) == in);
  CHECK(b.add_view(contiguous_view(1, {4})) != in);
  const Expr x = b.load(in);
  CHECK(b.load(in).id == x.id);
  CHECK((x * 2.0).id == (x * 2.0).id);
  CHECK((x * 2.0).id != (x * 3.0).id);
  CHECK(exp(x).id == exp(x).id);
}

TEST_CASE("number arguments merge by slot, never by value", "[program]") {
  ProgramBuilder b;
  const Expr one = b.number(DType::float32), two = b.number(DType::float32);
  CHECK(one.id != two.id);
  CHECK(b.program.numbers == 2);
}

TEST_CASE("a literal takes the type of its partner", "[program]") {
  ProgramBuilder b;
  b.program.domain = {4};
  View v = contiguous_view(0, {4});
  v.dtype = DType::int64;
  const Expr sum = b.load(b.add_view(v)) + 1;
  CHECK(sum.dtype == DType::int64);
  const Instr& constant = b.program.code[static_cast<size_t>(b.program.code[static_cast<size_t>(sum.id)].b)];
  CHECK(constant.code == Code::constant);
  CHECK(constant.dtype == DType::int64);
  CHECK(constant.imm.i == 1);
}

TEST_CASE("casts to the own type and round trips of booleans vanish", "[program]") {
  ProgramBuilder b;
  b.program.domain = {4};
  const Expr x = b.load(b.add_view(contiguous_view(0, {4})));
  CHECK(b.cast(x, DType::float32).id == x.id);
  const Expr flag = x < 0.0;
  CHECK(flag.dtype == DType::boolean);
  CHECK(b.cast(b.cast(flag, DType::int32), DType::boolean).id == flag.id);
}

TEST_CASE("a softmax row has three phases", "[program]") {
  const Dims domain = {5, 7};
  ProgramBuilder b;
  b.program.domain = domain;
  b.program.inner = 1;
  const Expr x = b.load(b.add_view(contiguous_view(0, domain)));
  const Expr e = exp(x - b.reduce(Fold::maximum, x));
  const Expr total = b.reduce(Fold::sum, e);
  b.store(b.add_view(contiguous_view(1, domain)), e / total);
  b.store(b.add_view(row_view(2, domain, 1)), log(total));
  Program p = b.program;
  annotate(p);
  CHECK(p.phases() == 3);
  CHECK(p.rows() == 5);
  CHECK(p.columns() == 7);
  CHECK(p.code[static_cast<size_t>(x.id)].phase == 0);
  CHECK_FALSE(p.code[static_cast<size_t>(x.id)].per_row);
  CHECK(p.code[static_cast<size_t>(e.id)].phase == 1);
  CHECK_FALSE(p.code[static_cast<size_t>(e.id)].per_row);
  CHECK(p.code[static_cast<size_t>(total.id)].phase == 2);
  CHECK(p.code[static_cast<size_t>(total.id)].per_row);
  CHECK(p.code.back().per_row);  // the store of the logarithm
}

TEST_CASE("nothing runs once a row in a pointwise program", "[program]") {
  ProgramBuilder b;
  b.program.domain = {3, 4};
  b.store(b.add_view(contiguous_view(1, {3, 4})), b.load(b.add_view(contiguous_view(0, {3, 4}))) + 1.0);
  annotate(b.program);
  for (const Instr& i : b.program.code) CHECK_FALSE(i.per_row);
  CHECK(b.program.phases() == 1);
}

TEST_CASE("pruning keeps what stores need, in order", "[program]") {
  ProgramBuilder b;
  b.program.domain = {4};
  const Expr x = b.load(b.add_view(contiguous_view(0, {4})));
  exp(x);  // nobody wants it
  const Expr y = tanh(x);
  b.store(b.add_view(contiguous_view(1, {4})), y);
  Program p = b.program;
  prune(p);
  REQUIRE(p.code.size() == 3);
  CHECK(p.code[0].code == Code::load);
  CHECK(p.code[1].code == Code::tanh);
  CHECK(p.code[1].a == 0);
  CHECK(p.code[2].a == 1);
}

TEST_CASE("contiguous dimensions collapse to one", "[program]") {
  const Dims domain = {2, 3, 4};
  ProgramBuilder b;
  b.program.domain = domain;
  b.store(b.add_view(contiguous_view(1, domain)), -b.load(b.add_view(contiguous_view(0, domain))));
  collapse(b.program);
  CHECK(b.program.domain == Dims{24});
  for (const View& v : b.program.views) CHECK(v.strides == Dims{1});
}

TEST_CASE("a transposed view keeps its dimensions apart", "[program]") {
  const Dims domain = {3, 4};
  ProgramBuilder b;
  b.program.domain = domain;
  View transposed = contiguous_view(0, domain);
  transposed.strides = {1, 3};
  b.store(b.add_view(contiguous_view(1, domain)), -b.load(b.add_view(transposed)));
  collapse(b.program);
  CHECK(b.program.domain == domain);
}

TEST_CASE("sizes of 1 vanish, and rows never mix with columns", "[program]") {
  const Dims domain = {3, 1, 4, 1, 5};
  ProgramBuilder b;
  b.program.domain = domain;
  b.program.inner = 2;
  const Expr x = b.load(b.add_view(contiguous_view(0, domain)));
  b.store(b.add_view(row_view(1, domain, 2)), b.reduce(Fold::sum, x));
  annotate(b.program);
  collapse(b.program);
  CHECK(b.program.domain == Dims{12, 5});
  CHECK(b.program.inner == 1);
  CHECK(b.program.views[0].strides == Dims{5, 1});
}

TEST_CASE("the structure of a kernel has no sizes in it", "[program]") {
  auto made = [](const Dims& domain, double constant, bool aligned) {
    ProgramBuilder b;
    b.program.domain = domain;
    View in = contiguous_view(0, domain);
    in.aligned = aligned;
    b.store(b.add_view(contiguous_view(1, domain)), b.load(b.add_view(in)) * constant);
    annotate(b.program);
    return b.program.structure_hash();
  };
  CHECK(made({8, 9}, 2, true) == made({80, 90}, 2, true));
  CHECK(made({8, 9}, 2, true) != made({8, 9}, 3, true));
  CHECK(made({8, 9}, 2, true) != made({8, 9}, 2, false));
  CHECK(made({8, 9}, 2, true) != made({72}, 2, true));
}

TEST_CASE("a printed program names everything", "[program]") {
  const Dims domain = {2, 3};
  ProgramBuilder b;
  b.program.domain = domain;
  b.program.inner = 1;
  const Expr x = b.load(b.add_view(contiguous_view(0, domain)));
  b.store(b.add_view(row_view(1, domain, 1)), b.reduce(Fold::maximum, x));
  annotate(b.program);
  const std::string text = b.program.print();
  CHECK(text.find("domain [2, 3] inner 1") != std::string::npos);
  CHECK(text.find("reduce_maximum float32 %0") != std::string::npos);
  CHECK(text.find("phase 1 row") != std::string::npos);
  CHECK(count(b.program, Code::reduce) == 1);
}

TEST_CASE("expansion: a launch stays where it is while others are added", "[program]") {
  Expansion e;
  CustomKernel& first = e.launch("first");
  for (int i = 0; i < 100; ++i) e.launch("later");
  first.cost = 3;
  CHECK(e.launches.front().custom.cost == 3);
}
