#pragma once
/// Rewrites into the forms that kernels and libraries have: matrix products as gemm, rolls and pads as windows, and
/// multiply-adds as fma, so that neither speed nor bits depend on the compiler's contraction of a * b + c.

#include <cotangent/compiler/components.hpp>
#include <cotangent/compiler/conditions.hpp>
#include <cotangent/compiler/numbers.hpp>
#include <cotangent/compiler/parts.hpp>
#include <cotangent/compiler/products.hpp>
#include <cotangent/compiler/short_rows.hpp>
#include <cotangent/compiler/triangles.hpp>
#include <cotangent/compiler/views.hpp>
#include <cotangent/compiler/windows.hpp>
#include <cotangent/compiler/zero_scatters.hpp>

namespace cotangent {

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
class canonical_form {
 public:
  constexpr canonical_form(const graph& g, bool of_packets)
      : g_(g), of_packets_(of_packets), uses_(uses_of(g)), r_(g, b_), by_kernels_(used_by_kernels(g, has_windows_)), with_reciprocal_(with_reciprocals(g)),
        with_square_(with_squares(g)), triangles_(g), rows_(g), zeros_(g, uses_), conditions_(needed_conditions(g)), numbers_(g, !of_packets) {
    b_.simplifying = true, b_.inlining = false;
    if (has_windows_) once_.find(g, uses_);
    is_output_.assign(g.nodes.size(), false);
    for (int o : g.outputs) is_output_.items[g[o].op_id == primitive_of<reshape_p>.id ? g.operand(o, 0) : o] = true;
    if (!of_packets) return;
    is_added_.assign(g.nodes.size(), false);
    for (int n = 0; n < g.size(); ++n)
      for (int k = 0; g[n].op_id == primitive_of<add_p>.id && k < 2; ++k) is_added_[std::size_t(g.operand(n, k))] = true;
  }

  constexpr graph run() {
    copy_inputs(r_);
    for (int n = 0; n < g_.size(); ++n) {
      const node& at = g_.nodes.items[n];
      if (at.is_input()) continue;
      if (at.op->has.several || at.op->kind == role::element) {
        r_.copy(n);
        continue;
      }
      const call c = r_.at(n);
      double number = numbers_.of_operands(n);
      value v = at.op->kind == role::pointwise ? pointwise(n, c, number) : rewritten(n, c);
      if (!v.b) v = b_.emit_inferred(c);
      v = numbers_.multiplied(n, v, number);
      if (!of_packets_) v = rows_.put_together(n, v);
      if (has_windows_) once_.made(n, v);
      r_.map.items[n] = v;
    }
    graph canonical = replayed(r_);
    if (of_packets_) return with_views_inside(with_parts_apart(canonical));
    return canonical;
  }

 private:
  const graph& g_;
  const bool of_packets_;
  const sequence<int> uses_;
  builder b_;
  replay r_;
  bool has_windows_ = false;
  const flag_list by_kernels_, with_reciprocal_, with_square_;
  flag_list is_output_;  // or what an output has the elements of
  flag_list is_added_;   // of packets: an operand of a sum
  const triangle_finder triangles_;
  const short_rows rows_;
  const zero_scatters zeros_;
  const sequence<int> conditions_;
  shown_once once_;
  left_numbers numbers_;
  value own_operands_[2];  // of the last product_at

  /// Whether node n became a product that has one use; and its factors.
  constexpr bool is_product(int n) const { return uses_.items[n] == 1 && is_floating(g_[n].type) && r_.map.items[n].get().op_id == primitive_of<mul_p>.id; }
  constexpr value factor(int n, int k) { return {&b_, b_.g.operand(r_.map.items[n].id, k)}; }

