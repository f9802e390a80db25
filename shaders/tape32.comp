#version 460
#extension GL_GOOGLE_include_directive : require
// The tape machine in float32, for devices without float64.
#define SG_WIDE
#include "common.glsl"

#define REAL float
#define REAL_BYTES 4
#define BITS uint
#define BITS_OF_WORD(word) uint(word)
#define REAL_OF(b) uintBitsToFloat(b)
#define BITS_OF(x) floatBitsToUint(x)
#define NAN alu_make_nan()
#define NO_DEBT 0x7fc0deadu  // a NaN that no operation makes
#define BATCH 4  // such devices have few registers
#include "tape.glsl"
