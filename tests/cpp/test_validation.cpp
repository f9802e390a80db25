// The last word of the program (tests run in the order of their files): what the validation layer said beyond the
// mistakes that tests make on purpose. And those mistakes of the sanitizer lane, hidden from other runs: each must end
// the program with the sanitizer's report (tools/test.sh sanitize).
#include <catch2/catch_test_macros.hpp>
#include <limits>
#include <vector>

#if SPIROGRAD_GPU
#include "device/gpu/driver/validation.hpp"
#include "gpu_plans.hpp"

TEST_CASE("validation has nothing to say", "[gpu][validation]") {
  const sg::GpuList& list = sg::list_gpus();
  if (list.devices.empty()) SKIP(list.reason << "; " << list.remedy);
  sg::gpu_device(0).wait();
  INFO(sg::last_validation_message());
  CHECK(sg::validation_messages() == sg_test::expected_messages);
}
#endif

namespace {
int opaque(int value) {  // the compiler must not see the mistakes
  volatile int hidden = value;
  return hidden;
}
}  // namespace

TEST_CASE("canary: a heap block is overrun", "[.][canary-address]") {
  std::vector<float> block(static_cast<size_t>(opaque(16)));
  float* const beyond = block.data() + opaque(16);
  *beyond = 1;
  CHECK(*beyond == 1);
}

TEST_CASE("canary: a block is never freed", "[.][canary-leak]") {
  auto* lost = new std::vector<float>(static_cast<size_t>(opaque(1000)));
  CHECK(lost->size() == 1000);
  lost = nullptr;
  CHECK(lost == nullptr);
}

TEST_CASE("canary: an integer overflows", "[.][canary-overflow]") {
  int value = opaque(std::numeric_limits<int>::max());
  value += opaque(1);
  CHECK(value != 0);
}

TEST_CASE("canary: a shift goes too far", "[.][canary-shift]") {
  const int value = 1 << opaque(40);
  CHECK(value != -1);
}
