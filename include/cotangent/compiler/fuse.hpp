#pragma once
/// Fusion and scheduling: which nodes are computed together in one kernel, in which order, and what is stored.
///
/// Pointwise nodes, gathers and reductions over the same iteration space share a kernel when every operand is either
/// made in that kernel at the same point or by an earlier step. Views (broadcast, transpose, slice, reverse), windows,
/// constants and iotas cost nothing: they become the way a kernel reads. Other pads and concatenations become stores into
/// parts of their buffer. Everything else is a step of its own.

#include <cotangent/compiler/ahead.hpp>
#include <cotangent/compiler/canonicalize.hpp>
#include <cotangent/compiler/places.hpp>
#include <cotangent/compiler/rows_of_packets.hpp>
#include <cotangent/control/barrier.hpp>

namespace cotangent {

/// The access to an array as one of other extents, whose elements are in the same order. Null strides if they do not allow that.
constexpr buffer_access reshaped(const buffer_access& from, const shape& dims, const shape& to) {
  buffer_access r{from.offset, {}};
  // Where only axes of one element come or go, any extents and strides do.
  int next = 0;
  bool follow = true;  // the others do
  for (int j = 0; j < to.rank && follow; ++j) {
    while (to[j] != 1 && next < dims.rank && dims[next] == 1) ++next;
    follow = to[j] == 1 || (next < dims.rank && dims[next] == to[j]);
    if (follow) r.strides.push_back(to[j] == 1 ? 0 : from.strides[next++]);
  }
  while (next < dims.rank && dims[next] == 1) ++next;
  if (follow && next == dims.rank) return r;
  r.strides = {};
  for (int i = 0, j = 0; i < dims.rank || j < to.rank;) {  // the next few axes of both that have equally many elements
    extent have = 1, want = 1;
    int i_end = i, j_end = j;
    if (i < dims.rank) have = dims[i_end++];
    if (j < to.rank) want = to[j_end++];
    while (have != want) {
      if (have < want ? i_end == dims.rank : j_end == to.rank) return {};
      if (have < want) have *= dims[i_end++];
      else want *= to[j_end++];
    }
    if (have == 0) return {};
    extent stride = 0, inner = 1;  // of the last axis, and the elements of what is behind the one that is looked at
    for (int k = i_end; k-- > i;) {
      if (dims[k] == 1) continue;
      if (inner == 1) stride = from.strides[k];
      else if (from.strides[k] != stride * inner) return {};
      inner *= dims[k];
    }
    shape strides;
    extent behind = stride;
    for (int k = j_end; k-- > j; behind *= to[k]) strides.push_back(behind);
    for (int k = strides.rank; k-- > 0;) r.strides.push_back(strides[k]);
    i = i_end, j = j_end;
  }
  return r;
}

/// Builds the schedule.
class scheduler {
 public:
  /// `calls`: per call in the graph, what its bodies need.
  constexpr explicit scheduler(const graph& g, const sequence<call_memory>& calls = {}, schedule_choices choices = {}) : g_(g), calls_(calls), choices_(choices) {
    b_.take_symbols(g);
    b_.g.nodes = sequence<node>::borrow(g.nodes.items, g.nodes.count);
    b_.g.operands = sequence<int>::borrow(g.operands.items, g.operands.count);
    b_.g.attributes = sequence<extent>::borrow(g.attributes.items, g.attributes.count);
    const std::size_t n = g.nodes.size();
    group_.assign(n, -1);
    buffer_.assign(n, -1);
    stored_.assign(n, 0);
    copied_.assign(n, 0);
    apart_.assign(n, 0);
    kinds_.assign(n, role::source);
    for (std::size_t i = 0; i < n; ++i)
      if (g.nodes.items[i].op_id != 0) kinds_.items[i] = g.nodes.items[i].op->kind;
  }

  constexpr schedule run() {
    out_.statements.reserve(g_.nodes.count + g_.nodes.count / 8 + 16);
    for (int n = 0; n < g_.size(); ++n) keeps_ones_ = keeps_ones_ || (is_window(n) && at(n).dims.contains(1));
    find_reshaped_views();
    if (choices_.finds_places) find_places();
    require_memory();
    if (choices_.lanes == 0) copy_repeated_columns();
    if (choices_.copies_turned) copy_turned();
    find_origins();
    find_spaces();
    form_groups();
    order_groups();
    join_later_groups();
    mark_stored();
    make_buffers();
    for (std::size_t i = 0; i < order_.size(); ++i)
      if (makes_something(groups_[std::size_t(order_[i])])) emit_group(int(i));
    if (choices_.row_blocks) form_blocks(out_, g_, choices_);
    find_lifetimes();
    place_blocks(out_);
    if (choices_.lanes > 0) loop_over_rows(out_);
    else load_ahead(out_, g_);
    out_.output_buffers = output_buffers_;
    return std::move(out_);
  }

 private:
  /// A value computed in a group, or written to memory.
  struct member {
    int node = -1;
    int write = -1;  // number of a write, or -1: the node is computed
  };
  /// Elements of `source` stored into a window of a buffer: of the node `target`, or of output `output`.
  struct write {
    int source = -1, target = -1, output = -1;
    buffer_access window;
    int group = -1;  // that stores it
  };
  struct group {
    int node = -1;  // opaque
    shape space;
    int space_number = -1;
    sequence<member> members;
    int next_of_space = -1;
  };
  /// Where a value is read from: the node that has memory or is a source, and how.
  struct leaf {
    int node = -1;
    buffer_access access;
    int window = -1;  // the window that it is read through
  };

  const graph& g_;
  const sequence<call_memory> calls_;
  const schedule_choices choices_;
  builder b_;
  schedule out_;
  sequence<int> group_;      // per node: the group that computes (or finishes) it
  sequence<int> buffer_;
  flag_list stored_, copied_;   // must be in memory; a view that must be copied there
  flag_list apart_;             // of such views and sources, those that have a kernel of their own
  sequence<int> extremum_;      // per node: of the index of an extremum, the reduction that is the extremum; else -1
  flag_list left_out_;          // per node: only such an index needs it, and kernels find that without it
  sequence<int> origin_;        // per node: the node whose memory or register it is read from, through views and reshapes
  sequence<int> same_;          // per node: the node that has its elements at the same points of a space, behind moved ones
  sequence<int> space_;         // per node: the number of its points' space in spaces_
  bool keeps_ones_ = false;     // spaces have axes of one element: windows look elsewhere along them
  sequence<role> kinds_;        // per node
  sequence<group> groups_;
  sequence<write> writes_;
  sequence<shape> spaces_;
  sequence<int> first_of_space_, last_of_space_;
  sequence<int> order_, position_;
  sequence<int> output_buffers_, output_node_;

  constexpr const node& at(int n) const { return g_.nodes.items[n]; }
  constexpr role kind(int n) const { return kinds_.items[n]; }
  constexpr bool is(int n, std::uint64_t id) const { return g_.nodes.items[n].op_id == id; }
  constexpr bool is_of_parts(int n) const { return is(n, primitive_of<pad_p>.id) || is(n, primitive_of<concatenate_p>.id) || is(n, primitive_of<assemble_p>.id); }
  constexpr bool is_window(int n) const { return is(n, primitive_of<window_p>.id); }
  constexpr bool is_reshape(int n) const { return is(n, primitive_of<reshape_p>.id); }
  constexpr bool is_inline_source(int n) const { return is(n, primitive_of<constant_p>.id) || is(n, primitive_of<iota_p>.id); }

