// Owns the status words of runs in flight.
#include "device/gpu/record/status_words.hpp"

#include <cstring>

namespace sg {
namespace {

constexpr size_t kBytes = 32, kBlocks = 256;

struct Word {
  int32_t tag, pad;
  int64_t index, bound;
};
static_assert(sizeof(Word) <= kBytes);

}  // namespace

StatusWords::StatusWords(const Context& context, Queue& queue)
    : queue_(queue), words_(make_host_buffer(context, kBytes * kBlocks, HostUse::arguments)) {}

void StatusWords::renew() {
  harvest();
  if (!reports_.empty() || first_.tag) return;
  block_ = (block_ + 1) % kBlocks;
  const size_t at = block_ * kBytes;
  std::memset(static_cast<std::byte*>(words_.mapped) + at, 0, kBytes);
  address_ = words_.address + at;
}

// Reads the words of finished runs, oldest first.
void StatusWords::harvest() {
  if (reports_.empty()) return;
  const uint64_t done = queue_.completed();
  while (!reports_.empty() && reports_.front().value <= done) {
    const Report& report = reports_.front();
    Word word;
    std::memcpy(&word, static_cast<std::byte*>(words_.mapped) + report.block * kBytes, sizeof word);
    if (word.tag != 0 && first_.tag == 0) {
      Status first = {word.tag, word.index, word.bound, "", {}};
      for (const Report& r : reports_) {  // any of them wrote the word
        if (first.name.empty()) first.name = r.plan->reporter(word.tag);
        if (r.lines) first.runs.push_back(r.lines);
      }
      first_ = std::move(first);
    }
    reports_.pop_front();
  }
}

Status StatusWords::take() {
  harvest();
  if (first_.tag) reports_.clear();  // all of them share the word
  return std::exchange(first_, Status{});
}

}  // namespace sg
