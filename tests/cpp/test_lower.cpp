// The lowering as a pure function: every class compiles, the text depends on structure alone, golden texts.
#include <catch2/catch_test_macros.hpp>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "base/error.hpp"
#include "base/round.hpp"
#include "device/gpu/lower/glsl_kernel.hpp"
#include "device/gpu/lower/shaders.hpp"
#include "device/gpu/pipeline/compiler.hpp"
#include "kernel/matrix_tiles.hpp"
#include "test_lower_reference.hpp"

using namespace sg;
using namespace sg::lower_test;

namespace {

Features plain() { return {.shuffles = true, .shared_bytes = 32768, .max_group_threads = 1024}; }

Case find(const std::string& name) {
  for (Case& c : cases())
    if (c.name == name) return c;
  FAIL("no case " << name);
  return {};
}

Step sized(int64_t rows, int64_t columns, int inner) {
  ProgramBuilder b;
  b.program.domain = {rows, columns};
  b.program.inner = inner;
  const Dims dense = contiguous_strides(b.program.domain);
  const int32_t in = b.add_view({.binding = 0, .strides = dense}), bias = b.add_view({.binding = 1, .strides = {0, 1}});
  const int32_t out = b.add_view({.binding = 2, .strides = inner ? Dims{1, 0} : dense});
  const Expr sum = b.alu(Code::add, DType::float32, b.load(in), b.load(bias));
  b.store(out, inner ? b.reduce(Fold::sum, sum) : sum);
  annotate(b.program);
  Step s{.name = "add_bias", .instances = std::vector<Instance>(1)};
  s.instances[0].kernel.program = b.program;
  s.instances[0].bindings.resize(3);
  for (int i = 0; i < 3; ++i) s.instances[0].bindings[i].memory = i;
  return s;
}

}  // namespace

TEST_CASE("every class of kernel compiles", "[lower]") {
  for (Fit fit : {Fit::special, Fit::general})
    for (bool shuffles : {true, false})
      for (const Case& c : cases()) {
        Features f = plain();
        f.shuffles = shuffles;
        const Lowered l = lower(c.step, f, fit);
        if (fit == Fit::general && !l.general) continue;
        CHECK((shuffles || l.shader->subgroups == Subgroups::any));
        INFO(c.name << "\n" << l.shader->source);
        if (l.shader->source.empty())
          CHECK_FALSE(embedded_spirv(l.shader->builtin).empty());
        else
          CHECK_NOTHROW(compile_glsl(l.name, l.shader->source));
        for (const ArgWord& w : l.arguments)
          if (w.kind == ArgWord::Kind::address) CHECK(w.memory >= 0);
      }
}

TEST_CASE("products of halves use matrix units that can take them", "[lower]") {
  Features cm1 = plain(), cm2 = plain();
  cm1.subgroup = 32;
  cm1.float16_units = cm1.bfloat16_units = {MatrixUnits::Path::cm1, 16, 16, 16};
  cm2.float16_units = cm2.bfloat16_units = {MatrixUnits::Path::cm2, 32, 32, 16};
  const auto path = [](const std::string& name, const Features& f) {
    const std::string text = lower(find(name).step, f).shader->source;
    return text.find("product_cm2.glsl") != text.npos ? "cm2" : text.find("product_cm1.glsl") != text.npos ? "cm1" : "";
  };
  for (const char* type : {"float16", "bfloat16"}) {
    const std::string name = std::string("matmul_") + type;
    for (const char* sides : {"_64x64x64_e0", "_65x130x33_ta_tb_e1", "_17x40x16_tb_e2", "_129x256x72_ta_e3"}) {
      CHECK(path(name + sides, cm2) == std::string("cm2"));
      CHECK(path(name + sides, cm1) == std::string("cm1"));
      CHECK(path(name + sides, plain()) == std::string());
    }
    CHECK(path(name + "_9x20x50_e0", cm2) == std::string());  // more padding than product
  }
  CHECK(path("matmul_float32_64x512x784_e0", cm2) == std::string());
  cm1.shared_bytes = 20480;  // the smaller tile: 2 * 32 * (8 + 1) * 16 bytes and 1 KiB a subgroup
  CHECK(lower(find("matmul_float16_129x256x72_ta_e3").step, cm1).shader->constants[0] == 64);
  cm1.shared_bytes = 8192;
  CHECK(path("matmul_float16_64x64x64_e0", cm1) == std::string());
  cm1.subgroup = 0;  // nobody knows
  CHECK(path("matmul_float16_64x64x64_e0", cm1) == std::string());
  for (const Features& f : {cm2, [&] {
                              Features g = cm1;
                              g.subgroup = 32, g.shared_bytes = 49152;
                              return g;
                            }()})
    for (const Case& c : cases()) {
      if (c.name.find("float16_") == std::string::npos) continue;
      const Lowered l = lower(c.step, f);
      INFO(c.name << "\n" << l.shader->source);
      if (!l.shader->source.empty()) CHECK_NOTHROW(compile_glsl(l.name, l.shader->source));
    }
}

