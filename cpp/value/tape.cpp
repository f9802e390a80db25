// Owns the words of a tape while it is recorded, and decides when it must run before a value is read or changed. Knows
// no Vulkan; engine/ runs it.
#include "value/tape.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "value/graph.hpp"

namespace sg::value {

namespace {

constexpr uint32_t kFirstRoom = 6, kMostRoom = 49152;  // places in a list of uses: doubled from the first to the most
constexpr uint32_t kMostPending = 1u << 25;            // places: a longer tape runs before a value is asked for
constexpr uint32_t kFewItems = 2, kMostItems = 65536;  // items in a chunk: 2, 8, 16, 32 ...

bool is_simple(uint32_t op) { return op == uint32_t(Op::add) || op == uint32_t(Op::mul) || op == uint32_t(Op::relu); }

}  // namespace

uint32_t TapeWords::take_slot(uint32_t level) {
  if (slots >= kInside / 2 || inside >= kInside - 1)
    fail<LimitError>("Value", "more than 500,000,000 places in one graph on a device", "read a value in between");
  level_of.push_back(level);
  strand_of.push_back(kNone);
  uses.push_back(kNone);
  return slots++;
}

uint32_t TapeWords::strand_after(uint32_t code, uint32_t other_level) const {
  if (code & kElsewhere) return kNone;
  const uint32_t strand = strand_of[code];
  return strand != kNone && other_level <= strands[strand].level ? strand : kNone;
}

void TapeWords::begin_strand(Item head, uint32_t level) {
  if (levels.size() <= level) levels.resize(level + 1);
  depth = std::max(depth, level + 1);
  strand_of[head.out] = static_cast<uint32_t>(strands.size());
  strands.push_back({level, static_cast<uint32_t>(levels[level].heads.size()), head.out, 0});
  levels[level].heads.push_back(head);
  levels[level].links.push_back({});
}

void TapeWords::append(uint32_t strand, Item item) {
  Strand& s = strands[strand];
  Chunks& link = levels[s.level].links[s.position];
  const bool full = link.last == kNone || more[link.last].going == s.room;
  if (full) {
    s.room = link.last == kNone ? kFewItems : std::min(std::max(2 * s.room, 8u), kMostItems);
    const auto chunk = static_cast<uint32_t>(more.size());
    more.push_back({kNone, link.last, 0, 1});
    more.resize(chunk + 1 + s.room);
    if (link.last == kNone)
      link.first = chunk;
    else
      more[link.last].code = chunk;
    link.last = chunk;
  }
  Item& header = more[link.last];  // next chunk, chunk before, count, simple
  header.out &= is_simple(item.code);
  item.going = s.tail;
  more[link.last + 1 + header.going++] = item;
  strand_of[s.tail] = kNone;
  strand_of[item.out] = strand;
  s.tail = item.out;
}

// The list of uses begins, or its chunk is full.
void TapeWords::lengthen(uint32_t& use, uint32_t place) {
  const bool listed = use & kElsewhere;
  const uint32_t before = listed ? use & ~kElsewhere : kNone;
  const uint32_t room = listed ? std::min(2 * (chunks[before + 1] >> 16), kMostRoom) : kFirstRoom;
  const auto at = static_cast<uint32_t>(chunks.size());
  chunks.resize(at + 2 + room, 0);
  chunks[at] = before;
  chunks[at + 1] = room << 16;
  if (!listed) chunks[at + 2 + (chunks[at + 1]++ & 0xffffu)] = use;
  chunks[at + 2 + (chunks[at + 1]++ & 0xffffu)] = place;
  use = at | kElsewhere;
}

void TapeWords::clear() {
  slots = inside = depth = 0;
  for (Level& level : levels) level.heads.clear(), level.links.clear();
  more.clear(), strands.clear(), level_of.clear(), strand_of.clear();
  uses.clear(), chunks.clear(), lists.clear();
  externals.clear(), external_uses.clear(), numbers.clear();
}

Tape& TapeRunner::open() {
  if (pending_ && uint64_t(pending_->words->slots) + pending_->words->inside > kMostPending) run();
  if (pending_) return *pending_;
  auto tape = std::make_unique<Tape>();
  tape->words = spare_ ? std::move(spare_) : std::make_unique<TapeWords>();
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
  TapeWords& words = *tape.words;
  n->place.entry = static_cast<uint32_t>(words.externals.size());
  words.externals.push_back({home_of(n), n->place.slot});
  words.external_uses.push_back(kNone);
  if (n->op != Op::leaf && (tape.sources.empty() || tape.sources.back() != home_of(n)))
    tape.sources.push_back(home_of(n));
  return n->place.entry | kElsewhere;
}

void TapeRunner::record_node(Node* n) {
  Tape* tape = nullptr;
  switch (n->op) {
    case Op::move:
    case Op::custom:
      run();  // so that a tape's number is above those of the tapes it depends on
      open().foreign = true;
      [[fallthrough]];
    case Op::leaf:
      tape = &open();
      n->place.slot = record_number(*tape->words, n->data);
      break;
    case Op::neuron:
      tape = &open();
      n->place.slot = record_neuron(*tape, n);
      break;
    default:
      tape = &open();
      n->place.slot = record_operation(*tape, n);
  }
  n->mark = n->tape = tape->number;
  ++tape->alive;
}

uint32_t TapeRunner::record_number(TapeWords& to, double x) {
  const uint32_t slot = to.take_slot(0);
  to.numbers.emplace_back(slot, x);
  return slot;
}

uint32_t TapeRunner::record_operation(Tape& tape, Node* n) {
  TapeWords& to = *tape.words;
  const bool two = n->op == Op::add || n->op == Op::mul || n->op == Op::pow;
  const uint32_t a = operand(tape, n->a);
  const uint32_t b = n->op == Op::power ? record_number(to, n->k) : two ? operand(tape, n->b) : a;
  const uint32_t level_a = to.level(a), level_b = to.level(b);
  Item item{static_cast<uint32_t>(n->op), b, a, 0};
  // Continues a strand that ends at one operand, unless the other operand is not earlier.
  uint32_t strand = two && a == b ? kNone : to.strand_after(a, two ? level_b : 0);
  bool swapped = false;
  if (strand == kNone && two && a != b) {
    strand = to.strand_after(b, level_a);
    swapped = strand != kNone;
  }
  if (swapped) {
    item.other = a;
    if (n->op == Op::pow) item.code |= kSwapped;
  }
  if (strand != kNone) {
    item.out = to.take_slot(to.strands[strand].level + 1);
    if (two) to.add_use(item.other, 2 * item.out + (n->op == Op::pow && swapped ? 0 : 1));
    to.append(strand, item);
  } else {
    const uint32_t level = std::max(level_a, level_b);
    item.out = to.take_slot(level + 1);
    to.add_use(a, 2 * item.out);
    if (two) to.add_use(b, 2 * item.out + 1);
    to.begin_strand(item, level);
  }
  return item.out;
}

uint32_t TapeRunner::record_neuron(Tape& tape, Node* n) {
  TapeWords& to = *tape.words;
  const uint32_t count = n->inputs->count, begin = static_cast<uint32_t>(to.lists.size()), inside = to.inside;
  n->weights->inside = inside;
  to.inside += 2 * count + 1;
  to.lists.resize(begin + 2 * count + 2);
  uint32_t* list = to.lists.data() + begin;
  uint32_t deepest = 0;
  auto use = [&](uint32_t i, Node* x) {
    const uint32_t code = list[1 + i] = operand(tape, x);
    deepest = std::max(deepest, to.level(code));
    to.add_use(code, kInside | (inside + i));
  };
  list[0] = 2 * count + n->has(kNonlinear);
  for (uint32_t i = 0; i < count; ++i) {
    use(2 * i, n->weights->items[i].node);
    use(2 * i + 1, n->inputs->items[i].node);
  }
  use(2 * count, n->weights->items[count].node);
  const uint32_t out = to.take_slot(deepest + 1);
  to.begin_strand({static_cast<uint32_t>(n->op), inside, begin, out}, deepest);
  return out;
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
  if (it->second.get() == pending_) keep(*std::exchange(pending_, nullptr));  // nothing will read it
  const uint32_t number = it->first;
  tapes_.erase(it);
  dropped(number);
}

Tape* TapeRunner::take_pending() {
  if (!pending_) return nullptr;
  ++clock_ticks;
  pending_->slots = pending_->words->slots;
  return std::exchange(pending_, nullptr);
}

void TapeRunner::sent(Tape* tape) {
  if (tape) keep(*tape);
  for (Node* n : std::exchange(written_, {})) {
    n->flags &= static_cast<uint16_t>(~(kDataWritten | kGradWritten));
    release(n);  // the last ones of their tapes, maybe of this one
  }
}

void TapeRunner::keep(Tape& tape) {
  tape.words->clear();
  spare_ = std::move(tape.words);
}

void TapeRunner::run() {
  if (Tape* tape = take_pending()) start(*tape);
}

}  // namespace sg::value
