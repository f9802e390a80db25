// From tensors to a batch of collectives and its run: begun when its log runs, finished when something needs it or what
// comes after it. Knows no way to move bytes: exchange/ does.
#include "engine/exchange.hpp"

#include <algorithm>
#include <chrono>
#include <thread>
#include <typeinfo>

#include "base/error.hpp"
#include "base/hash.hpp"
#include "base/host.hpp"
#include "base/profile.hpp"
#include "engine/engine.hpp"
#include "engine/flush.hpp"
#include "engine/replay/capture.hpp"
#include "engine/run_status.hpp"
#include "exchange/transport.hpp"
#include "graph/build.hpp"
#include "graph/watcher.hpp"
#include "ops/list.hpp"

namespace sg {
namespace {

void expand_collective(const Node& node, bool, Expansion& e) {
  const auto what = node.parameters.as<Collective>();
  CustomKernel& custom = e.launch(name_of(what.kind));
  custom.tensors = {{0, node.in[0].dtype}, {e.result(), node.dtype, true}};
  custom.words.assign(node.domain.begin(), node.domain.end());
  custom.collective = what;
}
const OpInfo kCollective{.name = "collective",
                         .doc = "What processes do together, each with one tensor.",
                         .kind = Kind::kernel,
                         .arity = 1,
                         .expand = expand_collective,
                         .stores = true};

std::string text_of(const Collective& what, size_t parts, DType dtype, const std::vector<int64_t>& shape) {
  const Collective::Kind kind = what.sums ? Collective::Kind::all_reduce : what.kind;
  std::string text = name_of(kind);
  if (folds(kind)) text += std::string("(") + (what.mean ? "mean" : name_of(static_cast<Fold>(what.fold))) + ")";
  text += parts == 1 ? " of " : " of " + std::to_string(parts) + " tensors, the first ";
  text += std::string(name_of(dtype)) + " [";
  for (size_t d = 0; d < shape.size(); ++d) text += (d ? ", " : "") + std::to_string(shape[d]);
  return text + "]";
}

// What n is to a collective of a tensor of so many elements.
int64_t count_of(const Collective& what, int64_t input, int64_t output) {
  return what.kind == Collective::Kind::reduce_scatter || what.kind == Collective::Kind::scatter ? output : input;
}

void tell(const Collective& what, const std::string& text, const std::exception_ptr& error) noexcept {
  try {
    std::string why = "an error";
    try {
      std::rethrow_exception(error);
    } catch (const DistributedError&) {  // the others know
      return;
    } catch (const Interruption&) {
      return;
    } catch (const std::exception& e) {
      why = e.what();
    } catch (...) {
    }
    const HostPaused paused;
    Group& group = group_of(what.group);
    if (group.broken().empty() && !is_between_two(what.kind)) group.meet(0, text, why);
  } catch (...) {  // the others find out by themselves
  }
}

constexpr std::chrono::milliseconds kAwake{50};  // then the thread sleeps while the device computes

// A batch between the hand-over and the end. Members meet in the order of their batches, so there is one at most.
class UnderWay {
 public:
  UnderWay(DeviceId id, const Collective& what, const std::string& text, uint64_t signature, std::vector<Part> parts)
      : what_(what), text_(text), signature_(signature), id_(id), parts_(std::move(parts)) {
    Group& group = group_of(what_.group);
    Transport* direct = group.direct();
    if (direct && !direct->takes(id, parts_)) direct = nullptr;
    if (direct) {
      text_ += std::string(" by ") + direct->name();
      signature_ = hash_mix(signature_, 1);
    } else if (group.direct() && id.is_gpu()) {
      text_ += " on " + id.str() + " by way of the host";
    }
    Transport& transport = direct ? *direct : host_transport();
    try {
      batch_ = transport.prepare(device_of(id), group, parts_);
    } catch (const DistributedError& error) {  // of this process alone, unlike all others of this type
      group.meet(0, text_, error.what());
      throw;
    }
  }
  DeviceId device() const { return id_; }
  bool is_broken() const { return !group_of(what_.group).broken().empty(); }

