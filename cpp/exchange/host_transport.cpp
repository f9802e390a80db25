// Collectives in host memory, from messages between pairs. Each member folds its share of the elements and sends the
// result to the others: each value crosses twice, however many members there are. All parts of a batch go through a
// phase together.
#include <cstring>

#include "exchange/fold.hpp"
#include "exchange/transport.hpp"

namespace sg {
namespace {

using Kind = Collective::Kind;

// A part in host memory.
struct HostPart {
  const Part& part;
  std::byte* in = nullptr;
  std::byte* out = nullptr;
  std::vector<std::byte*> received = {};  // values to fold, by member
  size_t bytes(int64_t elements) const { return static_cast<size_t>(elements) * size_of(part.dtype); }
  size_t unit() const { return bytes(part.count); }
};

class Exchange {
 public:
  Exchange(Group& group, const std::string& what)
      : group_(group), what_(what), me_(group.rank()), size_(group.size()) {}

  void run(std::vector<HostPart>& parts) {
    Messages values(group_, what_);
    for (HostPart& p : parts) first(p, values);
    values.wait();
    for (HostPart& p : parts) between(p);
    Messages results(group_, what_);
    for (HostPart& p : parts) second(p, results);
    results.wait();
  }

 private:
  // The elements that a member folds.
  int64_t begin(const HostPart& p, int member) const { return p.part.count * member / size_; }
  int64_t share(const HostPart& p, int member) const { return begin(p, member + 1) - begin(p, member); }
  template <class F>
  void others(F f) const {
    for (int step = 1; step < size_; ++step) f((me_ + step) % size_);
  }

  void first(HostPart& p, Messages& m) const {
    const Kind kind = p.part.what.kind;
    const int root = p.part.what.root;
    const bool is_root = root == me_;
    if (kind == Kind::all_reduce || kind == Kind::reduce) {
      send_to_fold(p, m, [&](int r) { return begin(p, r); }, [&](int r) { return share(p, r); });
    } else if (kind == Kind::reduce_scatter) {
      send_to_fold(p, m, [&](int r) { return r * p.part.count; }, [&](int) { return p.part.count; });
    } else if (kind == Kind::broadcast) {
      if (is_root) others([&](int r) { m.send(r, Group::kData, p.in, p.unit()); });
      if (!is_root) m.receive(root, Group::kData, p.out, p.unit());
    } else if (kind == Kind::all_gather || kind == Kind::gather) {
      const bool takes = kind == Kind::all_gather || is_root;
      others([&](int r) {
        if (takes) m.receive(r, Group::kData, p.out + static_cast<size_t>(r) * p.unit(), p.unit());
        if (kind == Kind::all_gather || r == root) m.send(r, Group::kData, p.in, p.unit());
      });
    } else if (kind == Kind::scatter) {
      if (is_root) others([&](int r) { m.send(r, Group::kData, p.in + static_cast<size_t>(r) * p.unit(), p.unit()); });
      if (!is_root) m.receive(root, Group::kData, p.out, p.unit());
    } else if (kind == Kind::send) {
      m.send(root, Group::kPair, p.in, p.unit());
    } else if (kind == Kind::receive) {
      m.receive(root, Group::kPair, p.out, p.unit());
    }
  }

  template <class Begin, class Share>
  void send_to_fold(HostPart& p, Messages& m, Begin begin, Share share) const {
    p.received.resize(static_cast<size_t>(size_));
    const size_t mine = p.bytes(share(me_));
    p.received[static_cast<size_t>(me_)] = p.in + p.bytes(begin(me_));
    others([&](int r) {
      p.received[static_cast<size_t>(r)] = m.room(mine);
      m.receive(r, Group::kData, p.received[static_cast<size_t>(r)], mine);
      m.send(r, Group::kData, p.in + p.bytes(begin(r)), p.bytes(share(r)));
    });
  }