  /// The pointwise operation n, or null if it stays as it is; `number`: what multiplies it, of its operands, and then of the result.
  constexpr value pointwise(int n, const call& c, double& number) {
    const std::uint64_t op = c.op->id;
    if (op == primitive_of<add_p>.id || op == primitive_of<sub_p>.id) return sum(n, c, number);
    if (op == primitive_of<mul_p>.id) return multiple(n, c, number);
    if (op == primitive_of<div_p>.id) return quotient(n, c, number);
    if (op == primitive_of<select_p>.id) return conditions_.items[n] == g_.operand(n, 0) ? c[1] : value();
    if (op == primitive_of<neg_p>.id) {
      if (number == 1 && !numbers_.leaves_sign(n)) return {};
      number = -number;
      return c[0];
    }
    if (op != primitive_of<max_p>.id && op != primitive_of<min_p>.id) return {};
    const auto is_number = [](value x) { return is_constant(x) && constant_value(x) == constant_value(x); };
    const int k = is_number(c[0]) ? 0 : is_number(c[1]) ? 1 : -1;
    if (k < 0) return {};
    return op == primitive_of<max_p>.id ? emit<max_with_number_p>({c[k], c[1 - k]}) : emit<min_with_number_p>({c[k], c[1 - k]});
  }
  constexpr value sum(int n, const call& c, double& number) {
    const bool subtracts = c.op->id == primitive_of<sub_p>.id;
    if (const int k = subtracts ? -1 : zeros_.operand_in(n); k >= 0) {
      value v = numbers_.is_negative(g_.operand(n, 1 - k)) ? -c[1 - k] : c[1 - k];
      zeros_.each(g_.operand(n, k), [&](int s) { v = scatter_into(r_.map.items[s], v); });
      number = 1;
      return v;
    }
    if (of_packets_ && !subtracts && !is_term(n)) {
      sequence<value> terms;
      collect_terms(n, n, terms);
      if (const value v = sum_of_parts(terms); v.b) return v;
    }
    const bool minus[2] = {numbers_.is_negative(g_.operand(n, 0)), subtracts != numbers_.is_negative(g_.operand(n, 1))};
    const int first = minus[0] && !minus[1];  // the operand that is not subtracted
    const int x = g_.operand(n, first), y = g_.operand(n, 1 - first);
    const value left = c[first], right = c[1 - first];
    if (minus[0] != minus[1]) {
      number = 1;
      if (is_product(x)) return emit<fma_p>({factor(x, 0), factor(x, 1), -right});
      if (is_product(y)) return emit<fma_p>({-factor(y, 0), factor(y, 1), left});
      return sub(left, right);
    }
    number = minus[0] ? -1 : 1;
    const factored_value one = factored(left), other = factored(right);
    if (is_floating(c.type) && one.of == other.of && one.number + other.number != 0) {
      number *= one.number + other.number;
      return one.of;
    }
    if (is_product(x)) return emit<fma_p>({factor(x, 0), factor(x, 1), right});
    if (is_product(y)) return emit<fma_p>({factor(y, 0), factor(y, 1), left});
    return add(left, right);
  }
  /// Of packets: whether node n is part of a longer sum; and the terms of the sum `root`.
  constexpr bool is_term(int n) const { return uses_.items[n] == 1 && is_added_[std::size_t(n)]; }
  constexpr void collect_terms(int n, int root, sequence<value>& terms) const {
    if (g_[n].op_id != primitive_of<add_p>.id || (n != root && !is_term(n))) return terms.push_back(r_.map.items[n]);
    for (int k = 0; k < 2; ++k) collect_terms(g_.operand(n, k), root, terms);
  }
  /// Whether numbers that multiply node n, which multiplies by this number of its operands, are collected.
  constexpr bool collects(int n, double number) const { return number != 1 || numbers_.leaves(n); }
  constexpr value multiple(int n, const call& c, double& number) {
    if (!is_floating(c.type)) return {};
    for (int k = 0; k < 2; ++k) {
      if (!is_constant(c[k])) continue;
      if (collects(n, number) && left_numbers::is_moderate(constant_value(c[k]))) {
        number *= constant_value(c[k]);
        return c[1 - k];
      }
      if (is_product(g_.operand(n, 1 - k)))
        if (const value v = scaled_product(c[1 - k], c[k]); v.b) return v;
    }
    for (int k = 0; k < 2; ++k) {
      const int x = g_.operand(n, k), y = g_.operand(n, 1 - k);
      if (!with_square_.items[x] || x == y || !is_product(y)) continue;
      for (int i = 0; i < 2; ++i)
        if (factor(y, i) == c[k]) return mul(factor(y, 1 - i), mul(c[k], c[k]));
    }
    return {};
  }
  constexpr value quotient(int n, const call& c, double& number) {
    if (is_constant(c[1]) && is_floating(c.type)) {
      const value inverse = inverse_of(c[1]);
      if (!inverse.b) return {};
      if (collects(n, number) && left_numbers::is_moderate(constant_value(inverse))) {
        number *= constant_value(inverse);
        return c[0];
      }
      if (is_product(g_.operand(n, 0)))
        if (const value v = scaled_product(c[0], inverse); v.b) return v;
      return mul(c[0], inverse);
    }
    const int y = g_.operand(n, 1);
    if (!with_reciprocal_.items[y]) return {};
    const auto operand = [&](int k) { return r_.map.items[g_.operand(y, k)]; };
    const value one = full_like(c[0], 1);
    if (is_checked(g_, y) && with_reciprocal_.items[g_.operand(y, 1)]) return mul(c[0], select(operand(0), one / operand(1), operand(2)));
    return is_constant(c[0]) ? value() : mul(c[0], one / c[1]);
  }

