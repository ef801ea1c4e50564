#pragma once
/// Row blocks: steps over the same rows run together, a block of rows through all of them while it is in the cache.
///
/// A row is one index of the outermost axis, or of several that are walked as one. A step works row by row if it reads what
/// other steps of the group have written, and writes all that it writes, in its own row only: softmax over the rows of a matrix,
/// a batch of matrix products with what makes their operands and uses their results. Intermediate values that no other step reads exist
/// for the rows of a block only. Threads take blocks. A row's results do not depend on the block it is in. Sums over rows
/// join too: each task has sums of its own, which are added in the order of the rows, and steps that use them follow the group.
/// So do scatters of updates that the group makes: they take each block of rows in turn, in the order of the rows.
///
/// In a packet the rows of a group run one by one (rows_of_packets.hpp).

#include <cotangent/compiler/canonicalize.hpp>
#include <cotangent/compiler/schedule.hpp>

namespace cotangent {

/// The elements of a row of a buffer, if an array of so many rows lies in it; else 0. It may be a symbol, of an array of two
/// axes.
constexpr extent row_elements(const buffer& b, extent rows) {
  if (b.dims.rank == 0) return 0;
  if (!is_symbol(rows) && !has_symbol(b.dims)) return rows > 0 && b.dims.size() % rows == 0 ? b.dims.size() / rows : 0;
  if (b.dims[0] != rows) return 0;
  if (b.dims.rank == 2) return b.dims[1];
  const shape row = erase(b.dims, 0);
  return has_symbol(row) ? 0 : row.size();
}

/// The elements from one row of a packet's kernel to the next, in an array that may have more of them: a part of a concatenation.
constexpr extent elements_to_next_row(const buffer& b, extent rows) {
  const extent row = row_elements(b, rows);
  return row > 0 || b.dims.rank == 0 || b.dims[0] < rows ? row : b.dims.size() / b.dims[0];
}

/// Whether a buffer is one of a group's of which only the rows of a block exist.
constexpr bool is_of_block(const buffer& b, const row_blocks& group) { return b.where == buffer::block && b.first == group.first; }

/// Whether a kernel of a schedule or a plan accesses a buffer, by a statement, in the row that it works on.
template <class Schedule> constexpr bool stays_in_row(const Schedule& all, const step& x, const statement& s, const buffer& b, extent rows) {
  const extent row = row_elements(b, rows);
  for (extent stride : s.indexed_strides)  // indices are in bounds, so those along inner axes stay in the row
    if (is_symbol(row) || is_symbol(stride) || stride >= row) return false;
  if (row == 0 || (s.windowed & 1u) != 0 || is_symbol(s.where.offset) || s.where.offset < 0) return false;
  if (extent_named(all, x, s.where.strides[0]) != row) return false;
  if (is_symbol(row)) {  // the whole row in order, or one element of it again and again
    int along = 0;
    for (int d = 1; d < x.space.rank; ++d) {
      if (s.where.strides[d] == 0) continue;
      if (s.where.strides[d] != 1 || extent_named(all, x, x.space[d]) != row || ++along > 1) return false;
    }
    return s.where.offset == 0;
  }
  extent last = s.where.offset;
  for (int d = 1; d < x.space.rank; ++d) {
    if (s.where.strides[d] == 0) continue;
    if (is_symbol(s.where.strides[d]) || s.where.strides[d] < 0 || is_symbol(x.space[d])) return false;
    last += (x.space[d] - 1) * s.where.strides[d];
  }
  return last < row;
}

/// Whether a kernel's statement reduces over its outermost dimension.
constexpr bool reduces_rows(const statement& s) { return s.what == statement::reduce && s.where.strides.rank > 0 && s.where.strides[0] == 0; }

/// The bytes that a block of rows takes in a thread's memory.
constexpr extent bytes_of_rows(extent rows, extent row, dtype type) { return (rows * row * size_of(type) + 63) / 64 * 64; }
/// How many rows are worked on at a time, of so many bytes each: two at least if they are not too long, as some kernels take two together.
/// Kernels alone find what those before them have touched of long rows in the nearest cache; products want many rows, for which they read a
/// matrix once, and of short rows there had better be many for each start of a kernel.
constexpr extent rows_at_a_time(extent row_bytes, bool of_kernels) {
  constexpr extent near_bytes = 1 << 15, block_bytes = 1 << 17, long_row = 1 << 12;
  if (row_bytes <= 0 || row_bytes >= block_bytes) return 1;
  const extent rows = (of_kernels && row_bytes >= long_row ? near_bytes : block_bytes) / row_bytes;
  return rows > 64 ? rows / 64 * 64 : rows > 2 ? rows : 2;
}

/// Finds the groups of a schedule, and moves their steps together.
class block_finder {
 public:
  constexpr block_finder(schedule& s, const graph& g, schedule_choices choices) : s_(s), g_(g), choices_(choices) {}

