#ifndef COTANGENT_PRIMITIVES_IN_ORDER
#include <cotangent/primitives/primitives.hpp>
#elif !defined(COTANGENT_PRIMITIVES_STRUCTURAL)
#define COTANGENT_PRIMITIVES_STRUCTURAL
/// Shape primitives: broadcast_in_dim reshape transpose slice reverse pad concatenate. All are linear.

namespace cotangent {

constexpr value reshape(value x, const shape& dims);
constexpr value transpose(value x, const shape& permutation);
constexpr value slice(value x, const shape& starts, const shape& sizes, const shape& strides);
constexpr value pad(value x, value padding, const shape& low, const shape& high, const shape& interior);
constexpr value reduce_sum(value x, const shape& axes);

constexpr shape filled(int rank, extent e) {
  shape s;
  for (int i = 0; i < rank; ++i) s.push_back(e);
  return s;
}
/// first, first + 1, …: `count` axes.
constexpr shape axes_from(int first, int count) {
  shape s;
  for (int i = 0; i < count; ++i) s.push_back(first + i);
  return s;
}
/// Every axis one further, behind a batch axis.
constexpr shape shifted(shape axes) {
  for (int i = 0; i < axes.rank; ++i) ++axes[i];
  return axes;
}
constexpr shape join(const shape& a, const shape& b) {
  shape s = a;
  for (extent e : b) s.push_back(e);
  return s;
}
constexpr shape complement(const shape& axes, int rank) {
  shape s;
  for (int i = 0; i < rank; ++i)
    if (!axes.contains(i)) s.push_back(i);
  return s;
}
/// The axes in ascending order.
constexpr shape ascending(const shape& axes) { return complement(complement(axes, max_rank), max_rank); }
/// The axes as they are numbered without those in `gone`, which are left out.
constexpr shape renumbered(const shape& axes, const shape& gone) {
  shape r;
  for (extent a : axes) {
    extent before = 0;
    for (extent g : gone) before += g < a;
    if (!gone.contains(a)) r.push_back(a - before);
  }
  return r;
}

/// The extents along the axes.
constexpr shape extents_along(const shape& dims, const shape& axes) {
  shape r;
  for (extent axis : axes) r.push_back(dims[int(axis)]);
  return r;
}

/// Attributes that are longer than a shape.
struct attribute_list {
  extent data[4 * max_rank + 8] = {};
  int count = 0;
  constexpr explicit attribute_list() {}
  constexpr attribute_list& push(extent e) {
    data[count++] = e;
    return *this;
  }
  constexpr attribute_list& push(const shape& s) {
    for (extent e : s) data[count++] = e;
    return *this;
  }
};
template <class P, std::size_t N> constexpr value emit(const value (&operands)[N], const attribute_list& a) {
  return emit<P>(operands, a.data, a.count);
}

/// Linear in its one operand: the tangent goes the same way as the value.
struct linear_in_all {
  static constexpr role kind = role::opaque;
  static constexpr bool by_parts = true;
  static constexpr bool linear(const call&, int) { return true; }
  static constexpr value jvp(const call& c, const value* tangents) { return tangents[0] ? emit_again(c, tangents) : value{}; }
};
struct view_primitive : linear_in_all {
  static constexpr role kind = role::view;
};

/// x broadcast to more or larger axes. Attributes: the result's extents, then for each axis of x its axis there.
struct broadcast_in_dim_p : view_primitive {
  static constexpr std::string_view name = "broadcast_in_dim";
  static constexpr shape axes(const call& c) { return c.list(c.dims.rank, c.attribute_count - c.dims.rank); }
  static constexpr void infer(call& c) {
    c.type = c[0].type();
    c.dims = c.list(0, c.attribute_count - c[0].rank());
    const shape map = axes(c);
    for (int i = 0; i < map.rank; ++i)
      if (c[0].dims()[i] != 1 && !c.b->symbols.unify("broadcast", c[0].dims()[i], c.dims[int(map[i])]))
        return c.b->fail(message{} << "broadcast: shape " << c[0].dims() << " does not broadcast to " << c.dims);
  }
  static constexpr value vjp(const call& c, int, value g) {
    const shape map = axes(c);
    shape sum = complement(map, c.dims.rank);
    for (int i = 0; i < map.rank; ++i) {
      if (c[0].dims()[i] == 1 && c.dims[int(map[i])] != 1) sum.push_back(map[i]);
    }
    return reshape(reduce_sum(g, sum), c[0].dims());
  }
  static constexpr value batch(const call& c, const bool*, extent size) {
    return broadcast_in_dim(c[0], insert(c.dims, 0, size), insert(shifted(axes(c)), 0, 0));
  }
  static constexpr value simplify(const call& c) {
    const shape map = axes(c);
    if (c.dims == c[0].dims()) return c[0];
    if (is_constant(c[0])) return constant_from_bits(*c.b, c.type, c.dims, c[0].get().bits);
    const node& x = c[0].get();
    if (x.op_id == primitive_of<broadcast_in_dim_p>.id) {
      const value inner{c.b, c.b->g.operand(c[0].id, 0)};
      shape through;
      for (int i = 0; i < inner.rank(); ++i)
        through.push_back(map[int(c.b->g.attribute(c[0].id, x.dims.rank + i))]);
      return broadcast_in_dim(inner, c.dims, through);
    }
    return {};
  }
  static constexpr buffer_access view(const call& c, const buffer_access& in) {
    buffer_access out{in.offset, filled(c.dims.rank, 0)};
    const shape map = axes(c);
    for (int i = 0; i < map.rank; ++i)
      out.strides[int(map[i])] = c[0].dims()[i] == 1 ? 0 : in.strides[i];
    return out;
  }
};

/// The elements in row-major order under another shape of the same size. Attributes: the new extents.
struct reshape_p : linear_in_all {
  static constexpr std::string_view name = "reshape";
  static constexpr void infer(call& c) {
    c.type = c[0].type();
    c.dims = c.list(0, c.attribute_count);
    extent from = 1, to = 1;
    for (extent e : c[0].dims()) from = c.b->symbols.combine(symbol::product, from, e);
    for (extent e : c.dims) to = c.b->symbols.combine(symbol::product, to, e);
    if (!c.b->symbols.unify("reshape", from, to))
      c.b->fail(message{} << "reshape: " << c[0].dims() << " has " << from << " elements, " << c.dims << " has " << to);
  }
  static constexpr value vjp(const call& c, int, value g) { return reshape(g, c[0].dims()); }
  static constexpr value batch(const call& c, const bool*, extent size) { return reshape(c[0], insert(c.dims, 0, size)); }
  /// The same elements in the same order, if the axes of the instances stay, with as many elements before each.
  static constexpr void elements(element_call& e) {
    const element_array& x = e.operands[0];
    const auto before = [](const shape& dims, const element_form& form, int place) {
      extent n = 1;
      for (int i = 0; i < int(form.axes[place]); ++i)
        if (form.place(i) < 0) n *= dims[i];
      return n;
    };
    e.fits = x.form.axes.rank == e.form.axes.rank;
    for (int j = 0; e.fits && j < e.form.axes.rank; ++j)
      e.fits = e.c.b->symbols.resolve(x.form.instances[j]) == e.c.b->symbols.resolve(e.form.instances[j]) && before(x.dims, x.form, j) == before(e.c.dims, e.form, j);
    for (extent i = 0; e.fits && i < e.form.count; ++i) e.parts.push_back(x.parts[i]);
  }
  static constexpr value simplify(const call& c) {
    if (c.dims == c[0].dims()) return c[0];
    if (is_constant(c[0])) return constant_from_bits(*c.b, c.type, c.dims, c[0].get().bits);
    const node& x = c[0].get();
    if (x.op_id == primitive_of<reshape_p>.id || adds_only_ones(*c.b, x)) return reshape({c.b, c.b->g.operands[std::size_t(x.operands)]}, c.dims);
    return added_or_dropped_ones(c);
  }

