/// Freezing: a frozen graph and plan are what was evaluated, whatever the capacity of the list of numbers in between.

#include <cotangent/compiler/memory.hpp>
#include <cotangent/transforms/grad.hpp>

namespace ct = cotangent;

constexpr auto norm = [](auto x, auto w) { return ct::sum(ct::sin(x * w) + 0.5); };
struct make_graph {
  constexpr ct::graph operator()() const {
    ct::graph g = ct::vjp_graph(ct::trace_function<ct::var<float, 3, ct::dyn>, ct::var<float, ct::dyn>>(norm).body, ct::flag_list(2, 1), true);
    g.subgraphs.push_back(ct::trace_function<ct::var<double>>([](auto x) { return x * x; }).body);
    return g;
  }
};
struct make_canonical_graph {
  constexpr ct::graph operator()() const { return ct::canonicalize(ct::simplify(make_graph{}())); }
};
struct no_donations {
  constexpr ct::flag_list operator()() const { return ct::flag_list(2, 0); }
};

template <class List, class Same> constexpr bool equal(const List& a, const List& b, Same same) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (!same(a[i], b[i])) return false;
  return true;
}
constexpr auto is_same = [](const auto& a, const auto& b) { return a == b; };

constexpr bool equal(const ct::graph& a, const ct::graph& b) {
  const auto same_node = [&](const ct::node& x, const ct::node& y) {
    if (x.op != y.op || x.op_id != y.op_id || x.type != y.type || !(x.dims == y.dims) || x.bits != y.bits) return false;
    if (x.operand_count != y.operand_count || x.attribute_count != y.attribute_count) return false;
    for (int k = 0; k < x.operand_count; ++k)
      if (a.operands[std::size_t(x.operands + k)] != b.operands[std::size_t(y.operands + k)]) return false;
    for (int k = 0; k < x.attribute_count; ++k)
      if (a.attributes[std::size_t(x.attributes + k)] != b.attributes[std::size_t(y.attributes + k)]) return false;
    return true;
  };
  const auto same_equality = [](const ct::equality& x, const ct::equality& y) { return x.a == y.a && x.b == y.b; };
  return equal(a.nodes, b.nodes, same_node) && equal(a.inputs, b.inputs, is_same) && equal(a.outputs, b.outputs, is_same) &&
         equal(a.symbols, b.symbols, is_same) && equal(a.equalities, b.equalities, same_equality) && a.error.view() == b.error.view() &&
         equal(a.subgraphs, b.subgraphs, [](const ct::graph& x, const ct::graph& y) { return equal(x, y); });
}

constexpr auto frozen = ct::freeze<make_graph{}>();
static_assert(frozen.nodes.size() > 10 && frozen.equalities.size() > 0 && frozen.headers.size() == 2);
static_assert(equal(ct::thaw(frozen), make_graph{}()), "a thawed graph is the graph that was frozen");
constexpr auto frozen_twice = ct::freeze<make_graph{}, 16>();
static_assert(equal(ct::thaw(frozen_twice), make_graph{}()), "what does not fit into the list of numbers is packed again");

constexpr auto plan = ct::make_plan<make_canonical_graph{}, no_donations{}>();
constexpr auto plan_twice = ct::make_plan<make_canonical_graph{}, no_donations{}, 16>();
constexpr ct::schedule schedule() { return ct::make_schedule(make_canonical_graph{}(), no_donations{}(), {}, nullptr); }
static_assert(plan.steps.size() == schedule().steps.size() && plan.statements.size() == schedule().statements.size());
static_assert(plan_twice.statements.size() == plan.statements.size());

template <class Plan> constexpr bool equal(const Plan& p, const ct::schedule& s) {
  for (std::size_t i = 0; i < p.statements.size(); ++i) {
    const ct::statement &a = p.statements[i], &b = s.statements[i];
    if (a.what != b.what || a.type != b.type || a.node != b.node || a.op_id != b.op_id || a.bits != b.bits || a.buffer != b.buffer) return false;
    if (a.register_count != b.register_count || a.where.offset != b.where.offset || !(a.where.strides == b.where.strides)) return false;
    for (int k = 0; k < a.register_count; ++k)
      if (a.registers[k] != b.registers[k]) return false;
  }
  for (std::size_t i = 0; i < p.steps.size(); ++i) {
    const ct::step &a = p.steps[i], &b = s.steps[i];
    if (a.node != b.node || !(a.space == b.space) || a.statements != b.statements || a.statement_count != b.statement_count) return false;
    if (a.buffers != b.buffers || a.buffer_count != b.buffer_count || a.slots != b.slots || a.slot_count != b.slot_count) return false;
  }
  for (std::size_t i = 0; i < p.buffers.size(); ++i) {
    const ct::buffer &a = p.buffers[i], &b = s.buffers[i];
    if (a.where != b.where || a.number != b.number || a.type != b.type || !(a.dims == b.dims) || a.first != b.first || a.last != b.last) return false;
    if (a.offset != b.offset || a.reuses != b.reuses) return false;
  }
  return p.arena_bytes == s.arena_bytes && p.dynamic_arena == s.dynamic_arena;
}
static_assert(equal(plan, schedule()) && equal(plan_twice, schedule()), "a plan is the schedule that was made");

constexpr bool long_values_begin_apart() {
  ct::arena_room room;
  ct::extent end = 0, last = -1;
  for (ct::extent bytes : {64, 100 * 64, 1 << 16, 1 << 16, 5 * 64, 1 << 20}) {
    const ct::extent begin = room.begin(end, bytes);
    if (begin < end || begin % ct::arena_alignment != 0) return false;
    end += ct::arena_room::bytes(bytes);
    if (begin + bytes > end) return false;
    if (bytes < ct::arena_room::least) continue;
    if (begin % ct::extent(ct::page) == last) return false;
    last = begin % ct::extent(ct::page);
  }
  return true;
}
static_assert(long_values_begin_apart(), "values of many pages have room, and do not all begin where a page does");
