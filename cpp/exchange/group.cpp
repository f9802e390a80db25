// Owns the messages between the members of a group and the patience with them. Knows no tensors.
#include "exchange/group.hpp"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <map>
#include <thread>

#include "base/error.hpp"
#include "base/host.hpp"
#include "exchange/transport.hpp"
#include "os/process.hpp"

namespace sg {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr const char* kOp = "distributed";
constexpr int kSpins = 2000;                 // tests of all messages before a thread gives up its turn
constexpr milliseconds kEager{2};            // how long it then asks again at once
constexpr microseconds kNap{100};            // and then sleeps between two questions
constexpr milliseconds kLook{20};            // between two looks at Ctrl-C, notices and the limit
constexpr milliseconds kLookAtProcess{500};  // and at the process table

std::atomic<bool> somebody_died{false};

std::string seconds(std::chrono::duration<double> time) {
  char text[32];
  std::snprintf(text, sizeof text, "%g s", time.count());
  return text;
}

}  // namespace

// What members tell each other before they exchange values.
struct Group::Header {
  uint64_t signature = 0;  // of one that leaves: its meetings of all
  uint32_t failed = 0;
  uint32_t pairs = 0;   // of one that leaves: its meetings with the receiver alone
  char text[496] = {};  // what comes next, or why it failed
};
struct Group::Notice {
  Header header;
  uint64_t message = 0;
  bool there = false;
  bool gone = false;  // some MPIs crash when they are asked to send there
};

// ---- messages --------------------------------------------------------------------------------------------------------
Messages::~Messages() {
  if (open_.empty()) return;
  for (const Message& m : open_) group_.channel_->give_up(m.number);
  for (auto& room : rooms_) room.release();
}

// MPI may say itself that a process is gone.
template <class F>
auto Messages::with(int member, F call) {
  try {
    return call();
  } catch (const DistributedError& e) {
    group_.notices_[static_cast<size_t>(member)]->gone = true;
    const std::string text = what_ + ": no answer from " + group_.name(member) + " (" + e.what() + ")";
    if (group_.broken_.empty()) group_.break_with(text);
    throw DistributedError(text);
  }
}

void Messages::send(int to, int tag, const void* from, size_t bytes) {
  const auto* begin = static_cast<const std::byte*>(from);
  for (size_t at = 0; at < bytes; at += Channel::kMostBytes) {
    const size_t size = std::min(bytes - at, Channel::kMostBytes);
    open_.push_back({to, with(to, [&] { return group_.channel_->send(to, tag, begin + at, size); })});
  }
}

void Messages::receive(int from, int tag, void* to, size_t bytes) {
  auto* begin = static_cast<std::byte*>(to);
  for (size_t at = 0; at < bytes; at += Channel::kMostBytes) {
    const size_t size = std::min(bytes - at, Channel::kMostBytes);
    open_.push_back({from, with(from, [&] { return group_.channel_->receive(from, tag, begin + at, size); })});
  }
}

std::byte* Messages::room(size_t bytes) {
  rooms_.push_back(std::make_unique_for_overwrite<std::byte[]>(bytes));
  return rooms_.back().get();
}

bool Messages::progress() {
  std::erase_if(open_,
                [&](const Message& m) { return with(m.member, [&] { return group_.channel_->done(m.number); }); });
  return open_.empty();
}

void Messages::wait() {
  group_.wait(
      what_, [this] { return progress(); },
      [this] {
        std::vector<int> missing;
        for (const Message& m : open_)
          if (std::find(missing.begin(), missing.end(), m.member) == missing.end()) missing.push_back(m.member);
        return missing;
      });
}

// ---- the group -------------------------------------------------------------------------------------------------------
void Group::wait(const std::string& what, const std::function<bool()>& done,
                 const std::function<std::vector<int>()>& missing) {
  const auto begin = Clock::now();
  auto looked = begin;
  try {
    for (int turns = 0; !done(); ++turns) {
      if (turns < kSpins) continue;
      const auto now = Clock::now();
      if (now - begin < kEager)
        std::this_thread::yield();
      else
        std::this_thread::sleep_for(kNap);
      if (now - looked < kLook) continue;
      looked = now;
      look_after(what, missing(), begin);
    }
  } catch (const std::exception& e) {
    if (broken_.empty()) break_with(e.what());
    throw;
  } catch (...) {  // Ctrl-C
    break_with(what + " was interrupted");
    leave(what + " was interrupted");
    throw;
  }
}

