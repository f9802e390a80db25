// The tape machine: runs recorded scalar operations, forward and backward. Included with REAL, REAL_BYTES, BITS,
// BITS_OF_WORD, REAL_OF, BITS_OF, NAN, NO_DEBT and BATCH defined. Host side: cpp/value/tape.hpp, cpp/engine/tape.cpp.
// - A slot has a value, a gradient and a mark (the last backward pass that reached it).
// - A strand is a sequence of operations of which each goes on from the result of the one before; one thread runs it.
//   Its other operands come from earlier levels; a level is all strands that depend on earlier levels only. One
//   workgroup runs many narrow levels with a barrier between two; a wide level is a launch of its own.
// - Backward, an operation hands its gradient on along the strand, and leaves what it owes its other operand in a place
//   of its own; the operand adds these debts up in the order in which it was used. No atomics: the same bits every time.
#include "alu.glsl"

layout(local_size_x_id = 0) in;
layout(constant_id = 1) const uint kMistake = 0;  // 1: sums are wrong, so that a test sees that this is what computes

layout(buffer_reference, scalar, buffer_reference_align = 8) coherent buffer Reals { REAL at[]; };
layout(buffer_reference, scalar, buffer_reference_align = 8) coherent buffer Bits { BITS at[]; };
layout(buffer_reference, scalar, buffer_reference_align = 8) readonly buffer Indices { uint at[]; };
layout(buffer_reference, scalar, buffer_reference_align = 16) readonly buffer Items { uvec4 at[]; };
layout(buffer_reference, scalar, buffer_reference_align = 8) readonly buffer Pairs { uvec2 at[]; };
struct Write {
  Address address;
  BITS value;
};
layout(buffer_reference, std430, buffer_reference_align = 8) readonly buffer Writes { Write at[]; };

// The arguments, kept in registers.
uint mode, first, last, root, slots;
BITS epoch;
Reals data, grad;
Bits marks, debts;
Items heads, more;
Pairs levels, links;
Indices uses, chunks, lists, external_uses;
Words externals;  // for each: addresses of value, gradient and mark
Writes writes;
void load_arguments() {
  Words word = Words(push.block);
  mode = uint(word.at[0]), first = uint(word.at[1]), last = uint(word.at[2]), root = uint(word.at[3]);
  epoch = BITS_OF_WORD(word.at[4]);
  data = Reals(word.at[5]), grad = Reals(word.at[6]);
  marks = Bits(word.at[7]), debts = Bits(word.at[8]);
  heads = Items(word.at[9]), levels = Pairs(word.at[10]), uses = Indices(word.at[11]), chunks = Indices(word.at[12]);
  lists = Indices(word.at[13]), externals = Words(word.at[14]), external_uses = Indices(word.at[15]);
  writes = Writes(word.at[16]);
  slots = uint(word.at[17]);
  links = Pairs(word.at[18]), more = Items(word.at[19]);
}

const uint kPrepare = 0, kWrite = 1, kForward = 2, kBackward = 3, kExternals = 4, kLong = 5;
const uint kBatch = BATCH;  // loads that go ahead together: one costs more than the arithmetic of all
const uint kAdd = 1, kMul = 2, kPower = 3, kPow = 4, kRelu = 5, kExp = 6, kLog = 7, kTanh = 8, kSigmoid = 9, kSqrt = 10,
           kAbs = 11, kSin = 12, kCos = 13, kNeuron = 15;  // the order of sg::value::Op
const uint kNone = 0xffffffffu, kElsewhere = 0x80000000u, kInside = 0x40000000u;

// An item of a strand: x the operation and kSwapped, y the other operand, z the one that the strand goes on from,
// w the result's slot. A head is one too, but for z, which may be any operand; a neuron has its list in z and what is
// inside it in y. More items are in chunks: [next chunk, chunk before, count, 1 where all are simple].
const uint kSwapped = 0x100u;  // the strand goes on from the second operand
bool is_binary(uint op) { return op == kAdd || op == kMul || op == kPower || op == kPow; }

