// The grid of a product: which tile a workgroup computes. Included behind
//   void tile(uint batch, uint m0, uint n0)
// Tiles in groups of eight rows: workgroups that run together then share operands in the cache.
void main() {
  const uint tiles_m = (uint(size_m) + kTileM - 1) / kTileM, tiles_n = (COLUMNS + kTileN - 1) / kTileN;
  const uint each = tiles_m * tiles_n, all = each * GROUPS;
  for (uint work = gl_WorkGroupID.x; work < all; work += gl_NumWorkGroups.x) {
    const uint t = work % each, strip = t / (8 * tiles_n), inside = t % (8 * tiles_n);
    const uint height = min(tiles_m - strip * 8, 8);
    tile(work / each, (strip * 8 + inside % height) * kTileM, inside / height * kTileN);
  }
#ifdef REPORTS
  REPORTS
#endif
}
