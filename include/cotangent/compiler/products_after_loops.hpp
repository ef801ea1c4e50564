#pragma once
/// Sums of products over the turns of a loop, as one product after it. What each turn adds to a large carry, as the cotangents of a matrix that every
/// turn multiplies with are added up, may be products of much smaller arrays, outer products of vectors: the turns then keep these, and one
/// product sums over the turns as well. The carry is not read and written once a turn.

#include <cotangent/control/scan_primitive.hpp>
#include <cotangent/graph/freeze.hpp>
#include <cotangent/transforms/simplify.hpp>

namespace cotangent {

class products_after_loops {
 public:
  explicit constexpr products_after_loops(const graph& g) : g_(g), r_(g, to_) {}

  /// Whether some loop has a carry so large.
  static constexpr bool concerns(const graph& g) {
    for (int n = 0; n < g.size(); ++n) {
      if (g[n].op_id != primitive_of<scan_p>.id) continue;
      const extent carries = call_form(g, n).own[1];
      for (int k = 0; k < carries; ++k)
        if (is_large(g[g.operand(n, k)].dims)) return true;
    }
    return false;
  }
  constexpr graph run() {
    copy_inputs(r_);
    for (int n = 0; n < g_.size(); ++n)
      if (g_[n].op_id != primitive_of<scan_p>.id || !take_out(n)) r_.copy(n);
    return replayed(r_);
  }
  /// Whether `run` has found such sums.
  constexpr bool changed() const { return changed_; }

 private:
  /// A product, transposed or not, that a turn adds to a carry.
  struct term {
    int product, as_added;
  };
  const graph& g_;
  builder to_;
  replay r_;
  bool changed_ = false;

  static constexpr bool is_large(const shape& dims) {
    constexpr extent least = 4096;  // others stay in the first cache
    return !has_symbol(dims) && dims.size() >= least;
  }
  /// What is added to the carry `before` where node n is made, which only that uses; false if it is not a sum of it and of products.
  static constexpr bool collect(const graph& turn, const sequence<int>& uses, int n, int before, bool& found, sequence<term>& terms) {
    if (uses[std::size_t(n)] != 1) return false;
    if (n == before) return found = true;
    const node& x = turn[n];
    if (x.op_id == primitive_of<add_p>.id) {
      for (int k = 0; k < 2; ++k)
        if (!collect(turn, uses, turn.operand(n, k), before, found, terms)) return false;
      return true;
    }
    const int product = x.op_id == primitive_of<transpose_p>.id ? turn.operand(n, 0) : n;
    if (turn[product].op_id != primitive_of<dot_general_p>.id || uses[std::size_t(product)] != 1) return false;
    terms.push_back({product, n});
    return true;
  }
  /// Whether keeping the factors of a carry's terms, for all turns, is less than reading and writing it.
  static constexpr bool gains(const scan_call& s, int carry, const sequence<term>& terms) {
    constexpr extent most_kept = extent(1) << 24;  // numbers of all turns
    const graph& turn = s.body;
    const shape& dims = turn[turn.inputs[s.carry(std::size_t(carry))]].dims;
    if (terms.empty() || !is_large(dims) || !is_floating(turn[terms[0].product].type)) return false;
    extent factors = 0;
    for (const term& t : terms)
      for (int k = 0; k < 2; ++k) {
        const node& x = turn[turn.operand(t.product, k)];
        if (has_symbol(x.dims)) return false;
        factors += x.dims.size();
      }
    return 4 * factors <= dims.size() && factors * s.length <= most_kept;
  }