  constexpr void run() {
    if (s_.steps.size() < 2) return;
    if (choices_.rows_of_many_axes) merge_rows();
    find_accesses();
    for (std::size_t i = 0; i < s_.steps.size(); ++i) rows_.push_back(rows_of(i));
    taken_.assign(s_.steps.size(), false);
    sequence<step> order;
    for (std::size_t i = 0; i < s_.steps.size(); ++i) {
      if (taken_[i]) continue;
      row_blocks blocks = find(int(i));
      if (blocks.count > 1) {
        for (int m : before_) order.push_back(s_.steps[std::size_t(m)]), taken_[std::size_t(m)] = true;
        blocks.first = int(order.size());
        s_.blocks.push_back(blocks);
        for (int m : members_) order.push_back(s_.steps[std::size_t(m)]), taken_[std::size_t(m)] = true;
      } else order.push_back(s_.steps[i]);
    }
    s_.steps = std::move(order);
  }

 private:
  static constexpr extent most_row_bytes = 1 << 21, most_bytes_of_many_rows = 1 << 16, least_bytes = 1 << 18, least_rows = 16, most_sums = 1 << 14,
                          some_elements = 256;
  static constexpr double operations_per_byte = 128;  // that is read again: beyond it, memory does not matter, and tasks had better be many
  schedule& s_;
  const graph& g_;
  const schedule_choices choices_;
  flag_list taken_, reads_, writes_, sums_;  // per step; per buffer of a step: sums over rows are written to it
  sequence<std::uint64_t> read_, written_;   // per step: the buffers that it reads and writes, a bit for each
  std::size_t words_ = 0;                    // of such bits
  sequence<extent> rows_;                    // per step: its rows, or 0 if it has none
  sequence<int> members_, skipped_, before_;  // of a group: its steps, those between them, and those that move before it
  sequence<std::uint64_t> touched_by_, written_by_;  // the buffers that the members touch and write

  constexpr int global(const step& x, int k) const { return s_.step_buffers[std::size_t(x.buffers + k)]; }
  constexpr bool is_gemm(const step& x) const { return x.node >= 0 && g_[x.node].op_id == primitive_of<gemm_p>.id; }
  /// Whether a step works line by line along an axis that is not the outermost one.
  constexpr bool is_by_lines(const step& x) const { return x.node >= 0 && g_[x.node].op->by_lines && g_.attribute(x.node, 0) > 0; }
  constexpr bool is_scatter_step(const step& x) const { return x.node >= 0 && is_scatter(g_[x.node].op_id); }
  constexpr bool is_call(const step& x) const { return x.node >= 0 && g_[x.node].op->kind == role::call; }