  void finish(const std::function<void()>& meanwhile) {
    const Stage stage("exchange", "stage", id_);
    const HostPaused paused;
    Group& group = group_of(what_.group);
    Device& device = device_of(id_);
    const bool early = !device.is_idle() && batch_->give_way();
    if (early) meanwhile();
    stay_awake(device, group);
    device.wait();
    learn(id_);
    for (const NodeRef& node : sources) {
      is_told = sg::is_told(*node);
      raise_if_lost(*node);
    }
    retire(id_, runs_);
    meet(group);
    const Stage moving("collective", "stage", id_);
    batch_->run(text_, early ? [] {} : meanwhile);
  }
  // What reads a result raises the error; the others hear of it. What took one has its old value again.
  void fail(const std::exception_ptr& error) noexcept {
    for (const NodeRef& node : results) {
      node->state = Node::State::failed;
      node->error = error;
    }
    for (const Taken& t : taken) give_back(t);
    tell(what_, text_, error);
  }

  struct Taken {
    Ref<Storage> storage;
    NodeRef before, result;
  };
  bool is_told = false;  // why it failed was raised before, where a result was used
  std::vector<NodeRef> sources, results;
  std::vector<Taken> taken;

 private:
  // A thread that sleeps goes on 0.1 ms late, and MPI's code is in the caches if it was called just before.
  static void stay_awake(Device& device, Group& group) {
    const auto last = std::chrono::steady_clock::now() + kAwake;
    while (!device.is_idle() && std::chrono::steady_clock::now() < last) {
      group.look();
      std::this_thread::yield();
    }
  }
  void meet(Group& group) {
    const Stage stage("meet", "stage", id_);
    if (is_between_two(what_.kind))
      group.meet_one(what_.root, signature_, text_);
    else
      group.meet(signature_, text_, "");
  }

  // A write that is pending has the storage's value before it: that is the old one now.
  void give_back(const Taken& t) const noexcept {
    if (Log* log = t.storage->node->log; t.storage->node->pending() && log)
      for (Assignment& write : log->assignments)
        if (write.storage == t.storage && write.before == t.result) {
          write.before = t.before;
          return;
        }
    if (t.storage->node.ref() == t.result) t.storage->node = Held(t.before);
  }

  const uint32_t runs_ = last_run();  // up to the one that makes the sources
  Collective what_;
  std::string text_;
  uint64_t signature_;
  DeviceId id_;
  std::vector<Part> parts_;  // which the batch refers to
  std::unique_ptr<Batch> batch_;
};
std::unique_ptr<UnderWay> under_way;
int failed_batches = 0;  // at their end

class ExchangePlan final : public Prepared {
 public:
  explicit ExchangePlan(std::shared_ptr<const Plan> plan) : plan_(std::move(plan)) {
    for (const Step& step : plan_->steps) steps_.push_back(&step);
    std::ranges::sort(steps_, {}, [](const Step* step) { return step->nodes.front(); });
    const CustomKernel& first = *steps_.front()->only().kernel.custom;
    what_ = first.collective;
    text_ = text_of(what_, steps_.size(), first.tensors[0].dtype, first.words);
    // A root is named by its own number, who sends and who receives by the other's.
    signature_ = is_between_two(what_.kind)
                     ? 0
                     : hash_mix(static_cast<uint64_t>(what_.kind) << 40 ^ static_cast<uint64_t>(what_.sums) << 37 ^
                                static_cast<uint64_t>(what_.mean) << 36 ^ static_cast<uint64_t>(what_.fold) << 32 ^
                                static_cast<uint64_t>(what_.root));
    for (const Step* step : steps_) {
      const CustomKernel& custom = *step->only().kernel.custom;
      signature_ = hash_mix(signature_, static_cast<uint64_t>(custom.tensors[0].dtype));
      signature_ = hash_mix(signature_, static_cast<uint64_t>(count(*step)));
    }
  }
  int64_t bytes() const override { return static_cast<int64_t>(sizeof *this + steps_.size() * sizeof(Step*)); }

  void begin(DeviceId id, const RunArguments& arguments) const {
    const Stage stage("exchange", "stage", id);
    std::vector<Part> parts;
    for (const Step* step : steps_) parts.push_back(part(*step, arguments));
    under_way = std::make_unique<UnderWay>(id, what_, text_, signature_, std::move(parts));
  }

