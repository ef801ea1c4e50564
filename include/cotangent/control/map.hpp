#pragma once
/// map: one instance after the other, or one batch after the other.

#include <cotangent/control/scan.hpp>

namespace cotangent {

template <extent N> struct batch_size_tag {};
/// N instances at once.
template <extent N> inline constexpr batch_size_tag<N> batch_size{};

/// The results of a scan without carries whose steps run all at once.
constexpr sequence<value> write_at_once(builder& b, const scan_call& s) {
  if (s.length == 0) return scan_p::write(b, s);
  sequence<int> in_axes, out_axes;
  sequence<value> operands;
  for (value v : s.xs) in_axes.push_back(0), operands.push_back(v);
  for (value v : s.constants) in_axes.push_back(not_mapped), operands.push_back(v);
  out_axes.assign(s.body.outputs.size(), 0);
  return inline_graph(b, batch_graph(s.body, in_axes, out_axes, is_symbol(s.length) ? dyn : s.length), operands);
}

template <class F, extent Batch> struct sequentially_mapped : transform_base<sequentially_mapped<F, Batch>> {
  [[no_unique_address]] F f;
  constexpr sequentially_mapped() = default;
  constexpr explicit sequentially_mapped(const F& function) : f(function) {}
  template <class G> using with = sequentially_mapped<G, Batch>;

  /// f as the body of a scan without a carry.
  struct body {
    [[no_unique_address]] F f;
    template <class Carry, class X> constexpr auto operator()(const Carry& carry, const X& x) const { return std::tuple(carry, f(x)); }
  };
  using scanning = scanned<body, scan_options<>>;
  template <class Xs> using inner_arguments = std::tuple<typename unbatched<Xs, leading_axes>::type>;
  template <class Xs> struct types_for {
    using type = std::tuple_element_t<1, typename scanning::template result<std::tuple<>, Xs>>;
  };
  template <class Xs> using result = typename types_for<Xs>::type;

  template <class Xs> constexpr closure transformed(nesting level) const {
    return scanning(body{f}).template transformed_with<std::tuple<>, Xs>(level, [](builder& b, const scan_call& s) {
      if constexpr (Batch <= 1) return scan_p::write(b, s);
      else return write_in_turns(b, s, Batch, write_at_once, write_at_once);
    });
  }
};

/// f of each x along the leading axis of xs, a tree, one after the other; the results are stacked. With
/// `ct::batch_size<N>` N of them run at once, as under ct::vmap. JAX: jax.lax.map.
template <class F, class Xs> constexpr auto map(const F& f, const Xs& xs) { return sequentially_mapped<F, 1>(f)(xs); }
template <class F, class Xs, extent N> constexpr auto map(const F& f, const Xs& xs, batch_size_tag<N>) {
  static_assert(N >= 1, "map: the batch size must be at least 1");
  return sequentially_mapped<F, N>(f)(xs);
}

}  // namespace cotangent
