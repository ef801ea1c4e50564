#pragma once
/// Arrays that are zero but on a diagonal: the unit arrays along which jacfwd, jacrev and hessian differentiate, what is made of them element
/// by element, and diagonal matrices. A product with one of them is a choice of elements and no sum. (Zeros are then not multiplied
/// with infinities.)

#include <algorithm>

#include <cotangent/graph/freeze.hpp>
#include <cotangent/transforms/simplify.hpp>

namespace cotangent {

/// An array x that is zero but where the indices along the axes `partners` are those that its index along `axis` counts, row-major, through
/// the extents `split`: x[r, i, j, ...] of split [m, n] is core[r, ...] where i = r / n and j = r % n.
struct diagonal_array {
  value core;      // what x has there: without the partners; null: x is no such array
  int axis = -1;
  shape split;
  shape partners;  // for each extent of the split an axis of x, or -1: any index

  constexpr explicit operator bool() const { return bool(core); }
  constexpr bool has_partners() const { return std::any_of(partners.begin(), partners.end(), [](extent p) { return p >= 0; }); }
  /// Which of the split's extents axis a of x is the partner of, or -1.
  constexpr int part_of(extent a) const {
    for (int j = 0; j < partners.rank; ++j)
      if (a >= 0 && partners[j] == a) return j;
    return -1;
  }
  /// The axis of the core that axis a of x is, which is no partner.
  constexpr int in_core(extent a) const {
    int place = int(a);
    for (extent p : partners) place -= p >= 0 && p < a;
    return place;
  }
  /// The extents of the core of an array of extents `dims`.
  constexpr shape core_dims(const shape& dims) const {
    shape kept;
    for (int a = 0; a < dims.rank; ++a)
      if (part_of(a) < 0) kept.push_back(dims[a]);
    return kept;
  }
  constexpr bool same_places(const diagonal_array& o) const { return axis == o.axis && split == o.split && partners == o.partners; }
};

class diagonal_pass {
 public:
  explicit constexpr diagonal_pass(const graph& g) : g_(g), r_(g, to_) {
    to_.simplifying = true, to_.inlining = false;
    arrays_.assign(g.nodes.size(), diagonal_array());
  }
  /// Whether a graph may have such arrays, and products or sums of them.
  static constexpr bool concerns(const graph& g) {
    bool source = false, product = false;
    for (int n = 0; n < g.size(); ++n) {
      const node& x = g[n];
      source = source || x.op_id == primitive_of<basis_p>.id || (x.op_id == primitive_of<eq_p>.id && counted_axis(g, g.operand(n, 0)) >= 0);
      product = product || x.op_id == primitive_of<dot_general_p>.id || x.op_id == primitive_of<reduce_sum_p>.id;
    }
    return source && product;
  }
  constexpr graph run() {
    copy_inputs(r_);
    for (int n = 0; n < g_.size(); ++n) {
      if (g_[n].is_input()) continue;
      r_.copy(n);
      if (g_[n].op->has.several || g_[n].op->kind == role::element) continue;
      arrays_.items[n] = diagonal_of(n);
    }
    return replayed(r_);
  }
  /// Whether `run` has found something to do.
  constexpr bool changed() const { return changed_; }

 private:
  const graph& g_;
  builder to_;
  replay r_;
  sequence<diagonal_array> arrays_;  // per node
  bool changed_ = false;

  constexpr diagonal_array& of_operand(int n, int k) { return arrays_.items[g_.operand(n, k)]; }
  constexpr value operand(int n, int k) { return r_.map.items[g_.operand(n, k)]; }
  constexpr bool is(int n, std::uint64_t op) const { return g_[n].op_id == op; }

  constexpr diagonal_array diagonal_of(int n) {
    if (is(n, primitive_of<basis_p>.id)) return of_basis(n);
    if (is(n, primitive_of<eq_p>.id)) return of_comparison(n);
    if (is(n, primitive_of<dot_general_p>.id)) return of_product(n);
    if (is(n, primitive_of<reduce_sum_p>.id)) return of_sum(n);
    if (g_[n].operand_count == 0 || g_[n].dims.rank == 0) return {};
    if (g_[n].op->kind == role::pointwise) return of_pointwise(n);
    if (!of_operand(n, 0)) return {};
    if (is(n, primitive_of<transpose_p>.id)) return of_transpose(n);
    if (is(n, primitive_of<broadcast_in_dim_p>.id)) return of_broadcast(n);
    if (is(n, primitive_of<reshape_p>.id)) return of_reshape(n);
    return {};
  }