 private:
  int64_t elements(const Instance& i, int tensor) const {
    const CustomKernel::Tensor& t = i.kernel.custom->tensors[static_cast<size_t>(tensor)];
    const auto memory = static_cast<size_t>(i.bindings[static_cast<size_t>(t.binding)].memory);
    return plan_->memories[memory].bytes / static_cast<int64_t>(size_of(t.dtype));
  }
  static int64_t input_of(const Instance& i) {
    int64_t n = 1;
    for (int64_t size : i.kernel.custom->words) n *= size;
    return n;
  }
  int64_t count(const Step& step) const { return count_of(what_, input_of(step.only()), elements(step.only(), 1)); }
  Part part(const Step& step, const RunArguments& arguments) const {
    const Instance& i = step.only();
    const CustomKernel& custom = *i.kernel.custom;
    Part p;
    p.what = custom.collective;
    p.dtype = custom.tensors[0].dtype;
    p.count = count(step);
    const auto place = [&](int tensor, size_t& at) -> BufferRef {
      const CustomKernel::Tensor& t = custom.tensors[static_cast<size_t>(tensor)];
      const Binding& b = i.bindings[static_cast<size_t>(t.binding)];
      const Memory& m = plan_->memories[static_cast<size_t>(b.memory)];
      at = static_cast<size_t>(t.offset + (b.start < 0 ? 0 : arguments.offsets[b.start])) * size_of(t.dtype);
      return m.kind == Memory::Kind::leaf ? arguments.leaves[m.index] : arguments.outputs[m.index];
    };
    p.in = place(0, p.in_at);
    p.out = place(1, p.out_at);
    return p;
  }

