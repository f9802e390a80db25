// A transaction as Python sees it: steps of optimisers and replays hand them out.
#pragma once
#include <utility>

#include "engine/run_status.hpp"

namespace sg::bind {

struct BoundTransaction {
  Ref<Transaction> transaction;
  BoundTransaction(Ref<Transaction> t) : transaction(std::move(t)) {}
};

}  // namespace sg::bind
