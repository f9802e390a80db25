// Files of the kernel cache: written whole or not at all, checked when read, in a folder that only the user can write
// to. Nothing here is an error: a kernel that is not found is compiled again.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "base/host.hpp"
#include "base/log.hpp"
#include "device/gpu/pipeline/compiler.hpp"

namespace sg {
namespace {

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
  if (const std::string xdg = env("XDG_CACHE_HOME"); xdg.starts_with('/')) return xdg + "/spirograd";
  const std::string home = env("HOME");
  return home.empty() ? "" : home + "/.cache/spirograd";
}

// Makes the folder with mode 0700; empty if it cannot be used. Nobody else may write to it, because a file in it
// becomes code on the GPU.
std::string open_folder(const std::string& folder) {
  if (folder.empty()) return "";
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(folder).parent_path(), error);
  if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
    warn_once("kernel cache: " + folder + " cannot be made (" + std::strerror(errno) +
              "); set SPIROGRAD_CACHE to a folder, or to 0");
    return "";
  }
  struct stat facts;
  if (stat(folder.c_str(), &facts) != 0 || !S_ISDIR(facts.st_mode) || facts.st_uid != geteuid() ||
      (facts.st_mode & 022)) {
    warn_once("kernel cache: " + folder +
              " is not a folder that only this user can write; set SPIROGRAD_CACHE to one, or to 0");
    return "";
  }
  return folder;
}

std::string file_of(const std::string& folder, const std::string& key) {
  const Hash h = hash(key.data(), key.size());
  char name[48];
  std::snprintf(name, sizeof name, "/%016llx%016llx.bin", static_cast<unsigned long long>(h.high),
                static_cast<unsigned long long>(h.low));
  return folder + name;
}

// Reads a whole file; false: there is none.
bool read_file(const std::string& path, std::vector<uint8_t>& bytes) {
  std::FILE* f = std::fopen(path.c_str(), "rb");
  if (!f) return false;
  uint8_t chunk[65536];
  for (size_t n; (n = std::fread(chunk, 1, sizeof chunk, f)) > 0;) bytes.insert(bytes.end(), chunk, chunk + n);
  std::fclose(f);
  return true;
}

bool write_all(int fd, const void* bytes, size_t size) {
  const auto* p = static_cast<const char*>(bytes);
  while (size > 0) {
    const ssize_t n = write(fd, p, size);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    p += n;
    size -= static_cast<size_t>(n);
  }
  return true;
}

Hash checksum(const std::string& key, const void* data, size_t size) {
  return hash(data, size, hash(key.data(), key.size()));
}

}  // namespace

DiskCache::DiskCache() {
  try {
    const std::string wanted = env("SPIROGRAD_CACHE");
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
    if (folder_.empty() || !read_file(file_of(folder_, key), bytes)) return {};
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
    return {body + key.size(), body + rest};
  } catch (const std::exception&) {
    return {};
  }
}

void DiskCache::save(const std::string& key, const void* bytes, size_t size) const {
  try {
    if (folder_.empty()) return;
    static std::atomic<uint64_t> counter{0};
    const std::string path = file_of(folder_, key);
    const std::string temporary = path + "." + std::to_string(getpid()) + "." + std::to_string(counter++) + ".tmp";
    Header h{};
    std::memcpy(h.magic, kMagic, sizeof kMagic);
    h.version = kVersion;
    h.key_bytes = key.size();
    h.data_bytes = size;
    h.checksum = checksum(key, bytes, size);
    const int fd = open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    bool written =
        fd >= 0 && write_all(fd, &h, sizeof h) && write_all(fd, key.data(), key.size()) && write_all(fd, bytes, size);
    if (fd >= 0) written = close(fd) == 0 && written;
    if (written && std::rename(temporary.c_str(), path.c_str()) == 0) return;
    const int reason = errno;
    if (fd >= 0) unlink(temporary.c_str());
    warn_once("kernel cache: cannot write " + path + " (" + std::strerror(reason) +
              "); kernels are compiled again next time");
  } catch (const std::exception&) {
  }
}

}  // namespace sg
