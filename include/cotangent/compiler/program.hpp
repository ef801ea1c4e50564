#pragma once
/// A compiled program: the optimized graph of a function for argument types, and how it runs.

#include <cotangent/compiler/control.hpp>
#include <cotangent/compiler/executable.hpp>
#include <cotangent/compiler/halves.hpp>
#include <cotangent/core/array.hpp>
#include <cotangent/transforms/function.hpp>

namespace cotangent {

/// Names the first node whose dtype kernels cannot compute in.
constexpr graph check_computable(graph g) {
  for (const node& n : g.nodes)
    if (g.error.empty() && !n.is_input() && !is_computable(n.type))
      g.error = message{} << n.op->name << ": dtype " << n.type << " can be stored but not computed in (" << n.type << n.dims << "); convert with ct::astype";
  for (int i : g.inputs)
    if (g.error.empty() && !is_computable(g[i].type))
      g.error = message{} << "input: dtype " << g[i].type << " can be stored but not computed in (" << g[i].type << g[i].dims << "); convert before the call";
  for (const graph& body : g.subgraphs)
    if (g.error.empty()) g.error = check_computable(body).error;
  return g;
}

template <class F, class... V> struct make_unpruned {
  constexpr graph operator()() const { return simplify(thaw(traced_function<F, V...>)); }
};
template <class F, class... V> inline constexpr auto unpruned_function = freeze<make_unpruned<F, V...>{}>();
template <class F, class... V> struct make_pruned {
  constexpr graph operator()() const { return prune_results(thaw(unpruned_function<F, V...>)); }
};
template <class F, class... V> inline constexpr auto pruned_function = freeze<make_pruned<F, V...>{}>();
template <class F, class... V> struct make_simplified {
  constexpr graph operator()() const {
    // With bodies, each pass is an evaluation of its own.
    if constexpr (std::remove_cvref_t<decltype(traced_function<F, V...>)>::sizes.graphs > 1) return check_computable(share_calls(thaw(pruned_function<F, V...>)));
    else return check_computable(simplify(thaw(traced_function<F, V...>)));
  }
};
/// The optimized graph, as users see it.
template <class F, class... V> inline constexpr auto simplified_function = freeze<make_simplified<F, V...>{}>();
template <class F, class... V> struct make_as_bits {
  constexpr graph operator()() const { return half_pass(thaw(simplified_function<F, V...>)).run(); }
};
template <class F, class... V> inline constexpr auto function_of_bits = freeze<make_as_bits<F, V...>{}>();
template <class F, class... V> inline constexpr bool uses_halves = has_halves(thaw(simplified_function<F, V...>));
template <class F, class... V> struct thaw_simplified {
  constexpr graph operator()() const {
    if constexpr (uses_halves<F, V...>) return thaw(function_of_bits<F, V...>);
    else return thaw(simplified_function<F, V...>);
  }
};
template <class Backend, class F, class... V> using make_canonical = make_canonical_of<thaw_simplified<F, V...>, Backend::choices.packets>;
template <class Backend, class F, class... V> inline constexpr const auto& canonical_function = canonical_graph<make_canonical<Backend, F, V...>>;
template <unsigned long Donated, int Leaves> struct donated_leaves {
  constexpr flag_list operator()() const {
    flag_list flags;
    for (int i = 0; i < Leaves; ++i) flags.push_back(i < 64 && (Donated >> i & 1) ? donated_to_any : 0);
    return flags;
  }
};

template <class Backend, class F, unsigned long Donated, class... V>
struct program : executable<make_canonical<Backend, F, V...>, donated_leaves<Donated, (0 + ... + leaf_count<V>)>, Backend> {
  static constexpr int leaves = (0 + ... + leaf_count<V>);
  using why_not = error_of<simplified_function<F, V...>>;
  static_assert(report<why_not{}>(lines_of<why_not{}>{}));
  static constexpr bool valid = why_not{}().empty();
};

}  // namespace cotangent
