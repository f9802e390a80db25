// How a GPU runs recurrent layers (shaders/recurrent.glsl): tiles and launches, a function of sizes and of the device's
// facts alone.
#include <algorithm>
#include <bit>
#include <string>

#include "base/round.hpp"
#include "graph/node.hpp"
#include "ops/launch.hpp"
#include "ops/recurrent.hpp"

namespace sg::recurrent {
namespace {

constexpr int64_t kMostShared = 48 << 10;
constexpr int64_t kMeetingBytes = 128;  // so that each has a line of the cache

int64_t power_above(int64_t n) {
  return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(std::max<int64_t>(1, n))));
}
int64_t power_below(int64_t n) { return static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(n))); }

// See shaders/recurrent.glsl. All are powers of two.
struct Tile {
  int64_t thread_rows, lane_rows, lane_cols, slices, chunk;
  int64_t rows() const { return thread_rows * lane_rows; }
  int64_t cols() const { return 4 * lane_cols; }
  int64_t threads() const { return lane_rows * lane_cols * slices; }
  int64_t room_bytes() const { return std::max(rows() * chunk * 4, threads() * thread_rows * 16); }
};

// What is computed at each step: products of that depth, whose four results in a thread's row are of four units or of one.
struct Products {
  Sizes sizes;
  int64_t depth;
  bool backward, unit_each;
  int64_t units(const Tile& t) const { return unit_each ? t.cols() : t.lane_cols; }
  int64_t tiles(const Tile& t) const { return divide_up(sizes.batch, t.rows()) * divide_up(sizes.hidden, units(t)); }
};

// Attention's sums say what a compiler can keep for a thread.
bool has_few_registers(const Features& gpu) { return gpu.tiles->forward_sums < 48; }

// As many workgroups as processors, if a thread then has enough to do. The order of sums follows from the tile, so how
// many steps a launch does has no part in it.
Tile choose(const Products& p, const Features& gpu) {
  const Sizes& s = p.sizes;
  const bool lean = has_few_registers(gpu);
  const int64_t half = std::min<int64_t>(lean ? 4 << 10 : 16 << 10, power_below(gpu.shared_bytes / 2));
  const int64_t threads = std::min(half / 64, power_below(gpu.max_group_threads));
  const int64_t processors = gpu.resident ? gpu.resident : gpu.tiles->processors;
  Tile t{};
  t.thread_rows = std::min<int64_t>(lean ? 1 : 4, power_above(s.batch));
  // Backward, the state is several times as wide, and each workgroup that shares its rows reads it: few rows and many
  // units, up to sixteen. Measured on an H200.
  const int64_t row_lanes = power_above(divide_up(s.batch, t.thread_rows));
  const bool few = s.hidden * divide_up(s.batch, 2 * t.thread_rows) <= 16 * processors;
  t.lane_rows = std::min<int64_t>(p.backward ? (few ? 2 : 4) : 8, row_lanes);
  const int64_t least_slices = t.thread_rows * (p.unit_each ? 4 : 1);  // a thread has one element at most
  const int64_t wanted = power_above(divide_up(s.hidden * divide_up(s.batch, t.rows()), processors));
  const int64_t most = std::min({int64_t{8}, threads / (t.lane_rows * least_slices), power_above(s.hidden)});
  t.lane_cols = std::clamp<int64_t>(p.unit_each ? wanted / 4 : wanted, 1, most);
  t.slices = std::max(std::min(threads / (t.lane_rows * t.lane_cols), power_above(p.depth / 4)), least_slices);
  t.chunk =
      std::max({std::min(half / 4 / std::max(t.rows(), t.cols()), power_above(p.depth)), 4 * t.slices, int64_t{32}});
  return t;
}

std::string defined(const char* name, int64_t value) {
  return std::string("#define ") + name + " " + std::to_string(value) + "\n";
}

std::string element_text(DType dtype) {
  const bool half = size_of(dtype) == 2;
  const std::string name = name_of(dtype), memory = char(name[0] - 'a' + 'A') + name.substr(1);
  const auto define = [](const std::string& what, const std::string& as) {
    return "#define " + what + " " + as + "\n";
  };
  return define("MEMORY", memory) + define("MEMORY4", memory + "x4") + define("STORED", half ? "uint16_t" : "float") +
         define("STORED4", half ? "uvec2" : "vec4") + defined("BYTES", static_cast<int64_t>(size_of(dtype))) +
         define("LOAD(x)", half ? name + "_value(uint(x))" : "(x)") +
         define("LOAD4(x)", half ? "unpack_" + name + "(x)" : "(x)") +
         define("STORE(x)", half ? "uint16_t(" + name + "_bits(x))" : "(x)");
}

