#pragma once
/// jit(f).explain(...): what the cost model says of a program, and of the programs that it was chosen over.

#include <cstdio>

#include <cotangent/compiler/estimate.hpp>
#include <cotangent/compiler/report.hpp>

namespace cotangent {

/// A number with a unit's prefix: 12.3 M for 12300000.
inline std::string scaled_text(double x, const char* unit) {
  const char* prefixes[] = {"", "k", "M", "G", "T"};
  int p = 0;
  while (x >= 999.5 && p < 4) x /= 1000, ++p;
  char text[64];
  std::snprintf(text, sizeof text, "%.3g %s%s", x, prefixes[p], unit);
  return text;
}
inline std::string time_text(double nanoseconds) {
  return nanoseconds < 999.5 ? scaled_text(nanoseconds, "ns") : nanoseconds < 999.5e3 ? scaled_text(nanoseconds / 1e3, "us") : scaled_text(nanoseconds / 1e6, "ms");
}

/// A way to run a graph; without choices, the one that is chosen.
struct alternative {
  std::string name;
  graph g;  // canonical
  const schedule_choices* choices = nullptr;
};

/// The schedule of an alternative, with the values of its symbols.
class explained {
 public:
  explained(const alternative& a, const sequence<shape>& inputs) : g_(a.g) {
    sequence<symbol> symbols;
    if (a.choices) {
      scheduler s(g_, {}, *a.choices);
      schedule_ = s.run();
      symbols = s.symbols;
    } else schedule_ = chosen_schedule(g_, {}, symbols);
    extents_ = symbol_values(symbols, inputs);
  }
  const schedule& steps() const { return schedule_; }
  double nanoseconds() const { return cost_model().nanoseconds(cost_model().all()); }

  std::string summary() const {
    const step_estimate all = cost_model().all();
    const std::size_t n = schedule_.steps.size();
    return std::to_string(n) + (n == 1 ? " step, " : " steps, ") + scaled_text(all.bytes, "B") + ", " + scaled_text(all.flops, "flop") + ": about " + time_text(nanoseconds());
  }
  /// A line per step, with what limits it.
  std::string lines() const {
    std::string text;
    const estimator model = cost_model();
    for (int i = 0; i < int(schedule_.steps.size()); ++i) {
      const step& s = schedule_.steps[std::size_t(i)];
      const step_estimate e = model.step_at(i);
      text += "  step " + std::to_string(i) + ": " + (s.node >= 0 ? std::string(g_[s.node].op->name) : "kernel over " + shape_text(s.space));
      text += ", " + scaled_text(e.bytes, "B") + ", " + scaled_text(e.flops, "flop") + ": about " + time_text(model.nanoseconds(e)) + (e.memory > e.arithmetic ? ", memory" : ", arithmetic") + '\n';
    }
    return text;
  }

 private:
  const graph& g_;
  schedule schedule_;
  sequence<extent> extents_;

  estimator cost_model() const { return estimator(schedule_, g_, extents_); }
};

/// Whether the program of a simplified graph is one of elements.
inline bool by_elements(const graph& simplified) {
  const element_limits limits = instances_of(simplified);
  if (limits.few == 0) return false;
  per_instance_program elements(simplified, limits);
  static_cast<void>(elements.run());
  return elements.fits();
}
template <class P> constexpr bool has_primitive(const graph& g) {
  for (const node& n : g.nodes)
    if (n.op_id == primitive_of<P>.id) return true;
  return false;
}
/// What else the compiler could have made of a simplified graph whose program is `chosen`, and `is_by_elements` or not.
inline sequence<alternative> alternatives_of(const graph& simplified, const graph& chosen, bool is_by_elements) {
  sequence<alternative> others;
  if (has_primitive<chunks_p>(chosen)) others.push_back({"all rows of long axes at once", canonicalize(simplified)});
  if (has_primitive<packets_p>(chosen)) others.push_back({"arrays of all instances", canonicalize(simplified)});
  else if (is_by_elements || may_split_loops(simplified)) others.push_back({"arrays, not their elements", canonicalize(simplified)});
  else if (has_elements(simplified, {})) {
    per_instance_program elements(simplified);
    graph g = elements.run();
    if (elements.fits()) others.push_back({"elements, an instance per lane", canonicalize(g)});
  }
  static constexpr schedule_choices over_all_rows{true, false, true}, none_again{false, true, false}, large_again{true, true, true}, large_stored{true, true, false};
  others.push_back({"each step over all rows", chosen, &over_all_rows});
  others.push_back({"every value stored, none computed again", chosen, &none_again});
  others.push_back({"large arrays of smaller ones computed again", chosen, &large_again});
  others.push_back({"large arrays of smaller ones stored", chosen, &large_stored});
  return others;
}

/// What jit(f).explain says of a simplified graph, the canonical one that was made of it, and the inputs' shapes.
inline std::string explain_text(const graph& simplified, graph canonical, const sequence<shape>& inputs) {
  const alternative chosen{"", std::move(canonical)};
  const explained own(chosen, inputs);
  const bool is_by_elements = by_elements(simplified);
  const char* const how = is_by_elements ? "elements, an instance per lane; " : has_primitive<packets_p>(chosen.g) ? "packets of instances; " : has_primitive<chunks_p>(chosen.g) ? "chunks of a long axis; " : "";
  std::string text = std::string("chosen: ") + how + own.summary() + '\n' + own.lines();
  for (const alternative& a : alternatives_of(simplified, chosen.g, is_by_elements)) {
    const explained other(a, inputs);
    const bool same = other.steps().steps.size() == own.steps().steps.size() && other.nanoseconds() == own.nanoseconds() && other.steps().blocks.size() == own.steps().blocks.size();
    if (!same) text += "instead, " + a.name + ": " + other.summary() + '\n';
  }
  return text;
}

template <class F> template <class... A> std::string jitted<F>::explain(const A&... arguments) const {
  using make = make_canonical<host::backend, F, traced_tree<A>...>;
  sequence<shape> inputs;
  (for_each_leaf([&](const auto& leaf) {
     if constexpr (requires { leaf.shape(); }) inputs.push_back(leaf.shape());
     else inputs.push_back({});
   }, arguments), ...);
  return explain_text(with_gathered_views(thaw(simplified_function<F, traced_tree<A>...>)), thaw(canonical_graph<make>), inputs);
}

}  // namespace cotangent
