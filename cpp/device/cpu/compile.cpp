// Program -> Executable: values get places (memory read or written in place, cells, registers), instructions become
// calls, pairs of adds and multiplies become one call. Knows no instruction set: loops come from blocks().
#include <algorithm>

#include "device/cpu/axes.hpp"
#include "device/cpu/cache.hpp"
#include "device/cpu/emit.hpp"
#include "device/cpu/executable.hpp"
#include "device/cpu/values.hpp"

namespace sg::cpu {
namespace {

constexpr int64_t kRegisterBytes = 24 << 10;  // of one block: half of a first cache
constexpr int64_t kFolded = 4096;             // elements of a block that is only folded: it is read twice for NaN
constexpr int64_t kTileBytes = 16 << 10;      // of the runs that a tile of units reads
constexpr int64_t kStreamedRow = 512;         // bytes of a row that are worth writing past the caches

bool chains(Code c) { return c == Code::add || c == Code::sub || c == Code::mul; }

class Compiler {
 public:
  Compiler(const Program& program, const CompileOptions& options)
      : p_(program),
        options_(options),
        e_(axes(program, options)),
        values_(analyse(program, options, e_)),
        of_(values_.of),
        emit_(program, e_, values_) {}

  Executable run() {
    choose_streams();
    for (int32_t i = 0; i < count(); ++i) {
      const Instr& in = instr(i);
      if (in.code == Code::constant || in.code == Code::number) of_[i].slot = emit_.new_cell(cell_of(in.dtype, in.imm));
      if (in.code == Code::number) e_.numbers.push_back({of_[i].slot - kCell, in.slot, in.dtype});
      if (of_[i].kept) of_[i].slot = emit_.new_register(static_cast<int>(size_of(in.dtype)), Register::Holds::row);
    }
    e_.phases.resize(static_cast<size_t>(values_.phases));
    for (int phase = 0; phase < values_.phases; ++phase) {
      emit_rows(e_.phases[phase], phase);
      emit_elements(e_.phases[phase], phase);
    }
    finish();
    return std::move(e_);
  }

 private:
  static Executable axes(const Program& p, const CompileOptions& options) {
    Executable e;
    e.across = choose_axes(p, options.tile, e);
    return e;
  }
  int32_t count() const { return static_cast<int32_t>(p_.code.size()); }
  const Instr& instr(int32_t i) const { return p_.code[i]; }
  bool is_store(int32_t i) const { return sg::is_store(instr(i).code); }
  bool is_reduce(int32_t i) const { return instr(i).code == Code::reduce; }
  const ViewUse& view_of(int32_t i) const { return e_.views[instr(i).slot]; }

  // Each value of a row keeps its own cell, or register of lanes, for the whole run.
  void emit_rows(Phase& out, int phase) {
    std::vector<int32_t> stores;
    for (int32_t i = 0; i < count(); ++i) {
      const Instr& in = instr(i);
      Value& v = of_[i];
      if (v.level == Level::element || is_reduce(i) || in.code == Code::constant || in.code == Code::number) continue;
      if (v.phase != phase) continue;
      if (is_store(i)) {
        stores.push_back(i);
        continue;
      }
      if (v.in_place) continue;
      v.slot = v.scalar ? emit_.new_cell({}) : emit_.new_register(size_of(in.dtype));
      std::vector<Op>& ops = v.level == Level::fixed ? e_.setup : out.row;
      if (in.code == Code::load || in.code == Code::index)
        emit_.load(i, ops);
      else
        emit_.alu({i}, ops);
    }
    for (int32_t i : stores) emit_.store(i, out.row);
  }

