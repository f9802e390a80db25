// The k elements of each row that come first in the order, for k far below the length: the k-th key is found digit by
// digit from the top, then all up to it are collected by place. A row has a state: counts of 256 digits, the low and the
// high word of the key so far, how many with that beginning are wanted.
#include "sort.glsl"

struct State {
  int bins[256];
  uint low, high, wanted, pad[5];
};
layout(buffer_reference, scalar, buffer_reference_align = 4) buffer States { State at; };

const uint kChunk = 16384u;
const Offset kStateBytes = Offset(1056);

shared uint counts[256 * 8];

#ifdef START
void main() {
  const Offset row = group();
  if (row >= Offset(word(3))) return;
  States state = States(address_add(tensor(0), row * kStateBytes));
  state.at.bins[thread] = 0;
  if (thread != 0u) return;
  state.at.low = uint(word(6));
  state.at.high = uint(word(7));
  state.at.wanted = uint(word(2));
}
#endif

#ifdef PICK
void main() {
  const Offset row = group();
  if (row >= Offset(word(3))) return;
  States state = States(address_add(tensor(0), row * kStateBytes));
  const uint count = uint(state.at.bins[thread]), wanted = state.at.wanted, shift = uint(word(7));
  uint total;
  const uint before = exclusive(count, total);
  state.at.bins[thread] = 0;
  if (before >= wanted || wanted > before + count) return;
  if (word(6) == 0)
    state.at.low |= thread << shift;
  else
    state.at.high |= thread << shift;
  state.at.wanted = wanted - before;
}
#endif

#ifdef COUNT
void main() {
  const uint n = uint(word(0)), chunks = uint(word(1)), flip = uint(word(4)), invert = uint(word(5));
  const Offset row = group() / chunks;
  if (row >= Offset(word(3))) return;
  const uint first = uint(group() - row * chunks) * kChunk, shift = uint(word(7)), w = uint(word(6));
  States state = States(address_add(tensor(0), row * kStateBytes));
  const uvec2 found = uvec2(state.at.low, state.at.high);
  // What must agree: all bits above this digit.
  const uint above = shift == 24u ? 0u : 0xffffffffu << (shift + 8u);
  const uvec2 same = w == 0u ? uvec2(above, 0xffffffffu) : uvec2(0u, above);
  UNROLL for (uint i = 0u; i < 8u; ++i) counts[i * 256u + thread] = 0u;
  barrier();
  const Address x = address_add(tensor(1), row * n * kKeyBytes);
  for (uint k = 0u; k < kChunk; k += 1024u) {
    uvec2 key[4];
    UNROLL for (uint i = 0u; i < 4u; ++i) key[i] = ordered(x, min(first + k + i * 256u + thread, n - 1u), flip, invert);
    UNROLL for (uint i = 0u; i < 4u; ++i) {
      bool counts_in = first + k + i * 256u + thread < n;
#if defined(KEY_INT64) || defined(KEY_FLOAT64)
      counts_in = counts_in && ((key[i] ^ found) & same) == uvec2(0u);
#else
      counts_in = counts_in && ((key[i].x ^ found.x) & above) == 0u;
#endif
      if (counts_in) atomicAdd(counts[((key[i][w] >> shift) & 255u) * 8u + (thread & 7u)], 1u);
    }
  }
  barrier();
  uint sum = 0u;
  UNROLL for (uint i = 0u; i < 8u; ++i) sum += counts[thread * 8u + ((thread / 4u + i) & 7u)];
  if (sum != 0u) atomicAdd(state.at.bins[thread], int(sum));
}
#endif

// 1: before the k-th key; 65,536: equal to it.
uint kind(uvec2 key, uvec2 found) {
  if (key == found) return 65536u;
  return key.y < found.y || (key.y == found.y && key.x < found.x) ? 1u : 0u;
}

#ifdef DIVIDE
void main() {
  const uint n = uint(word(0)), chunks = uint(word(1)), flip = uint(word(4)), invert = uint(word(5));
  const Offset row = group() / chunks;
  if (row >= Offset(word(3))) return;
  const uint first = uint(group() - row * chunks) * kChunk;
  States state = States(address_add(tensor(0), row * kStateBytes));
  const uvec2 found = uvec2(state.at.low, state.at.high);
  uint count = 0u;
  const Address x = address_add(tensor(1), row * n * kKeyBytes);
  for (uint k = 0u; k < kChunk; k += 1024u)
    UNROLL for (uint i = 0u; i < 4u; ++i) {
      const uint at = first + k + i * 256u + thread;
      const uint what = kind(ordered(x, min(at, n - 1u), flip, invert), found);
      count += at < n ? what : 0u;
    }
  uint total;
  exclusive(count, total);
  if (thread == 0u) Int32(address_add(tensor(2), group() * Offset(8))).at[0] = int(total & 65535u);
  if (thread == 0u) Int32(address_add(tensor(2), group() * Offset(8))).at[1] = int(total >> 16);
}
#endif

#ifdef COLLECT
shared uint before_all[2];

void main() {
  const uint n = uint(word(0)), chunks = uint(word(1)), flip = uint(word(4)), invert = uint(word(5));
  const Offset row = group() / chunks;
  if (row >= Offset(word(3))) return;
  const uint chunk = uint(group() - row * chunks);
  const Address mine = address_add(tensor(2), group() * Offset(8)), others = address_add(tensor(2), row * chunks * Offset(8));
  if ((Int32(mine).at[0] | Int32(mine).at[1]) == 0) return;
  States state = States(address_add(tensor(0), row * kStateBytes));
  const uvec2 found = uvec2(state.at.low, state.at.high);
  const uint wanted = state.at.wanted;
  if (thread < 2u) before_all[thread] = 0u;
  barrier();
  uvec2 sums = uvec2(0u);
  for (uint i = thread; i < chunk; i += 256u)
    sums += uvec2(Int32(address_add(others, Offset(8) * i)).at[0], Int32(address_add(others, Offset(8) * i)).at[1]);
  atomicAdd(before_all[0], sums.x);
  atomicAdd(before_all[1], sums.y);
  barrier();
  if (Int32(mine).at[0] == 0 && before_all[1] >= wanted) return;
  // Each thread has 64 neighbours.
  const Address x = address_add(tensor(1), row * n * kKeyBytes);
  const uint first = chunk * kChunk + thread * 64u, end = min(first + 64u, n);
  uint count = 0u, total;
  for (uint at = first; at < end; ++at) count += kind(ordered(x, at, flip, invert), found);
  const uint before = exclusive(count, total);
  uint less = before_all[0] + (before & 65535u), equal = before_all[1] + (before >> 16);
  if (count == 0u) return;
  const Address places = address_add(tensor(3), row * Offset(word(2)) * Offset(4));
  for (uint at = first; at < end; ++at) {
    const uint what = kind(ordered(x, at, flip, invert), found);
    if (what == 1u || (what != 0u && equal < wanted))
      Int32(address_add(places, Offset(4) * (less + min(equal, wanted)))).at[0] = int(at);
    less += what & 1u;
    equal += what >> 16;
  }
}
#endif
