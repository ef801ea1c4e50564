#pragma once
/// Rewrites into the forms that kernels and libraries have: matrix products as gemm, rolls and pads as windows, and
/// multiply-adds as fma, so that neither speed nor bits depend on the compiler's contraction of a * b + c.

#include <cotangent/compiler/conditions.hpp>
#include <cotangent/compiler/numbers.hpp>
#include <cotangent/compiler/parts.hpp>
#include <cotangent/compiler/short_rows.hpp>
#include <cotangent/compiler/triangles.hpp>
#include <cotangent/compiler/views.hpp>
#include <cotangent/compiler/windows.hpp>
#include <cotangent/compiler/zero_scatters.hpp>

namespace cotangent {

/// The larger of c and x for a c that is not NaN: one instruction, and NaN where x is.
struct max_with_number_p : pointwise {
  static constexpr std::string_view name = "max_with_number";
  COTANGENT_LANES template <class V> static COTANGENT_INLINE V lane(V c, V x) { return greater(c, x); }
};
/// The smaller of c and x for a c that is not NaN.
struct min_with_number_p : pointwise {
  static constexpr std::string_view name = "min_with_number";
  COTANGENT_LANES template <class V> static COTANGENT_INLINE V lane(V c, V x) { return lesser(c, x); }
};

/// x, computed for one product alone, whose number the attribute is.
struct made_for_product_p : pointwise {
  static constexpr std::string_view name = "made_for_product";
  COTANGENT_LANES template <class V> static COTANGENT_INLINE V lane(V x) { return x; }
};

/// Batched matrix product: the result is [batch, rows, columns]. Attributes: for lhs the axes of (batch, row,
/// contracted), for rhs those of (batch, contracted, column); -1 if the operand has no such axis. Then, if there are any, the
/// triangles of lhs, rhs and the result; and then a 1 if the products are added to what is in the result's memory (chunks_p).
struct gemm_p {
  static constexpr std::string_view name = "gemm";
  static constexpr role kind = role::opaque;
  static constexpr extent extent_of(const call& c, int operand, int attribute) {
    const extent axis = c.attribute(attribute);
    return axis < 0 ? 1 : c[operand].dims()[int(axis)];
  }
  static constexpr void infer(call& c) {
    c.type = c[0].type();
    c.dims = {extent_of(c, 0, 0), extent_of(c, 0, 1), extent_of(c, 1, 5)};
  }
  static constexpr product_triangles triangles(const extent* attributes, int count) {
    if (count < 9) return {};
    return {matrix_part(attributes[6]), matrix_part(attributes[7]), matrix_part(attributes[8])};
  }
  static constexpr bool adds(const extent* attributes, int count) { return count > 9 && attributes[9] != 0; }
  /// `axes`: the six. `add`: to what is in the result's memory.
  static constexpr value made(value lhs, value rhs, const shape& axes, const product_triangles& t, bool add = false) {
    attribute_list attributes;
    attributes.push(axes);
    if (t.any() || add) attributes.push(extent(t.a)).push(extent(t.b)).push(extent(t.c));
    if (add) attributes.push(1);
    return emit<gemm_p>({lhs, rhs}, attributes);
  }
  /// The part of its multiplications and additions that is done, about.
  static constexpr double share(const extent* attributes, int count) { return triangles(attributes, count).any() ? 0.5 : 1; }
};

/// The axes of one operand of a product by what they do.
struct product_axes {
  shape batch, free, contracted;
};

/// Whether the axes are consecutive and ascending.
constexpr bool consecutive(const shape& axes) {
  for (int i = 1; i < axes.rank; ++i)
    if (axes[i] != axes[i - 1] + 1) return false;
  return true;
}

/// An operand with each kind of axis merged into one (at most), and where each kind is: batch, free, contracted.
struct merged_operand {
  value v;
  extent where[3] = {-1, -1, -1};
};
constexpr merged_operand merge_axes(value v, product_axes a) {
  // A transpose in front is absorbed when it does not reorder several free axes.
  const node& x = v.get();
  if (x.op_id == primitive_of<transpose_p>.id && a.free.rank <= 1) {
    shape p;
    for (int i = 0; i < v.rank(); ++i) p.push_back(v.b->g.attribute(v.id, i));
    for (shape* list : {&a.batch, &a.free, &a.contracted})
      for (int i = 0; i < list->rank; ++i) (*list)[i] = p[int((*list)[i])];
    v = {v.b, v.b->g.operand(v.id, 0)};
  }
  const bool last_is_batch = a.batch.rank > 0 && a.batch[a.batch.rank - 1] == v.rank() - 1 && v.dims()[v.rank() - 1] != 1;
  if (!consecutive(a.batch) || !consecutive(a.free) || !consecutive(a.contracted) || last_is_batch) {
    v = transpose(v, join(join(a.batch, a.free), a.contracted));
    const int nb = a.batch.rank, nf = a.free.rank;
    a = {axes_from(0, nb), axes_from(nb, nf), axes_from(nb + nf, a.contracted.rank)};
  }
  merged_operand m;
  const shape* kinds[] = {&a.batch, &a.free, &a.contracted};
  shape dims;
  for (int axis = 0; axis < v.rank();) {
    for (int k = 0; k < 3; ++k) {
      if (kinds[k]->rank == 0 || (*kinds[k])[0] != axis) continue;
      extent e = 1;
      for (extent i : *kinds[k]) e = v.b->symbols.combine(symbol::product, e, v.dims()[int(i)]);
      m.where[k] = dims.rank;
      dims.push_back(e);
      axis += kinds[k]->rank;
      break;
    }
  }
  m.v = reshape(v, dims);
  return m;
}

constexpr value as_gemm(const call& c, const product_triangles& t) {
  const dot_dimensions d = dot_general_p::dimensions(c);
  const merged_operand l = merge_axes(c[0], {d.lhs_batch, d.lhs_free(c[0].rank()), d.lhs_contracted});
  // The contracted axes of rhs must be in the order of lhs's.
  const merged_operand r = merge_axes(c[1], {d.rhs_batch, d.rhs_free(c[1].rank()), d.rhs_contracted});
  return reshape(gemm_p::made(l.v, r.v, {l.where[0], l.where[1], l.where[2], r.where[0], r.where[2], r.where[1]}, t), c.dims);
}

/// Sorts the contracted and batch axes by lhs, so that merging them keeps lhs in place where it can.
constexpr value sorted_dot(const call& c, const product_triangles& t) {
  dot_dimensions d = dot_general_p::dimensions(c);
  const auto sort = [](shape& key, shape& other) {
    for (int i = 1; i < key.rank; ++i)
      for (int j = i; j > 0 && key[j] < key[j - 1]; --j) {
        const extent a = key[j], b = other[j];
        key[j] = key[j - 1], key[j - 1] = a, other[j] = other[j - 1], other[j - 1] = b;
      }
  };
  sort(d.lhs_contracted, d.rhs_contracted);
  attribute_list l;
  l.push(d.lhs_batch.rank).push(d.lhs_contracted.rank).push(d.lhs_batch).push(d.rhs_batch).push(d.lhs_contracted).push(d.rhs_contracted);
  call e = c;
  e.attributes = l.data, e.attribute_count = l.count;
  return as_gemm(e, t);
}

/// Whether an array is computed of indices alone, by at most so many operations.
constexpr bool is_of_indices(const value& x, int& operations) {
  const node& n = x.get();
  if (n.is_input() || --operations < 0) return false;
  if (n.op_id == primitive_of<iota_p>.id || n.op_id == primitive_of<constant_p>.id) return true;
  bool all = n.op->kind == role::pointwise || n.op_id == primitive_of<broadcast_in_dim_p>.id;
  for (int k = 0; k < n.operand_count && all; ++k) all = is_of_indices({x.b, x.b->g.operand(x.id, k)}, operations);
  return all;
}
/// Whether it is known where an array is zero, as packets say of bands (packet_program).
constexpr bool has_known_zeros(const value& x) {
  int operations = 32;
  const auto operand = [&](int k) { return value{x.b, x.b->g.operand(x.id, k)}; };
  return x.get().op_id == primitive_of<select_p>.id && is_constant(operand(2)) && constant_value(operand(2)) == 0 && is_of_indices(operand(0), operations);
}
/// Whether each element of a product is a sum of so few products that a kernel, which can fuse with what is around it, is better
/// than a matrix product: batches, and all pairs of rows, or of a few rows with many.
constexpr bool sums_few_products(const call& c, bool of_packets = false) {
  constexpr extent few_terms = 8, few_terms_of_pairs = 4, wide = 8;
  const dot_dimensions d = dot_general_p::dimensions(c);
  extent terms = 1;
  for (extent axis : d.lhs_contracted) {
    const extent n = c[0].dims()[int(axis)];
    if (is_symbol(n)) return false;
    terms *= n;
  }
  if (of_packets) return terms <= few_terms && (terms == 1 || (!has_known_zeros(c[0]) && !has_known_zeros(c[1])));
  if (terms == 0 || terms > (d.lhs_batch.rank > 0 ? few_terms : few_terms_of_pairs)) return false;
  extent right = 1;
  for (extent axis : d.rhs_free(c[1].rank())) right = is_symbol(c[1].dims()[int(axis)]) ? wide : right * c[1].dims()[int(axis)];
  return right >= wide;
}
/// Whether a product is one sum of products for each index of its batch: what kernels do with rows.
constexpr bool sums_along_rows(const call& c) {
  const dot_dimensions d = dot_general_p::dimensions(c);
  return d.lhs_contracted.rank > 0 && d.lhs_free(c[0].rank()).rank == 0 && d.rhs_free(c[1].rank()).rank == 0;
}
/// A product whose operand k has no free axes, as sums of the other operand's elements, in that one's order.
constexpr value sum_in_order(const call& c, const dot_dimensions& d, int k) {
  const value matrices = c[1 - k], vectors = c[k];
  const shape &batch = k == 0 ? d.rhs_batch : d.lhs_batch, &contracted = k == 0 ? d.rhs_contracted : d.lhs_contracted;
  const shape &own_batch = k == 0 ? d.lhs_batch : d.rhs_batch, &own_contracted = k == 0 ? d.lhs_contracted : d.rhs_contracted;
  shape places = filled(vectors.rank(), 0), summed, order;  // of the result's axes, which of those that are not summed
  for (int i = 0; i < batch.rank; ++i) places[int(own_batch[i])] = batch[i];
  for (int i = 0; i < contracted.rank; ++i) places[int(own_contracted[i])] = contracted[i];
  for (int i = 0; i < matrices.rank(); ++i)
    if (contracted.contains(i)) summed.push_back(i);
  for (extent axis : join(batch, k == 0 ? d.rhs_free(matrices.rank()) : d.lhs_free(matrices.rank()))) {
    int before = 0;
    for (int other = 0; other < axis; ++other) before += !contracted.contains(other);
    order.push_back(before);
  }
  return transpose(reduce_sum(mul(matrices, placed(vectors, places, matrices.dims())), summed), order);
}
/// Such a product whose sums do not go along the last axes of the left operand. Else null.
constexpr value sum_across_rows(const call& c) {
  const dot_dimensions d = dot_general_p::dimensions(c);
  if (d.lhs_batch.rank == 0 || d.lhs_contracted.contains(c[0].rank() - 1)) return {};
  return sum_in_order(c, d, 1);
}
/// A product of vectors with matrices whose batch axes are apart from each other, as those of a cache [batch, time, heads, size]: the matrices
/// are read where they are. Else null.
constexpr value sum_of_apart(const call& c) {
  const dot_dimensions d = dot_general_p::dimensions(c);
  for (int k = 0; k < 2; ++k) {
    const shape free = k == 0 ? d.lhs_free(c[0].rank()) : d.rhs_free(c[1].rank()), &batch = k == 0 ? d.rhs_batch : d.lhs_batch;
    bool apart = false;
    for (int i = 1; i < batch.rank; ++i) apart = apart || batch[i] != batch[i - 1] + 1;
    if (free.rank == 0 && apart && is_floating(c.type)) return sum_in_order(c, d, k);
  }
  return {};
}
/// Where the axes of a product's operand are in its result; the contracted ones, in their order, behind all of them.
constexpr shape places_in_product(const call& c, const dot_dimensions& d, int operand) {
  const shape &contracted = operand == 0 ? d.lhs_contracted : d.rhs_contracted, &batches = operand == 0 ? d.lhs_batch : d.rhs_batch;
  const int batch = d.lhs_batch.rank;
  int free = batch + (operand == 0 ? 0 : d.lhs_free(c[0].rank()).rank);
  shape places;
  for (int axis = 0; axis < c[operand].rank(); ++axis) {
    int place = -1;
    for (int i = 0; i < batch; ++i)
      if (batches[i] == axis) place = i;
    for (int i = 0; i < contracted.rank; ++i)
      if (contracted[i] == axis) place = c.dims.rank + i;
    places.push_back(place >= 0 ? place : free++);
  }
  return places;
}
/// Such a product as multiply-adds of its operands' slices.
constexpr value sum_of_few_products(const call& c) {
  const dot_dimensions d = dot_general_p::dimensions(c);
  shape terms;
  for (extent axis : d.lhs_contracted) terms.push_back(c[0].dims()[int(axis)]);
  const auto part = [&](int operand, const shape& at) {
    shape where, places;
    for (extent place : places_in_product(c, d, operand)) {
      const bool contracted = place >= c.dims.rank;
      where.push_back(contracted ? at[int(place) - c.dims.rank] : -1);
      if (!contracted) places.push_back(place);
    }
    return placed(where == filled(where.rank, -1) ? c[operand] : emit<pick_p>({c[operand]}, where), places, c.dims);
  };
  value sum;
  each_element(terms, {}, [&](const shape& at) {
    value a = part(0, at), b = part(1, at);
    match_ranks(a, b);  // an element of a vector is a number
    sum = sum.b ? emit<fma_p>({a, b, sum}) : mul(a, b);
  });
  return sum;
}

/// Whether x is a large array of a few operations on much smaller ones: better computed for each product than kept in memory.
constexpr bool is_made_of_smaller(value x) {
  constexpr extent large = 1 << 16, much = 8;
  constexpr int few = 4;
  if (has_symbol(x.dims()) || x.dims().size() < large) return false;
  int operations = 0;
  const auto fits = [&](value v, const auto& self) -> bool {
    const node& n = v.get();
    if (n.op_id == primitive_of<constant_p>.id) return true;
    if (n.is_input()) return false;
    if (n.op_id == primitive_of<broadcast_in_dim_p>.id) return v.b->g[v.b->g.operand(v.id, 0)].dims.size() * much <= x.dims().size();
    if (n.op->kind != role::pointwise || n.op->flops > 2 || ++operations > few) return false;
    for (int k = 0; k < n.operand_count; ++k)
      if (!self(value{v.b, v.b->g.operand(v.id, k)}, self)) return false;
    return true;
  };
  return fits(x, fits) && operations > 0;
}

/// x with its axes at `places` of an array, computed there if it is made of a few operations: as a product's factor that is repeated along
/// axes whose sums stay in registers at once.
constexpr value placed_inside(value x, const shape& places, const shape& dims, int operations = 4) {
  const auto fits = [&](value v, const auto& self) -> bool {
    const node& n = v.get();
    if (n.is_input() || n.op->kind != role::pointwise) return true;
    if (n.op->flops > 2 || --operations < 0) return false;
    for (int k = 0; k < n.operand_count; ++k)
      if (!self(value{v.b, v.b->g.operand(v.id, k)}, self)) return false;
    return true;
  };
  if (!fits(x, fits)) return placed(x, places, dims);
  const auto again = [&](value v, const auto& self) -> value {
    if (v.get().is_input() || v.get().op->kind != role::pointwise) return placed(v, places, dims);
    copied_call c(v);
    for (value& o : c.own_operands) o = self(o, self);
    c.dims = dims, c.result = {};
    return v.b->emit_inferred(c);
  };
  return again(x, again);
}
/// A product as the sums over the last axes of an array of all terms. What an operand chooses, or zero, is chosen of the terms. `order`: the
/// result's axes, if they are to be others than the product's; `own`: which operands are this product's alone.
constexpr value sum_of_all_products(const call& c, const shape& order, const bool (&own)[2]) {
  constexpr extent few = 8;
  const dot_dimensions d = dot_general_p::dimensions(c);
  const int rank = c.dims.rank;
  shape dims, to = filled(rank, 0);
  for (int i = 0; i < rank; ++i) dims.push_back(c.dims[int(order[i])]), to[int(order[i])] = i;
  for (extent axis : d.lhs_contracted) dims.push_back(c[0].dims()[int(axis)]);
  value factors[2], condition;
  for (int k = 0; k < 2; ++k) {
    shape places = places_in_product(c, d, k);
    for (int i = 0; i < places.rank; ++i)
      if (places[i] < rank) places[i] = to[int(places[i])];
    const auto operand_of = [&](int i) { return value{c.b, c.b->g.operand(c[k].id, i)}; };
    const bool chooses = !condition.b && c[k].get().op_id == primitive_of<select_p>.id && is_constant(operand_of(2)) && constant_value(operand_of(2)) == 0;
    if (chooses) condition = placed(operand_of(0), places, dims);
    extent repeats = 1;
    for (int i = 0; i < rank; ++i)
      if (!places.contains(i)) repeats *= i + 2 < rank ? few + 1 : dims[i];
    if (!chooses && own[k] && repeats <= few) factors[k] = placed_inside(c[k], places, dims);
    else factors[k] = placed(chooses ? operand_of(1) : c[k], places, dims);
  }
  value terms = mul(factors[0], factors[1]);
  if (condition.b) terms = select(condition, terms, zeros_like(terms));
  return reduce_sum(terms, axes_from(rank, d.lhs_contracted.rank));
}

/// A product whose only use is `turned`, a transpose of the product `c` that swaps the free axes of its operands: the product
/// of the operands swapped, in which nothing is transposed. Null if that is not what the transpose does.
constexpr value swapped_dot(const call& c, const call& turned, const product_triangles& t) {
  const dot_dimensions d = dot_general_p::dimensions(c);
  const int batch = d.lhs_batch.rank, left = d.lhs_free(c[0].rank()).rank, right = d.rhs_free(c[1].rank()).rank;
  for (int i = 0; i < turned.attribute_count; ++i)
    if (turned.attribute(i) != (i < batch ? i : i < batch + right ? i + left : i - right)) return {};
  attribute_list l;
  l.push(batch).push(d.lhs_contracted.rank).push(d.rhs_batch).push(d.lhs_batch).push(d.rhs_contracted).push(d.lhs_contracted);
  const value operands[] = {c[1], c[0]};
  call e = c;
  e.operands = operands, e.dims = turned.dims;
  e.attributes = l.data, e.attribute_count = l.count;
  return sorted_dot(e, t.swapped());
}

/// Whether a product is of a matrix, or of each of a batch, with its own transpose, and so large that half of it is worth a mirror.
constexpr bool is_symmetric_product(const call& c) {
  constexpr extent large = 32;
  const dot_dimensions d = dot_general_p::dimensions(c);
  const auto is_turned = [&](int k) { return c[k].get().op_id == primitive_of<transpose_p>.id; };
  const auto turned = [&](int k) { return is_turned(k) ? value{c.b, c.b->g.operand(c[k].id, 0)} : c[k]; };
  const auto axes = [&](int k, shape own) {  // of what is turned
    for (int i = 0; is_turned(k) && i < own.rank; ++i) own[i] = c.b->g.attribute(c[k].id, int(own[i]));
    return own;
  };
  const shape free = d.lhs_free(c[0].rank());
  if (!(turned(0) == turned(1)) || !is_floating(c.type) || free.rank != 1 || !(axes(0, free) == axes(1, d.rhs_free(c[1].rank())))) return false;
  if (!(axes(0, d.lhs_batch) == axes(1, d.rhs_batch)) || !(axes(0, d.lhs_contracted) == axes(1, d.rhs_contracted))) return false;
  const extent n = c[0].dims()[int(free[0])];
  extent terms = 1;
  for (extent axis : d.lhs_contracted) terms = is_symbol(c[0].dims()[int(axis)]) ? n : terms * c[0].dims()[int(axis)];
  return !is_symbol(n) && n >= large && terms >= n;
}
/// Symmetric matrices, of which x has the lower triangles.
constexpr value mirrored(value x) {
  const int row = x.rank() - 2, column = row + 1;
  const extent n = x.dims()[column];
  const value below = ge(iota(*x.b, dtype::int32, {n, n}, 0), iota(*x.b, dtype::int32, {n, n}, 1));
  return select(broadcast_in_dim(below, x.dims(), {row, column}), x, transposed_matrices(x));
}

/// An array repeated along a new last axis of few elements, as so many parts that lie side by side, or null if it is none: a kernel over the
/// array then stores vectors of it in turn, in place of rows of few.
constexpr value repeated_elements(const call& c) {
  constexpr extent few = 8;
  const int last = c.dims.rank - 1;
  if (last < 1 || is_symbol(c.dims[last]) || c.dims[last] < 2 || c.dims[last] > few) return {};
  if (!(broadcast_in_dim_p::axes(c) == axes_from(0, last)) || !(c[0].dims() == erase(c.dims, last))) return {};
  sequence<value> parts;
  for (extent k = 0; k < c.dims[last]; ++k) parts.push_back(c[0]);
  return assemble(*c.b, parts, c.dims, axes_from(0, last));
}

/// A pad that cuts off becomes a slice and a pad that does not.
constexpr value without_negative_pad(const call& c) {
  const shape low = pad_p::part(c, 0), high = pad_p::part(c, 1), interior = pad_p::part(c, 2);
  shape keep_low, keep_high, start, size = c.dims;
  bool cuts = false;
  for (int i = 0; i < low.rank; ++i) {
    cuts = cuts || low[i] < 0 || high[i] < 0;
    keep_low.push_back(low[i] < 0 ? 0 : low[i]), keep_high.push_back(high[i] < 0 ? 0 : high[i]);
    start.push_back(low[i] < 0 ? -low[i] : 0);
  }
  if (!cuts) return {};
  return slice(pad(c[0], c[1], keep_low, keep_high, interior), start, size, filled(low.rank, 1));
}

/// Arrays side by side along an axis, that zeros are padded to.
struct zero_pad {
  sequence<value> parts;
  int axis = -1;  // of several parts
  shape low, high;