  std::vector<Node> nodes_of(int phase, std::vector<int>& uses) {
    std::vector<int32_t> consumer(p_.code.size(), -1), list;
    for (int32_t i = 0; i < count(); ++i) {
      if (!values_.closures[phase][i]) continue;
      const Value& v = of_[i];
      const bool root = is_store(i) || is_reduce(i);
      if (!root && v.kept && v.first < phase) continue;
      if (!root && !needed_[i]) continue;
      if (!root && !v.in_place) list.push_back(i);
      for (int32_t o : {instr(i).a, instr(i).b, instr(i).c})
        if (o >= 0) ++uses[o], consumer[o] = i;
    }
    std::vector<bool> fused(p_.code.size()), has_inner(p_.code.size());
    std::vector<Node> nodes;
    for (int32_t i : list) {
      const Instr& in = instr(i);
      const int32_t j = consumer[i];
      const bool inner = chains(in.code) && is_float(in.dtype) && uses[i] == 1 && !of_[i].scalar && !of_[i].kept &&
                         !has_inner[i] && j >= 0 && chains(instr(j).code) && instr(j).dtype == in.dtype &&
                         !has_inner[j];
      if (!inner) continue;
      fused[i] = has_inner[j] = true;
    }
    for (int32_t i : list) {
      if (fused[i]) continue;
      Node node{i};
      if (has_inner[i]) node.inner = fused[instr(i).a] && consumer[instr(i).a] == i ? instr(i).a : instr(i).b;
      nodes.push_back(node);
    }
    return nodes;
  }

  // The values that a phase computes: its closure, cut at kept values of earlier phases.
  void mark_needed(int phase) {
    needed_.assign(p_.code.size(), false);
    for (int32_t i = count() - 1; i >= 0; --i) {
      if (!values_.closures[phase][i]) continue;
      const bool root = is_store(i) || is_reduce(i);
      // A later phase reads it from its register, even if a run makes it unnecessary in this phase.
      if (of_[i].kept && of_[i].first == phase) needed_[i] = true;
      if (!root && (!needed_[i] || (of_[i].kept && of_[i].first < phase))) continue;
      if (const RowLoad load = emit_.row_load_of(i); load.start >= 0) {
        needed_[load.start] = true;
        continue;
      }
      for (int32_t o : {instr(i).a, instr(i).b, instr(i).c})
        if (o >= 0) needed_[o] = true;
    }
  }

  // Computes where runs begin for a tile of units at once: these loops then run over units, and the memory of the runs
  // can be prefetched.
  void choose_ahead() {
    const int last = e_.unit_dims.rank - 1;
    if (!e_.pointwise || last < 0 || e_.unit_dims[last] == 1) return;
    std::vector<bool> ahead(p_.code.size());
    int64_t bytes = 0;  // of the runs of a unit
    for (int32_t i = count() - 1; i >= 0; --i) {
      if (const RowLoad load = emit_.row_load_of(i); load.start >= 0 && needed_[i]) {
        ahead[load.start] = true;
        bytes += std::min(e_.lanes, e_.block) * size_of(instr(i).dtype);
      }
      const Value& v = of_[i];
      if (!ahead[i] || v.level == Level::fixed) continue;
      if (!v.scalar) return;
      for (int32_t o : {instr(i).a, instr(i).b, instr(i).c}) {
        if (o < 0) continue;
        if (instr(i).code == Code::check_index && o != instr(i).a && of_[o].level != Level::fixed) return;
        ahead[o] = true;
      }
    }
    if (bytes == 0) return;
    e_.tile = std::clamp(kTileBytes / bytes, kTile, kRowTile);
    for (int32_t i = 0; i < count(); ++i) of_[i].ahead = ahead[i] && of_[i].level != Level::fixed && !of_[i].in_place;
  }

  // Results larger than half of the last cache that are not read here are written past the caches: whole lines need not
  // be read first, and the caches keep their contents.
  void choose_streams() {
    if (options_.tile) return;
    for (int32_t i = 0; i < count(); ++i) {
      if (instr(i).code != Code::store) continue;
      ViewUse& view = e_.views[instr(i).slot];
      const View& from = p_.views[instr(i).slot];
      int64_t bytes = view.size;
      for (int d = 0; d < p_.domain.rank; ++d) bytes *= from.strides[d] ? p_.domain[d] : 1;
      bool read = false;
      for (int32_t j = 0; j < count(); ++j)
        read = read || (is_load(instr(j).code) && may_alias(instr(j).slot, instr(i).slot));
      view.streams = !read && !view.walk && view.lane_step == view.size && e_.lanes * view.size >= kStreamedRow &&
                     2 * bytes >= last_cache_bytes();
      e_.streams = e_.streams || view.streams;
    }
  }

