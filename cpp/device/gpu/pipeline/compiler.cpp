// GLSL to SPIR-V: glslang, the key of the cache on disk, and errors that quote the line of the source. Knows no device.
#include "device/gpu/pipeline/compiler.hpp"

#include <glslang/Public/ResourceLimits.h>
#include <glslang/Public/ShaderLang.h>
#include <glslang/SPIRV/GlslangToSpv.h>

#include <cstdlib>
#include <cstring>
#include <list>
#include <sstream>

#include "base/error.hpp"

namespace sg {
namespace {

// SPIR-V 1.6. GPU-assisted validation of layers before 1.3.290 is silent above 1.5: lower both for those.
constexpr auto kClient = glslang::EShTargetVulkan_1_3;
constexpr auto kLanguage = glslang::EShTargetSpv_1_6;

class EmbeddedIncluder : public glslang::TShader::Includer {
 public:
  IncludeResult* includeLocal(const char* name, const char*, size_t) override {
    const std::string_view text = embedded_source(name);
    if (text.empty()) return nullptr;
    return &results_.emplace_back(name, text.data(), text.size(), nullptr);
  }
  void releaseInclude(IncludeResult*) override {}

 private:
  std::list<IncludeResult> results_;
};

std::string glslang_version() {
  const glslang::Version v = glslang::GetVersion();
  return std::to_string(v.major) + "." + std::to_string(v.minor) + "." + std::to_string(v.patch) + v.flavor;
}

// Appends every included file to the key, so that a changed include is another key.
void append_includes(std::string_view text, std::string& key, std::vector<std::string>& seen) {
  constexpr std::string_view kInclude = "#include \"";
  for (size_t at = text.find(kInclude); at != text.npos; at = text.find(kInclude, at + 1)) {
    const size_t begin = at + kInclude.size(), end = text.find('"', begin);
    if (end == text.npos) return;
    const std::string name(text.substr(begin, end - begin));
    bool known = false;
    for (const std::string& s : seen) known = known || s == name;
    if (known) continue;
    seen.push_back(name);
    const std::string_view included = embedded_source(name);
    key.append("\n// ").append(name).append("\n").append(included);
    append_includes(included, key, seen);
  }
}

std::string cache_key(const std::string& source) {
  std::string key = "glslang " + glslang_version() + " target " + std::to_string(kLanguage) + "\n" + source;
  std::vector<std::string> seen;
  append_includes(source, key, seen);
  return key;
}

// The text of a user's kernel stands between these lines, as source string 1 (ops/glsl.cpp).
constexpr std::string_view kUsersBegin = "#line 1 1\n", kUsersEnd = "\n#line ";

// "1:3: 'q' : undeclared identifier" -> "line 3: 'q' : undeclared identifier in `y[i] = q;`"
std::string users_line(const std::string& message, int number, const std::string& source) {
  const size_t begin = source.find(kUsersBegin) + kUsersBegin.size();
  std::istringstream lines(source.substr(begin, source.find(kUsersEnd, begin) - begin));
  std::string line;
  for (int i = 0; i < number; ++i) std::getline(lines, line);
  for (size_t at = line.find(".at["); at != line.npos; at = line.find(".at[")) line.erase(at, 3);
  const size_t text = message.find(':', 2), first = line.find_first_not_of(" \t");
  return "line " + std::to_string(number) + message.substr(text) +
         (first == line.npos ? "" : " in `" + line.substr(first) + "`");
}

// "ERROR: 0:12: 'x' : undeclared identifier" -> the message and line 12 of the source.
std::string explain(const std::string& log, const std::string& source) {
  const size_t at = log.find("ERROR: ");
  if (at == log.npos) return log;
  const std::string message = log.substr(at + 7, log.find('\n', at) - at - 7);
  const size_t colon = message.find(':');
  if (colon == message.npos) return message;
  const int number = std::atoi(message.c_str() + colon + 1);
  if (message.compare(0, 2, "1:") == 0) return users_line(message, number, source);
  std::istringstream lines(message.compare(0, 2, "0:") == 0 ? source
                                                            : std::string(embedded_source(message.substr(0, colon))));
  std::string line;
  for (int i = 0; i < number; ++i)
    if (!std::getline(lines, line)) return message;
  return message + " in `" + line.substr(line.find_first_not_of(' ') == line.npos ? 0 : line.find_first_not_of(' ')) +
         "`";
}

}  // namespace

std::vector<uint32_t> translate_glsl(const std::string& name, const std::string& source) {
  static const bool started = glslang::InitializeProcess();
  if (!started) fail<KernelCompileError>(name, "glslang did not start", "report this");
  glslang::TShader shader(EShLangCompute);
  const char* text = source.c_str();
  shader.setStrings(&text, 1);
  shader.setEnvInput(glslang::EShSourceGlsl, EShLangCompute, glslang::EShClientVulkan, 100);
  shader.setEnvClient(glslang::EShClientVulkan, kClient);
  shader.setEnvTarget(glslang::EShTargetSpv, kLanguage);
  shader.setPreamble("#extension GL_GOOGLE_include_directive : require\n");
  EmbeddedIncluder includer;
  const auto messages = static_cast<EShMessages>(EShMsgSpvRules | EShMsgVulkanRules);
  auto broken = [&](const char* log) {
    const std::string what = explain(log, source);
    if (source.find(kUsersBegin) != source.npos)
      fail<KernelCompileError>(name, what,
                               what.find("left of '['") == what.npos
                                   ? "correct the kernel's source"
                                   : "read a tensor with load(x, i), write it with store(y, i, value)");
    fail<KernelCompileError>(name, "the generated GLSL does not compile: " + what,
                             "report this with SPIROGRAD_DEBUG=4");
  };
  if (!shader.parse(GetDefaultResources(), 460, false, messages, includer)) broken(shader.getInfoLog());
  glslang::TProgram program;
  program.addShader(&shader);
  if (!program.link(messages)) broken(program.getInfoLog());
  glslang::SpvOptions options;
  options.disableOptimizer = true;  // drivers optimise; the SPIR-V optimiser has had bugs of its own
  std::vector<uint32_t> words;
  glslang::GlslangToSpv(*program.getIntermediate(EShLangCompute), words, &options);
  if (words.empty()) broken("no code");
  return words;
}

std::vector<uint32_t> cached_spirv(const std::string& source) {
  const std::vector<uint8_t> bytes = DiskCache::instance().load(cache_key(source));
  constexpr uint32_t kMagic = 0x07230203;
  if (bytes.size() < 20 || bytes.size() % 4 != 0 || std::memcmp(bytes.data(), &kMagic, 4) != 0) return {};
  std::vector<uint32_t> words(bytes.size() / 4);
  std::memcpy(words.data(), bytes.data(), bytes.size());
  return words;
}

void cache_spirv(const std::string& source, const std::vector<uint32_t>& words) {
  DiskCache::instance().save(cache_key(source), words.data(), words.size() * sizeof(uint32_t));
}

std::vector<uint32_t> compile_glsl(const std::string& name, const std::string& source) {
  std::vector<uint32_t> words = cached_spirv(source);
  if (!words.empty()) return words;
  words = translate_glsl(name, source);
  cache_spirv(source, words);
  return words;
}

}  // namespace sg
