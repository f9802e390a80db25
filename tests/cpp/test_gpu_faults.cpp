// A GPU that breaks: lost, hung, out of memory, misused. Each test opens a device of its own and breaks that one by
// replacing a function in volk's table.
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <cstdlib>

#include "base/error.hpp"
#include "base/host.hpp"
#include "device/gpu/driver/device_fault.hpp"
#include "device/gpu/driver/validation.hpp"
#include "device/gpu/memory/memory.hpp"
#include "device/gpu/queue/queue.hpp"
#include "gpu_plans.hpp"
#include "gpu_recorder.hpp"

namespace {

template <class F>
class Replaced {
 public:
  Replaced(F& slot, F with) : slot_(slot), kept_(slot) { slot_ = with; }
  ~Replaced() { slot_ = kept_; }

 private:
  F& slot_;
  F kept_;
};

VKAPI_ATTR VkResult VKAPI_CALL submit_lost(VkQueue, uint32_t, const VkSubmitInfo2*, VkFence) {
  return VK_ERROR_DEVICE_LOST;
}
VKAPI_ATTR VkResult VKAPI_CALL submit_swallowed(VkQueue, uint32_t, const VkSubmitInfo2*, VkFence) { return VK_SUCCESS; }
VKAPI_ATTR VkResult VKAPI_CALL no_memory(VkDevice, const VkMemoryAllocateInfo*, const VkAllocationCallbacks*,
                                         VkDeviceMemory*) {
  return VK_ERROR_OUT_OF_DEVICE_MEMORY;
}

VKAPI_ATTR VkResult VKAPI_CALL submit_refused(VkQueue, uint32_t, const VkSubmitInfo2*, VkFence) {
  return VK_ERROR_OUT_OF_HOST_MEMORY;
}
VKAPI_ATTR VkResult VKAPI_CALL no_commands(VkDevice, const VkCommandBufferAllocateInfo*, VkCommandBuffer*) {
  return VK_ERROR_OUT_OF_HOST_MEMORY;
}
VKAPI_ATTR VkResult VKAPI_CALL counter_full(VkDevice, VkSemaphore, uint64_t* value) {
  *value = UINT64_MAX;
  return VK_SUCCESS;
}
VKAPI_ATTR VkResult VKAPI_CALL counter_lost(VkDevice, VkSemaphore, uint64_t*) { return VK_ERROR_DEVICE_LOST; }

// What a driver with VK_EXT_device_fault may say; none of those at hand has it.
struct Said {
  VkResult result = VK_SUCCESS;
  std::string description;
  std::vector<VkDeviceFaultAddressInfoEXT> addresses;
  std::vector<VkDeviceFaultVendorInfoEXT> words;
};
Said said;
VKAPI_ATTR VkResult VKAPI_CALL say(VkDevice, VkDeviceFaultCountsEXT* counts, VkDeviceFaultInfoEXT* info) {
  if (!info) {
    counts->addressInfoCount = static_cast<uint32_t>(said.addresses.size());
    counts->vendorInfoCount = static_cast<uint32_t>(said.words.size());
    counts->vendorBinarySize = 64;
    return said.result;
  }
  CHECK(counts->vendorBinarySize == 0);  // nobody gave room for it
  said.description.copy(info->description, sizeof info->description - 1);
  std::copy(said.addresses.begin(), said.addresses.end(), info->pAddressInfos);
  std::copy(said.words.begin(), said.words.end(), info->pVendorInfos);
  return said.result;
}
VkDeviceFaultAddressInfoEXT address(VkDeviceFaultAddressTypeEXT type, uint64_t at, uint64_t precision = 1) {
  return {type, at, precision};
}
VkDeviceFaultVendorInfoEXT word(const std::string& text, uint64_t code, uint64_t data) {
  VkDeviceFaultVendorInfoEXT info{};
  text.copy(info.description, sizeof info.description - 1);
  info.vendorFaultCode = code;
  info.vendorFaultData = data;
  return info;
}

struct Opened {  // kept for ever, as the real ones are
  sg::Context context = open();
  sg::Queue queue{context};
  sg::BufferPool pool{context, queue};

