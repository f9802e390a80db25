// Where the engine calls Python back: giving up the GIL under contention, Ctrl-C in long waits, warnings.
// Called once, when the module is made. Threads: the hooks themselves run on any thread.
#pragma once

namespace sg::bind {

void install_hooks();

}  // namespace sg::bind
