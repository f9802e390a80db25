// Python as the engine's host (base/host.hpp): the line that runs, the GIL, Ctrl-C in long waits, warnings; and fork.
#pragma once

namespace sg::bind {

void install_host();  // once, when the module is made

}  // namespace sg::bind
