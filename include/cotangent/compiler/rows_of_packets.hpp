#pragma once
/// Row blocks in packets: their kernels run for one row, all of them, and then for the next. What they leave for each other stays in the
/// nearest cache, as only one row of it exists, where arrays of all rows, the directions of a Hessian say, would not.

#include <cotangent/compiler/blocks.hpp>

namespace cotangent {

/// Takes the outermost dimension out of the kernels of row blocks, once lifetimes are known: it becomes a loop around them, in which the
/// arrays of rows move on.
constexpr void loop_over_rows(schedule& s) {
  for (row_blocks& r : s.blocks) {
    for (int i = r.first; i < r.first + r.count; ++i) {
      step& x = s.steps[std::size_t(i)];
      x.turns = r.rows;
      x.space = erase(x.space, 0);
      for (int k = x.statements; k < x.statements + x.statement_count; ++k) {
        statement& t = s.statements[std::size_t(k)];
        if (t.what == statement::index) t.where.strides = erase(t.where.strides, 0);
        if (t.buffer < 0) continue;
        const buffer& b = s.buffers[std::size_t(s.step_buffers[std::size_t(x.buffers + t.buffer)])];
        if (t.where.strides[0] != 0 && b.where != buffer::block) x.moving |= 1ul << t.buffer;
        t.where.strides = erase(t.where.strides, 0);
        leave_dimension(s.windows, t, 0);
      }
    }
    for (buffer& b : s.buffers)
      if (is_of_block(b, r)) b.dims = {row_elements(b, r.rows)}, b.where = buffer::arena;
    r.memory = 0;
  }
}

}  // namespace cotangent