  constexpr diagonal_array of_basis(int n) {
    const node& x = g_[n];
    diagonal_array d;
    for (int a = 1; a < x.dims.rank; ++a) d.split.push_back(x.dims[a]), d.partners.push_back(a);
    if (d.split.rank == 0 || (d.split.rank > 1 && has_symbol(x.dims))) return {};
    d.axis = 0, d.core = constant(to_, x.type, {x.dims[0]}, 1);
    return d;
  }
  /// Where the indices along two axes are the same.
  constexpr diagonal_array of_comparison(int n) {
    const shape& dims = g_[n].dims;
    const auto axis = [&](int k) { return g_[g_.operand(n, k)].dims.rank == dims.rank ? counted_axis(g_, g_.operand(n, k)) : -1; };
    const int a = axis(0), b = axis(1);
    if (a < 0 || b < 0 || a == b || dims[a] != dims[b]) return {};
    diagonal_array d;
    d.axis = a, d.split = {dims[a]}, d.partners = {extent(b)};
    d.core = constant(to_, dtype::boolean, d.core_dims(dims), 1);
    return d;
  }

  constexpr diagonal_array of_pointwise(int n) {
    const call c = r_.at(n);
    diagonal_array d;
    for (int k = 0; k < c.count; ++k)
      if (const diagonal_array& x = of_operand(n, k)) {
        if (d && !d.same_places(x)) return {};
        d = x;
      }
    if (!d) return {};
    const bool chosen = is(n, primitive_of<select_p>.id) && of_operand(n, 0);  // a choice between something on the diagonal and zero elsewhere
    if (chosen ? !is_zero(c[2]) : !is_linear(n, c)) return {};
    const shape core = d.core_dims(g_[n].dims);
    sequence<value> operands;
    for (int k = 0; k < c.count; ++k) {
      const diagonal_array& x = of_operand(n, k);
      operands.push_back(x ? x.core : on_diagonal(c[k], d, core));
      if (!operands[std::size_t(k)]) return {};
    }
    call e = c;
    e.operands = operands.data();
    const value made = to_.emit(e);
    return with_core(d, made.rank() == core.rank ? made : broadcast_in_dim(made, core, {}));
  }
  /// Whether call n is zero where those of its operands are that are zero but on a diagonal.
  constexpr bool is_linear(int n, const call& c) {
    if (!c.op->has.linear) return false;
    for (int k = 0; k < c.count; ++k) {
      const bool linear = c.op->linear(c, k), diagonal = bool(of_operand(n, k));
      if (diagonal ? !linear : linear && !c.op->bilinear && !is_zero(c[k])) return false;
    }
    return true;
  }
  static constexpr bool is_zero(value x) { return is_constant(x) && constant_value(x) == 0; }

  constexpr diagonal_array of_transpose(int n) {
    const diagonal_array& x = of_operand(n, 0);
    diagonal_array d = x;
    shape order;
    for (int a = 0; a < g_[n].dims.rank; ++a) {
      const int from = int(g_.attribute(n, a)), part = x.part_of(from);
      if (part >= 0) d.partners[part] = a;
      else order.push_back(x.in_core(from));
      if (from == x.axis) d.axis = a;
    }
    return with_core(d, transpose(x.core, order));
  }
  constexpr diagonal_array of_broadcast(int n) {
    const diagonal_array& x = of_operand(n, 0);
    const shape& from = g_[g_.operand(n, 0)].dims;
    const shape axes = broadcast_in_dim_p::axes(r_.at(n));
    diagonal_array d = x;
    for (int a = 0; a < from.rank; ++a) {
      const bool matters = a == x.axis || x.part_of(a) >= 0;
      if (matters && from[a] != g_[n].dims[int(axes[a])]) return {};
    }
    move(d, axes);
    shape to;
    for (int a = 0; a < from.rank; ++a)
      if (x.part_of(a) < 0) to.push_back(d.in_core(axes[a]));
    return with_core(d, broadcast_in_dim(x.core, d.core_dims(g_[n].dims), to));
  }
  constexpr diagonal_array of_reshape(int n) {
    const diagonal_array& x = of_operand(n, 0);
    const shape from = g_[g_.operand(n, 0)].dims, to = g_[n].dims, same = same_axes(from, to);
    for (int a = 0; a < from.rank; ++a)
      if ((a == x.axis || x.part_of(a) >= 0) && same[a] < 0) return {};
    diagonal_array d = x;
    move(d, same);
    return with_core(d, reshape(x.core, d.core_dims(to)));
  }
  /// For each axis of `from` the axis of `to` that a reshape leaves it as, or -1.
  static constexpr shape same_axes(const shape& from, const shape& to) {
    shape same = filled(from.rank, -1);
    const auto walk = [&](int i, int j, int step) {
      while (i >= 0 && i < from.rank && j >= 0 && j < to.rank) {
        if (from[i] == to[j]) same[i] = same.contains(j) ? -1 : j, i += step, j += step;
        else if (from[i] == 1) i += step;
        else if (to[j] == 1) j += step;
        else break;
      }
    };
    walk(0, 0, 1), walk(from.rank - 1, to.rank - 1, -1);
    return same;
  }
  /// The axes of d as `axes` renumbers them.
  static constexpr void move(diagonal_array& d, const shape& axes) {
    d.axis = int(axes[d.axis]);
    for (int j = 0; j < d.partners.rank; ++j)
      if (d.partners[j] >= 0) d.partners[j] = axes[int(d.partners[j])];
  }