  constexpr call call_of(int n, sequence<value>& operands) { return call_at(g_, b_, n, operands); }

  /// The strides of an array in memory: row-major, the lanes of a packet last.
  constexpr shape contiguous(const shape& dims) {
    const int lanes = lane_axis(dims);
    shape s = filled(dims.rank, 1);
    extent stride = lanes < 0 ? 1 : choices_.lanes;
    for (int i = dims.rank; i-- > 0;) {
      if (i == lanes) continue;
      s[i] = stride;
      if (i > 0) stride = b_.symbols.combine(symbol::product, stride, dims[i]);
    }
    return s;
  }
  /// The axis of a packet's lanes, or -1.
  constexpr int lane_axis(const shape& dims) const {
    for (int i = 0; i < dims.rank && choices_.lanes > 0; ++i)
      if (dims[i] == choices_.lanes) return i;
    return -1;
  }

  /// The node whose memory `n` reads through reshapes.
  constexpr int behind_reshapes(int n) const {
    while ((is_reshape(n) && kind(n) != role::view && !copied_.items[n]) || only_moves_ones(n)) n = g_.operand(n, 0);
    return n;
  }

  /// The extents that a space has of an array's: those that are not 1. Arrays that differ in axes of one element are computed at
  /// the same points.
  constexpr shape space_of(const shape& dims) const {
    if (keeps_ones_) return dims;
    shape r;
    for (extent e : dims)
      if (e != 1) r.push_back(e);
    return r;
  }
  /// An access to such an array, by those axes.
  constexpr buffer_access in_space(const buffer_access& a, const shape& dims) const {
    if (keeps_ones_) return a;
    buffer_access r{a.offset, {}};
    for (int i = 0; i < dims.rank; ++i)
      if (dims[i] != 1) r.strides.push_back(a.strides[i]);
    return r;
  }
  /// Whether a view or reshape only adds, drops or moves axes of one element.
  constexpr bool only_moves_ones(int n) const {
    if (keeps_ones_ || copied_.items[n]) return false;
    const node& x = at(n);
    if (is(n, primitive_of<broadcast_in_dim_p>.id)) return reshape_p::adds_only_ones(b_, x);
    const bool turns = is(n, primitive_of<transpose_p>.id);
    if ((!turns && !is_reshape(n)) || !(space_of(at(g_.operand(n, 0)).dims) == space_of(x.dims))) return false;
    int last = -1;  // of the axes that are more than one element: they must stay in order
    for (int i = 0; turns && i < x.dims.rank; ++i) {
      if (x.dims[i] == 1) continue;
      if (g_.attribute(n, i) < last) return false;
      last = int(g_.attribute(n, i));
    }
    return true;
  }

  constexpr bool is_behind_barrier(int n) const { return kind(n) == role::element && is(g_.operand(n, 0), primitive_of<barrier_p>.id); }

  constexpr void find_origins() {
    origin_.reserve(g_.nodes.count), same_.reserve(g_.nodes.count);
    for (int n = 0; n < g_.size(); ++n) {
      const bool through = !copied_.items[n] && (kinds_.items[n] == role::view || is_reshape(n));
      origin_.items[n] = through ? origin_.items[g_.operand(n, 0)] : n;
      same_.items[n] = through && only_moves_ones(n) ? same_.items[g_.operand(n, 0)] : n;
    }
    origin_.count = same_.count = g_.nodes.count;
  }

  /// Follows views to what they look at. For a constant or iota, but for one in memory that a window looks into, the access describes the
  /// iota's value.
  constexpr leaf resolve(int n) {
    sequence<int> views;
    leaf l{n, {}, is_window(n) && !copied_[std::size_t(n)] ? n : -1};
    while (kind(l.node) == role::view && !copied_[std::size_t(l.node)]) {
      views.push_back(l.node);
      l.node = g_.operand(l.node, 0);
    }
    l.access.strides = contiguous(at(l.node).dims);
    if (l.window < 0 && is(l.node, primitive_of<iota_p>.id)) {
      const int axis = int(g_.attribute(l.node, at(l.node).attribute_count - 1));
      l.access.strides = filled(at(l.node).dims.rank, 0);
      l.access.strides[axis] = 1;
    }
    sequence<value> operands;
    for (std::size_t i = views.size(); i-- > 0;) {
      const call c = call_of(views[i], operands);
      if (is_reshape(views[i]) && counts(g_.operand(views[i], 0))) l.access.strides = contiguous(c.dims);
      else l.access = is_reshape(views[i]) ? reshaped(l.access, c[0].dims(), c.dims) : c.op->view(c, l.access);
    }
    return l;
  }
  /// 0, 1, ...: in every shape the number of an element.
  constexpr bool counts(int n) const { return is(n, primitive_of<iota_p>.id) && at(n).dims.rank == 1; }
  /// Reshapes of views that can be views as well.
  constexpr void find_reshaped_views() {
    for (int n = 0; n < g_.size(); ++n) {
      if (!is_reshape(n)) continue;
      const int of = g_.operand(n, 0);
      if (counts(of)) kinds_.items[n] = role::view;
      if (kind(of) != role::view || (has_symbol(at(n).dims) && !only_moves_ones(n))) continue;
      if (reshaped(resolve(of).access, at(of).dims, at(n).dims).strides.rank == at(n).dims.rank) kinds_.items[n] = role::view;
    }
  }

  /// Finds the indices of extrema along rows, as argmax and argmin compute them: the least index at which x is its extremum, or
  /// NaN. A kernel finds it together with the extremum, in one pass over x.
  constexpr void find_places() {
    sequence<int> uses;
    for (int n = 0; n < g_.size(); ++n) {
      if (!is(n, primitive_of<reduce_min_p>.id) || at(n).type != dtype::int32 || !is(g_.operand(n, 0), primitive_of<select_p>.id)) continue;
      if (uses.empty()) {
        extremum_.assign(g_.nodes.count, -1), left_out_.assign(g_.nodes.count, 0);
        uses = uses_of(g_);
      }
      extremum_[std::size_t(n)] = find_extremum(n);
      if (extremum_[std::size_t(n)] < 0) continue;
      ++uses[std::size_t(reduced(n))];
      sequence<int> unused;
      for (unused.push_back(g_.operand(n, 0)); !unused.empty();) {
        const int last = unused.back();
        unused.pop_back();
        if (--uses[std::size_t(last)] > 0 || at(last).is_input()) continue;
        left_out_[std::size_t(last)] = 1;
        for (int k = 0; k < at(last).operand_count; ++k) unused.push_back(g_.operand(last, k));
      }
    }
  }
  /// The reduction that gives the extremum whose least index along long rows is node n, or -1.
  constexpr int find_extremum(int n) const {
    constexpr extent long_row = 64, some_rows = 16;
    const shape& dims = at(g_.operand(n, 0)).dims;
    const int axis = dims.rank - 1;
    if (dims.rank < 2 || (!is_symbol(dims[axis]) && dims[axis] < long_row)) return -1;
    if (const shape rows = erase(dims, axis); !has_symbol(rows) && rows.size() < some_rows) return -1;
    return placed_extremum(g_, n);
  }
  constexpr bool is_left_out(int n) const { return !left_out_.empty() && left_out_.items[n] != 0; }
  /// What the reduction n reduces: of an index of an extremum, what the extremum is of.
  constexpr int reduced(int n) const {
    const int m = extremum_.empty() ? -1 : extremum_.items[n];
    return g_.operand(m < 0 ? n : m, 0);
  }

