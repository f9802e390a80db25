// The grid of attention: which rows of which head a workgroup owns. Included behind
//   void attend(uint first)
// The tiles with most to do come first: the last queries, the first keys.
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
  const uint owner = work / blocks;
  batch = owner / each;
  head = owner % each;
  if (batch >= uint(word(0))) return;
#ifdef POWERS_AT
  if (is_split() != (SPLIT == 1)) return;
#endif
#ifdef KEYS
  attend(work % blocks * ROWS);
#else
  attend((blocks - 1 - work % blocks) * ROWS);
#endif
}