static bool needs_int64(const std::vector<uint32_t>& spirv) {
  constexpr uint32_t kCapability = 17, kInt64 = 11;
  for (size_t at = 5; at < spirv.size(); at += spirv[at] >> 16)
    if ((spirv[at] & 0xffff) == kCapability && spirv[at + 1] == kInt64) return true;
  return false;
}

TEST_CASE("kernels with addresses of pairs compile, and only 64-bit values need such integers", "[lower]") {
  using glsl::AddressForm;
  CHECK(glsl::address_form("pairs") == AddressForm::pair);
  CHECK_THROWS_AS(glsl::address_form("words"), ValueError);
  int without = 0;
  for (Fit fit : {Fit::special, Fit::general})
    for (const Case& c : cases()) {
      const Lowered l = lower(c.step, plain(), fit);
      if (fit == Fit::general && !l.general) continue;
      const Shader& s = *l.shader;
      const std::string text = s.source.empty() ? std::string(embedded_source(s.builtin + ".comp")) : s.source;
      INFO(c.name << "\n" << text);
      CHECK(needs_int64(compile_glsl(l.name, text)));
      bool values = false;  // also those of the status block, which reports indices
      for (const char* word : {"int64", "SG_WIDE", "SG_CHECKS", "SG_GUARDS", "SG_FLOAT64"})
        values = values || text.find(word) != text.npos;
      const bool needs = needs_int64(compile_glsl(l.name, glsl::in_form(AddressForm::pair, text)));
      if (!values) CHECK_FALSE(needs);
      without += !needs;
    }
  CHECK(without > 100);
}

// What OpCooperativeMatrixStoreTensorNV says about its addresses; less than an element has is no valid SPIR-V.
static std::vector<uint32_t> alignments_of_stored_tiles(const std::vector<uint32_t>& spirv) {
  constexpr uint32_t kStoreTensor = 5368, kAligned = 2;
  std::vector<uint32_t> found;
  for (size_t at = 5; at < spirv.size(); at += spirv[at] >> 16)
    if ((spirv[at] & 0xffff) == kStoreTensor && spirv[at + 4] & kAligned) found.push_back(spirv[at + 5]);
  return found;
}

