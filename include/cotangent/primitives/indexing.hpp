#ifndef COTANGENT_PRIMITIVES_IN_ORDER
#include <cotangent/primitives/primitives.hpp>
#elif !defined(COTANGENT_PRIMITIVES_INDEXING)
#define COTANGENT_PRIMITIVES_INDEXING
/// Reading and writing at computed places: gather, scatter, scatter_add, scatter_mul, scatter_min, scatter_max, roll.
///
/// One form serves dynamic slices, take, take_along_axis and indexed updates. The index operands have the shape of
/// the result (of the updates, for a scatter). Along axis a of the operand, the place for point i is
/// i[dimension(a)] + index_(operand(a))[i]; either part may be absent.

namespace cotangent {

/// How one axis of the indexed operand is addressed: -1 stands for absent.
struct axis_address {
  int dimension = -1;  // of the result or the updates
  int index = -1;      // number of an index operand
};

struct addressing {
  axis_address axes[max_rank];
  int rank = 0;
  constexpr void push(axis_address a) { axes[rank++] = a; }
  constexpr attribute_list& append_to(attribute_list& l) const {
    for (int i = 0; i < rank; ++i) l.push(axes[i].dimension).push(axes[i].index);
    return l;
  }
  /// With every dimension one further, behind a batch axis; `own` adds the batch axis to the operand too.
  constexpr addressing batched(bool own) const {
    addressing r;
    if (own) r.push({0, -1});
    for (int i = 0; i < rank; ++i) r.push({axes[i].dimension < 0 ? -1 : axes[i].dimension + 1, axes[i].index});
    return r;
  }
};

/// The address pairs, which are the attributes from `first` on.
constexpr addressing address_from(const call& c, int first) {
  addressing a;
  for (int i = first; i < c.attribute_count; i += 2) a.push({int(c.attribute(i)), int(c.attribute(i + 1))});
  return a;
}

constexpr value gather(value x, const sequence<value>& indices, const shape& dims, const addressing& a);
template <class P> constexpr value scatter_with(value x, value updates, const sequence<value>& indices, const addressing& a, bool unique);

constexpr sequence<value> index_operands(const call& c, int first) {
  sequence<value> v;
  for (int k = first; k < c.count; ++k) v.push_back(c[k]);
  return v;
}
constexpr sequence<value> batched_indices(const call& c, const bool* batched, extent size, int first) {
  sequence<value> v;
  for (int k = first; k < c.count; ++k) v.push_back(batched_operand(c[k], batched[k], size));
  return v;
}
/// The extent e of the builder as an integer scalar.
constexpr value extent_value(builder& b, dtype type, extent e);

/// The input whose axis defines the symbol, or null.
constexpr value input_of_extent(builder& b, extent e) {
  const symbol s = b.symbols.symbols[std::size_t(e - symbol_base)];
  if (s.what != symbol::input || std::size_t(s.a) >= b.g.inputs.size()) return {};
  const value in{&b, b.g.inputs[std::size_t(s.a)]};
  return s.b < in.rank() && b.symbols.resolve(in.dims()[int(s.b)]) == e ? in : value{};
}

/// A run-time extent of the operand, as an integer scalar. Attribute: the axis. Asked for the dtype, int32 or int64.
struct extent_p {
  static constexpr std::string_view name = "extent";
  static constexpr bool by_parts = true;
  static constexpr bool of_extents = true;
  static constexpr role kind = role::opaque;
  static constexpr void infer(call& c) {
    if (c.type != dtype::int32 && c.type != dtype::int64) c.b->fail(message{} << "extent: asked for as " << c.type << ", which must be int32 or int64");
  }
  static constexpr value jvp(const call&, const value*) { return {}; }
  static constexpr value vjp(const call&, int, value) { return {}; }
  static constexpr value batch(const call& c, const bool*, extent size) {
    return batched_operand(extent_value(*c.b, c.type, c[0].dims()[int(c.attribute(0)) + 1]), false, size);
  }
  /// That of an input, where the operand has it from one: inputs lie in memory anyway.
  static constexpr value simplify(const call& c) {
    const extent e = c.b->symbols.resolve(c[0].dims()[int(c.attribute(0))]);
    return !is_symbol(e) || (c[0].get().op_id != 0 && input_of_extent(*c.b, e)) ? extent_value(*c.b, c.type, e) : value{};
  }
};
constexpr value extent_value(builder& b, dtype type, extent e) {
  e = b.symbols.resolve(e);
  if (!is_symbol(e)) return constant(b, type, {}, double(e));
  if (const value in = input_of_extent(b, e)) return emit<extent_p>({in}, {extent(b.symbols.symbols[std::size_t(e - symbol_base)].b)}, type);
  const symbol s = b.symbols.symbols[std::size_t(e - symbol_base)];
  if (s.what == symbol::input) return reduce_sum(constant(b, type, {e}, 1), {0});
  const value l = extent_value(b, type, s.a), r = extent_value(b, type, s.b), zero = zeros_like(r);
  switch (s.what) {
    case symbol::sum: return l + r;
    case symbol::difference: return l - r;
    case symbol::product: return l * r;
    case symbol::quotient: return select(eq(r, zero), zero, div(l, max(r, full_like(r, 1))));
    default: return max(l, r);
  }
}
/// The extent e in the dtype and shape of v.
constexpr value extent_like(value v, extent e) {
  if (!is_symbol(e)) return full_like(v, double(e));
  return broadcast_in_dim(extent_value(*v.b, v.type(), e), v.dims(), {});
}
/// Whether all indices are known to lie in [0, n).
constexpr bool lie_inside(value index, extent n) {
  if (is_symbol(n)) return false;
  if (is_constant(index)) return constant_value(index) >= 0 && constant_value(index) < double(n);
  const std::uint64_t op_id = index.get().op_id;
  const auto operand = [&](int k) { return value{index.b, index.b->g.operand(index.id, k)}; };
  if (op_id == primitive_of<broadcast_in_dim_p>.id) return lie_inside(operand(0), n);
  return op_id == primitive_of<clamp_p>.id && is_constant(operand(0)) && constant_value(operand(0)) >= 0 && lie_inside(operand(2), n);
}
/// Whether both hold, of a condition that there may not be yet.
constexpr value both_hold(value known, value condition) { return known ? logical_and(known, condition) : condition; }
/// Whether each index lies in [0, n).
constexpr value is_inside(value index, extent n) { return logical_and(ge(index, zeros_like(index)), lt(index, extent_like(index, n))); }

constexpr void check_indices(call& c, const shape& dims, int first) {
  for (int k = first; k < c.count; ++k) {
    if (c[k].type() != dtype::int32 && c[k].type() != dtype::int64)
      return c.b->fail(message{} << c.op->name << ": an index must be int32 or int64, got " << c[k].type() << c[k].dims());
    bool equal = c[k].rank() == dims.rank;
    for (int i = 0; equal && i < dims.rank; ++i) equal = c.b->symbols.unify(c.op->name, c[k].dims()[i], dims[i]);
    if (!equal) return c.b->fail(message{} << c.op->name << ": index shape " << c[k].dims() << " is not " << dims);
  }
}

/// Where the elements of a gather or a scatter lie if all of its indices are numbers: one window of an array. `to`: per axis of the array the
/// dimension of the elements that goes along it, or -1.
struct known_window {
  bool is_known = false;
  shape low, span, to;
  extent windows = 1;  // of its extents in the array, about

