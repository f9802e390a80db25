// What sorting kernels share: keys as unsigned numbers in the wanted order, and a scan of one number a thread.
// Defined before: KEY_INT32, KEY_INT64, KEY_FLOAT32 or KEY_FLOAT64.
layout(local_size_x = SG_THREADS) in;

// Arrays live in registers where loops are unrolled; a driver on the CPU only takes longer to compile them.
#ifdef SG_SOFTWARE
#define UNROLL [[dont_unroll]]
#else
#define UNROLL [[unroll]]
#endif

#define thread gl_LocalInvocationIndex

// Workgroups are counted along x, then y: one axis may be too short.
Offset group() { return Offset(gl_WorkGroupID.y) * gl_NumWorkGroups.x + gl_WorkGroupID.x; }

#if defined(KEY_INT64) || defined(KEY_FLOAT64)
const Offset kKeyBytes = Offset(8);
#else
const Offset kKeyBytes = Offset(4);
#endif

// Element i of the keys at x as (low, high) words that rise with its place in the order. NaN is the largest, -0 is 0.
// `flip` has the sign bit of signed integers, or 0; `invert` is ~0 for a falling order, or 0.
uvec2 ordered(Address x, uint i, uint flip, uint invert) {
#if defined(KEY_INT64) || defined(KEY_FLOAT64)
  const Word bits = Words(address_add(x, Offset(8) * i)).at[0];
  uint low = word_low(bits), high = word_high(bits);
#else
  uint low = uint(Int32(address_add(x, Offset(4) * i)).at[0]), high = 0u;
#endif
#if defined(KEY_INT32)
  low ^= flip;
#elif defined(KEY_INT64)
  high ^= flip;
#elif defined(KEY_FLOAT32)
  const uint size = low & 0x7fffffffu;
  low = size > 0x7f800000u ? 0xffffffffu : size == 0u ? 0x80000000u : low ^ (uint(int(low) >> 31) | 0x80000000u);
#else
  const uint size = high & 0x7fffffffu;
  if (size > 0x7ff00000u || (size == 0x7ff00000u && low != 0u)) {
    low = high = 0xffffffffu;
  } else if ((size | low) == 0u) {
    high = 0x80000000u;
  } else {
    low ^= uint(int(high) >> 31);
    high ^= uint(int(high) >> 31) | 0x80000000u;
  }
#endif
  return uvec2(low, high) ^ invert;
}

shared uint scan_parts[256 + 16], scan_sums[16];

// The sum of `value` over all threads before this one, and over all. Every thread calls it.
uint exclusive(uint value, out uint total) {
  const uint at = thread + thread / 16u;
  scan_parts[at] = value;
  barrier();
  if (thread < 16u) {
    uint sum = 0u;
    UNROLL for (uint i = 0u; i < 16u; ++i) {
      const uint part = scan_parts[thread * 17u + i];
      scan_parts[thread * 17u + i] = sum;
      sum += part;
    }
    scan_sums[thread] = sum;
  }
  barrier();
  uint before = scan_parts[at];
  total = 0u;
  UNROLL for (uint i = 0u; i < 16u; ++i) {
    const uint sum = scan_sums[i];
    if (i < thread / 16u) before += sum;
    total += sum;
  }
  barrier();
  return before;
}
