// Files and folders, named in UTF-8. Nothing here throws but std::bad_alloc.
// Threads: any.
#pragma once
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

namespace sg::os {

constexpr char kListSeparator =  // between the paths of a variable
#if defined(_WIN32)
    ';';
#else
    ':';
#endif

std::string cache_folder();  // the user's, for all programs; empty if there is none
std::string home_folder();

// Makes the folder, and those above it. Where the system knows rights of users, nobody else may write to it.
enum class Folder { ready, cannot_be_made, open_to_others };
Folder make_private_folder(const std::string& path, std::string& why);

bool may_read_and_write(const std::string& path);

bool read_file(const std::string& path, std::vector<uint8_t>& bytes);  // false: there is none

// Writes the pieces one after the other to a new file, which then takes the name `path`, and the place of a file of this
// name: a reader sees all of the old file or all of the new one. false, and the reason in `why`.
struct FilePiece {
  const void* bytes;
  size_t size;
};
bool replace_file(const std::string& path, std::initializer_list<FilePiece> pieces, std::string& why);

}  // namespace sg::os
