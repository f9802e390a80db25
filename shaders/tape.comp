#version 460
#extension GL_GOOGLE_include_directive : require
// The tape machine in float64.
#define SG_FLOAT64
#define SG_WIDE
#include "common.glsl"

#define REAL double
#define REAL_BYTES 8
#define BITS uint64
#define BITS_OF_WORD(word) word_bits(word)
#define REAL_OF(b) uint64BitsToDouble(b)
#define BITS_OF(x) doubleBitsToUint64(x)
#define NAN alu_make_nan64()
#define NO_DEBT 0x7ff8dead0000beeful  // a NaN that no operation makes
#define BATCH 8
#include "tape.glsl"
