#pragma once
/// Solutions that are differentiated by what they solve, not by how they were found: linear_solve_p, root_p.

#include <cotangent/control/loop.hpp>

namespace cotangent {

/// The part of a tangent graph that gives tangents: (inputs of f, tangents of those that are active) to the outputs' tangents.
constexpr graph tangents_of(const graph& f, const flag_list& active) {
  graph joint = jvp_graph(f, active);
  if (joint.error.empty()) joint.outputs.drop_front(f.outputs.size());
  return joint;
}
/// The same for reverse mode: (inputs of f, cotangents of its outputs) to the cotangents of the active inputs.
constexpr graph cotangents_of(const graph& f, const flag_list& active) {
  graph joint = vjp_graph(f, active, false);
  if (joint.error.empty()) joint.outputs.drop_front(f.outputs.size());
  return joint;
}
constexpr flag_list flags_where(std::size_t count, std::size_t first, std::size_t last) {
  flag_list r;
  for (std::size_t i = 0; i < count; ++i) r.push_back(i >= first && i < last);
  return r;
}
/// v, and zeros like `types` where it is null; nothing if all are null.
constexpr sequence<value> with_zeros(const sequence<value>& v, const sequence<value>& types) {
  sequence<value> r;
  bool any = false;
  for (std::size_t i = 0; i < v.size(); ++i) any = any || v[i], r.push_back(v[i] ? v[i] : zeros_like(types[i]));
  if (!any) r.clear();
  return r;
}

/// A linear system, taken apart. `product` maps (x, its constants) to A x, `solve` (b, its constants) to A^-1 b,
/// `transposed` (g, its constants) to A^-T g.
struct linear_solve_call {
  graph product, solve, transposed;
  sequence<value> b, product_constants, solve_constants, transposed_constants;
};

/// x with A x = b. Operands: b and the constants. Attributes: those of call_form with three bodies, then the numbers of
/// arrays of b, of the product's and of the solver's constants. Derivative: A dx = db - dA x; its transpose solves with A^T.
struct linear_solve_p : several_results {
  static constexpr std::string_view name = "custom_linear_solve";

  static constexpr linear_solve_call read(const call& c) {
    const call_form form(c);
    linear_solve_call s;
    graph* const bodies[] = {&s.product, &s.solve, &s.transposed};
    for (std::size_t k = 0; k < 3; ++k) *bodies[k] = body_of(c, int(k));
    const sequence<value> v = operands_of(c);
    const std::size_t n = std::size_t(form.own[0]), m = std::size_t(form.own[1]), l = std::size_t(form.own[2]);
    s.b = part(v, 0, n), s.product_constants = part(v, n, m), s.solve_constants = part(v, n + m, l);
    s.transposed_constants = part(v, n + m + l, v.size() - n - m - l);
    return s;
  }
  static constexpr sequence<value> write(builder& b, const linear_solve_call& s) {
    call_form form;
    for (const graph* g : {&s.product, &s.solve, &s.transposed}) {
      if (!g->error.empty()) b.fail(g->error);
      form.bodies.push_back(b.add_subgraph(graph(*g)));
    }
    if (b.failed()) return {};
    for (value v : s.b) form.results.push_back({v.type(), v.dims()});
    form.own = {extent(s.b.size()), extent(s.product_constants.size()), extent(s.solve_constants.size())};
    return emit_all<linear_solve_p>(b, form, concat(concat(s.b, s.product_constants), concat(s.solve_constants, s.transposed_constants)));
  }
  /// The system with A^T.
  static constexpr linear_solve_call transpose_of(const linear_solve_call& s, const sequence<value>& g) {
    const std::size_t n = s.b.size();
    linear_solve_call t = s;
    t.b = g;
    builder b;
    const sequence<value> in = inputs_like(b, concat(g, s.product_constants));
    sequence<value> zeros;
    for (std::size_t k = 0; k < n; ++k) zeros.push_back(zeros_like(in[k]));
    const graph back = cotangents_of(s.product, flags_where(s.product.inputs.size(), 0, n));
    for (value v : inline_graph(b, back, concat(concat(zeros, part(in, n, s.product_constants.size())), part(in, 0, n)))) b.g.outputs.push_back(v.id);
    t.product = b.finish();
    t.solve = s.transposed, t.transposed = s.solve;
    t.solve_constants = s.transposed_constants, t.transposed_constants = s.solve_constants;
    return t;
  }

  static constexpr void simplify_all(const call& c, sequence<value>& results) {
    const linear_solve_call s = read(c);
    results = inline_graph(*c.b, s.solve, concat(s.b, s.solve_constants));
  }
  static constexpr void needs(const call& c, const flag_list&, flag_list& operands) { operands.assign(std::size_t(c.count), true); }
  static constexpr void prune(const call& c, const flag_list&, sequence<value>& results) { simplify_all(c, results); }

