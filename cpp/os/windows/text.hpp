// Text between UTF-8, which the rest of the library uses, and the UTF-16 of Windows. Included by os/windows alone.
#pragma once
#include <windows.h>

#include <string>

namespace sg::os {

inline std::wstring wide(const std::string& text) {
  const int from = static_cast<int>(text.size());
  std::wstring out(static_cast<size_t>(MultiByteToWideChar(CP_UTF8, 0, text.data(), from, nullptr, 0)), L'\0');
  MultiByteToWideChar(CP_UTF8, 0, text.data(), from, out.data(), static_cast<int>(out.size()));
  return out;
}

inline std::string narrow(const std::wstring& text) {
  const int from = static_cast<int>(text.size());
  const int bytes = WideCharToMultiByte(CP_UTF8, 0, text.data(), from, nullptr, 0, nullptr, nullptr);
  std::string out(static_cast<size_t>(bytes), '\0');
  WideCharToMultiByte(CP_UTF8, 0, text.data(), from, out.data(), bytes, nullptr, nullptr);
  return out;
}

// What GetLastError() means, without the line's end.
inline std::string last_error() {
  wchar_t text[256];
  const DWORD code = GetLastError();
  DWORD size = FormatMessageW(FORMAT_MESSAGE_FROM_SYSTEM | FORMAT_MESSAGE_IGNORE_INSERTS, nullptr, code, 0, text,
                              sizeof text / sizeof *text, nullptr);
  while (size > 0 && (text[size - 1] == L'\n' || text[size - 1] == L'\r' || text[size - 1] == L'.')) --size;
  return size > 0 ? narrow({text, size}) : "error " + std::to_string(code);
}

}  // namespace sg::os
