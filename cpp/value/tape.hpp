// A tape: the nodes of one device that were made between two runs, recorded while the graph is built, so that running
// it needs no second pass. Plain arrays, laid out as shaders/tape.glsl reads them. value/ records, engine/ runs
// (TapeRunner); a device is named by its number here.
// Threads: one at a time.
#pragma once
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "value/node.hpp"

namespace sg::value {

constexpr uint32_t kNone = 0xffffffffu;
constexpr uint32_t kElsewhere = 0x80000000u;  // an operand of another tape: an index into externals; uses: into chunks
constexpr uint32_t kInside = 0x40000000u;     // a use by a neuron: places of these are counted by themselves

// An operation of a strand; the first one is the head. Operands: slots, or kElsewhere.
struct Item {
  uint32_t code;   // Op, kSwapped
  uint32_t other;  // the other operand. neuron: its first place inside
  uint32_t going;  // the operand that continues the strand; for a head, any. neuron: its list
  uint32_t out;    // slot of the result
};
constexpr uint32_t kSwapped = 0x100u;  // the strand goes on from the second operand

// The words for the device. Cleared and reused for another tape after they are sent.
struct TapeWords {
  // A sequence of operations, each of which continues from the result of the previous one; one thread runs it. All its
  // other operands belong to earlier levels.
  struct Strand {
    uint32_t level, position;  // of the head
    uint32_t tail;             // slot of its last result
    uint32_t room;             // of its last chunk
  };
  struct Chunks {
    uint32_t first = kNone, last = kNone;  // of a strand's items behind the head
  };
  struct Level {
    std::vector<Item> heads;
    std::vector<Chunks> links;
  };
  struct External {
    uint32_t tape, slot;  // its home
  };

  uint32_t slots = 0;   // each has a value, a gradient and a mark
  uint32_t inside = 0;  // values and gradients inside neurons: products and sums in turn
  uint32_t depth = 0;   // levels in use
  std::vector<Level> levels;
  std::vector<Item> more;  // chunks of items; first of each [next chunk, chunk before, count, 1: all are simple]
  std::vector<Strand> strands;
  std::vector<uint32_t> level_of;   // of each slot: 0 for leaves, else 1 + index into levels
  std::vector<uint32_t> strand_of;  // of each slot: the strand that ends there, kNone: none does
  std::vector<uint32_t> uses;       // of each slot: kNone, the place of its only use, or kElsewhere | list of uses
  std::vector<uint32_t> chunks;     // lists of uses: [list before or kNone, count | room << 16, places ...]
  std::vector<uint32_t> lists;      // inputs of neurons: [2 * count + relu, w0, x0, w1, x1, ..., bias]
  std::vector<External> externals;
  std::vector<uint32_t> external_uses;
  std::vector<std::pair<uint32_t, double>> numbers;  // slots that begin with a value

  uint32_t take_slot(uint32_t level);
  void add_use(uint32_t code, uint32_t place) {
    uint32_t& use = code & kElsewhere ? external_uses[code & ~kElsewhere] : uses[code];
    if (use == kNone) {
      use = place;
      return;
    }
    if (use & kElsewhere) {
      uint32_t* list = chunks.data() + (use & ~kElsewhere);
      if ((list[1] & 0xffffu) < list[1] >> 16) {
        list[2 + (list[1]++ & 0xffffu)] = place;
        return;
      }
    }
    lengthen(use, place);
  }
  uint32_t level(uint32_t code) const { return code & kElsewhere ? 0 : level_of[code]; }
  // The strand that can continue from operand `code` if the other operand has `other_level`; kNone: none.
  uint32_t strand_after(uint32_t code, uint32_t other_level) const;
  void begin_strand(Item head, uint32_t level);
  void append(uint32_t strand, Item item);
  void clear();

 private:
  void lengthen(uint32_t& use, uint32_t place);
};

struct Tape {
  uint32_t number = 0;               // unique
  uint32_t slots = 0;                // set when it is closed
  size_t alive = 0;                  // nodes at home here
  std::vector<uint32_t> sources;     // other tapes whose computed nodes this one reads
  bool foreign = false;              // has nodes whose gradients continue elsewhere: moved here, or made by hand
  std::unique_ptr<TapeWords> words;  // until it is sent
};

// Recording on one device. `run` sends the pending tape to the device; a read, a write or backward asks for it.
class TapeRunner {
 public:
  virtual ~TapeRunner() = default;

  void record_node(Node* n);  // a new node: its operands are set, its value is not known
  void record_inner(Node* n, const Node* neuron, uint32_t place);  // n is part of a neuron that was recorded before
  void before_write(Node* n);                                      // consumers of the old value run first
  void before_look(Node* n);                                       // n itself runs first
  void note_write(Node* n);                                        // sent with the next run
  void forget(Node* n);                                            // n is being freed
  void run();                                                      // runs what is pending

  virtual double read_data(Node* n) = 0;
  virtual double read_grad(Node* n) = 0;
  // The gradients of everything that root depends on, in one run. false, and nothing done, if some of it lies
  // elsewhere.
  virtual bool backward(Node* root) = 0;
  // Begins a pass of `backward_tape` over several tapes.
  virtual void begin_pass() = 0;
  // The operations of one tape alone; `owed` are nodes of it that got their gradients from elsewhere.
  virtual void backward_tape(uint32_t number, const Node* root, const std::vector<Node*>& owed) = 0;
  static uint32_t home_of(const Node* n) { return n->mark; }

 protected:
  virtual void start(Tape& tape) = 0;         // runs a tape that is closed now
  void sent(Tape* tape);                      // writes have been sent; the recording is no longer needed
  Tape* take_pending();                       // closes it; nullptr: there is none
  virtual void dropped(uint32_t number) = 0;  // the last reference to a node of that tape is gone

  std::unordered_map<uint32_t, std::unique_ptr<Tape>> tapes_;
  std::vector<Node*> written_;  // a reference to each

 private:
  Tape* pending_ = nullptr;
  std::unique_ptr<TapeWords> spare_;
  void keep(Tape& tape);
  Tape& open();
  uint32_t operand(Tape& tape, Node* n);
  static uint32_t record_number(TapeWords& to, double x);
  uint32_t record_operation(Tape& tape, Node* n);
  uint32_t record_neuron(Tape& tape, Node* n);
};

// The runner of gpu:N. Given by engine/.
TapeRunner& tape_runner(int gpu);
void install(TapeRunner& runner, int gpu);  // another one for that number: for tests
inline TapeRunner& runner_of(const Node* n) { return tape_runner(n->device); }

}  // namespace sg::value
