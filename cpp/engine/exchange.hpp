// Collectives as runs: a batch is a log of its own, whose plan is run together with other processes. What was pending
// before runs first, so that batches are the same on all processes, whatever else each of them does.
// For engine/ and bind/. Threads: any; may wait, call without the GIL.
#pragma once
#include <exception>
#include <functional>
#include <memory>
#include <vector>

#include "device/device.hpp"
#include "graph/log.hpp"
#include "graph/tensor.hpp"
#include "kernel/collective.hpp"

namespace sg {

// One collective on each of these tensors of one device, as one batch. Every member of the group calls it with as many,
// of equal sizes and types. Records nothing for gradients. DistributedError, or the error of what was pending, which
// the other members then hear of. `later`: on a GPU it is finished when a result is read, before the next batch, or
// before the device runs anything else; until then the host can record what comes next while the device still computes.
std::vector<Tensor> exchange(const std::vector<Tensor>& inputs, const Collective& what, bool later = false);
// What `target = result` of a collective is without a copy: all of target's memory becomes the result's. Until the batch
// ends, its failure gives target its old value back. False if it has to be copied: nothing has happened.
bool take_result(const Tensor& target, const Tensor& result);
// Finishes the one that is under way, or does nothing. Errors as exchange(); the results hold them too. Call before
// processes meet in any other way. Threads: under the engine lock, here and below.
void finish_exchange();
void finish_exchange(DeviceId id);  // if it is one of this device
// The same for a log that is about to run, which then fails with it. `meanwhile` is called while the device computes, or
// while values are on their way.
void finish_before_run(DeviceId id, const std::function<void()>& meanwhile = [] {});
bool is_under_way(DeviceId id);
// Gives it up: its results and the other members get the error.
void fail_exchange(const std::exception_ptr& error) noexcept;

// For flush.cpp.
bool is_exchange(const Log& log);
std::shared_ptr<Prepared> prepare_exchange(std::shared_ptr<const Plan> plan);
bool is_exchange(const Prepared& prepared);
bool begin_exchange(DeviceId id, Prepared& prepared, const RunArguments& arguments);  // false: it is no such plan
// Lets the other members fail too, if the error is not from them.
void report_to_others(const Log& log, const std::exception_ptr& error) noexcept;

}  // namespace sg