  static sg::Context open() {
    const sg::GpuList& list = sg::list_gpus();
    if (list.devices.empty()) SKIP(list.reason << "; " << list.remedy);
    return sg::open_context(0);
  }
};

struct WithVariable {
  const char* name;
  WithVariable(const char* n, const char* value) : name(n) { setenv(n, value, 1); }
  ~WithVariable() { unsetenv(name); }
};

}  // namespace

TEST_CASE("faults: a lost device says so at once, and ever after", "[gpu][faults]") {
  auto& o = *new Opened;
  o.queue.submit(o.queue.begin());
  {
    const Replaced<PFN_vkQueueSubmit2> broken(vkQueueSubmit2, submit_lost);
    sg::Slot& slot = o.queue.begin();
    CHECK_THROWS_AS(o.queue.submit(slot), sg::DeviceLostError);
  }
  CHECK_FALSE(o.queue.usable());
  CHECK_THROWS_AS(o.queue.check("run"), sg::DeviceLostError);
  CHECK_FALSE(o.queue.wait_quietly(o.queue.submitted(), std::chrono::milliseconds(10)));
}

TEST_CASE("faults: a counter above what was submitted is a lost device's", "[gpu][faults]") {
  auto& o = *new Opened;
  o.queue.submit(o.queue.begin());
  const Replaced<PFN_vkGetSemaphoreCounterValue> broken(vkGetSemaphoreCounterValue, counter_full);
  CHECK_THROWS_AS(o.queue.wait(o.queue.submitted(), true), sg::DeviceLostError);
  CHECK_FALSE(o.queue.usable());
}

TEST_CASE("faults: a lost device names the kernels that it ran, those that were done not", "[gpu][faults]") {
  auto& o = *new Opened;
  const auto submit = [&](const char* name) {
    return o.queue.submit(o.queue.begin(), {}, std::make_shared<const std::vector<std::string>>(1, name));
  };
  o.queue.wait(submit("done"), false);
  const Replaced<PFN_vkGetSemaphoreCounterValue> broken(vkGetSemaphoreCounterValue, counter_lost);
  try {
    o.queue.wait(submit("under_way"), false);
    FAIL("no DeviceLostError");
  } catch (const sg::DeviceLostError& e) {
    CHECK(std::string(e.what()).find("answered VK_ERROR_DEVICE_LOST while it ran under_way;") != std::string::npos);
  }
}

TEST_CASE("faults: what a driver knows of a loss is said in words", "[faults]") {
  const Replaced<PFN_vkGetDeviceFaultInfoEXT> driver(vkGetDeviceFaultInfoEXT, say);
  said = {};
  CHECK(sg::describe_fault(VK_NULL_HANDLE).empty());
  said.description = "MMU fault";
  CHECK(sg::describe_fault(VK_NULL_HANDLE) == "MMU fault");
  said.addresses = {address(VK_DEVICE_FAULT_ADDRESS_TYPE_WRITE_INVALID_EXT, 0x7f1000001040, 0x1000),
                    address(VK_DEVICE_FAULT_ADDRESS_TYPE_INSTRUCTION_POINTER_FAULT_EXT, 0x40),
                    address(VK_DEVICE_FAULT_ADDRESS_TYPE_NONE_EXT, 0)};
  said.words = {word("engine hung", 0x1f, 7), word("", 2, 0)};
  CHECK(sg::describe_fault(VK_NULL_HANDLE) ==
        "MMU fault, write between 0x7f1000001000 and 0x7f1000001fff, instruction at 0x40, engine hung (code 0x1f, data "
        "0x7), code 0x2, data 0x0");
  said.result = VK_INCOMPLETE;
  CHECK(sg::describe_fault(VK_NULL_HANDLE).starts_with("MMU fault, write between"));
  said.result = VK_ERROR_OUT_OF_HOST_MEMORY;
  CHECK(sg::describe_fault(VK_NULL_HANDLE).empty());
  said = {};
  said.addresses.assign(9, address(VK_DEVICE_FAULT_ADDRESS_TYPE_READ_INVALID_EXT, 0x10));
  CHECK(sg::describe_fault(VK_NULL_HANDLE) == "read at 0x10, read at 0x10, read at 0x10, read at 0x10");
}