  /// Replaces the loop n, if that can be done.
  constexpr bool take_out(int n) {
    constexpr extent least_turns = 8;
    const scan_call s = scan_p::read(r_.at(n));
    const graph turn = borrowed(s.body);
    if (is_symbol(s.length) || s.length < least_turns || !turn.symbols.empty()) return false;
    const sequence<int> uses = uses_of(turn);
    const std::size_t carries = s.carries.size();
    sequence<sequence<term>> taken;  // per carry; none: it stays
    bool any = false;
    for (std::size_t k = 0; k < carries; ++k) {
      const int in = turn.inputs[s.carry(k)];
      sequence<term> terms;
      bool found = false;
      const bool fits = collect(turn, uses, turn.outputs[k], in, found, terms) && found && gains(s, int(k), terms);
      if (!fits) terms.clear();
      any = any || fits;
      taken.push_back(terms);
    }
    if (!any) return false;

    // The turn without these carries, and with the factors as further results.
    builder b;
    replay r(turn, b);
    scan_call t;
    t.length = s.length, t.reverse = s.reverse, t.indexed = s.indexed, t.xs = s.xs, t.constants = s.constants;
    for (std::size_t i = 0; i < s.inputs(); ++i) {
      const std::size_t k = i - s.carry(0);
      if (i >= s.carry(0) && k < carries) {
        if (!taken[k].empty()) continue;
        t.carries.push_back(s.carries[k]);
      }
      const node& x = turn[turn.inputs[i]];
      r.map[std::size_t(turn.inputs[i])] = b.input(x.type, x.dims);
    }
    flag_list gone;
    gone.assign(turn.nodes.size(), false);
    for (std::size_t k = 0; k < carries; ++k)
      if (!taken[k].empty()) gone[std::size_t(turn.inputs[s.carry(k)])] = true;
    for (int m = 0; m < turn.size(); ++m) {
      for (int k = 0; k < turn[m].operand_count; ++k) gone[std::size_t(m)] = gone[std::size_t(m)] || gone[std::size_t(turn.operand(m, k))];
      if (!turn[m].is_input() && !gone[std::size_t(m)]) r.copy(m);
    }
    for (std::size_t o = 0; o < turn.outputs.size(); ++o)
      if (o >= carries || taken[o].empty()) b.g.outputs.push_back(r.map[std::size_t(turn.outputs[o])].id);
    sequence<int> kept;  // factors, in the order of their results
    for (const sequence<term>& terms : taken)
      for (const term& x : terms)
        for (int k = 0; k < 2; ++k) {
          const int factor = turn.operand(x.product, k);
          bool is_new = element_of(s, factor) < 0;
          for (int f : kept) is_new = is_new && f != factor;
          if (is_new) kept.push_back(factor), b.g.outputs.push_back(r.map[std::size_t(factor)].id);
        }
    t.body = remove_dead(b.finish());
    const sequence<value> made = scan_p::write(to_, std::move(t));
    changed_ = true;
    if (to_.failed()) return true;

    const std::size_t first = made.size() - kept.size();
    const auto of_all_turns = [&](int factor) {
      if (const int k = element_of(s, factor); k >= 0) return s.xs[std::size_t(k)];
      std::size_t i = 0;
      while (kept[i] != factor) ++i;
      return made[first + i];
    };
    sequence<value> results;
    std::size_t next = 0;
    for (std::size_t o = 0; o < turn.outputs.size(); ++o) {
      if (o >= carries || taken[o].empty()) {
        results.push_back(made[next++]);
        continue;
      }
      value sum = s.carries[o];
      for (const term& x : taken[o]) {
        dot_dimensions d = dot_general_p::dimensions(call_at(turn, x.product));
        d.lhs_batch = shifted(d.lhs_batch), d.rhs_batch = shifted(d.rhs_batch);
        d.lhs_contracted = insert(shifted(d.lhs_contracted), 0, 0), d.rhs_contracted = insert(shifted(d.rhs_contracted), 0, 0);
        value added = dot_general(of_all_turns(turn.operand(x.product, 0)), of_all_turns(turn.operand(x.product, 1)), d);
        if (x.as_added != x.product) {
          shape order;
          for (int i = 0; i < turn[x.as_added].dims.rank; ++i) order.push_back(turn.attribute(x.as_added, i));
          added = transpose(added, order);
        }
        sum = sum + added;
      }
      results.push_back(sum);
    }
    r_.set_results(n, results);
    return true;
  }
  /// Which of the loop's elements node n of its body is, or -1.
  static constexpr int element_of(const scan_call& s, int n) {
    for (std::size_t k = 0; k < s.xs.size(); ++k)
      if (s.body.inputs[s.element(k)] == n) return int(k);
    return -1;
  }
};

template <class Make> struct make_products_after_loops {
  constexpr graph operator()() const {
    const graph g = Make{}();
    products_after_loops pass(g);
    graph r = pass.run();
    if (!pass.changed()) return {};
    return r;
  }
};
template <class Make> inline constexpr bool may_have_products_after_loops = products_after_loops::concerns(Make{}());
/// The maker of the graph with such products after its loops, where there are some.
template <class Make> using with_products_after_loops = with_changes<make_products_after_loops<Make>, Make, may_have_products_after_loops<Make>>;

}  // namespace cotangent
