// The hazard tracker and the pool's block sizes: pure, no GPU needed.
#include <catch2/catch_test_macros.hpp>

#include "device/gpu/memory/memory.hpp"
#include "device/gpu/record/hazard.hpp"

using sg::AddressRange;
using sg::HazardTracker;
using Ranges = std::vector<AddressRange>;

namespace {
const AddressRange kA{0, 100}, kB{100, 200}, kInA{50, 60}, kAcross{90, 110}, kEmpty{50, 50};
}

TEST_CASE("hazard: what must wait and what need not", "[gpu][hazard]") {
  HazardTracker t;
  t.add({kA}, {kB});
  CHECK_FALSE(t.conflicts({kA}, {}));  // read after read
  CHECK(t.conflicts({kB}, {}));        // read after write
  CHECK(t.conflicts({}, {kA}));        // write after read
  CHECK(t.conflicts({}, {kB}));        // write after write
  CHECK_FALSE(t.conflicts({kInA}, {}));
  CHECK(t.conflicts({}, {kInA}));  // a part of it
  CHECK(t.conflicts({kAcross}, {}));
  CHECK_FALSE(t.conflicts({}, {{200, 300}}));  // touching ends do not overlap
  CHECK_FALSE(t.conflicts({kEmpty}, {kEmpty}));
  t.clear();
  CHECK_FALSE(t.conflicts({kB}, {kA, kB}));
}

TEST_CASE("hazard: every pair of ranges, against the definition", "[gpu][hazard]") {
  for (uint64_t b = 0; b < 6; ++b)
    for (uint64_t e = b; e < 6; ++e)
      for (uint64_t c = 0; c < 6; ++c)
        for (uint64_t f = c; f < 6; ++f) {
          bool shared = false;
          for (uint64_t x = 0; x < 6; ++x) shared |= x >= b && x < e && x >= c && x < f;
          HazardTracker t;
          t.add({}, {{b, e}});
          CHECK(t.conflicts({{c, f}}, {}) == shared);
        }
}

TEST_CASE("hazard: equal ranges are kept once", "[gpu][hazard]") {
  HazardTracker t;
  for (int i = 0; i < 100; ++i) t.add({kA}, {kB});
  CHECK(t.size() == 2);
}

TEST_CASE("pool: block sizes have room and waste at most a quarter", "[gpu][pool]") {
  CHECK(sg::block_size(0) == 256);
  CHECK(sg::block_size(1) == 256);
  CHECK(sg::block_size(4096) == 4096);
  CHECK(sg::block_size(4097) == 5120);
  for (size_t n = 1; n < (size_t{1} << 34); n += n / 7 + 1) {
    const size_t block = sg::block_size(n);
    CHECK(block >= (n + 15) / 16 * 16);
    CHECK(block % 256 == 0);
    if (n >= 1024) CHECK(block <= n + n / 4 + 16);
    CHECK(sg::block_size(block) == block);
  }
}
