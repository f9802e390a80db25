// GLSL -> SPIR-V through glslang in the process, with a cache on disk.
// Threads: any. glslang is started on first use; its first parse costs 100 to 400 ms, so a warm cache never starts it.
#pragma once
#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sg {

// KernelCompileError with the GLSL line. `#include "alu.glsl"` finds the embedded shader sources.
std::vector<uint32_t> compile_glsl(const std::string& name, const std::string& source);
// Its parts, for threads that must not call into Python (warnings of the cache do).
std::vector<uint32_t> cached_spirv(const std::string& source);  // empty: not found
std::vector<uint32_t> translate_glsl(const std::string& name, const std::string& source);
void cache_spirv(const std::string& source, const std::vector<uint32_t>& words);
// Embedded at build time from shaders/: SPIR-V of NAME.comp, text of NAME.glsl / NAME.comp. Empty when there is none.
const std::vector<uint32_t>& embedded_spirv(std::string_view name);
std::string_view embedded_source(std::string_view file);

// The cache on disk. A file has a magic number, version, the whole key, the length and a checksum. It is written under
// a temporary name and renamed. Damaged or foreign files are ignored, with one CacheWarning.
// Safe for several processes: a file appears complete or not at all, and is only read if its key is the whole key asked
// for. Losing it costs time alone: beyond SPIROGRAD_CACHE_LIMIT, the files that were read or written longest ago go.
class DiskCache {
 public:
  static DiskCache& instance();
  std::vector<uint8_t> load(const std::string& key) const;  // empty: not found
  void save(const std::string& key, const void* bytes, size_t size);
  const std::string& folder() const { return folder_; }

 private:
  DiskCache();
  void make_room(size_t added);
  std::string folder_;  // empty: off
  uint64_t limit_ = 0;  // bytes; 0: none
  std::atomic<uint64_t> added_{0}, next_scan_{0};
};

}  // namespace sg