  /// visit(buffer, writes) for each buffer that a step reads, and for each that it writes.
  template <class Visit> constexpr void accesses(const step& x, const Visit& visit) const {
    for (int k = x.buffers; k < x.buffers + x.buffer_count; ++k) {
      if (reads_[std::size_t(k)]) visit(s_.step_buffers[std::size_t(k)], false);
      if (writes_[std::size_t(k)]) visit(s_.step_buffers[std::size_t(k)], true);
    }
  }
  constexpr void find_accesses() {
    reads_.assign(s_.step_buffers.size(), false), writes_.assign(s_.step_buffers.size(), false), sums_.assign(s_.step_buffers.size(), false);
    for (const step& x : s_.steps) {
      for (int k = 0; k < x.buffer_count && x.node >= 0; ++k) (k < x.operands ? reads_ : writes_)[std::size_t(x.buffers + k)] = true;
      if (is_scatter_step(x)) sums_[std::size_t(x.buffers + x.operands)] = true;
      for (int i = 0; i < x.statement_count; ++i)
        if (const statement& t = s_.statements[std::size_t(x.statements + i)]; t.buffer >= 0) {
          (t.what == statement::load ? reads_ : writes_)[std::size_t(x.buffers + t.buffer)] = true;
          if (reduces_rows(t)) sums_[std::size_t(x.buffers + t.buffer)] = true;
        }
    }
    words_ = (s_.buffers.size() + 63) / 64;
    read_.assign(words_ * s_.steps.size(), 0), written_.assign(words_ * s_.steps.size(), 0);
    for (const step& x : s_.steps) {
      const std::size_t first = first_word(x);
      accesses(x, [&](int b, bool writes) { (writes ? written_ : read_).items[first + std::size_t(b) / 64] |= std::uint64_t(1) << b % 64; });
    }
  }
  constexpr std::size_t first_word(const step& x) const { return std::size_t(&x - s_.steps.items) * words_; }
  constexpr bool touches(const step& x, int b, bool only_writes) const {
    const std::size_t word = first_word(x) + std::size_t(b) / 64;
    return ((written_.items[word] | (only_writes ? 0 : read_.items[word])) >> b % 64 & 1u) != 0;
  }
  /// Whether the order of two steps matters.
  constexpr bool depend(const step& x, const step& y) const {
    const std::size_t a = first_word(x), b = first_word(y);
    for (std::size_t k = 0; k < words_; ++k)
      if (((written_.items[a + k] & (written_.items[b + k] | read_.items[b + k])) | (read_.items[a + k] & written_.items[b + k])) != 0) return true;
    return false;
  }
  static constexpr bool has(const sequence<std::uint64_t>& bits, int b) { return (bits.items[std::size_t(b) / 64] >> b % 64 & 1u) != 0; }
  constexpr bool is_written(int b) const { return has(written_by_, b); }
  /// To be called when the members have changed.
  constexpr void note_members() {
    touched_by_.assign(words_, 0), written_by_.assign(words_, 0);
    for (int m : members_) {
      const std::size_t first = first_word(s_.steps[std::size_t(m)]);
      for (std::size_t k = 0; k < words_; ++k) written_by_.items[k] |= written_.items[first + k], touched_by_.items[k] |= written_.items[first + k] | read_.items[first + k];
    }
  }

  /// Takes the outermost axes of kernels for one, as far as a kernel that reduces along others has them for one too: their rows are more, and
  /// shorter.
  constexpr void merge_rows() {
    sequence<extent> counts;  // of rows
    for (step& x : s_.steps) {
      bool reduces = false;
      for (int k = 0; k < x.statement_count; ++k) reduces = reduces || s_.statements[std::size_t(x.statements + k)].what == statement::reduce;
      if (!reduces) continue;
      bool merged = false;
      while (can_merge(x)) merge(x), merged = true;
      if (merged) counts.push_back(x.space[0]);
    }
    for (step& x : s_.steps) {
      extent most = 0, rows = 1;
      for (int d = 0; d + 1 < x.space.rank && !has_symbol(x.space); ++d) {
        rows *= x.space[d];
        for (extent c : counts) most = c == rows ? rows : most;
      }
      while (most > 0 && x.space[0] < most && can_merge(x)) merge(x);
    }
  }
  /// Whether every statement of a kernel walks its two outermost axes as one.
  constexpr bool can_merge(const step& x) const {
    bool can = x.node < 0 && x.space.rank > 2 && !has_symbol(x.space);
    for (int k = x.statements; k < x.statements + x.statement_count && can; ++k) {
      const statement& t = s_.statements[std::size_t(k)];
      if (!t.has_access()) continue;
      const extent outer = t.where.strides[0], inner = t.where.strides[1];
      can = can && t.windowed == 0 && !is_symbol(outer) && !is_symbol(inner) && outer == inner * x.space[1];
    }
    return can;
  }
  constexpr void merge(step& x) {
    for (int k = x.statements; k < x.statements + x.statement_count; ++k) {
      statement& t = s_.statements[std::size_t(k)];
      if (t.has_access()) t.where.strides = erase(t.where.strides, 0);
    }
    const extent rows = x.space[0] * x.space[1];
    x.space = erase(x.space, 0);
    x.space[0] = rows;
  }

