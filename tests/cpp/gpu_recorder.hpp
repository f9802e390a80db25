// A recorder and what it stands on, without a device around it.
#pragma once
#include <catch2/catch_test_macros.hpp>

#include "device/gpu/memory/transfer.hpp"
#include "device/gpu/record/prepared.hpp"
#include "device/gpu/record/record.hpp"

namespace sg_test {

struct Parts {  // kept for ever, as a device is
  sg::Context context = open();
  sg::DeviceStats stats;
  sg::Queue queue{context};
  sg::BufferPool pool{context, queue};
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

inline std::unique_ptr<sg::GpuPrepared> prepared(Parts& parts, std::shared_ptr<const sg::Plan> plan,
                                                 const sg::Features& features, sg::Fit fit = sg::Fit::special) {
  const auto kernels = sg::lower_all(*plan, features, fit, parts.pipelines.shaders);
  return sg::prepare_plan(std::move(plan), kernels, parts.pipelines, nullptr);
}

}  // namespace sg_test