  /// Whether a node is a broadcast that only inserts axes of extent 1.
  static constexpr bool adds_only_ones(const builder& b, const node& x) {
    if (x.op_id != primitive_of<broadcast_in_dim_p>.id) return false;
    const shape& from = b.g.nodes[std::size_t(b.g.operands[std::size_t(x.operands)])].dims;
    const extent* axes = b.g.attributes.data() + x.attributes + x.dims.rank;
    for (int j = 0, i = 0; i < x.dims.rank; ++i)
      if (j < from.rank && axes[j] == i) {
        if (from[j++] != x.dims[i]) return false;
      } else if (x.dims[i] != 1) return false;
    return true;
  }

 private:
  /// A reshape that only inserts or removes axes of extent 1 is a broadcast, which fuses.
  static constexpr value added_or_dropped_ones(const call& c) {
    const shape& from = c[0].dims();
    shape axes;
    int j = 0;
    for (int i = 0; i < from.rank; ++i) {
      while (j < c.dims.rank && c.dims[j] == 1 && from[i] != 1) ++j;
      if (j == c.dims.rank || c.dims[j] != from[i]) return {};
      axes.push_back(j++);
    }
    for (; j < c.dims.rank; ++j)
      if (c.dims[j] != 1) return {};
    return broadcast_in_dim(c[0], c.dims, axes);
  }
};

/// Axes in another order: axis i of the result is axis permutation[i] of x.
struct transpose_p : view_primitive {
  static constexpr std::string_view name = "transpose";
  static constexpr void infer(call& c) {
    c.type = c[0].type();
    for (int i = 0; i < c.attribute_count; ++i) c.dims.push_back(c[0].dims()[int(c.attribute(i))]);
  }
  static constexpr value vjp(const call& c, int, value g) {
    shape inverse = filled(c.attribute_count, 0);
    for (int i = 0; i < c.attribute_count; ++i) inverse[int(c.attribute(i))] = i;
    return transpose(g, inverse);
  }
  static constexpr value batch(const call& c, const bool*, extent) {
    return transpose(c[0], insert(shifted(c.list(0, c.attribute_count)), 0, 0));
  }
  static constexpr value simplify(const call& c) {
    if (c.list(0, c.attribute_count) == axes_from(0, c.attribute_count)) return c[0];
    if (is_constant(c[0])) return constant_from_bits(*c.b, c.type, c.dims, c[0].get().bits);
    const node& x = c[0].get();
    if (x.op_id == primitive_of<transpose_p>.id) {
      shape through;
      for (int i = 0; i < c.attribute_count; ++i) through.push_back(c.b->g.attribute(c[0].id, int(c.attribute(i))));
      return transpose({c.b, c.b->g.operand(c[0].id, 0)}, through);
    }
    return {};
  }
  static constexpr buffer_access view(const call& c, const buffer_access& in) {
    buffer_access out{in.offset, {}};
    for (int i = 0; i < c.attribute_count; ++i) out.strides.push_back(in.strides[int(c.attribute(i))]);
    return out;
  }
};

/// Along each axis `size` elements from `start` on, `stride` apart. Attributes: starts, sizes, strides.
struct slice_p : view_primitive {
  static constexpr std::string_view name = "slice";
  static constexpr shape part(const call& c, int k) { return c.list(k * (c.attribute_count / 3), c.attribute_count / 3); }
  static constexpr void infer(call& c) {
    c.type = c[0].type();
    c.dims = part(c, 1);
    for (int i = 0; i < c.dims.rank; ++i) {
      const extent n = c[0].dims()[i], start = part(c, 0)[i], size = c.dims[i], stride = part(c, 2)[i];
      if (is_symbol(size) || is_symbol(start)) continue;
      if (is_symbol(n) && start >= 0 && size >= 0 && stride > 0) {
        c.b->symbols.require_at_least("slice", n, size > 0 ? start + (size - 1) * stride + 1 : start);
        continue;
      }
      if (start < 0 || size < 0 || stride < 1 || (size > 0 && start + (size - 1) * stride >= n))
        return c.b->fail(message{} << "slice: " << size << " elements from " << start << ", " << stride
                                   << " apart, do not lie in axis " << i << " of " << c[0].dims());
    }
  }
  static constexpr value vjp(const call& c, int, value g) {
    shape high, interior;
    symbol_table& s = c.b->symbols;
    for (int i = 0; i < c.dims.rank; ++i) {
      const extent n = c[0].dims()[i], start = part(c, 0)[i], size = c.dims[i], stride = part(c, 2)[i];
      const extent span = stride == 1 || size == 0 ? size : s.combine(symbol::sum, s.combine(symbol::product, s.combine(symbol::difference, size, 1), stride), 1);
      high.push_back(s.combine(symbol::difference, s.combine(symbol::difference, n, start), span));
      interior.push_back(stride - 1);
    }
    return pad(g, constant(*c.b, g.type(), {}, 0), part(c, 0), high, interior);
  }
  static constexpr value batch(const call& c, const bool*, extent size) {
    return slice(c[0], insert(part(c, 0), 0, 0), insert(part(c, 1), 0, size), insert(part(c, 2), 0, 1));
  }
  static constexpr value simplify(const call& c) {
    if (c.dims == c[0].dims() && part(c, 2) == filled(c.dims.rank, 1)) return c[0];
    if (is_constant(c[0])) return constant_from_bits(*c.b, c.type, c.dims, c[0].get().bits);
    return {};
  }
  static constexpr buffer_access view(const call& c, const buffer_access& in) {
    buffer_access out = in;
    symbol_table& s = c.b->symbols;
    for (int i = 0; i < c.dims.rank; ++i) {
      out.offset = s.combine(symbol::sum, out.offset, s.combine(symbol::product, part(c, 0)[i], in.strides[i]));
      out.strides[i] = s.combine(symbol::product, part(c, 2)[i], in.strides[i]);
    }
    return out;
  }
};

/// The order of elements reversed along some axes. Attributes: the axes.
struct reverse_p : view_primitive {
  static constexpr std::string_view name = "reverse";
  static constexpr void infer(call& c) {
    c.type = c[0].type();
    c.dims = c[0].dims();
  }
  static constexpr value vjp(const call& c, int, value g) { return emit_again(c, &g); }
  static constexpr value batch(const call& c, const bool*, extent) {
    return emit<reverse_p>({c[0]}, shifted(c.list(0, c.attribute_count)));
  }
  static constexpr value simplify(const call& c) {
    if (c.attribute_count == 0) return c[0];
    return is_constant(c[0]) ? c[0] : value{};
  }
  static constexpr buffer_access view(const call& c, const buffer_access& in) {
    buffer_access out = in;
    symbol_table& s = c.b->symbols;
    for (int k = 0; k < c.attribute_count; ++k) {
      const int i = int(c.attribute(k));
      const extent last = s.combine(symbol::difference, c.dims[i], 1);
      out.offset = s.combine(symbol::sum, out.offset, s.combine(symbol::product, last, in.strides[i]));
      out.strides[i] = s.combine(symbol::difference, 0, in.strides[i]);
    }
    return out;
  }
};

/// x, of which is known that the exchange of two groups of neighbouring axes of the same extents leaves it as it is, as a Hessian; its
/// elements are computed once each. Attributes: the first axis of the first group, how many axes each has.
struct symmetric_p : view_primitive {
  static constexpr std::string_view name = "symmetric";
  static constexpr void infer(call& c) {
    c.type = c[0].type();
    c.dims = c[0].dims();
  }
  static constexpr value vjp(const call&, int, value g) { return g; }
  static constexpr value batch(const call& c, const bool*, extent) { return emit<symmetric_p>({c[0]}, {c.attribute(0) + 1, c.attribute(1)}); }
  static constexpr value simplify(const call& c) { return is_constant(c[0]) ? c[0] : value{}; }
  static constexpr buffer_access view(const call&, const buffer_access& in) { return in; }
};

/// x with `padding` (a scalar) around and between its elements; negative low and high cut off.
/// Attributes: low, high, interior, per axis.
struct pad_p {
  static constexpr std::string_view name = "pad";
  static constexpr bool by_parts = true;
  static constexpr role kind = role::opaque;
  static constexpr shape part(const call& c, int k) { return c.list(k * (c.attribute_count / 3), c.attribute_count / 3); }
  static constexpr void infer(call& c) {
    infer_same_dtype(c);
    symbol_table& s = c.b->symbols;
    if (c[1].rank() != 0) return c.b->fail(message{} << "pad: the padding value must be a scalar, got " << c[1].dims());
    for (int i = 0; i < c[0].rank(); ++i) {
      const extent n = c[0].dims()[i], interior = part(c, 2)[i];
      extent spread = n;
      if (interior != 0)
        spread = is_symbol(n) ? s.combine(symbol::difference, s.combine(symbol::product, n, interior + 1), interior)
                              : n + (n > 0 ? (n - 1) * interior : 0);
      c.dims.push_back(s.combine(symbol::sum, s.combine(symbol::sum, spread, part(c, 0)[i]), part(c, 1)[i]));
      if (c.dims[i] < 0)
        return c.b->fail(message{} << "pad: low " << part(c, 0)[i] << " and high " << part(c, 1)[i] << " remove more than axis "
                                   << i << " of " << c[0].dims() << " has");
    }
  }
  static constexpr bool linear(const call&, int) { return true; }
  static constexpr value jvp(const call& c, const value* tangents) {
    if (!tangents[0] && !tangents[1]) return {};
    const value t[] = {tangents[0] ? tangents[0] : zeros_like(c[0]), tangents[1] ? tangents[1] : zeros_like(c[1])};
    return emit_again(c, t);
  }
  static constexpr value vjp(const call& c, int k, value g) {
    const shape low = part(c, 0), high = part(c, 1), interior = part(c, 2);
    const int rank = c[0].rank();
    symbol_table& s = c.b->symbols;
    shape minus_low, minus_high, strides;
    for (int i = 0; i < rank; ++i) {
      minus_low.push_back(s.combine(symbol::difference, 0, low[i]));
      minus_high.push_back(s.combine(symbol::difference, 0, high[i]));
      strides.push_back(interior[i] + 1);
    }
    bool cut = false;
    for (int i = 0; i < rank; ++i) cut = cut || low[i] < 0 || high[i] < 0;
    const value zero = constant(*c.b, g.type(), {}, 0);
    value of_x = !cut ? slice(g, low, c[0].dims(), strides)
                      : slice(pad(g, zero, minus_low, minus_high, filled(rank, 0)), filled(rank, 0), c[0].dims(), strides);
    if (k == 0) return of_x;
    return reduce_sum(g, axes_from(0, rank)) - reduce_sum(of_x, axes_from(0, rank));
  }
  static constexpr value batch(const call& c, const bool* batched, extent size) {
    if (batched[1]) return batched_padding(c, batched, size);
    return pad(batched_operand(c[0], batched[0], size), c[1], insert(part(c, 0), 0, 0), insert(part(c, 1), 0, 0),
               insert(part(c, 2), 0, 0));
  }
  static constexpr void elements(element_call& e) {
    const element_array& x = e.operands[0];
    const shape low = part(e.c, 0), high = part(e.c, 1), interior = part(e.c, 2);
    e.fits = e.form.axes == x.form.axes;
    for (extent i : e.form.axes) e.fits = e.fits && low[int(i)] == 0 && high[int(i)] == 0 && interior[int(i)] == 0;
    if (!e.fits) return;
    each_element(e.c.dims, e.form.axes, [&](const shape& at) {
      extent from = 0;
      bool inside = true;
      for (int i = 0; i < e.c.dims.rank; ++i) {
        if (at[i] < 0) continue;
        const extent place = at[i] - low[i], step = interior[i] + 1;
        inside = inside && place >= 0 && place % step == 0 && place / step < x.dims[i];
        if (inside) from += place / step * x.form.strides[i];
      }
      e.parts.push_back(inside ? x.parts[from] : e.operands[1].parts[0]);
    });
  }
  static constexpr value simplify(const call& c) {
    const shape zero = filled(c[0].rank(), 0);
    return part(c, 0) == zero && part(c, 1) == zero && part(c, 2) == zero ? c[0] : value{};
  }

