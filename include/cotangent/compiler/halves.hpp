#pragma once
/// 16-bit floats: programs compute with half and bfloat16 as with float, and store them in 16 bits. Behind this pass such arrays are
/// arrays of their bits, uint16, of which floats are made where something computes with them, and only moves (views, gathers) and loops'
/// carries take the bits. Results are rounded once, where they are stored: what a chain of operations computes in between is not.

#include <cotangent/compiler/stored_forms.hpp>
#include <cotangent/primitives/indexing.hpp>

namespace cotangent {

constexpr bool is_half(dtype d) { return d == dtype::float16 || d == dtype::bfloat16; }

/// Floats of the bits of numbers of a type of 16 bits, the attribute.
struct from_half_bits_p : pointwise {
  static constexpr std::string_view name = "from_half_bits";
  static constexpr void infer(call& c) { c.type = dtype::float32, c.dims = c[0].dims(); }
  template <extent Type> struct of {
    COTANGENT_LANES template <class V> static COTANGENT_INLINE auto lane(V x) { return float_of_bits<type_of<dtype(Type)>>(x); }
  };
  template <class, extent Type> using lane_for = of<Type>;
};
/// The bits of floats rounded to a type of 16 bits, the attribute: to nearest, ties to even.
struct to_half_bits_p : pointwise {
  static constexpr std::string_view name = "to_half_bits";
  static constexpr double flops = 2;
  static constexpr void infer(call& c) { c.type = dtype::uint16, c.dims = c[0].dims(); }
  template <extent Type> struct of {
    COTANGENT_LANES template <class V> static COTANGENT_INLINE auto lane(V x) { return bits_of_float<type_of<dtype(Type)>>(x); }
  };
  template <class, extent Type> using lane_for = of<Type>;
};

class half_pass : public stored_form_pass<half_pass> {
 public:
  constexpr explicit half_pass(const graph& g) : stored_form_pass(g) { floats_.assign(g.nodes.size(), value()), bits_.assign(g.nodes.size(), value()); }

 private:
  friend stored_form_pass;
  sequence<value> floats_, bits_;  // per node of a 16-bit type: its floats, and its bits, where they have been made

  static constexpr bool is_stored(dtype d) { return is_half(d); }
  static constexpr call_form::result in_memory(const call_form::result& x) { return {dtype::uint16, x.dims}; }
  constexpr void set_stored(int n, value v) { (is_half(g_[n].type) ? bits_ : r_.map).items[n] = v; }

  /// Node n, as floats if it is of a 16-bit type.
  constexpr value computed(int n) {
    if (!is_half(g_[n].type)) return r_.map.items[n];
    value& v = floats_.items[n];
    if (!v.b) v = emit<from_half_bits_p>({bits_.items[n]}, {extent(g_[n].type)});
    return v;
  }
  constexpr value stored(int n) {
    if (!is_half(g_[n].type)) return r_.map.items[n];
    value& v = bits_.items[n];
    if (!v.b) v = emit<to_half_bits_p>({floats_.items[n]}, {extent(g_[n].type)});
    return v;
  }

  /// Whether node n only moves elements of operands that are there as bits.
  constexpr bool moves_bits(int n) const {
    const node& x = g_[n];
    const bool moves = x.op->kind == role::view || x.op->kind == role::gather || x.op_id == primitive_of<concatenate_p>.id ||
                       x.op_id == primitive_of<pad_p>.id || x.op_id == primitive_of<reshape_p>.id || x.op_id == primitive_of<roll_p>.id ||
                       x.op_id == primitive_of<assemble_p>.id || x.op_id == primitive_of<scatter_p>.id || x.op_id == primitive_of<select_p>.id;
    if (!moves || !is_half(x.type)) return false;
    for (int k = 0; k < x.operand_count; ++k)
      if (const int o = g_.operand(n, k); is_half(g_[o].type) && !bits_.items[o].b) return false;
    return true;
  }

  constexpr void rewrite(int n) {
    const node& x = g_[n];
    const bool half = is_half(x.type);
    const bool as_bits = x.op_id == primitive_of<bit_cast_p>.id || moves_bits(n);
    for (int k = 0; k < x.operand_count; ++k)
      if (const int o = g_.operand(n, k); is_half(g_[o].type)) r_.map.items[o] = as_bits ? stored(o) : computed(o);
    call c = r_.at(n);
    if (half) c.type = as_bits ? dtype::uint16 : dtype::float32;
    const value v = c.op->id == primitive_of<convert_p>.id && half ? convert(c[0], dtype::float32) : to_.emit_inferred(c);
    if (!half) r_.map.items[n] = v;
    else if (as_bits) bits_.items[n] = v;
    else {
      floats_.items[n] = v;
      if (x.op_id == primitive_of<convert_p>.id) static_cast<void>(stored(n)), floats_.items[n] = value();  // as was asked for, it is rounded
    }
  }
};

}  // namespace cotangent