TEST_CASE("float32 products of less precision use scaled halves", "[lower]") {
  Features cm1 = plain(), cm2 = plain();
  cm1.subgroup = cm2.subgroup = 32;
  cm1.shared_bytes = cm2.shared_bytes = 49152;
  cm1.float16_units = cm1.float16_fragments = cm2.float16_fragments = {MatrixUnits::Path::cm1, 16, 16, 16};
  cm2.float16_units = {MatrixUnits::Path::cm2, 32, 32, 16};
  for (Precision precision : {Precision::high, Precision::medium})
    for (const char* name : {"matmul_float32_64x512x784_e0", "matmul_float32_64x512x784_e1"}) {
      Case c = find(name);
      Instance& in = c.step.instances[0];
      Product& p = *in.kernel.product;
      p.precision = precision;
      const auto halves = [&](int64_t side) {
        Product::Halves h{.plane = side * p.k, .batch = 0, .step_k = 1, .step_side = p.k, .exponents_batch = 0};
        for (int32_t* binding : {&h.binding, &h.exponents}) {
          *binding = static_cast<int32_t>(in.bindings.size());
          in.bindings.push_back({.memory = 0});
        }
        return h;
      };
      p.a_halves = halves(p.m), p.b_halves = halves(p.n);
      CHECK(lower(c.step, plain()).shader->source.find("SCALED") == std::string::npos);
      for (const auto& [f, text] : {std::pair(cm1, "product_cm1.glsl"), std::pair(cm2, "product_cm2.glsl")}) {
        const Lowered l = lower(c.step, f);
        INFO(name << "\n" << l.shader->source);
        CHECK(l.shader->source.find(text) != std::string::npos);
        CHECK(l.shader->source.find(precision == Precision::high ? "PLANES 2" : "PLANES 1") != std::string::npos);
        const std::vector<uint32_t> spirv = compile_glsl(l.name, l.shader->source);
        for (uint32_t alignment : alignments_of_stored_tiles(spirv)) CHECK(alignment == sizeof(float));
        const bool tiles =
            text == std::string("product_cm2.glsl") && name == std::string("matmul_float32_64x512x784_e0");
        // Inside and at the edges; the other one has two results, stored one by one.
        CHECK(alignments_of_stored_tiles(spirv).size() == (tiles ? 2 : 0));
      }
    }
}

TEST_CASE("a tile of the matrix units fits, or there is none", "[lower]") {
  Features f = plain();
  f.subgroup = 32;
  f.shared_bytes = 49152;
  MatrixProblem p{.units = {MatrixUnits::Path::cm1, 16, 16, 16},
                  .m = 4096,
                  .n = 4096,
                  .k = 4096,
                  .batch = 1,
                  .planes = 0,
                  .a_along_k = true,
                  .b_along_k = false,
                  .walks = false};
  REQUIRE(choose_matrix_tile(p, f));
  CHECK(choose_matrix_tile(p, f)->m == 128);
  p.planes = 2;  // twice the shared memory
  f.shared_bytes = 32768;
  REQUIRE(choose_matrix_tile(p, f));
  CHECK(choose_matrix_tile(p, f)->m == 64);
  f.shared_bytes = 16384;
  CHECK(!choose_matrix_tile(p, f));
  f.shared_bytes = 49152;
  f.subgroup = 0;
  CHECK(!choose_matrix_tile(p, f));
  p.units = {};
  CHECK(!choose_matrix_tile(p, f));
}

TEST_CASE("the tile of a product on matrix units is the one that was quickest on an H100", "[lower]") {
  struct Case {
    int64_t m, n, k;
    uint32_t tile_n;
  };
  const Features f = plain();
  for (const auto& [m, n, k, tile_n] : {Case{8192, 8192, 8192, 256},
                                        Case{16384, 384, 384, 192},
                                        {16384, 1536, 384, 192},
                                        {8192, 768, 3072, 192},
                                        {2048, 2048, 2048, 256},
                                        {4096, 4096, 4096, 256},
                                        {8192, 50257, 768, 192},
                                        {8192, 3072, 768, 192},
                                        {1024, 1024, 1024, 64},
                                        {65, 130, 33, 64}}) {
    CAPTURE(m, n, k);
    const MatrixTile* tile = choose_matrix_tile({.units = {MatrixUnits::Path::cm2, 32, 32, 16},
                                                 .m = m,
                                                 .n = n,
                                                 .k = k,
                                                 .batch = 1,
                                                 .planes = 0,
                                                 .a_along_k = true,
                                                 .b_along_k = false,
                                                 .walks = false},
                                                f);
    REQUIRE(tile);
    CHECK(tile->n == tile_n);
  }
}