 private:
  /// A padding value per instance: pad with zero and choose it where a padded mask says so.
  static constexpr value batched_padding(const call& c, const bool* batched, extent size) {
    const shape low = insert(part(c, 0), 0, 0), high = insert(part(c, 1), 0, 0), interior = insert(part(c, 2), 0, 0);
    const value x = batched_operand(c[0], batched[0], size);
    const value inside = pad(constant(*c.b, dtype::boolean, x.dims(), 1), constant(*c.b, dtype::boolean, {}, 0), low, high, interior);
    const value padded = pad(x, constant(*c.b, x.type(), {}, 0), low, high, interior);
    return select(inside, padded, broadcast_in_dim(c[1], padded.dims(), {0}));
  }
};

/// The operands one after the other along an axis. Attribute: the axis.
struct concatenate_p {
  static constexpr std::string_view name = "concatenate";
  static constexpr bool by_parts = true;
  static constexpr role kind = role::opaque;
  static constexpr void infer(call& c) {
    infer_same_dtype(c);
    const int axis = int(c.attribute(0));
    c.dims = c[0].dims();
    for (int k = 1; k < c.count; ++k) {
      bool fits = c[k].rank() == c.dims.rank;
      for (int i = 0; fits && i < c.dims.rank; ++i) fits = i == axis || c.b->symbols.unify("concatenate", c.dims[i], c[k].dims()[i]);
      if (!fits)
        return c.b->fail(message{} << "concatenate: shapes " << c[0].dims() << " and " << c[k].dims() << " differ outside axis " << axis);
      c.dims[axis] = c.b->symbols.combine(symbol::sum, c.dims[axis], c[k].dims()[axis]);
    }
  }
  static constexpr bool linear(const call&, int) { return true; }
  static constexpr value jvp(const call& c, const value* tangents) {
    sequence<value> t;
    bool any = false;
    for (int k = 0; k < c.count; ++k) any = any || tangents[k];
    if (!any) return {};
    for (int k = 0; k < c.count; ++k) t.push_back(tangents[k] ? tangents[k] : zeros_like(c[k]));
    return emit_again(c, t.data());
  }
  static constexpr value vjp(const call& c, int k, value g) {
    const int axis = int(c.attribute(0));
    shape starts = filled(c.dims.rank, 0);
    for (int i = 0; i < k; ++i) starts[axis] = c.b->symbols.combine(symbol::sum, starts[axis], c[i].dims()[axis]);
    return slice(g, starts, c[k].dims(), filled(c.dims.rank, 1));
  }
  static constexpr value batch(const call& c, const bool* batched, extent size) {
    sequence<value> operands;
    for (int k = 0; k < c.count; ++k) operands.push_back(batched_operand(c[k], batched[k], size));
    const extent axis = c.attribute(0) + 1;
    call d = c;
    d.operands = operands.data(), d.attributes = &axis;
    return c.b->emit(d);
  }
  static constexpr value simplify(const call& c) { return c.count == 1 ? c[0] : value{}; }
  static constexpr void elements(element_call& e) {
    const int axis = int(e.c.attribute(0));
    e.fits = e.form.place(axis) < 0;
    for (int k = 0; k < e.c.count; ++k) e.fits = e.fits && e.operands[k].form.axes == e.form.axes;
    if (!e.fits) return;
    e.parts.assign(std::size_t(e.form.count), value());
    extent first = 0;
    for (int k = 0; k < e.c.count; ++k) {
      const element_array& x = e.operands[k];
      extent from = 0;
      element_call::each(x.dims, e.form.axes, {e.form.strides}, [&](const extent* at) { e.parts[std::size_t(first * e.form.strides[axis] + at[0])] = x.parts[from++]; });
      first += x.dims[axis];
    }
  }
};

/// Arrays put together from their elements along some axes, in row-major order. Attributes: the extents, then for each axis
/// whether the elements have it.
struct assemble_p {
  static constexpr std::string_view name = "assemble";
  static constexpr bool by_parts = true;
  static constexpr bool linear(const call&, int) { return true; }
  static constexpr role kind = role::opaque;
  static constexpr int rank(const call& c) { return c.attribute_count / 2; }
  static constexpr void infer(call& c) {
    c.type = c[0].type();
    c.dims = c.list(0, rank(c));
  }
  static constexpr value simplify(const call& c);
  static constexpr void elements(element_call& e) {
    const element_array& first = e.operands[0];
    shape kept, numbers, number_strides, strides, instances;
    for (int i = 0; i < e.c.dims.rank; ++i) {
      if (e.c.attribute(e.c.dims.rank + i) != 0) kept.push_back(i), strides.push_back(e.form.strides[i]);
      else numbers.push_back(e.c.dims[i]), number_strides.push_back(e.form.strides[i]);
    }
    for (extent a : first.form.axes) instances.push_back(kept[int(a)]);
    e.fits = instances == e.form.axes;
    if (!e.fits) return;
    e.parts.assign(std::size_t(e.form.count), value());
    const element_array* x = e.operands;
    element_call::each(numbers, {}, {number_strides}, [&](const extent* number) {
      extent from = 0;
      element_call::each(first.dims, first.form.axes, {strides}, [&](const extent* at) { e.parts[std::size_t(number[0] + at[0])] = x->parts[from++]; });
      ++x;
    });
  }
};

/// Some axes of x at one index each: the result has the others. Attributes: per axis the index, or -1 to keep the axis.
struct pick_p : view_primitive {
  static constexpr std::string_view name = "pick";
  static constexpr void infer(call& c) {
    c.type = c[0].type();
    for (int i = 0; i < c.attribute_count; ++i)
      if (c.attribute(i) < 0) c.dims.push_back(c[0].dims()[i]);
  }
  static constexpr value simplify(const call& c) {
    if (is_constant(c[0])) return constant_from_bits(*c.b, c.type, c.dims, c[0].get().bits);
    if (c[0].get().op_id != primitive_of<assemble_p>.id) return {};
    extent part = 0;
    for (int i = 0; i < c.attribute_count; ++i) {
      const bool is_kept = c.b->g.attribute(c[0].id, c.attribute_count + i) != 0;
      if (is_kept != (c.attribute(i) < 0)) return {};
      if (!is_kept) part = part * c[0].dims()[i] + c.attribute(i);
    }
    return {c.b, c.b->g.operand(c[0].id, int(part))};
  }
  static constexpr buffer_access view(const call& c, const buffer_access& in) {
    buffer_access out{in.offset, {}};
    symbol_table& s = c.b->symbols;
    for (int i = 0; i < c.attribute_count; ++i) {
      if (c.attribute(i) < 0) out.strides.push_back(in.strides[i]);
      else out.offset = s.combine(symbol::sum, out.offset, s.combine(symbol::product, c.attribute(i), in.strides[i]));
    }
    return out;
  }
};

/// The array of which the operands are the elements in order, each picked; or null.
constexpr value assemble_p::simplify(const call& c) {
  const node* const nodes = c.b->g.nodes.items;
  const int rank = c.dims.rank, whole = nodes[c.operands[0].id].op_id == primitive_of<pick_p>.id ? c.b->g.operand(c.operands[0].id, 0) : -1;
  if (whole < 0 || !(nodes[whole].dims == c.dims)) return {};
  for (int k = 0; k < c.count; ++k) {
    const int x = c.operands[k].id;
    if (nodes[x].op_id != primitive_of<pick_p>.id || c.b->g.operand(x, 0) != whole) return {};
    extent part = 0;
    for (int i = 0; i < rank; ++i) {
      const extent at = c.b->g.attribute(x, i);
      if ((c.attribute(rank + i) != 0) != (at < 0)) return {};
      if (at >= 0) part = part * c.dims[i] + at;
    }
    if (part != k) return {};
  }
  return {c.b, whole};
}

/// The elements of x along all axes but `kept`.
constexpr sequence<value> picked(value x, const shape& kept) {
  sequence<value> parts;
  each_element(x.dims(), kept, [&](const shape& where) { parts.push_back(kept.rank == where.rank ? x : emit<pick_p>({x}, where)); });
  return parts;
}
/// The array of these elements, which have the axes `kept` of it, stored element by element.
constexpr value assemble(builder& b, const sequence<value>& parts, const shape& dims, const shape& kept) {
  attribute_list list;
  list.push(dims);
  for (int i = 0; i < dims.rank; ++i) list.push(extent(kept.contains(i)));
  call c;
  c.op = &primitive_of<assemble_p>, c.operands = parts.data(), c.count = int(parts.size());
  c.attributes = list.data, c.attribute_count = list.count;
  return b.emit(c);
}
/// The same array, by a view where it is one.
constexpr value assembled(builder& b, const sequence<value>& parts, const shape& dims, const shape& kept) {
  if (kept.rank == dims.rank) return parts[0];
  bool repeats = true;
  for (const value& v : parts) repeats = repeats && v == parts[0];
  return repeats ? broadcast_in_dim(parts[0], dims, kept) : assemble(b, parts, dims, kept);
}

constexpr value broadcast_in_dim(value x, const shape& dims, const shape& axes) {
  return emit<broadcast_in_dim_p>({x}, attribute_list{}.push(dims).push(axes));
}
constexpr value reshape(value x, const shape& dims) { return emit<reshape_p>({x}, dims); }
constexpr value transpose(value x, const shape& permutation) { return emit<transpose_p>({x}, permutation); }
/// The axis whose indices node n has, or -1.
constexpr int counted_axis(const graph& g, int n) {
  const int from = g[n].op_id == primitive_of<broadcast_in_dim_p>.id ? g.operand(n, 0) : n;
  if (g[from].op_id != primitive_of<iota_p>.id) return -1;
  const int axis = int(g.attribute(from, g[from].attribute_count - 1)), to = from == n ? axis : int(g.attribute(n, g[n].dims.rank + axis));
  return g[from].dims[axis] == g[n].dims[to] ? to : -1;
}
/// x as an array of `dims` whose axis places[j] is its axis j; a scalar stays one.
constexpr value placed(value x, const shape& places, const shape& dims) {
  if (x.rank() == 0) return x;
  shape order, axes;  // the axes of x, in the order of their places
  for (int i = 0; i < dims.rank; ++i)
    for (int j = 0; j < places.rank; ++j)
      if (places[j] == i) order.push_back(j), axes.push_back(i);
  if (!(order == axes_from(0, order.rank))) x = transpose(x, order);
  return axes.rank == dims.rank ? x : broadcast_in_dim(x, dims, axes);
}
constexpr value slice(value x, const shape& starts, const shape& sizes, const shape& strides) {
  return emit<slice_p>({x}, attribute_list{}.push(starts).push(sizes).push(strides));
}
constexpr value reverse_axes(value x, const shape& axes) { return emit<reverse_p>({x}, axes); }
constexpr value pad(value x, value padding, const shape& low, const shape& high, const shape& interior) {
  return emit<pad_p>({x, padding}, attribute_list{}.push(low).push(high).push(interior));
}
constexpr value concatenate(const sequence<value>& parts, int axis) {
  builder* b = parts[0].b;
  sequence<value> adopted;
  for (value v : parts)
    if (v.b->level > b->level) b = v.b;
  for (value v : parts) adopted.push_back(b->adopt(v));
  const extent attribute = axis;
  call c;
  c.op = &primitive_of<concatenate_p>, c.operands = adopted.data(), c.count = int(adopted.size());
  c.attributes = &attribute, c.attribute_count = 1;
  return b->emit(c);
}

}  // namespace cotangent

#endif
