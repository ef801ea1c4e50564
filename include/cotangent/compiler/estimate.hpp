#pragma once
/// The cost model: what a schedule is expected to take on one core. It predicts orders of magnitude and which of two programs
/// is faster, not nanoseconds: a machine with vectors of 64 bytes whose figures are below.
///
/// A step takes the longer of two times. Arithmetic: the vectors that its rows fill, times its statements. Memory: the bytes
/// of each buffer that it touches, at the speed of the cache that holds so many, or of the block of rows that the thread works on.

#include <algorithm>

#include <cotangent/compiler/chunks.hpp>
#include <cotangent/compiler/fuse.hpp>
#include <cotangent/compiler/kernel_facts.hpp>

namespace cotangent {

/// What one core does. Throughputs of cores of 2020 to 2025.
struct machine_model {
  double cycles_per_nanosecond = 3.5;
  extent vector_bytes = 64, nearest_bytes = 1 << 15, near_bytes = 1 << 20;  // caches
  double nearest = 96, near = 28, far = 5;                                  // bytes per cycle from them, and from memory
  double operation = 0.5, access = 0.5, long_operation = 2.0;              // cycles per vector; of library functions, per flop
  double lane = 0.6, gathered_lane = 1.2;                                   // cycles per element that lies a stride or an index away
  double row = 10, row_of_packet = 2;                                       // cycles to begin a row
  double product = 1.6;                                                     // multiply-adds of vectors per cycle in matrix products
  double element = 5;                                                       // cycles per element of what runs by itself
  double step = 40;                                                         // cycles to start a kernel
};

/// The values of symbols for inputs of these shapes.
constexpr sequence<extent> symbol_values(const sequence<symbol>& symbols, const sequence<shape>& inputs) {
  sequence<extent> values;
  const auto value = [&](extent e) { return is_symbol(e) ? values[std::size_t(e - symbol_base)] : e; };
  for (const symbol& x : symbols) values.push_back(x.what == symbol::input ? inputs[std::size_t(x.a)][int(x.b)] : evaluate(x.what, value(x.a), value(x.b)));
  return values;
}

/// What a step takes.
struct step_estimate {
  double arithmetic = 0, memory = 0;  // cycles
  double flops = 0, bytes = 0;
  constexpr double cycles() const { return arithmetic > memory ? arithmetic : memory; }
};

/// The estimates of a schedule's steps. `extents` are the values of the symbols, for run-time extents.
class estimator {
 public:
  constexpr estimator(const schedule& s, const graph& g, const sequence<extent>& extents = {}, const machine_model& m = {}) : s_(s), g_(g), extents_(extents), m_(m) {}

  constexpr step_estimate step_at(int i) const {
    const step& x = s_.steps[std::size_t(i)];
    if (x.node < 0) return kernel(i);
    if (g_[x.node].op->kind == role::call) return loop(i);
    step_estimate e;
    touch_buffers(i, e);
    const node& n = g_[x.node];
    const double points = count(n.dims);
    if (n.op_id == primitive_of<gemm_p>.id) {
      const extent axis = g_.attribute(x.node, 2);
      const double share = gemm_p::share(g_.attributes.items + n.attributes, n.attribute_count);
      const double terms = share * (axis < 0 ? 1 : double(value(g_[g_.operand(x.node, 0)].dims[int(axis)])));
      e.flops = 2 * points * terms;
      e.arithmetic = points * terms / (m_.product * lanes_of(n.type)) + m_.step * double(value(n.dims[0]));
    } else {
      const double elements = n.operand_count > 1 && is_scatter(n.op_id) ? count(g_[g_.operand(x.node, 1)].dims) : points;
      e.flops = elements * n.op->flops;
      e.arithmetic = elements * (n.op_id == primitive_of<lane_rows_p>.id ? m_.lane / 4 : m_.element);
    }
    return e;
  }
  /// The sum of the steps, whose cycles count as arithmetic.
  constexpr step_estimate all() const {
    step_estimate sum;
    for (int i = 0; i < int(s_.steps.size()); ++i) {
      const step_estimate e = step_at(i);
      sum.arithmetic += e.cycles(), sum.flops += e.flops, sum.bytes += e.bytes;
    }
    return sum;
  }
  constexpr double nanoseconds(const step_estimate& e) const { return e.cycles() / m_.cycles_per_nanosecond; }

 private:
  const schedule& s_;
  const graph& g_;
  const sequence<extent> extents_;
  const machine_model m_;

  constexpr extent value(extent e) const {
    if (!is_symbol(e)) return e;
    return std::size_t(e - symbol_base) < extents_.size() ? extents_[std::size_t(e - symbol_base)] : 1;
  }
  constexpr double count(const shape& dims) const {
    double n = 1;
    for (extent e : dims) n *= double(value(e));
    return n;
  }
  constexpr double lanes_of(dtype d) const { return double(m_.vector_bytes / (size_of(d) < 4 ? 4 : size_of(d))); }