  bool may_alias(int32_t view_a, int32_t view_b) const { return cpu::may_alias(e_, options_, view_a, view_b); }

  bool reads(int32_t i, int32_t view) const {  // instruction i reads memory that `view` may write
    if (is_load(instr(i).code)) return may_alias(instr(i).slot, view);
    for (int32_t o : {instr(i).a, instr(i).b, instr(i).c})
      if (o >= 0 && of_[o].in_place && may_alias(instr(o).slot, view)) return true;
    return false;
  }

  // Whether a value is still there when folds read it: they come after all stores.
  bool stays(int32_t i) const {
    return !of_[i].in_place || std::ranges::none_of(p_.code, [&](const Instr& in) {
      return sg::is_store(in.code) && may_alias(instr(i).slot, in.slot);
    });
  }

  // Whether a value can be computed right where it is stored: nothing afterwards reads the old contents.
  bool direct(int32_t store, int32_t value, size_t position, const std::vector<Node>& nodes, int phase) const {
    const ViewUse& view = view_of(store);
    const Value& v = of_[value];
    if (v.scalar || v.kept || v.in_place || view.walk || view.lane_step != view.size) return false;
    if (view.streams && emit_.row_load_of(value).start < 0) return false;
    if (instr(store).code != Code::store) return false;
    for (size_t n = position + 1; n < nodes.size(); ++n)
      if (reads(nodes[n].instr, instr(store).slot) || (nodes[n].inner >= 0 && reads(nodes[n].inner, instr(store).slot)))
        return false;
    for (int32_t i = 0; i < count(); ++i)
      if (values_.closures[phase][i] && (is_reduce(i) || is_store(i)) && i != store && reads(i, instr(store).slot))
        return false;
    return true;
  }

  void emit_elements(Phase& out, int phase) {
    mark_needed(phase);
    choose_ahead();
    std::vector<int> uses(p_.code.size());
    std::vector<Node> nodes = nodes_of(phase, uses);
    std::vector<int32_t> stores, reduces;
    for (int32_t i = 0; i < count(); ++i) {
      if (values_.closures[phase][i] && is_store(i)) stores.push_back(i);
      if (values_.closures[phase][i] && is_reduce(i)) reduces.push_back(i);
    }
    std::vector<bool> products(p_.code.size());  // folds that multiply, too
    for (int32_t r : reduces) {
      const int32_t product = instr(r).a;
      products[r] = emit_.can_fold_products(r) && uses[product] == 1 && !of_[product].kept && stays(instr(product).a) &&
                    stays(instr(product).b) &&
                    std::erase_if(nodes, [&](const Node& n) { return n.instr == product && n.inner < 0; }) > 0;
    }
    std::vector<size_t> last(p_.code.size(), 0);
    for (size_t n = 0; n < nodes.size(); ++n)
      for (int32_t i : {nodes[n].instr, nodes[n].inner})
        if (i >= 0)
          for (int32_t o : {instr(i).a, instr(i).b, instr(i).c})
            if (o >= 0) last[o] = n;
    for (const auto& list : {stores, reduces})
      for (int32_t i : list) {
        const Instr& in = products[i] ? instr(instr(i).a) : instr(i);
        for (int32_t o : {in.a, in.b})
          if (o >= 0) last[o] = nodes.size();
      }

    std::vector<bool> written(p_.code.size());
    std::vector<int32_t> live;  // temporaries in use, by instruction
    for (size_t n = 0; n < nodes.size(); ++n) {
      const int32_t i = nodes[n].instr;
      Value& v = of_[i];
      // The result may reuse the register of an operand that is not needed afterwards: loops allow d == operand.
      for (size_t k = 0; k < live.size();) {
        if (last[live[k]] <= n) {
          emit_.release(of_[live[k]].slot);
          live[k] = live.back();
          live.pop_back();
        } else {
          ++k;
        }
      }
      if (v.ahead) {
        v.slot = emit_.new_register(static_cast<int>(size_of(instr(i).dtype)), Register::Holds::units);
      } else if (!v.kept) {
        v.slot = -1;
        if (emit_.in_tile(i)) {
          v.slot = emit_.new_register(static_cast<int>(kTile * size_of(instr(i).dtype)));  // lives as long as the tile
          e_.tile = kTile;
        }
        for (int32_t s : stores)
          if (v.slot < 0 && instr(s).a == i && direct(s, i, n, nodes, phase)) v.slot = instr(s).slot, written[s] = true;
        if (v.slot < 0 && v.scalar) v.slot = emit_.new_cell({});
        if (v.slot < 0) {
          v.slot = emit_.temporary(size_of(instr(i).dtype));
          live.push_back(i);
        }
      }
      if (!v.ahead) e_.cost += cost_of(instr(i).code);
      std::vector<Op>& ops = v.ahead ? e_.ahead : out.element;
      if (instr(i).code == Code::load || instr(i).code == Code::index)
        emit_.load(i, ops);
      else
        emit_.alu(nodes[n], ops);
      // At once, because what is written past the caches arrives while the next loops run.
      for (int32_t s : stores)
        if (!v.ahead && !written[s] && view_of(s).streams && instr(s).a == i) emit_.store(s, ops), written[s] = true;
    }
    for (int32_t s : stores)
      if (!written[s]) emit_.store(s, out.element);
    for (int32_t r : reduces) emit_.fold(r, out, products[r]);
    for (int32_t i : live) emit_.release(of_[i].slot);
  }