Address elsewhere(uint index, uint what) { return externals.at[3 * index + what]; }
// Without a branch, so that the loads of a batch go ahead together.
REAL value_at(uint code) {
  const bool far = (code & kElsewhere) != 0u;
  const Address there = externals.at[far ? 3 * (code & ~kElsewhere) : 0];
  return Reals(far ? there : address_add(Address(data), Offset(code) * REAL_BYTES)).at[0];
}

// ---- forward

// Simple ones are computed in batches.
REAL simple(uint op, REAL a, REAL b) {
  precise REAL sum = a + b, product = a * b;
  return op == kAdd ? (kMistake == 0u ? sum : product) : (op == kMul ? product : (a < 0 ? REAL(0) : a));
}

REAL apply(uint code, REAL going, REAL other) {
  const uint op = code & 0xffu;
  const bool swapped = (code & kSwapped) != 0u;
  const REAL a = swapped ? other : going, b = swapped ? going : other;
  switch (op) {
    case kAdd:
    case kMul:
    case kRelu:
      return simple(op, a, b);
    case kPower:
    case kPow:
      return alu_pow(a, b);
    case kExp:
      return alu_exp(a);
    case kLog:
      return alu_log(a);
    case kTanh:
      return alu_tanh(a);
    case kSigmoid:
      return alu_sigmoid(a);
    case kSqrt:
      return alu_sqrt(a);
    case kAbs:
      return alu_abs(a);
    case kSin:
      return alu_sin(a);
    case kCos:
      return alu_cos(a);
  }
  return a;
}

// b + w0 * x0 + w1 * x1 ...: what is inside keeps values and gradients of its own, products and sums in turn.
REAL neuron(uvec4 head) {
  const uint list = head.z, shape = lists.at[list], count = shape >> 1, inside = slots + head.y;
  REAL sum = value_at(lists.at[list + 1 + 2 * count]);
  for (uint begin = 0; begin < count; begin += kBatch) {
    REAL w[kBatch], x[kBatch];
    [[unroll]] for (uint j = 0; j < kBatch; ++j) {
      const uint i = min(begin + j, count - 1);
      w[j] = value_at(lists.at[list + 1 + 2 * i]);
      x[j] = value_at(lists.at[list + 2 + 2 * i]);
    }
    [[unroll]] for (uint j = 0; j < kBatch; ++j) {
      const uint i = begin + j;
      if (i >= count) break;
      precise REAL product = w[j] * x[j];
      precise REAL next = sum + product;
      sum = next;
      data.at[inside + 2 * i] = product;
      data.at[inside + 2 * i + 1] = sum;
    }
  }
  const REAL y = (shape & 1u) != 0u && sum < 0 ? REAL(0) : sum;
  data.at[head.w] = y;
  return y;
}

void forward(uvec4 head, uint chunk) {
  REAL going;
  bool at_head = head.x != kNeuron;
  if (at_head)
    going = value_at(head.z);
  else
    going = neuron(head);
  while (at_head || chunk != kNone) {
    uvec4 now = uvec4(chunk, 0, 1, 0);
    if (!at_head) now = more.at[chunk];
    const uint count = now.z, begin = chunk + 1;
    uint i = 0;
    if (now.w != 0u) {
      for (; i < count; i += kBatch) {
        uvec4 item[kBatch];
        REAL other[kBatch];
        [[unroll]] for (uint j = 0; j < kBatch; ++j) {
          item[j] = more.at[begin + min(i + j, count - 1)];
          other[j] = value_at(item[j].y);
        }
        [[unroll]] for (uint j = 0; j < kBatch; ++j) {
          if (i + j >= count) break;
          going = simple(item[j].x & 0xffu, going, other[j]);
          data.at[item[j].w] = going;
        }
      }
    }
    for (; i < count; ++i) {
      uvec4 item = head;
      if (!at_head) item = more.at[begin + i];
      const REAL other = is_binary(item.x & 0xffu) ? value_at(item.y) : REAL(0);
      going = apply(item.x, going, other);
      data.at[item.w] = going;
    }
    chunk = now.x;
    at_head = false;
  }
}

// ---- backward

BITS debt_at(uint place) { return debts.at[(place & kInside) != 0u ? 2 * slots + (place & ~kInside) : place]; }
void owe(uint place, REAL amount) { debts.at[place] = alu_nan(amount) ? BITS_OF(NAN) : BITS_OF(amount); }

