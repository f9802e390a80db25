// Runs an Executable: cuts it in parts for the threads, and calls its loops block after block. Allocates nothing, and
// does not know what the loops compute.
#include <algorithm>
#include <cstring>

#include "base/round.hpp"
#include "device/cpu/executable.hpp"
#include "device/cpu/threads.hpp"

namespace sg::cpu {
namespace {

constexpr int64_t kFetchBytes = 1024;    // of a run, at most
constexpr int64_t kFetchUnits = 8;       // how long before it is read
constexpr int64_t kAskedBytes = 1024;    // of the next row, between two loops
constexpr int64_t kChunkWork = 1 << 17;  // cheap element operations in one piece of work for a thread: about 10 us

// One for each part of the work, on the thread that does it. The frame is that thread's scratch: slots (addresses),
// then cells, registers and the states of folds. Loops get addresses alone, so a part costs no allocation and threads
// share nothing but the Executable, which they only read.
class Runner {
 public:
  Runner(const Executable& e, char* const* bases) : e_(e), bases_(bases) {
    char* frame = scratch(0, e.frame_bytes);
    slots_ = reinterpret_cast<char**>(frame);
    char* cells = frame + (e.slots * int64_t(sizeof(char*)) + 63) / 64 * 64;
    if (!e.cells.empty()) std::memcpy(cells, e.cells.data(), e.cells.size() * sizeof(Number));
    for (int32_t c = e.first_cell; c < e.first_register; ++c) slots_[c] = cells + (c - e.first_cell) * sizeof(Number);
    for (size_t r = 0; r < e.registers.size(); ++r) slots_[e.first_register + r] = frame + e.registers[r];
    states_ = reinterpret_cast<FoldState*>(frame + e.state_offset);
    lanes_ = frame + e.lanes_offset;
    frame_ = frame;
    execute(e.setup, 1);
  }

  void run(const WorkRange& range) {
    const int64_t lane_end = range.lane_end < 0 ? e_.lanes : range.lane_end;
    if (e_.tile > 1) return tiles(range, lane_end);
    for (int64_t unit = range.unit_begin; unit < range.unit_end; ++unit) {
      if (e_.part_rows && unit % e_.part_rows == 0) begin_part(unit / e_.part_rows);
      enter(unit);
      if (e_.across) {
        for (int64_t lane = range.lane_begin; lane < lane_end; lane += e_.block)
          across(lane, std::min(e_.block, lane_end - lane));
      } else {
        along(range.lane_begin, std::min(lane_end, limit_));
      }
    }
  }

 private:
  // Coordinates of a unit; where each view starts in it is found by start().
  void enter(int64_t unit) {
    for (int d = e_.unit_dims.rank - 1; d > 0; --d) {
      at_[d] = unit % e_.unit_dims[d];
      unit /= e_.unit_dims[d];
    }
    at_[0] = unit;
    limit_ = e_.across ? e_.columns : e_.lanes;
    if (e_.piece_dim >= 0)
      limit_ =
          std::clamp<int64_t>(e_.piece_limit - at_[e_.piece_dim] * e_.piece_size, 0, e_.piece_size) * e_.piece_rest;
  }

  // Every view at the first lane of the unit; advance() then adds constant steps instead of computing addresses anew.
  void start(int64_t lane) {
    for (size_t v = 0; v < e_.views.size(); ++v) {
      const ViewUse& view = e_.views[v];
      int64_t bytes = view.offset * view.size + lane * view.lane_step * !view.walk + part_ * view.part;
      for (int d = 0; d < e_.unit_dims.rank; ++d) bytes += at_[d] * view.unit[d];
      slots_[v] = reinterpret_cast<char*>(reinterpret_cast<intptr_t>(bases_[v]) + bytes);
    }
    for (int32_t slot : e_.moving) slots_[slot] = frame_ + e_.registers[slot - e_.first_register];
  }

  void begin_part(int64_t part) {
    part_ = part;
    for (size_t v = 0; v < e_.views.size(); ++v)
      if (const int64_t bytes = e_.views[v].part) std::memset(bases_[v] + part * bytes, 0, static_cast<size_t>(bytes));
  }

  void advance(const std::vector<Advance>& steps) {
    for (const Advance& s : steps)
      slots_[s.slot] = reinterpret_cast<char*>(reinterpret_cast<intptr_t>(slots_[s.slot]) + s.bytes);
  }

