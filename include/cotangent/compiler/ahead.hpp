#pragma once
/// Loads that ask for what comes later: kernels that are busy with arithmetic leave memory idle, and the processor is too far from what it
/// will need to see it coming.

#include <cotangent/compiler/blocks.hpp>
#include <cotangent/compiler/kernel.hpp>

namespace cotangent {

/// What a group reads and does not make, row after row, is asked for by the kernel that works the most on each point of those that read it,
/// if it works so much that memory would else have nothing to do: for the rows to come.
constexpr void load_rows_ahead(schedule& s, const graph& g, const row_blocks& r) {
  constexpr double busy = 8;
  sequence<double> work;  // per buffer: of the busiest kernel yet
  sequence<int> load;     // and its statement; -1 for what is written
  work.assign(s.buffers.size(), busy), load.assign(s.buffers.size(), -1);
  for (int i = r.first; i < r.first + r.count; ++i) {
    const step& x = s.steps[std::size_t(i)];
    if (x.node >= 0) continue;
    double own = 0;
    for (int k = x.statements; k < x.statements + x.statement_count; ++k)
      if (const statement& t = s.statements[std::size_t(k)]; t.what == statement::apply) own += g[t.node].op->flops;
    if (own <= busy) continue;
    for (int k = x.statements; k < x.statements + x.statement_count; ++k) {
      const statement& t = s.statements[std::size_t(k)];
      if (t.what != statement::load || t.windowed != 0 || t.indexed_strides.rank > 0 || t.type == dtype::boolean || t.where.strides.rank < 2) continue;
      const std::size_t b = std::size_t(s.step_buffers[std::size_t(x.buffers + t.buffer)]);
      if (own > work[b] && t.where.strides[0] != 0 && t.where.strides[t.where.strides.rank - 1] == 1) work[b] = own, load[b] = k;
    }
  }
  for (std::size_t b = 0; b < s.buffers.size(); ++b)
    if (load[b] >= 0 && s.buffers[b].where != buffer::block && s.buffers[b].where != buffer::output && s.buffers[b].first <= r.first) s.statements[std::size_t(load[b])].ahead = true;
}

/// A long kernel asks for what its next vector reads from large tables.
constexpr void gather_ahead(schedule& s) {
  constexpr extent large = 1 << 20;
  for (const step& x : s.steps) {
    if (x.node >= 0 || x.statement_count <= long_kernel) continue;
    for (int k = x.statements; k < x.statements + x.statement_count; ++k) {
      statement& t = s.statements[std::size_t(k)];
      if (t.what != statement::load || t.indexed_strides.rank != 1 || t.windowed != 0) continue;
      const buffer& table = s.buffers[std::size_t(s.step_buffers[std::size_t(x.buffers + t.buffer)])];
      t.ahead = !has_symbol(table.dims) && table.dims.size() * size_of(table.type) >= large;
    }
  }
}

/// Marks these loads, once lifetimes are known.
constexpr void load_ahead(schedule& s, const graph& g) {
  for (const row_blocks& r : s.blocks) load_rows_ahead(s, g, r);
  gather_ahead(s);
}

}  // namespace cotangent
