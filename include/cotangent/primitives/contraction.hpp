#ifndef COTANGENT_PRIMITIVES_IN_ORDER
#include <cotangent/primitives/primitives.hpp>
#elif !defined(COTANGENT_PRIMITIVES_CONTRACTION)
#define COTANGENT_PRIMITIVES_CONTRACTION
/// dot_general: sums of products over contracted axes, with batch axes. Everything from dot to einsum is this.

namespace cotangent {

/// Which axes of lhs and rhs are batch axes and which are contracted. Result axes: batch, free lhs, free rhs.
struct dot_dimensions {
  shape lhs_batch, rhs_batch, lhs_contracted, rhs_contracted;
  constexpr shape lhs_free(int rank) const { return complement(join(lhs_batch, lhs_contracted), rank); }
  constexpr shape rhs_free(int rank) const { return complement(join(rhs_batch, rhs_contracted), rank); }
  /// How many products an element sums, for the extents of the left operand.
  constexpr extent terms(const shape& lhs) const {
    extent r = 1;
    for (extent axis : lhs_contracted) r *= lhs[int(axis)];
    return r;
  }
  /// The same for an operand without the axes in `gone`.
  constexpr void remove_axes(int operand, const shape& gone) {
    (operand == 0 ? lhs_batch : rhs_batch) = renumbered(operand == 0 ? lhs_batch : rhs_batch, gone);
    (operand == 0 ? lhs_contracted : rhs_contracted) = renumbered(operand == 0 ? lhs_contracted : rhs_contracted, gone);
  }
};

constexpr value dot_general(value lhs, value rhs, const dot_dimensions& d);

/// A bilinear operation of complex numbers, from run(a, b) of their parts; and its tangent.
template <class Run> constexpr complex_value bilinear_parts(const complex_value* z, const Run& run) {
  const auto product = [&](value a, value b) { return a && b ? run(a, b) : value(); };
  const value re = product(z[0].re, z[1].re), squared = product(z[0].im, z[1].im);
  const value im = product(z[0].re, z[1].im), other = product(z[0].im, z[1].re);
  return {squared ? re - squared : re, im && other ? im + other : im ? im : other};
}
template <class Run> constexpr value bilinear_tangent(const call& c, const value* t, const Run& run) {
  const value left = t[0] ? run(t[0], c[1]) : value{}, right = t[1] ? run(c[0], t[1]) : value{};
  return left && right ? left + right : left ? left : right;
}

/// Attributes: number of batch axes, number of contracted axes, then the four lists of dot_dimensions.
struct dot_general_p {
  static constexpr std::string_view name = "dot_general";
  static constexpr bool bilinear = true;
  static constexpr role kind = role::opaque;
  static constexpr dot_dimensions dimensions(const call& c) {
    const int nb = int(c.attribute(0)), nc = int(c.attribute(1));
    return {c.list(2, nb), c.list(2 + nb, nb), c.list(2 + 2 * nb, nc), c.list(2 + 2 * nb + nc, nc)};
  }
  static constexpr void infer(call& c) {
    infer_same_dtype(c);
    const dot_dimensions d = dimensions(c);
    const shape &l = c[0].dims(), &r = c[1].dims();
    for (int i = 0; i < d.lhs_contracted.rank; ++i)
      if (!c.b->symbols.unify("dot_general", l[int(d.lhs_contracted[i])], r[int(d.rhs_contracted[i])]))
        return c.b->fail(message{} << "dot_general: contracted axes " << d.lhs_contracted[i] << " and " << d.rhs_contracted[i]
                                   << " of " << l << " and " << r << " differ");
    for (int i = 0; i < d.lhs_batch.rank; ++i) {
      if (!c.b->symbols.unify("dot_general", l[int(d.lhs_batch[i])], r[int(d.rhs_batch[i])]))
        return c.b->fail(message{} << "dot_general: batch axes of " << l << " and " << r << " differ");
      c.dims.push_back(l[int(d.lhs_batch[i])]);
    }
    for (extent i : d.lhs_free(l.rank)) c.dims.push_back(l[int(i)]);
    for (extent i : d.rhs_free(r.rank)) c.dims.push_back(r[int(i)]);
  }
  static constexpr bool linear(const call&, int) { return true; }
  static constexpr complex_value of_complex(const call& c, const complex_value* z) {
    return bilinear_parts(z, [d = dimensions(c)](value a, value b) { return dot_general(a, b, d); });
  }
  /// Sums of products; products with a structural zero are left out.
  static constexpr void elements(element_call& e) {
    const element_array &l = e.operands[0], &r = e.operands[1];
    const dot_dimensions d = dimensions(e.c);
    shape left, right, contracted, contracted_left, contracted_right;
    for (int i = 0; i < d.lhs_batch.rank; ++i) left.push_back(l.form.strides[int(d.lhs_batch[i])]), right.push_back(r.form.strides[int(d.rhs_batch[i])]);
    for (extent i : d.lhs_free(l.dims.rank)) left.push_back(l.form.strides[int(i)]), right.push_back(0);
    for (extent i : d.rhs_free(r.dims.rank)) left.push_back(0), right.push_back(r.form.strides[int(i)]);
    // A product of instances has the axes of the result's and those that are summed.
    shape over, left_places = filled(l.form.axes.rank, -1), right_places = filled(r.form.axes.rank, -1), space = e.form.instances, summed;
    const auto put = [&](const element_form& form, shape& places, extent axis, int place) {
      if (const int j = form.place(axis); j >= 0) places[j] = place;
    };
    for (int i = 0; i < d.lhs_contracted.rank; ++i) {
      const extent a = d.lhs_contracted[i], b = d.rhs_contracted[i];
      contracted.push_back(l.dims[int(a)]), contracted_left.push_back(l.form.strides[int(a)]), contracted_right.push_back(r.form.strides[int(b)]);
      if (l.form.place(a) < 0 && r.form.place(b) < 0) continue;
      put(l.form, left_places, a, space.rank), put(r.form, right_places, b, space.rank);
      over.push_back(i), summed.push_back(space.rank), space.push_back(l.dims[int(a)]);
    }
    int axis = 0;  // of the result
    for (int i = 0; i < d.lhs_batch.rank; ++i, ++axis)
      put(l.form, left_places, d.lhs_batch[i], e.form.place(axis)), put(r.form, right_places, d.rhs_batch[i], e.form.place(axis));
    for (extent i : d.lhs_free(l.dims.rank)) put(l.form, left_places, i, e.form.place(axis++));
    for (extent i : d.rhs_free(r.dims.rank)) put(r.form, right_places, i, e.form.place(axis++));
    element_call::each(e.c.dims, e.form.axes, {left, right}, [&](const extent* at) {
      value sum;
      element_call::each(contracted, over, {contracted_left, contracted_right}, [&](const extent* k) {
        value a = l.parts[at[0] + k[0]], b = r.parts[at[1] + k[1]];
        if (!a || !b) return;
        a = placed(a, left_places, space), b = placed(b, right_places, space);
        match_ranks(a, b);
        value product = mul(a, b);
        if (sum) match_ranks(sum, product), sum = sum + product;
        else sum = product;
      });
      e.parts.push_back(over.rank > 0 && sum ? reduce_sum(as_instances(sum, space), summed) : sum);
    });
  }
  static constexpr value jvp(const call& c, const value* t) {
    return bilinear_tangent(c, t, [d = dimensions(c)](value a, value b) { return dot_general(a, b, d); });
  }
  static constexpr value vjp(const call& c, int k, value g) {
    const dot_dimensions d = dimensions(c);
    const int nb = d.lhs_batch.rank, free_l = d.lhs_free(c[0].rank()).rank, free_r = d.rhs_free(c[1].rank()).rank;
    const bool left = k == 0;
    const shape& batch = left ? d.lhs_batch : d.rhs_batch;
    const shape& contracted = left ? d.lhs_contracted : d.rhs_contracted;
    const shape& other_batch = left ? d.rhs_batch : d.lhs_batch;
    const shape& other_contracted = left ? d.rhs_contracted : d.lhs_contracted;
    const value other = c[1 - k];
    const shape free = left ? d.lhs_free(c[0].rank()) : d.rhs_free(c[1].rank());
    const shape other_free = left ? d.rhs_free(c[1].rank()) : d.lhs_free(c[0].rank());
    // Contract the cotangent with the other operand over that operand's free axes. The operand that stands first
    // gives the first axes: for a product of matrices the result needs no transpose on either side.
    const shape of_cotangent = axes_from(left ? nb + free_l : nb, left ? free_r : free_l);
    value r;
    shape order;  // order[i]: which axis of the operand axis i of r is
    for (extent i : batch) order.push_back(i);
    const auto append_contracted = [&] {
      for (int axis = 0; axis < other.rank(); ++axis)
        for (int i = 0; i < other_contracted.rank; ++i)
          if (other_contracted[i] == axis) order.push_back(contracted[i]);
    };
    if (left) {
      r = dot_general(g, other, {axes_from(0, nb), other_batch, of_cotangent, other_free});
      for (extent i : free) order.push_back(i);
      append_contracted();
    } else {
      r = dot_general(other, g, {other_batch, axes_from(0, nb), other_free, of_cotangent});
      append_contracted();
      for (extent i : free) order.push_back(i);
    }
    shape inverse = filled(order.rank, 0);
    for (int i = 0; i < order.rank; ++i) inverse[int(order[i])] = i;
    return transpose(r, inverse);
  }
  static constexpr value batch(const call& c, const bool* batched, extent) {
    dot_dimensions d = dimensions(c);
    const int nb = d.lhs_batch.rank;
    if (batched[0]) d.lhs_batch = shifted(d.lhs_batch), d.lhs_contracted = shifted(d.lhs_contracted);
    if (batched[1]) d.rhs_batch = shifted(d.rhs_batch), d.rhs_contracted = shifted(d.rhs_contracted);
    if (batched[0] && batched[1]) {
      d.lhs_batch = insert(d.lhs_batch, 0, 0), d.rhs_batch = insert(d.rhs_batch, 0, 0);
      return dot_general(c[0], c[1], d);
    }
    const value r = dot_general(c[0], c[1], d);
    const int at = batched[0] ? nb : nb + d.lhs_free(c[0].rank()).rank;
    return transpose(r, insert(erase(axes_from(0, r.rank()), at), 0, at));
  }
  static constexpr value simplify(const call& c) {
    for (int k = 0; k < 2; ++k)
      if (const value r = of_numbers(c, k)) return r;
    for (int k = 0; k < 2; ++k)
      if (const value r = of_repeated(c, k)) return r;
    return {};
  }

