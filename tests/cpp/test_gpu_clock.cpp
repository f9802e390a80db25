// The device's ticks on the host's clock: arithmetic only, no GPU needed.
#include <catch2/catch_test_macros.hpp>

#include "device/gpu/queue/clock.hpp"

using sg::DeviceClock;

TEST_CASE("clock: a calibrated clock counts from its last fact", "[gpu][clock]") {
  DeviceClock c(64, 2.0);
  c.calibrate(1000, 50'000);
  CHECK(c.host(1000) == 50'000);
  CHECK(c.host(1010) == 50'020);
  CHECK(c.host(990) == 49'980);
  CHECK(c.span(1000, 1010) == 20.0);
  c.calibrate(2000, 60'000);
  CHECK(c.host(2001) == 60'002);
}

TEST_CASE("clock: a counter of few bits may turn over", "[gpu][clock]") {
  DeviceClock c(36, 1.0);
  const uint64_t top = (uint64_t{1} << 36) - 4;
  c.calibrate(top, 1000);
  CHECK(c.host(6) == 1010);
  CHECK(c.host(top - 10) == 990);
  CHECK(c.span(top, 1) == 5.0);
}

TEST_CASE("clock: without calibration nothing begins before it was submitted", "[gpu][clock]") {
  DeviceClock c(64, 1.0);
  c.not_before(100, 5000);  // the first fact is all there is
  CHECK(c.host(100) == 5000);
  c.not_before(300, 5100);  // it waited for the one before: says nothing new
  CHECK(c.host(300) == 5200);
  c.not_before(400, 5400);  // it cannot have begun at 5300
  CHECK(c.host(400) == 5400);
  CHECK(c.host(300) == 5300);
}
