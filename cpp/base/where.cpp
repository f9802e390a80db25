// The line that runs is that of the innermost WhereScope of this thread, or the host's. Knows no Python.
#include "base/where.hpp"

#include "base/host.hpp"

namespace sg {
namespace {
thread_local const Where* outer = nullptr;
}  // namespace

std::string at(const Where& where) { return where ? " at " + where.str() : std::string(); }

Where where() {
  if (Where line = host().line()) return line;
  return outer ? *outer : Where();
}

WhereScope::WhereScope(const Where& where) : before_(outer) { outer = &where; }
WhereScope::~WhereScope() { outer = before_; }

}  // namespace sg
