// Scans of rows of n elements that lie one behind the other, seen as one long list that begins anew at each row. Chunks
// of the list, a workgroup each, are scanned tile by tile. Where chunks end with rows, one launch does it (ROWS). Rows
// that do not fit a chunk take three: the total of each chunk (from the last row that begins in it), a scan of the
// totals, and the chunks with the total before them (TOTALS, CARRIES, CHUNKS).
// Included behind what ops/scan.cpp defines: Number, REF and SIZE (the type of elements, of references, bytes), Position
// (of an element: an int where it suffices), ITEMS (elements a thread), INPUTS, one of SUM PRODUCT LOGADDEXP MAXIMUM
// MINIMUM LINEAR, one of ROWS TOTALS CARRIES CHUNKS.
layout(local_size_x = SG_THREADS) in;

// Read once: behind an address, compilers do not know that nothing changes.
Position length = Position(word(0)), row = Position(word(1)), chunk = Position(word(2)), chunks = Position(word(5));
bool reverse = word(4) != 0;
Address input_at = tensor(0), last_at = tensor(INPUTS - 1), result_at = tensor(INPUTS);
#ifndef ROWS
Address total_at = tensor(INPUTS + 1);
#endif

#if defined(MAXIMUM) || defined(MINIMUM)
#define EXTREME
struct Item {
  Number value;
  Position at;
};
// NaN wins, then the extreme, then what comes later.
Item combine(Item a, Item b) {
  bool turned = a.at > b.at;
  Item first = a, second = b;
  if (turned) {
    first = b;
    second = a;
  }
#ifdef MAXIMUM
  bool passes = second.value >= first.value;
#else
  bool passes = second.value <= first.value;
#endif
  bool later = second.value != second.value || (first.value == first.value && passes);
  if (later) return second;
  return first;
}
#elif defined(LINEAR)
// y -> a * y + b
struct Item {
  Number a, b;
};
Item combine(Item first, Item second) { return Item(first.a * second.a, second.a * first.b + second.b); }
#else
#define Item Number
#ifdef SUM
Item combine(Item a, Item b) { return a + b; }
#elif defined(PRODUCT)
Item combine(Item a, Item b) { return a * b; }
#else
Item combine(Item a, Item b) {
  Item high = alu_maximum(a, b), low = alu_minimum(a, b);
  Item gap = high == low ? Number(0) : low - high;  // two infinities have no difference
  return high + alu_log1p(alu_exp(gap));
}
#endif
#endif

Address place(Address begin, Position at, int bytes) { return address_add(begin, Offset(at) * Offset(bytes)); }
Position turned(Position at) { return reverse ? length - 1 - at : at; }
Number element(Address begin, Position at) { return REF(place(begin, at, SIZE)).at[0]; }

// Element `at` of the list; of the totals where these are scanned.
Item load(Position at) {
#if defined(EXTREME) && defined(CARRIES)
  Position from = Position(Int64(place(total_at, at, 8)).at[0]);
  return Item(element(input_at, turned(from)), from);
#elif defined(EXTREME)
  return Item(element(input_at, turned(at)), at);
#elif defined(LINEAR) && defined(CARRIES)
  return Item(element(total_at, 2 * at), element(total_at, 2 * at + 1));
#elif defined(LINEAR)
  return Item(element(input_at, turned(at)), element(last_at, turned(at)));
#elif defined(CARRIES)
  return element(total_at, at);
#else
  return element(input_at, turned(at));
#endif
}

#ifndef ROWS
void store_total(Position at, Item item) {
#ifdef EXTREME
  Int64(place(total_at, at, 8)).at[0] = int64(item.at);
#elif defined(LINEAR)
  REF(place(total_at, 2 * at, SIZE)).at[0] = item.a;
  REF(place(total_at, 2 * at + 1, SIZE)).at[0] = item.b;
#else
  REF(place(total_at, at, SIZE)).at[0] = item;
#endif
}
#endif

void store(Position at, Item item) {
#ifdef CARRIES
  store_total(at, item);
#elif defined(EXTREME)
  Int64(place(result_at, turned(at), 8)).at[0] = int64(item.at % row);
#elif defined(LINEAR)
  REF(place(result_at, turned(at), SIZE)).at[0] = item.b;
#else
  REF(place(result_at, turned(at), SIZE)).at[0] = item;
#endif
}

// Where the last row that has begun before `end` begins.
Position row_before(Position end) { return end - 1 - (end - 1) % row; }

const int kThreads = 256;
const int kTile = kThreads * ITEMS;
// A thread's elements are consecutive; one more in between keeps threads off each other's banks.
shared Item items[kThreads * (ITEMS + 1)];
shared Item sums[2][kThreads];
shared bool begins[2][kThreads];
int slot(int i) { return i + i / ITEMS; }

