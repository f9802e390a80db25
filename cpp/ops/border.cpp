// Borders that continue an image (reflect, replicate, circular): one kernel copies them, another adds up what was
// copied. Each is the gradient of the other. Inside, images are [n, depth, height, width], less leading dimensions
// without border.
#include "ops/border.hpp"

#include <algorithm>
#include <cstring>

#include "base/error.hpp"
#include "ops/launch.hpp"
#include "ops/list.hpp"
#include "ops/ops.hpp"

namespace sg {
namespace {

enum class Mode : int64_t { reflect, replicate, circular };  // as in shaders/border.glsl
constexpr int kDims = 3;

// A dimension of an image and its border.
struct Side {
  int64_t size, before, after;
  int64_t whole() const { return before + size + after; }
};
struct Bordered {  // the attributes of both ops
  Mode mode;
  Side sides[kDims];

  int64_t elements(bool whole) const {
    int64_t n = 1;
    for (const Side& s : sides) n *= whole ? s.whole() : s.size;
    return n;
  }
};

// The element of the image that is copied to a place. Twin of `source` in shaders/border.glsl.
int64_t source(Mode mode, const Side& s, int64_t place) {
  const int64_t at = place - s.before, last = s.size - 1;
  if (mode == Mode::replicate) return std::clamp<int64_t>(at, 0, last);
  if (mode == Mode::circular) return at < 0 ? at + s.size : at > last ? at - s.size : at;
  return at < 0 ? -at : at > last ? 2 * last - at : at;
}

// Calls body(row, from) for each row of the result, counted through all images; it is copied from element `from` on.
template <class Body>
void each_row(const Bordered& b, int64_t begin, int64_t end, Body body) {
  const Side &depth = b.sides[0], &height = b.sides[1];
  const int64_t plane = begin / height.whole();
  int64_t y = begin % height.whole(), z = plane % depth.whole(), image = plane / depth.whole();
  for (int64_t row = begin; row < end; ++row) {
    const int64_t from_y = source(b.mode, height, y), from_z = source(b.mode, depth, z);
    body(row, ((image * depth.size + from_z) * height.size + from_y) * b.sides[2].size);
    if (++y < height.whole()) continue;
    y = 0;
    if (++z < depth.whole()) continue;
    z = 0;
    ++image;
  }
}

// ---- words: elements of the result, then size, before and after of each dimension, then the mode ---------------------
Bordered bordered_of(const int64_t* words) {
  Bordered b;
  for (Side& s : b.sides) s = {words[1], words[2], words[3]}, words += 3;
  b.mode = static_cast<Mode>(words[1]);
  return b;
}

constexpr int64_t kGrain = 16384;  // elements that are worth a piece of work

// Rows are short, so four elements at a time are faster than a call of memcpy.
template <class T>
void copy(const T* from, const T* end, T* to) {
  for (; end - from >= 4; from += 4, to += 4) std::memcpy(to, from, 4 * sizeof(T));
  for (; from < end; ++from, ++to) *to = *from;
}

template <class T>
void copy_on_cpu(const CpuArgs& args) {
  const Bordered b = bordered_of(args.words);
  const Side& width = b.sides[2];
  const int64_t whole = width.whole(), behind = width.before + width.size;
  args.parallel(args.words[0] / whole, std::max<int64_t>(1, kGrain / whole), [&](int64_t begin, int64_t end) {
    each_row(b, begin, end, [&](int64_t row, int64_t at) {
      const T* from = args.as<const T>(0) + at;
      T* to = args.as<T>(1) + row * whole;
      for (int64_t i = 0; i < width.before; ++i) to[i] = from[source(b.mode, width, i)];
      copy(from, from + width.size, to + width.before);
      for (int64_t i = behind; i < whole; ++i) to[i] = from[source(b.mode, width, i)];
    });
  });
}

// In order of places, as the GPU does.
template <class T>
void add_on_cpu(const CpuArgs& args) {
  const Bordered b = bordered_of(args.words);
  const Side& width = b.sides[2];
  const int64_t whole = width.whole(), behind = width.before + width.size;
  const int64_t image = b.elements(false), rows = b.sides[0].whole() * b.sides[1].whole();
  args.parallel(args.words[0] / image, std::max<int64_t>(1, kGrain / image), [&](int64_t begin, int64_t end) {
    T* out = args.as<T>(1);
    std::fill(out + begin * image, out + end * image, T(0));
    each_row(b, begin * rows, end * rows, [&](int64_t row, int64_t at) {
      const T* from = args.as<const T>(0) + row * whole;
      T* to = out + at;
      for (int64_t i = 0; i < width.before; ++i) to[source(b.mode, width, i)] += from[i];
      for (int64_t i = 0; i < width.size; ++i) to[i] += from[width.before + i];
      for (int64_t i = behind; i < whole; ++i) to[source(b.mode, width, i)] += from[i];
    });
  });
}

// ---- nodes -----------------------------------------------------------------------------------------------------------
struct BorderParameters {
  struct {
    int32_t before, after;
  } sides[kDims];
  Mode mode;
};

// A node's numbers. Its input is the image; for the gradient, the image with its borders.
Bordered bordered_of(const Node& node, bool gradient) {
  const auto p = node.parameters.as<BorderParameters>();
  Bordered b;
  for (int d = 0; d < kDims; ++d) {
    Side& s = b.sides[d];
    s.before = p.sides[d].before, s.after = p.sides[d].after;
    s.size = node.domain[d + 1] - (gradient ? s.before + s.after : 0);
  }
  b.mode = p.mode;
  return b;
}

Tensor run(const OpInfo& op, const Tensor& x, const Bordered& b, bool gradient) {
  Dims shape = {x.shape()[0]};
  for (const Side& s : b.sides) shape.push(gradient ? s.size : s.whole());
  BorderParameters p{{}, b.mode};
  for (int d = 0; d < kDims; ++d)
    p.sides[d] = {static_cast<int32_t>(b.sides[d].before), static_cast<int32_t>(b.sides[d].after)};
  return custom_kernel(op, {contiguous(x)}, shape, x.dtype(), p, b);
}
Tensor copy_borders(const Tensor& x, const Bordered& b) { return run(ops::Border, x, b, false); }
Tensor add_borders(const Tensor& g, const Bordered& b) {
  return cast(run(ops::BorderImage, cast(g, wide_of(g.dtype())), b, true), g.dtype());
}

void (*copy_function(size_t bytes))(const CpuArgs&) {
  if (bytes == 1) return copy_on_cpu<uint8_t>;
  if (bytes == 2) return copy_on_cpu<uint16_t>;
  return bytes == 4 ? copy_on_cpu<uint32_t> : copy_on_cpu<uint64_t>;
}

std::string glsl(DType t, const Bordered& b, bool gradient) {
  const std::string bits = std::to_string(8 * size_of(t)), bytes = std::to_string(size_of(t));
  std::string s = "#define BYTES Offset(" + bytes + ")\n#define PLACE ";
  s += b.elements(true) <= INT32_MAX ? "int\n" : "SignedOffset\n";
  if (gradient)
    s += "#define GRADIENT\n#define MEMORY Float" + bits + "\n#define ELEMENT " +
         (t == DType::float64 ? "double\n" : "float\n");
  else
    s += "#define MEMORY Int" + bits + "\n";
  return s + "#include \"border.glsl\"\n";
}

template <bool kGradient>
void expand_border(const Node& node, bool gpu, Expansion& e) {
  CustomKernel& custom = e.launch(node.op->name);
  const DType t = node.dtype;
  const Bordered b = bordered_of(node, kGradient);
  custom.tensors = {{0, t}, {e.result(), t, true}};
  custom.words = {node.numel};
  for (const Side& s : b.sides) custom.words.insert(custom.words.end(), {s.size, s.before, s.after});
  custom.words.push_back(static_cast<int64_t>(b.mode));
  custom.cost = static_cast<double>(node.numel);
  if (!gpu)
    custom.cpu = !kGradient ? copy_function(size_of(t)) : t == DType::float64 ? add_on_cpu<double> : add_on_cpu<float>;
  else
    custom.source = glsl(t, b, kGradient), set_threads(custom, node.numel, *e.gpu);
}

void vjp_border(Vjp& v) { v.result[0] = add_borders(v.g, v.attributes<Bordered>()); }
void vjp_border_image(Vjp& v) { v.result[0] = copy_borders(v.g, v.attributes<Bordered>()); }

constexpr OpInfo row(const char* name, const char* doc, void (*vjp)(Vjp&), bool gradient) {
  return {.name = name,
          .doc = doc,
          .kind = Kind::kernel,
          .arity = 1,
          .vjp = vjp,
          .expand = gradient ? expand_border<true> : expand_border<false>};
}

// ---- what pad() calls ------------------------------------------------------------------------------------------------
Mode mode_of(const std::string& mode) {
  return mode == "reflect" ? Mode::reflect : mode == "replicate" ? Mode::replicate : Mode::circular;
}

void check(const Bordered& b, const std::string& mode) {
  for (const Side& s : b.sides) {
    constexpr int64_t kMostSize = INT32_MAX;
    const int64_t fit = b.mode == Mode::reflect ? s.size - 1 : b.mode == Mode::circular ? s.size : kMostSize;
    const int64_t most = s.size ? std::min(fit, kMostSize) : 0;
    if (std::max(s.before, s.after) > most)
      fail<ValueError>("pad",
                       "widths " + std::to_string(s.before) + " and " + std::to_string(s.after) +
                           " for a dimension of " + std::to_string(s.size) + " in mode '" + mode + "'",
                       "use at most " + std::to_string(most));
  }
}

}  // namespace

namespace ops {
const OpInfo Border = row("border", "An image with borders that continue it.", vjp_border, false);
const OpInfo BorderImage = row("border_image", "The gradient of border.", vjp_border_image, true);
}  // namespace ops

Tensor with_borders(const Tensor& x, const std::vector<int64_t>& widths, const std::string& mode) {
  // At most three dimensions at a time, beginning with the last ones.
  Bordered b{mode_of(mode), {{1, 0, 0}, {1, 0, 0}, {1, 0, 0}}};
  const int pairs = std::min<int>(static_cast<int>(widths.size() / 2), kDims);
  Dims image = {x.numel()}, shape = x.shape();
  for (int i = 0; i < pairs; ++i) {
    const int d = x.rank() - 1 - i;
    b.sides[kDims - 1 - i] = {shape[d], widths[2 * i], widths[2 * i + 1]};
    shape[d] = b.sides[kDims - 1 - i].whole();
  }
  check(b, mode);
  const int64_t elements = b.elements(false);
  image[0] = elements ? x.numel() / elements : 0;
  for (const Side& s : b.sides) image.push(s.size);
  Tensor out = x;
  if (shape.numel() != x.numel()) out = reshape(copy_borders(reshape(x, image), b), shape);
  const std::vector<int64_t> rest(widths.begin() + 2 * pairs, widths.end());
  if (rest.empty()) return out;
  Dims front, back;
  for (int d = 0; d < x.rank(); ++d) front.push((d + x.rank() - kDims) % x.rank()), back.push((d + kDims) % x.rank());
  return permute(with_borders(permute(out, front), rest, mode), back);
}

}  // namespace sg