  constexpr extent rows_of(std::size_t i) const {
    const step& x = s_.steps[i];
    if (x.after_rows) return 0;
    if (x.node < 0) return x.space.rank > 0 && !turns(x) ? extent_named(s_, x, x.space[0]) : 0;
    if (is_by_lines(x)) return choices_.lines_by_rows ? g_[x.node].dims[0] : 0;
    if (is_scatter_step(x)) return choices_.scatters_by_rows ? operand_rows(x, 1) : 0;
    if (!choices_.products_by_rows || !is_gemm(x) || has_symbol(g_[x.node].dims) || is_paired(int(i))) return 0;
    return g_[x.node].dims[0];
  }
  /// Whether a step copies an array whose rows lie along the steps' outermost axis: in blocks, not row by row.
  constexpr bool turns(const step& x) const {
    const statement& first = s_.statements[std::size_t(x.statements)];
    return x.statement_count == 2 && x.space.rank > 1 && first.what == statement::load && first.where.strides[0] == 1 && first.where.strides[x.space.rank - 1] != 1;
  }
  /// The outermost extent of an operand of an opaque step.
  constexpr extent operand_rows(const step& x, int k) const {
    const shape& dims = g_[g_.operand(x.node, k)].dims;
    return dims.rank > 0 ? dims[0] : 0;
  }
  /// Whether a member sums over rows, or scatters, into what a step touches.
  constexpr bool touches_sums(const step& x) const {
    bool r = false;
    for (int m : members_) {
      const step& member = s_.steps[std::size_t(m)];
      for (int k = 0; k < member.buffer_count; ++k) r = r || (sums_[std::size_t(member.buffers + k)] && touches(x, global(member, k), false));
    }
    return r;
  }
  /// Whether step i works row by row, given what the members write.
  constexpr bool by_rows(std::size_t i, extent rows) const {
    const step& x = s_.steps[i];
    bool fits = !touches_sums(x);
    if (is_by_lines(x)) {
      for (int k = 0; k < x.buffer_count; ++k) fits = fits && row_elements(s_.buffers[std::size_t(global(x, k))], rows) > 0;
      return fits;
    }
    if (is_scatter_step(x)) {  // where updates go must be known per row
      fits = fits && x.operands > 2 && !is_written(global(x, 0)) && is_written(global(x, 1));
      for (int k = 1; k < x.operands; ++k) fits = fits && operand_rows(x, k) == rows && row_elements(s_.buffers[std::size_t(global(x, k))], rows) > 0;
      return fits;
    }
    if (x.node >= 0) {
      for (int k = 0; k < 2; ++k) {
        const extent axis = g_.attribute(x.node, 3 * k);
        fits = fits && (axis < 0 ? !is_written(global(x, k)) : axis == 0);
      }
      return fits;
    }
    if (is_of_packet() && !moves_by_rows(x, rows)) return false;
    for (int j = 0; j < x.statement_count && fits; ++j) {
      const statement& t = s_.statements[std::size_t(x.statements + j)];
      if (t.buffer < 0 || (t.what == statement::load && !is_written(global(x, t.buffer)))) continue;
      if (reduces_rows(t)) {
        const shape& sums = s_.buffers[std::size_t(global(x, t.buffer))].dims;
        fits = choices_.sums_over_rows && (has_symbol(sums) || sums.size() <= most_sums);
        continue;
      }
      if (is_of_packet() && t.what == statement::store && !has(touched_by_, global(x, t.buffer))) continue;  // in rows that are its own alone
      fits = stays_in_row(s_, x, t, s_.buffers[std::size_t(global(x, t.buffer))], rows);
    }
    return fits;
  }
  constexpr bool is_of_packet() const { return choices_.lanes > 0; }
  /// Whether a kernel does the same in each row, with all that it touches a row further on, or with the same.
  constexpr bool moves_by_rows(const step& x, extent rows) const {
    constexpr int most_buffers = 64;
    extent distances[most_buffers];
    bool fits = x.space.rank > 1 && !has_symbol(x.space) && x.buffer_count <= most_buffers;
    for (int k = 0; k < x.buffer_count && fits; ++k) distances[k] = -1;
    for (int k = x.statements; k < x.statements + x.statement_count && fits; ++k) {
      const statement& t = s_.statements[std::size_t(k)];
      if (t.what == statement::index) fits = t.where.strides[0] == 0;
      if (t.buffer < 0) continue;
      const extent distance = t.where.strides[0];
      extent& known = distances[t.buffer];
      fits = fits && (t.windowed & 1u) == 0 && (known < 0 || known == distance) && (distance == 0 || distance == elements_to_next_row(s_.buffers[std::size_t(global(x, t.buffer))], rows));
      known = distance;
    }
    return fits;
  }
  /// Whether a step reads a row that a member writes or reads as well, and that is not little beside what it writes.
  constexpr bool shares(std::size_t i, extent rows) const {
    constexpr extent much = 16;
    bool any = false;
    extent shared = 0, written = 0;
    accesses(s_.steps[i], [&](int b, bool writes) {
      const extent row = row_elements(s_.buffers[std::size_t(b)], rows), elements = is_symbol(row) ? some_elements : row;
      if (writes) written += elements;
      if (writes || row == 0) return;
      const bool touched = has(touched_by_, b);
      any = any || touched;
      if (touched) shared += elements;
    });
    return any && shared * much >= written;
  }

