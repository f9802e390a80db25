// The form of a kernel, and the texts found by it. Equal forms must mean equal text: a pass that looks at something new
// must add it to the form.
#include "device/gpu/lower/shaders.hpp"

#include <cstring>

#include "base/error.hpp"
#include "base/hash.hpp"

namespace sg {
namespace {

uint64_t pair(int32_t low, int32_t high) {
  return static_cast<uint32_t>(low) | uint64_t{static_cast<uint32_t>(high)} << 32;
}

}  // namespace

bool Shader::operator==(const Shader& o) const {
  return hash == o.hash && subgroups == o.subgroups && builtin == o.builtin && constants == o.constants &&
         source == o.source;
}

std::shared_ptr<const Shader> sealed(Shader shader) {
  uint64_t h = hash_mix(std::hash<std::string>()(shader.source), std::hash<std::string>()(shader.builtin));
  for (uint32_t c : shader.constants) h = hash_mix(h, c);
  shader.hash = static_cast<size_t>(h);
  return std::make_shared<const Shader>(std::move(shader));
}

size_t Form::Hash::operator()(const Form& form) const {
  uint64_t h = form.words_.size();
  for (uint64_t word : form.words_) h = hash_add(h, word);
  return static_cast<size_t>(hash_mix(h));
}

void Form::add(std::initializer_list<bool> facts) {
  uint64_t word = 1;
  for (bool fact : facts) word = word << 1 | uint64_t{fact};
  add(word);
}

void Form::add(const std::string& text) {
  add(text.size());
  for (size_t at = 0; at < text.size(); at += sizeof(uint64_t)) {
    uint64_t word = 0;
    std::memcpy(&word, text.data() + at, std::min(sizeof word, text.size() - at));
    add(word);
  }
}

void Form::add(const glsl::Layout& l) {
  const Program& p = l.program();
  words_.reserve(words_.size() + 8 + 4 * (p.views.size() + p.code.size()));
  add({l.wide, l.programs.size() > 1, p.in_place, p.piece_limit > 0, p.part_rows > 0});
  add(pair(p.domain.rank << 8 | p.inner, l.piece_dim));
  add(pair(static_cast<int32_t>(p.views.size()), static_cast<int32_t>(p.code.size())));
  for (int v = 0; v < static_cast<int>(p.views.size()); ++v) {
    uint64_t word = static_cast<uint64_t>(p.views[v].dtype) << 3 | uint64_t{l.has_memory(v)} << 2 |
                    uint64_t{l.negative(v)} << 1 | uint64_t{l.in_fours(v)};
    for (int d = 0; d < p.domain.rank; ++d) word = word << 2 | uint64_t{l.zero(v, d)} << 1 | uint64_t{l.unit(v, d)};
    add(word);
  }
  for (const Instr& i : p.code) {
    add(static_cast<uint64_t>(i.code) | static_cast<uint64_t>(i.dtype) << 8 | static_cast<uint64_t>(i.fold) << 16 |
        uint64_t{i.per_row} << 24 | uint64_t{i.phase} << 32);
    add(pair(i.a, i.b));
    add(pair(i.c, i.slot));
    add(static_cast<uint64_t>(i.imm.i));
  }
}

const Shaders::Written& Shaders::find(Form form, const std::function<Written()>& write) {
  const auto at = known_.find(form);
  if (at == known_.end()) return known_.emplace(std::move(form), write()).first->second;
  if (checked_ && !(*write().shader == *at->second.shader))
    fail<Error>("lower", "a kernel of a known form has another text", "please report it");
  return at->second;
}

}  // namespace sg
