// Every exception of the engine, and the one way to word a message.
// A message is one line: "op: what is wrong, with the values; what to do".
// Who may throw: anything but destructors. The binding maps each type to a Python class of the same name.
#pragma once
#include <stdexcept>
#include <string>

namespace sg {

// Invalid arguments. Python sees ValueError, TypeError, IndexError.
struct ValueError : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};
struct TypeError : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};
struct IndexError : std::out_of_range {
  using std::out_of_range::out_of_range;
};

// What comes from a device.
struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};
struct OutOfMemoryError : Error {
  using Error::Error;
};
struct DeviceLostError : Error {
  using Error::Error;
};
struct DeviceTimeoutError : Error {
  using Error::Error;
};
struct DeviceUnavailableError : Error {
  using Error::Error;
};
struct LimitError : Error {
  using Error::Error;
};
struct KernelCompileError : Error {
  using Error::Error;
};
struct ForkError : Error {
  using Error::Error;
};
struct DistributedError : Error {
  using Error::Error;
};
// A wrong plan, found under SPIROGRAD_BOUNDS=1: other errors of a run are worked around where possible, this one is not.
struct CheckError : Error {
  using Error::Error;
};

template <class E>
[[noreturn]] void fail(const std::string& op, const std::string& what, const std::string& remedy = "") {
  throw E(op + ": " + what + (remedy.empty() ? "" : "; " + remedy));
}

}  // namespace sg
