// Members of a group that end before others, over a channel in memory.
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "base/error.hpp"
#include "exchange/group.hpp"

namespace {

using namespace sg;
using namespace std::chrono_literals;

// What was sent and not yet received, by sender, receiver and tag.
struct Network {
  std::mutex mutex;
  std::map<std::tuple<int, int, int>, std::deque<std::vector<char>>> sent;
};

class Wire final : public Channel {
 public:
  Wire(Network& network, int rank, int size) : network_(network), rank_(rank), size_(size) {}
  int rank() const override { return rank_; }
  int size() const override { return size_; }
  uint64_t send(int to, int tag, const void* from, size_t bytes) override {
    const std::lock_guard lock(network_.mutex);
    const char* begin = static_cast<const char*>(from);
    network_.sent[{rank_, to, tag}].emplace_back(begin, begin + bytes);
    return 0;
  }
  uint64_t receive(int from, int tag, void* to, size_t bytes) override {
    receives_[++last_] = {from, tag, to, bytes};
    return last_;
  }
  bool done(uint64_t message) override {
    if (message == 0) return true;
    const auto& [from, tag, to, bytes] = receives_.at(message);
    const std::lock_guard lock(network_.mutex);
    auto& queue = network_.sent[{from, rank_, tag}];
    if (queue.empty()) return false;
    std::memcpy(to, queue.front().data(), bytes);
    queue.pop_front();
    receives_.erase(message);
    return true;
  }
  void give_up(uint64_t message) noexcept override { receives_.erase(message); }

 private:
  struct Receive {
    int from, tag;
    void* to;
    size_t bytes;
  };
  Network& network_;
  const int rank_, size_;
  uint64_t last_ = 0;
  std::map<uint64_t, Receive> receives_;
};

constexpr int kSize = 3;

// Each member does its part at the same time; what it raised, or "".
std::vector<std::string> run(const std::vector<std::function<void(Group&)>>& parts) {
  Network network;
  std::vector<std::string> raised(kSize);
  std::vector<std::thread> threads;
  for (int r = 0; r < kSize; ++r)
    threads.emplace_back([&, r] {
      Group group(1, std::make_unique<Wire>(network, r, kSize), {{0, 0}, {1, 0}, {2, 0}}, 5s);
      try {
        parts[static_cast<size_t>(r)](group);
      } catch (const DistributedError& e) {
        raised[static_cast<size_t>(r)] = e.what();
      }
      group.leave(raised[static_cast<size_t>(r)]);
    });
  for (std::thread& t : threads) t.join();
  return raised;
}

void send_late(Group& group, int to, int tag) {
  std::this_thread::sleep_for(200ms);
  const int value = 7;
  Messages messages(group, "values");
  messages.send(to, tag, &value, sizeof value);
  messages.wait();
}

int received(Group& group, int from, int tag) {
  int value = 0;
  Messages messages(group, "values");
  messages.receive(from, tag, &value, sizeof value);
  messages.wait();
  return value;
}

}  // namespace

TEST_CASE("a member may end while others are still in the last collective", "[exchange]") {
  int value = 0;
  const auto raised = run({[&](Group& g) {
                             g.meet(1, "sum", "");
                             value = received(g, 1, Group::kData);
                           },
                           [](Group& g) {
                             g.meet(1, "sum", "");
                             send_late(g, 0, Group::kData);
                           },
                           [](Group& g) { g.meet(1, "sum", ""); }});
  CHECK(raised == std::vector<std::string>(kSize));
  CHECK(value == 7);
}

TEST_CASE("one that ends before the others' next collective is missed at once", "[exchange]") {
  const auto both = [](Group& g) {
    g.meet(1, "sum", "");
    g.meet(2, "next", "");
  };
  const auto begin = std::chrono::steady_clock::now();
  const auto raised = run({both, both, [](Group& g) { g.meet(1, "sum", ""); }});
  CHECK(std::chrono::steady_clock::now() - begin < 3s);
  for (int r : {0, 1}) CHECK(raised[static_cast<size_t>(r)].find("takes part no more") != std::string::npos);
}

TEST_CASE("one that has failed ends what the others do", "[exchange]") {
  const auto raised = run({[](Group& g) {
                             g.meet(1, "sum", "");
                             received(g, 1, Group::kData);
                           },
                           [](Group& g) {
                             g.meet(1, "sum", "");
                             received(g, 0, Group::kData);
                           },
                           [](Group& g) {
                             g.meet(1, "sum", "");
                             fail<DistributedError>("test", "it broke", "nothing");
                           }});
  for (int r : {0, 1}) CHECK(raised[static_cast<size_t>(r)].find("takes part no more") != std::string::npos);
}

TEST_CASE("two exchange values after a third has ended, but not with one that has", "[exchange]") {
  int value = 0;
  const auto raised = run({[&](Group& g) {
                             g.meet_one(1, 1, "send");
                             value = received(g, 1, Group::kPair);
                             g.meet_one(2, 1, "send");
                           },
                           [](Group& g) {
                             std::this_thread::sleep_for(100ms);
                             g.meet_one(0, 1, "send");
                             send_late(g, 0, Group::kPair);
                           },
                           [](Group&) {}});
  CHECK(value == 7);
  CHECK(raised[0].find("process 2 takes part no more: it ended") != std::string::npos);
  CHECK(raised[1].empty());
}