  void execute(const std::vector<Op>& ops, int64_t n) {
    for (const Op& op : ops) call(op, op.single ? 1 : n);
  }

  void call(const Op& op, int64_t n) {
    const auto step = [&](int64_t size) { return reinterpret_cast<void*>(e_.views[op.view].lane_step * size); };
    switch (op.what) {
      case Op::What::call:
        return op.fn(slots_[op.d], slots_[op.a], slots_[op.b], slots_[op.c], n);
      case Op::What::strided:
        return op.fn(slots_[op.d], slots_[op.a], step(1), nullptr, n);
      case Op::What::down:
        return op.fn(slots_[op.d], slots_[op.a], reinterpret_cast<void*>(down(op)), nullptr, n);
      case Op::What::run:
        return op.fn(slots_[op.d], run_of(op, 0, 0), step(op.size), nullptr, n);
      case Op::What::transpose:
        return transpose(op, n);
      case Op::What::walk_load:
      case Op::What::walk_store:
        return walk(op, n);
    }
  }

  int64_t down(const Op& op) const { return e_.views[op.view].unit[e_.unit_dims.rank - 1]; }

  const char* run_of(const Op& op, int64_t start_bytes, int64_t more) const {
    int64_t start;
    std::memcpy(&start, slots_[op.b] + start_bytes, sizeof(start));
    return slots_[op.a] + (start + reinterpret_cast<intptr_t>(slots_[op.view]) + more) * op.size;
  }

  // Lanes [lane_, lane_ + n) of a view whose lane dimensions have no common stride, in runs of the last of them.
  void walk(const Op& op, int64_t n) {
    const ViewUse& view = e_.views[op.view];
    const Dims& dims = e_.lane_dims;
    const int last = dims.rank - 1;
    const bool load = op.what == Op::What::walk_load;
    int64_t at[kMaxRank], rest = lane_;
    intptr_t memory = reinterpret_cast<intptr_t>(slots_[op.view]);
    char* block = slots_[load ? op.d : op.a];
    for (int d = last; d >= 0; --d) {
      at[d] = rest % dims[d];
      rest /= dims[d];
      memory += at[d] * view.lane[d];
    }
    for (int64_t done = 0; done < n;) {
      const int64_t run = std::min(n - done, dims[last] - at[last]);
      char* const place = reinterpret_cast<char*>(memory);
      void* const step = reinterpret_cast<void*>(view.lane[last]);
      if (load)
        op.fn(block, place, step, nullptr, run);
      else
        op.fn(place, block, step, nullptr, run);
      block += run * op.size;
      done += run;
      memory += run * view.lane[last];
      at[last] += run;
      for (int d = last; d > 0 && at[d] == dims[d]; --d) {
        memory += view.lane[d - 1] - dims[d] * view.lane[d];
        at[d] = 0;
        ++at[d - 1];
      }
    }
  }

  // Units in groups, a block of lanes at a time: transposed operands are read in tiles of group x block, the starts
  // of runs are known for the whole group, and sums over rows stay in a cache.
  void tiles(const WorkRange& range, int64_t lane_end) {
    const int last = e_.unit_dims.rank - 1;
    for (int64_t unit = range.unit_begin; unit < range.unit_end; unit += rows_) {
      enter(unit);
      const int64_t begun = e_.part_rows ? unit % e_.part_rows : 0;
      if (e_.part_rows && begun == 0) begin_part(unit / e_.part_rows);
      rows_ = std::min({e_.tile - begun, range.unit_end - unit, e_.unit_dims[last] - at_[last]});
      for (lane_ = range.lane_begin; lane_ < lane_end; lane_ += e_.block) {
        const int64_t n = std::min(e_.block, lane_end - lane_);
        start(lane_);
        if (lane_ == range.lane_begin) execute(e_.ahead, rows_);
        for (int64_t row = 0; row < std::min(kFetchUnits, rows_); ++row) fetch(row, n);
        for (row_ = 0; row_ < rows_; ++row_) {
          if (row_ + kFetchUnits < rows_) fetch(kFetchUnits, n);
          execute(e_.phases[0].row, 1);
          execute(e_.phases[0].element, n);
          advance(e_.unit_steps);
        }
      }
    }
  }