  /// Whether step i is a product whose rows the next step finishes, or such a step: the two stay together.
  constexpr bool is_paired(int i) const { return s_.steps[std::size_t(i)].after_rows || (std::size_t(i) + 1 < s_.steps.size() && s_.steps[std::size_t(i) + 1].after_rows); }
  /// Whether step `between`, which step j needs, joins the group before it: it makes a large array that j reads by rows.
  constexpr bool joins_late(int between, std::size_t j, extent rows) {
    constexpr extent large = 1 << 18;  // bytes
    if (rows_[std::size_t(between)] != rows || is_paired(between) || !by_rows(std::size_t(between), rows)) return false;
    bool makes = false;
    accesses(s_.steps[std::size_t(between)], [&](int b, bool writes) {
      const buffer& made = s_.buffers[std::size_t(b)];
      makes = makes || (writes && row_elements(made, rows) > 0 && !has_symbol(made.dims) && made.dims.size() * size_of(made.type) >= large && touches(s_.steps[j], b, false));
    });
    if (!makes) return false;
    members_.push_back(between);
    note_members();
    const bool fits = by_rows(j, rows);
    members_.count -= 1;
    note_members();
    return fits;
  }
  /// Whether what step j needs of the steps between the members can run before them, or with them; moves it there.
  constexpr bool precedes(std::size_t j, extent rows) {
    const step& x = s_.steps[j];
    flag_list needed;
    needed.assign(skipped_.size(), false);
    for (std::size_t k = skipped_.size(); k-- > 0;) {
      const step& between = s_.steps[std::size_t(skipped_[k])];
      needed[k] = depend(between, x);
      for (std::size_t later = k + 1; later < skipped_.size(); ++later) needed[k] = needed[k] || (needed[later] && depend(between, s_.steps[std::size_t(skipped_[later])]));
      if (needed[k] && is_paired(skipped_[k])) return false;
    }
    sequence<int> rest, before, members = members_;
    for (std::size_t k = 0; k < skipped_.size(); ++k) {
      const int between = skipped_[k];
      if (!needed[k]) rest.push_back(between);
      else if (joins_late(between, j, rows)) insert_member(between);
      else {
        before.push_back(between);
        for (int m : members_)
          if (depend(s_.steps[std::size_t(m)], s_.steps[std::size_t(between)])) return members_ = members, note_members(), false;
      }
    }
    for (int b : before) before_.push_back(b);
    skipped_ = rest;
    return true;
  }
  /// Members are in the order of the program.
  constexpr void insert_member(int i) {
    members_.push_back(i);
    for (std::size_t k = members_.size() - 1; k > 0 && members_[k - 1] > i; --k) members_[k] = members_[k - 1], members_[k - 1] = i;
    note_members();
  }

  /// The group that begins with step `first`; its steps are members_.
  constexpr row_blocks find(int first) {
    members_.clear();
    note_members();
    row_blocks r;
    r.rows = rows_[std::size_t(first)];
    if ((!is_symbol(r.rows) && r.rows < (is_of_packet() ? 4 : least_rows)) || !by_rows(std::size_t(first), r.rows)) return r;
    skipped_.clear(), before_.clear();
    insert_member(first);
    for (std::size_t j = std::size_t(first) + 1; j < s_.steps.size(); ++j) {
      if (taken_.items[j]) continue;
      if (is_call(s_.steps.items[j])) break;
      const bool joins = rows_.items[j] == r.rows && shares(j, r.rows) && by_rows(j, r.rows) && precedes(j, r.rows);
      if (joins) insert_member(int(j));
      else skipped_.push_back(int(j));
    }
    if (members_.size() > 1) measure(r);
    return r;
  }

