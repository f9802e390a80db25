// Shapes and strides: up to eight dimensions, held inline. Strides count elements, not bytes.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <string>

namespace sg {

inline constexpr int kMaxRank = 8;

struct Dims {
  int64_t v[kMaxRank] = {};
  uint8_t rank = 0;

  Dims() = default;
  Dims(std::initializer_list<int64_t> list) {
    for (int64_t d : list) push(d);
  }
  static Dims filled(int rank, int64_t value);

  int64_t& operator[](int i) { return v[i]; }
  int64_t operator[](int i) const { return v[i]; }
  int size() const { return rank; }
  const int64_t* begin() const { return v; }
  const int64_t* end() const { return v + rank; }
  void push(int64_t d) {  // ValueError beyond kMaxRank
    if (rank == kMaxRank) refuse_more();
    v[rank++] = d;
  }
  bool operator==(const Dims& o) const {
    if (rank != o.rank) return false;
    for (int i = 0; i < rank; ++i)
      if (v[i] != o.v[i]) return false;
    return true;
  }

  int64_t numel() const {
    int64_t n = 1;
    for (int i = 0; i < rank; ++i) n *= v[i];
    return n;
  }
  std::string str() const;  // "[2, 3]"

 private:
  [[noreturn]] static void refuse_more();
};

// The most elements that a tensor may have. Sizes, places and bytes, and sums of a few of them, then fit into 64 bits.
inline constexpr int64_t kMaxElements = int64_t{1} << 48;
// ValueError when a size is negative or the sizes, those of 0 left out, make up more than kMaxElements.
void check_size(const char* op, const Dims& shape);
// Sums and products of numbers that a caller gave; ValueError where they do not fit.
int64_t plus(const char* op, int64_t a, int64_t b);
int64_t times(const char* op, int64_t a, int64_t b);

Dims contiguous_strides(const Dims& shape);
// True when `strides` walks `shape` in row-major order without gaps (dimensions of size 1 do not matter).
bool is_contiguous(const Dims& shape, const Dims& strides);
// Elements from the first to the last that a view reaches, both included; 0 for an empty one.
int64_t span(const Dims& shape, const Dims& strides);
// In how many rounds a view must be written so that no two elements of one round share a place: a round takes every
// count-th index of `dim`. 1: no two elements share a place.
struct Goes {
  int dim = 0;
  int64_t count = 1;
};
Goes goes_of(const Dims& shape, const Dims& strides);
// NumPy broadcasting; ValueError names `op` and both shapes.
Dims broadcast_shapes(const char* op, const Dims& a, const Dims& b);
// Strides that read a tensor of `shape` as if it had the (larger) shape `to`: 0 where it is repeated.
Dims broadcast_strides(const Dims& shape, const Dims& strides, const Dims& to);
// Axis in [-rank, rank) -> [0, rank); IndexError otherwise.
int normal_axis(const char* op, int64_t axis, int rank);

}  // namespace sg