  /// What the buffers of a step cost: those that an earlier step of its group of rows touched are near.
  constexpr void touch_buffers(int i, step_estimate& e) const {
    const step& x = s_.steps[std::size_t(i)];
    int first = i;
    for (const row_blocks& r : s_.blocks)
      if (i >= r.first && i < r.first + r.count) first = r.first;
    for (int k = 0; k < x.buffer_count; ++k) {
      const int b = s_.step_buffers[std::size_t(x.buffers + k)];
      const buffer& at = s_.buffers[std::size_t(b)];
      const double bytes = std::min(count(at.dims), elements_read(x, k)) * size_of(at.type);
      bool near = at.where == buffer::block;
      for (int j = first; j < i && !near; ++j) near = touches(s_, j, b);
      e.memory += bytes / (bytes <= double(m_.nearest_bytes) ? m_.nearest : near || bytes <= double(m_.near_bytes) ? m_.near : writes(x, k) ? m_.far / 2 : m_.far);
      e.bytes += bytes;
    }
  }

  constexpr double points_of(const step& x) const {
    double points = double(x.turns);
    for (extent d : x.space) points *= double(named(x, d));
    return points;
  }
  /// The most elements that a step reads of its buffer number k, if it reads it at computed places only; else all there can be.
  constexpr double elements_read(const step& x, int k) const {
    constexpr double all = 1e300;
    if (x.node >= 0) return k == 0 && g_[x.node].op_id == primitive_of<lane_rows_p>.id ? count(g_[x.node].dims) : all;
    int loads = 0;
    for (int i = 0; i < x.statement_count; ++i) {
      const statement& t = s_.statements[std::size_t(x.statements + i)];
      if (t.buffer != k) continue;
      if (t.what != statement::load || t.indexed_strides.rank == 0) return all;
      ++loads;
    }
    return loads > 0 ? loads * points_of(x) : all;
  }

  /// Whether a step writes its buffer number k: memory far away is read first.
  constexpr bool writes(const step& x, int k) const {
    bool r = x.node >= 0 && k >= x.operands;
    for (int i = 0; i < x.statement_count; ++i) {
      const statement& t = s_.statements[std::size_t(x.statements + i)];
      r = r || (t.buffer == k && t.what != statement::load);
    }
    return r;
  }
  constexpr extent named(const step& x, extent e) const { return value(extent_named(s_, x, e)); }
  /// How many of the last dimensions of a kernel all accesses walk as one, and their extent.
  constexpr double row_of(const step& x) const {
    double row = 1;
    for (int d = x.space.rank; d-- > 0;) {
      bool joins = true;
      for (int k = 0; k < x.statement_count && d + 1 < x.space.rank && joins; ++k) {
        const statement& t = s_.statements[std::size_t(x.statements + k)];
        if (t.buffer < 0) continue;
        const extent outer = named(x, t.where.strides[d]), inner = named(x, t.where.strides[d + 1]);
        joins = t.windowed == 0 && outer == inner * named(x, x.space[d + 1]);
      }
      if (!joins) break;
      row *= double(named(x, x.space[d]));
    }
    return row;
  }

  /// Whether all that a kernel does is to sum what a condition chooses that is one for a row: rows are then left out.
  constexpr bool leaves_rows_out(const step& x) const {
    sequence<bool> varies(std::size_t(x.statement_count), false);  // along rows
    const int last = x.space.rank - 1;
    bool sums = false;
    for (int k = 0; k < x.statement_count; ++k) {
      const statement& t = s_.statements[std::size_t(x.statements + k)];
      if (t.what == statement::store || last < 0) return false;
      bool& own = varies[std::size_t(k)];
      own = (t.what == statement::load || t.what == statement::index) && named(x, t.where.strides[last]) != 0;
      for (int o = 0; o < t.register_count; ++o) own = own || varies[std::size_t(t.registers[o])];
      for (int o = 0; o < t.indexed_strides.rank; ++o) own = own || varies[std::size_t(t.indexed[o])];
      if (t.what != statement::reduce) continue;
      const statement& chosen = s_.statements[std::size_t(x.statements + t.registers[0])];
      if (t.op_id != primitive_of<reduce_sum_p>.id || chosen.op_id != primitive_of<select_p>.id || varies[std::size_t(chosen.registers[0])]) return false;
      const statement& otherwise = s_.statements[std::size_t(x.statements + chosen.registers[2])];
      if (otherwise.what != statement::constant || otherwise.bits != 0) return false;
      sums = true;
    }
    return sums;
  }