  /// Marks what must lie in memory whatever the grouping: operands of opaque nodes, of reshapes, of gathers.
  constexpr void require_memory() {
    for (int n = 0; n < g_.size(); ++n) {
      if (at(n).is_input()) continue;
      const role k = kind(n);
      if (only_moves_ones(n)) continue;
      if (k == role::view) require_windows(n);
      const bool whole = (k == role::opaque && !is_of_parts(n)) || k == role::call;
      if (!whole && k != role::gather) continue;
      for (int i = 0; i < (whole ? at(n).operand_count : 1); ++i) need_memory(g_.operand(n, i), whole);
      if (is_scatter(at(n).op_id)) set_apart(g_.operand(n, 0));
    }
  }
  /// What a scatter adds to is made by itself: whatever else has its shape may then run row by row with the scatter.
  constexpr void set_apart(int n) {
    constexpr extent some = 1 << 12;
    apart_[std::size_t(n)] = is_inline_source(n) && (has_symbol(at(n).dims) || at(n).dims.size() >= some);
  }
  /// A window looks into memory. One that another view looks at is copied, as is a constant that a window looks into.
  constexpr void require_windows(int n) {
    int x = g_.operand(n, 0);
    while (only_moves_ones(x)) x = g_.operand(x, 0);
    if (is_window(x)) need_memory(x, true);
    if (!is_window(n)) return;
    int from = x;
    while (kind(from) == role::view && !copied_[std::size_t(from)]) from = g_.operand(from, 0);
    need_memory(x, is_inline_source(from));
  }
  /// A column of an array that every row of a kernel would read anew, lane by lane, is copied once into a row.
  constexpr void copy_repeated_columns() {
    constexpr extent often = 8;
    for (int n = 0; n < g_.size(); ++n) {
      if (!is(n, primitive_of<broadcast_in_dim_p>.id)) continue;
      const int x = g_.operand(n, 0), rank = at(n).dims.rank;
      const shape &dims = at(n).dims, &from = at(x).dims;
      if (kind(x) != role::view || copied_[std::size_t(x)] || from.rank == 0 || g_.attribute(n, at(n).attribute_count - 1) != rank - 1 || !(from[from.rank - 1] == dims[rank - 1])) continue;
      const leaf l = resolve(x);
      const extent stride = l.access.strides[from.rank - 1];
      const bool rows = kind(l.node) != role::source || at(l.node).is_input() || is(l.node, primitive_of<dense_p>.id);
      const bool repeated = has_symbol(dims) || from.size() * often <= dims.size();
      if (rows && repeated && !is_symbol(stride) && stride != 0 && stride != 1) need_memory(x, true);
    }
  }
  /// What kernels read across its rows is copied in blocks, if the lines that a row of theirs touches do not stay in the nearest cache until
  /// the next row needs them.
  constexpr void copy_turned() {
    constexpr extent least = 1 << 12, some = 16;
    flag_list whole;  // per node: whether kernels read all of it
    whole.assign(g_.nodes.count, false);
    for (int n = g_.size(); n-- > 0;) {
      const role k = kind(n);
      if (k == role::pointwise || k == role::reduction || (is(n, primitive_of<broadcast_in_dim_p>.id) && whole.items[n]))
        for (int i = 0; i < at(n).operand_count; ++i) whole.items[g_.operand(n, i)] = true;
    }
    for (int n = 0; n < g_.size(); ++n) {
      if (!is(n, primitive_of<transpose_p>.id) || !whole.items[n] || copied_.items[n]) continue;
      const shape& dims = at(n).dims;
      const leaf l = resolve(n);
      const int last = dims.rank - 1;
      const extent stride = l.access.strides[last];
      if (kind(l.node) == role::source && !at(l.node).is_input()) continue;
      bool turned = false;
      for (int i = 0; i < last; ++i) turned = turned || (l.access.strides[i] == 1 && (is_symbol(dims[i]) || dims[i] >= some));
      if (!turned || stride == 0 || stride == 1 || l.window >= 0) continue;
      if (has_symbol(dims) || (dims.size() >= least && dims[last] > lines_that_stay(stride * size_of(at(n).type)))) copied_[std::size_t(n)] = stored_[std::size_t(n)] = apart_[std::size_t(n)] = 1;
    }
  }
  /// How many lines that lie so many bytes apart a first cache of 32 KiB in 8 ways keeps.
  static constexpr extent lines_that_stay(extent bytes) {
    constexpr extent line = 64, sets = 64, ways = 8;
    extent taken = sets;  // sets
    for (extent step = bytes % line == 0 ? bytes / line : 1; step % 2 == 0 && taken > 1; step /= 2) taken /= 2;
    return ways * taken;
  }
  /// `contiguous_form`: the elements must be in row-major order of their own.
  constexpr void need_memory(int n, bool contiguous_form) {
    while (only_moves_ones(n)) n = g_.operand(n, 0);
    if (kind(n) == role::view && !contiguous_form && !is_window(n)) {
      need_memory(g_.operand(n, 0), false);
      return;
    }
    if (kind(n) == role::view || is_inline_source(n)) copied_[std::size_t(n)] = 1;
    stored_[std::size_t(behind_reshapes(n))] = 1;
  }

  /// The first group in which a value over a space may use node n at every point; `from` is n's origin.
  constexpr int first_use(int n, int from, int space) const {
    const int made = group_.items[from];
    if (made < 0) return 0;
    const group& there = groups_.items[made];
    if (same_.items[n] != from || there.space_number != space) return made + 1;
    const role k = kinds_.items[from];
    return k == role::pointwise || k == role::gather || (copied_.items[from] && !is_of_parts(from)) ? made : made + 1;
  }
  /// visit(n, elsewhere) of each node that a member reads: elsewhere than at its own point, or there.
  template <class Visit> constexpr void each_read(const member& m, const Visit& visit) const {
    if (m.write >= 0) return visit(writes_.items[m.write].source, false);
    const role k = kinds_.items[m.node];
    if (k == role::reduction) return visit(reduced(m.node), false);
    const node& x = g_.nodes.items[m.node];
    const int* read = g_.operands.items + x.operands;
    for (int i = 0; i < x.operand_count; ++i) visit(read[i], i == 0 && (k == role::gather || k == role::view));
  }
  /// The first group that may hold a member over a space: all that it reads is in memory by then, or made there at the same point.
  constexpr int first_group(const member& m, int space) const {
    int first = 0;
    each_read(m, [&](int n, bool elsewhere) {
      const int use = elsewhere ? after(n) : first_use(n, origin_.items[n], space);
      if (use > first) first = use;
    });
    return first;
  }
  /// The first group after n is in memory.
  constexpr int after(int n) const { return group_.items[origin_.items[n]] + 1; }