bool add_debt(BITS debt, inout REAL sum) {
  if (debt == NO_DEBT) return false;
  precise REAL more_now = sum + REAL_OF(debt);
  sum = more_now;
  return true;
}

// Adds what the uses owe, in a fixed order; false: no use was reached from the root.
bool collect(uint use, inout REAL sum) {
  if (use == kNone) return false;
  if ((use & kElsewhere) == 0u) return add_debt(debt_at(use), sum);
  bool any = false;
  for (uint at = use & ~kElsewhere; at != kNone; at = chunks.at[at]) {
    const uint count = chunks.at[at + 1] & 0xffffu;
    for (uint begin = 0; begin < count; begin += kBatch) {
      BITS debt[kBatch];
      [[unroll]] for (uint j = 0; j < kBatch; ++j)
        debt[j] = debt_at(chunks.at[at + 2 + min(begin + j, count - 1)]);
      [[unroll]] for (uint j = 0; j < kBatch; ++j)
        if (begin + j < count) any = add_debt(debt[j], sum) || any;
    }
  }
  return any;
}

// Gradients of a simple operation towards both operands.
void simple_slopes(uint op, REAL a, REAL b, REAL o, REAL g, out REAL for_a, out REAL for_b) {
  precise REAL of_a = b * g, of_b = a * g, of_relu = (o > 0 ? REAL(1) : REAL(0)) * g;
  for_a = op == kMul ? of_a : (op == kAdd ? g : of_relu);
  for_b = op == kMul ? of_b : g;
}

void slopes(uint op, REAL a, REAL b, REAL o, REAL g, out REAL for_a, out REAL for_b) {
  precise REAL d = g, e = REAL(0);
  switch (op) {
    case kAdd:
    case kMul:
    case kRelu:
      simple_slopes(op, a, b, o, g, for_a, for_b);
      return;
    case kPower:
    case kPow:
      d = b * alu_pow(a, b - REAL(1)) * g;
      if (op == kPower) break;
      e = o * alu_log(a) * g;
      d = b == 0 ? REAL(0) : d;
      e = o == 0 ? REAL(0) : e;
      break;
    case kExp:
      d = g * o;
      break;
    case kLog:
      d = alu_div(g, a);
      break;
    case kTanh:
      d = g * (REAL(1) - o * o);
      break;
    case kSigmoid:
      d = g * o * (REAL(1) - o);
      break;
    case kSqrt:
      d = alu_div(g * REAL(0.5), o);
      break;
    case kAbs:
      d = a > 0 ? g : (a < 0 ? -g : REAL(0));
      break;
    case kSin:
      d = g * alu_cos(a);
      break;
    case kCos:
      d = -g * alu_sin(a);
      break;
  }
  for_a = d;
  for_b = e;
}

REAL add_grad(uint slot, REAL before, REAL g) {
  precise REAL sum = before + g;
  grad.at[slot] = sum;
  return sum;
}

void neuron_backward(uvec4 head, bool reached, REAL g) {
  const uint list = head.z, shape = lists.at[list], count = shape >> 1;
  const uint inside = slots + head.y, place = 2 * slots + head.y;
  if (!reached) {
    for (uint i = 0; i <= 2 * count; ++i) debts.at[place + i] = NO_DEBT;
    return;
  }
  REAL sum = g;
  if ((shape & 1u) != 0u) {
    const uint last_sum = inside + 2 * count - 1;
    precise REAL masked = (data.at[head.w] > 0 ? REAL(1) : REAL(0)) * g;
    sum = add_grad(last_sum, grad.at[last_sum], masked);
  }
  for (uint end = count; end > 0; end -= min(end, kBatch)) {
    REAL w[kBatch], x[kBatch], product_grad[kBatch], sum_grad[kBatch];
    [[unroll]] for (uint j = 0; j < kBatch; ++j) {
      const uint i = end - 1 - min(j, end - 1);
      w[j] = value_at(lists.at[list + 1 + 2 * i]);
      x[j] = value_at(lists.at[list + 2 + 2 * i]);
      product_grad[j] = grad.at[inside + 2 * i];
      sum_grad[j] = grad.at[inside + max(2 * i, 1) - 1];
    }
    [[unroll]] for (uint j = 0; j < kBatch; ++j) {
      if (j >= end) break;
      const uint i = end - 1 - j;
      const REAL product = add_grad(inside + 2 * i, product_grad[j], sum);
      precise REAL for_w = x[j] * product, for_x = w[j] * product;
      owe(place + 2 * i, for_w);
      owe(place + 2 * i + 1, for_x);
      if (i > 0) sum = add_grad(inside + 2 * i - 1, sum_grad[j], sum);
    }
  }
  owe(place + 2 * count, sum);
}

