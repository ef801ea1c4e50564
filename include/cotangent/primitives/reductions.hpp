#ifndef COTANGENT_PRIMITIVES_IN_ORDER
#include <cotangent/primitives/primitives.hpp>
#elif !defined(COTANGENT_PRIMITIVES_REDUCTIONS)
#define COTANGENT_PRIMITIVES_REDUCTIONS
/// Reductions along axes: reduce_sum prod max min and or, argmax argmin.

namespace cotangent {

constexpr value reduce_max(value x, const shape& axes);
constexpr value reduce_min(value x, const shape& axes);
constexpr value sum_of_product(value x, const shape& axes);
constexpr value sum_of_scaled(value x, const shape& axes, int depth = 4);
constexpr value sum_of_exchanged(value x, shape axes);
constexpr value sum_of_scattered(value x, const shape& axes);

/// A reduction of a transpose, as a transpose of a reduction: of what, along which axes, and in which order.
struct reduced_transpose {
  value operand;
  shape axes, order;

  constexpr reduced_transpose(value transposed, const shape& reduced) : operand{transposed.b, transposed.b->g.operand(transposed.id, 0)} {
    shape kept;
    for (int i = 0; i < transposed.rank(); ++i) (reduced.contains(i) ? axes : kept).push_back(transposed.b->g.attribute(transposed.id, i));
    axes = ascending(axes);
    const shape left = complement(axes, transposed.rank());
    for (extent axis : kept)
      for (int i = 0; i < left.rank; ++i)
        if (left[i] == axis) order.push_back(i);
  }
};

/// Attributes: the reduced axes, ascending.
struct reduction_primitive {
  static constexpr role kind = role::reduction;
  static constexpr double flops = 1;
  static constexpr shape axes(const call& c) { return c.list(0, c.attribute_count); }
  static constexpr shape kept(const call& c) { return complement(axes(c), c[0].rank()); }
  static constexpr void infer(call& c) {
    c.type = c[0].type();
    for (extent i : kept(c)) c.dims.push_back(c[0].dims()[int(i)]);
  }
  static constexpr value batch(const call& c, const bool*, extent) {
    call d = c;
    const shape axes_behind = shifted(axes(c));
    d.attributes = axes_behind.dims;
    return c.b->emit(d);
  }
  static constexpr value simplify(const call& c) {
    const value same = of_one_element(c);
    return same ? same : of_transpose(c);
  }
  /// A reduction along axes of one element changes nothing.
  static constexpr value of_one_element(const call& c) {
    for (extent i : axes(c))
      if (c[0].dims()[int(i)] != 1) return {};
    return c.attribute_count == 0 ? c[0] : reshape(c[0], c.dims);
  }
  /// The reduction of a transpose is that of what is transposed. Null if the operand is no transpose.
  static constexpr value of_transpose(const call& c) {
    if (c[0].get().op_id != primitive_of<transpose_p>.id) return {};
    const reduced_transpose r(c[0], axes(c));
    call d = c;
    d.operands = &r.operand, d.result = {}, d.dims = {};
    d.attributes = r.axes.dims, d.attribute_count = r.axes.rank;
    return transpose(c.b->emit(d), r.order);
  }
  /// `v`, of the result's shape, repeated along the reduced axes.
  static constexpr value spread(const call& c, value v) { return broadcast_in_dim(v, c[0].dims(), kept(c)); }
};

struct reduce_sum_p : reduction_primitive {
  static constexpr std::string_view name = "reduce_sum";
  static constexpr bool by_parts = true;
  static constexpr bool linear(const call&, int) { return true; }
  static constexpr value jvp(const call& c, const value* t) { return t[0] ? reduce_sum(t[0], axes(c)) : value{}; }
  static constexpr value vjp(const call& c, int, value g) { return spread(c, g); }
  static constexpr value simplify(const call& c) {
    if (const value same = of_one_element(c)) return same;
    if (is_constant(c[0]) && is_floating(c.type) && is_calculable(constant_value(c[0]))) {
      extent n = 1;
      for (extent i : axes(c)) n = c.b->symbols.combine(symbol::product, n, c[0].dims()[int(i)]);
      if (is_constant(c[0], 0) || !is_symbol(n))
        return constant(*c.b, c.type, c.dims, is_symbol(n) ? 0.0 : double(n) * constant_value(c[0]));
    }
    if (const value r = sum_of_product(c[0], axes(c))) return r;
    if (const value r = sum_of_scaled(c[0], axes(c))) return r;
    if (const value r = sum_of_exchanged(c[0], axes(c))) return r;
    if (const value r = sum_of_scattered(c[0], axes(c))) return r;
    return of_transpose(c);
  }
  template <class T> static COTANGENT_HD constexpr T identity() { return T(0); }
  COTANGENT_LANES template <class V> static COTANGENT_INLINE constexpr V combine(V a, V b) { return a + b; }
  COTANGENT_LANES template <class V> static COTANGENT_INLINE constexpr V add_product(V sum, V a, V b) { return fast_fma(a, b, sum); }
};

/// The product. Its derivative multiplies eight parts together, level by level, and never divides: exact at zeros.
struct reduce_prod_p : reduction_primitive {
  static constexpr std::string_view name = "reduce_prod";
  template <class T> static COTANGENT_HD constexpr T identity() { return T(1); }
  COTANGENT_LANES template <class V> static COTANGENT_INLINE constexpr V combine(V a, V b) { return a * b; }