  void finish() {
    e_.first_cell = static_cast<int32_t>(e_.views.size());
    e_.first_register = e_.first_cell + static_cast<int32_t>(e_.cells.size());
    e_.slots = e_.first_register + static_cast<int32_t>(emit_.registers.size());
    const auto place = [&](int32_t& slot) {
      if (slot >= kRegister)
        slot += e_.first_register - kRegister;
      else if (slot >= kCell)
        slot += e_.first_cell - kCell;
    };
    const auto place_all = [&](std::vector<Op>& ops) {
      for (Op& op : ops)
        for (int32_t* s : {&op.d, &op.a, &op.b, &op.c}) place(*s);
    };
    place_all(e_.setup);
    place_all(e_.ahead);
    for (Fetch& f : e_.fetches)
      for (int32_t* s : {&f.run.d, &f.run.a, &f.run.b}) place(*s);
    size_t folds = 0;
    for (Phase& phase : e_.phases) {
      place_all(phase.row);
      place_all(phase.element);
      for (FoldOp& f : phase.folds)
        for (int32_t* s : {&f.value, &f.other, &f.result, &f.partial}) place(*s);
      folds = std::max(folds, phase.folds.size());
    }
    lay_out(folds);
  }

  void lay_out(size_t folds) {
    int64_t temporary_bytes = 0,
            view_bytes = 0;  // of an element; pointwise views that a block reads or writes in order
    for (const Register& r : emit_.registers)
      if (r.holds == Register::Holds::block) temporary_bytes += r.size;
    for (const ViewUse& view : e_.views)
      if (e_.pointwise && view.binding >= 0 && !view.walk && view.lane_step == view.size) view_bytes += view.size;
    int64_t fit = 1024 * (temporary_bytes + view_bytes) > kRegisterBytes ? 512 : 1024;
    while (fit > 128 && fit * temporary_bytes > kRegisterBytes) fit /= 2;
    e_.block = only_folds() ? kFolded : std::min(e_.block, fit);
    int64_t at = (e_.slots * int64_t(sizeof(char*)) + 63) / 64 * 64;
    at += (static_cast<int64_t>(e_.cells.size() * sizeof(Number)) + 63) / 64 * 64;
    e_.state_offset = at;
    at += (static_cast<int64_t>(folds * sizeof(FoldState)) + 63) / 64 * 64;
    e_.lanes_offset = at;
    at += static_cast<int64_t>(folds) * kLanesBytes;
    if (e_.part_rows && e_.phases.size() == 1 && e_.unit_dims.rank > 0) e_.tile = e_.part_rows;
    const int64_t width = e_.width();
    for (size_t r = 0; r < emit_.registers.size(); ++r) {
      const int32_t slot = e_.first_register + static_cast<int32_t>(r);
      e_.registers.push_back(at);
      int64_t elements = width;
      if (emit_.registers[r].holds == Register::Holds::units) {
        e_.moving.push_back(slot);
        e_.unit_steps.push_back({slot, emit_.registers[r].size});
        elements = e_.tile;
      } else if (emit_.registers[r].holds == Register::Holds::row) {
        e_.moving.push_back(slot);
        elements = e_.across ? width * e_.columns : e_.lanes;
        e_.block_steps.push_back({slot, (e_.across ? width : e_.block) * emit_.registers[r].size});
      }
      at += (elements * emit_.registers[r].size + 63) / 64 * 64;
    }
    e_.frame_bytes = at;
    add_steps();
    find_next_rows();
  }