 private:
  /// A product with an operand k that has a number for each index of the batch and nothing else: it multiplies. Null if there is more to it.
  static constexpr value of_numbers(const call& c, int k) {
    const value x = c[k], other = c[1 - k];
    const dot_dimensions d = dimensions(c);
    if (c.type == dtype::boolean || x.rank() > d.lhs_batch.rank) return {};
    const value numbers = broadcast_in_dim(transpose(x, k == 0 ? d.lhs_batch : d.rhs_batch), c.dims, axes_from(0, x.rank()));
    return numbers * transpose(other, k == 0 ? join(d.rhs_batch, d.rhs_free(other.rank())) : join(d.lhs_batch, d.lhs_free(other.rank())));
  }
  /// A product with an array that repeats itself along free or contracted axes: it is repeated along the free ones, and the
  /// other operand summed along the contracted ones. Null if operand k repeats itself along neither.
  static constexpr value of_repeated(const call& c, int k) {
    const value x = c[k], other = c[1 - k];
    value part;
    shape image;  // the axes of x along which it differs
    if (c.type == dtype::boolean) return {};
    if (is_constant(x)) part = constant_from_bits(*c.b, c.type, {}, x.get().bits);
    else if (x.get().op_id == primitive_of<broadcast_in_dim_p>.id) {
      part = {c.b, c.b->g.operand(x.id, 0)};
      for (int i = x.rank(); i < x.get().attribute_count; ++i) image.push_back(c.b->g.attribute(x.id, i));
    } else return {};
    dot_dimensions d = dimensions(c);
    const shape& contracted = k == 0 ? d.lhs_contracted : d.rhs_contracted;
    const shape& of_other = k == 0 ? d.rhs_contracted : d.lhs_contracted;
    const shape free = k == 0 ? d.lhs_free(x.rank()) : d.rhs_free(x.rank());
    shape gone, summed;
    for (int i = 0; i < contracted.rank; ++i)
      if (!image.contains(contracted[i])) gone.push_back(contracted[i]), summed.push_back(of_other[i]);
    int axis = k == 0 ? d.lhs_batch.rank : d.lhs_batch.rank + d.lhs_free(other.rank()).rank;
    shape repeated;  // axes of the result
    for (extent i : free) {
      if (!image.contains(i)) gone.push_back(i), repeated.push_back(axis);
      ++axis;
    }
    if (gone.rank == 0) return {};
    shape dims;  // of x without what is gone
    for (int i = 0; i < x.rank(); ++i)
      if (!gone.contains(i)) dims.push_back(x.dims()[i]);
    d.remove_axes(k, gone), d.remove_axes(1 - k, summed);
    const value smaller = dims.rank == part.rank() ? part : broadcast_in_dim(part, dims, renumbered(image, gone));
    const value sum = summed.rank > 0 ? reduce_sum(other, ascending(summed)) : other;
    const value r = product(k == 0 ? smaller : sum, k == 0 ? sum : smaller, d);
    return repeated.rank == 0 ? r : broadcast_in_dim(r, c.dims, complement(repeated, c.dims.rank));
  }
  /// dot_general; where nothing is contracted, a product of elements.
  static constexpr value product(value l, value r, const dot_dimensions& d) {
    if (d.lhs_contracted.rank > 0) return dot_general(l, r, d);
    shape dims, of_left = filled(l.rank(), 0), of_right = filled(r.rank(), 0);
    for (int i = 0; i < d.lhs_batch.rank; ++i) {
      of_left[int(d.lhs_batch[i])] = of_right[int(d.rhs_batch[i])] = dims.rank;
      dims.push_back(l.dims()[int(d.lhs_batch[i])]);
    }
    for (extent i : d.lhs_free(l.rank())) of_left[int(i)] = dims.rank, dims.push_back(l.dims()[int(i)]);
    for (extent i : d.rhs_free(r.rank())) of_right[int(i)] = dims.rank, dims.push_back(r.dims()[int(i)]);
    return mul(as_instances(placed(l, of_left, dims), dims), as_instances(placed(r, of_right, dims), dims));
  }
};

constexpr value dot_general(value lhs, value rhs, const dot_dimensions& d) {
  return emit<dot_general_p>({lhs, rhs}, attribute_list{}
                                             .push(d.lhs_batch.rank)
                                             .push(d.lhs_contracted.rank)
                                             .push(d.lhs_batch)
                                             .push(d.rhs_batch)
                                             .push(d.lhs_contracted)
                                             .push(d.rhs_contracted));
}

/// The sum along axes of a product, as a product of sums: the sum of a product along free axes of an operand is the product
/// of that operand's sum. Null if x is no product, behind negations and transposes, or no axis is free.
constexpr value sum_of_product(value x, const shape& axes) {
  const node& n = x.get();
  const auto operand = [&](int k) { return value{x.b, x.b->g.operand(x.id, k)}; };
  if (n.op_id == primitive_of<neg_p>.id) {
    const value sum = sum_of_product(operand(0), axes);
    return sum ? -sum : sum;
  }
  if (n.op_id == primitive_of<transpose_p>.id) {
    const reduced_transpose r(x, axes);
    const value sum = sum_of_product(r.operand, r.axes);
    return sum ? transpose(sum, r.order) : sum;
  }
  if (n.op_id != primitive_of<dot_general_p>.id) return {};
  call c;
  c.attributes = x.b->g.attributes.items + n.attributes, c.attribute_count = n.attribute_count;
  dot_dimensions d = dot_general_p::dimensions(c);
  const value lhs = operand(0), rhs = operand(1);
  shape of_lhs, of_rhs, rest;  // the free axes that are summed; those of the result that still are
  int axis = d.lhs_batch.rank;
  for (extent i : d.lhs_free(lhs.rank()))
    if (axes.contains(axis++)) of_lhs.push_back(i);
  for (extent i : d.rhs_free(rhs.rank()))
    if (axes.contains(axis++)) of_rhs.push_back(i);
  if (of_lhs.rank + of_rhs.rank == 0) return {};
  for (extent i : axes)
    if (i < d.lhs_batch.rank) rest.push_back(i);
  d.remove_axes(0, of_lhs), d.remove_axes(1, of_rhs);
  const value product = dot_general(of_lhs.rank > 0 ? reduce_sum(lhs, of_lhs) : lhs, of_rhs.rank > 0 ? reduce_sum(rhs, of_rhs) : rhs, d);
  return rest.rank > 0 ? reduce_sum(product, rest) : product;
}

/// What `x` repeats along these axes, without them: of a broadcast. Null if it repeats nothing there.
constexpr value repeated_along(value x, const shape& axes) {
  const node& n = x.get();
  if (n.op_id != primitive_of<broadcast_in_dim_p>.id) return {};
  const value from{x.b, x.b->g.operand(x.id, 0)};
  const shape kept = complement(axes, x.rank());
  shape dims, map;  // of `from` without the axes; where they go
  for (int i = 0; i < from.rank(); ++i) {
    const extent to = x.b->g.attribute(x.id, x.rank() + i);
    if (axes.contains(to)) {
      if (from.dims()[i] != 1) return {};
      continue;
    }
    dims.push_back(from.dims()[i]);
    for (int k = 0; k < kept.rank; ++k)
      if (kept[k] == to) map.push_back(k);
  }
  return broadcast_in_dim(reshape(from, dims), extents_along(x.dims(), kept), map);
}
/// A product or quotient taken apart: the factors that do not change along some axes, without these, and the others, of which at least
/// one must be there.
struct scaled_term {
  sequence<value> factors;
  value rest;
  bool negative = false;