  static constexpr value jvp(const call& c, const value* t) {
    if (!t[0] || columns(c) == 0) return {};
    value tangent = to_rows(c, t[0]);
    for (const level& l : products(c)) {
      value sum;
      for (extent k = 0; k < l.parts; ++k) {
        const value term = l.part(tangent, k) * l.others[std::size_t(k)];
        sum = sum ? sum + term : term;
      }
      tangent = l.next(sum, tangent);
    }
    return reshape(tangent, c.dims);
  }
  static constexpr value vjp(const call& c, int, value g) {
    const tree levels = products(c);
    if (c.b->failed() || columns(c) == 0) return {};
    value ct = reshape(g, {rows(c), 1});
    for (std::size_t i = levels.size(); i-- > 0;) ct = levels[i].pull(ct);
    return from_rows(c, ct);
  }

 private:
  /// Rows are cut into blocks, a block into parts of `width` columns side by side. The next level is of the products of a block's
  /// parts, and of what is left over.
  struct level {
    extent rows = 0, blocks = 0, parts = 0, width = 0, rest = 0;
    sequence<value> others;  // per part: the product of the block's others, [rows, blocks, 1, width]

    level() = default;
    constexpr explicit level(value x) : rows(x.dims()[0]) {
      constexpr extent most_parts = 8, line = 64;  // bytes: parts of one line each are read one after the other
      const extent n = x.dims()[1], most_width = line / extent(size_of(x.type())), many = 8 * most_parts * most_width;
      parts = n < most_parts ? n : most_parts;
      width = n < many ? n / parts : most_width;
      blocks = n / (parts * width);
      rest = n - blocks * parts * width;
    }
    constexpr extent inside() const { return blocks * parts * width; }
    /// Part k of all blocks of [rows, columns].
    constexpr value part(value x, extent k) const {
      const value cut = reshape(columns(x, 0, inside()), {rows, blocks, parts, width});
      return slice(cut, {0, 0, k, 0}, {rows, blocks, 1, width}, {1, 1, 1, 1});
    }
    /// The columns of the next level, from those of the blocks and from this level's.
    constexpr value next(value of_blocks, value x) const {
      const value flat = reshape(of_blocks, {rows, blocks * width});
      return rest > 0 ? concatenate({flat, columns(x, inside(), rest)}, 1) : flat;
    }
    /// This level's cotangents from those of the next.
    constexpr value pull(value ct) const {
      const value of_blocks = reshape(columns(ct, 0, blocks * width), {rows, blocks, 1, width});
      sequence<value> list;
      for (value x : others) list.push_back(of_blocks * x);
      const value flat = reshape(concatenate(list, 2), {rows, inside()});
      return rest > 0 ? concatenate({flat, columns(ct, blocks * width, rest)}, 1) : flat;
    }
    static constexpr value columns(value x, extent start, extent size) { return size == x.dims()[1] ? x : slice(x, {0, start}, {x.dims()[0], size}, {1, 1}); }
  };
  using tree = sequence<level>;

