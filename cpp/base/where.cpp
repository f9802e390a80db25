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
