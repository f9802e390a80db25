// Owns the stand-in kernels and their descriptor sets. Used by tests only; knows no real kernel.
#include "device/gpu/record/proxy.hpp"

#include <algorithm>

#include "device/gpu/driver/check.hpp"
#include "device/gpu/pipeline/compiler.hpp"

namespace sg {
namespace {

// Generated here, because the number of bindings depends on the plan: validation looks at declared bindings, so each
// must be declared and used.
std::string proxy_source(size_t reads, size_t writes) {
  std::string s = "#version 460\nlayout(local_size_x = 1) in;\n", body = "  uint sum = 1u;\n";
  for (size_t i = 0; i < reads + writes; ++i) {
    const std::string n = std::to_string(i);
    const bool read = i < reads;
    s += "layout(set = 0, binding = " + n + ", std430) " + (read ? "readonly" : "writeonly") + " buffer B" + n +
         " { uint b" + n + "[]; };\n";
    body += read ? "  sum += b" + n + "[0];\n" : "  b" + n + "[0] = sum;\n";
  }
  return s + "void main() {\n" + body + "}\n";
}

}  // namespace

const ProxyKernel& Proxy::kernel(size_t reads, size_t writes) {
  const auto key = std::make_pair(reads, writes);
  if (const auto it = kernels_.find(key); it != kernels_.end()) return it->second;
  ProxyKernel k;
  std::vector<VkDescriptorSetLayoutBinding> bindings(reads + writes);
  for (uint32_t i = 0; i < bindings.size(); ++i)
    bindings[i] = {i, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT, nullptr};
  VkDescriptorSetLayoutCreateInfo set{};
  set.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO;
  set.bindingCount = static_cast<uint32_t>(bindings.size());
  set.pBindings = bindings.data();
  vk_check(vkCreateDescriptorSetLayout(context_.device, &set, nullptr, &k.set), "vkCreateDescriptorSetLayout");
  VkPipelineLayoutCreateInfo layout{};
  layout.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO;
  layout.setLayoutCount = 1;
  layout.pSetLayouts = &k.set;
  vk_check(vkCreatePipelineLayout(context_.device, &layout, nullptr, &k.layout), "vkCreatePipelineLayout");
  const std::string name = "proxy_" + std::to_string(reads) + "_" + std::to_string(writes);
  k.pipeline = pipelines_.create(name, compile_glsl(name, proxy_source(reads, writes)), {}, k.layout);
  return kernels_.emplace(key, k).first->second;
}

VkDescriptorSet Proxy::allocate_set(Slot& slot, const ProxyKernel& kernel) const {
  if (!slot.descriptors) {
    const VkDescriptorPoolSize size{VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1 << 16};
    VkDescriptorPoolCreateInfo pool{};
    pool.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO;
    pool.maxSets = 1 << 13;
    pool.poolSizeCount = 1;
    pool.pPoolSizes = &size;
    vk_check(vkCreateDescriptorPool(context_.device, &pool, nullptr, &slot.descriptors), "vkCreateDescriptorPool");
  }
  VkDescriptorSetAllocateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO;
  info.descriptorPool = slot.descriptors;
  info.descriptorSetCount = 1;
  info.pSetLayouts = &kernel.set;
  VkDescriptorSet set = VK_NULL_HANDLE;
  vk_check(vkAllocateDescriptorSets(context_.device, &info, &set), "vkAllocateDescriptorSets");
  return set;
}

void Proxy::record(Slot& slot, const ProxyKernel& kernel, const std::vector<BufferRange>& reads,
                   const std::vector<BufferRange>& writes) const {
  const VkDescriptorSet set = allocate_set(slot, kernel);
  std::vector<VkDescriptorBufferInfo> buffers;
  for (const auto* ranges : {&reads, &writes})
    for (const BufferRange& r : *ranges) {
      const uint64_t at = r.offset / context_.physical.storage_alignment * context_.physical.storage_alignment;
      const uint64_t bytes = std::max<uint64_t>((r.bytes + r.offset - at + 3) / 4 * 4, 4);
      buffers.push_back({r.handle, at, std::min<uint64_t>(bytes, context_.physical.storage_range)});
    }
  std::vector<VkWriteDescriptorSet> updates(buffers.size());
  for (uint32_t i = 0; i < updates.size(); ++i) {
    updates[i].sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET;
    updates[i].dstSet = set;
    updates[i].dstBinding = i;
    updates[i].descriptorCount = 1;
    updates[i].descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
    updates[i].pBufferInfo = &buffers[i];
  }
  vkUpdateDescriptorSets(context_.device, static_cast<uint32_t>(updates.size()), updates.data(), 0, nullptr);
  vkCmdBindPipeline(slot.commands, VK_PIPELINE_BIND_POINT_COMPUTE, kernel.pipeline);
  vkCmdBindDescriptorSets(slot.commands, VK_PIPELINE_BIND_POINT_COMPUTE, kernel.layout, 0, 1, &set, 0, nullptr);
  vkCmdDispatch(slot.commands, 1, 1, 1);
}

}  // namespace sg