  /// Any other operation, or null if it stays as it is.
  constexpr value rewritten(int n, const call& c) {
    const std::uint64_t op = c.op->id;
    if (op == primitive_of<dot_general_p>.id) return product(n, c);
    if (op == primitive_of<transpose_p>.id) return turned(n, c);
    if (op == primitive_of<roll_p>.id) return rolled(c, once_);
    if (op == primitive_of<slice_p>.id) return sliced_window(c, once_);
    if (c.op->kind == role::reduction) return of_packets_ ? value() : rows_.reduced(n, c);
    if (is_scatter(op)) {
      const bool chooses = !of_packets_ && !zeros_.is_added(n);
      value v;
      if (chooses) v = chosen_updates(c);
      if (chooses && !v.b) v = updated_window(c, once_);
      return v.b ? v : scatter_of_blocks(c);
    }
    if (op == primitive_of<pad_p>.id) {
      value v;
      if (by_kernels_.items[n] && !of_packets_) v = padded_window(c, once_);
      return v.b ? v : without_negative_pad(c);
    }
    if (op == primitive_of<basis_p>.id) return compared_indices(c);
    if (op == primitive_of<broadcast_in_dim_p>.id && is_output_.items[n] && uses_.items[n] == 1 && !of_packets_) return repeated_elements(c);
    return op == primitive_of<symmetric_p>.id ? c[0] : value();
  }
  constexpr value product(int n, const call& c) {
    const shape order = axes_from(0, c.dims.rank);
    if (sums_few_products(c, of_packets_)) return sum_of_few_products(c, order);
    value v;
    if (of_packets_) return sum_of_products(c, n, order);
    if (sums_along_rows(c)) return v = sum_across_rows(c), v.b ? v : sum_of_products(c, n, order);
    v = sum_of_apart(c);
    if (!v.b) v = rows_.product(n, c);
    if (v.b) return v;
    product_triangles t = triangles_.of_product(n);
    const call own = product_at(n);
    const bool mirrors = is_symmetric_product(own) && t.c == matrix_part::whole;
    if (mirrors) t.c = matrix_part::lower;
    v = sorted_dot(own, t);
    return mirrors ? mirrored(v) : v;
  }
  /// The transpose n of a product that has no other use.
  constexpr value turned(int n, const call& c) {
    const int x = g_.operand(n, 0);
    if (g_[x].op_id != primitive_of<dot_general_p>.id || uses_.items[x] != 1) return {};
    const call product = r_.at(x);
    const shape order = c.list(0, c.attribute_count);
    value v;
    if (sums_few_products(product, of_packets_)) v = sum_of_few_products(product, order);
    else if (of_packets_) v = sum_of_products(product, x, order);
    else v = swapped_dot(product_at(x), c, triangles_.of_product(x));
    return v.b ? v : b_.emit_inferred(r_.at(n));
  }
  /// The product n, of its own operands: what else is used by others and cheap is made for it alone.
  constexpr call product_at(int n) {
    call c = r_.at(n);
    for (int k = 0; k < 2; ++k) {
      own_operands_[k] = c[k];
      if (uses_.items[g_.operand(n, k)] > 1 && is_made_of_smaller(c[k])) own_operands_[k] = emit<made_for_product_p>({c[k]}, {extent(n)});
    }
    c.operands = own_operands_;
    return c;
  }
  constexpr value sum_of_products(const call& c, int n, const shape& order) const {
    const bool own[2] = {uses_.items[g_.operand(n, 0)] == 1, uses_.items[g_.operand(n, 1)] == 1};
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
  }
};

constexpr graph canonicalize(const graph& g, bool of_packets = false) {
  if (!g.error.empty()) return {};
  return canonical_form(g, of_packets).run();
}

}  // namespace cotangent