TEST_CASE("faults: a driver's words are part of the error", "[faults]") {
  sg::Health health("gpu:0");
  health.ask_driver = [] { return std::string("MMU fault, write at 0x1000"); };
  health.note_lost("vkQueueSubmit2 answered VK_ERROR_DEVICE_LOST");
  try {
    health.check("read");
    FAIL("no DeviceLostError");
  } catch (const sg::DeviceLostError& e) {
    CHECK(std::string(e.what()) ==
          "read: gpu:0 was lost, vkQueueSubmit2 answered VK_ERROR_DEVICE_LOST; the driver says: MMU fault, write at "
          "0x1000; its tensors are gone, device.recover() opens it anew");
  }
}

TEST_CASE("faults: transfers go on after a command buffer could not be had", "[gpu][faults]") {
  auto& parts = *new sg_test::Parts;
  const sg::Ref<sg::GpuBuffer> buffer(parts.pool.take(256));
  float there[64] = {1, 2, 3}, back[64] = {};
  {
    const Replaced<PFN_vkAllocateCommandBuffers> broken(vkAllocateCommandBuffers, no_commands);
    CHECK_THROWS_AS(parts.transfer.upload(*buffer, there, sizeof there), sg::OutOfMemoryError);
    CHECK_THROWS_AS(parts.transfer.download(back, *buffer, 0, sizeof back), sg::OutOfMemoryError);
  }
  parts.transfer.upload(*buffer, there, sizeof there);
  parts.transfer.download(back, *buffer, 0, sizeof back);
  CHECK(back[2] == 3);
}

TEST_CASE("faults: a run of several submissions that fails has changed nothing", "[gpu][faults][record]") {
  auto& parts = *new sg_test::Parts;
  const int64_t n = 64;
  auto plan = std::make_shared<sg::Plan>();
  const int32_t x = sg_test::leaf(*plan, n), doubled = sg_test::output(*plan, n, x), out = sg_test::output(*plan, n);
  sg_test::step(*plan, "in_place", sg_test::binary(sg::Code::add, n, x, x, doubled));
  sg_test::step(*plan, "after", sg_test::binary(sg::Code::mul, n, doubled, doubled, out));
  const auto prepared = sg_test::prepared(parts, plan, parts.context.physical.features);
  for (sg::GpuStep& s : prepared->steps) s.cost.flops = INT64_C(1'000'000'000'000);
  const sg::Ref<sg::GpuBuffer> in(parts.pool.take(n * 4)), other(parts.pool.take(n * 4));
  const std::vector<float> threes(n, 3);
  parts.transfer.upload(*in, threes.data(), n * 4);
  const sg::BufferRef leaves[] = {sg::BufferRef(in.get())},
                      outputs[] = {sg::BufferRef(in.get()), sg::BufferRef(other.get())};
  const auto run = [&] { parts.recorder.run(*prepared, {leaves, outputs}); };
  const auto read = [&](sg::GpuBuffer& from) {
    std::vector<float> host(n);
    parts.transfer.download(host.data(), from, 0, n * 4);
    return host;
  };
  {
    const Replaced<PFN_vkAllocateCommandBuffers> broken(vkAllocateCommandBuffers, no_commands);  // for the second part
    CHECK_THROWS_AS(run(), sg::OutOfMemoryError);
  }
  {
    const Replaced<PFN_vkQueueSubmit2> broken(vkQueueSubmit2, submit_refused);
    CHECK_THROWS_AS(run(), sg::OutOfMemoryError);
  }
  CHECK(sg_test::all_equal(read(*in), 3));
  parts.queue.take_count();
  run();
  CHECK(parts.queue.take_count() == 2);
  CHECK(sg_test::all_equal(read(*in), 6));
  CHECK(sg_test::all_equal(read(*other), 36));
}

TEST_CASE("faults: a device that makes no progress is given up", "[gpu][faults]") {
  const WithVariable timeout("SPIROGRAD_TIMEOUT", "0.2");
  auto& o = *new Opened;
  {
    const Replaced<PFN_vkQueueSubmit2> broken(vkQueueSubmit2, submit_swallowed);
    o.queue.submit(o.queue.begin());
  }
  const auto start = std::chrono::steady_clock::now();
  CHECK_THROWS_AS(o.queue.wait(o.queue.submitted(), true), sg::DeviceTimeoutError);
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(2));
  CHECK_THROWS_AS(o.queue.check("run"), sg::DeviceTimeoutError);
  CHECK_THROWS_AS(o.queue.wait(o.queue.submitted(), true), sg::DeviceTimeoutError);
}

