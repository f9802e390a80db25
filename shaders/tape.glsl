// The tape machine: runs recorded scalar operations level by level, forward and backward. Included with REAL, BITS and
// MEMORY defined. A tape has slots (value, gradient, mark), a record for each operation, levels (operations that depend
// on none of the same level), and for each slot the list of its uses. One workgroup runs many narrow levels with a
// barrier between two; a wide level is a launch of its own. Host side: cpp/value/tape.hpp.
// Backward: an operation leaves what it owes each operand in a place of its own, the operand adds them up in the order
// in which it was used. No atomics: the same bits every time.
#include "alu.glsl"

layout(local_size_x_id = 0) in;

layout(buffer_reference, scalar, buffer_reference_align = 8) coherent buffer Reals { REAL at[]; };
layout(buffer_reference, scalar, buffer_reference_align = 8) coherent buffer Bits { BITS at[]; };
layout(buffer_reference, scalar, buffer_reference_align = 8) readonly buffer Indices { uint at[]; };
layout(buffer_reference, scalar, buffer_reference_align = 8) readonly buffer Records { uvec4 at[]; };
layout(buffer_reference, scalar, buffer_reference_align = 8) readonly buffer Levels { uvec2 at[]; };
struct Write {
  uint64_t address;
  BITS value;
};
layout(buffer_reference, scalar, buffer_reference_align = 8) readonly buffer Writes { Write at[]; };

#define argument(i) Words(push.block).at[i]
#define mode uint(argument(0))
#define first uint(argument(1))
#define last uint(argument(2))
#define root uint(argument(3))
#define epoch BITS(argument(4))
#define data Reals(argument(5))
#define grad Reals(argument(6))
#define marks Bits(argument(7))
#define debts Bits(argument(8))
#define records Records(argument(9))
#define levels Levels(argument(10))
#define uses Indices(argument(11))
#define chunks Indices(argument(12))
#define lists Indices(argument(13))
#define externals argument(14)  // for each: addresses of value, gradient and mark
#define external_uses Indices(argument(15))
#define writes Writes(argument(16))
#define slots uint(argument(17))  // inside of neurons: values and gradients behind those of the slots

const uint kPrepare = 0, kWrite = 1, kForward = 2, kBackward = 3, kExternals = 4;
const uint kAdd = 1, kMul = 2, kPower = 3, kPow = 4, kRelu = 5, kExp = 6, kLog = 7, kTanh = 8, kSigmoid = 9, kSqrt = 10,
           kAbs = 11, kSin = 12, kCos = 13, kNeuron = 15;  // the order of sg::value::Op
const uint kNone = 0xffffffffu, kElsewhere = 0x80000000u, kInside = 0x40000000u;

uint64_t elsewhere(uint index, uint what) { return Words(externals).at[3 * index + what]; }
REAL value_at(uint code) {
  return (code & kElsewhere) != 0u ? Reals(elsewhere(code & ~kElsewhere, 0)).at[0] : data.at[code];
}

// ---- forward