TEST_CASE("golden GLSL", "[lower]") {
  for (const char* name : {"flat_float32", "transposed_float32", "sgd_update", "softmax_64x128", "sum_float32_40x20t",
                           "matmul_float32_64x512x784_e1", "convolution_8_5"}) {
    const std::string path = std::string(SG_SOURCE_DIR) + "/tests/golden/" + name + ".comp";
    const std::string text = lower(find(name).step, plain()).shader->source;
    if (const char* update = std::getenv("UPDATE_GOLDEN"); update && *update) std::ofstream(path) << text;
    std::stringstream golden;
    golden << std::ifstream(path).rdbuf();
    INFO("a deliberate change: run with UPDATE_GOLDEN=1 and look at the difference of " << path);
    CHECK(golden.str() == text);
  }
}

// What quotient() in shaders/common.glsl computes.
uint32_t quotient(uint32_t n, int64_t divisor) {
  const auto factor = static_cast<uint32_t>(divisor);
  return (static_cast<uint32_t>(uint64_t{n} * factor >> 32) + n) >> (divisor >> 32);
}

TEST_CASE("a factor and a shift divide", "[lower]") {
  const int64_t most = INT32_MAX;
  for (int64_t size :
       {int64_t{1}, int64_t{2}, int64_t{3}, int64_t{7}, int64_t{49}, int64_t{196}, int64_t{224}, int64_t{641},
        int64_t{3136}, int64_t{65535}, int64_t{65536}, int64_t{65537}, int64_t{1} << 30, most - 1, most}) {
    const int64_t word = divisor_word(size);
    for (int64_t whole : {int64_t{0}, int64_t{1}, most / size / 2, most / size})
      for (int64_t n : {whole * size - 1, whole * size, whole * size + 1, whole * size + size - 1})
        if (n >= 0 && n <= most) CHECK(quotient(static_cast<uint32_t>(n), word) == n / size);
  }
}

TEST_CASE("sizes are arguments", "[lower]") {
  const Lowered a = lower(sized(64, 128, 0), plain()), b = lower(sized(17, 256, 0), plain());
  CHECK(a.shader->source == b.shader->source);
  CHECK(a.arguments.size() == b.arguments.size());
  CHECK(lower(sized(64, 128, 1), plain()).shader->source == lower(sized(17, 128, 1), plain()).shader->source);
  // Another layout class is another text: 130 columns forbid 16-byte steps.
  CHECK(a.shader->source != lower(sized(64, 130, 0), plain()).shader->source);
}

TEST_CASE("a general kernel of rows serves rows of any length", "[lower]") {
  const auto text = [](int64_t rows, int64_t columns) {
    const Lowered l = lower(sized(rows, columns, 1), plain(), Fit::general);
    CHECK(l.general);
    return l.shader->source;
  };
  for (int64_t columns : {4, 64, 128, 516, 1028, 2052, 4096}) CHECK(text(7, columns) == text(64, 128));
  for (int64_t columns : {4100, 20000, 100000}) CHECK(text(3, columns) == text(2, 8192));  // larger workgroups
  for (int64_t columns : {2, 3, 65, 1021}) CHECK(text(5, columns) == text(5, 7));
  CHECK_FALSE(lower(sized(64, 128, 1), plain()).general);
  CHECK_FALSE(lower(sized(64, 128, 0), plain(), Fit::general).general);
}