  // Prefetches the runs of the unit that comes `units` after this one.
  void fetch(int64_t units, int64_t n) {
    for (const Fetch& f : e_.fetches) {
      const char* from = run_of(f.run, units * f.start_step, units * f.position_step);
      const int64_t bytes = std::min<int64_t>(n * f.run.size, kFetchBytes);
      for (int64_t b = 0; b < bytes; b += 64) __builtin_prefetch(from + b);
    }
  }

  void transpose(const Op& op, int64_t n) {
    const int64_t width = e_.width() * op.size;
    char* const tile = frame_ + e_.registers[op.d - e_.first_register];
    if (row_ == 0) {
      const Transposed t{e_.views[op.view].lane_step, width, rows_};
      op.fn(tile, slots_[op.a], &t, nullptr, n);
    }
    slots_[op.d] = tile + row_ * width;
  }

  // Runs loops over a row that is in cache, and prefetches some of the next row before each: a row is often about a page
  // long, at whose end the processor's own prefetching stops.
  void execute_and_ask(const std::vector<Op>& ops, int64_t n) {
    for (const Op& op : ops) {
      for (const NextRow& row : e_.next_rows) {
        const char* next = slots_[row.slot] + row.step;
        const int64_t end = std::min(row.bytes, asked_ + kAskedBytes);
        for (int64_t b = asked_; b < end; b += 64) __builtin_prefetch(next + b);
      }
      asked_ += kAskedBytes;
      call(op, op.single ? 1 : n);
    }
  }

  // A pointwise unit, or one row: blocks of its elements.
  void along(int64_t begin, int64_t end) {
    const bool moves = end - begin > e_.block;
    start(begin);
    asked_ = 0;
    for (const Phase& phase : e_.phases) {
      if (moves && &phase != e_.phases.data()) start(begin);
      execute(phase.row, 1);
      for (size_t f = 0; f < phase.folds.size(); ++f) {
        const FoldOp& fold = phase.folds[f];
        states_[f] = first_state(fold);
        if (moves && e_.block < kSumBlock && is_float(fold.dtype)) states_[f].lanes = lanes_ + f * kLanesBytes;
      }
      if (!phase.element.empty() || !phase.folds.empty()) {
        for (lane_ = begin; lane_ < end; lane_ += e_.block) {
          const int64_t n = std::min(e_.block, end - lane_);
          if (!e_.next_rows.empty() && &phase != e_.phases.data())
            execute_and_ask(phase.element, n);
          else
            execute(phase.element, n);
          for (size_t f = 0; f < phase.folds.size(); ++f) {
            const FoldOp& fold = phase.folds[f];
            fold.along(&states_[f], slots_[fold.value], fold.other < 0 ? nullptr : slots_[fold.other], n, fold.scalar);
          }
          if (moves) advance(e_.block_steps);
        }
      }
      for (size_t f = 0; f < phase.folds.size(); ++f) {
        if (states_[f].open) phase.folds[f].along(&states_[f], nullptr, nullptr, 0, false);
        finish(phase.folds[f], states_[f]);
      }
    }
  }

  static FoldState first_state(const FoldOp& fold) {
    return {0, 0, is_float(fold.dtype) ? 0 : fold.identity.i, is_float(fold.dtype) ? fold.identity.f : 0};
  }

  // Sums of floats are kept in double, with what each addition lost (folds_isa.hpp), and rounded once.
  void finish(const FoldOp& fold, const FoldState& s) {
    Number result;
    if (is_float(fold.dtype))
      result.f = fold.fold == Fold::sum ? s.sum + s.carry : s.extreme;
    else
      result.i = s.integer;
    const Number bits = cell_of(fold.dtype, result);
    std::memcpy(slots_[fold.result], &bits, sizeof(Number));
  }

