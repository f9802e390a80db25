// Files on Linux and macOS.
#include "os/files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "os/process.hpp"

namespace sg::os {
namespace {

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

}  // namespace

std::string home_folder() { return variable("HOME"); }

std::string cache_folder() {
  if (const std::string xdg = variable("XDG_CACHE_HOME"); xdg.starts_with('/')) return xdg;
  const std::string home = home_folder();
  return home.empty() ? "" : home + "/.cache";
}

Folder make_private_folder(const std::string& path, std::string& why) {
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), error);
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
    why = std::strerror(errno);
    return Folder::cannot_be_made;
  }
  struct stat facts;
  const bool own = stat(path.c_str(), &facts) == 0 && S_ISDIR(facts.st_mode) && facts.st_uid == geteuid();
  return own && !(facts.st_mode & 022) ? Folder::ready : Folder::open_to_others;
}

bool may_read_and_write(const std::string& path) { return access(path.c_str(), R_OK | W_OK) == 0; }

bool read_file(const std::string& path, std::vector<uint8_t>& bytes) {
  std::FILE* f = std::fopen(path.c_str(), "rb");
  if (!f) return false;
  uint8_t chunk[65536];
  for (size_t n; (n = std::fread(chunk, 1, sizeof chunk, f)) > 0;) bytes.insert(bytes.end(), chunk, chunk + n);
  std::fclose(f);
  return true;
}

bool replace_file(const std::string& path, std::initializer_list<FilePiece> pieces, std::string& why) {
  static std::atomic<uint64_t> counter{0};
  const std::string temporary = path + "." + std::to_string(process_id()) + "." + std::to_string(counter++) + ".tmp";
  const int fd = open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  bool written = fd >= 0;
  for (const FilePiece& piece : pieces) written = written && write_all(fd, piece.bytes, piece.size);
  if (fd >= 0) written = close(fd) == 0 && written;
  if (written && std::rename(temporary.c_str(), path.c_str()) == 0) return true;
  why = std::strerror(errno);
  if (fd >= 0) unlink(temporary.c_str());
  return false;
}

}  // namespace sg::os