TEST_CASE("faults: a wait can be interrupted, and waited for again", "[gpu][faults]") {
  const WithVariable timeout("SPIROGRAD_TIMEOUT", "30");
  auto& o = *new Opened;
  {
    const Replaced<PFN_vkQueueSubmit2> broken(vkQueueSubmit2, submit_swallowed);
    o.queue.submit(o.queue.begin());
  }
  struct Interrupting final : sg::Host {
    void check_interrupts() override { throw sg::ValueError("interrupted"); }
  };
  static Interrupting interrupting;
  sg::Host& before = sg::install(interrupting);
  const auto start = std::chrono::steady_clock::now();
  CHECK_THROWS_AS(o.queue.wait(o.queue.submitted(), true), sg::ValueError);
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::milliseconds(500));
  sg::install(before);
  CHECK(o.queue.usable());
}

TEST_CASE("faults: out of memory frees the cache, tries again, then tells the numbers", "[gpu][faults]") {
  auto& o = *new Opened;
  sg::BufferRef kept(o.pool.take(1 << 20));
  sg::BufferRef(o.pool.take(3 << 20));  // into the cache
  {
    const Replaced<PFN_vkAllocateMemory> broken(vkAllocateMemory, no_memory);
    try {
      o.pool.take(size_t{300} << 20);
      FAIL("no OutOfMemoryError");
    } catch (const sg::OutOfMemoryError& e) {
      const std::string text = e.what();
      INFO(text);
      CHECK(text.find("asked 314572800 bytes, live 1048576, cached 0, budget") != std::string::npos);
    }
  }
  CHECK(o.pool.read_counters().cached == 0);
  CHECK_NOTHROW(sg::BufferRef(o.pool.take(size_t{30} << 20)));
}

TEST_CASE("faults: SPIROGRAD_MEMORY_LIMIT is kept, with the cache given up first", "[gpu][faults]") {
  const WithVariable limit("SPIROGRAD_MEMORY_LIMIT", "8388608");
  auto& o = *new Opened;
  CHECK(o.pool.budget() == 8388608);
  sg::BufferRef(o.pool.take(6 << 20));
  const sg::BufferRef small(o.pool.take(1 << 20));
  CHECK_NOTHROW(sg::BufferRef(o.pool.take(7 << 20)));  // only without the cached 6 MiB
  CHECK_THROWS_AS(o.pool.take(8 << 20), sg::OutOfMemoryError);
}

TEST_CASE("faults: an upload gets memory that no work in flight uses, as long as there is some", "[gpu][faults]") {
  const WithVariable limit("SPIROGRAD_MEMORY_LIMIT", std::to_string(10 << 20).c_str());
  auto& o = *new Opened;
  auto& pool = *new sg::BufferPool(o.context, o.queue, &o.queue);
  sg::GpuBuffer* used = pool.take(4 << 20);
  {
    const Replaced<PFN_vkQueueSubmit2> broken(vkQueueSubmit2, submit_swallowed);
    o.queue.submit(o.queue.begin());  // in flight for ever
  }
  used->recycle();
  sg::GpuBuffer* sent = pool.take(4 << 20, sg::BufferPool::Use::upload);
  CHECK(sent != used);
  CHECK(pool.take(4 << 20) == used);
  used->recycle();
  CHECK(pool.take(4 << 20, sg::BufferPool::Use::upload) == used);  // a third one is beyond the limit
}

TEST_CASE("faults: validation reports a deliberate mistake", "[gpu][validation-canary]") {
  if (sg::validation_mode() != sg::Validation::core) SKIP("needs SPIROGRAD_VALIDATION=core");
  auto& o = *new Opened;
  sg::HostBuffer b = make_host_buffer(o.context, 256, sg::HostUse::staging);
  sg::Slot& slot = o.queue.begin();
  const VkBufferCopy beyond{0, 128, 4096};
  const int before = sg::validation_messages();
  vkCmdCopyBuffer(slot.commands, b.handle, b.handle, 1, &beyond);  // recorded, never submitted
  CHECK(sg::validation_messages() > before);
  sg_test::expected_messages += sg::validation_messages() - before;
  CHECK_THROWS_AS(o.queue.check("run"), sg::Error);
  CHECK_NOTHROW(o.queue.check("run"));
}