#if defined(TOTALS) && !defined(LINEAR)
// The order does not matter here.
Item total_of(Position first, Position end) {
  int t = int(gl_LocalInvocationIndex);
  Item mine = load(min(first + t, end - 1));
  for (Position begin = first; begin < end; begin += kTile) {
    Item value[ITEMS];
    [[unroll]] for (int k = 0; k < ITEMS; ++k) value[k] = load(min(begin + k * kThreads + t, end - 1));
    [[unroll]] for (int k = 0; k < ITEMS; ++k) {
      bool another = begin + k * kThreads + t < end && (k > 0 || begin > first);
      if (another) mine = combine(mine, value[k]);
    }
  }
  sums[0][t] = mine;
  barrier();
  int count = int(min(end - first, Position(kThreads)));
  for (int step = kThreads / 2; step > 0; step >>= 1) {
    if (t < step && t + step < count) sums[0][t] = combine(sums[0][t], sums[0][t + step]);
    barrier();
  }
  return sums[0][0];
}
#else
// Scans elements [first, first + count), count <= kTile, behind `carry`; they are left in `items`. Returns the last.
Item scan_tile(Position first, int count, Item carry) {
  int t = int(gl_LocalInvocationIndex);
  Item value[ITEMS];
  [[unroll]] for (int k = 0; k < ITEMS; ++k) value[k] = load(first + min(k * kThreads + t, count - 1));
  [[unroll]] for (int k = 0; k < ITEMS; ++k) items[slot(k * kThreads + t)] = value[k];
  barrier();
  [[unroll]] for (int k = 0; k < ITEMS; ++k) value[k] = items[t * (ITEMS + 1) + k];

  bool head[ITEMS];
  Position at = first + t * ITEMS;
#ifdef CARRIES
  [[unroll]] for (int k = 0; k < ITEMS; ++k) {
    Position begin = (at + k) * chunk;
    head[k] = row_before(min(begin + chunk, length)) >= begin;
  }
#else
  Position column = at < row ? at : at % row;  // dividing may be slow
  [[unroll]] for (int k = 0; k < ITEMS; ++k) {
    head[k] = column == 0;
    column = column + 1 == row ? 0 : column + 1;
  }
#endif

  Item sum = value[0];
  bool begun = head[0];
  [[unroll]] for (int k = 1; k < ITEMS; ++k) {
    if (head[k]) sum = value[k]; else sum = combine(sum, value[k]);
    begun = begun || head[k];
  }
  int from = 0;
  sums[0][t] = sum;
  begins[0][t] = begun;
  barrier();
  for (int step = 1; step < kThreads; step <<= 1) {
    if (t >= step && !begun) {
      sum = combine(sums[from][t - step], sum);
      begun = begins[from][t - step];
    }
    from ^= 1;
    sums[from][t] = sum;
    begins[from][t] = begun;
    barrier();
  }

  Item run = carry;
  if (t > 0) {
    run = sums[from][t - 1];
    if (!begins[from][t - 1]) run = combine(carry, run);
  }
  [[unroll]] for (int k = 0; k < ITEMS; ++k) {
    if (head[k]) run = value[k]; else run = combine(run, value[k]);
    items[t * (ITEMS + 1) + k] = run;
  }
  barrier();
  return items[slot(count - 1)];
}
#endif

void main() {
  Position group = Position(gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x);
#ifdef CARRIES
  Position begin = 0, end = chunks;
#else
  if (group >= chunks) return;
#ifdef CHUNKS
  group = chunks - 1 - group;  // from the end: what was read last for the totals is still in the cache
#endif
  Position begin = group * chunk, end = min(begin + chunk, length);
#endif
#if defined(TOTALS) && !defined(LINEAR)
  Item total = total_of(max(begin, row_before(end)), end);
  if (gl_LocalInvocationIndex == 0) store_total(group, total);
#else
#ifdef LINEAR
  Item carry = Item(Number(1), Number(0));
#else
  Item carry = load(begin);  // not used: a row begins here
#endif
#ifdef TOTALS
  begin = max(begin, row_before(end));
#elif defined(CHUNKS)
  // A software driver reads before it asks whether to (lavapipe of Mesa 26.1.6).
  Position before = max(group - 1, Position(0));
  if (group > 0) {
#ifdef EXTREME
    Position last = Position(Int64(place(total_at, before, 8)).at[0]);
    carry = Item(element(input_at, turned(last)), last);
#elif defined(LINEAR)
    carry = Item(element(total_at, 2 * before), element(total_at, 2 * before + 1));
#else
    carry = element(total_at, before);
#endif
  }
#endif
  for (Position first = begin; first < end; first += kTile) {
    int count = int(min(end - first, Position(kTile)));
    carry = scan_tile(first, count, carry);
#ifndef TOTALS
    int t = int(gl_LocalInvocationIndex);
    [[unroll]] for (int k = 0; k < ITEMS; ++k) {
      int i = k * kThreads + t;
      if (i < count) store(first + i, items[slot(i)]);
    }
    barrier();
#endif
  }
#ifdef TOTALS
  if (gl_LocalInvocationIndex == 0) store_total(group, carry);
#endif
#endif
}
