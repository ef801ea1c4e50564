#pragma once
/// Which groups of steps teams of threads take row by row (backends/simt/rows.hpp), and what they keep in registers.

#include <algorithm>
#include <array>

#include <cotangent/backends/simt/rows.hpp>
#include <cotangent/compiler/blocks.hpp>
#include <cotangent/compiler/executable.hpp>

namespace cotangent::simt {

/// The team for a group of steps. There is one if all steps are kernels of static extents that have either a whole row of points, of one
/// length, or one point for each row.
template <class Executable, int Group> class team_of_rows {
  static constexpr const auto& plan = Executable::plan;
  static constexpr row_blocks group = plan.blocks[Group];
  static constexpr int buffers = Executable::buffer_count;

  struct team_facts {
    extent length = 0;
    int group = 1, width = 1, kept = 0;
    bool keeps[buffers + 1] = {};  // per buffer: rows of it stay in the threads' registers
  };

  static constexpr int buffer_of(const cotangent::step& x, const statement& s) { return plan.step_buffers[std::size_t(x.buffers + s.buffer)]; }
  static constexpr extent points_of_row(const cotangent::step& x) { return x.space.size() / group.rows; }
  /// visit(step, statement) for the statements of the group that access a buffer; until it returns false.
  template <class Visit> static constexpr bool each_access(const Visit& visit) {
    for (int i = group.first; i < group.first + group.count; ++i) {
      const cotangent::step& x = plan.steps[std::size_t(i)];
      for (int k = x.statements; k < x.statements + x.statement_count; ++k)
        if (const statement& s = plan.statements[std::size_t(k)]; s.buffer >= 0 && !visit(x, s)) return false;
    }
    return true;
  }

  /// The length of the rows; 0 if there is no team for them.
  static constexpr extent find_length() {
    extent length = 0;
    for (int i = group.first; i < group.first + group.count; ++i) {
      const cotangent::step& x = plan.steps[std::size_t(i)];
      if (is_symbol(group.rows) || x.node >= 0 || has_symbol(x.space) || x.space.size() % group.rows != 0) return 0;
      length = std::max(length, points_of_row(x));
    }
    for (int i = group.first; i < group.first + group.count; ++i)
      if (const extent points = points_of_row(plan.steps[std::size_t(i)]); points != 1 && points != length) return 0;
    return each_access([&](const cotangent::step& x, const statement& s) { return fits(x, s, length); }) ? length : 0;
  }
  /// Whether a row has one result of a reduction, and a point that is its row's only one reads nothing that other threads of the team made.
  static constexpr bool fits(const cotangent::step& x, const statement& s, extent length) {
    constexpr int most_sums = 16;
    const buffer& b = plan.buffers[std::size_t(buffer_of(x, s))];
    if (points_of_row(x) != length) return s.what != statement::reduce && (b.where == buffer::input || b.where == buffer::data || row_elements(b, group.rows) == 1);
    int sums = 0;
    for (int k = x.statements; k < x.statements + x.statement_count; ++k) sums += plan.statements[std::size_t(k)].what == statement::reduce;
    return s.what != statement::reduce || (sums <= most_sums && !s.finds_place && b.dims.size() == group.rows);
  }
  /// How many neighbours lie in 16 bytes, if rows along the lanes are as many long, some times over.
  static constexpr int find_width(extent length) {
    int bytes = 4;
    extent along = length;
    each_access([&](const cotangent::step& x, const statement& s) {
      bytes = std::max(bytes, int(size_of(s.type)));
      if (points_of_row(x) == length && x.space[x.space.rank - 1] < along) along = x.space[x.space.rank - 1];
      return true;
    });
    const int width = 16 / bytes;
    return along % width == 0 && length % along == 0 ? width : 1;
  }
  /// Whether every access of a buffer is at the point that the statement runs for.
  static constexpr bool is_along(int b) {
    return each_access([&](const cotangent::step& x, const statement& s) {
      if (buffer_of(x, s) != b) return true;
      bool along = s.where.offset == 0 && s.windowed == 0 && s.indexed_strides.rank == 0;
      extent points = 1;
      for (int d = x.space.rank - 1; d >= 0; --d) {
        along = along && (x.space[d] == 1 || s.where.strides[d] == points);
        points *= x.space[d];
      }
      return along;
    });
  }
  /// Whether several steps read a buffer, and none writes it.
  static constexpr bool is_read_again(int b) {
    int readers = 0, last = -1;
    return each_access([&](const cotangent::step& x, const statement& s) {
      if (buffer_of(x, s) != b) return true;
      readers += last != x.statements, last = x.statements;
      return s.what == statement::load;
    }) && readers > 1;
  }
  static constexpr team_facts find() {
    constexpr int most_points = 32, most_kept = 64;
    team_facts t;
    const extent length = find_length();
    for (int b = 0; b < buffers; ++b) {
      const buffer& x = plan.buffers[std::size_t(b)];
      if (length < 2 || x.type == dtype::boolean || row_elements(x, group.rows) != length) continue;
      t.keeps[b] = (is_of_block(x, group) || (x.where != buffer::block && is_read_again(b))) && is_along(b);
      t.kept += t.keeps[b];
    }
    t.width = length > 0 ? find_width(length) : 1;
    int points = most_points;
    while (points > t.width && points * (t.kept + 1) > most_kept) points /= 2;
    t.group = power_of_two(divide_up(length, points), block_threads);
    if (length == 0 || divide_up(length, t.group * t.width) * t.width > most_points) return {};
    t.length = length;
    return t;
  }
  template <int Step, std::size_t... K> static auto places(std::index_sequence<K...>) {
    constexpr auto place = [](int b) {
      const auto at = std::find(kept.begin(), kept.end(), b);
      return at == kept.end() ? -1 : int(at - kept.begin());
    };
    return kept_buffers<place(plan.step_buffers[std::size_t(plan.steps[Step].buffers) + K])...>{};
  }
  template <std::size_t... I> static auto registers_for(std::index_sequence<I...>) { return row_registers<type::points, type_of<plan.buffers[std::size_t(kept[I])].type>...>{}; }

 public:
  static constexpr team_facts facts = find();
  using type = team<facts.length, facts.group, facts.width>;
  /// The buffers that stay in registers, or are read into them at the start of a row.
  static constexpr auto kept = [] {
    std::array<int, std::size_t(facts.kept)> list{};
    int n = 0;
    for (int b = 0; b < buffers; ++b)
      if (facts.keeps[b]) list[std::size_t(n++)] = b;
    return list;
  }();
  using registers = decltype(registers_for(std::make_index_sequence<std::size_t(facts.kept)>{}));
  /// For each buffer of a step its place among them.
  template <int Step> using kept_by = decltype(places<Step>(std::make_index_sequence<std::size_t(plan.steps[Step].buffer_count)>{}));
};

}  // namespace cotangent::simt