TEST_CASE("loads in flight leave a large workgroup its registers", "[lower]") {
  const auto items_of = [](int tensors) {
    ProgramBuilder b;
    b.program.domain = {3, 100000};
    b.program.inner = 1;
    const Dims dense = contiguous_strides(b.program.domain);
    Expr all = b.load(b.add_view({.binding = 0, .strides = dense}));
    for (int32_t i = 1; i < tensors; ++i)
      all = b.alu(Code::add, DType::float32, all, b.load(b.add_view({.binding = i, .strides = dense})));
    b.store(b.add_view({.binding = tensors, .strides = {1, 0}}), b.reduce(Fold::sum, all));
    annotate(b.program);
    Step s{.name = "sum", .instances = std::vector<Instance>(1)};
    s.instances[0].kernel.program = b.program;
    s.instances[0].bindings.resize(static_cast<size_t>(tensors) + 1);
    for (int32_t i = 0; i <= tensors; ++i) s.instances[0].bindings[static_cast<size_t>(i)].memory = i;
    const std::string text = lower(s, plain()).shader->source;
    CHECK(text.find("kThreads = 1024") != std::string::npos);
    const size_t at = text.find("kItems = ");
    REQUIRE(at != std::string::npos);
    return std::stoi(text.substr(at + 9));
  };
  CHECK(items_of(1) == 4);
  CHECK(items_of(2) == 2);
  CHECK(items_of(3) == 1);
}

TEST_CASE("what a text depends on says which it is", "[lower]") {
  std::vector<Case> all = cases();
  for (Case& c : odd_rows()) all.push_back(c);
  for (Fit fit : {Fit::special, Fit::general}) {
    Shaders known(true);  // writes each text, and compares
    for (int i = 0; i < 2; ++i)
      for (const Case& c : all) {
        const Lowered once = lower(c.step, plain(), fit), l = lower(c.step, plain(), fit, known);
        INFO(c.name);
        CHECK(*once.shader == *l.shader);
        CHECK(once.arguments == l.arguments);
        CHECK(std::equal(std::begin(once.groups), std::end(once.groups), std::begin(l.groups)));
      }
  }
}

TEST_CASE("grids stay inside the device's limit, and nothing is nothing", "[lower]") {
  Features f = plain();
  f.max_groups = 7;
  CHECK(lower(sized(5000, 128, 0), f).groups[0] == 7);
  CHECK(lower(sized(5000, 128, 1), f).groups[0] == 7);
  CHECK(lower(sized(0, 128, 0), f).groups[0] == 0);
  CHECK(lower(sized(0, 128, 1), f).groups[0] == 0);
  CHECK(lower(sized(3, 0, 1), f).groups[0] == 1);
}

TEST_CASE("an element number beyond 31 bits has 64", "[lower]") {
  const std::string text = lower(sized(INT64_C(1) << 20, INT64_C(1) << 12, 0), plain()).shader->source;
  CHECK(text.find("#define SG_WIDE\n") < text.find("#define Index Offset\n"));
  CHECK(text.find("#define Index Offset\n") != text.npos);
  CHECK_NOTHROW(compile_glsl("wide", glsl::in_form(glsl::AddressForm::pair, text)));
  CHECK_NOTHROW(compile_glsl("wide", text));
  CHECK_NOTHROW(compile_glsl("wide", lower(sized(INT64_C(1) << 20, INT64_C(1) << 12, 1), plain()).shader->source));
}

TEST_CASE("a missing feature is named", "[lower]") {
  Features f = plain();
  f.float64 = false;
  CHECK_THROWS_AS(lower(find("flat_float64").step, f), LimitError);
  CHECK_NOTHROW(lower(find("flat_int32").step, f));
  f.storage8 = false;
  CHECK_THROWS_AS(lower(find("cast_bool_int32").step, f), LimitError);
  f.int64 = false;
  CHECK_THROWS_AS(lower(find("sum_float32_3x10").step, f), LimitError);
}