REAL unary(uint op, REAL a) {
  switch (op) {
    case kRelu:
      return a < 0 ? REAL(0) : a;
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
void neuron(uvec4 r) {
  const uint list = r.y, count = lists.at[list] >> 1, inside = slots + r.z;
  REAL sum = value_at(lists.at[list + 1 + 2 * count]);
  for (uint i = 0; i < count; ++i) {
    precise REAL product = value_at(lists.at[list + 1 + 2 * i]) * value_at(lists.at[list + 2 + 2 * i]);
    precise REAL next = sum + product;
    sum = next;
    data.at[inside + 2 * i] = product;
    data.at[inside + 2 * i + 1] = sum;
  }
  data.at[r.w] = (lists.at[list] & 1u) != 0u && sum < 0 ? REAL(0) : sum;
}

void forward(uvec4 r) {
  if (r.x == kNeuron) {
    neuron(r);
    return;
  }
  const REAL a = value_at(r.y);
  precise REAL y;
  if (r.x == kAdd)
    y = a + value_at(r.z);
  else if (r.x == kMul)
    y = a * value_at(r.z);
  else if (r.x == kPower || r.x == kPow)
    y = alu_pow(a, value_at(r.z));
  else
    y = unary(r.x, a);
  data.at[r.w] = y;
}

// ---- backward

BITS debt_at(uint place) { return debts.at[(place & kInside) != 0u ? 2 * slots + (place & ~kInside) : place]; }

// Adds what the uses owe, in their order; false: no use was reached from the root.
bool collect(uint use, inout REAL sum) {
  if (use == kNone) return false;
  if ((use & kElsewhere) == 0u) {
    const BITS debt = debt_at(use);
    if (debt == NO_DEBT) return false;
    precise REAL more = sum + REAL_OF(debt);
    sum = more;
    return true;
  }
  bool any = false;
  for (uint at = use & ~kElsewhere; at != kNone; at = chunks.at[at]) {
    const uint count = chunks.at[at + 1] & 0xffffu;
    for (uint i = 0; i < count; ++i) {
      const BITS debt = debt_at(chunks.at[at + 2 + i]);
      if (debt == NO_DEBT) continue;
      precise REAL more = sum + REAL_OF(debt);
      sum = more;
      any = true;
    }
  }
  return any;
}

void owe(uint place, REAL amount) { debts.at[place] = alu_nan(amount) ? BITS_OF(NAN) : BITS_OF(amount); }

REAL unary_gradient(uint op, REAL g, REAL a, REAL o) {
  precise REAL d;
  switch (op) {
    case kRelu:
      d = (o > 0 ? REAL(1) : REAL(0)) * g;
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
    default:
      d = g;
  }
  return d;
}

REAL add_grad(uint slot, REAL g) {
  precise REAL sum = grad.at[slot] + g;
  grad.at[slot] = sum;
  return sum;
}

void neuron_backward(uvec4 r, bool reached, REAL g) {
  const uint list = r.y, count = lists.at[list] >> 1, inside = slots + r.z, place = 2 * slots + r.z;
  if (!reached) {
    for (uint i = 0; i <= 2 * count; ++i) debts.at[place + i] = NO_DEBT;
    return;
  }
  REAL sum = g;
  if ((lists.at[list] & 1u) != 0u) {
    precise REAL masked = (data.at[r.w] > 0 ? REAL(1) : REAL(0)) * g;
    sum = add_grad(inside + 2 * count - 1, masked);
  }
  for (uint i = count; i-- > 0;) {
    const REAL product = add_grad(inside + 2 * i, sum);
    precise REAL for_w = value_at(lists.at[list + 2 + 2 * i]) * product;
    precise REAL for_x = value_at(lists.at[list + 1 + 2 * i]) * product;
    owe(place + 2 * i, for_w);
    owe(place + 2 * i + 1, for_x);
    if (i > 0) sum = add_grad(inside + 2 * i - 1, sum);
  }
  owe(place + 2 * count, sum);
}

void backward(uvec4 r) {
  REAL g = grad.at[r.w];
  bool reached = collect(uses.at[r.w], g) || marks.at[r.w] == epoch;
  if (r.w == root) {
    g = REAL(1);
    reached = true;
  }
  if (reached) grad.at[r.w] = g;
  if (r.x == kNeuron) {
    neuron_backward(r, reached, g);
    return;
  }
  const uint place = 2 * r.w;
  const bool two = r.x == kAdd || r.x == kMul || r.x == kPow;
  if (!reached) {
    debts.at[place] = NO_DEBT;
    if (two) debts.at[place + 1] = NO_DEBT;
    return;
  }
  if (r.x == kAdd) {
    owe(place, g);
    owe(place + 1, g);
    return;
  }
  const REAL a = value_at(r.y);
  if (r.x == kMul) {
    precise REAL for_a = value_at(r.z) * g, for_b = a * g;
    owe(place, for_a);
    owe(place + 1, for_b);
  } else if (r.x == kPower) {
    const REAL k = value_at(r.z);
    precise REAL slope = k * alu_pow(a, k - REAL(1)), for_a = slope * g;
    owe(place, for_a);
  } else if (r.x == kPow) {
    const REAL b = value_at(r.z), o = data.at[r.w];
    precise REAL slope = b * alu_pow(a, b - REAL(1)), for_a = slope * g, for_b = o * alu_log(a) * g;
    owe(place, b == 0 ? REAL(0) : for_a);
    owe(place + 1, o == 0 ? REAL(0) : for_b);
  } else {
    owe(place, unary_gradient(r.x, g, a, data.at[r.w]));
  }
}

// What slots without an operation here are owed: leaves, and slots of other tapes, which run after this one.
void pay_external(uint index) {
  Reals home = Reals(elsewhere(index, 1));
  REAL g = REAL(0);
  const uint use = external_uses.at[index];
  if (!collect(use, g)) return;
  precise REAL sum = home.at[0] + g;
  home.at[0] = sum;
  Bits(elsewhere(index, 2)).at[0] = epoch;
}

void between_levels() {
  memoryBarrierBuffer();
  barrier();
}

void main() {
  const uint thread = gl_GlobalInvocationID.x, threads = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
  if (mode == kForward) {
    for (uint l = first; l < last; ++l) {
      const uvec2 level = levels.at[l];
      for (uint i = thread; i < level.y; i += threads) forward(records.at[level.x + i]);
      between_levels();
    }
  } else if (mode == kBackward) {
    for (uint l = last; l-- > first;) {
      const uvec2 level = levels.at[l];
      for (uint i = thread; i < level.y; i += threads) backward(records.at[level.x + i]);
      between_levels();
    }
  } else {
    for (uint i = first + thread; i < last; i += threads) {
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
