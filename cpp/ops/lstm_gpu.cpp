// How a GPU runs an LSTM (shaders/lstm.glsl): tiles and launches, a function of sizes and of the device's facts alone.
#include <algorithm>
#include <bit>
#include <string>

#include "base/log.hpp"
#include "base/round.hpp"
#include "ops/launch.hpp"
#include "ops/lstm.hpp"

namespace sg::lstm_op {
namespace {

constexpr int64_t kMostShared = 48 << 10;
constexpr int64_t kMeetingBytes = 128;  // so that each has a line of the cache

int64_t power_above(int64_t n) {
  return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(std::max<int64_t>(1, n))));
}
int64_t power_below(int64_t n) { return static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(n))); }

// See shaders/lstm.glsl. All are powers of two.
struct Tile {
  int64_t thread_rows, lane_rows, lane_cols, slices, chunk;
  int64_t rows() const { return thread_rows * lane_rows; }
  int64_t cols() const { return 4 * lane_cols; }
  int64_t units(bool backward) const { return backward ? cols() : lane_cols; }
  int64_t threads() const { return lane_rows * lane_cols * slices; }
  int64_t room_bytes() const { return std::max(rows() * chunk * 4, threads() * thread_rows * 16); }
  int64_t count(const Sizes& s, bool backward) const {
    return divide_up(s.batch, rows()) * divide_up(s.hidden, units(backward));
  }
};

// As many workgroups as processors, if a thread then has enough to do. The order of sums follows from the tile, so how
// many steps a launch does has no part in it.
Tile choose(const Sizes& s, int64_t depth, bool backward, const Features& gpu) {
  const int64_t half = std::min<int64_t>(16 << 10, power_below(gpu.shared_bytes / 2));
  const int64_t threads = std::min(half / 64, power_below(gpu.max_group_threads));
  const int64_t processors = gpu.resident ? gpu.resident : gpu.tiles->processors;
  Tile t{};
  t.thread_rows = std::min<int64_t>(4, power_above(s.batch));
  // Backward, the state is four times as wide, and is read by as many workgroups as share its rows.
  t.lane_rows = std::min<int64_t>(backward ? 4 : 8, power_above(divide_up(s.batch, t.thread_rows)));
  const int64_t least_slices = t.thread_rows * (backward ? 4 : 1);  // a thread has one element at most
  const int64_t wanted = power_above(divide_up(s.hidden * divide_up(s.batch, t.rows()), processors));
  const int64_t most = std::min({int64_t{8}, threads / (t.lane_rows * least_slices), power_above(s.hidden)});
  t.lane_cols = std::clamp<int64_t>(backward ? wanted / 4 : wanted, 1, most);
  t.slices = std::max(std::min(threads / (t.lane_rows * t.lane_cols), power_above(depth / 4)), least_slices);
  t.chunk =
      std::max({std::min(half / 4 / std::max(t.rows(), t.cols()), power_above(depth)), 4 * t.slices, int64_t{32}});
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

// How many chunks travel at a time: as many as 64 registers of a thread hold.
int64_t ahead(const Tile& t, int64_t depth, bool weights_stay, const Features& gpu) {
  const int64_t fours = divide_up(t.rows() * t.chunk / 4, t.threads()) +
                        (weights_stay ? 0 : divide_up(t.cols() * t.chunk / 4, t.threads()));
  int64_t n = gpu.software ? 1 : power_below(std::max<int64_t>(1, std::min<int64_t>(4, 16 / fours)));
  while (divide_up(depth, t.chunk) % n) n /= 2;
  return n;
}

std::string source(DType dtype, const Tile& t, int64_t depth, bool backward, bool meet, bool weights_stay,
                   const Features& gpu) {
  return element_text(dtype) + (backward ? "#define BACKWARD\n" : "") + (meet ? "#define MEET\n" : "") +
         (weights_stay ? "#define RESIDENT\n" : "") + defined("THREAD_ROWS", t.thread_rows) +
         defined("LANE_ROWS", t.lane_rows) + defined("LANE_COLS", t.lane_cols) + defined("SLICES", t.slices) +
         defined("CHUNK", t.chunk) + defined("MEETING_BYTES", kMeetingBytes) +
         defined("AHEAD", ahead(t, depth, weights_stay, gpu)) +
         defined("WEIGHT_FOURS", (weights_stay ? round_up(depth, t.chunk) : t.chunk) / 4) + "#include \"lstm.glsl\"\n";
}

}  // namespace

int64_t most_resident(const Features& gpu) {
  constexpr int64_t kMost = 65535;
  if (env("SPIROGRAD_RECURRENT").empty()) return gpu.resident;
  return env_whole("SPIROGRAD_RECURRENT", 0, kMost);
}

void launch_on_gpu(const char* name, DType dtype, const Sizes& s, bool backward, const LstmParameters& p,
                   const CustomKernel& first, Expansion& e) {
  const int64_t depth = s.hidden * (backward ? 4 : 1);
  const Tile tile = choose(s, depth, backward, *e.gpu);
  const int64_t tiles = tile.count(s, backward);
  const bool meet = p.resident > 0;
  const int64_t groups = meet ? divide_up(tiles, divide_up(tiles, p.resident)) : tiles;
  const int64_t kept_bytes = tile.cols() * round_up(depth, tile.chunk) * 4;
  const bool weights_stay =
      meet && groups == tiles && tile.room_bytes() + kept_bytes <= std::min(e.gpu->shared_bytes, kMostShared);
  CustomKernel kernel = first;
  kernel.threads = tile.threads();
  kernel.source = source(dtype, tile, depth, backward, meet, weights_stay, *e.gpu);
  set_groups(kernel, groups);
  if (meet) {
    const int64_t meetings = divide_up(s.batch, tile.rows());
    kernel.tensors.push_back({e.temporary(meetings * kMeetingBytes), DType::int32, true});
    kernel.reports = true;
    CustomKernel& clear = e.launch(std::string(name) + "_begin");
    clear.tensors.push_back(kernel.tensors.back());
    clear.words = {meetings * kMeetingBytes / 4};
    clear.source =
        "layout(local_size_x = SG_THREADS) in;\nvoid main() {\n  if (gl_GlobalInvocationID.x < uint(word(0))) "
        "Int32(tensor(0)).at[gl_GlobalInvocationID.x] = 0;\n}\n";
    set_threads(clear, clear.words[0], *e.gpu);
  }
  const int64_t at_once = meet ? s.steps : 1;
  kernel.cost /= static_cast<double>(divide_up(s.steps, at_once));
  for (int64_t step = 0; step < s.steps; step += at_once) {
    CustomKernel& launch = e.launch(name);
    launch = kernel;
    launch.words.insert(launch.words.end(), {step, step + at_once, tiles});
  }
}

}  // namespace sg::lstm_op