  // Whether the program does nothing but fold rows where they lie.
  bool only_folds() const {
    return !e_.across && !e_.pointwise &&
           std::all_of(e_.phases.begin(), e_.phases.end(), [](const Phase& p) { return p.element.empty(); });
  }

  void find_next_rows() {
    const int last_unit = e_.unit_dims.rank - 1;
    if (e_.across || e_.pointwise || e_.tile > 1 || e_.phases.size() < 2 || e_.lanes > e_.block || last_unit < 0)
      return;
    for (int32_t v = 0; v < static_cast<int32_t>(e_.views.size()); ++v) {
      const ViewUse& view = e_.views[v];
      const int64_t bytes = e_.lanes * view.size;
      if (view.binding >= 0 && !view.walk && !view.streams && view.lane_step == view.size &&
          view.unit[last_unit] >= bytes)
        e_.next_rows.push_back({v, view.unit[last_unit], bytes});
    }
  }

  void add_steps() {
    e_.column_steps.resize(e_.column_dims.rank);
    const int last_unit = e_.unit_dims.rank - 1;
    for (int32_t v = 0; v < static_cast<int32_t>(e_.views.size()); ++v) {
      const ViewUse& view = e_.views[v];
      if (e_.tile > 1 && view.unit[last_unit]) e_.unit_steps.push_back({v, view.unit[last_unit]});
      if (!e_.across) {
        if (!view.walk && view.lane_step) e_.block_steps.push_back({v, view.lane_step * e_.block});
        continue;
      }
      int64_t back = 0;  // what the faster dimensions have to return by
      for (int d = e_.column_dims.rank - 1; d >= 0; --d) {
        if (view.column[d] != back) e_.column_steps[d].push_back({v, view.column[d] - back});
        back += (e_.column_dims[d] - 1) * view.column[d];
      }
    }
  }

  const Program& p_;
  const CompileOptions& options_;
  Executable e_;
  Values values_;
  std::vector<Value>& of_;
  CallEmitter emit_;
  std::vector<bool> needed_;
};

}  // namespace

int64_t Executable::bytes() const {
  const auto of = [](const auto& list) { return static_cast<int64_t>(list.capacity() * sizeof(list[0])); };
  int64_t sum = of(views) + of(cells) + of(numbers) + of(checks) + of(setup) + of(ahead) + of(fetches) + of(next_rows) +
                of(phases) + of(moving) + of(registers) + of(block_steps) + of(unit_steps) + of(column_steps);
  for (const Phase& p : phases) sum += of(p.row) + of(p.element) + of(p.folds);
  for (const auto& steps : column_steps) sum += of(steps);
  return sum;
}

Executable compile(const Program& program, const CompileOptions& options) { return Compiler(program, options).run(); }

}  // namespace sg::cpu