  /// Of elements of extents `dims` in an array of extents `all`; the indices are the operands from `first` on.
  static constexpr known_window of(const call& c, int first, const addressing& a, const shape& all, const shape& dims) {
    known_window w;
    int last = -1;
    for (int k = first; k < c.count; ++k)
      if (!is_constant(c[k])) return {};
    for (int i = 0; i < a.rank; ++i) {
      const auto [d, index] = a.axes[i];
      const extent at = index < 0 ? 0 : extent(constant_value(c[first + index])), size = d < 0 ? 1 : c.b->symbols.resolve(dims[d]), n = c.b->symbols.resolve(all[i]);
      const bool whole = at == 0 && size == n, inside = !is_symbol(size) && !is_symbol(n) && at >= 0 && at + size <= n;
      if ((!whole && !inside) || (d >= 0 && d <= last)) return {};
      if (d >= 0) last = d;
      w.low.push_back(at), w.span.push_back(size), w.to.push_back(d);
      if (!whole) w.windows *= n / (size > 0 ? size : 1);
    }
    w.is_known = c.count > first;
    return w;
  }
  /// The dimensions of the elements that go along an axis.
  constexpr shape dimensions() const {
    shape r;
    for (extent d : to)
      if (d >= 0) r.push_back(d);
    return r;
  }
};

/// Elements of operand 0 at computed places, which must lie inside it.
/// Attributes: the rank of the result, its extents, the addresses.
struct gather_p {
  static constexpr std::string_view name = "gather";
  static constexpr bool by_parts = true;
  static constexpr role kind = role::gather;
  static constexpr double flops = 1;
  static constexpr addressing addresses(const call& c) { return address_from(c, 1 + int(c.attribute(0))); }
  static constexpr void infer(call& c) {
    c.type = c[0].type();
    c.dims = c.list(1, int(c.attribute(0)));
    check_indices(c, c.dims, 1);
  }
  static constexpr bool linear(const call&, int k) { return k == 0; }
  static constexpr value jvp(const call& c, const value* t) {
    return t[0] ? gather(t[0], index_operands(c, 1), c.dims, addresses(c)) : value{};
  }
  static constexpr value vjp(const call& c, int k, value g);
  static constexpr value batch(const call& c, const bool* batched, extent size) {
    return gather(c[0], batched_indices(c, batched, size, 1), insert(c.dims, 0, size), addresses(c).batched(batched[0]));
  }
  static constexpr value simplify(const call& c) {
    if (is_constant(c[0])) return constant_from_bits(*c.b, c.type, c.dims, c[0].get().bits);
    const known_window w = known_window::of(c, 1, addresses(c), c[0].dims(), c.dims);
    if (!w.is_known) return {};
    shape kept;
    for (int i = 0; i < w.to.rank; ++i)
      if (w.to[i] >= 0) kept.push_back(w.span[i]);
    return broadcast_in_dim(reshape(slice(c[0], w.low, w.span, filled(w.low.rank, 1)), kept), c.dims, w.dimensions());
  }
};

/// Operand 0 with operand 1 (the updates) written at computed places, in row-major order of the updates; places
/// outside are skipped. Attributes: 1 if no place is written twice, then the addresses.
template <class P> struct scatter_base {
  static constexpr role kind = role::opaque;
  static constexpr double flops = 1;
  static constexpr addressing addresses(const call& c) { return address_from(c, 1); }
  static constexpr void infer(call& c) {
    c.type = c[0].type(), c.dims = c[0].dims();
    if (c[1].type() != c.type)
      return c.b->fail(message{} << c.op->name << ": dtypes differ: " << c.type << " and " << c[1].type());
    check_indices(c, c[1].dims(), 2);
  }
  static constexpr value batch(const call& c, const bool* batched, extent size) {
    return scatter_with<P>(batched_operand(c[0], batched[0], size), batched_operand(c[1], batched[1], size),
                           batched_indices(c, batched, size, 2), addresses(c).batched(true), c.attribute(0) != 0);
  }
  /// What is read at the places written, zero for places outside.
  static constexpr value read_back(const call& c, value from) {
    const addressing a = addresses(c);
    sequence<value> inside;
    value valid;
    for (int k = 2; k < c.count; ++k) inside.push_back(c[k]);
    for (int i = 0; i < a.rank; ++i) {
      if (a.axes[i].index < 0) continue;
      value& place = inside[std::size_t(a.axes[i].index)];
      const extent n = from.dims()[i];
      const extent span = a.axes[i].dimension >= 0 ? c[1].dims()[a.axes[i].dimension] : 1;
      if (is_symbol(span)) continue;  // the caller has clamped
      // What repeats indices repeats what is made of them.
      const bool repeats = place.get().op_id == primitive_of<broadcast_in_dim_p>.id;
      const shape axes = repeats ? broadcast_in_dim_p::axes(call_at(place.b->g, place.id)) : shape();
      const auto repeated = [&](value v) { return repeats ? broadcast_in_dim(v, c[1].dims(), axes) : v; };
      value index = repeats ? value{place.b, place.b->g.operand(place.id, 0)} : place;
      if (is_symbol(n) || n < span) {  // perhaps empty: what is outside reads a zero put in front
        if (a.axes[i].dimension >= 0) continue;
        place = repeated(select(is_inside(index, n), index + full_like(index, 1), zeros_like(index)));
        const shape none = filled(from.rank(), 0);
        shape front = none;
        front[i] = 1;
        from = pad(from, constant(*c.b, from.type(), {}, 0), front, none, none);
        continue;
      }
      const value at = clamp(zeros_like(index), index, full_like(index, double(n - span))), ok = repeated(eq(at, index));
      valid = both_hold(valid, ok);
      place = repeated(at);
    }
    const value r = gather(from, inside, c[1].dims(), a);
    return valid ? select(valid, r, zeros_like(r)) : r;
  }
};

struct scatter_add_p : scatter_base<scatter_add_p> {
  static constexpr std::string_view name = "scatter_add";
  static constexpr bool by_parts = true;
  static constexpr bool linear(const call&, int k) { return k < 2; }
  static constexpr value jvp(const call& c, const value* t) {
    if (!t[0] && !t[1]) return {};
    return scatter_with<scatter_add_p>(t[0] ? t[0] : zeros_like(c[0]), t[1] ? t[1] : zeros_like(c[1]), index_operands(c, 2),
                                       addresses(c), c.attribute(0) != 0);
  }
  static constexpr value vjp(const call& c, int k, value g) { return k == 0 ? g : k == 1 ? read_back(c, g) : value{}; }
  static constexpr value simplify(const call& c) {
    constexpr extent few = 16;  // windows: a sum of all is worth what it allows to simplify
    const known_window w = known_window::of(c, 2, addresses(c), c.dims, c[1].dims());
    if (!w.is_known || w.windows > few || w.dimensions().rank < c[1].rank()) return {};
    shape high, axes;
    for (int i = 0; i < w.to.rank; ++i) {
      high.push_back(c.b->symbols.resolve(c.dims[i]) == w.span[i] ? 0 : c.dims[i] - w.low[i] - w.span[i]);
      if (w.to[i] >= 0) axes.push_back(i);
    }
    const value added = pad(broadcast_in_dim(c[1], w.span, axes), constant(*c.b, c.type, {}, 0), w.low, high, filled(high.rank, 0));
    return is_constant(c[0], 0) ? added : c[0] + added;
  }
  template <class T> static constexpr T combine(T a, T b) { return a + b; }
};

/// The last of several updates of one place stays, in the value and in the derivative.
struct scatter_p : scatter_base<scatter_p> {
  static constexpr std::string_view name = "scatter";
  static constexpr bool by_parts = true;
  static constexpr bool linear(const call&, int k) { return k < 2; }
  static constexpr value jvp(const call& c, const value* t) {
    if (!t[0] && !t[1]) return {};
    return scatter_with<scatter_p>(t[0] ? t[0] : zeros_like(c[0]), t[1] ? t[1] : zeros_like(c[1]), index_operands(c, 2),
                                   addresses(c), c.attribute(0) != 0);
  }
  static constexpr value vjp(const call& c, int k, value g) {
    if (k > 1) return {};
    if (k == 0)
      return scatter_with<scatter_p>(g, zeros_like(c[1]), index_operands(c, 2), addresses(c), c.attribute(0) != 0);
    const value r = read_back(c, g);
    if (c.attribute(0) != 0) return r;
    // Number the updates, scatter the numbers, and see whose number stayed.
    extent n = 1;
    for (extent e : c[1].dims()) n = c.b->symbols.combine(symbol::product, n, e);
    const value number = reshape(iota(*c.b, dtype::int32, {n}, 0), c[1].dims());
    const value none = constant(*c.b, dtype::int32, c.dims, -1);
    const value stayed = scatter_with<scatter_p>(none, number, index_operands(c, 2), addresses(c), false);
    return select(eq(read_back(c, stayed), number), r, zeros_like(r));
  }
  template <class T> static constexpr T combine(T, T b) { return b; }
};

/// Several updates of one place multiply it by all of them. As in JAX, the derivative by the updates is there only where
/// no place is written twice.
struct scatter_mul_p : scatter_base<scatter_mul_p> {
  static constexpr std::string_view name = "scatter_mul";
  static constexpr bool linear(const call&, int k) { return k == 0; }
  static constexpr value jvp(const call& c, const value* t) {
    if (t[1] && !unique(c)) return {};
    value sum;
    if (t[0]) sum = scatter_with<scatter_mul_p>(t[0], c[1], index_operands(c, 2), addresses(c), c.attribute(0) != 0);
    if (t[1]) {
      const value of_x = sum ? sum : zeros_like(c[0]);
      sum = scatter_with<scatter_add_p>(of_x, t[1] * read_back(c, c[0]), index_operands(c, 2), addresses(c), true);
    }
    return sum;
  }
  static constexpr value vjp(const call& c, int k, value g) {
    if (k == 0) return scatter_with<scatter_mul_p>(g, c[1], index_operands(c, 2), addresses(c), c.attribute(0) != 0);
    return k == 1 && unique(c) ? read_back(c, g) * read_back(c, c[0]) : value{};
  }
  template <class T> static constexpr T combine(T a, T b) {
    if constexpr (std::is_same_v<T, bool>) return a && b;
    else return a * b;
  }