  static constexpr void jvp_all(const call& c, const value* t, sequence<value>& results, sequence<value>& tangents) {
    linear_solve_call s = read(c);
    const std::size_t n = s.b.size(), m = s.product_constants.size();
    results = write(*c.b, s);
    sequence<value> right, moved;  // the tangents of b; those of the constants
    flag_list active = flags_where(s.product.inputs.size(), 0, 0);
    for (std::size_t k = 0; k < n; ++k) right.push_back(t[k]);
    for (std::size_t k = 0; k < m; ++k)
      if (t[n + k]) active[n + k] = true, moved.push_back(t[n + k]);
    if (!moved.empty() && !c.b->failed()) {
      const sequence<value> change = inline_graph(*c.b, tangents_of(s.product, active), concat(concat(results, s.product_constants), moved));
      for (std::size_t k = 0; k < n && !c.b->failed(); ++k) right[k] = right[k] ? right[k] - change[k] : -change[k];
    }
    s.b = with_zeros(right, s.b);
    if (!s.b.empty()) tangents = write(*c.b, s);
    if (tangents.empty()) tangents.assign(n, value{});
  }

  static constexpr void forward(const call& c, const flag_list& active, sequence<value>& results, saved_state& saved) {
    results = write(*c.b, read(c));
    saved.values = results, saved.flags = active;
  }
  static constexpr void backward(const call& c, const saved_state& saved, const value* cotangents, sequence<value>& parts) {
    const linear_solve_call s = read(c);
    const std::size_t n = s.b.size(), m = s.product_constants.size();
    sequence<value> g;
    for (std::size_t k = 0; k < n; ++k) g.push_back(cotangents[k]);
    g = with_zeros(g, s.b);
    const sequence<value> y = write(*c.b, transpose_of(s, g));
    if (c.b->failed()) return;
    parts = y;
    flag_list active = flags_where(s.product.inputs.size(), 0, 0);
    bool any = false;
    for (std::size_t k = 0; k < m; ++k)
      if (saved.flags[n + k]) active[n + k] = any = true;
    sequence<value> pulled;
    if (any) pulled = inline_graph(*c.b, cotangents_of(s.product, active), concat(concat(saved.values, s.product_constants), y));
    std::size_t at = 0;
    for (std::size_t k = 0; k < m && !c.b->failed(); ++k) parts.push_back(active[n + k] ? -pulled[at++] : value());
  }

  static constexpr void batch_all(const call& c, const bool* batched, extent size, sequence<value>& results, flag_list& flags) {
    linear_solve_call s = read(c);
    const std::size_t n = s.b.size();
    sequence<int> out_axes;
    out_axes.assign(n, 0);
    std::size_t first = n;
    const auto map_body = [&](graph& g, std::size_t constants) {
      sequence<int> in_axes;
      in_axes.assign(n, 0);
      for (std::size_t k = 0; k < constants; ++k) in_axes.push_back(batched[first + k] ? 0 : not_mapped);
      first += constants;
      g = batch_graph(g, in_axes, out_axes, is_symbol(size) ? dyn : size, c.b->axis);
    };
    map_body(s.product, s.product_constants.size());
    map_body(s.solve, s.solve_constants.size());
    map_body(s.transposed, s.transposed_constants.size());
    for (std::size_t k = 0; k < n; ++k) s.b[k] = batched_operand(s.b[k], batched[k], size);
    results = write(*c.b, s);
    flags.assign(n, true);
  }
};

/// A root, taken apart. `f` maps (x, its constants) to what is zero at the root, `solve` (the guess, its constants) to the
/// root; `tangent` (y, x, its constants) to v with df/dx(x) v = y, and `cotangent` the same with the transpose.
struct root_call {
  graph f, solve, tangent, cotangent;
  sequence<value> guess, f_constants, solve_constants, tangent_constants, cotangent_constants;
};

/// x with f(x) = 0. Operands: the guess and the constants. Attributes: those of call_form with four bodies, then the
/// numbers of arrays of x and of each but the last body's constants. Derivative: df/dx dx = -df/dc dc (implicit function
/// theorem); the guess and the solver have none.
struct root_p : several_results {
  static constexpr std::string_view name = "custom_root";

  static constexpr root_call read(const call& c) {
    const call_form form(c);
    root_call s;
    graph* const bodies[] = {&s.f, &s.solve, &s.tangent, &s.cotangent};
    sequence<value>* const constants[] = {&s.f_constants, &s.solve_constants, &s.tangent_constants, &s.cotangent_constants};
    const sequence<value> v = operands_of(c);
    std::size_t at = std::size_t(form.own[0]);
    s.guess = part(v, 0, at);
    for (std::size_t k = 0; k < 4; ++k) {
      *bodies[k] = body_of(c, int(k));
      const std::size_t count = k < 3 ? std::size_t(form.own[k + 1]) : v.size() - at;
      *constants[k] = part(v, at, count);
      at += count;
    }
    return s;
  }
  static constexpr sequence<value> write(builder& b, const root_call& s) {
    call_form form;
    for (const graph* g : {&s.f, &s.solve, &s.tangent, &s.cotangent}) {
      if (!g->error.empty()) b.fail(g->error);
      form.bodies.push_back(b.add_subgraph(graph(*g)));
    }
    if (b.failed()) return {};
    for (value v : s.guess) form.results.push_back({v.type(), v.dims()});
    form.own = {extent(s.guess.size()), extent(s.f_constants.size()), extent(s.solve_constants.size()), extent(s.tangent_constants.size())};
    return emit_all<root_p>(b, form, concat(concat(concat(s.guess, s.f_constants), concat(s.solve_constants, s.tangent_constants)), s.cotangent_constants));
  }