  static constexpr extent rows(const call& c) {
    extent n = 1;
    for (extent i : kept(c)) n = c.b->symbols.combine(symbol::product, n, c[0].dims()[int(i)]);
    return n;
  }
  static constexpr extent columns(const call& c) {
    extent n = 1;
    for (extent i : axes(c)) n = c.b->symbols.combine(symbol::product, n, c[0].dims()[int(i)]);
    if (is_symbol(n)) c.b->fail(message{} << "prod: the derivative along a run-time extent is not supported, shape " << c[0].dims());
    return is_symbol(n) ? 1 : n;
  }
  static constexpr value to_rows(const call& c, value x) {
    return reshape(transpose(x, join(kept(c), axes(c))), {rows(c), columns(c)});
  }
  static constexpr value from_rows(const call& c, value x) {
    const shape order = join(kept(c), axes(c));
    shape dims, inverse = filled(order.rank, 0);
    for (int i = 0; i < order.rank; ++i) dims.push_back(c[0].dims()[int(order[i])]), inverse[int(order[i])] = i;
    return transpose(reshape(x, dims), inverse);
  }
  static constexpr tree products(const call& c) {
    tree levels;
    for (value x = to_rows(c, c[0]); x.dims()[1] > 1 && !c.b->failed();) {
      level l(x);
      sequence<value> before;  // per part: the product of those before it
      value product, behind;
      for (extent k = 0; k < l.parts; ++k) {
        const value own = l.part(x, k);
        before.push_back(product);
        product = product ? product * own : own;
      }
      l.others.assign(std::size_t(l.parts), value());
      for (extent k = l.parts; k-- > 0;) {
        const value own = l.part(x, k), others = before[std::size_t(k)];
        l.others[std::size_t(k)] = !others ? behind : behind ? others * behind : others;
        behind = behind ? own * behind : own;
      }
      x = l.next(product, x);
      levels.push_back(std::move(l));
    }
    return levels;
  }
};

/// What max and min share: the derivative goes evenly to all elements that attain the extremum.
struct extremum : reduction_primitive {
  static constexpr value jvp(const call& c, const value* t) {
    if (!t[0]) return {};
    const value at = attained(c);
    return reduce_sum(t[0] * at, axes(c)) / reduce_sum(at, axes(c));
  }
  static constexpr value vjp(const call& c, int, value g) {
    const value at = attained(c);
    return spread(c, g / reduce_sum(at, axes(c))) * at;
  }

