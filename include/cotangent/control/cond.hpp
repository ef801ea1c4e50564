#pragma once
/// cond and switch_: a choice between functions at run time.

#include <cotangent/control/switch_primitive.hpp>
#include <cotangent/transforms/function.hpp>

namespace cotangent {

/// Calls one of F..., given its number and their arguments. A boolean chooses between F0 (true) and F1 (false).
template <bool Boolean, class... F> struct chosen_function : transform_base<chosen_function<Boolean, F...>> {
  [[no_unique_address]] std::tuple<F...> functions;
  constexpr chosen_function() = default;
  constexpr explicit chosen_function(const std::tuple<F...>& f) : functions(f) {}

  template <class... A> using first_result = traced_result<std::tuple_element_t<0, std::tuple<F...>>, A...>;
  template <class Index, class... A> struct why_wrong {
    constexpr message operator()() const {
      constexpr std::string_view who = Boolean ? "cond" : "switch_";
      if constexpr (!traced<Index>) return message{} << who << ": what chooses must be a scalar";
      else {
        if (Index::rank() != 0 || is_floating(Index::type) || is_complex(Index::type))
          return message{} << who << (Boolean ? ": the predicate must be a boolean or integer scalar, but it is " : ": the index must be an integer scalar, but it is ") << Index::type << Index::type_shape();
        message m;
        const auto look = [&](const message& why) {
          if (m.empty()) m = why;
        };
        (look(difference<traced_result<F, A...>, first_result<A...>>(Boolean ? "cond: the branches must return the same types" : "switch_: the branches must return the same types")), ...);
        return m;
      }
    }
  };
  template <class Index, class... A> using result = first_result<A...>;

  template <class Index, class... A> constexpr closure transformed(nesting level) const {
    if (const message why = why_wrong<Index, A...>{}(); !why.empty()) return {failed_graph<result<Index, A...>, Index, A...>(why), {}};
    return std::apply(
        [&](const F&... f) {
          closure branches[] = {trace_for_transform<A...>(f, level)...};
          return choice<Index, A...>(branches, sizeof...(F));
        },
        functions);
  }

 private:
  template <class Index, class... A> static constexpr closure choice(closure* branches, std::size_t count) {
    builder b;
    static_cast<void>(input_tree<Index>(b));
    value index{&b, b.g.inputs[0]};
    (static_cast<void>(input_tree<A>(b)), ...);
    switch_call s;
    for (std::size_t i = 1; i < b.g.inputs.size(); ++i) s.operands.push_back({&b, b.g.inputs[i]});
    const std::size_t n = s.operands.size();
    sequence<value> captured;
    for (std::size_t k = 0; k < count; ++k) {
      const graph& g = branches[k].body;
      if (!g.error.empty()) b.fail(g.error);
      s.operands = concat(s.operands, inputs_like(b, g, g.inputs.size() - n, n));
      captured = concat(captured, branches[k].captured);
    }
    // Every branch takes what all of them captured.
    std::size_t first = n;
    for (std::size_t k = 0; k < count; ++k) {
      builder branch;
      const sequence<value> in = inputs_like(branch, s.operands);
      sequence<value> given;
      const graph& g = branches[k].body;
      for (std::size_t i = 0; i < g.inputs.size(); ++i) given.push_back(in[i < n ? i : first + i - n]);
      first += g.inputs.size() - n;
      for (value v : inline_graph(branch, g, given)) branch.g.outputs.push_back(v.id);
      s.branches.push_back(branch.finish());
    }
    if (Boolean) {
      index = convert(ne(index, zeros_like(index)), dtype::int32);
      const graph yes = s.branches[0];
      s.branches[0] = s.branches[1], s.branches[1] = yes;
    } else {
      index = convert(index, dtype::int32);
      index = min(max(index, zeros_like(index)), full_like(index, double(count - 1)));
    }
    s.index = index;
    for (value v : switch_p::write(b, s)) b.g.outputs.push_back(v.id);
    return {b.finish(), captured};
  }
};

/// yes(arguments...) if `predicate`, a boolean or integer scalar, is true (not 0), else no(arguments...). Both must return
/// the same types; only the one that is chosen runs. Under vmap with a predicate per instance both run, and each instance
/// takes its own. JAX: jax.lax.cond.
template <class P, class Yes, class No, class... A> constexpr auto cond(const P& predicate, const Yes& yes, const No& no, const A&... arguments) {
  return chosen_function<true, Yes, No>({yes, no})(predicate, arguments...);
}

/// Function number `index`, an integer scalar clamped to [0, functions), of the arguments. JAX: jax.lax.switch.
template <class I, class... F, class... A> constexpr auto switch_(const I& index, const std::tuple<F...>& functions, const A&... arguments) {
  static_assert(sizeof...(F) > 0, "switch_: there is no function to choose");
  if constexpr (sizeof...(F) == 1) return std::get<0>(functions)(arguments...);
  else return chosen_function<false, F...>(functions)(index, arguments...);
}

}  // namespace cotangent