int64_t gates_of(Cell cell) { return cell == Cell::lstm ? 4 : cell == Cell::gru ? 3 : 1; }

// How many chunks travel at a time: as many as 64 registers of a thread hold.
int64_t ahead(const Tile& t, int64_t depth, bool weights_stay, const Features& gpu) {
  const int64_t fours = divide_up(t.rows() * t.chunk / 4, t.threads()) +
                        (weights_stay ? 0 : divide_up(t.cols() * t.chunk / 4, t.threads()));
  int64_t n =
      gpu.software || has_few_registers(gpu) ? 1 : power_below(std::max<int64_t>(1, std::min<int64_t>(4, 16 / fours)));
  while (divide_up(depth, t.chunk) % n) n /= 2;
  return n;
}

struct Text {
  Cell cell;
  DType dtype;
  Settings settings;
  bool weights_stay;
};

std::string source(const Text& text, const Tile& t, const Products& p, const Features& gpu) {
  constexpr const char* kFiles[] = {"lstm", "gru", "rnn"};
  const char* variant = text.cell == Cell::gru ? "#define BIAS\n" : "#define RELU\n";
  return element_text(text.dtype) + (p.backward ? "#define BACKWARD\n" : "") +
         (text.settings.resident ? "#define MEET\n" : "") + (text.weights_stay ? "#define RESIDENT\n" : "") +
         (text.settings.variant ? variant : "") + defined("GATES", gates_of(text.cell)) +
         defined("THREAD_ROWS", t.thread_rows) + defined("LANE_ROWS", t.lane_rows) + defined("LANE_COLS", t.lane_cols) +
         defined("SLICES", t.slices) + defined("CHUNK", t.chunk) + defined("MEETING_BYTES", kMeetingBytes) +
         defined("AHEAD", ahead(t, p.depth, text.weights_stay, gpu)) +
         defined("WEIGHT_FOURS", (text.weights_stay ? round_up(p.depth, t.chunk) : t.chunk) / 4) +
         "#include \"recurrent.glsl\"\n#include \"recurrent_" + kFiles[static_cast<int>(text.cell)] +
         ".glsl\"\n#include \"recurrent_steps.glsl\"\n";
}

// Memory of the meetings, cleared.
CustomKernel::Tensor add_meetings(int64_t count, const char* name, Expansion& e) {
  CustomKernel& clear = e.launch(std::string(name) + "_begin");
  clear.tensors.push_back({e.temporary(count * kMeetingBytes), DType::int32, true});
  clear.words = {count * kMeetingBytes / 4};
  clear.source =
      "layout(local_size_x = SG_THREADS) in;\nvoid main() {\n  if (gl_GlobalInvocationID.x < uint(word(0))) "
      "Int32(tensor(0)).at[gl_GlobalInvocationID.x] = 0;\n}\n";
  set_threads(clear, clear.words[0], *e.gpu);
  return clear.tensors[0];
}

}  // namespace

void launch_on_gpu(const Node& node, Cell cell, bool backward, const Sizes& s, const CustomKernel& first,
                   Expansion& e) {
  constexpr const char* kNames[][2] = {{"lstm", "lstm_gradient"}, {"gru", "gru_gradient"}, {"rnn", "rnn_gradient"}};
  const char* name = kNames[static_cast<int>(cell)][backward];
  const auto settings = node.parameters.as<Settings>();
  const int64_t gates = gates_of(cell);
  const Products p{s, s.hidden * (backward ? gates : 1), backward, backward || gates == 1};
  const Tile tile = choose(p, *e.gpu);
  const int64_t tiles = p.tiles(tile), most = settings.resident;
  const int64_t groups = most ? divide_up(tiles, divide_up(tiles, most)) : tiles;
  const int64_t weight_bytes = tile.cols() * round_up(p.depth, tile.chunk) * 4;
  const bool weights_stay =
      most && groups == tiles && tile.room_bytes() + weight_bytes <= std::min(e.gpu->shared_bytes, kMostShared);
  const int64_t at_once = most ? s.steps : 1;
  CustomKernel kernel = first;
  if (most) kernel.tensors.push_back(add_meetings(divide_up(s.batch, tile.rows()), name, e));
  kernel.reports = most > 0;
  kernel.threads = tile.threads();
  kernel.source = source({cell, node.dtype, settings, weights_stay}, tile, p, *e.gpu);
  kernel.cost = 2.0 * static_cast<double>(at_once * s.state() * s.hidden * gates);
  set_groups(kernel, groups);
  for (int64_t step = 0; step < s.steps; step += at_once) {
    CustomKernel& launch = e.launch(name);
    launch = kernel;
    launch.words.insert(launch.words.end(), {step, step + at_once, tiles});
  }
}

}  // namespace sg::recurrent