  // What needs no other member. `in` and `out` may be the same memory: all values have been sent.
  void between(HostPart& p) const {
    const Kind kind = p.part.what.kind;
    const bool is_root = p.part.what.root == me_;
    const auto copy = [&](size_t to, size_t from) {
      if (p.out + to != p.in + from) std::memmove(p.out + to, p.in + from, p.unit());
    };
    const std::vector<const std::byte*> rows(p.received.begin(), p.received.end());
    const double scale = p.part.what.mean ? 1.0 / size_ : 1.0;
    const auto fold = [&](std::byte* out, int64_t count) {
      fold_rows(p.part.dtype, static_cast<Fold>(p.part.what.fold), rows, out, count, scale);
    };
    if (kind == Kind::reduce_scatter) fold(p.out, p.part.count);
    if (kind == Kind::all_reduce || (kind == Kind::reduce && is_root))
      fold(p.out + p.bytes(begin(p, me_)), share(p, me_));
    if (kind == Kind::reduce && !is_root) {
      fold(p.received[static_cast<size_t>((me_ + 1) % size_)], share(p, me_));
      copy(0, 0);
    }
    if ((kind == Kind::broadcast) && is_root) copy(0, 0);
    if (kind == Kind::all_gather || (kind == Kind::gather && is_root)) copy(static_cast<size_t>(me_) * p.unit(), 0);
    if (kind == Kind::scatter && is_root) copy(0, static_cast<size_t>(me_) * p.unit());
  }

  void second(HostPart& p, Messages& m) const {
    const Kind kind = p.part.what.kind;
    const int root = p.part.what.root;
    if (kind != Kind::all_reduce && kind != Kind::reduce) return;
    const bool takes = kind == Kind::all_reduce || root == me_;
    const std::byte* mine = takes ? p.out + p.bytes(begin(p, me_)) : p.received[static_cast<size_t>((me_ + 1) % size_)];
    others([&](int r) {
      if (takes) m.receive(r, Group::kData, p.out + p.bytes(begin(p, r)), p.bytes(share(p, r)));
      if (kind == Kind::all_reduce || r == root) m.send(r, Group::kData, mine, p.bytes(share(p, me_)));
    });
  }

  Group& group_;
  const std::string& what_;
  const int me_, size_;
};

class HostBatch final : public Batch {
 public:
  HostBatch(Device& device, Group& group, const std::vector<Part>& parts)
      : device_(device), group_(group), parts_(parts) {}

  void run(const std::string& what, const std::function<void()>&) override {
    std::vector<HostPart> host;
    std::vector<std::unique_ptr<std::byte[]>> copies;
    std::vector<BufferRef> used;
    const auto copy_of = [&](size_t bytes) {
      copies.push_back(std::make_unique_for_overwrite<std::byte[]>(bytes));
      return copies.back().get();
    };
    for (const Part& p : parts_) {
      HostPart& h = host.emplace_back(HostPart{p});
      used.push_back(p.in);
      used.push_back(p.out);
      if (p.in->host) {
        p.in->arrive();
        h.in = static_cast<std::byte*>(p.in->host) + p.in_at;
        h.out = static_cast<std::byte*>(p.out->host) + p.out_at;
        continue;
      }
      const size_t bytes = h.bytes(inputs_of(p, group_));
      h.in = copy_of(bytes);
      device_.download(h.in, p.in, p.in_at, bytes);
      h.out = copy_of(h.bytes(outputs_of(p, group_)));
    }
    try {
      Exchange(group_, what).run(host);
    } catch (...) {  // messages may still be under way: the memory stays for good
      for (auto& copy : copies) copy.release();
      new std::vector<BufferRef>(std::move(used));
      throw;
    }
    for (const HostPart& h : host)
      if (const size_t bytes = h.bytes(outputs_of(h.part, group_)); !h.part.out->host && bytes)
        device_.upload(h.part.out, h.out, bytes);
  }

 private:
  Device& device_;
  Group& group_;
  const std::vector<Part>& parts_;
};

class HostTransport final : public Transport {
 public:
  const char* name() const override { return "MPI"; }
  bool takes(DeviceId, const std::vector<Part>&) const override { return true; }
  std::unique_ptr<Batch> prepare(Device& device, Group& group, const std::vector<Part>& parts) override {
    return std::make_unique<HostBatch>(device, group, parts);
  }
};

}  // namespace

int64_t inputs_of(const Part& p, const Group& group) {
  const bool all = p.what.kind == Kind::reduce_scatter || (p.what.kind == Kind::scatter && p.what.root == group.rank());
  return all ? p.count * group.size() : p.count;
}
int64_t outputs_of(const Part& p, const Group& group) {
  if (p.what.kind == Kind::send) return 0;
  if (p.what.kind == Kind::gather && p.what.root != group.rank()) return 0;
  return p.what.kind == Kind::all_gather || p.what.kind == Kind::gather ? p.count * group.size() : p.count;
}

Transport& host_transport() {
  static HostTransport transport;
  return transport;
}

}  // namespace sg