  constexpr int space_number(const shape& s) {
    for (std::size_t i = 0; i < spaces_.count; ++i) {
      const shape& known = spaces_.items[i];
      if (known.rank == s.rank && (s.rank == 0 || known.dims[0] == s.dims[0]) && known == s) return int(i);
    }
    spaces_.push_back(s);
    first_of_space_.push_back(-1);
    last_of_space_.push_back(-1);
    return int(spaces_.size()) - 1;
  }
  constexpr void find_spaces() {
    space_.reserve(g_.nodes.count);
    int last = space_number({});
    shape dims;  // neighbours mostly have one shape
    for (std::size_t n = 0; n < g_.nodes.count; ++n) {
      if (!(g_.nodes.items[n].dims == dims)) dims = g_.nodes.items[n].dims, last = space_number(space_of(dims));
      space_.items[n] = last;
    }
    space_.count = g_.nodes.count;
  }

  /// Puts a member into the earliest kernel over a space that may hold it, from group `bound` on.
  constexpr int place(member m, int space, int bound = 0) {
    if (const int first = first_group(m, space); first > bound) bound = first;
    if (bound < int(groups_.count) && groups_.items[bound].space_number == space) {
      groups_.items[bound].members.push_back(m);
      return bound;
    }
    const std::size_t s = std::size_t(space);
    int found = -1;
    for (int i = first_of_space_[s]; found < 0 && i >= 0; i = groups_[std::size_t(i)].next_of_space)
      if (i >= bound && groups_[std::size_t(i)].space_number == space) found = i;
    if (found < 0) {
      found = int(groups_.size());
      group fresh;
      fresh.space = spaces_[s], fresh.space_number = space;
      groups_.push_back(fresh);
      if (last_of_space_[s] >= 0) groups_[std::size_t(last_of_space_[s])].next_of_space = found;
      else first_of_space_[s] = found;
      last_of_space_[s] = found;
    }
    groups_[std::size_t(found)].members.push_back(m);
    return found;
  }

  constexpr int place_write(const write& w, int space, int bound = 0) {
    writes_.push_back(w);
    const int made = place({-1, int(writes_.size()) - 1}, space, bound);
    writes_.back().group = made;
    return made;
  }

  constexpr void form_groups() {
    sequence<value> operands;
    for (int n = 0; n < g_.size(); ++n) {
      const node& x = g_.nodes.items[n];
      const role k = kinds_.items[n];
      if (x.op_id == 0 || (is_inline_source(n) && !copied_.items[n]) || x.op_id == primitive_of<dense_p>.id || is_left_out(n)) continue;
      const int space = space_.items[n];
      if (copied_.items[n] || k == role::pointwise || k == role::gather) {
        const bool apart = apart_.items[n];
        group_.items[n] = place({n, -1}, space, apart || x.op_id == primitive_of<made_for_product_p>.id ? int(groups_.count) : 0);
        if (apart) groups_.items[group_.items[n]].space_number = -1;  // nothing else joins
      } else if (k == role::view || is_reshape(n)) {
        continue;
      } else if (k == role::element) {
        group_.items[n] = group_.items[g_.operand(n, 0)];
        stored_.items[n] = 1;
      } else if (k == role::reduction) {
        group_.items[n] = place({n, -1}, space_.items[reduced(n)]);
        stored_.items[n] = 1;
      } else if (is(n, primitive_of<concatenate_p>.id)) {
        write w{-1, n, -1, {0, contiguous(x.dims)}};
        const int axis = int(g_.attribute(n, 0));
        int last = 0;
        for (int k = 0; k < x.operand_count; ++k) {
          w.source = g_.operand(n, k);
          const int made = place_write(w, space_.items[w.source]);
          if (made > last) last = made;
          const extent step = b_.symbols.combine(symbol::product, at(w.source).dims[axis], w.window.strides[axis]);
          w.window.offset = b_.symbols.combine(symbol::sum, w.window.offset, step);
        }
        group_[std::size_t(n)] = last;
        stored_[std::size_t(n)] = 1;
      } else if (is(n, primitive_of<assemble_p>.id)) {
        place_elements(n);
      } else if (is(n, primitive_of<pad_p>.id)) {
        place_pad(n, call_of(n, operands));
      } else {
        group fresh;
        fresh.node = n;
        groups_.push_back(fresh);
        group_[std::size_t(n)] = int(groups_.size()) - 1;
        stored_[std::size_t(n)] = 1;
      }
    }
    place_outputs();
  }

  /// Stores each element into its place.
  constexpr void place_elements(int n) {
    const node& x = at(n);
    const shape strides = contiguous(x.dims);
    shape kept, window;
    for (int i = 0; i < x.dims.rank; ++i)
      if (g_.attribute(n, x.dims.rank + i) != 0) kept.push_back(i), window.push_back(strides[i]);
    int last = 0, k = 0;
    each_element(x.dims, kept, [&](const shape& where) {
      write w{g_.operand(n, k++), n, -1, {0, window}};
      for (int i = 0; i < where.rank; ++i)
        if (where[i] > 0) w.window.offset = b_.symbols.combine(symbol::sum, w.window.offset, b_.symbols.combine(symbol::product, where[i], strides[i]));
      const int made = place_write(w, space_.items[w.source]);
      if (made > last) last = made;
    });
    group_[std::size_t(n)] = last;
    stored_[std::size_t(n)] = 1;
  }

  /// A pad first fills its buffer, then stores the operand into its window.
  constexpr void place_pad(int n, const call& c) {
    const shape dims = at(n).dims, low = pad_p::part(c, 0), interior = pad_p::part(c, 2);
    const int filled_in = place_write({g_.operand(n, 1), n, -1, {0, contiguous(dims)}}, space_.items[n]);
    write w{g_.operand(n, 0), n, -1, {0, contiguous(dims)}};
    for (int i = 0; i < dims.rank; ++i) {
      w.window.offset = b_.symbols.combine(symbol::sum, w.window.offset, b_.symbols.combine(symbol::product, low[i], w.window.strides[i]));
      w.window.strides[i] = b_.symbols.combine(symbol::product, w.window.strides[i], interior[i] + 1);
    }
    group_[std::size_t(n)] = place_write(w, space_.items[w.source], filled_in + 1);
    stored_[std::size_t(n)] = 1;
  }

  /// An output is the buffer of the node that computes it, or a copy if that is an input, a view or taken already.
  constexpr void place_outputs() {
    for (std::size_t o = 0; o < g_.outputs.size(); ++o) {
      const int n = g_.outputs[o], origin = behind_reshapes(n);
      bool taken = group_[std::size_t(origin)] < 0 || is_behind_barrier(origin);
      for (int other : output_node_) taken = taken || other == origin;
      if (taken) {
        output_node_.push_back(-1);
        place_write({n, -1, int(o), {0, contiguous(at(n).dims)}}, space_.items[n]);
      } else {
        output_node_.push_back(origin);
        stored_[std::size_t(origin)] = 1;
      }
    }
  }

