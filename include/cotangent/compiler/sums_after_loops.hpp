#pragma once
/// Sums over instances, out of the loops that make them.

#include <cotangent/control/scan_primitive.hpp>

namespace cotangent {

/// Takes sums over instances out of loops. What each turn sums and adds to a carry, as the cotangents of parameters that all instances share,
/// is added up per instance through all turns and summed once, after the loop. So a turn works instance by instance.
///
/// Which sums are over instances says what sums_of(loop) returns: sums(turn, n) of a reduce_sum n of the loop's body, and sums.count() how many
/// instances there are.
template <class SumsOf> class sums_after_loops {
 public:
  constexpr sums_after_loops(const graph& g, const SumsOf& sums_of) : g_(g), sums_of_(sums_of), r_(g, to_) {}

  constexpr graph run() {
    copy_inputs(r_);
    for (int n = 0; n < g_.size(); ++n)
      if (g_[n].op_id != primitive_of<scan_p>.id || !take_out(n)) r_.copy(n);
    return replayed(r_);
  }

 private:
  static constexpr extent most_elements = 256;  // of an instance, in all sums
  const graph& g_;
  const SumsOf& sums_of_;
  builder to_;
  replay r_;

  /// What a turn does with its sums.
  struct sums_of_turn {
    sequence<int> sums;
    flag_list depends;            // per node, whether it depends on a sum
    sequence<int> carries, added;  // which only such nodes are added to; per carry that node
    bool fit = true;
  };
  static constexpr bool is_zero(const node& x) { return x.op_id == primitive_of<constant_p>.id && x.bits == 0; }
  /// Whether node n, which depends on sums, is a linear function of them alone.
  static constexpr bool is_linear(const graph& turn, const sums_of_turn& s, int n) {
    const node& x = turn[n];
    if (!x.op->has.linear) return false;
    bool scaled = false;  // by a number
    for (int k = 0; k < x.operand_count; ++k) {
      const int o = turn.operand(n, k);
      if (s.depends[std::size_t(o)] ? !x.op->linear(call_at(turn, n), k) : !is_zero(turn[o]) && turn[o].op_id != primitive_of<constant_p>.id) return false;
      scaled = scaled || (!s.depends[std::size_t(o)] && !is_zero(turn[o]));
    }
    return !scaled || x.op->bilinear;
  }
  constexpr sums_of_turn find_sums(const scan_call& s) const {
    const graph& turn = s.body;
    const auto sums = sums_of_(s);
    sums_of_turn r;
    r.depends.assign(turn.nodes.size(), false);
    flag_list allowed = r.depends;  // as an operand of what does not depend on sums: the sum of a carry and what is added to it
    const sequence<int> uses = uses_of(turn);
    extent elements = 0;
    for (std::size_t k = 0; k < s.carries.size(); ++k) {
      const int o = turn.outputs[k], in = turn.inputs[s.carry(k)];
      if (turn[o].op_id != primitive_of<add_p>.id || uses[std::size_t(o)] != 1 || uses[std::size_t(in)] != 1) continue;
      const int which = turn.operand(o, 0) == in ? 1 : turn.operand(o, 1) == in ? 0 : -1;
      if (which < 0) continue;
      r.carries.push_back(int(k)), r.added.push_back(turn.operand(o, which)), allowed[std::size_t(o)] = true;
    }
    for (int n = 0; n < turn.size(); ++n) {
      if (turn[n].op_id == primitive_of<reduce_sum_p>.id && sums(turn, n)) {
        r.sums.push_back(n), r.depends[std::size_t(n)] = true;
        elements += turn[turn.operand(n, 0)].dims.size() / sums.count();
        continue;
      }
      for (int k = 0; k < turn[n].operand_count && !allowed[std::size_t(n)]; ++k)
        if (r.depends[std::size_t(turn.operand(n, k))]) r.depends[std::size_t(n)] = true;
      if (r.depends[std::size_t(n)]) r.fit = r.fit && is_linear(turn, r, n);
    }
    sequence<int> carries, added;  // those that sums are added to
    for (std::size_t i = 0; i < r.carries.size(); ++i)
      if (r.depends[std::size_t(r.added[i])]) carries.push_back(r.carries[i]), added.push_back(r.added[i]);
    r.carries = carries, r.added = added;
    for (int o : turn.outputs) r.fit = r.fit && !r.depends[std::size_t(o)];
    r.fit = r.fit && r.sums.size() > 0 && elements <= most_elements;
    return r;
  }

  /// The part i of an array of elements that is added to that element of an array; -1 if it is not made so.
  static constexpr int added_to_element(const graph& turn, int assembled, int i, int array) {
    const int n = turn.operand(assembled, i);
    if (turn[n].op_id != primitive_of<add_p>.id) return -1;
    for (int k = 0; k < 2; ++k) {
      const int o = turn.operand(n, k);
      if (turn[o].op_id != primitive_of<pick_p>.id || turn.operand(o, 0) != array) continue;
      extent place = 0;
      for (int a = 0; a < turn[o].attribute_count; ++a) place = turn.attribute(o, a) < 0 ? -1 : place < 0 ? place : place * turn[array].dims[a] + turn.attribute(o, a);
      if (place == i) return turn.operand(n, 1 - k);
    }
    return -1;
  }
  /// What is added to the elements of carry k, whose sums the body puts together; none if it does something else.
  static constexpr sequence<int> added_to_elements(const scan_call& s, std::size_t k) {
    const int o = s.body.outputs[k], in = s.body.inputs[s.carry(k)];
    sequence<int> added;
    if (s.body[o].op_id != primitive_of<assemble_p>.id || s.body[o].dims != s.body[in].dims || s.body[o].operand_count != s.body[o].dims.size()) return {};
    for (int i = 0; i < s.body[o].operand_count; ++i) {
      added.push_back(added_to_element(s.body, o, i, in));
      if (added.back() < 0) return {};
    }
    return added;
  }
  /// The body, where what is added to each element of a carry is put together and added to the whole carry; no nodes if there is nothing of this.
  static constexpr graph with_carries_whole(const scan_call& s) {
    const graph& turn = s.body;
    builder b;
    replay r(turn, b);
    copy_inputs(r);
    for (int n = 0; n < turn.size(); ++n) r.copy(n);
    bool changes = false;
    for (std::size_t o = 0; o < turn.outputs.size(); ++o) {
      value v = r.map[std::size_t(turn.outputs[o])];
      sequence<value> parts;
      if (o < s.carries.size())
        for (int n : added_to_elements(s, o)) parts.push_back(r.map[std::size_t(n)]);
      if (!parts.empty()) v = r.map[std::size_t(turn.inputs[s.carry(o)])] + assemble(b, parts, v.dims(), {}), changes = true;
      b.g.outputs.push_back(v.id);
    }
    if (!changes) return {};
    return remove_dead(b.finish());
  }

  /// Replaces the loop n, if that can be done.
  constexpr bool take_out(int n) {
    scan_call s = scan_p::read(r_.at(n));
    if (graph whole = with_carries_whole(s); whole.size() > 0) s.body = std::move(whole);
    const graph turn = borrowed(s.body);
    const sums_of_turn found = find_sums(s);
    if (!found.fit) return false;
    const std::size_t carries = s.carries.size();
    flag_list gone;
    gone.assign(carries, false);
    for (int k : found.carries) gone[std::size_t(k)] = true;

    // The turn without these carries, but with a sum of its own for each instance.
    builder b;
    replay r(turn, b);
    scan_call t;
    t.length = s.length, t.reverse = s.reverse, t.indexed = s.indexed, t.xs = s.xs, t.constants = s.constants;
    const auto input = [&](std::size_t i) { r.map[std::size_t(turn.inputs[i])] = b.input(turn[turn.inputs[i]].type, turn[turn.inputs[i]].dims); };
    if (s.indexed) input(0);
    for (std::size_t k = 0; k < carries; ++k)
      if (!gone[k]) input(s.carry(k)), t.carries.push_back(s.carries[k]);
    sequence<value> own, outputs;
    for (int m : found.sums) {
      const node& terms = turn[turn.operand(m, 0)];
      own.push_back(b.input(terms.type, terms.dims)), t.carries.push_back(constant(to_, terms.type, terms.dims, 0));
    }
    for (std::size_t i = s.element(0); i < s.inputs(); ++i) input(i);
    for (int m = 0; m < turn.size(); ++m) {
      bool is_gone = found.depends[std::size_t(m)];
      for (int k : found.carries) is_gone = is_gone || m == turn.outputs[std::size_t(k)];
      if (!is_gone && !turn[m].is_input()) r.copy(m);
    }
    for (std::size_t o = 0; o < turn.outputs.size(); ++o) {
      if (o == carries)
        for (std::size_t i = 0; i < own.size(); ++i) outputs.push_back(own[i] + r.map[std::size_t(turn.operand(found.sums[i], 0))]);
      if (o >= carries || !gone[o]) outputs.push_back(r.map[std::size_t(turn.outputs[o])]);
    }
    if (carries == turn.outputs.size())
      for (std::size_t i = 0; i < own.size(); ++i) outputs.push_back(own[i] + r.map[std::size_t(turn.operand(found.sums[i], 0))]);
    for (value v : outputs) b.g.outputs.push_back(v.id);
    t.body = b.finish();
    const std::size_t kept = t.carries.size() - own.size();
    const sequence<value> made = scan_p::write(to_, std::move(t));
    if (to_.failed()) return true;

    // What the turns did with their sums, once.
    replay after(turn, to_);
    for (std::size_t i = 0; i < found.sums.size(); ++i) {
      call c = call_at(turn, found.sums[i]);
      c.b = &to_, c.operands = &made[kept + i];
      after.map[std::size_t(found.sums[i])] = to_.emit_inferred(c);
    }
    for (int m = 0; m < turn.size(); ++m)
      if (!after.map[std::size_t(m)] && (found.depends[std::size_t(m)] || turn[m].op_id == primitive_of<constant_p>.id)) after.copy(m);
    sequence<value> results;
    std::size_t next = 0;
    for (std::size_t o = 0; o < turn.outputs.size(); ++o) {
      if (o == carries) next += own.size();
      if (o >= carries || !gone[o]) results.push_back(made[next++]);
      else
        for (std::size_t i = 0; i < found.carries.size(); ++i)
          if (found.carries[i] == int(o)) results.push_back(s.carries[o] + after.map[std::size_t(found.added[i])]);
    }
    r_.set_results(n, results);
    return true;
  }
};

}  // namespace cotangent