  constexpr diagonal_array of_sum(int n) {
    const diagonal_array& x = of_operand(n, 0);
    if (!x) return {};
    shape axes, kept = filled(g_[g_.operand(n, 0)].dims.rank, -1), summed;
    for (int k = 0; k < g_[n].attribute_count; ++k) axes.push_back(g_.attribute(n, k));
    diagonal_array d = x;
    for (extent a : axes) {
      if (const int part = x.part_of(a); part >= 0) d.partners[part] = -1;
      else summed.push_back(x.in_core(a));
    }
    if (axes.contains(x.axis) && d.has_partners()) return {};
    for (int a = 0, place = 0; a < kept.rank; ++a)
      if (!axes.contains(a)) kept[a] = place++;
    move(d, kept);
    d.core = reduce_sum(x.core, summed);
    if (summed.rank < axes.rank) replace(n, d);
    return d.has_partners() ? d : diagonal_array();
  }

  /// A product that sums over partners alone.
  constexpr diagonal_array of_product(int n) {
    for (int k = 0; k < 2; ++k)
      if (of_operand(n, k))
        if (const diagonal_array d = of_product(n, k)) {
          replace(n, d);
          return d.has_partners() ? d : diagonal_array();
        }
    return {};
  }
  /// The same array with its axis and its only partner exchanged.
  static constexpr diagonal_array exchanged(const diagonal_array& x) {
    shape order;
    for (int a = 0; a <= x.core.rank(); ++a)
      if (a != x.axis) order.push_back(x.in_core(x.part_of(a) >= 0 ? x.axis : a));
    diagonal_array d = x;
    d.axis = int(x.partners[0]), d.partners[0] = x.axis, d.core = transpose(x.core, order);
    return d;
  }
  constexpr diagonal_array of_product(int n, int k) {
    constexpr extent least = 16;  // fewer multiply-adds are less work than the zeros of a result that is such an array again
    diagonal_array x = of_operand(n, k);
    const dot_dimensions dimensions = dot_general_p::dimensions(r_.at(n));
    const shape &batch = k == 0 ? dimensions.lhs_batch : dimensions.rhs_batch, &other_batch = k == 0 ? dimensions.rhs_batch : dimensions.lhs_batch;
    const shape &summed = k == 0 ? dimensions.lhs_contracted : dimensions.rhs_contracted, &other_summed = k == 0 ? dimensions.rhs_contracted : dimensions.lhs_contracted;
    const value other = operand(n, 1 - k);
    const int rank = g_[g_.operand(n, k)].dims.rank;
    if (summed.contains(x.axis) && x.split.rank == 1) x = exchanged(x);
    if (summed.rank == 0 || batch.contains(x.axis)) return {};
    extent terms = 1;
    for (extent a : summed) {
      const int part = x.part_of(a);
      if (part < 0) return {};
      terms = is_symbol(x.split[part]) ? least : terms * x.split[part];
    }
    for (extent a : batch)
      if (x.part_of(a) >= 0) return {};
    // Axes of the operands in the result.
    shape own = filled(rank, -1), others = filled(other.rank(), -1);
    for (int i = 0; i < batch.rank; ++i) own[int(batch[i])] = others[int(other_batch[i])] = i;
    const shape free = complement(join(batch, summed), rank), other_free = complement(join(other_batch, other_summed), other.rank());
    for (int i = 0; i < free.rank; ++i) own[int(free[i])] = batch.rank + (k == 0 ? 0 : other_free.rank) + i;
    for (int i = 0; i < other_free.rank; ++i) others[int(other_free[i])] = batch.rank + (k == 0 ? free.rank : 0) + i;

    diagonal_array d = x;
    move(d, own);
    if (d.has_partners() && terms < least) return {};
    shape own_places, other_places;  // in the core
    for (int a = 0; a < rank; ++a)
      if (x.part_of(a) < 0) own_places.push_back(d.in_core(own[a]));
    for (int a = 0; a < other.rank(); ++a) {
      if (others[a] >= 0) other_places.push_back(d.in_core(others[a]));
      else
        for (int i = 0; i < summed.rank; ++i)
          if (other_summed[i] == a) other_places.push_back(-1 - x.part_of(summed[i]));
    }
    const shape core = d.core_dims(g_[n].dims);
    const value chosen = placed(other, other_places, d, core);
    if (!chosen) return {};
    const bool is_one = is_constant(x.core) && constant_value(x.core) == 1;
    d.core = is_one ? chosen : mul(placed(x.core, own_places, d, core), chosen);
    return d;
  }

