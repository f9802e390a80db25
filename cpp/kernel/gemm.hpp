// One tile of a matrix product on the CPU: c[m, n] = sum over k of a[m, k] * b[k, n], strides in elements. Plain data,
// without includes that bring code: files compiled for one instruction set read it.
#pragma once
#include <cstdint>

namespace sg {

struct GemmDigits;  // k as a number of several digits, each with its own strides

// A plane of zeros, rows x pitch, with an image of height x width in it. In memory the image's rows are `row` apart.
struct Window {
  int64_t top = 0, left = 0, height = 0, width = 0, row = 0;
  int64_t rows = 0, pitch = 0;
};

struct GemmTile {
  const void* a;
  const void* b;
  void* c;
  int64_t m, n, k;
  int64_t a_m, a_k, b_k, b_n, c_m, c_n;
  bool add = false;                    // adds to what c holds
  void* scratch = nullptr;             // given by the caller
  const GemmDigits* inner = nullptr;   // instead of a_k and b_k
  const int64_t* b_columns = nullptr;  // with it: the beginning of each column of b; b_n is then the usual distance
  bool k_in_rows = false;              // with it: neighbours along k are contiguous in a
  int64_t b_m = 0;                     // not 0: each row of a has its own b, this far from the previous one
  const Window* window = nullptr;      // each row's b is an image; `inner` and `b_columns` refer to its plane. In sums
                                       // over images, the first digit of k counts images
  bool dots = false;                   // rows of a and columns of b lie in order along k, and one of both is alone
  const void* bias = nullptr;          // a row, its elements side by side, that is added to each row at the end
};

}  // namespace sg
