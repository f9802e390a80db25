// A recorder and what it stands on, without a device around it.
#pragma once
#include <catch2/catch_test_macros.hpp>

#include "device/gpu/memory/transfer.hpp"
#include "device/gpu/record/record.hpp"

namespace sg_test {

struct Parts {  // kept for ever, as a device is
  sg::Context context = open();
  sg::DeviceStats stats;
  sg::Queue queue{context};
  sg::Pool pool{context, queue};
  sg::Pipelines pipelines{context, stats};
  sg::Timing timing{context, queue, context.physical.timestamp_bits};
  sg::Transfer transfer{context, queue, timing, nullptr, nullptr};
  sg::CommandRecorder recorder{context, queue, pool, pipelines, nullptr, timing, stats, transfer};

  static sg::Context open() {
    const sg::GpuList& list = sg::list_gpus();
    if (list.devices.empty()) SKIP(list.reason << "; " << list.remedy);
    sg::Context c = sg::open_context(0);
    c.physical.type = VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU;  // the kind with the tightest watchdog
    return c;
  }
};

}  // namespace sg_test