  /// df/dx(x) v = right, as a linear system.
  static constexpr linear_solve_call at_root(const root_call& s, const sequence<value>& x, const sequence<value>& right) {
    const std::size_t n = x.size();
    linear_solve_call l;
    const graph slope = tangents_of(s.f, flags_where(s.f.inputs.size(), 0, n));  // (x, constants, v)
    sequence<int> more;
    if (!slope.error.empty()) l.product = slope;
    else l.product = part_of(slope, concat(part(slope.inputs, slope.inputs.size() - n, n), part(slope.inputs, 0, slope.inputs.size() - n)), slope.outputs, more);
    l.solve = s.tangent, l.transposed = s.cotangent;
    l.b = right;
    l.product_constants = concat(x, s.f_constants);
    l.solve_constants = concat(x, s.tangent_constants), l.transposed_constants = concat(x, s.cotangent_constants);
    return l;
  }

  static constexpr void simplify_all(const call& c, sequence<value>& results) {
    const root_call s = read(c);
    results = inline_graph(*c.b, s.solve, concat(s.guess, s.solve_constants));
  }
  static constexpr void needs(const call& c, const flag_list&, flag_list& operands) { operands.assign(std::size_t(c.count), true); }
  static constexpr void prune(const call& c, const flag_list&, sequence<value>& results) { simplify_all(c, results); }

  static constexpr void jvp_all(const call& c, const value* t, sequence<value>& results, sequence<value>& tangents) {
    const root_call s = read(c);
    const std::size_t n = s.guess.size(), m = s.f_constants.size();
    results = write(*c.b, s);
    flag_list active = flags_where(s.f.inputs.size(), 0, 0);
    sequence<value> moved;
    for (std::size_t k = 0; k < m; ++k)
      if (t[n + k]) active[n + k] = true, moved.push_back(t[n + k]);
    if (moved.empty() || c.b->failed()) {
      tangents.assign(n, value{});
      return;
    }
    sequence<value> right = inline_graph(*c.b, tangents_of(s.f, active), concat(concat(results, s.f_constants), moved));
    for (value& v : right)
      if (!c.b->failed()) v = -v;
    tangents = linear_solve_p::write(*c.b, at_root(s, results, right));
  }

  static constexpr void forward(const call& c, const flag_list& active, sequence<value>& results, saved_state& saved) {
    results = write(*c.b, read(c));
    saved.values = results, saved.flags = active;
  }
  static constexpr void backward(const call& c, const saved_state& saved, const value* cotangents, sequence<value>& parts) {
    const root_call s = read(c);
    const std::size_t n = s.guess.size(), m = s.f_constants.size();
    sequence<value> g;
    for (std::size_t k = 0; k < n; ++k) g.push_back(cotangents[k]);
    g = with_zeros(g, saved.values);
    const linear_solve_call l = at_root(s, saved.values, g);
    if (!l.product.error.empty()) return c.b->fail(l.product.error);
    const sequence<value> y = linear_solve_p::write(*c.b, linear_solve_p::transpose_of(l, g));
    if (c.b->failed()) return;
    parts.assign(n, value{});
    flag_list active = flags_where(s.f.inputs.size(), 0, 0);
    for (std::size_t k = 0; k < m; ++k) active[n + k] = saved.flags[n + k];
    const sequence<value> pulled = inline_graph(*c.b, cotangents_of(s.f, active), concat(concat(saved.values, s.f_constants), y));
    std::size_t at = 0;
    for (std::size_t k = 0; k < m && !c.b->failed(); ++k) parts.push_back(active[n + k] ? -pulled[at++] : value());
  }

  static constexpr void batch_all(const call& c, const bool* batched, extent size, sequence<value>& results, flag_list& flags) {
    root_call s = read(c);
    const std::size_t n = s.guess.size();
    sequence<int> out_axes;
    out_axes.assign(n, 0);
    std::size_t first = n;
    const auto map_body = [&](graph& g, std::size_t states, std::size_t constants) {
      sequence<int> in_axes;
      in_axes.assign(states, 0);
      for (std::size_t k = 0; k < constants; ++k) in_axes.push_back(batched[first + k] ? 0 : not_mapped);
      first += constants;
      g = batch_graph(g, in_axes, out_axes, is_symbol(size) ? dyn : size, c.b->axis);
    };
    map_body(s.f, n, s.f_constants.size());
    map_body(s.solve, n, s.solve_constants.size());
    map_body(s.tangent, 2 * n, s.tangent_constants.size());
    map_body(s.cotangent, 2 * n, s.cotangent_constants.size());
    for (std::size_t k = 0; k < n; ++k) s.guess[k] = batched_operand(s.guess[k], batched[k], size);
    results = write(*c.b, s);
    flags.assign(n, true);
  }
};

}  // namespace cotangent
