// Which dimensions of a Program blocks run along, which go to threads: fills the dimensions and views of an Executable.
#pragma once
#include "device/cpu/executable.hpp"

namespace sg::cpu {

// Returns whether a block runs across rows. `tile`: the last dimension alone becomes the lanes.
bool choose_axes(const Program& p, bool tile, Executable& e);

}  // namespace sg::cpu
