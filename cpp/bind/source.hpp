// The line of Python that is running, outside of this package: what base/where.hpp asks for.
// Threads: any; without the GIL there is no line.
#pragma once
#include "base/where.hpp"

namespace sg::bind {

Where running_line();

}  // namespace sg::bind
