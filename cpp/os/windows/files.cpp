// Files on Windows. The rights on a folder in the user's profile are the profile's.
#include "os/files.hpp"

#include <windows.h>

#include <atomic>
#include <filesystem>

#include "os/process.hpp"
#include "os/windows/text.hpp"

namespace sg::os {
namespace {

struct File {
  HANDLE handle;
  ~File() {
    if (handle != INVALID_HANDLE_VALUE) CloseHandle(handle);
  }
};

constexpr size_t kPiece = size_t(1) << 30;  // sizes of calls have 32 bits

bool write_all(HANDLE file, const void* bytes, size_t size) {
  const auto* p = static_cast<const char*>(bytes);
  while (size > 0) {
    DWORD n = 0;
    if (!WriteFile(file, p, static_cast<DWORD>(size < kPiece ? size : kPiece), &n, nullptr) || n == 0) return false;
    p += n;
    size -= n;
  }
  return true;
}

}  // namespace

std::string home_folder() { return variable("USERPROFILE"); }
std::string cache_folder() { return variable("LOCALAPPDATA"); }

Folder make_private_folder(const std::string& path, std::string& why) {
  std::error_code error;
  const std::filesystem::path folder(wide(path));
  std::filesystem::create_directories(folder, error);
  if (std::filesystem::is_directory(folder, error)) return Folder::ready;
  why = error ? error.message() : "it is a file";
  return Folder::cannot_be_made;
}

bool may_read_and_write(const std::string& path) {
  const File file{CreateFileW(wide(path).c_str(), GENERIC_READ | GENERIC_WRITE,
                              FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, nullptr, OPEN_EXISTING, 0,
                              nullptr)};
  return file.handle != INVALID_HANDLE_VALUE;
}

bool read_file(const std::string& path, std::vector<uint8_t>& bytes) {
  const File file{CreateFileW(wide(path).c_str(), GENERIC_READ, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE,
                              nullptr, OPEN_EXISTING, 0, nullptr)};
  if (file.handle == INVALID_HANDLE_VALUE) return false;
  uint8_t chunk[65536];
  for (DWORD n = 0; ReadFile(file.handle, chunk, sizeof chunk, &n, nullptr) && n > 0;)
    bytes.insert(bytes.end(), chunk, chunk + n);
  return true;
}

bool replace_file(const std::string& path, std::initializer_list<FilePiece> pieces, std::string& why) {
  static std::atomic<uint64_t> counter{0};
  const std::wstring to = wide(path);
  const std::wstring temporary =
      wide(path + "." + std::to_string(process_id()) + "." + std::to_string(counter++) + ".tmp");
  bool written = false;
  {
    const File file{CreateFileW(temporary.c_str(), GENERIC_WRITE, 0, nullptr, CREATE_NEW, 0, nullptr)};
    written = file.handle != INVALID_HANDLE_VALUE;
    if (!written) {
      why = last_error();
      return false;
    }
    for (const FilePiece& piece : pieces) written = written && write_all(file.handle, piece.bytes, piece.size);
    if (!written) why = last_error();
  }
  if (written) {
    if (MoveFileExW(temporary.c_str(), to.c_str(), MOVEFILE_REPLACE_EXISTING)) return true;
    why = last_error();
  }
  DeleteFileW(temporary.c_str());
  return false;
}

}  // namespace sg::os