  constexpr step_estimate kernel(int i) const {
    const step& x = s_.steps[std::size_t(i)];
    step_estimate e;
    touch_buffers(i, e);
    const double points = points_of(x);
    double lanes = double(m_.vector_bytes / 4);
    double vector = 0, by_lane = 0, once = 0;  // cycles per vector, per element, and per row
    sequence<int> loads(std::size_t(x.buffer_count), 0);  // of a buffer: more than one may be of a row
    for (int k = 0; k < x.statement_count; ++k)
      if (const statement& t = s_.statements[std::size_t(x.statements + k)]; t.what == statement::load) ++loads[std::size_t(t.buffer)];
    for (int k = 0; k < x.statement_count; ++k) {
      const statement& t = s_.statements[std::size_t(x.statements + k)];
      if (size_of(t.type) == 8) lanes = double(m_.vector_bytes / 8);
      const double flops = t.node >= 0 ? g_[t.node].op->flops : 0;
      if (t.node >= 0 && g_[t.node].dims.rank == 0 && x.space.rank > 0) {  // once per row
        once += 1 + flops;
        continue;
      }
      e.flops += flops * points;
      if (t.what == statement::apply || t.what == statement::reduce) vector += flops > 2 ? flops * m_.long_operation : m_.operation;
      if (t.what != statement::load && t.what != statement::store) continue;
      const extent stride = x.space.rank > 0 ? named(x, t.where.strides[x.space.rank - 1]) : 0;
      const bool of_row = t.what == statement::load ? loads[std::size_t(t.buffer)] > 1 : stride <= kernels::facts::short_row;
      if (t.indexed_strides.rank > 0) by_lane += of_row ? m_.gathered_lane / 4 : m_.gathered_lane;
      else if (stride != 0 && stride != 1) by_lane += of_row ? m_.lane / 4 : m_.lane;
      else if (stride == 1) vector += m_.access;
    }
    if (leaves_rows_out(x)) vector /= kernels::facts::rows_left_out, by_lane /= kernels::facts::rows_left_out, e.flops /= kernels::facts::rows_left_out;
    const double row = row_of(x), vectors = row > 0 ? double(extent((row + lanes - 1) / lanes)) : 0;
    e.arithmetic = m_.step + (row > 0 ? points / row : 0) * (m_.row + once + vectors * (vector + 1)) + points * by_lane;
    return e;
  }

  /// The shapes of a body's inputs: its last ones are the operands, of which those with an axis more are stacks of them.
  constexpr sequence<shape> input_shapes(int call, const graph& body) const {
    sequence<shape> shapes;
    const int before = int(body.inputs.size()) - g_[call].operand_count;
    for (int i = 0; i < int(body.inputs.size()); ++i) {
      shape dims = body[body.inputs[std::size_t(i)]].dims;
      if (i >= before) {
        const shape& whole = g_[g_.operand(call, i - before)].dims;
        for (int d = 0; d < dims.rank && whole.rank >= dims.rank; ++d) dims[d] = value(whole[d + whole.rank - dims.rank]);
      }
      shapes.push_back(dims);
    }
    return shapes;
  }
  /// A loop is its bodies times its turns, where they are known. Packets and chunks are loops over them.
  constexpr step_estimate loop(int i) const {
    const step& x = s_.steps[std::size_t(i)];
    const call_form form(g_, x.node);
    const std::uint64_t op = g_[x.node].op_id;
    const bool packets = op == primitive_of<packets_p>.id, chunks = op == primitive_of<chunks_p>.id;
    schedule_choices choices;
    double turns = 1;
    machine_model inside = m_;
    if (packets) inside.row = m_.row_of_packet;
    if (op == primitive_of<scan_p>.id) turns = double(value(form.own[0]));
    if (packets) turns = double((value(form.own[0]) + form.own[1] - 1) / form.own[1]), choices = choices_of_packets(form.own[1]);
    if (chunks) turns = std::max(1.0, double(value(form.own[0]) / form.own[1]));
    step_estimate e;
    for (extent k : form.bodies) {
      const graph body = chunks ? borrowed(g_.subgraphs[std::size_t(k)]) : canonicalize(g_.subgraphs[std::size_t(k)], packets);
      scheduler own(body, {}, choices);
      const schedule steps = own.run();
      sequence<shape> shapes = input_shapes(x.node, body);
      for (std::size_t i = 1; chunks && i < shapes.size(); ++i)  // of rows, as many as a chunk has
        if (const extent axis = form.own[3 + i]; axis >= 0) shapes[i][int(axis)] = form.own[1];
      const step_estimate once = estimator(steps, body, symbol_values(own.symbols, shapes), inside).all();
      e.arithmetic += turns * once.arithmetic, e.flops += turns * once.flops, e.bytes += turns * once.bytes;
      if (chunks) turns = 1;  // of the last chunk
    }
    return e;
  }
};

/// The schedule of a graph. Where large arrays could be computed again instead of stored, it is the better of the two.
constexpr schedule chosen_schedule(const graph& g, const sequence<call_memory>& calls, sequence<symbol>& symbols, schedule_choices choices = {}) {
  scheduler s(g, calls, choices);
  schedule r = s.run();
  symbols = s.symbols;
  if (!s.computed_large_again || !g.subgraphs.empty()) return r;
  choices.computes_large_again = false;
  scheduler storing(g, calls, choices);
  schedule other = storing.run();
  if (estimator(r, g).all().arithmetic <= estimator(other, g).all().arithmetic) return r;
  symbols = storing.symbols;
  return other;
}

}  // namespace cotangent
