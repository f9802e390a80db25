// GLSL -> SPIR-V, its errors, and the cache on disk.
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <random>
#include <thread>

#include "base/error.hpp"
#include "base/host.hpp"
#include "device/gpu/pipeline/compiler.hpp"

using namespace sg;

namespace {

const char* const kKernel =
    "#version 460\n#include \"common.glsl\"\n#include \"alu.glsl\"\nlayout(local_size_x = 64) in;\n"
    "void main() { Float32(push.block).at[gl_GlobalInvocationID.x] = alu_exp(1.0); }\n";

}  // namespace

TEST_CASE("a kernel compiles to SPIR-V", "[compiler]") {
  const std::vector<uint32_t> words = compile_glsl("exp", kKernel);
  REQUIRE(words.size() > 20);
  CHECK(words[0] == 0x07230203u);
  CHECK(compile_glsl("exp", kKernel) == words);
}

TEST_CASE("a mistake names the kernel and its line", "[compiler]") {
  try {
    compile_glsl("broken", "#version 460\nlayout(local_size_x = 1) in;\nvoid main() { float x = nothing; }\n");
    FAIL("compiled");
  } catch (const KernelCompileError& e) {
    const std::string what = e.what();
    CHECK(what.find("broken: ") == 0);
    CHECK(what.find("'nothing' : undeclared identifier") != what.npos);
    CHECK(what.find("`void main() { float x = nothing; }`") != what.npos);
    CHECK(what.find('\n') == what.npos);
  }
  CHECK_THROWS_AS(compile_glsl("no_include", "#version 460\n#include \"nowhere.glsl\"\nvoid main() {}\n"),
                  KernelCompileError);
}

TEST_CASE("threads compile at the same time", "[compiler]") {
  std::vector<std::vector<uint32_t>> results(4);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 5; ++i)
        results[t] = compile_glsl("many", std::string(kKernel) + "// " + std::to_string(i) + "\n");
    });
  for (std::thread& t : threads) t.join();
  for (const auto& r : results) CHECK(r == results[0]);
}

TEST_CASE("the cache keeps, checks and ignores", "[compiler]") {
  DiskCache& cache = DiskCache::instance();
  if (cache.folder().empty()) SKIP("no cache on disk: SPIROGRAD_CACHE=0, or no folder that can be written");
  const auto now = std::chrono::system_clock::now().time_since_epoch().count();  // nothing left by a run that was ended
  const std::string key = "test of the cache " + std::to_string(now), data = "thirteen bytes";
  CHECK(cache.load(key).empty());
  cache.save(key, data.data(), data.size());
  const std::vector<uint8_t> back = cache.load(key);
  CHECK(std::string(back.begin(), back.end()) == data);

  std::filesystem::path file;
  for (const auto& f : std::filesystem::directory_iterator(cache.folder())) {
    if (!f.is_regular_file()) continue;  // data sets are beside the kernels
    std::ifstream in(f.path(), std::ios::binary);
    const std::string all((std::istreambuf_iterator<char>(in)), {});
    if (all.find(key) != all.npos) file = f.path();
  }
  REQUIRE_FALSE(file.empty());
  struct Counting final : Host {
    int warnings = 0;
    void warn_of_cache(const std::string&) override { ++warnings; }
  };
  static Counting counting;
  Host& before = install(counting);
  for (const char* damage : {"flip", "cut", "empty"}) {
    cache.save(key, data.data(), data.size());
    if (damage[0] == 'f') {
      std::fstream f(file, std::ios::binary | std::ios::in | std::ios::out);
      f.seekp(-1, std::ios::end);
      f.put('!');
    } else {
      std::filesystem::resize_file(file, damage[0] == 'c' ? std::filesystem::file_size(file) - 3 : 0);
    }
    INFO(damage);
    CHECK(cache.load(key).empty());
  }
  // Any change of any bytes: what was kept, or nothing.
  cache.save(key, data.data(), data.size());
  std::ifstream in(file, std::ios::binary);
  const std::string whole((std::istreambuf_iterator<char>(in)), {});
  std::mt19937 chance(1);
  int kept = 0;
  for (int i = 0; i < 2000; ++i) {
    std::string changed = whole;
    for (uint32_t n = 1 + chance() % 3; n > 0; --n) changed[chance() % changed.size()] = static_cast<char>(chance());
    if (i % 4 == 1) changed.resize(chance() % changed.size());
    if (i % 4 == 2) changed.append(1 + chance() % 64, static_cast<char>(chance()));
    if (i % 4 == 3) changed.insert(chance() % changed.size(), 1 + chance() % 8, static_cast<char>(chance()));
    std::ofstream(file, std::ios::binary | std::ios::trunc) << changed;
    const std::vector<uint8_t> read = cache.load(key);
    if (read.empty()) continue;
    REQUIRE(std::string(read.begin(), read.end()) == data);
    ++kept;
  }
  CHECK(kept < 20);  // changes that change nothing
  CHECK(counting.warnings <= 1);
  install(before);
  std::filesystem::remove(file);
  CHECK((std::filesystem::status(cache.folder()).permissions() & std::filesystem::perms::others_all) ==
        std::filesystem::perms::none);
}