  static constexpr diagonal_array with_core(diagonal_array d, value core) {
    d.core = core;
    return d;
  }
  /// What x has where d is not zero, of extents `core`; null if that is not known.
  constexpr value on_diagonal(value x, const diagonal_array& d, const shape& core) {
    if (x.rank() == 0) return x;
    if (is_constant(x)) return constant_from_bits(to_, x.type(), core, x.get().bits);
    if (x.get().op_id != primitive_of<broadcast_in_dim_p>.id) return {};
    const value from = {&to_, to_.g.operand(x.id, 0)};
    shape places;
    for (int i = 0; i < from.rank(); ++i) {
      const extent a = to_.g.attribute(x.id, x.rank() + i);
      const int part = d.part_of(a);
      places.push_back(part >= 0 ? -1 - part : d.in_core(a));
    }
    return placed(from, places, d, core);
  }
  /// x broadcast to the extents `core` of d's core. Its axes are those of the core that `places` says; -1 - j is the index along d's axis that
  /// extent j of the split counts. Null if x depends on such an index and on d's axis.
  constexpr value placed(value x, const shape& places, const diagonal_array& d, const shape& core) {
    const int axis = d.in_core(d.axis);
    bool of_parts = false;
    for (extent p : places) of_parts = of_parts || p < 0;
    if (of_parts && places.contains(axis)) return {};
    const bool splits = of_parts && d.split.rank > 1;
    const int more = splits ? d.split.rank - 1 : 0;
    if (core.rank + more > max_rank) return {};
    const shape to = splits ? split_at(core, axis, d.split) : core;
    const auto place = [&](int i) { return places[i] < 0 ? axis - 1 - places[i] : places[i] > axis ? places[i] + more : places[i]; };
    shape order, axes;  // of x by its axes in `to`
    for (int a = 0; a < to.rank; ++a)
      for (int i = 0; i < places.rank; ++i)
        if (place(i) == a) order.push_back(i), axes.push_back(a);
    if (order.rank < places.rank) return {};
    return reshape(broadcast_in_dim(transpose(x, order), to, axes), core);
  }
  static constexpr shape split_at(const shape& dims, int axis, const shape& split) {
    shape r;
    for (int a = 0; a < dims.rank; ++a) {
      if (a != axis) r.push_back(dims[a]);
      else
        for (extent e : split) r.push_back(e);
    }
    return r;
  }

  /// Node n is d.
  constexpr void replace(int n, const diagonal_array& d) {
    const shape dims = g_[n].dims;
    const int more = d.split.rank - 1;
    if (d.has_partners() && dims.rank + more > max_rank) return;
    changed_ = true;
    r_.map.items[n] = d.has_partners() ? written_out(d, dims) : d.core;
  }
  /// All elements of d, of extents `dims`.
  constexpr value written_out(const diagonal_array& d, const shape& dims) {
    const shape all = split_at(dims, d.axis, d.split);
    shape axes = axes_from(0, all.rank);  // of the core with its axis split
    value here;
    for (int j = d.partners.rank; j-- > 0;) {
      if (d.partners[j] < 0) continue;
      const int partner = int(d.partners[j]) + (d.partners[j] > d.axis ? d.split.rank - 1 : 0);
      const extent n = all[partner], part = d.axis + j;
      const value unit = eq(iota(to_, dtype::int32, {n, n}, 0), iota(to_, dtype::int32, {n, n}, 1));
      const value same = broadcast_in_dim(unit, all, {part < partner ? part : partner, part < partner ? partner : part});
      here = both_hold(here, same);
      axes = erase(axes, int(std::find(axes.begin(), axes.end(), partner) - axes.begin()));
    }
    const shape core = d.core_dims(dims);
    const value spread = broadcast_in_dim(reshape(d.core, split_at(core, d.in_core(d.axis), d.split)), all, axes);
    return reshape(select(here, spread, zeros_like(spread)), dims);
  }
};

/// The graph that `Make` returns with the products of such arrays as choices; no outputs if it has none.
template <class Make> struct make_diagonals {
  constexpr graph operator()() const {
    const graph g = Make{}();
    diagonal_pass pass(g);
    const graph r = pass.run();
    if (!pass.changed()) return {};
    return r;
  }
};
template <class Make> inline constexpr bool may_have_diagonals = diagonal_pass::concerns(Make{}());
/// The maker of that graph, or Make where there are none.
template <class Make> using with_diagonals = with_changes<make_diagonals<Make>, Make, may_have_diagonals<Make>>;

}  // namespace cotangent
