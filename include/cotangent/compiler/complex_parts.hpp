#pragma once
/// Complex numbers: programs compute with their parts. Behind this pass an array of complex numbers is two real arrays where something
/// computes with it; where it is stored, and as a carry of loops, it is one real array whose last axis has the two parts.

#include <cotangent/compiler/stored_forms.hpp>
#include <cotangent/core/tree.hpp>
#include <cotangent/primitives/indexing.hpp>

namespace cotangent {

class complex_pass : public stored_form_pass<complex_pass> {
 public:
  constexpr explicit complex_pass(const graph& g) : stored_form_pass(g) { parts_.assign(g.nodes.size(), complex_value()); }

 private:
  friend stored_form_pass;
  sequence<complex_value> parts_;  // per node that is complex

  static constexpr bool is_stored(dtype d) { return is_complex(d); }
  static constexpr call_form::result in_memory(const call_form::result& x) { return {real_dtype(x.type), stored_shape(x.type, x.dims)}; }
  constexpr void set_stored(int n, value v) {
    r_.map.items[n] = v;
    if (is_complex(g_[n].type)) parts_.items[n] = parts_of(v);
  }
  constexpr value stored(int n) { return is_complex(g_[n].type) ? pairs_of(parts_.items[n]) : r_.map.items[n]; }

  constexpr bool concerns_complex(int n) const {
    for (int k = 0; k < g_[n].operand_count; ++k)
      if (is_complex(g_[g_.operand(n, k)].type)) return true;
    return is_complex(g_[n].type);
  }

  constexpr void rewrite(int n) {
    if (!concerns_complex(n)) return r_.copy(n);
    const node& x = g_[n];
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
};

}  // namespace cotangent