 private:
  static constexpr value attained(const call& c) { return convert(attains(c[0], spread(c, c.result)), c.type); }
};
struct reduce_max_p : extremum {
  static constexpr std::string_view name = "reduce_max";
  template <class T> static COTANGENT_HD constexpr T identity() {
    constexpr T x = std::numeric_limits<T>::has_infinity ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::lowest();
    return x;
  }
  COTANGENT_LANES template <class V> static COTANGENT_INLINE constexpr V combine(V a, V b) { return maximum(a, b); }
  COTANGENT_LANES template <class V> static COTANGENT_INLINE constexpr auto reaches(V a, V b) { return a >= b; }
};
struct reduce_min_p : extremum {
  static constexpr std::string_view name = "reduce_min";
  template <class T> static COTANGENT_HD constexpr T identity() {
    constexpr T x = std::numeric_limits<T>::has_infinity ? std::numeric_limits<T>::infinity() : std::numeric_limits<T>::max();
    return x;
  }
  COTANGENT_LANES template <class V> static COTANGENT_INLINE constexpr V combine(V a, V b) { return minimum(a, b); }
  COTANGENT_LANES template <class V> static COTANGENT_INLINE constexpr auto reaches(V a, V b) { return a <= b; }
};

struct boolean_reduction : reduction_primitive {
  static constexpr void infer(call& c) {
    reduction_primitive::infer(c);
    if (c.type != dtype::boolean) c.b->fail(message{} << c.op->name << ": needs dtype bool, got " << c.type << c[0].dims());
  }
  /// That of the same along other axes is one along all of them.
  static constexpr value simplify(const call& c) {
    if (c[0].get().op_id != c.op->id) return reduction_primitive::simplify(c);
    const copied_call inner(c[0]);
    const shape outer = axes(c), left = kept(inner);
    shape all;
    for (int i = 0; i < inner[0].rank(); ++i) {
      bool reduced = !left.contains(i);
      for (int j = 0; j < left.rank; ++j) reduced = reduced || (left[j] == i && outer.contains(j));
      if (reduced) all.push_back(i);
    }
    call d = c;
    d.operands = inner.operands, d.attributes = all.dims, d.attribute_count = all.rank, d.result = {};
    return c.b->emit(d);
  }
  static constexpr value jvp(const call&, const value*) { return {}; }
  static constexpr value vjp(const call&, int, value) { return {}; }
};
struct reduce_and_p : boolean_reduction {
  static constexpr std::string_view name = "reduce_and";
  template <class T> static COTANGENT_HD constexpr T identity() { return true; }
  COTANGENT_LANES template <class V> static COTANGENT_INLINE constexpr V combine(V a, V b) { return a & b; }
};
struct reduce_or_p : boolean_reduction {
  static constexpr std::string_view name = "reduce_or";
  template <class T> static COTANGENT_HD constexpr T identity() { return false; }
  COTANGENT_LANES template <class V> static COTANGENT_INLINE constexpr V combine(V a, V b) { return a | b; }
};

/// The least index along an axis at which x is its extremum there, or NaN.
constexpr value least_index(value x, value extremum, int axis) {
  const shape axes{axis};
  value found = eq(x, broadcast_in_dim(extremum, x.dims(), complement(axes, x.rank())));
  if (is_floating(x.type())) found = logical_or(found, ne(x, x));
  const value index = iota(*x.b, dtype::int32, x.dims(), axis);
  return reduce_min(select(found, index, full_like(index, double(std::numeric_limits<std::int32_t>::max()))), axes);
}

/// The index of the extremum along one axis; the first at ties; a NaN counts as the extremum. Attribute: the axis.
struct arg_extremum {
  static constexpr role kind = role::opaque;
  static constexpr int axis(const call& c) { return int(c.attribute(0)); }
  static constexpr void infer(call& c) {
    c.dims = erase(c[0].dims(), axis(c));
    const extent n = c[0].dims()[axis(c)];
    if (n == 0) c.b->fail(message{} << c.op->name << ": axis " << c.attribute(0) << " of " << c[0].dims() << " is empty");
    if (is_symbol(n)) c.b->symbols.require_at_least(c.op->name, n, 1);
  }
  static constexpr value jvp(const call&, const value*) { return {}; }
  static constexpr value vjp(const call&, int, value) { return {}; }
  static constexpr value batch(const call& c, const bool*, extent) {
    const extent axis = c.attribute(0) + 1;
    call d = c;
    d.attributes = &axis;
    return c.b->emit(d);
  }

 protected:
  /// As the least index at which the extremum lies: two reductions, which kernels compute.
  static constexpr value as_reductions(const call& c, value (*extreme)(value, const shape&)) {
    const value x = c[0].type() == dtype::boolean ? convert(c[0], dtype::int32) : c[0];
    return least_index(x, extreme(x, {axis(c)}), axis(c));
  }
};
struct argmax_p : arg_extremum {
  static constexpr std::string_view name = "argmax";
  static constexpr value simplify(const call& c) { return as_reductions(c, reduce_max); }
};
struct argmin_p : arg_extremum {
  static constexpr std::string_view name = "argmin";
  static constexpr value simplify(const call& c) { return as_reductions(c, reduce_min); }
};

constexpr value reduce_sum(value x, const shape& axes) {
  shape sorted;
  for (int i = 0; i < x.rank(); ++i)
    if (axes.contains(i)) sorted.push_back(i);
  return emit<reduce_sum_p>({x}, sorted);
}
constexpr value reduce_prod(value x, const shape& axes) { return emit<reduce_prod_p>({x}, axes); }
constexpr value reduce_max(value x, const shape& axes) { return emit<reduce_max_p>({x}, axes); }
constexpr value reduce_min(value x, const shape& axes) { return emit<reduce_min_p>({x}, axes); }
constexpr value reduce_and(value x, const shape& axes) { return emit<reduce_and_p>({x}, axes); }
constexpr value reduce_or(value x, const shape& axes) { return emit<reduce_or_p>({x}, axes); }
constexpr value argmax(value x, int axis) { return emit<argmax_p>({x}, {axis}, dtype::int32); }
constexpr value argmin(value x, int axis) { return emit<argmin_p>({x}, {axis}, dtype::int32); }

}  // namespace cotangent

#endif
