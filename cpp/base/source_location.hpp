// Which line of the user's program is running: kept with whatever may have to name it later, made into text only then.
// Called when an op is recorded for gradients, when memory is written in place, and by kernels that may report an
// index. Threads: any. The host knows (base/host.hpp).
#pragma once
#include <atomic>
#include <string>

#include "base/ref.hpp"

namespace sg {

// A piece of a program whose offsets can be turned into lines.
class CodeObject : public RefCounted<CodeObject> {
 public:
  virtual ~CodeObject() = default;
  virtual std::string line(int64_t offset) const = 0;  // "train.py:12"; takes no lock
  static void destroy(CodeObject* s) { delete s; }
};

struct SourceLocation {
  Ref<CodeObject> source;
  int32_t offset = 0;
  explicit operator bool() const { return static_cast<bool>(source); }
  std::string str() const { return source ? source->line(offset) : std::string(); }
};
// " at train.py:12" for messages, or nothing.
std::string at(const SourceLocation& location);

SourceLocation current_location();

// Whether each node keeps the line that recorded it, for tables of plans; others pay nothing. Set once, at the start.
inline std::atomic<bool> keeps_lines{false};
inline SourceLocation kept_location() {
  return keeps_lines.load(std::memory_order_relaxed) ? current_location() : SourceLocation();
}

// Work inside the scope that has no line of its own gets this one: a gradient that of its op.
class SourceScope {
 public:
  explicit SourceScope(const SourceLocation& location);
  ~SourceScope();

 private:
  const SourceLocation* before_;
};

}  // namespace sg
