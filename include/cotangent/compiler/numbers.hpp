#pragma once
/// Numbers that multiply, as derivatives bring many: left to what uses the product, up to where they meet other numbers or a sum,
/// which multiplies once.

#include <cotangent/primitives/primitives.hpp>

namespace cotangent {

/// The numbers that the values of a graph leave to what uses them. A value leaves its number if all that uses it can multiply by it
/// without more operations. Numbers of moderate size alone: products must not leave the range of the dtype where they did not before.
class left_numbers {
 public:
  constexpr explicit left_numbers(const graph& g) : g_(g) {
    const node* const nodes = g.nodes.items;  // as in all hot loops: operator[] costs several times as much
    leaves_.assign(g.nodes.size(), true), numbers_.assign(g.nodes.size(), 1.0);
    for (int o : g.outputs) leaves_.items[o] = false;
    for (int n = g.size(); n-- > 0;) {
      const node& x = nodes[n];
      if (leaves_.items[n] && x.type != dtype::float32 && x.type != dtype::float64) leaves_.items[n] = false;
      const int* const operands = g.operands.items + x.operands;
      for (int k = 0; k < x.operand_count; ++k)
        if (leaves_.items[operands[k]] && !takes(n, k)) leaves_.items[operands[k]] = false;
    }
  }

  constexpr bool leaves(int n) const { return leaves_.items[n]; }
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
    if (leaves(n) && is_moderate(number, 0x1p40)) {
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
  const graph& g_;
  bool some_left_ = false;  // whether a value left its number
  flag_list leaves_;
  sequence<double> numbers_;

  /// Whether node n multiplies by the number of its operand k without more operations.
  constexpr bool takes(int n, int k) const {
    const std::uint64_t op = g_.nodes.items[n].op_id;
    const auto is_number = [&](int other) { return g_[g_.operand(n, other)].op_id == primitive_of<constant_p>.id; };
    if (op == primitive_of<reduce_sum_p>.id || op == primitive_of<neg_p>.id) return true;
    if (op == primitive_of<mul_p>.id) return leaves_.items[n] || is_number(1 - k);
    if (op == primitive_of<div_p>.id) return k == 0 && (leaves_.items[n] || is_number(1));
    if (op == primitive_of<select_p>.id) return leaves_.items[n] && k > 0 && is_constant(g_[g_.operand(n, 3 - k)], 0);
    return false;
  }
};

}  // namespace cotangent
