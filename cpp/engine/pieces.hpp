// Runs a log in pieces, one after the other. For engine/ only. Threads: under the engine lock.
#pragma once
#include <cstdint>
#include <vector>

#include "engine/rescue.hpp"

namespace sg {

// `cuts`: the first node of each piece but the first. `held`: which nodes are needed afterwards. If a run throws, the
// log keeps what has not run.
void run_in_pieces(Log& log, const std::vector<int32_t>& cuts, const std::vector<bool>& held, RunLog run);

}  // namespace sg