  /// Moves a kernel that uses a gemm's result right behind the gemm where its other operands allow.
  constexpr void order_groups() {
    for (int i = 0; i < int(groups_.size()); ++i) order_.push_back(i);
    renumber();
    hoist_small_groups();
    for (std::size_t at_gemm = 0; at_gemm < order_.size(); ++at_gemm) {
      const int gemm = order_[at_gemm];
      if (groups_[std::size_t(gemm)].node < 0 || !is(groups_[std::size_t(gemm)].node, primitive_of<gemm_p>.id)) continue;
      renumber();
      for (std::size_t j = at_gemm + 1; j < order_.size(); ++j) {
        const int candidate = order_[j];
        bool uses = false;
        if (groups_[std::size_t(candidate)].node >= 0 || last_needed(candidate, gemm, uses) > int(at_gemm) || !uses) continue;
        for (std::size_t k = j; k > at_gemm + 1; --k) order_[k] = order_[k - 1];
        order_[at_gemm + 1] = candidate;
        break;
      }
    }
    renumber();
  }
  /// Kernels over a handful of points (step sizes, corrections) run as early as they can, so that they hold nothing up.
  constexpr void hoist_small_groups() {
    for (std::size_t j = 1; j < order_.size(); ++j) {
      const group& x = groups_[std::size_t(order_[j])];
      if (x.node >= 0 || has_symbol(x.space) || x.space.size() > 16) continue;
      bool uses = false;
      const int last = last_needed(order_[j], -1, uses);
      if (last + 1 >= int(j)) continue;
      const int moved = order_[j];
      for (std::size_t k = j; k > std::size_t(last + 1); --k) order_[k] = order_[k - 1];
      order_[std::size_t(last + 1)] = moved;
      renumber();
    }
  }
  /// A kernel that nothing waits for joins a later one over the same points that reads the same large array.
  constexpr void join_later_groups() {
    constexpr std::size_t most_members = 64, most_looks = 12;
    constexpr extent large = 1 << 16;
    for (std::size_t i = 0; i < order_.size(); ++i) {
      const int early = order_[i];
      group& x = groups_[std::size_t(early)];
      if (x.node >= 0 || x.space.rank == 0 || (!has_symbol(x.space) && x.space.size() < large) || fills(x)) continue;
      for (std::size_t j = i + 1; j < order_.size() && j <= i + most_looks; ++j) {
        const int late = order_[j];
        group& y = groups_[std::size_t(late)];
        const bool uses = reads_from(late, early);
        if (uses && (y.space_number != x.space_number || needs_all(late, early))) break;
        const bool fits = y.node < 0 && y.space_number == x.space_number && x.members.size() + y.members.size() <= most_members;
        if (!fits || !(uses || share_operand(early, late))) {
          if (uses) break;
          continue;
        }
        for (const member& m : x.members) (m.write >= 0 ? writes_[std::size_t(m.write)].group : group_[std::size_t(m.node)]) = late;
        sequence<member> all = x.members;
        for (const member& m : y.members) all.push_back(m);
        y.members = all;
        x.members.clear();
        break;
      }
    }
  }
  /// visit(n) of each node that a group reads, a kernel or not.
  template <class Visit> constexpr void each_read(int number, const Visit& visit) const {
    const group& x = groups_[std::size_t(number)];
    const auto visit_any = [&](int n, bool) { visit(n); };
    if (x.node >= 0) each_read(member{x.node}, visit_any);
    for (const member& m : x.members) each_read(m, visit_any);
  }
  /// Whether a group reads what the kernel `early` makes.
  constexpr bool reads_from(int late, int early) const {
    bool reads = false;
    each_read(late, [&](int n) { reads = reads || group_.items[origin_.items[n]] == early; });
    return reads;
  }
  /// Whether kernel `late` needs more of the kernel `early` than values at the same point.
  constexpr bool needs_all(int late, int early) const {
    const int space = groups_[std::size_t(early)].space_number;
    bool more = false;
    for (const member& m : groups_[std::size_t(late)].members)
      each_read(m, [&](int n, bool elsewhere) {
        const int from = origin_.items[n];
        more = more || (group_.items[from] == early && (elsewhere || first_use(n, from, space) > early));
      });
    return more;
  }
  /// Whether a kernel writes parts of arrays.
  constexpr bool fills(const group& x) const {
    for (const member& m : x.members)
      if (m.write >= 0 && writes_[std::size_t(m.write)].target >= 0) return true;
    return false;
  }
  /// Whether two kernels over the same points read the same array of as many elements.
  constexpr bool share_operand(int a, int b) const {
    const sequence<int> of_a = arrays_read(a), of_b = arrays_read(b);
    for (int n : of_a)
      for (int m : of_b)
        if (n == m) return true;
    return false;
  }
  /// The arrays over all of a kernel's points that it reads, or that what it may compute again reads.
  constexpr sequence<int> arrays_read(int g) const {
    constexpr std::size_t most = 64;
    sequence<int> todo, read;
    each_read(g, [&](int n) { todo.push_back(n); });
    for (std::size_t i = 0; i < todo.size() && i < most; ++i) {
      const int from = origin_.items[todo[i]];
      if (space_.items[from] != groups_[std::size_t(g)].space_number) continue;
      const bool computed = kinds_.items[from] == role::pointwise && !stored_.items[from];
      if (!computed) read.push_back(from);
      for (int k = 0; computed && k < at(from).operand_count; ++k) todo.push_back(g_.operand(from, k));
    }
    return read;
  }
  constexpr void renumber() {
    position_.assign(groups_.size(), 0);
    for (std::size_t i = 0; i < order_.size(); ++i) position_[std::size_t(order_[i])] = int(i);
  }
  /// The latest position of a group that the candidate reads from, and whether it reads from `gemm`.
  constexpr int last_needed(int candidate, int gemm, bool& uses) {
    int last = -1;
    const auto need = [&](int n) {
      const int from = origin_.items[n], made = group_.items[from];
      if (made < 0 || made == candidate) return;
      uses = uses || made == gemm;
      if (position_[std::size_t(made)] > last) last = position_[std::size_t(made)];
      if (is_of_parts(from))  // every part of it must have been stored
        for (const write& w : writes_)
          if (w.target == from && position_[std::size_t(w.group)] > last) last = position_[std::size_t(w.group)];
    };
    each_read(candidate, need);
    for (const member& m : groups_[std::size_t(candidate)].members)
      if (m.write >= 0 && writes_[std::size_t(m.write)].target >= 0 && is(writes_[std::size_t(m.write)].target, primitive_of<pad_p>.id))
        last = int(order_.size());  // keeps its place behind the fill
    return last;
  }