Group::Group(int32_t number, std::unique_ptr<Channel> channel, std::vector<Member> members,
             std::chrono::duration<double> limit)
    : number_(number),
      channel_(std::move(channel)),
      members_(std::move(members)),
      limit_(limit),
      pairs_(members_.size()) {
  for (int m = 0; m < size(); ++m) {
    notices_.push_back(std::make_unique<Notice>());
    if (m == rank()) continue;
    Notice& notice = *notices_.back();
    notice.message = channel_->receive(m, kLeaving, &notice.header, sizeof notice.header);
  }
}

void Group::use(std::unique_ptr<Transport> direct) { direct_ = std::move(direct); }

// With a process gone, MPI is not asked for anything more: some crash.
Group::~Group() {
  for (int m = 0; m < size(); ++m)
    if (m != rank() && !notices_[static_cast<size_t>(m)]->there) {
      if (broken_.empty()) channel_->give_up(notices_[static_cast<size_t>(m)]->message);
      notices_[static_cast<size_t>(m)].release();  // MPI may still write to it
    }
}

std::string Group::name(int member) const {
  return "process " + std::to_string(members_[static_cast<size_t>(member)].process);
}

bool Group::is_on_one_machine() const {
  return std::ranges::all_of(members_, [](const Member& m) { return m.pid != 0; });
}

bool Group::may_be_gone(int member) const {
  const int64_t pid = members_[static_cast<size_t>(member)].pid;
  return pid ? os::has_ended(pid) : somebody_died.load();
}

void Group::look() {
  for (int m = 0; m < size(); ++m)
    if (m != rank()) has_left(m);
}

bool Group::has_failed() {
  for (int m = 0; m < size(); ++m)
    if (m != rank() && (has_left(m) ? notices_[static_cast<size_t>(m)]->header.failed : may_be_gone(m))) return true;
  return !broken_.empty();
}

bool Group::has_ended() {
  for (int m = 0; m < size(); ++m)
    if (m != rank() && !has_left(m) && !may_be_gone(m)) return false;
  return true;
}

bool Group::has_left(int member) {
  Notice& notice = *notices_[static_cast<size_t>(member)];
  try {
    if (!notice.there) notice.there = channel_->done(notice.message);
  } catch (const DistributedError& e) {
    notice.there = notice.gone = true;
    notice.header = header(0, "", e.what());
  }
  return notice.there;
}

// A process ends when it has what it needs, which may be before others do.
bool Group::did_its_part(int member) const {
  const Header& last = notices_[static_cast<size_t>(member)]->header;
  if (last.failed) return false;
  if (partner_ < 0) return last.signature >= meetings_;
  return member != partner_ || last.pairs >= pairs_[static_cast<size_t>(member)];
}

void Group::raise_if_broken() const {
  if (!broken_.empty())
    fail<DistributedError>(kOp, "processes no longer work together since: " + broken_,
                           "call destroy_process_group() to go on alone, or end the program");
}

void Group::look_after(const std::string& what, const std::vector<int>& missing, Clock::time_point since) {
  host().check_interrupts();
  const auto now = Clock::now();
  for (int m = 0; m < size(); ++m) {
    if (m == rank()) continue;
    if (has_left(m) && !did_its_part(m))
      fail<DistributedError>(what, name(m) + " takes part no more: " + notices_[static_cast<size_t>(m)]->header.text,
                             "see its output");
  }
  static Clock::time_point looked;
  if (now - looked > kLookAtProcess) {
    looked = now;
    for (int m : missing)
      if (!notices_[static_cast<size_t>(m)]->there && os::has_ended(members_[static_cast<size_t>(m)].pid))
        fail<DistributedError>(
            what, name(m) + " (pid " + std::to_string(members_[static_cast<size_t>(m)].pid) + ") has ended",
            "see its output for the reason");
  }
  if (now - since > limit_) {
    std::string who;
    for (int m : missing) {
      who += (who.empty() ? "" : ", ") + name(m);
      if (may_be_gone(m)) notices_[static_cast<size_t>(m)]->gone = true;
    }
    fail<DistributedError>(what, who + " did not come within " + seconds(limit_),
                           "look there for what hangs; init_process_group(timeout=...) sets the limit");
  }
}

