#pragma once
/// Numbers that multiply, as derivatives bring many: left to what uses the product, up to where they meet other numbers or a sum
/// along an axis, which multiplies once; signs, up to where values are added, which may subtract.

#include <cotangent/primitives/primitives.hpp>

namespace cotangent {

/// The numbers that the values of a graph leave to what uses them. A value leaves its number if all that uses it can multiply by it
/// without more operations. Numbers of moderate size alone: products must not leave the range of the dtype where they did not before.
/// A value that is added leaves its sign alone, if `to_sums`.
class left_numbers {
 public:
  constexpr left_numbers(const graph& g, bool to_sums) : g_(g), to_sums_(to_sums) {
    const node* const nodes = g.nodes.items;  // as in all hot loops: operator[] costs several times as much
    leaves_.assign(g.nodes.size(), what::number), numbers_.assign(g.nodes.size(), 1.0);
    for (int o : g.outputs) leaves_.items[o] = what::nothing;
    for (int n = g.size(); n-- > 0;) {
      const node& x = nodes[n];
      if (x.type != dtype::float32 && x.type != dtype::float64) leaves_.items[n] = what::nothing;
      const int* const operands = g.operands.items + x.operands;
      for (int k = 0; k < x.operand_count; ++k) {
        what& left = leaves_.items[operands[k]];
        if (left == what::nothing) continue;
        if (const what taken = takes(n, k); taken < left) left = taken;
      }
    }
  }

  constexpr bool leaves(int n) const { return leaves_.items[n] == what::number; }
  constexpr bool leaves_sign(int n) const { return leaves_.items[n] != what::nothing; }
  /// Whether node n left its sign, or a number with it.
  constexpr bool is_negative(int n) const { return numbers_.items[n] < 0; }
  /// What node n's operands leave to it, multiplied.
  constexpr double of_operands(int n) const {
    double product = 1;
    if (!some_left_) return product;
    for (int k = 0; k < g_[n].operand_count; ++k) product *= numbers_.items[g_.operand(n, k)];
    return product;
  }
  /// x times the number, or x, if node n leaves the number.
  constexpr value multiplied(int n, value x, double number) {
    if (number == 1) return x;
    if (number == -1 ? leaves_sign(n) : leaves(n) && is_moderate(number, 0x1p40)) {
      numbers_.items[n] = number, some_left_ = true;
      return x;
    }
    return number == -1 ? -x : x * number;
  }
  static constexpr bool is_moderate(double number, double most = 0x1p20) {
    const double size = number < 0 ? -number : number;
    return size >= 1 / most && size <= most;
  }

 private:
  enum class what : unsigned char { nothing, sign, number };

  const graph& g_;
  bool to_sums_;
  bool some_left_ = false;  // whether a value left its number
  sequence<what> leaves_;
  sequence<double> numbers_;

  /// What node n multiplies by of its operand k without more operations.
  constexpr what takes(int n, int k) const {
    const std::uint64_t op = g_.nodes.items[n].op_id;
    const auto is_number = [&](int other) { return g_[g_.operand(n, other)].op_id == primitive_of<constant_p>.id; };
    if (op == primitive_of<add_p>.id || op == primitive_of<sub_p>.id) return to_sums_ ? what::sign : what::nothing;
    if (op == primitive_of<reduce_sum_p>.id || op == primitive_of<neg_p>.id) return what::number;
    if (op == primitive_of<mul_p>.id) return is_number(1 - k) ? what::number : leaves_.items[n];
    if (op == primitive_of<div_p>.id && k == 0) return is_number(1) ? what::number : leaves_.items[n];
    if (op == primitive_of<select_p>.id && k > 0 && is_constant(g_[g_.operand(n, 3 - k)], 0)) return leaves_.items[n];
    return what::nothing;
  }
};

}  // namespace cotangent
