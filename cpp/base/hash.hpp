// 64-bit hashing of words: for keys that are always confirmed by a full comparison.
#pragma once
#include <bit>
#include <cstdint>

namespace sg {

inline uint64_t hash_mix(uint64_t x) {  // the finaliser of splitmix64
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}
inline uint64_t hash_mix(uint64_t h, uint64_t x) { return hash_mix(h * 0x9e3779b97f4a7c15ull + x); }
// Of many words, one after the other: quicker, and to be mixed when the last one is in.
inline uint64_t hash_add(uint64_t h, uint64_t x) { return (std::rotl(h, 23) ^ x) * 0x9e3779b97f4a7c15ull; }

}  // namespace sg