Group::Header Group::header(uint64_t signature, const std::string& what, const std::string& failure) const {
  Header h;
  h.signature = signature;
  h.failed = !failure.empty();
  const std::string& text = failure.empty() ? what : failure;
  text.copy(h.text, sizeof h.text - 1);
  return h;
}

void Group::compare(const Header& mine, const std::vector<std::pair<int, const Header*>>& others) const {
  if (mine.failed) return;
  for (const auto& [m, other] : others)
    if (other->failed)
      fail<DistributedError>(mine.text, name(m) + " failed: " + other->text,
                             "nothing was exchanged; see the output of that process");
  for (const auto& [m, other] : others)
    if (other->signature != mine.signature)
      fail<DistributedError>(mine.text, name(m) + " calls " + std::string(other->text) + " instead",
                             "all processes must call the same collectives, with equal shapes and types, in one order");
}

void Group::meet(uint64_t signature, const std::string& what, const std::string& failure) {
  raise_if_broken();
  ++meetings_;
  partner_ = -1;
  const Header mine = header(signature, what, failure);
  Messages messages(*this, what);
  auto* sent = reinterpret_cast<Header*>(messages.room(sizeof mine));
  std::memcpy(sent, &mine, sizeof mine);
  std::vector<std::pair<int, const Header*>> others;
  for (int m = 0; m < size(); ++m) {
    if (m == rank()) continue;
    auto* theirs = reinterpret_cast<Header*>(messages.room(sizeof mine));
    others.emplace_back(m, theirs);
    messages.receive(m, kMeet, theirs, sizeof mine);
    messages.send(m, kMeet, sent, sizeof mine);
  }
  const auto cancel = [this] {
    if (direct_) direct_->cancel();
  };
  try {
    messages.wait();
    compare(mine, others);
  } catch (...) {
    cancel();
    throw;
  }
  if (mine.failed) cancel();
}

void Group::meet_one(int member, uint64_t signature, const std::string& what) {
  raise_if_broken();
  ++pairs_[static_cast<size_t>(member)];
  partner_ = member;
  const Header mine = header(signature, what, "");
  Messages messages(*this, what);
  auto* sent = reinterpret_cast<Header*>(messages.room(sizeof mine));
  auto* theirs = reinterpret_cast<Header*>(messages.room(sizeof mine));
  std::memcpy(sent, &mine, sizeof mine);
  messages.receive(member, kPair, theirs, sizeof mine);
  messages.send(member, kPair, sent, sizeof mine);
  messages.wait();
  compare(mine, {{member, theirs}});
}

void Group::leave(const std::string& why) noexcept {
  try {
    for (int m = 0; m < size(); ++m) {
      if (m == rank()) continue;
      const Notice& last = *notices_[static_cast<size_t>(m)];
      if (last.gone || (has_left(m) && last.header.failed)) continue;  // it does not look any more
      auto* notice = new Header(header(meetings_, "it ended", why));   // as long as MPI needs it
      notice->pairs = pairs_[static_cast<size_t>(m)];
      channel_->done(channel_->send(m, kLeaving, notice, sizeof *notice));
    }
  } catch (...) {  // the others find out by themselves
  }
}

void note_death() noexcept { somebody_died = true; }

// ---- all groups ------------------------------------------------------------------------------------------------------
namespace {
struct Groups {
  int32_t last = 0;
  std::map<int32_t, std::unique_ptr<Group>> all;
};
Groups& groups() {
  static auto* all = new Groups;
  return *all;
}
}  // namespace

Group& group_of(int32_t number) {
  const auto it = groups().all.find(number);
  if (it == groups().all.end())
    fail<DistributedError>(kOp, "the process group was destroyed", "call init_process_group() again");
  return *it->second;
}

int32_t add_group(std::unique_ptr<Channel> channel, std::vector<Member> members, std::chrono::duration<double> limit) {
  const int32_t number = ++groups().last;
  groups().all[number] = std::make_unique<Group>(number, std::move(channel), std::move(members), limit);
  return number;
}

void close_groups() { groups().all.clear(); }
bool any_broken() {
  return std::ranges::any_of(groups().all, [](const auto& group) { return group.second->has_failed(); });
}
bool all_ended() {
  return std::ranges::all_of(groups().all, [](const auto& group) { return group.second->has_ended(); });
}

void leave_groups(const std::string& why) noexcept {
  for (auto& [number, group] : groups().all) group->leave(why);
}

}  // namespace sg
