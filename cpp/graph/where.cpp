#include "graph/where.hpp"

namespace sg {
namespace {
thread_local const Where* outer = nullptr;
}  // namespace

Where (*where_hook)() = nullptr;

std::string at(const Where& where) { return where ? " at " + where.str() : std::string(); }

Where where() {
  if (where_hook)
    if (Where line = where_hook()) return line;
  return outer ? *outer : Where();
}

WhereScope::WhereScope(const Where& where) : before_(outer) { outer = &where; }
WhereScope::~WhereScope() { outer = before_; }

}  // namespace sg