 private:
  static constexpr bool unique(const call& c) {
    if (c.attribute(0) == 0)
      c.b->fail(message{} << "at: the derivative of multiply by its updates needs places that differ; if they do, say at(x, i).multiply(v, ct::unique_indices)");
    return c.attribute(0) != 0;
  }
};

/// What scatter_min and scatter_max share: the derivative goes evenly to all that attain the extremum of a place, the
/// updates and what was there before. A NaN attains it.
template <class P> struct scatter_extremum : scatter_base<P> {
  using base = scatter_base<P>;
  static constexpr value jvp(const call& c, const value* t) {
    if (!t[0] && !t[1]) return {};
    const value x = t[0] ? t[0] * kept(c) : zeros_like(c[0]), updates = t[1] ? t[1] * stored(c) : zeros_like(c[1]);
    return added(c, x, updates) / winners(c);
  }
  static constexpr value vjp(const call& c, int k, value g) {
    if (k > 1) return {};
    const value share = g / winners(c);
    return k == 0 ? share * kept(c) : base::read_back(c, share) * stored(c);
  }
  /// P::combine_numbers is this for a b that is not NaN: one instruction.
  template <class T> static constexpr T combine(T a, T b) {
    const T number = P::combine_numbers(a, b);
    return b != b ? b : number;
  }

 private:
  static constexpr value added(const call& c, value x, value updates) {
    return scatter_with<scatter_add_p>(x, updates, index_operands(c, 2), base::addresses(c), c.attribute(0) != 0);
  }
  static constexpr value attains(value x, value extremum) { return convert(logical_or(eq(x, extremum), ne(x, x)), x.type()); }
  static constexpr value kept(const call& c) { return attains(c[0], c.result); }
  static constexpr value stored(const call& c) { return attains(c[1], base::read_back(c, c.result)); }
  static constexpr value winners(const call& c) { return added(c, kept(c), stored(c)); }
};
struct scatter_min_p : scatter_extremum<scatter_min_p> {
  static constexpr std::string_view name = "scatter_min";
  template <class T> static constexpr T combine_numbers(T a, T b) { return b < a ? b : a; }
};
struct scatter_max_p : scatter_extremum<scatter_max_p> {
  static constexpr std::string_view name = "scatter_max";
  template <class T> static constexpr T combine_numbers(T a, T b) { return b > a ? b : a; }
};

/// Whether the primitive with this id writes into its first operand, which it may then overwrite.
constexpr bool is_scatter(std::uint64_t id) {
  for (std::uint64_t s : {primitive_of<scatter_p>.id, primitive_of<scatter_add_p>.id, primitive_of<scatter_mul_p>.id, primitive_of<scatter_min_p>.id, primitive_of<scatter_max_p>.id})
    if (s == id) return true;
  return false;
}

/// The innermost builder among the operands', and the operands adopted by it.
constexpr builder* adopt_all(sequence<value>& operands) {
  builder* b = operands[0].b;
  for (value v : operands)
    if (v.b->level > b->level) b = v.b;
  for (value& v : operands) v = b->adopt(v);
  return b;
}

constexpr value gather(value x, const sequence<value>& indices, const shape& dims, const addressing& a) {
  sequence<value> operands{x};
  for (value v : indices) operands.push_back(v);
  builder* b = adopt_all(operands);
  attribute_list l;
  l.push(dims.rank).push(dims);
  a.append_to(l);
  call c;
  c.op = &primitive_of<gather_p>, c.operands = operands.data(), c.count = int(operands.size());
  c.attributes = l.data, c.attribute_count = l.count;
  return b->emit(c);
}

template <class P>
constexpr value scatter_with(value x, value updates, const sequence<value>& indices, const addressing& a, bool unique) {
  sequence<value> operands{x, updates};
  for (value v : indices) operands.push_back(v);
  builder* b = adopt_all(operands);
  attribute_list l;
  l.push(unique);
  a.append_to(l);
  call c;
  c.op = &primitive_of<P>, c.operands = operands.data(), c.count = int(operands.size());
  c.attributes = l.data, c.attribute_count = l.count;
  return b->emit(c);
}

constexpr value gather_p::vjp(const call& c, int k, value g) {
  if (k > 0) return {};
  return scatter_with<scatter_add_p>(zeros_like(c[0]), g, index_operands(c, 1), addresses(c), false);
}

/// The sum along an axis of what is 1 at one of its indices and 0 at the others: 1 if that index is there. Null if x is not made so.
constexpr value sum_of_one_hot(value x, int axis) {
  const value found{x.b, x.b->g.operand(x.id, 0)};
  if (found.get().op_id != primitive_of<eq_p>.id) return {};
  for (int k = 0; k < 2; ++k) {
    if (counted_axis(x.b->g, x.b->g.operand(found.id, k)) != axis) continue;
    const value index = repeated_along({x.b, x.b->g.operand(found.id, 1 - k)}, {axis});
    if (index) return lie_inside(index, x.dims()[axis]) ? constant(*x.b, x.type(), index.dims(), 1) : convert(is_inside(index, x.dims()[axis]), x.type());
  }
  return {};
}
/// The sum of updates of zeros along the axes of their indices: that of the updates, which need not be written. Null if another axis is
/// summed, or the updates do not go all along the others.
constexpr value sum_of_updates(const call& c, const shape& axes) {
  if (!is_constant(c[0], 0)) return {};
  const addressing a = scatter_add_p::addresses(c);
  value updates = c[1], inside;
  shape kept;  // axes of the updates
  for (int i = 0; i < a.rank; ++i) {
    const auto [dimension, index] = a.axes[i];
    const bool is_index = dimension < 0 && index >= 0, is_summed = axes.contains(i);
    const bool is_whole = dimension >= 0 && index < 0 && c.b->symbols.resolve(updates.dims()[dimension]) == c.b->symbols.resolve(c.dims[i]);
    if (is_summed ? !is_index : !is_whole) return {};
    if (!is_summed) kept.push_back(dimension);
    else if (const value at = c[2 + index]; !lie_inside(at, c.dims[i])) inside = both_hold(inside, is_inside(at, c.dims[i]));
  }
  if (inside) updates = select(inside, updates, zeros_like(updates));
  const shape order = ascending(kept);
  shape places;  // in the sum, of each axis that is kept
  for (extent axis : kept)
    for (int i = 0; i < order.rank; ++i)
      if (order[i] == axis) places.push_back(i);
  const value sum = reduce_sum(updates, complement(order, updates.rank()));
  return order == kept ? sum : transpose(sum, places);
}
/// The sum along axes of what is zero but where indices say, from what is there alone. Null if x is not made so.
constexpr value sum_of_scattered(value x, const shape& axes) {
  const node n = x.get();
  const auto operand = [&](int k) { return value{x.b, x.b->g.operand(x.id, k)}; };
  if (n.is_input() || x.b->of_elements) return {};
  if (n.op_id == primitive_of<neg_p>.id) {
    const value sum = sum_of_scattered(operand(0), axes);
    return sum ? -sum : sum;
  }
  if (n.op_id == primitive_of<mul_p>.id) {
    for (int k = 0; k < 2; ++k)
      if (is_constant(operand(k)) && is_calculable(constant_value(operand(k))))
        if (const value sum = sum_of_scattered(operand(1 - k), axes)) return constant_from_bits(*x.b, n.type, sum.dims(), operand(k).get().bits) * sum;
    return {};
  }
  if (n.op_id == primitive_of<convert_p>.id) return axes.rank == 1 ? sum_of_one_hot(x, int(axes[0])) : value{};
  return n.op_id == primitive_of<scatter_add_p>.id ? sum_of_updates(copied_call(x), axes) : value{};
}

constexpr value roll(value x, value shift, extent axis, bool back);

/// Operand 0 moved along an axis by operand 1, an integer scalar; what goes over the end comes back at the start.
/// Attributes: the axis, and 1 to move back.
struct roll_p {
  static constexpr std::string_view name = "roll";
  static constexpr bool by_parts = true;
  static constexpr role kind = role::opaque;
  static constexpr extent axis(const call& c) { return c.attribute(0); }
  static constexpr bool back(const call& c) { return c.attribute(1) != 0; }
  static constexpr void infer(call& c) {
    c.type = c[0].type(), c.dims = c[0].dims();
    check_indices(c, {}, 1);
  }
  static constexpr void elements(element_call& e);
  static constexpr bool linear(const call&, int k) { return k == 0; }
  static constexpr value jvp(const call& c, const value* t) { return t[0] ? roll(t[0], c[1], axis(c), back(c)) : value{}; }
  static constexpr value vjp(const call& c, int k, value g) { return k == 0 ? roll(g, c[1], axis(c), !back(c)) : value{}; }
  static constexpr value batch(const call& c, const bool* batched, extent size) {
    if (!batched[1]) return roll(c[0], c[1], axis(c) + 1, back(c));
    const shape dims = batched[0] ? c[0].dims() : insert(c[0].dims(), 0, size);
    const int moved = int(axis(c)) + 1;
    const extent n = dims[moved];
    if (n == 0) return batched_operand(c[0], batched[0], size);
    const value at_least_one = is_symbol(n) ? max(extent_like(c[1], n), full_like(c[1], 1)) : full_like(c[1], double(n));
    const value by = rem(c[1], at_least_one);
    const value all = broadcast_in_dim(at_least_one, dims, {0}), none = zeros_like(all);
    const value from = iota(*c.b, c[1].type(), dims, moved) - broadcast_in_dim(back(c) ? -by : by, dims, {0});
    const value inside = select(lt(from, none), from + all, select(ge(from, all), from - all, from));
    addressing a;
    if (batched[0]) a.push({0, -1});
    for (int i = 1; i < dims.rank; ++i) a.push(i == moved ? axis_address{-1, 0} : axis_address{i, -1});
    return gather(c[0], {inside}, dims, a);
  }
};
constexpr void roll_p::elements(element_call& e) {
  const int moved = int(axis(e.c)), place = e.form.place(moved);
  e.fits = is_constant(e.c[1]) && e.form.axes == e.operands[0].form.axes;
  if (!e.fits) return;
  if (place >= 0) {  // the instances: each element by itself; a number is the same for all
    for (extent i = 0; i < e.form.count; ++i) {
      const value x = e.operands[0].parts[i];
      e.parts.push_back(x && x.rank() > 0 ? roll(x, constant_from_bits(e.b, e.c[1].type(), {}, e.c[1].get().bits), place, back(e.c)) : x);
    }
    return;
  }
  const extent n = e.c.dims[moved], by = extent(constant_value(e.c[1])) * (back(e.c) ? 1 : -1);
  each_element(e.c.dims, e.form.axes, [&](const shape& at) {
    extent from = 0;
    for (int i = 0; i < at.rank; ++i)
      if (at[i] >= 0) from += (i == moved ? wrapped_index(at[i] + by, n) : at[i]) * e.operands[0].form.strides[i];
    e.parts.push_back(e.operands[0].parts[from]);
  });
}
constexpr value roll(value x, value shift, extent axis, bool back) { return emit<roll_p>({x, shift}, {axis, back}); }

}  // namespace cotangent

#endif
