#pragma once
/// Complex numbers: programs compute with their parts. Behind this pass an array of complex numbers is two real arrays where something
/// computes with it; where it is stored, and as a carry of loops, it is one real array whose last axis has the two parts.

#include <cotangent/compiler/parts.hpp>
#include <cotangent/core/tree.hpp>
#include <cotangent/graph/replay.hpp>

namespace cotangent {

constexpr bool has_complex(const graph& g) {
  for (const node& x : g.nodes)
    if (is_complex(x.type)) return true;
  for (const graph& body : g.subgraphs)
    if (has_complex(body)) return true;
  return false;
}

/// Rewrites a graph and the bodies in it.
class complex_pass {
 public:
  /// `g` must outlive it.
  constexpr explicit complex_pass(const graph& g) : g_(g), r_(g, to_) {
    to_.simplifying = true, to_.inlining = false;
    parts_.assign(g.nodes.size(), complex_value());
  }
  constexpr graph run() {
    to_.take_symbols(g_);
    to_.reserve(g_, 3);
    for (const graph& body : g_.subgraphs) bodies_.push_back(complex_pass(body).run());
    for (int i : g_.inputs) {
      const node& x = g_[i];
      set_stored(i, to_.input(real_dtype(x.type), stored_shape(x.type, x.dims)));
    }
    for (int n = 0; n < g_.size(); ++n)
      if (!g_[n].is_input()) rewrite(n);
    for (int o : g_.outputs) to_.g.outputs.push_back(stored(o).id);
    return to_.finish();
  }

 private:
  const graph& g_;
  builder to_;
  replay r_;
  sequence<complex_value> parts_;  // per node that is complex
  sequence<graph> bodies_;

  constexpr void set_stored(int n, value v) {
    r_.map.items[n] = v;
    if (is_complex(g_[n].type)) parts_.items[n] = parts_of(v);
  }
  /// Node n as memory has it.
  constexpr value stored(int n) { return is_complex(g_[n].type) ? pairs_of(parts_.items[n]) : r_.map.items[n]; }

  constexpr bool concerns_complex(int n) const {
    for (int k = 0; k < g_[n].operand_count; ++k)
      if (is_complex(g_[g_.operand(n, k)].type)) return true;
    return is_complex(g_[n].type);
  }

  constexpr void rewrite(int n) {
    const node& x = g_[n];
    if (x.op->kind == role::element) return set_stored(n, r_.result(g_.operand(n, 0), int(g_.attribute(n, 0))));
    if (x.op->has.several) return with_results(n);
    if (!concerns_complex(n)) return r_.copy(n);
    const complex_value z = x.op->has.of_complex ? of_parts(n) : part_by_part(n);
    if (is_complex(x.type)) parts_.items[n] = z;
    else r_.map.items[n] = z.re;
  }
  constexpr complex_value operand(int n, int k) const {
    const int o = g_.operand(n, k);
    return is_complex(g_[o].type) ? parts_.items[o] : complex_value{r_.map.items[o], {}};
  }
  constexpr complex_value of_parts(int n) {
    sequence<complex_value> operands;
    for (int k = 0; k < g_[n].operand_count; ++k) operands.push_back(operand(n, k)), r_.map.items[g_.operand(n, k)] = operands[std::size_t(k)].re;
    return g_[n].op->of_complex(r_.at(n), operands.data());
  }
  constexpr complex_value part_by_part(int n) {
    const node& x = g_[n];
    bool has_imaginary = false;
    for (int k = 0; k < x.operand_count; ++k) has_imaginary = has_imaginary || operand(n, k).im;
    const auto part = [&](bool im) {
      for (int k = 0; k < x.operand_count; ++k)
        if (const int o = g_.operand(n, k); is_complex(g_[o].type)) r_.map.items[o] = im ? imaginary(parts_.items[o]) : parts_.items[o].re;
      call c = r_.at(n);
      c.type = real_dtype(x.type);
      return to_.emit_inferred(c);
    };
    const value re = part(false);
    return {re, has_imaginary && is_complex(x.type) ? part(true) : value()};
  }
  /// An operation with several results: complex ones are stored.
  constexpr void with_results(int n) {
    for (int k = 0; k < g_[n].operand_count; ++k)
      if (const int o = g_.operand(n, k); is_complex(g_[o].type)) r_.map.items[o] = stored(o);
    const call c = r_.at(n);
    call_form form(c);
    for (call_form::result& x : form.results) x.dims = stored_shape(x.type, x.dims), x.type = real_dtype(x.type);
    const sequence<extent> attributes = form.attributes();
    call d = c;
    d.attributes = attributes.data(), d.attribute_count = int(attributes.size()), d.bodies = &bodies_;
    r_.set_results(n, results_of(to_.emit_inferred(d)));
  }
};

}  // namespace cotangent