  // Rows [lane, lane + n) of a unit at once, column by column.
  // Folds lie side by side, so that neighbouring rows are read together where memory runs across the rows. Float sums
  // of sum_run columns are added to the total at once, which bounds their error.
  void across(int64_t lane, int64_t n) {
    lane_ = lane;
    for (const Phase& phase : e_.phases) {
      start(lane);
      execute(phase.row, n);
      if (e_.folds_rows) {
        for (const FoldOp& f : phase.folds)
          f.rows(slots_[f.result], slots_[f.value], e_.views[f.value].lane_step, limit_, first_state(f), n);
        continue;
      }
      if (phase.element.empty() && phase.folds.empty()) continue;
      for (const FoldOp& f : phase.folds) {
        f.fill(slots_[f.result], &f.identity, nullptr, nullptr, n);
        if (f.partial >= 0) f.fill(slots_[f.partial], &f.identity, nullptr, nullptr, n);
      }
      int64_t at[kMaxRank] = {}, until_sum = e_.sum_run;
      const int last = e_.column_dims.rank - 1;
      for (int64_t column = 0; column < limit_; ++column) {
        execute(phase.element, n);
        for (const FoldOp& f : phase.folds) {
          void* to = slots_[f.partial >= 0 ? f.partial : f.result];
          f.lanewise(to, to, slots_[f.value], nullptr, n);
        }
        if (--until_sum == 0 || column == limit_ - 1) {
          until_sum = e_.sum_run;
          add_partials(phase, n);
        }
        advance(e_.block_steps);
        int d = last;
        while (d > 0 && at[d] == e_.column_dims[d] - 1) at[d--] = 0;
        if (d < 0) continue;
        ++at[d];
        advance(e_.column_steps[d]);
      }
    }
  }

  void add_partials(const Phase& phase, int64_t n) {
    for (const FoldOp& f : phase.folds) {
      if (f.partial < 0) continue;
      const BlockTable& table = blocks();
      table.alu(Code::add, f.dtype, f.dtype, 0)(slots_[f.result], slots_[f.result], slots_[f.partial], nullptr, n);
      f.fill(slots_[f.partial], &f.identity, nullptr, nullptr, n);
    }
  }

  const Executable& e_;
  char* const* bases_;
  char* frame_;
  char** slots_;
  FoldState* states_;
  char* lanes_;  // of the states
  int64_t at_[kMaxRank] = {};
  int64_t limit_ = 0;
  int64_t lane_ = 0;
  int64_t part_ = 0;
  int64_t asked_ = 0;           // bytes of the next row
  int64_t row_ = 0, rows_ = 1;  // of a tile
};

}  // namespace

void run_range(const Executable& e, char* const* bases, const WorkRange& range) {
  Runner(e, bases).run(range);
  if (e.streams) blocks().fence();
}

// Pieces of about 10 us each. Where they are cut changes no bit: a row is never shared by two threads, and pointwise
// elements do not depend on each other.
void run_all(const Executable& e, char* const* bases) {
  if (e.units == 0 || (e.lanes == 0 && (e.across || e.pointwise))) return;
  // A pointwise unit and a block of rows can be cut along the lanes; one row cannot.
  const bool cut = e.across || e.pointwise;
  const int64_t row = e.across ? e.columns : 1;
  int64_t lanes = std::max<int64_t>(e.lanes, 1);
  if (cut) {
    const int64_t wanted = kChunkWork / std::max<int64_t>(1, e.cost * row);
    lanes = std::min(lanes, std::max<int64_t>(1, (wanted + e.block - 1) / e.block) * e.block);
  }
  const int64_t pieces = cut ? divide_up(e.lanes, lanes) : 1;
  const int64_t grain = std::max<int64_t>(1, kChunkWork / std::max<int64_t>(1, lanes * row * e.cost * e.tile));
  if (e.part_rows)
    return parallel_for((e.units + e.part_rows - 1) / e.part_rows, 1, [&](int64_t begin, int64_t end) {
      run_range(e, bases, {begin * e.part_rows, std::min(e.units, end * e.part_rows), 0, -1});
    });
  const int64_t groups = (e.units + e.tile - 1) / e.tile;
  const auto end_of = [&](int64_t group) { return std::min(e.units, group * e.tile); };
  if (pieces == 1)
    return parallel_for(groups, grain,
                        [&](int64_t begin, int64_t end) { run_range(e, bases, {begin * e.tile, end_of(end), 0, -1}); });
  parallel_for(groups * pieces, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t group = i / pieces, lane = i % pieces * lanes;
      run_range(e, bases, {group * e.tile, end_of(group + 1), lane, std::min(e.lanes, lane + lanes)});
    }
  });
}

}  // namespace sg::cpu
