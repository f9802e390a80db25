#include "value/tape.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "value/graph.hpp"

namespace sg::value {

TapeRunner* (*tape_runner)(int device) = nullptr;

namespace {

constexpr uint32_t kFirstRoom = 6, kMostRoom = 4096;  // places in a chunk: doubled from the first to the most

}  // namespace

uint32_t Tape::take_slot(uint32_t level) {
  if (slots >= kInside / 2 || inside >= kInside - 1)
    fail<LimitError>("Value", "more than 500,000,000 places in one graph on a device", "read a value in between");
  level_of.push_back(level);
  uses.push_back(kNone);
  return slots++;
}

void Tape::add_use(uint32_t code, uint32_t place) {
  uint32_t& use = code & kElsewhere ? external_uses[code & ~kElsewhere] : uses[code];
  if (use == kNone)
    use = place;
  else
    lengthen(use, place);
}

void Tape::lengthen(uint32_t& use, uint32_t place) {
  auto begin = [this, &use](uint32_t before, uint32_t room) {
    const auto at = static_cast<uint32_t>(chunks.size());
    chunks.resize(at + 2 + room, 0);
    chunks[at] = before;
    chunks[at + 1] = room << 16;
    use = at | kElsewhere;
    return at;
  };
  if (!(use & kElsewhere)) {
    const uint32_t only = use, at = begin(kNone, kFirstRoom);
    ++chunks[at + 1];
    chunks[at + 2] = only;
  }
  uint32_t at = use & ~kElsewhere;
  const uint32_t room = chunks[at + 1] >> 16;
  if ((chunks[at + 1] & 0xffffu) == room) at = begin(at, std::min(2 * room, kMostRoom));
  const uint32_t count = chunks[at + 1]++ & 0xffffu;
  chunks[at + 2 + count] = place;
}

Tape& TapeRunner::open() {
  if (pending_) return *pending_;
  auto tape = std::make_unique<Tape>();
  tape->number = ++clock_ticks;
  pending_ = tape.get();
  tapes_.emplace(tape->number, std::move(tape));
  return *pending_;
}

uint32_t TapeRunner::operand(Tape& tape, Node* n) {
  if (n->has(kInner))
    fail<ValueError>("Value", "a node inside a neuron on a GPU takes part in no further computation",
                     "compute it from the neuron's weights and inputs");
  if (home_of(n) == tape.number) return n->place.slot;
  if (n->tape == tape.number) return n->place.entry | kElsewhere;
  n->tape = tape.number;
  n->place.entry = static_cast<uint32_t>(tape.externals.size());
  tape.externals.push_back({home_of(n), n->place.slot});
  tape.external_uses.push_back(kNone);
  if (n->op != Op::leaf && (tape.sources.empty() || tape.sources.back() != home_of(n)))
    tape.sources.push_back(home_of(n));
  return n->place.entry | kElsewhere;
}

void TapeRunner::record(Node* n) {
  if (n->op == Op::move || n->op == Op::custom) run();  // so that a tape's number is above those of what it depends on
  Tape& tape = open();
  Record r{static_cast<uint32_t>(n->op), 0, 0, 0};
  uint32_t deepest = 0;
  auto use = [&](Node* operand_node) {
    const uint32_t code = operand(tape, operand_node);
    deepest = std::max(deepest, level(tape, code));
    return code;
  };
  switch (n->op) {
    case Op::leaf:
    case Op::custom:
    case Op::move:
      r.out = tape.take_slot(0);
      tape.numbers.emplace_back(r.out, n->data);
      tape.foreign |= n->op != Op::leaf;
      break;
    case Op::neuron: {
      const uint32_t count = n->inputs->count;
      r.a = static_cast<uint32_t>(tape.lists.size());
      r.b = n->weights->inside = tape.inside;
      tape.lists.push_back(2 * count + n->has(kNonlinear));
      for (uint32_t i = 0; i < count; ++i) {
        tape.lists.push_back(use(n->weights->items[i].node));
        tape.lists.push_back(use(n->inputs->items[i].node));
      }
      tape.lists.push_back(use(n->weights->items[count].node));
      for (uint32_t i = 0; i <= 2 * count; ++i) tape.add_use(tape.lists[r.a + 1 + i], kInside | (r.b + i));
      tape.inside += 2 * count + 1;
      break;
    }
    case Op::power:
      r.a = use(n->a);
      r.b = tape.take_slot(0);
      tape.numbers.emplace_back(r.b, n->k);
      break;
    case Op::add:
    case Op::mul:
    case Op::pow:
      r.a = use(n->a);
      r.b = use(n->b);
      break;
    default:
      r.a = use(n->a);
  }
  if (n->op != Op::leaf && n->op != Op::custom && n->op != Op::move) {
    r.out = tape.take_slot(deepest + 1);
    if (n->op != Op::neuron) tape.add_use(r.a, 2 * r.out);
    if (n->op == Op::add || n->op == Op::mul || n->op == Op::pow) tape.add_use(r.b, 2 * r.out + 1);
    if (tape.levels.size() <= deepest) tape.levels.resize(deepest + 1);
    tape.levels[deepest].push_back(r);
    ++tape.records;
  }
  n->place.slot = r.out;
  n->mark = n->tape = tape.number;
  ++tape.alive;
}

void TapeRunner::record_inner(Node* n, const Node* neuron, uint32_t place) {
  const Tape& tape = *tapes_.at(home_of(neuron));
  n->device = neuron->device;
  n->flags |= kInner;
  n->place.slot = tape.slots + place;
  n->mark = tape.number;
  n->tape = 0;
  ++tapes_.at(n->mark)->alive;
}

void TapeRunner::before_write(Node* n) {
  if (pending_ && n->tape == pending_->number) run();
}

void TapeRunner::before_look(Node* n) {
  if (pending_ && home_of(n) == pending_->number) run();
}

void TapeRunner::note_write(Node* n) {
  if (!n->has(kDataWritten | kGradWritten)) written_.push_back(retain(n));
}

void TapeRunner::forget(Node* n) {
  const auto it = tapes_.find(home_of(n));
  if (it == tapes_.end() || --it->second->alive) return;
  if (it->second.get() == pending_) pending_ = nullptr;
  const uint32_t number = it->first;
  tapes_.erase(it);
  dropped(number);
}

Tape* TapeRunner::take_pending() {
  if (pending_) ++clock_ticks;
  return std::exchange(pending_, nullptr);
}

void TapeRunner::run() {
  if (Tape* tape = take_pending()) start(*tape);
}

}  // namespace sg::value