  constexpr scaled_term(value x, const shape& axes) : axes_(axes) { take(x, 4); }
  /// The sum along the axes, which need not wait for the factors. Null if there are none.
  constexpr value sum() const {
    if (factors.size() == 0 || !rest) return {};
    value r = reduce_sum(rest, axes_);
    for (const value& f : factors) r = f * r;  // one by one: the square of a small one could be zero
    return negative ? -r : r;
  }

 private:
  const shape& axes_;

  static constexpr bool is(value x, std::uint64_t op) { return x.get().op_id == op; }
  static constexpr value operand(value x, int k) { return {x.b, x.b->g.operand(x.id, k)}; }
  constexpr void take(value x, int depth) {
    if (const value f = repeated_along(x, axes_)) factors.push_back(f);
    else if (is(x, primitive_of<neg_p>.id)) negative = !negative, take(operand(x, 0), depth);
    else if (depth > 0 && is(x, primitive_of<mul_p>.id)) take(operand(x, 0), depth - 1), take(operand(x, 1), depth - 1);
    else if (const value divisor = is(x, primitive_of<div_p>.id) ? repeated_along(operand(x, 1), axes_) : value{}; depth > 0 && divisor) {
      factors.push_back(1.0 / divisor);
      take(operand(x, 0), depth - 1);
    } else if (!is_constant(x, 1)) rest = rest ? rest * x : x;
  }
};
/// Whether a node of one of these kinds is among what x is made of, by at most `depth` operations.
constexpr bool is_made_of(const graph& g, int x, role first, role second, int depth) {
  const node& n = g.nodes.items[x];
  if (n.is_input()) return false;
  if (n.op->kind == first || n.op->kind == second) return true;
  for (int k = 0; k < n.operand_count && depth > 0; ++k)
    if (is_made_of(g, g.operand(x, k), first, second, depth - 1)) return true;
  return false;
}
/// Whether the factor or divisor of a product or quotient is repeated, and made of a reduction: without making anything, as most are not.
constexpr bool has_reduced_factor(const graph& g, int x, int depth = 4) {
  const node& n = g.nodes.items[x];
  if (n.op_id == primitive_of<broadcast_in_dim_p>.id) return is_made_of(g, g.operand(x, 0), role::reduction, role::reduction, 3);
  const bool product = n.op_id == primitive_of<mul_p>.id || n.op_id == primitive_of<div_p>.id || n.op_id == primitive_of<neg_p>.id;
  for (int k = 0; k < n.operand_count && product && depth > 0; ++k)
    if (has_reduced_factor(g, g.operand(x, k), depth - 1)) return true;
  return false;
}

/// The sum along axes of terms, each the product of a factor that does not change there and others, as a sum of the factors times
/// sums: the sums need not wait for the factors. Null if x is no sum of such terms, at most 2^depth; numbers are no factors. What is added to a
/// term without a factor stays together with it: the difference may be small.
constexpr value sum_of_scaled(value x, const shape& axes, int depth) {
  if (depth == 0) return {};
  const std::uint64_t op_id = x.get().op_id;  // no reference: nodes that are added move the others
  const auto operand = [&](int k) { return value{x.b, x.b->g.operand(x.id, k)}; };
  const auto term = [&](value t) {
    if (t.get().op_id == primitive_of<mul_p>.id)
      for (int k = 0; k < 2; ++k)
        if (const value factor = repeated_along({t.b, t.b->g.operand(t.id, k)}, axes)) return factor * reduce_sum({t.b, t.b->g.operand(t.id, 1 - k)}, axes);
    return sum_of_scaled(t, axes, depth - 1);
  };
  if (op_id == primitive_of<neg_p>.id) {
    const value sum = sum_of_scaled(operand(0), axes, depth - 1);
    return sum ? -sum : sum;
  }
  // One such term alone, if the factor is itself made of what rows are reduced to, and the sum waits for no other step, as a product, anyway.
  if ((op_id == primitive_of<mul_p>.id || op_id == primitive_of<div_p>.id) && is_floating(x.type())) {
    if (x.b->of_elements || axes.rank == x.rank() || !has_reduced_factor(x.b->g, x.id)) return {};
    const scaled_term t(x, axes);
    return t.rest && !is_made_of(x.b->g, t.rest.id, role::opaque, role::element, 2) ? t.sum() : value{};
  }
  if (op_id != primitive_of<add_p>.id && op_id != primitive_of<sub_p>.id) return {};
  const value left = term(operand(0)), right = left ? term(operand(1)) : value{};
  if (!right) return {};
  return op_id == primitive_of<add_p>.id ? left + right : left - right;
}

}  // namespace cotangent

#endif
