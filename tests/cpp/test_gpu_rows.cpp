// Rows have two kernels, which compute the same bits: a special one for its own sizes, a general one for any.
#include <catch2/catch_test_macros.hpp>

#include "base/log.hpp"
#include "device/gpu/driver/validation.hpp"
#include "gpu_recorder.hpp"
#include "test_lower_reference.hpp"

using namespace sg;
using namespace sg::lower_test;

namespace {

std::shared_ptr<Plan> plan_of(const Case& c) {
  auto p = std::make_shared<Plan>();
  p->device = {DeviceId::Kind::gpu, 0};
  for (const Bytes& b : c.memories)
    p->memories.push_back({Memory::Kind::leaf, p->leaves++, static_cast<int64_t>(b.size()), 0, -1});
  p->numbers = static_cast<int32_t>(c.numbers.size());
  p->steps.push_back(c.step);
  for (Instance& i : p->steps[0].instances)
    for (const Binding& b : i.bindings) {
      i.reads.push_back(b.memory);
      i.writes.push_back(b.memory);
    }
  return p;
}

std::vector<Bytes> run(sg_test::Parts& parts, const Case& c, const Features& features, Fit fit) {
  const auto prepared = sg_test::prepared(parts, plan_of(c), features, fit);
  CHECK(prepared->general == (fit == Fit::general));
  std::vector<BufferRef> leaves;
  std::vector<Ref<GpuBuffer>> buffers;
  for (const Bytes& b : c.memories) {
    buffers.emplace_back(parts.pool.take(std::max<size_t>(b.size(), 4)));
    leaves.emplace_back(buffers.back().get());
    parts.recorder.upload_small(buffers.back(), b.data(), b.size());
  }
  const int64_t none = 0;
  parts.recorder.run(*prepared, {leaves.data(), nullptr, &none, c.numbers.data()});
  std::vector<Bytes> out;
  for (size_t i = 0; i < buffers.size(); ++i) {
    out.emplace_back(c.memories[i].size());
    if (!out[i].empty()) parts.transfer.download(out[i].data(), *buffers[i], 0, out[i].size());
  }
  return out;
}

}  // namespace

TEST_CASE("general kernels of rows compute the bits of special ones", "[gpu][lower][rows]") {
  if (env_flag("SPIROGRAD_PROXY")) SKIP("the proxy lane computes garbage on purpose");
  std::vector<Case> all = odd_rows();
  int number = 0;
  for (Case& c : cases())
    if (c.step.only().kernel.kind == Kernel::Kind::program && c.step.only().kernel.program.inner > 0 &&
        number++ % 3 == 0)
      all.push_back(c);
  const size_t few = validation_mode() == Validation::off ? 1 : 8;  // the layers take their time for a kernel
  for (bool with : {true, false}) {
    auto& parts = *new sg_test::Parts;  // kernels are known by their form: one device, one set of features
    Features features = parts.context.physical.features;
    features.shuffles &= with;
    for (size_t n = 0; n < all.size(); n += with ? few : 4 * few) {
      const Case& c = all[n];
      INFO(c.name << (with ? "" : " without shuffles"));
      const std::vector<Bytes> special = run(parts, c, features, Fit::special);
      const std::vector<Bytes> general = run(parts, c, features, Fit::general);
      for (size_t m = 0; m < special.size(); ++m) CHECK(special[m] == general[m]);
    }
  }
}

TEST_CASE("a plan that runs often gets special kernels", "[gpu][rows]") {
  if (env("SPIROGRAD_SPECIALIZE") != "16") SKIP("SPIROGRAD_SPECIALIZE is set");
  auto& parts = *new sg_test::Parts;
  const Case c = odd_rows().front();
  const Features& features = parts.context.physical.features;
  const auto prepared = sg_test::prepared(parts, plan_of(c), features, Fit::general);
  const std::string text = prepared->source(0);
  for (prepared->runs = 0; prepared->runs < 16; ++prepared->runs) {
    specialize(*prepared, features, parts.pipelines);
    CHECK_FALSE(prepared->coming.has_value());
  }
  for (specialize(*prepared, features, parts.pipelines); prepared->general;
       specialize(*prepared, features, parts.pipelines)) {
    CHECK(prepared->source(0) == text);
    prepared->runs = 17;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  CHECK(prepared->source(0) != text);
  CHECK(prepared->source(0) == lower(c.step, features).shader->source);
  CHECK(parts.stats.kernels_compiled == 1);
  CHECK(parts.stats.kernels_specialized == 1);
  // Another plan of these sizes finds it.
  const auto other = sg_test::prepared(parts, plan_of(c), features, Fit::general);
  CHECK(other->general);
  other->runs = 16;
  specialize(*other, features, parts.pipelines);
  CHECK_FALSE(other->general);
  CHECK(parts.stats.kernels_specialized == 1);
}
