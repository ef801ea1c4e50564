#pragma once
/// A compiled program: the optimized graph of a function for argument types, and how it runs.

#include <cotangent/compiler/complex_parts.hpp>
#include <cotangent/compiler/components.hpp>
#include <cotangent/compiler/control.hpp>
#include <cotangent/compiler/executable.hpp>
#include <cotangent/compiler/halves.hpp>
#include <cotangent/compiler/taken_rows.hpp>
#include <cotangent/core/array.hpp>
#include <cotangent/transforms/function.hpp>

namespace cotangent {

template <class F, class... V> struct make_unpruned {
  constexpr graph operator()() const { return simplify(thaw(traced_function<F, V...>)); }
};
template <class F, class... V> inline constexpr auto unpruned_function = freeze<make_unpruned<F, V...>{}>();
template <class F, class... V> struct make_pruned {
  constexpr graph operator()() const { return prune_results(thaw(unpruned_function<F, V...>)); }
};
template <class F, class... V> inline constexpr auto pruned_function = freeze<make_pruned<F, V...>{}>();
/// The function of `g` with results of zeros and an error.
constexpr graph without_result(const graph& g, const message& why) {
  builder b;
  replay r(g, b);
  copy_inputs(r);
  for (int o : g.outputs) b.g.outputs.push_back(constant(b, g[o].type, g[o].dims, 0).id);
  graph failed = b.finish();
  failed.error = why;
  return failed;
}
template <class F, class... V> struct make_simplified {
  constexpr graph operator()() const {
    if (const message why = unbound_axis(thaw(traced_function<F, V...>)); !why.empty()) return without_result(thaw(traced_function<F, V...>), why);
    // With bodies, each pass is an evaluation of its own.
    if constexpr (std::remove_cvref_t<decltype(traced_function<F, V...>)>::sizes.graphs > 1) return share_calls(thaw(pruned_function<F, V...>));
    else return simplify(thaw(traced_function<F, V...>));
  }
};
/// The optimized graph, as users see it.
template <class F, class... V> inline constexpr auto simplified_function = freeze<make_simplified<F, V...>{}>();
/// Whether it has arrays of types that kernels do not have.
struct stored_types {
  bool complex = false, halves = false;
};
template <class F, class... V> constexpr stored_types types_stored() {
  const graph g = thaw(simplified_function<F, V...>);
  return {complex_pass::concerns(g), half_pass::concerns(g)};
}
template <class F, class... V> inline constexpr stored_types types_stored_by = types_stored<F, V...>();
template <class F, class... V> struct make_of_parts {
  constexpr graph operator()() const { return complex_pass(thaw(simplified_function<F, V...>)).run(); }
};
template <class F, class... V> inline constexpr auto function_of_parts = freeze<make_of_parts<F, V...>{}>();
template <class F, class... V> struct thaw_of_parts {
  constexpr graph operator()() const {
    if constexpr (types_stored_by<F, V...>.complex) return thaw(function_of_parts<F, V...>);
    else return thaw(simplified_function<F, V...>);
  }
};
template <class F, class... V> struct make_of_bits {
  constexpr graph operator()() const { return half_pass(thaw_of_parts<F, V...>()()).run(); }
};
template <class F, class... V> inline constexpr auto function_of_bits = freeze<make_of_bits<F, V...>{}>();
template <class F, class... V> struct thaw_of_bits {
  constexpr graph operator()() const {
    if constexpr (types_stored_by<F, V...>.halves) return thaw(function_of_bits<F, V...>);
    else return thaw_of_parts<F, V...>()();
  }
};
template <class F, class... V> struct make_of_taken_rows {
  constexpr graph operator()() const { return taken_rows::of(thaw_of_bits<F, V...>()()); }
};
template <class F, class... V> inline constexpr auto function_of_taken_rows = freeze<make_of_taken_rows<F, V...>{}>();
template <class F, class... V> inline constexpr bool takes_rows = taken_rows::concerns(thaw_of_bits<F, V...>()());
template <class F, class... V> struct thaw_of_taken_rows {
  constexpr graph operator()() const {
    if constexpr (takes_rows<F, V...>) return thaw(function_of_taken_rows<F, V...>);
    else return thaw_of_bits<F, V...>()();
  }
};
template <class F, class... V> struct make_components {
  constexpr graph operator()() const {
    const graph g = thaw_of_taken_rows<F, V...>()();
    return component_pass(g).run();
  }
};
template <class F, class... V> inline constexpr auto function_of_components = freeze<make_components<F, V...>{}>();
template <class F, class... V> inline constexpr bool has_components = component_pass::concerns(thaw_of_taken_rows<F, V...>()());
/// The same, of types that kernels have, without rows that nothing takes, and of parts where parts are taken.
template <class F, class... V> struct thaw_simplified {
  constexpr graph operator()() const {
    if constexpr (has_components<F, V...>) return thaw(function_of_components<F, V...>);
    else return thaw_of_taken_rows<F, V...>()();
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
