// Owns the tiles of products on matrix units, and what they share. Knows neither shaders nor layouts.
#include "kernel/matrix_tiles.hpp"

#include <algorithm>

#include "base/round.hpp"

namespace sg {
namespace {

using Path = MatrixUnits::Path;

// What a processor needs for a tile on the path cm2, in microseconds: to begin and to end, and for each step of one along
// k. An H100; docs/decisions/025-halves-on-matrix-units.md.
struct TimedTile {
  MatrixTile tile;
  double ends, step;
};
constexpr TimedTile kWorkgroupTiles[] = {{{128, 256, kWorkgroupStep, 256}, 11, 0.029},
                                         {{128, 192, kWorkgroupStep, 256}, 8.5, 0.0195},
                                         {{128, 128, kWorkgroupStep, 256}, 9.7, 0.014},
                                         {{64, 64, kWorkgroupStep, 256}, 1.5, 0.0062}};

int64_t count(const MatrixTile& t, const MatrixProblem& p) {
  return divide_up(p.m, int64_t{t.m}) * divide_up(p.n, int64_t{t.n}) * p.batch;
}

// What product_cm1.glsl shares: both operands, rows eight elements longer than the tile, a fragment a subgroup, and how
// far operands walk.
int64_t shared_bytes(const MatrixTile& t, const MatrixProblem& p, uint32_t subgroups) {
  const auto operand = [&](uint32_t side, bool along_k) {
    const uint32_t fast = along_k ? t.k : side;
    return std::max(1, p.planes) * int64_t{side * t.k / fast * (fast / 8 + 1) * 16};
  };
  const int64_t walks = p.walks ? 8 * (t.m + t.n + 4 * t.k) : 0;
  return operand(t.m, p.a_along_k) + operand(t.n, p.b_along_k) + subgroups * p.units.m * p.units.n * 4 + walks;
}

bool fits(const MatrixTile& t, const MatrixProblem& p, const Features& f) {
  const MatrixUnits& u = p.units;
  if (t.threads > f.max_group_threads || t.m % u.m || t.n % u.n || t.k % u.k) return false;
  if (p.planes == 2 && int64_t{t.m} * t.n > f.tiles->most_of_two_sums) return false;
  if (u.path == Path::cm2) return true;
  const uint32_t subgroups = t.threads / f.subgroup, rows = rows_of_subgroups(subgroups);
  return t.m % (rows * u.m) == 0 && t.n % (subgroups / rows * u.n) == 0 &&
         shared_bytes(t, p, subgroups) <= std::min(f.shared_bytes, f.tiles->shared_bytes);
}

// A tile at an edge waits for its loads, which end at it: it takes as long as three more rounds.
double cost(const TimedTile& t, const MatrixProblem& p, const Features& f) {
  const bool edges = p.m % t.tile.m || p.n % t.tile.n;
  const int64_t rounds = divide_up(count(t.tile, p), f.tiles->processors) + (edges ? 3 : 0);
  return static_cast<double>(rounds) * (t.ends + t.step * static_cast<double>(p.k));
}

const MatrixTile* quickest(const MatrixProblem& p, const Features& f) {
  const TimedTile* best = nullptr;
  for (const TimedTile& t : kWorkgroupTiles)
    if (fits(t.tile, p, f) && (!best || cost(t, p, f) < cost(*best, p, f))) best = &t;
  return best ? &best->tile : nullptr;
}

constexpr uint32_t kGathering = 256;  // threads, at least, for operands that walk

// The largest that leaves work for every processor, else the smallest.
const MatrixTile* largest(const MatrixProblem& p, const Features& f) {
  const MatrixTile* tile = nullptr;
  for (const MatrixTile& t : f.tiles->fragments) {
    if (!fits(t, p, f) || (p.walks && t.threads < kGathering)) continue;
    tile = &t;
    if (count(t, p) >= f.tiles->processors) break;
  }
  return tile;
}

}  // namespace

uint32_t rows_of_subgroups(uint32_t subgroups) {
  uint32_t rows = 1;
  while (rows * rows * 2 < subgroups) rows *= 2;
  return rows;
}

const MatrixTile* choose_matrix_tile(const MatrixProblem& p, const Features& f) {
  if (p.units.path == Path::none || (p.units.path == Path::cm1 && !f.subgroup)) return nullptr;
  return p.units.path == Path::cm2 ? quickest(p, f) : largest(p, f);
}

}  // namespace sg