// What the item after this one hands on.
struct Carry {
  bool reached;
  REAL grad;
};

// The gradient of a slot: what is there, what its uses owe, what the strand hands on.
bool arrive(uint slot, bool marked, bool paid, Carry carry, inout REAL g) {
  bool reached = marked || paid;
  if (carry.reached) {
    precise REAL sum = g + carry.grad;
    g = sum;
    reached = true;
  }
  if (slot == root) {
    g = REAL(1);
    reached = true;
  }
  if (reached) grad.at[slot] = g;
  return reached;
}

void backward_batch(uint begin, uint end, inout Carry carry) {
  uvec4 item[kBatch];
  REAL going[kBatch], other[kBatch], result[kBatch], g[kBatch];
  BITS mark[kBatch], debt[kBatch];
  [[unroll]] for (uint j = 0; j < kBatch; ++j) {
    item[j] = more.at[begin + end - 1 - min(j, end - 1)];
    going[j] = data.at[item[j].z];
    other[j] = value_at(item[j].y);
    result[j] = data.at[item[j].w];
    g[j] = grad.at[item[j].w];
    mark[j] = marks.at[item[j].w];
    const uint use = uses.at[item[j].w];
    const BITS owed = debt_at(use == kNone ? 0 : use);
    debt[j] = use == kNone ? NO_DEBT : owed;
  }
  [[unroll]] for (uint j = 0; j < kBatch; ++j) {
    if (j >= end) break;
    const uint op = item[j].x & 0xffu, place = 2 * item[j].w + 1;
    const bool paid = add_debt(debt[j], g[j]);
    carry.reached = arrive(item[j].w, mark[j] == epoch, paid, carry, g[j]);
    if (carry.reached) {
      REAL for_other;
      simple_slopes(op, going[j], other[j], result[j], g[j], carry.grad, for_other);
      if (op != kRelu) owe(place, for_other);
    } else if (op != kRelu) {
      debts.at[place] = NO_DEBT;
    }
  }
}

void backward(uvec4 head, uint chunk) {
  Carry carry = Carry(false, REAL(0));
  bool at_head = chunk == kNone;
  for (;;) {
    uvec4 now = uvec4(0, 0, 1, 0);
    if (!at_head) now = more.at[chunk];
    const uint begin = chunk + 1;
    uint end = now.z;
    if (now.w != 0u) {
      for (; end > 0; end -= min(end, kBatch)) {
        bool lists_of_uses = false;  // these take the long way below
        [[unroll]] for (uint j = 0; j < kBatch; ++j) {
          const uint use = uses.at[more.at[begin + end - 1 - min(j, end - 1)].w];
          lists_of_uses = lists_of_uses || (use != kNone && (use & kElsewhere) != 0u);
        }
        if (lists_of_uses) break;
        backward_batch(begin, end, carry);
      }
    }
    for (; end > 0; --end) {
      uvec4 item = head;
      if (!at_head) item = more.at[begin + end - 1];
      REAL g = grad.at[item.w];
      const bool paid = collect(uses.at[item.w], g);
      carry.reached = arrive(item.w, marks.at[item.w] == epoch, paid, carry, g);
      const uint op = item.x & 0xffu;
      if (op == kNeuron) {
        neuron_backward(item, carry.reached, g);
        return;
      }
      const bool swapped = (item.x & kSwapped) != 0u, two = is_binary(op) && op != kPower;
      const uint place = 2 * item.w, place_other = place + (swapped ? 0u : 1u);
      if (carry.reached) {
        const REAL going = value_at(item.z), other = is_binary(op) ? value_at(item.y) : REAL(0);
        REAL for_a, for_b;
        slopes(op, swapped ? other : going, swapped ? going : other, data.at[item.w], g, for_a, for_b);
        carry.grad = swapped ? for_b : for_a;
        if (two) owe(place_other, swapped ? for_a : for_b);
        if (at_head) owe(place, carry.grad);
      } else {
        if (two) debts.at[place_other] = NO_DEBT;
        if (at_head) debts.at[place] = NO_DEBT;
      }
    }
    if (at_head) return;
    chunk = now.y;
    at_head = chunk == kNone;
  }
}

