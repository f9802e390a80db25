// Random numbers for a range of indices: blocks of words are computed a vector at a time, and each block once for all
// numbers made from it. Included by blocks_isa.cpp inside the namespace of an instruction set, after the formulas.

#if defined(__AVX512F__)
[[gnu::always_inline]] static inline Vector<uint64_t>::Type low_product(Vector<uint64_t>::Type a, uint32_t b) {
  return (Vector<uint64_t>::Type)_mm512_maskz_mul_epu32(0xff, (__m512i)a, _mm512_set1_epi64(b));
}
#elif defined(__AVX2__)
[[gnu::always_inline]] static inline Vector<uint64_t>::Type low_product(Vector<uint64_t>::Type a, uint32_t b) {
  return (Vector<uint64_t>::Type)_mm256_mul_epu32((__m256i)a, _mm256_set1_epi64x(b));
}
#else
[[gnu::always_inline]] static inline Vector<uint64_t>::Type low_product(Vector<uint64_t>::Type a, uint32_t b) {
  return (a & 0xffffffffu) * b;
}
#endif

// The words of blocks [block, block + blocks), in order, and of a few more: rounded up to whole vectors.
inline constexpr int64_t kRandomBlocks = 64;
static void random_words(uint64_t block, int64_t blocks, int64_t seed, int64_t offset, uint32_t* words) {
  using V = Vector<uint64_t>::Type;
  constexpr int kLanes = Vector<uint64_t>::kLanes;
  const auto k = static_cast<uint64_t>(seed), o = static_cast<uint64_t>(offset);
  V counter;
  for (int lane = 0; lane < kLanes; ++lane) counter[lane] = block + static_cast<uint64_t>(lane);
  for (int64_t done = 0; done < blocks; done += kLanes, counter += kLanes) {
    const auto b = formulas::philox<V>(counter, counter >> 32, V{} + (o & 0xffffffffu), V{} + (o >> 32),
                                       static_cast<uint32_t>(k), static_cast<uint32_t>(k >> 32), low_product);
    const V first = (b.w0 & 0xffffffffu) | b.w1 << 32, second = (b.w2 & 0xffffffffu) | b.w3 << 32;
    uint64_t pairs[2 * kLanes];
    for (int lane = 0; lane < kLanes; ++lane) {
      pairs[2 * lane] = first[lane];
      pairs[2 * lane + 1] = second[lane];
    }
    std::memcpy(words + 4 * done, pairs, sizeof(pairs));
  }
}

struct F_random_bits {
  static constexpr int64_t kEach = 4;  // numbers of a block
  static int32_t of(int64_t index, int64_t seed, int64_t offset) { return formulas::random_bits(index, seed, offset); }
  static void pair(uint32_t first, uint32_t second, int32_t* to) {
    to[0] = static_cast<int32_t>(first);
    to[1] = static_cast<int32_t>(second);
  }
};
struct F_random_wide {
  static constexpr int64_t kEach = 2;
  static int64_t of(int64_t index, int64_t seed, int64_t offset) { return formulas::random_wide(index, seed, offset); }
  static void pair(uint32_t first, uint32_t second, int64_t* to) { *to = formulas::wide_of(first, second); }
};
struct F_random_normal {
  static constexpr int64_t kEach = 4;
  static float of(int64_t index, int64_t seed, int64_t offset) { return formulas::random_normal(index, seed, offset); }
  static void pair(uint32_t first, uint32_t second, float* to) {
    const float radius = formulas::radius_of(first);
    to[0] = radius * formulas::turn_of(second, false);
    to[1] = radius * formulas::turn_of(second, true);
  }
};

static bool consecutive(const int64_t* index, int64_t n) {
  bool each = true;
  for (int64_t i = 1; i < n; ++i) each &= index[i] - index[i - 1] == 1;
  return each;
}

template <class F, class R>
void random(void* d, const void* a, const void* b, const void* c, int64_t n) {
  const auto* index = static_cast<const int64_t*>(a);
  const int64_t seed = *static_cast<const int64_t*>(b), offset = *static_cast<const int64_t*>(c);
  R* to = static_cast<R*>(d);
  if (!consecutive(index, n)) {
    SG_LOOP for (int64_t i = 0; i < n; ++i) to[i] = F::of(index[i], seed, offset);
    return;
  }
  uint32_t words[4 * kRandomBlocks];
  R numbers[F::kEach * kRandomBlocks];
  int64_t next = n > 0 ? index[0] : 0;
  for (const int64_t end = next + n; next < end;) {
    const int64_t block = next / F::kEach, skip = next % F::kEach;
    const int64_t blocks = std::min(kRandomBlocks, (end - 1) / F::kEach - block + 1);
    random_words(static_cast<uint64_t>(block), blocks, seed, offset, words);
    SG_LOOP for (int64_t k = 0; k < 2 * blocks; ++k)
        F::pair(words[2 * k], words[2 * k + 1], numbers + F::kEach / 2 * k);
    const int64_t some = std::min(end - next, F::kEach * blocks - skip);
    std::memcpy(to, numbers + skip, static_cast<size_t>(some) * sizeof(R));
    to += some;
    next += some;
  }
}
