#pragma once
/// Matrix products: as gemm, whose operands have one axis of each kind at most, or as sums that kernels make with what is around them.

#include <cotangent/compiler/canonical_operations.hpp>
#include <cotangent/core/triangle.hpp>
#include <cotangent/primitives/dense.hpp>

namespace cotangent {

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

/// Whether an array is known, or computed of indices alone, by at most so many operations.
constexpr bool is_of_indices(const value& x, int& operations) {
  const node& n = x.get();
  if (n.is_input() || --operations < 0) return false;
  if (n.op_id == primitive_of<iota_p>.id || n.op_id == primitive_of<constant_p>.id || n.op_id == primitive_of<dense_p>.id) return true;
  bool all = n.op->kind == role::pointwise || n.op_id == primitive_of<broadcast_in_dim_p>.id;
  for (int k = 0; k < n.operand_count && all; ++k) all = is_of_indices({x.b, x.b->g.operand(x.id, k)}, operations);
  return all;
}
/// Whether it is known where an array is zero, as packets say of sparsity patterns (packet_program).
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
  shape places = filled(vectors.rank(), 0);
  for (int i = 0; i < batch.rank; ++i) places[int(own_batch[i])] = batch[i];
  for (int i = 0; i < contracted.rank; ++i) places[int(own_contracted[i])] = contracted[i];
  const shape kept = join(batch, k == 0 ? d.rhs_free(matrices.rank()) : d.lhs_free(matrices.rank()));
  const value sum = reduce_sum(mul(matrices, placed(vectors, places, matrices.dims())), ascending(contracted));
  return transpose(sum, renumbered(kept, contracted));
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
/// Where the axes of a product's operand are in its result, whose axes are those of the product in this order; the contracted ones, in
/// their order, behind all of them.
constexpr shape places_in_product(const call& c, const dot_dimensions& d, int operand, const shape& order) {
  const shape &contracted = operand == 0 ? d.lhs_contracted : d.rhs_contracted, &batches = operand == 0 ? d.lhs_batch : d.rhs_batch;
  const int batch = d.lhs_batch.rank;
  int free = batch + (operand == 0 ? 0 : d.lhs_free(c[0].rank()).rank);
  shape to = order;
  for (int i = 0; i < order.rank; ++i) to[int(order[i])] = i;
  shape places;
  for (int axis = 0; axis < c[operand].rank(); ++axis) {
    int place = -1;
    for (int i = 0; i < batch; ++i)
      if (batches[i] == axis) place = int(to[i]);
    for (int i = 0; i < contracted.rank; ++i)
      if (contracted[i] == axis) place = order.rank + i;
    places.push_back(place >= 0 ? place : to[free++]);
  }
  return places;
}
/// Such a product, with its axes in this order, as multiply-adds of its operands' slices.
constexpr value sum_of_few_products(const call& c, const shape& order) {
  const dot_dimensions d = dot_general_p::dimensions(c);
  const shape dims = extents_along(c.dims, order), terms = extents_along(c[0].dims(), d.lhs_contracted);
  const auto part = [&](int operand, const shape& at) {
    shape where, places;
    for (extent place : places_in_product(c, d, operand, order)) {
      const bool contracted = place >= dims.rank;
      where.push_back(contracted ? at[int(place) - dims.rank] : -1);
      if (!contracted) places.push_back(place);
    }
    return placed(where == filled(where.rank, -1) ? c[operand] : emit<pick_p>({c[operand]}, where), places, dims);
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
  const shape dims = join(extents_along(c.dims, order), extents_along(c[0].dims(), d.lhs_contracted));
  value factors[2], condition;
  for (int k = 0; k < 2; ++k) {
    const shape places = places_in_product(c, d, k, order);
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

}  // namespace cotangent
