// A log that is run in pieces, one after the other. For engine/ only. Threads: under the engine lock.
#pragma once
#include <cstdint>
#include <vector>

#include "engine/rescue.hpp"

namespace sg {

// `cuts`: the first node of each piece but the first. `held`: nodes that are wanted afterwards. When a run throws, the log
// holds what was not done.
void run_in_pieces(Log& log, const std::vector<int32_t>& cuts, const std::vector<bool>& held, RunLog run);

}  // namespace sg
