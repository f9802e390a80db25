// Files of the kernel cache: written whole or not at all, checked when read, in a folder that only the user can write
// to. Nothing here is an error: a kernel that is not found is compiled again.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "base/host.hpp"
#include "base/log.hpp"
#include "device/gpu/pipeline/compiler.hpp"
#include "os/files.hpp"

namespace sg {
namespace {

using FileTime = std::filesystem::file_time_type;
constexpr char kMagic[8] = {'s', 'p', 'i', 'r', 'o', 'g', 'r', 'd'};
constexpr uint32_t kVersion = 1;

struct Hash {
  uint64_t low, high;
  bool operator==(const Hash&) const = default;
};

struct Header {
  char magic[8];
  uint32_t version, reserved;
  uint64_t key_bytes, data_bytes;
  Hash checksum;  // of key and data
};
static_assert(sizeof(Header) == 48);

uint64_t mix(uint64_t x) {
  x ^= x >> 31;
  x *= 0x9e3779b97f4a7c15u;
  x ^= x >> 29;
  x *= 0xd1b54a32d192ed03u;
  return x ^ (x >> 32);
}

// A checksum in two lanes of 8-byte words, each multiplied by an odd constant and mixed. It finds damage and accidents,
// not attacks.
Hash hash(const void* bytes, size_t size, Hash h = {0x243f6a8885a308d3u, 0x13198a2e03707344u}) {
  const auto* p = static_cast<const unsigned char*>(bytes);
  h.low ^= size;
  for (size_t at = 0; at < size; at += 8) {
    uint64_t word = 0;
    std::memcpy(&word, p + at, size - at < 8 ? size - at : 8);
    h.low = mix(h.low ^ word);
    h.high = mix(h.high + word * 0xff51afd7ed558ccdu) ^ h.low;
  }
  return h;
}

void warn_once(const std::string& message) {
  static std::atomic<bool> warned{false};
  if (!warned.exchange(true)) host().warn_of_cache(message);
}

std::string default_folder() {
  const std::string folder = os::cache_folder();
  return folder.empty() ? "" : folder + "/spirograd";
}

// Empty if the folder cannot be used. Nobody else may write to it, because a file in it becomes code on the GPU.
std::string open_folder(const std::string& folder) {
  if (folder.empty()) return "";
  std::string why;
  switch (os::make_private_folder(folder, why)) {
    case os::Folder::ready:
      return folder;
    case os::Folder::cannot_be_made:
      warn_once("kernel cache: " + folder + " cannot be made (" + why + "); set SPIROGRAD_CACHE to a folder, or to 0");
      return "";
    case os::Folder::open_to_others:
      break;
  }
  warn_once("kernel cache: " + folder +
            " is not a folder that only this user can write; set SPIROGRAD_CACHE to one, or to 0");
  return "";
}

std::filesystem::path named(const std::string& utf8) { return {std::u8string(utf8.begin(), utf8.end())}; }

// 32 digits and ".bin"; also with what follows while it is written. Data sets may lie in the same folder.
bool is_kernel(const std::string& name) {
  return name.size() >= 36 && name.find_first_not_of("0123456789abcdef") == 32 && name.compare(32, 4, ".bin") == 0;
}

std::string file_of(const std::string& folder, const std::string& key) {
  const Hash h = hash(key.data(), key.size());
  char name[48];
  std::snprintf(name, sizeof name, "/%016llx%016llx.bin", static_cast<unsigned long long>(h.high),
                static_cast<unsigned long long>(h.low));
  return folder + name;
}

Hash checksum(const std::string& key, const void* data, size_t size) {
  return hash(data, size, hash(key.data(), key.size()));
}

}  // namespace

DiskCache::DiskCache() {
  try {
    const std::string wanted = env("SPIROGRAD_CACHE");
    limit_ = static_cast<uint64_t>(env_bytes("SPIROGRAD_CACHE_LIMIT"));
    if (wanted != "0") folder_ = open_folder(wanted.empty() ? default_folder() : wanted);
  } catch (const std::exception& e) {
    folder_.clear();
    warn_once(std::string("kernel cache: off (") + e.what() + ")");
  }
}

DiskCache& DiskCache::instance() {
  static DiskCache& cache = *new DiskCache;  // never destroyed: devices save their pipelines at exit
  return cache;
}

std::vector<uint8_t> DiskCache::load(const std::string& key) const {
  try {
    std::vector<uint8_t> bytes;
    if (folder_.empty() || !os::read_file(file_of(folder_, key), bytes)) return {};
    Header h;
    const bool whole = bytes.size() >= sizeof h;
    if (whole) std::memcpy(&h, bytes.data(), sizeof h);
    const size_t rest = whole ? bytes.size() - sizeof h : 0;
    const uint8_t* body = bytes.data() + sizeof h;
    const bool sound = whole && !std::memcmp(h.magic, kMagic, sizeof kMagic) && h.version == kVersion &&
                       h.key_bytes <= rest && h.data_bytes == rest - h.key_bytes && h.key_bytes == key.size() &&
                       !std::memcmp(body, key.data(), key.size()) &&
                       h.checksum == checksum(key, body + key.size(), h.data_bytes);
    if (!sound) {
      warn_once("kernel cache: " + file_of(folder_, key) + " is damaged or foreign and is not used; delete it");
      return {};
    }
    std::error_code ignored;
    std::filesystem::last_write_time(named(file_of(folder_, key)), FileTime::clock::now(), ignored);
    return {body + key.size(), body + rest};
  } catch (const std::exception&) {
    return {};
  }
}

// Looks through the folder with the first kernel of a process, and then with every sixteenth of the limit.
void DiskCache::make_room(size_t added) {
  const uint64_t sum = added_ += added;
  uint64_t next = next_scan_;
  if (!limit_ || sum <= next || !next_scan_.compare_exchange_strong(next, sum + limit_ / 16)) return;
  struct File {
    FileTime time;
    uint64_t bytes;
    std::filesystem::path path;
  };
  std::vector<File> files;
  uint64_t total = 0;
  std::error_code error;  // files may vanish meanwhile
  for (std::filesystem::directory_iterator f(named(folder_), error), end; !error && f != end; f.increment(error)) {
    std::error_code gone;
    if (!f->is_regular_file(gone) || !is_kernel(f->path().filename().string())) continue;
    const uint64_t bytes = f->file_size(gone);
    const FileTime time = f->last_write_time(gone);
    if (gone) continue;
    total += bytes;
    files.push_back({time, bytes, f->path()});
  }
  if (total <= limit_) return;
  std::sort(files.begin(), files.end(), [](const File& a, const File& b) { return a.time < b.time; });
  for (const File& f : files) {
    if (total <= limit_ - limit_ / 8) break;  // room for a while
    if (std::filesystem::remove(f.path, error)) total -= f.bytes;
  }
}

void DiskCache::save(const std::string& key, const void* bytes, size_t size) {
  try {
    if (folder_.empty()) return;
    const std::string path = file_of(folder_, key);
    Header h{};
    std::memcpy(h.magic, kMagic, sizeof kMagic);
    h.version = kVersion;
    h.key_bytes = key.size();
    h.data_bytes = size;
    h.checksum = checksum(key, bytes, size);
    std::string why;
    if (os::replace_file(path, {{&h, sizeof h}, {key.data(), key.size()}, {bytes, size}}, why))
      return make_room(sizeof h + key.size() + size);
    warn_once("kernel cache: cannot write " + path + " (" + why + "); kernels are compiled again next time");
  } catch (const std::exception&) {
  }
}

}  // namespace sg