// What slots without an operation here are owed: leaves, and slots of other tapes, which run after this one.
void pay(uint index, REAL g) {
  Reals home = Reals(elsewhere(index, 1));
  precise REAL sum = home.at[0] + g;
  home.at[0] = sum;
  Bits(elsewhere(index, 2)).at[0] = epoch;
}
void pay_external(uint index) {
  REAL g = REAL(0);
  if (collect(external_uses.at[index], g)) pay(index, g);
}

// One with very many uses: the workgroup shares them, in a fixed way.
shared REAL parts[gl_WorkGroupSize.x];
shared bool any_part;
void pay_long(uint index) {
  const uint thread = gl_LocalInvocationID.x;
  REAL g = REAL(0);
  bool any = false;
  for (uint at = external_uses.at[index] & ~kElsewhere; at != kNone; at = chunks.at[at]) {
    const uint count = chunks.at[at + 1] & 0xffffu, stride = gl_WorkGroupSize.x;
    for (uint begin = thread; begin < count; begin += kBatch * stride) {
      BITS debt[kBatch];
      [[unroll]] for (uint j = 0; j < kBatch; ++j)
        debt[j] = debt_at(chunks.at[at + 2 + min(begin + j * stride, count - 1)]);
      [[unroll]] for (uint j = 0; j < kBatch; ++j)
        if (begin + j * stride < count) any = add_debt(debt[j], g) || any;
    }
  }
  if (thread == 0) any_part = false;
  parts[thread] = g;
  barrier();
  if (any) any_part = true;
  for (uint reach = gl_WorkGroupSize.x / 2; reach > 0; reach /= 2) {
    barrier();
    if (thread < reach) {
      precise REAL sum = parts[thread] + parts[thread + reach];
      parts[thread] = sum;
    }
  }
  barrier();
  if (thread == 0 && any_part) pay(index, parts[0]);
}

// The first strand of each thread is fetched one level ahead: it does not depend on what is being computed.
void run_levels(bool forwards) {
  const uint thread = gl_GlobalInvocationID.x, threads = gl_NumWorkGroups.x * gl_WorkGroupSize.x, count = last - first;
  uvec2 level = levels.at[forwards ? first : last - 1];
  uint ahead = level.x + min(thread, level.y - 1);
  uvec4 next_head = heads.at[ahead];
  uvec2 next_link = links.at[ahead];
  for (uint n = 1; n <= count; ++n) {
    const uvec2 now = level, my_link = next_link;
    const uvec4 my_head = next_head;
    if (n < count) {
      level = levels.at[forwards ? first + n : last - 1 - n];
      ahead = level.x + min(thread, level.y - 1);
      next_head = heads.at[ahead];
      next_link = links.at[ahead];
    }
    for (uint i = thread; i < now.y; i += threads) {
      uvec4 head = my_head;
      uvec2 link = my_link;
      if (i != thread) {
        head = heads.at[now.x + i];
        link = links.at[now.x + i];
      }
      if (forwards)
        forward(head, link.x);
      else
        backward(head, link.y);
    }
    memoryBarrierBuffer();
    barrier();
  }
}

void main() {
  load_arguments();
  if (mode == kForward) {
    run_levels(true);
  } else if (mode == kBackward) {
    run_levels(false);
  } else if (mode == kLong) {
    pay_long(first + gl_WorkGroupID.x);
  } else {
    const uint threads = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
    for (uint i = first + gl_GlobalInvocationID.x; i < last; i += threads) {
      if (mode == kPrepare) {
        grad.at[i] = REAL(0);
        if (i < slots) marks.at[i] = BITS(0);
      } else if (mode == kWrite) {
        Bits(writes.at[i].address).at[0] = writes.at[i].value;
      } else {
        pay_external(i);
      }
    }
  }
}