  constexpr extent end(int i, const shape& dims) const { return dims[i] - high[i]; }
};
constexpr bool is_zero_pad(value v, zero_pad& p) {
  if (v.get().op_id != primitive_of<pad_p>.id || has_symbol(v.dims()) || !is_constant({v.b, v.b->g.operand(v.id, 1)}, 0)) return false;
  const auto attribute = [&](int part, int axis) { return v.b->g.attribute(v.id, part * v.rank() + axis); };
  p.parts = {value{v.b, v.b->g.operand(v.id, 0)}};
  for (int i = 0; i < v.rank(); ++i) {
    p.low.push_back(attribute(0, i)), p.high.push_back(attribute(1, i));
    if (attribute(2, i) != 0 || p.low[i] < 0 || p.high[i] < 0) return false;
  }
  return true;
}
/// Puts b behind a if that is where it begins, and they differ in nothing else.
constexpr bool append(zero_pad& a, const zero_pad& b, const shape& dims) {
  int axis = -1;
  for (int i = 0; i < dims.rank; ++i) {
    if (a.low[i] == b.low[i] && a.high[i] == b.high[i]) continue;
    if (axis >= 0 || b.low[i] != a.end(i, dims)) return false;
    axis = i;
  }
  if (axis < 0 || (a.axis >= 0 && a.axis != axis) || (b.axis >= 0 && b.axis != axis)) return false;
  for (value v : b.parts) a.parts.push_back(v);
  a.axis = axis, a.high[axis] = b.high[axis];
  return true;
}
/// The sum of terms of which several are arrays that zeros are padded to, as the cotangents of an array's parts: those of the same
/// part added, those of neighbouring parts side by side. Null if there are no such terms.
constexpr value sum_of_parts(const sequence<value>& terms) {
  sequence<zero_pad> pads;
  value sum;
  const auto add = [&](value v) { sum = sum ? sum + v : v; };
  std::size_t found = 0;
  for (value v : terms) {
    zero_pad p;
    if (!is_zero_pad(v, p)) {
      add(v);
      continue;
    }
    ++found;
    bool same = false;
    for (zero_pad& q : pads)
      if (q.low == p.low && q.high == p.high) q.parts[0] = q.parts[0] + p.parts[0], same = true;
    if (!same) pads.push_back(p);
  }
  if (found < 2) return {};
  const shape dims = terms[0].dims(), none = filled(dims.rank, 0);
  for (std::size_t i = 0; i < pads.size(); ++i)
    for (std::size_t k = 0; k < pads.size(); ++k)
      if (i != k && append(pads[i], pads[k], dims)) {
        pads[k] = pads.back();
        pads.count -= 1;
        i = 0, k = std::size_t(-1);  // from the begin
      }
  for (const zero_pad& p : pads) {
    const value whole = p.axis < 0 ? p.parts[0] : concatenate(p.parts, p.axis);
    add(p.low == none && p.high == none ? whole : pad(whole, constant(*whole.b, whole.type(), {}, 0), p.low, p.high, none));
  }
  return sum;
}

/// The number of leading axes on which the elements of x depend, as far as a look at `most` nodes shows.
constexpr int dependent_axes(value x, int& most) {
  const node& n = x.get();
  if (--most < 0) return n.dims.rank;
  if (n.op_id == primitive_of<constant_p>.id) return 0;
  if (n.op_id == primitive_of<iota_p>.id) return 1 + int(x.b->g.attribute(x.id, n.attribute_count - 1));
  if (n.op_id == primitive_of<broadcast_in_dim_p>.id) return n.attribute_count == n.dims.rank ? 0 : 1 + int(x.b->g.attribute(x.id, n.attribute_count - 1));
  if (n.is_input() || n.op->kind != role::pointwise) return n.dims.rank;
  int axes = 0;
  for (int k = 0; k < n.operand_count && axes < n.dims.rank; ++k)
    if (const int own = dependent_axes({x.b, x.b->g.operand(x.id, k)}, most); own > axes) axes = own;
  return axes;
}
/// x without the axes from `rank` on, on which it does not depend.
constexpr value without_trailing_axes(value x, int rank) {
  if (rank == x.rank()) return x;
  copied_call c(x);
  shape dims;
  for (int i = 0; i < rank; ++i) dims.push_back(c.dims[i]);
  if (c.op->id == primitive_of<constant_p>.id) return constant_from_bits(*x.b, c.type, dims, c.bits);
  if (c.op->id == primitive_of<iota_p>.id) return iota(*x.b, c.type, dims, int(c.attribute(c.attribute_count - 1)));
  if (c.op->id == primitive_of<broadcast_in_dim_p>.id) return broadcast_in_dim(c[0], dims, broadcast_in_dim_p::axes(c));
  for (value& v : c.own_operands) v = without_trailing_axes(v, rank);
  c.dims = dims;
  return x.b->emit_inferred(c);
}
/// A scatter whose indices have only the leading axes on which they depend.
constexpr value scatter_of_blocks(const call& c) {
  sequence<value> operands{c[0], c[1]};
  for (int k = 2; k < c.count; ++k) {
    int most = 50;
    operands.push_back(without_trailing_axes(c[k], dependent_axes(c[k], most)));
  }
  call d = c;
  d.operands = operands.data();
  return c.b->emit_inferred(d);
}

/// Unit arrays as a comparison of indices.
constexpr value compared_indices(const call& c) {
  const extent n = c.dims[0];
  const value eye = eq(iota(*c.b, dtype::int32, {n, n}, 0), iota(*c.b, dtype::int32, {n, n}, 1));
  return reshape(convert(eye, c.type), c.dims);
}

/// x * c for a number c if that is a number, or a choice between numbers; otherwise null.
constexpr value scaled(value x, value c) {
  if (is_constant(x)) {
    if (!is_calculable(constant_value(x)) || !is_calculable(constant_value(c))) return {};
    const double product = constant_value(x) * constant_value(c);
    const double least = x.type() == dtype::float32 ? 0x1p-126 : 0x1p-1022, greatest = x.type() == dtype::float32 ? 0x1p127 : 0x1p1023;
    const bool is_safe = constant_value(x) == 0 || (product >= least && product <= greatest) || (-product >= least && -product <= greatest);
    return is_safe ? mul(x, c) : value();
  }
  if (x.get().op_id != primitive_of<select_p>.id) return {};
  const auto operand = [&](int k) { return value{x.b, x.b->g.operand(x.id, k)}; };
  const value a = scaled(operand(1), c), b = a.b ? scaled(operand(2), c) : value();
  return b.b ? select(operand(0), a, b) : value();
}

/// x * y * c as x * (y c) or (x c) * y; null if neither factor takes up the number. One rounding less, as in XLA.
constexpr value scaled_product(value product, value c) {
  for (int k = 0; k < 2; ++k) {
    const value x = {product.b, product.b->g.operand(product.id, k)}, y = {product.b, product.b->g.operand(product.id, 1 - k)};
    if (const value scale = scaled(x, c); scale.b) return mul(y, scale);
  }
  return {};
}

/// A value as a number of moderate size times another.
struct factored_value {
  value of;
  double number = 1;
};
constexpr factored_value factored(value x) {
  const auto operand = [&](int k) { return value{x.b, x.b->g.operand(x.id, k)}; };
  if (x.get().op_id == primitive_of<neg_p>.id) return {operand(0), -1};
  if (x.get().op_id == primitive_of<mul_p>.id)
    for (int k = 0; k < 2; ++k)
      if (is_constant(operand(k)) && left_numbers::is_moderate(constant_value(operand(k)))) return {operand(1 - k), constant_value(operand(k))};
  return {x};
}

/// 1 / c for a number c, or null if one of them is no normal number.
constexpr value inverse_of(value c) {
  const double least = c.type() == dtype::float32 ? double(std::numeric_limits<float>::min()) : std::numeric_limits<double>::min();
  const double number = constant_value(c);
  if (!(number >= least || number <= -least)) return {};
  const double inverse = 1 / number;  // is finite, as 1 / least is
  return inverse >= least || inverse <= -least ? constant(*c.b, c.type(), c.dims(), inverse) : value();
}

/// Whether n is another number where that exists, and NaN elsewhere, as the results of factorizations are.
constexpr bool is_checked(const graph& g, int n) {
  return g[n].op_id == primitive_of<select_p>.id && is_floating(g[n].type) && is_constant(g[g.operand(n, 2)], std::numeric_limits<double>::quiet_NaN());
}

/// Per node, whether the graph has its reciprocal, or that of what it is where that exists.
constexpr flag_list with_reciprocals(const graph& g) {
  flag_list with;
  with.assign(g.nodes.size(), false);
  bool any = false;
  for (int n = 0; n < g.size(); ++n)
    if (g.nodes.items[n].op_id == primitive_of<div_p>.id && is_floating(g[n].type) && is_constant(g[g.operand(n, 0)], 1)) {
      any = true;
      with[std::size_t(g.operand(n, 1))] = true;
    }
  for (int n = 0; n < g.size() && any; ++n)
    if (is_checked(g, n) && with.items[g.operand(n, 1)]) with.items[n] = true;
  return with;
}

/// Per node, whether the graph has its square.
constexpr flag_list with_squares(const graph& g) {
  flag_list with;
  with.assign(g.nodes.size(), false);
  for (int n = 0; n < g.size(); ++n)
    if (g.nodes.items[n].op_id == primitive_of<mul_p>.id && g.operand(n, 0) == g.operand(n, 1)) with.items[g.operand(n, 0)] = true;
  return with;
}

/// Per node, whether kernels alone use it: pointwise operations, reductions, windows into it and slices. Notes whether there are windows.
constexpr flag_list used_by_kernels(const graph& g, bool& has_windows) {
  flag_list by_kernels;
  by_kernels.assign(g.nodes.size(), true);
  for (int o : g.outputs) by_kernels[std::size_t(o)] = false;
  for (int n = g.size(); n-- > 0;) {
    const node& x = g.nodes.items[n];
    if (x.is_input() || x.op->kind == role::pointwise || x.op->kind == role::reduction) continue;
    const bool window = shows_window(x.op_id);
    if (window || is_window_update(x.op_id)) has_windows = true;
    if ((window || cuts_window(call_at(g, n))) && by_kernels[std::size_t(n)]) continue;
    for (int k = 0; k < x.operand_count; ++k) by_kernels.items[g.operand(n, k)] = false;
  }
  return by_kernels;
}

/// The graph in canonical form: only gemm for products, no negative pads, windows for what kernels roll or pad, numbers that
/// multiply collected, products instead of quotients by numbers, as in XLA, and by what the graph has the reciprocal of, fma where
/// a product has one use. Linear. In a body `of_packets`, kernels sum all products, parts of arrays are put together where they are
/// added up, and views of computed values are computed as such.
constexpr graph canonicalize(const graph& g, bool of_packets = false) {
  if (!g.error.empty()) return {};
  sequence<int> uses;
  uses.assign(g.nodes.size(), 0);
  for (int i : g.operands) ++uses.items[i];
  for (int o : g.outputs) ++uses.items[o];
  builder b;
  b.simplifying = true, b.inlining = false;
  replay r(g, b);
  copy_inputs(r);
  flag_list is_output;  // or what an output has the elements of
  is_output.assign(g.nodes.size(), false);
  for (int o : g.outputs) is_output.items[g[o].op_id == primitive_of<reshape_p>.id ? g.operand(o, 0) : o] = true;
  bool has_windows = false;
  const flag_list by_kernels = used_by_kernels(g, has_windows), with_reciprocal = with_reciprocals(g), with_square = with_squares(g);
  // The product n, of its own operands: what else is used by others and cheap is made for it alone.
  value own_operands[2];
  const auto product_at = [&](int n) {
    call c = r.at(n);
    for (int k = 0; k < 2; ++k) {
      own_operands[k] = c[k];
      if (uses.items[g.operand(n, k)] > 1 && is_made_of_smaller(c[k])) own_operands[k] = emit<made_for_product_p>({c[k]}, {extent(n)});
    }
    c.operands = own_operands;
    return c;
  };
  const auto sum_of_products = [&](const call& c, int n, const shape& order) {
    const bool own[2] = {uses.items[g.operand(n, 0)] == 1, uses.items[g.operand(n, 1)] == 1};
    const int zeros = has_known_zeros(c[0]) ? 0 : has_known_zeros(c[1]) ? 1 : -1;
    if (zeros < 0) return sum_of_all_products(c, order, own);
    // Where it is zero is asked once for all that it is multiplied with: its own axes come first.
    const dot_dimensions d = dot_general_p::dimensions(c);
    const int batch = d.lhs_batch.rank, left = d.lhs_free(c[0].rank()).rank, right = d.rhs_free(c[1].rank()).rank;
    const shape first = zeros == 0 ? axes_from(0, c.dims.rank) : join(join(axes_from(0, batch), axes_from(batch + left, right)), axes_from(batch, left));
    shape back = order;
    for (int i = 0; i < order.rank; ++i)
      for (int k = 0; k < first.rank; ++k)
        if (first[k] == order[i]) back[i] = k;
    return transpose(sum_of_all_products(c, first, own), back);
  };
  const triangle_finder triangles(g);
  const short_rows rows(g);
  const zero_scatters zeros(g, uses);
  shown_once once;
  if (has_windows) once.find(g, uses);
  const sequence<int> conditions = needed_conditions(g);
  left_numbers numbers(g, !of_packets);
  // Whether node n became a product that has one use; and its factors.
  const auto product_of = [&](int n) { return uses.items[n] == 1 && is_floating(g[n].type) && r.map.items[n].get().op_id == primitive_of<mul_p>.id; };
  const auto factor = [&](int n, int k) { return value{&b, b.g.operand(r.map.items[n].id, k)}; };
  // Whether node n is part of a longer sum; and the terms of the sum `root`.
  flag_list added;
  if (of_packets) added.assign(g.nodes.size(), false);
  for (int n = 0; n < g.size() && of_packets; ++n)
    for (int k = 0; g[n].op_id == primitive_of<add_p>.id && k < 2; ++k) added[std::size_t(g.operand(n, k))] = true;
  const auto is_term = [&](int n) { return uses.items[n] == 1 && added[std::size_t(n)]; };
  const auto collect = [&](int n, int root, sequence<value>& terms, const auto& self) -> void {
    if (g[n].op_id != primitive_of<add_p>.id || (n != root && !is_term(n))) return terms.push_back(r.map.items[n]);
    for (int k = 0; k < 2; ++k) self(g.operand(n, k), root, terms, self);
  };
  for (int n = 0; n < g.size(); ++n) {
    const node& at = g.nodes.items[n];
    if (at.is_input()) continue;
    if (at.op->has.several || at.op->kind == role::element) {
      r.copy(n);
      continue;
    }
    const call c = r.at(n);
    value& v = r.map.items[n];
    const std::uint64_t op = c.op->id;
    double number = numbers.of_operands(n);
    const bool collects = number != 1 || numbers.leaves(n);
    if (c.op->kind == role::pointwise) {
      if (op == primitive_of<select_p>.id && conditions.items[n] == g.operand(n, 0)) v = c[1];
      else if (op == primitive_of<neg_p>.id && (collects || numbers.leaves_sign(n))) v = c[0], number = -number;
      else if (op == primitive_of<add_p>.id || op == primitive_of<sub_p>.id) {
        const bool subtracts = op == primitive_of<sub_p>.id;
        if (const int k = subtracts ? -1 : zeros.operand_in(n); k >= 0) {
          v = numbers.is_negative(g.operand(n, 1 - k)) ? -c[1 - k] : c[1 - k];
          zeros.each(g.operand(n, k), [&](int s) { v = scatter_into(r.map.items[s], v); });
        }
        if (of_packets && !subtracts && !v.b && !is_term(n)) {
          sequence<value> terms;
          collect(n, n, terms, collect);
          v = sum_of_parts(terms);
        }
        if (v.b) continue;
        const bool minus[2] = {numbers.is_negative(g.operand(n, 0)), subtracts != numbers.is_negative(g.operand(n, 1))};
        const int first = minus[0] && !minus[1];  // the operand that is not subtracted
        const int x = g.operand(n, first), y = g.operand(n, 1 - first);
        const value left = c[first], right = c[1 - first];
        if (minus[0] != minus[1]) {
          number = 1;
          if (product_of(x)) v = emit<fma_p>({factor(x, 0), factor(x, 1), -right});
          else if (product_of(y)) v = emit<fma_p>({-factor(y, 0), factor(y, 1), left});
          else v = sub(left, right);
        } else {
          number = minus[0] ? -1 : 1;
          const factored_value one = factored(left), other = factored(right);
          if (is_floating(c.type) && one.of == other.of && one.number + other.number != 0) v = one.of, number *= one.number + other.number;
          else if (product_of(x)) v = emit<fma_p>({factor(x, 0), factor(x, 1), right});
          else if (product_of(y)) v = emit<fma_p>({factor(y, 0), factor(y, 1), left});
          else v = add(left, right);
        }
      } else if (op == primitive_of<mul_p>.id && is_floating(c.type)) {
        for (int k = 0; k < 2 && !v.b; ++k) {
          if (!is_constant(c[k])) continue;
          if (collects && left_numbers::is_moderate(constant_value(c[k]))) v = c[1 - k], number *= constant_value(c[k]);
          else if (product_of(g.operand(n, 1 - k))) v = scaled_product(c[1 - k], c[k]);
        }
        for (int k = 0; k < 2 && !v.b; ++k)
          if (const int x = g.operand(n, k), y = g.operand(n, 1 - k); with_square.items[x] && x != y && product_of(y))
            for (int i = 0; i < 2 && !v.b; ++i)
              if (factor(y, i) == c[k]) v = mul(factor(y, 1 - i), mul(c[k], c[k]));
      } else if (op == primitive_of<div_p>.id && is_floating(c.type) && is_constant(c[1])) {
        if (const value inverse = inverse_of(c[1]); inverse.b) {
          if (collects && left_numbers::is_moderate(constant_value(inverse))) v = c[0], number *= constant_value(inverse);
          else if (product_of(g.operand(n, 0))) v = scaled_product(c[0], inverse);
          if (!v.b) v = mul(c[0], inverse);
        }
      } else if (op == primitive_of<div_p>.id && with_reciprocal.items[g.operand(n, 1)]) {
        const int y = g.operand(n, 1);
        const auto operand = [&](int k) { return r.map.items[g.operand(y, k)]; };
        const value one = full_like(c[0], 1);
        if (is_checked(g, y) && with_reciprocal.items[g.operand(y, 1)]) v = mul(c[0], select(operand(0), one / operand(1), operand(2)));
        else if (!is_constant(c[0])) v = mul(c[0], one / c[1]);
      }
      else if (op == primitive_of<max_p>.id || op == primitive_of<min_p>.id) {
        const auto is_number = [](value x) { return is_constant(x) && constant_value(x) == constant_value(x); };
        const int k = is_number(c[0]) ? 0 : is_number(c[1]) ? 1 : -1;
        if (k >= 0) v = op == primitive_of<max_p>.id ? emit<max_with_number_p>({c[k], c[1 - k]}) : emit<min_with_number_p>({c[k], c[1 - k]});
      }
    } else if (op == primitive_of<dot_general_p>.id) {
      if (sums_few_products(c, of_packets)) v = sum_of_few_products(c);
      else if (of_packets || sums_along_rows(c)) {
        if (!of_packets) v = sum_across_rows(c);
        if (!v.b) v = sum_of_products(c, n, axes_from(0, c.dims.rank));
      } else if (v = sum_of_apart(c); !v.b) v = rows.product(n, c);
      if (!v.b) {
        product_triangles t = triangles.of_product(n);
        const call product = product_at(n);
        const bool mirrors = is_symmetric_product(product) && t.c == matrix_part::whole;
        if (mirrors) t.c = matrix_part::lower;
        v = sorted_dot(product, t);
        if (mirrors) v = mirrored(v);
      }
    }
    else if (op == primitive_of<transpose_p>.id) {
      const int x = g.operand(n, 0);
      if (g[x].op_id == primitive_of<dot_general_p>.id && uses.items[x] == 1) {
        const call turned = c;
        const call product = r.at(x);
        if (of_packets) {
          if (!sums_few_products(product, true)) v = sum_of_products(product, x, turned.list(0, turned.attribute_count));
        } else if (!sums_few_products(product)) v = swapped_dot(product_at(x), turned, triangles.of_product(x));
        if (!v.b) v = b.emit_inferred(r.at(n));
      }
    } else if (op == primitive_of<roll_p>.id) v = rolled(c, once);
    else if (op == primitive_of<slice_p>.id) v = sliced_window(c, once);
    else if (c.op->kind == role::reduction) v = of_packets ? value() : rows.reduced(n, c);
    else if (is_scatter(op)) {
      const bool chooses = !of_packets && !zeros.is_added(n);
      if (chooses) v = chosen_updates(c);
      if (chooses && !v.b) v = updated_window(c, once);
      if (!v.b) v = scatter_of_blocks(c);
    }
    else if (op == primitive_of<pad_p>.id) {
      if (by_kernels.items[n] && !of_packets) v = padded_window(c, once);
      if (!v.b) v = without_negative_pad(c);
    }
    else if (op == primitive_of<basis_p>.id) v = compared_indices(c);
    else if (op == primitive_of<broadcast_in_dim_p>.id && is_output.items[n] && uses.items[n] == 1 && !of_packets) v = repeated_elements(c);
    else if (op == primitive_of<symmetric_p>.id) v = c[0];
    if (!v.b) v = b.emit_inferred(c);
    v = numbers.multiplied(n, v, number);
    if (!of_packets) v = rows.put_together(n, v);
    if (has_windows) once.made(n, v);
  }
  graph canonical = replayed(r);
  if (of_packets) return with_views_inside(with_parts_apart(canonical));
  return canonical;
}

}  // namespace cotangent