  /// Whether it is worth while to compute n again where it is needed, from what is in memory: it takes a few operations, or
  /// n is a large array, of pairs say, that is made of smaller ones.
  constexpr bool is_cheap(int n) {
    constexpr int few = 6, some = 24, most_looks = 48;
    constexpr extent large = 1 << 18;
    if (!choices_.computes_again) return false;
    bool from_smaller = true;
    int looks = most_looks;
    if (cost_again(n, few, looks, from_smaller) <= few && looks >= 0) return true;
    if (!choices_.computes_large_again || has_symbol(at(n).dims) || at(n).dims.size() < large) return false;
    from_smaller = true, looks = most_looks;
    const bool cheap = cost_again(n, some, looks, from_smaller) <= some && looks >= 0 && from_smaller;
    computed_large_again = computed_large_again || cheap;
    return cheap;
  }
  static constexpr bool is_smaller(const shape& a, const shape& b) { return !has_symbol(a) && !has_symbol(b) && a.size() < b.size(); }
  /// How many operations that takes, or more than `most`; what takes more by itself is read from memory instead. `looks` at
  /// nodes are allowed; it is negative if they were not enough. Whether all that is read from memory is smaller than n.
  constexpr int cost_again(int n, int most, int& looks, bool& from_smaller) const {
    if (--looks < 0 || kinds_.items[n] != role::pointwise || copied_.items[n] || at(n).op->flops > 2) return most + 1;
    int cost = 1;
    for (int k = 0; k < at(n).operand_count && cost <= most; ++k) {
      const int o = same_.items[g_.operand(n, k)], from = origin_.items[o];
      const bool in_memory = from != o || group_.items[o] < 0 || stored_.items[o] || kinds_.items[o] != role::pointwise;
      const int again = in_memory ? most + 1 : cost_again(o, most, looks, from_smaller);
      if (again <= most) cost += again;
      else from_smaller = from_smaller && (is_inline_source(from) || is_smaller(at(from).dims, at(n).dims));
    }
    return cost;
  }

  /// Whether the scalar n should be computed in each kernel over an array that uses it: once per row, as it does not depend on the lane.
  /// Loops then have one kernel where their turns differ by a time or a table's entry.
  constexpr bool is_cheap_scalar(int n, int space_rank) {
    constexpr int some = 16, some_flops = 16, flops_per_array = 128;
    int operations = some, flops = space_rank == 1 ? flops_per_array : some_flops;
    return choices_.computes_again && at(n).dims.rank == 0 && spend(n, operations, flops);
  }
  constexpr bool spend(int n, int& operations, int& flops) {
    n = same_.items[n];
    const int from = origin_.items[n];
    if (group_.items[from] < 0 || stored_.items[from]) return true;
    const bool is_gather = kinds_.items[n] == role::gather;
    if (n != from || at(n).dims.rank != 0 || copied_.items[n] || (!is_gather && kinds_.items[n] != role::pointwise)) return false;
    flops -= at(n).op->flops;
    if (--operations < 0 || flops < 0) return false;
    for (int k = is_gather; k < at(n).operand_count; ++k)
      if (!spend(g_.operand(n, k), operations, flops)) return false;
    return true;
  }

  /// Marks n's origin `from` as stored if group `by` must read it from memory: a group other than its own, or through a
  /// view. What is cheap is computed again there, from operands that then must be stored.
  constexpr void use(int n, int from, int by) {
    const int made = group_.items[from];
    n = same_.items[n];
    if (made < 0 || (made == by && n == from) || stored_.items[from]) return;
    const group& user = groups_.items[by];
    const bool again = user.node < 0 && (user.space.rank > at(from).dims.rank ? is_cheap_scalar(from, user.space.rank) : n == from && user.space_number == space_.items[from] && is_cheap(from));
    if (again) use_operands(from, by);
    else stored_.items[from] = 1;
  }
  constexpr void use_operands(int n, int by) {
    const node& x = g_.nodes.items[n];
    const int* read = g_.operands.items + x.operands;
    for (int k = 0; k < x.operand_count; ++k) {
      const int from = origin_.items[read[k]], made = group_.items[from];
      if (made < 0 || (made == by && same_.items[read[k]] == from)) continue;  // as in `use`: the common case without a call
      use(read[k], from, by);
    }
  }

  constexpr void mark_stored() {
    for (int i = 0; i < int(groups_.size()); ++i) {
      const group& x = groups_[std::size_t(i)];
      for (std::size_t j = 0; j < x.members.count; ++j) {
        const member m = x.members.items[j];
        if (m.write >= 0) {
          const int source = writes_[std::size_t(m.write)].source;
          use(source, origin_.items[source], i);
        } else if (copied_.items[m.node]) {
          if (kinds_.items[m.node] == role::view) use(m.node, origin_.items[g_.operand(m.node, 0)], i);
          stored_.items[m.node] = 1;
        } else if (kinds_.items[m.node] == role::reduction) {
          use(reduced(m.node), origin_.items[reduced(m.node)], i);
        } else {
          use_operands(m.node, i);
        }
      }
    }
  }

  constexpr int add_buffer(buffer::kind where, int number, dtype type, const shape& dims) {
    buffer x;
    x.where = where, x.number = number, x.type = type, x.dims = dims;
    out_.buffers.push_back(x);
    return int(out_.buffers.size()) - 1;
  }

  constexpr call_memory memory_of(int call_node) const {
    std::size_t k = 0;
    for (int n = 0; n < call_node; ++n) k += kind(n) == role::call;
    return k < calls_.size() ? calls_[k] : call_memory{};
  }

  constexpr void make_buffers() {
    for (std::size_t i = 0; i < g_.inputs.size(); ++i) {
      const int n = g_.inputs[i];
      buffer_[std::size_t(n)] = add_buffer(buffer::input, int(i), at(n).type, at(n).dims);
    }
    for (std::size_t o = 0; o < g_.outputs.size(); ++o) {
      const int n = g_.outputs[o];
      output_buffers_.push_back(add_buffer(buffer::output, int(o), at(n).type, at(n).dims));
      if (output_node_[o] >= 0) buffer_[std::size_t(output_node_[o])] = output_buffers_.back();
    }
    for (int n = 0; n < g_.size(); ++n) {
      if (kind(n) == role::call) buffer_[std::size_t(n)] = add_buffer(buffer::arena, 0, dtype::boolean, {memory_of(n).bytes});
      else if (is(n, primitive_of<dense_p>.id)) buffer_[std::size_t(n)] = add_buffer(buffer::data, n, at(n).type, at(n).dims);
      else if (is_behind_barrier(n))
        buffer_[std::size_t(n)] = buffer_[std::size_t(behind_reshapes(g_.operand(g_.operand(n, 0), int(g_.attribute(n, 0)))))];
      else if (stored_[std::size_t(n)] && buffer_[std::size_t(n)] < 0 && group_[std::size_t(n)] >= 0)
        buffer_[std::size_t(n)] = add_buffer(buffer::arena, 0, at(n).type, at(n).dims);
    }
  }

  // ---- statements of one group ----

  step step_;
  int current_ = -1;                 // position of the group
  sequence<int> register_;        // per node: its register in the current group, valid where register_group_ says so
  sequence<int> register_group_;
  struct local_number { int group = -1, number = -1; };
  sequence<local_number> local_;  // per buffer, in the group that last named it

