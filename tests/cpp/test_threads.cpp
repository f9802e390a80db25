// Several threads on one engine: recording, cutting, reading, writing one tensor, dropping. Run under the thread
// sanitizer by the lane tsan, whose canary is here.
#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <functional>
#include <numeric>
#include <thread>
#include <vector>

#include "spirograd.hpp"

namespace {

using namespace sg;
constexpr int kThreads = 4;

void at_once(const std::function<void(int)>& work) {
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) threads.emplace_back(work, t);
  for (std::thread& t : threads) t.join();
}

bool all_are(const Tensor& x, float value) {
  const std::vector<float> all = values(x);
  return std::all_of(all.begin(), all.end(), [&](float v) { return v == value; });
}

}  // namespace

TEST_CASE("threads: each computes its own") {
  std::atomic<int> wrong{0};
  const Tensor shared = full({100}, 2.0, DType::float32, {});
  at_once([&](int t) {
    for (int i = 0; i < 50; ++i) {
      const Tensor x = full({100}, double(t + 1), DType::float32, {});
      wrong += !all_are((x * shared + Tensor(i)) * 2, static_cast<float>(((t + 1) * 2 + i) * 2));
    }
  });
  CHECK(wrong == 0);
}

TEST_CASE("threads: of writes in place none is lost") {
  const Tensor x = full({64}, 0, DType::float32, {});
  at_once([&](int) {
    for (int i = 0; i < 200; ++i) {
      rewrite_(x, [](const Tensor& before) { return before + 1; });
      if (i % 50 == 49) flush({});
    }
  });
  CHECK(all_are(x, 200 * kThreads));
}

TEST_CASE("threads: one writes all of a tensor, others read it whole") {
  const Tensor x = full({4096}, 0, DType::float32, {});
  std::atomic<int> torn{0};
  at_once([&](int t) {
    for (int i = 1; i <= 100; ++i) {
      if (t == 0) {
        rewrite_(x, [](const Tensor& before) { return before + 1; });
        flush({});
      } else {
        const std::vector<float> seen = values(x);
        torn += std::any_of(seen.begin(), seen.end(), [&](float v) { return v != seen[0]; });
      }
    }
  });
  CHECK(torn == 0);
  CHECK(all_are(x, 100));
}

TEST_CASE("threads: steps of several optimisers on one parameter add up") {
  Tensor w = full({32}, 0, DType::float32, {});
  w.requires_grad_();
  w.set_grad(full({32}, 1, DType::float32, {}));
  at_once([&](int) {
    States states;
    for (int i = 0; i < 50; ++i) {
      sgd_step({w}, states, {.lr = 1.0});
      if (i % 20 == 0) flush({});
    }
  });
  CHECK(all_are(w, -50 * kThreads));
}

TEST_CASE("threads: gradients that reach one leaf add up") {
  Tensor w = full({32}, 3, DType::float32, {});
  w.requires_grad_();
  at_once([&](int) {
    for (int i = 0; i < 25; ++i) backward(sum(w * w, all_axes(w)));
  });
  CHECK(all_are(w.grad(), 6 * 25 * kThreads));
}

TEST_CASE("threads: two passes over one graph give its gradient, or say that it is freed") {
  for (int round = 0; round < 20; ++round) {
    Tensor w = full({32}, 3, DType::float32, {});
    w.requires_grad_();
    const Tensor loss = sum(exp(w) * w, all_axes(w));
    std::atomic<int> passes{0};
    at_once([&](int) {
      try {
        backward(loss);
        ++passes;
      } catch (const Error&) {
      }
    });
    CHECK(passes <= kThreads);
    if (w.grad()) values(w.grad());
  }
}

TEST_CASE("threads: what one holds another may drop") {
  std::vector<Tensor> shared;
  for (int i = 0; i < 100; ++i) shared.push_back(full({16}, i, DType::float32, {}));
  std::atomic<int> wrong{0};
  at_once([&](int t) {
    std::vector<Tensor> mine;
    for (int i = 0; i < 100; ++i) mine.push_back(shared[static_cast<size_t>(i)] + Tensor(t));
    for (size_t i = 0; i < mine.size(); i += 3) mine[i] = {};
    flush({});
    for (size_t i = 1; i < mine.size(); i += 3)
      wrong += !all_are(mine[i], static_cast<float>(i) + static_cast<float>(t));
  });
  CHECK(wrong == 0);
}

TEST_CASE("threads: one that computes keeps nobody from reading") {
  const Tensor big = full({700, 700}, 1.0 / 1024, DType::float32, {}), small = full({4}, 1, DType::float32, {});
  values(big), values(small);
  std::atomic<int> computing{kThreads / 2}, reads{0}, wrong{0};
  at_once([&](int t) {
    if (t % 2) {
      const Tensor y = matmul(matmul(big, big), matmul(big, big));
      wrong += values(y)[0] != values(y)[1];
      --computing;
      return;
    }
    while (computing == kThreads / 2) {
      wrong += !all_are(small + Tensor(t), static_cast<float>(t) + 1);
      ++reads;
    }
  });
  CHECK(wrong == 0);
  CHECK(reads > 100);
}

TEST_CASE("threads: several run one plan at once") {
  const Tensor weight = full({192, 192}, 1.0 / 64, DType::float32, {});
  std::atomic<int> wrong{0};
  at_once([&](int t) {
    for (int i = 0; i < 20; ++i) {
      const Tensor x = full({64, 192}, t + 1, DType::float32, {});
      wrong += !all_are(matmul(relu(matmul(x, weight)), weight), 9.f * static_cast<float>(t + 1));
    }
  });
  CHECK(wrong == 0);
}

TEST_CASE("threads: what one computes another waits for, and may write over") {
  for (int round = 0; round < 10; ++round) {
    const Tensor x = full({256, 256}, 1.0 / 256, DType::float32, {});
    const Tensor y = matmul(x, x);
    std::atomic<int> wrong{0};
    at_once([&](int t) {
      if (t == 0) {
        wrong += !all_are(y, 1.f / 256);
      } else if (t == 1) {
        const Tensor z = y + 1;
        wrong += !all_are(z, 1 + 1.f / 256);
      } else {
        rewrite_(x, [](const Tensor& before) { return before * 2; });
        flush({});
      }
    });
    CHECK(wrong == 0);
    CHECK(all_are(x, 4.f / 256));
  }
}

TEST_CASE("threads: each is told of its own failures") {
  const Tensor table = full({64}, 5, DType::float32, {});
  std::atomic<int> raised{0}, wrong{0};
  at_once([&](int t) {
    for (int i = 0; i < 40; ++i) {
      const bool bad = t == 1 && i % 4 == 0;
      const Tensor index = arange_int(bad ? 1 : 0, 1, 64, DType::int64);
      try {
        wrong += !all_are(take(table, index) * 2, 10) || bad;
      } catch (const IndexError&) {
        raised += bad;
        wrong += !bad;
      }
    }
  });
  CHECK(wrong == 0);
  CHECK(raised == 10);
}

TEST_CASE("threads: counters are read while others count") {
  at_once([&](int t) {
    for (int i = 0; i < 50; ++i) {
      if (t == 0)
        stats();
      else
        values(full({256}, t, DType::float32, {}) * 2);
    }
  });
  CHECK(stats().device.bytes_live >= 0);
}

TEST_CASE("canary: two threads write one place", "[.][canary-race]") {
  int place = 0;
  at_once([&](int t) {
    for (int i = 0; i < 1000; ++i) place += t;
  });
  CHECK(place >= 0);
}
