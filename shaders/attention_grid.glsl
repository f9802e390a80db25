// The grid of attention: which rows of which head a workgroup owns. Included behind
//   void attend(uint first)
// The tiles with most to do come first: the last queries, the first keys. With TURNS, a workgroup takes that many tiles one
// after the other: few workgroups find out soon that there is nothing to do.
#ifdef POWERS_AT
// Whether this workgroup's matrices are multiplied as halves, and not by attention.glsl.
bool is_split() {
#ifdef KEYS
  const uint own = head;
  bool hold = true;
  for (head = own * serves; head < (own + 1) * serves; ++head) hold = hold && halves_hold();
  head = own;
  return hold;
#else
  return halves_hold();
#endif
}
#endif

void main() {
#ifdef KEYS
  const uint blocks = (keys + ROWS - 1) / ROWS, each = heads / serves;
#else
  const uint blocks = (queries + ROWS - 1) / ROWS, each = heads;
#endif
  uint work = gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x;
#ifdef PART_KEYS
  part = work % parts_of_keys;
  work /= parts_of_keys;
#endif
#ifdef TURNS
  const uint shares = (blocks + TURNS - 1) / TURNS;
#else
  const uint shares = blocks;
#endif
  const uint owner = work / shares, share = work % shares;
  batch = owner / each;
  head = owner % each;
  if (batch >= uint(word(0))) return;
#ifdef POWERS_AT
  if (is_split() != (SPLIT == 1)) return;
#endif
#ifdef TURNS
  for (uint block = share; block < blocks; block += shares) {
    head = owner % each;
#else
  {
    const uint block = share;
#endif
#ifdef KEYS
    attend(block * ROWS);
#else
    attend((blocks - 1 - block) * ROWS);
#endif
  }
}