  constexpr int local_buffer(int global) {
    while (local_.count < out_.buffers.count) local_.push_back({});
    local_number& local = local_.items[global];
    if (local.group != current_) {
      local = {current_, step_.buffer_count++};
      out_.step_buffers.push_back(global);
    }
    return local.number;
  }
  constexpr extent local_extent(extent e) {
    e = b_.symbols.resolve(e);
    if (!is_symbol(e)) return e;
    for (int i = 0; i < step_.slot_count; ++i)
      if (out_.slots[std::size_t(step_.slots + i)] == e) return symbol_base + i;
    out_.slots.push_back(e);
    return symbol_base + step_.slot_count++;
  }
  constexpr buffer_access local_access(buffer_access a, const shape& dims) {
    a = in_space(a, dims);
    a.offset = local_extent(a.offset);
    for (int i = 0; i < a.strides.rank; ++i) a.strides[i] = local_extent(a.strides[i]);
    return a;
  }
  /// A statement at the end of the step, to be filled in before the next one.
  constexpr statement& new_statement() {
    ++step_.statement_count;
    return *out_.statements.extend(1);
  }
  constexpr int add_statement(const statement& s) {
    out_.statements.push_back(s);
    return step_.statement_count++;
  }

  /// The register that holds node n at the current point.
  constexpr int fetch(int n) {
    n = same_.items[n];
    if (register_group_.items[n] == current_) return register_.items[n];
    const int r = is_again(n) ? compute(n) : is(n, primitive_of<constant_p>.id) ? fetch_constant(n) : fetch_leaf(resolve(n), at(n).dims);
    register_.items[n] = r;
    register_group_.items[n] = current_;
    return r;
  }
  /// Whether n is cheap, and computed again where it is needed.
  constexpr bool is_again(int n) const {
    return (kinds_.items[n] == role::pointwise || (kinds_.items[n] == role::gather && at(n).dims.rank == 0)) && !copied_.items[n] && !stored_.items[n];
  }
  constexpr int compute(int n) { return kinds_.items[n] == role::gather ? emit_gather(n) : apply(n); }

  constexpr int apply(int n) {
    const node& x = g_.nodes.items[n];
    const int* operands = g_.operands.items + x.operands;
    int registers[4] = {};
    for (int k = 0; k < x.operand_count; ++k) {
      const int from = operands[k];
      registers[k] = register_group_.items[from] == current_ ? register_.items[from] : fetch(from);
    }
    statement& s = new_statement();
    s.what = statement::apply, s.type = x.type, s.node = n, s.op_id = x.op_id, s.register_count = x.operand_count;
    for (int k = 0; k < x.operand_count; ++k) s.registers[k] = registers[k];
    return step_.statement_count - 1;
  }
  constexpr int fetch_constant(int n) {
    statement& s = new_statement();
    s.what = statement::constant, s.type = at(n).type, s.bits = at(n).bits;
    return step_.statement_count - 1;
  }
  constexpr int fetch_leaf(const leaf& l, const shape& dims) {
    // What a window looks into is in memory: outside of it there are zeros.
    if (l.window < 0 && is(l.node, primitive_of<constant_p>.id)) return fetch_constant(l.node);
    if (l.window < 0 && is(l.node, primitive_of<iota_p>.id)) {
      statement s;
      s.what = statement::index, s.type = at(l.node).type, s.where = over_space(local_access(l.access, dims));
      return add_statement(s);
    }
    if (at(l.node).dims.rank == 0 && is_again(l.node)) return fetch(l.node);
    statement s;
    s.what = statement::load, s.type = at(l.node).type;
    s.buffer = local_buffer(buffer_[std::size_t(behind_reshapes(l.node))]);
    if (l.window >= 0) add_windows(s, l);
    s.where = over_space(local_access(l.access, dims));
    return add_statement(s);
  }
  /// The access of a scalar at every point.
  constexpr buffer_access over_space(buffer_access a) const {
    if (a.strides.rank == 0) a.strides = filled(step_.space.rank, 0);
    return a;
  }
  constexpr void add_windows(statement& s, const leaf& l) {
    const int rank = at(l.window).dims.rank;
    const shape& inside = at(g_.operand(l.window, 0)).dims;
    s.windows = int(out_.windows.size());
    for (int d = 0; d < rank; ++d) {
      const extent offset = g_.attribute(l.window, rank + d);
      const bool wraps = g_.attribute(l.window, 2 * rank + d) != 0;
      if ((wraps && l.access.strides[d] == 0) || (offset == 0 && at(l.window).dims[d] == inside[d])) continue;
      out_.windows.push_back({d, offset, local_extent(inside[d]), wraps});
      s.windowed |= 1u << d;
    }
  }

  constexpr void emit_group(int position) {
    if (register_.empty()) register_.assign(g_.nodes.size(), -1), register_group_.assign(g_.nodes.size(), -1);
    const group& x = groups_[std::size_t(order_[std::size_t(position)])];
    current_ = position;
    step_ = {};
    step_.statements = int(out_.statements.size());
    step_.buffers = int(out_.step_buffers.size());
    step_.slots = int(out_.slots.size());
    step_.node = x.node;
    if (x.node >= 0) {
      step_.operands = at(x.node).operand_count;
      step_.in_place = kind(x.node) == role::call ? memory_of(x.node).in_place : is_scatter(at(x.node).op_id);
      for (int k = 0; k < at(x.node).operand_count; ++k)
        out_.step_buffers.push_back(buffer_[std::size_t(behind_reshapes(g_.operand(x.node, k)))]), ++step_.buffer_count;
      if (kind(x.node) == role::call) add_results(x.node);
      out_.step_buffers.push_back(buffer_[std::size_t(x.node)]), ++step_.buffer_count;
    } else {
      for (extent e : x.space) step_.space.push_back(local_extent(e));
      for (std::size_t i = 0; i < x.members.count; ++i) emit_member(x.members.items[i]);
      if (const int lanes = lane_axis(x.space); lanes >= 0) move_last(lanes);
      step_.after_rows = choices_.products_by_rows && position > 0 && runs_after_rows(x);
    }
    out_.steps.push_back(step_);
  }
  /// Whether a group leaves something behind: all that other kernels compute is computed again elsewhere.
  constexpr bool makes_something(const group& x) const {
    if (x.node >= 0) return true;
    for (const member& m : x.members)
      if (m.write >= 0 || copied_.items[m.node] || stored_.items[m.node]) return true;
    return false;
  }

  /// Makes a dimension of the kernel, along which there are no windows, its last.
  constexpr void move_last(int dimension) {
    const auto moved = [&](shape& s) {
      const extent e = s[dimension];
      s = erase(s, dimension);
      s.push_back(e);
    };
    moved(step_.space);
    for (int i = 0; i < step_.statement_count; ++i) {
      statement& s = out_.statements[std::size_t(step_.statements + i)];
      if (s.where.strides.rank > 0) moved(s.where.strides);
      leave_dimension(out_.windows, s, dimension);
    }
  }

  /// The buffers of a call's results; those that nothing reads get one as well.
  constexpr void add_results(int call_node) {
    const call_form form(g_, call_node);
    sequence<int> results;
    results.assign(form.results.size(), -1);
    for (int n = call_node + 1; n < g_.size(); ++n)
      if (kind(n) == role::element && g_.operand(n, 0) == call_node) results[std::size_t(g_.attribute(n, 0))] = buffer_[std::size_t(n)];
    for (std::size_t k = 0; k < results.size(); ++k) {
      if (results[k] < 0 && !is(call_node, primitive_of<barrier_p>.id)) results[k] = add_buffer(buffer::arena, 0, form.results[k].type, form.results[k].dims);
      if (results[k] >= 0) out_.step_buffers.push_back(results[k]), ++step_.buffer_count;
    }
  }