  std::shared_ptr<const Plan> plan_;
  std::vector<const Step*> steps_;  // in the order of the log
  Collective what_;
  std::string text_;
  uint64_t signature_ = 0;
};

int64_t result_size(const Collective& what, const Tensor& x, const Group& group) {
  const int64_t n = x.numel(), size = group.size();
  const bool is_root = what.root == group.rank();
  if (what.kind == Collective::Kind::send || (what.kind == Collective::Kind::gather && !is_root)) return 1;
  if (what.kind == Collective::Kind::all_gather || what.kind == Collective::Kind::gather) return n * size;
  if (what.kind == Collective::Kind::reduce_scatter || (what.kind == Collective::Kind::scatter && is_root)) {
    if (n % size)
      fail<ValueError>(name_of(what.kind), std::to_string(n) + " elements for " + std::to_string(size) + " processes",
                       "give a multiple");
    return n / size;
  }
  return n;
}

// Whether sums are made of gathered values. All members find the same, or call something else.
bool rather_gathers(const std::vector<Tensor>& inputs, const Collective& what, const Group& group) {
  const DType dtype = inputs[0].dtype();
  const bool floats = dtype == DType::float32 || dtype == DType::float16 || dtype == DType::bfloat16;
  size_t bytes = 0;
  for (const Tensor& x : inputs) {
    if (x.dtype() != dtype) return false;
    bytes += static_cast<size_t>(x.numel()) * size_of(dtype);
  }
  return what.kind == Collective::Kind::all_reduce && static_cast<Fold>(what.fold) == Fold::sum && floats &&
         inputs[0].device().is_gpu() && group.direct() && group.direct()->rather_gathers(group, bytes);
}

// In the order of fold_rows(), so MPI's bits: neighbours first, then neighbouring pairs.
Tensor sum_of(const Tensor& own, const Tensor& gathered, const Group& group, bool mean) {
  const int64_t n = own.numel(), members = group.size();
  std::vector<Tensor> values;
  for (int64_t m = 0; m < members; ++m) {
    const Tensor x = m == group.rank() ? reshape(own.detach(), {n}) : slice(gathered, 0, m * n, n, 1);
    const Tensor wide = cast(x, DType::float32);
    values.push_back(mean ? mul(wide, Tensor(1.0 / static_cast<double>(members))) : wide);
  }
  for (; values.size() > 1; values.resize((values.size() + 1) / 2))
    for (size_t m = 0; m < values.size(); m += 2)
      values[m / 2] = m + 1 < values.size() ? add(values[m], values[m + 1]) : values[m];
  return cast(values[0], gathered.dtype());
}

}  // namespace

std::vector<Tensor> exchange(const std::vector<Tensor>& inputs, const Collective& what, bool later) {
  if (inputs.empty()) return {};
  const char* name = name_of(what.kind);
  const DeviceId id = inputs[0].device();
  Group& group = group_of(what.group);
  group.raise_if_broken();
  for (const Tensor& x : inputs) {
    common_device(name, {&inputs[0], &x});
    if (x.numel() == 0) fail<ValueError>(name, "a tensor without elements", "leave it out");
  }
  if (rather_gathers(inputs, what, group)) {
    Collective gather = what;
    gather.kind = Collective::Kind::all_gather;
    gather.sums = 1;
    std::vector<Tensor> results = exchange(inputs, gather, later);
    const GradMode off(false);
    for (size_t i = 0; i < results.size(); ++i) results[i] = sum_of(inputs[i], results[i], group, what.mean);
    return results;
  }
  const std::string text =
      text_of(what, inputs.size(), inputs[0].dtype(), {inputs[0].shape().begin(), inputs[0].shape().end()});
  const GradMode off(false);
  const EngineLock lock;
  const int before = failed_batches;
  Log& log = log_of(id);
  std::vector<Tensor> sources, results;
  try {
    for (const Tensor& x : inputs) {
      const Node& node = *x->storage->node.get();
      const bool shared = node.buffer && node.buffer->shared;  // what reads it runs at once, and would not be one batch
      sources.push_back(shared ? clone(x.detach()) : contiguous(x.detach()));
    }
    flush(id);
    finish_exchange();
    begin_whole(id);  // no limit of a log cuts the batch
    for (const Tensor& x : sources)
      results.push_back(custom_kernel(kCollective, {x}, Dims{result_size(what, x, group)}, x.dtype(), what));
  } catch (...) {
    take_back(id);
    if (!log.nodes.empty() && is_exchange(log)) give_up(log, std::current_exception());
    if (before == failed_batches) tell(what, text, std::current_exception());  // else the others know
    throw;
  }
  flush_log(log);
  for (const Tensor& x : sources) under_way->sources.push_back(x->storage->node.ref());
  for (const Tensor& x : results) under_way->results.push_back(x->storage->node.ref());
  if (!later || !id.is_gpu() || capture()) finish_exchange();
  return results;
}

bool take_result(const Tensor& target, const Tensor& result) {
  const EngineLock lock;
  const auto is_all = [](const Tensor& x) {
    return x.contiguous() && x->offset == 0 && x.numel() == x->storage->node->numel;
  };
  Storage& storage = *target->storage;
  NodeRef before = storage.node.ref();
  const NodeRef& now = result->storage->node.ref();
  const bool shared = before->buffer && before->buffer->shared;  // others look at that memory
  if (capture() || watcher || before->pending() || now->state != Node::State::ready || shared || !is_all(target) ||
      !is_all(result) || target.dtype() != result.dtype() || !(target.device() == result.device()))
    return false;
  if (under_way) under_way->taken.push_back({target->storage, before, now});
  if (!target->untracked) {
    ++storage.version;
    storage.written = current_location();
  }
  before->drop_half();
  storage.node = Held(now);
  return true;
}

void finish_exchange() {
  if (!under_way) return;
  const DeviceId id = under_way->device();
  try {
    finish_before_run(id);
  } catch (const Interruption&) {
    throw;
  } catch (...) {
    try {
      flush_log(log_of(id));  // what is pending and reads a result fails now, and not again with a later run
    } catch (...) {           // the same error
    }
    forget_lost_write(std::current_exception());
    throw;
  }
}

void finish_before_run(DeviceId id, const std::function<void()>& meanwhile) {
  if (!is_under_way(id)) return;
  std::unique_ptr<UnderWay> batch = std::move(under_way);
  try {
    batch->finish(meanwhile);
  } catch (const Interruption&) {
    if (batch->is_broken())
      batch->fail(std::make_exception_ptr(DistributedError("a collective was interrupted; its result has no value")));
    else
      under_way = std::move(batch);  // nothing has happened yet
    throw;
  } catch (...) {
    ++failed_batches;
    batch->fail(std::current_exception());
    if (!batch->is_told) throw;
  }
}

bool is_under_way(DeviceId id) { return under_way && under_way->device() == id; }

void finish_exchange(DeviceId id) {
  if (is_under_way(id)) finish_exchange();
}

void fail_exchange(const std::exception_ptr& error) noexcept {
  if (!under_way) return;
  under_way->fail(error);
  under_way.reset();
}

bool is_exchange(const Log& log) { return !log.nodes.empty() && log.nodes.front()->op == &kCollective; }

std::shared_ptr<Prepared> prepare_exchange(std::shared_ptr<const Plan> plan) {
  return std::make_shared<ExchangePlan>(std::move(plan));
}

bool is_exchange(const Prepared& prepared) { return typeid(prepared) == typeid(ExchangePlan); }

bool begin_exchange(DeviceId id, Prepared& prepared, const RunArguments& arguments) {
  if (!is_exchange(prepared)) return false;  // of all that run, nearly none is one
  static_cast<const ExchangePlan&>(prepared).begin(id, arguments);
  return true;
}

void report_to_others(const Log& log, const std::exception_ptr& error) noexcept {
  const Node& first = *log.nodes.front();
  tell(first.parameters.as<Collective>(),
       text_of(first.parameters.as<Collective>(), log.nodes.size(), first.dtype,
               {first.domain.begin(), first.domain.end()}),
       error);
}

}  // namespace sg
