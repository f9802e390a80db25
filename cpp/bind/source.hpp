// The line of Python that is running, outside of this package: what base/source_location.hpp asks for.
// Threads: any; without the GIL there is no line.
#pragma once
#include "base/source_location.hpp"

namespace sg::bind {

SourceLocation running_line();
// A UserWarning that shows this line, once for each. The GIL is held.
void warn_at_line(const std::string& message);

}  // namespace sg::bind