TEST_CASE("the matrix kernel fits the problem and the device", "[lower]") {
  using glsl::choose_product;
  Features h200 = plain();
  h200.shared_bytes = 49152;
  CHECK(choose_product(4096, 4096, 4096, 1, DType::float32, h200).tile_m == 128);
  CHECK(choose_product(1024, 1024, 512, 2, DType::float32, h200).tile_m == 128);  // sums in two halves
  CHECK(choose_product(1024, 1024, 1024, 1, DType::float32, h200).tile_m == 64);
  CHECK(choose_product(4096, 4096, 4096, 1, DType::float16, h200).tile_m == 128);  // computed as float32
  CHECK(choose_product(3, 200000, 64, 1, DType::float32, h200).tile_m == 4);
  CHECK(choose_product(784, 512, 64, 1, DType::float32, h200).tile_k == 32);
  CHECK(choose_product(512, 512, 512, 1, DType::float32, h200).tile_m == 32);
  CHECK(choose_product(64, 512, 784, 1, DType::float32, h200).tile_m == 16);
  CHECK(choose_product(64, 10, 256, 1, DType::float32, h200).parts == 16);
  for (DType t : {DType::float32, DType::float64})
    for (int64_t bytes : {16384, 32768, 49152})
      for (int64_t n : {1, 16, 17, 64, 500, 4096})
        for (int64_t threads : {128, 1024}) {
          Features f = plain();
          f.shared_bytes = bytes;
          f.max_group_threads = threads;
          const auto v = choose_product(n, 4096, n, 1, t, f);
          CAPTURE(bytes, n, v.tile_m, v.tile_k);
          CHECK(v.shared_bytes(static_cast<int64_t>(size_of(t))) <= bytes);
          CHECK(v.threads() == std::min<int64_t>(256, threads));
          CHECK(v.threads() >=
                4 * v.tile_k);  // operands that walk: a thread's elements lie multiples of four rows apart
          CHECK(v.tile_k % 4 == 0);
          CHECK(v.tile_k % v.parts == 0);
        }
}

// The tiles of an H200 were measured: another choice there needs a measurement.
TEST_CASE("NVIDIA's products have the tiles that were measured", "[lower]") {
  Features f = plain();
  f.shared_bytes = 49152;
  f.max_group_threads = 1024;
  f.tiles = find_tiles("nvidia");
  REQUIRE(f.tiles == default_tiles());
  struct Case {
    int64_t m, n, k;
    ProductTile tile;
  };
  const Case cases[] = {
      {4096, 4096, 4096, {128, 128, 8, 8, 8, 1}}, {48, 65536, 512, {64, 128, 8, 8, 8, 1}},
      {12, 200000, 512, {16, 256, 8, 8, 4, 1}},   {4, 200000, 512, {4, 256, 16, 4, 4, 4}},
      {1024, 1024, 1024, {64, 64, 16, 4, 4, 1}},  {784, 512, 64, {64, 64, 32, 4, 4, 1}},
      {512, 512, 512, {32, 32, 32, 4, 4, 4}},     {64, 10, 256, {16, 16, 64, 4, 4, 16}},
  };
  for (const Case& c : cases) {
    CAPTURE(c.m, c.n, c.k);
    CHECK(glsl::choose_product(c.m, c.n, c.k, 1, DType::float32, f) == c.tile);
  }
}

TEST_CASE("the tiles of each maker fit", "[lower]") {
  for (const Tiles& t : all_tiles())
    for (DType type : {DType::float32, DType::float64})
      for (int64_t m : {3, 48, 500, 4096})
        for (int64_t n : {12, 70000}) {
          Features f = plain();
          f.tiles = &t;
          const auto v = glsl::choose_product(m, n, 500, 1, type, f);
          CAPTURE(t.name, m, n, v.tile_m, v.tile_n, v.tile_k);
          CHECK(v.shared_bytes(static_cast<int64_t>(size_of(type))) <= std::min(t.shared_bytes, f.shared_bytes));
          CHECK((v.threads() == 128 || v.threads() == 256));
          CHECK(v.tile_k % v.parts == 0);
        }
  CHECK(find_tiles("voodoo") == nullptr);
}