  constexpr void emit_member(const member& m) {
    if (m.write >= 0) {
      const write& w = writes_[std::size_t(m.write)];
      const bool fill = w.target >= 0 && at(w.source).dims.rank == 0 && w.window.strides.rank > 0;  // a pad's scalar
      emit_store(fetch(w.source), at(w.source).type,
                 w.output >= 0 ? output_buffers_[std::size_t(w.output)] : buffer_[std::size_t(w.target)], w.window, at(fill ? w.target : w.source).dims);
      return;
    }
    const int n = m.node;
    const node& x = at(n);
    if (copied_.items[n]) {
      copied_[std::size_t(n)] = 0;
      const int r = fetch(n);
      copied_[std::size_t(n)] = 1;
      emit_store(r, x.type, buffer_[std::size_t(n)], {0, contiguous(x.dims)}, x.dims);
      return;
    }
    if (kinds_.items[n] == role::reduction) {
      emit_reduction(n);
      return;
    }
    const int r = kinds_.items[n] == role::gather ? emit_gather(n) : apply(n);
    register_.items[n] = r;
    register_group_.items[n] = current_;
    if (stored_.items[n]) emit_store(r, x.type, buffer_[std::size_t(n)], {0, contiguous(x.dims)}, x.dims);
  }

  constexpr void emit_reduction(int n) {
    const node& x = at(n);
    statement s;
    s.what = statement::reduce, s.type = x.type, s.node = n, s.op_id = x.op_id, s.register_count = x.operand_count;
    s.registers[0] = fetch(reduced(n));
    if (const int m = extremum_.empty() ? -1 : extremum_.items[n]; m >= 0)
      s.finds_place = true, s.type = at(m).type, s.node = m, s.op_id = at(m).op_id;
    s.buffer = local_buffer(buffer_[std::size_t(n)]);
    const shape& dims = at(reduced(n)).dims;
    s.where = {0, filled(dims.rank, 0)};
    shape axes;
    for (int k = 0; k < x.attribute_count; ++k) axes.push_back(g_.attribute(n, k));
    const shape kept = complement(axes, dims.rank), strides = contiguous(x.dims);
    for (int i = 0; i < kept.rank; ++i) s.where.strides[int(kept[i])] = strides[i];
    s.where = local_access(s.where, dims);
    add_statement(s);
  }

  constexpr int emit_gather(int n) {
    sequence<value> operands;
    const addressing a = gather_p::addresses(call_of(n, operands));
    const leaf l = resolve(g_.operand(n, 0));
    statement s;
    s.what = statement::load, s.type = at(n).type, s.node = n;
    int registers[max_rank] = {};
    for (int k = 1; k < at(n).operand_count; ++k) registers[k - 1] = fetch(g_.operand(n, k));
    s.where = {l.access.offset, filled(at(n).dims.rank, 0)};
    for (int i = 0; i < a.rank; ++i) {
      const extent stride = l.access.strides[i];
      if (a.axes[i].dimension >= 0) {
        extent& to = s.where.strides[a.axes[i].dimension];
        to = b_.symbols.combine(symbol::sum, to, stride);
      }
      if (a.axes[i].index >= 0) {
        s.indexed[s.indexed_strides.rank] = registers[a.axes[i].index];
        s.indexed_strides.push_back(local_extent(stride));
      }
    }
    s.buffer = local_buffer(buffer_[std::size_t(behind_reshapes(l.node))]);
    s.where = over_space(local_access(s.where, at(n).dims));
    return add_statement(s);
  }

  /// `where` has the strides of an array with these extents.
  constexpr void emit_store(int r, dtype type, int global, const buffer_access& where, const shape& dims) {
    statement s;
    s.what = statement::store, s.type = type, s.registers[0] = r, s.register_count = 1;
    s.buffer = local_buffer(global), s.where = local_access(where, dims);
    add_statement(s);
  }

  /// Whether something that this kernel stores or sums depends on its statement i.
  constexpr bool is_used(int i) const {
    flag_list used;
    used.assign(std::size_t(step_.statement_count), 0);
    for (int k = step_.statement_count - 1; k > i; --k) {
      const statement& s = out_.statements[std::size_t(step_.statements + k)];
      if (s.what != statement::store && s.what != statement::reduce && !used[std::size_t(k)]) continue;
      for (int r = 0; r < s.register_count; ++r) used[std::size_t(s.registers[r])] = 1;
      for (int r = 0; r < s.indexed_strides.rank; ++r) used[std::size_t(s.indexed[r])] = 1;
    }
    return used[std::size_t(i)];
  }
  /// Whether this kernel can run row by row as the gemm before it finishes rows.
  constexpr bool runs_after_rows(const group& x) {
    const int gemm = groups_[std::size_t(order_[std::size_t(current_ - 1)])].node;
    if (gemm < 0 || !is(gemm, primitive_of<gemm_p>.id) || x.space.rank < 2) return false;
    const shape product = at(gemm).dims;
    if (product[0] != 1 || x.space[0] != product[1]) return false;
    const int result = buffer_[std::size_t(gemm)];
    const shape rows = contiguous(x.space);
    if (b_.symbols.combine(symbol::product, x.space[0], rows[0]) != b_.symbols.combine(symbol::product, product[1], product[2])) return false;
    bool reads = false;
    const buffer_access whole = local_access({0, rows}, x.space);
    for (int i = 0; i < step_.statement_count; ++i) {
      const statement& s = out_.statements[std::size_t(step_.statements + i)];
      if (s.what == statement::reduce && s.where.strides[0] == 0) return false;
      if (s.what != statement::load || out_.step_buffers[std::size_t(step_.buffers + s.buffer)] != result) continue;
      if (s.indexed_strides.rank > 0 || s.where.offset != 0 || !(s.where.strides == whole.strides)) return false;
      if ((s.windowed & 1u) != 0 && is_used(i)) return false;  // of another row
      reads = true;
    }
    return reads;
  }

  constexpr void find_lifetimes() {
    for (std::size_t i = 0; i < out_.steps.size(); ++i) {
      const step& s = out_.steps[i];
      for (int k = 0; k < s.buffer_count; ++k) {
        buffer& x = out_.buffers[std::size_t(out_.step_buffers[std::size_t(s.buffers + k)])];
        if (x.first < 0) x.first = int(i);
        x.last = int(i);
      }
      // A gemm and the kernel on its rows run together: what the kernel writes must not share memory with what the
      // gemm still reads.
      if (s.after_rows)
        for (int k = 0; k < s.buffer_count; ++k) {
          buffer& x = out_.buffers[std::size_t(out_.step_buffers[std::size_t(s.buffers + k)])];
          if (x.first == int(i)) x.first = int(i) - 1;
        }
    }
    // Symbols that slots name may be new: give the schedule's own list.
    for (extent& e : out_.slots) e = b_.symbols.resolve(e);
    symbols = b_.symbols.symbols;
  }

 public:
  sequence<symbol> symbols;  // of the graph, and those that strides and offsets added
  bool computed_large_again = false;
};

}  // namespace cotangent
