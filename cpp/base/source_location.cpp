// The line that runs is that of the innermost SourceScope of this thread, or the host's. Knows no Python.
#include "base/source_location.hpp"

#include "base/host.hpp"

namespace sg {
namespace {
thread_local const SourceLocation* outer = nullptr;
}  // namespace

std::string at(const SourceLocation& location) { return location ? " at " + location.str() : std::string(); }

SourceLocation current_location() {
  if (SourceLocation line = host().line()) return line;
  return outer ? *outer : SourceLocation();
}

SourceScope::SourceScope(const SourceLocation& location) : before_(outer) { outer = &location; }
SourceScope::~SourceScope() { outer = before_; }

}  // namespace sg