  constexpr bool of_kernels() const {
    for (int m : members_)
      if (s_.steps[std::size_t(m)].node >= 0) return false;
    return true;
  }
  /// What the kernels of a group compute, if there is nothing else in it: operations on numbers.
  constexpr double operations() const {
    double all = 0;
    if (!of_kernels()) return 0;
    for (int m : members_) {
      const step& x = s_.steps[std::size_t(m)];
      if (has_symbol(x.space)) return 0;
      double own = 0;
      for (int k = x.statements; k < x.statements + x.statement_count; ++k)
        if (const statement& t = s_.statements[std::size_t(k)]; t.what == statement::apply) own += g_[t.node].op->flops;
      all += own * double(x.space.size());
    }
    return all;
  }
  /// One row at a time, where all rows are too much for the nearest cache, and one is worth a turn of a loop.
  constexpr void measure_packet(row_blocks& r, extent again) const {
    constexpr extent near = 1 << 16, least_of_row = 1 << 11;
    if (again >= least_of_row && r.rows * again >= near && 2 * r.row_bytes <= r.rows * again) r.count = int(members_.size()), r.block = 1;
  }
  /// Sets the sizes of a group; and its count if it is worth while.
  constexpr void measure(row_blocks& r) {
    sequence<int> times, last;  // per buffer: how many members touch it, and the last that did
    times.assign(s_.buffers.size(), 0), last.assign(s_.buffers.size(), -1);
    for (int m : members_)
      accesses(s_.steps[std::size_t(m)], [&](int b, bool) {
        if (last.items[b] != m) ++times.items[b];
        last.items[b] = m;
      });
    extent again = 0;         // bytes of a row that later steps touch again
    bool some_long = false;   // as long as is known at run time only
    for (std::size_t b = 0; b < times.count; ++b) {
      if (times.items[b] == 0) continue;
      const buffer& x = s_.buffers[b];
      const extent row = row_elements(x, r.rows), bytes = (is_symbol(row) ? some_elements : row) * size_of(x.type);
      some_long = some_long || is_symbol(row);
      r.row_bytes += bytes;
      again += bytes * (times.items[b] - 1);
    }
    if (is_of_packet()) return measure_packet(r, again);
    const bool many = is_symbol(r.rows) || some_long;
    if (again == 0 || r.row_bytes > (many ? most_bytes_of_many_rows : most_row_bytes) || (!many && r.rows * again < least_bytes)) return;
    if (!many && operations() > operations_per_byte * double(r.rows * again)) return;
    r.count = int(members_.size());
    if (some_long) return;
    r.block = rows_at_a_time(r.row_bytes, of_kernels());
    if (!many && r.block > r.rows) r.block = r.rows;
  }
};

/// Groups steps that work row by row on large arrays.
constexpr void form_blocks(schedule& s, const graph& g, schedule_choices choices) { block_finder(s, g, choices).run(); }

/// Once lifetimes are known: what a group of steps touches lives from its begin to its end, and what lives only there gets
/// memory for one block.
constexpr void place_blocks(schedule& s) {
  for (row_blocks& r : s.blocks) {
    const int last = r.first + r.count - 1;
    flag_list touched;
    touched.assign(s.buffers.size(), false);
    for (int i = r.first; i <= last; ++i) {
      const step& x = s.steps[std::size_t(i)];
      for (int k = 0; k < x.buffer_count; ++k) touched[std::size_t(s.step_buffers[std::size_t(x.buffers + k)])] = true;
    }
    for (std::size_t k = 0; k < s.buffers.size(); ++k) {
      buffer& b = s.buffers.items[k];
      if (!touched.items[k] || b.first > last || b.last < r.first || b.first < 0) continue;
      const extent row = row_elements(b, r.rows);
      if (b.where == buffer::arena && b.first >= r.first && b.last <= last && row > 0) {
        b.where = buffer::block, b.offset = r.memory;
        r.memory += r.block > 0 ? bytes_of_rows(r.block, row, b.type) : 0;
      }
      if (b.first > r.first) b.first = r.first;
      if (b.last < last) b.last = last;
    }
  }
}

}  // namespace cotangent
