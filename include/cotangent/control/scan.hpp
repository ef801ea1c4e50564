#pragma once
/// scan and fori_loop with static bounds: loops whose number of steps is known before they run.

#include <cotangent/control/scan_primitive.hpp>
#include <cotangent/transforms/vmap.hpp>

namespace cotangent {

struct reverse_tag {};
/// From the last element to the first.
inline constexpr reverse_tag reverse{};
template <extent N> struct length_tag {};
/// The number of steps of a scan over nothing.
template <extent N> inline constexpr length_tag<N> length{};
template <int K> struct unroll_tag {};
/// K steps in each turn of the loop, fused together.
template <int K> inline constexpr unroll_tag<K> unroll{};

/// The options of a scan as one type. Length is dyn if it is not given.
template <bool Reverse = false, extent Length = dyn, int Unroll = 1> struct scan_options {
  static constexpr bool reverse = Reverse;
  static constexpr extent length = Length;
  static constexpr int unroll = Unroll;
};
template <class Options, class... Tags> struct with_options {
  using type = Options;
};
template <bool R, extent N, int K, class... Rest> struct with_options<scan_options<R, N, K>, reverse_tag, Rest...> : with_options<scan_options<true, N, K>, Rest...> {};
template <bool R, extent N, int K, extent M, class... Rest>
struct with_options<scan_options<R, N, K>, length_tag<M>, Rest...> : with_options<scan_options<R, M, K>, Rest...> {
  static_assert(M >= 0, "scan: the length is negative");
};
template <bool R, extent N, int K, int L, class... Rest>
struct with_options<scan_options<R, N, K>, unroll_tag<L>, Rest...> : with_options<scan_options<R, N, L>, Rest...> {
  static_assert(L >= 1, "scan: unroll takes at least 1 step in each turn");
};

/// `count` rows of x along its leading axis.
constexpr value rows_of(value x, extent from, extent count) {
  shape start = filled(x.rank(), 0), size = x.dims();
  start[0] = from, size[0] = count;
  return slice(x, start, size, filled(x.rank(), 1));
}

/// The body of an indexed scan that starts to count at its last constant.
constexpr graph counting_from_last_constant(const graph& g) {
  builder b;
  replay r(g, b);
  copy_inputs(r);
  const value first = b.input(dtype::int32, {});
  const std::size_t index = std::size_t(g.inputs[0]);
  r.map[index] = r.map[index] + first;
  for (int n = 0; n < g.size(); ++n) r.copy(n);
  for (int o : g.outputs) b.g.outputs.push_back(r.map[std::size_t(o)].id);
  return b.finish();
}

/// A scan in turns of k steps, and what is left over after them (in reverse: before). make_turn(b, steps) gives the
/// results of a scan of k steps in the body of the turns; write_rest(b, steps) those of what is left over.
template <class MakeTurn, class WriteRest>
constexpr sequence<value> write_in_turns(builder& b, const scan_call& s, extent k, const MakeTurn& make_turn, const WriteRest& write_rest) {
  if (b.failed() || !s.body.error.empty()) return scan_p::write(b, s);
  const std::size_t n = s.carries.size();
  const extent turns = b.symbols.combine(symbol::quotient, s.length, k), whole = b.symbols.combine(symbol::product, turns, k);
  scan_call turn = s, rest = s;
  turn.length = turns, rest.length = b.symbols.combine(symbol::difference, s.length, whole);
  for (value& x : turn.xs) {
    shape dims = insert(x.dims(), 0, turns);
    dims[1] = k;
    x = reshape(rows_of(x, 0, whole), dims);
  }
  for (value& x : rest.xs) x = rows_of(x, whole, rest.length);
  if (s.indexed) {
    rest.body = counting_from_last_constant(s.body);
    rest.constants.push_back(is_symbol(whole) ? extent_value(b, dtype::int32, whole) : constant(b, dtype::int32, {}, double(whole)));
  }
  {
    builder body;
    value index;
    if (s.indexed) index = body.input(dtype::int32, {});
    scan_call steps;
    steps.body = s.body, steps.length = k, steps.reverse = s.reverse, steps.indexed = s.indexed;
    const sequence<value> in = inputs_like(body, s.body, n, std::size_t(s.indexed));
    steps.carries = in;
    for (std::size_t i = 0; i < s.xs.size(); ++i) {
      const node& x = s.body[s.body.inputs[s.element(i)]];
      shape dims = insert(x.dims, 0, k);
      for (int axis = 1; axis < dims.rank; ++axis)
        if (is_symbol(dims[axis])) dims[axis] = body.input_extent(axis);
      steps.xs.push_back(body.input(x.type, dims));
    }
    steps.constants = inputs_like(body, s.body, s.constants.size(), s.constant(0));
    if (s.indexed) {
      steps.body = counting_from_last_constant(s.body);
      steps.constants.push_back(index * double(k));
    }
    for (value v : make_turn(body, steps)) body.g.outputs.push_back(v.id);
    turn.body = body.finish();
  }
  sequence<value> in_turns, left;
  const auto run_turns = [&] {
    in_turns = scan_p::write(b, turn);
    if (!s.reverse)
      for (std::size_t i = 0; i < n && !b.failed(); ++i) rest.carries[i] = in_turns[i];
  };
  const auto run_rest = [&] {
    left = write_rest(b, rest);
    if (s.reverse)
      for (std::size_t i = 0; i < n && !b.failed(); ++i) turn.carries[i] = left[i];
  };
  if (s.reverse) run_rest(), run_turns();
  else run_turns(), run_rest();
  sequence<value> results;
  if (b.failed()) return results;
  for (std::size_t i = 0; i < n; ++i) results.push_back(s.reverse ? in_turns[i] : left[i]);
  for (std::size_t o = n; o < in_turns.size(); ++o) {
    shape dims = erase(in_turns[o].dims(), 0);
    dims[0] = whole;
    results.push_back(concatenate({reshape(in_turns[o], dims), left[o]}, 0));
  }
  return results;
}

/// The results of a scan of a known length, step by step.
constexpr sequence<value> write_steps(builder& b, const scan_call& s) {
  const std::size_t n = s.carries.size();
  sequence<value> state = s.carries, results;
  sequence<sequence<value>> ys;
  for (extent j = 0; j < s.length; ++j) {
    const extent at = s.reverse ? s.length - 1 - j : j;
    sequence<value> in;
    if (s.indexed) in.push_back(constant(b, dtype::int32, {}, double(at)));
    for (value v : state) in.push_back(v);
    for (value x : s.xs) in.push_back(reshape(rows_of(x, at, 1), erase(x.dims(), 0)));
    ys.push_back(inline_graph(b, s.body, concat(in, s.constants)));
    for (std::size_t i = 0; i < n; ++i) state[i] = ys.back()[i];
  }
  results = state;
  for (std::size_t o = n; o < s.body.outputs.size() && !b.failed(); ++o) {
    sequence<value> rows;
    for (extent at = 0; at < s.length; ++at) {
      const value y = ys[std::size_t(s.reverse ? s.length - 1 - at : at)][o];
      rows.push_back(reshape(y, insert(y.dims(), 0, 1)));
    }
    results.push_back(concatenate(rows, 0));
  }
  return results;
}

/// K steps of a scan in each turn of the loop.
constexpr sequence<value> write_unrolled(builder& b, const scan_call& s, extent k) {
  if (k <= 1) return scan_p::write(b, s);
  return write_in_turns(b, s, k, write_steps, scan_p::write);
}

/// The graph of a loop whose operands are the leaves of Operands... (carries, then xs) and what the body captured. The
/// body maps ([index], carries, elements of xs, captured) to (carries, elements of ys). write(b, scan) gives its results.
template <class... Operands, class Write> constexpr closure loop_graph(closure body, std::size_t carries, bool indexed, extent length, bool is_reverse, const Write& write) {
  builder b;
  (static_cast<void>(input_tree<Operands>(b)), ...);
  scan_call s;
  s.length = length, s.reverse = is_reverse, s.indexed = indexed;
  for (std::size_t i = 0; i < b.g.inputs.size(); ++i) (i < carries ? s.carries : s.xs).push_back({&b, b.g.inputs[i]});
  const std::size_t own = b.g.inputs.size() + std::size_t(indexed);
  s.constants = inputs_like(b, body.body, body.body.inputs.size() - own, own);
  if (length == dyn) s.length = s.xs[0].dims()[0];
  s.body = std::move(body.body);
  for (value v : write(b, s)) b.g.outputs.push_back(v.id);
  return {b.finish(), body.captured};
}

/// Whether the tree Next can follow the tree Carry from one step to the next; says what is wrong, if something is.
template <class Carry, class Next> constexpr message carry_difference(std::string_view who) {
  message m;
  if constexpr (!std::is_same_v<Carry, Next>) {
    sequence<message> before, after;
    const auto list = []<class... Leaf>(types<Leaf...>, sequence<message>& to) { (to.push_back(message{} << Leaf::type << Leaf::type_shape()), ...); };
    list(leaf_types<Carry>{}, before), list(leaf_types<Next>{}, after);
    if (before.size() != after.size())
      return m << who << ": the carry has " << int(before.size()) << (before.size() == 1 ? " array" : " arrays") << " before a step and " << int(after.size()) << " after it";
    for (std::size_t i = 0; i < before.size(); ++i)
      if (before[i].view() != after[i].view())
        return m << who << ": the carry must keep its type: array " << int(i) << " of it is " << before[i].view() << " before a step and " << after[i].view() << " after it";
    m << who << ": the carry must keep its type: its arrays fit, but the structure of the tree differs";
  }
  return m;
}

template <class F, class Options> struct scanned : transform_base<scanned<F, Options>> {
  [[no_unique_address]] F f;
  constexpr scanned() = default;
  constexpr explicit scanned(const F& function) : f(function) {}
  template <class G> using with = scanned<G, Options>;

  /// The extent of the leading axis of xs. Says what is wrong, if something is.
  template <class Xs> static constexpr extent steps(message* why = nullptr) {
    extent n = Options::length;
    bool given = n != dyn;
    const auto look = [&]<class Leaf>(type_is<Leaf>) {
      const shape s = Leaf::type_shape();
      given = true;
      if (s.rank == 0) {
        if (why) *why = message{} << "scan: an array to scan over is a scalar (" << Leaf::type << "[]); it needs a leading axis";
        return;
      }
      if (n == dyn) n = s[0];
      else if (s[0] != dyn && s[0] != n && why && Options::length != dyn)
        *why = message{} << "scan: the length is " << n << ", but an array to scan over has leading extent " << s[0] << " (" << Leaf::type << s << ")";
      else if (s[0] != dyn && s[0] != n && why)
        *why = message{} << "scan: the leading extents of the arrays to scan over differ: " << n << " and " << s[0] << " (" << Leaf::type << s << ")";
    };
    [&]<class... Leaf>(types<Leaf...>) { (look(type_is<Leaf>{}), ...); }(leaf_types<Xs>{});
    if (!given && why) *why = message{} << "scan: there is nothing to scan over, so the number of steps must be given: ct::length<N>";
    return n;
  }
  template <class Xs> static constexpr bool scannable = [] {
    message m;
    steps<Xs>(&m);
    return m.empty();
  }();

  template <class Carry, class Xs> struct body_types {
    using element = typename unbatched<Xs, leading_axes>::type;
    using out = traced_result<F, Carry, element>;
    static constexpr bool is_pair = [] {
      if constexpr (!is_leaf_v<out> && requires { std::tuple_size<out>::value; }) return std::tuple_size_v<out> == 2;
      else return false;
    }();
    static auto parts() {
      if constexpr (is_pair) return std::type_identity<std::tuple<std::tuple_element_t<0, out>, std::tuple_element_t<1, out>>>{};
      else return std::type_identity<std::tuple<Carry, std::tuple<>>>{};
    }
    using next = std::tuple_element_t<0, typename decltype(parts())::type>;
    using y = std::tuple_element_t<1, typename decltype(parts())::type>;
    using ys = typename batched<y, leading_axes, steps<Xs>()>::type;
    static constexpr message why() {
      if (!is_pair) return message{} << "scan: the function must return a pair (carry, y); ct::none is a y without arrays";
      return carry_difference<Carry, next>("scan");
    }
  };
  template <class Carry, class Xs> struct why_wrong {
    constexpr message operator()() const {
      message m;
      steps<Xs>(&m);
      if constexpr (scannable<Xs>) m = body_types<Carry, Xs>::why();
      return m;
    }
  };
  template <class Carry, class Xs> static constexpr bool fits = why_wrong<Carry, Xs>{}().empty();
  template <class Carry, class Xs> using inner_arguments = std::tuple<Carry, typename body_types<Carry, Xs>::element>;
  template <class Carry, class Xs> struct types_for {
    using type = std::tuple<Carry, typename body_types<Carry, Xs>::ys>;
  };
  struct no_types {
    using type = std::tuple<var<float>, var<float>>;
  };
  template <class Carry, class Xs> using result = typename std::conditional_t<fits<Carry, Xs>, types_for<Carry, Xs>, no_types>::type;

  template <class Carry, class Xs> constexpr closure transformed(nesting level) const {
    return transformed_with<Carry, Xs>(level, [](builder& b, const scan_call& s) { return write_unrolled(b, s, Options::unroll); });
  }
  template <class Carry, class Xs, class Write> constexpr closure transformed_with(nesting level, const Write& write) const {
    if constexpr (!fits<Carry, Xs>) return {failed_graph<result<Carry, Xs>, Carry, Xs>(why_wrong<Carry, Xs>{}()), {}};
    else
      return loop_graph<Carry, Xs>(trace_for_transform<Carry, typename body_types<Carry, Xs>::element>(f, level), std::size_t(leaf_count<Carry>), false,
                                   steps<Xs>(), Options::reverse, write);
  }
};

/// The number x in the dtype that the carry has after a step, if x is a C++ number: a literal takes the type of what is
/// added to it.
template <class Next, class X> constexpr auto as_carry(const X& x) {
  if constexpr (number<X> && traced<Next>) return static_cast<type_of<Next::type>>(x);
  else if constexpr (!is_leaf_v<X> && requires { std::tuple_size<X>::value; } && requires { typename std::tuple_element_t<0, Next>; }) {
    if constexpr (std::tuple_size_v<X> == std::tuple_size_v<Next>)
      return [&]<std::size_t... I>(std::index_sequence<I...>) {
        return std::tuple(as_carry<std::tuple_element_t<I, Next>>(std::get<I>(x))...);
      }(std::make_index_sequence<std::tuple_size_v<X>>{});
    else return x;
  } else return x;
}
template <class Init> consteval bool has_number() {
  if constexpr (is_expression<Init>) return false;
  else if constexpr (is_leaf_v<Init>) return number<Init>;
  else return []<class... Child>(types<Child...>) { return (false || ... || has_number<Child>()); }(children_of<Init>{});
}
template <class Scanned, class Init, class Xs> constexpr auto promoted_init(const Init& init, const Xs&) {
  if constexpr (has_number<Init>()) {
    if constexpr (Scanned::template scannable<traced_tree<Xs>>) {
      using first = typename Scanned::template body_types<argument_tree<Init>, traced_tree<Xs>>;
      if constexpr (first::is_pair) return as_carry<typename first::next>(init);
      else return init;
    } else return init;
  } else return init;
}

/// Calls f(carry, x) -> (carry, y) for each x along the leading axis of xs, from the first to the last; returns the last
/// carry and the ys, stacked along a new leading axis. Carry, xs and ys are trees; the carry keeps its shapes and dtypes.
/// Options: `ct::reverse` (from the last x to the first; ys[i] still belongs to xs[i]), `ct::length<N>` (needed if xs is
/// ct::none), `ct::unroll<K>` (K steps in each turn). f is compiled once, whatever the length. JAX: jax.lax.scan.
template <class F, class Init, class Xs, class... Options> constexpr auto scan(const F& f, const Init& init, const Xs& xs, Options...) {
  const scanned<F, typename with_options<scan_options<>, Options...>::type> s(f);
  return s(promoted_init<std::remove_cvref_t<decltype(s)>>(init, xs), xs);
}

/// f as the body of a scan over nothing, with the index.
template <class F, extent Low, extent High> struct counted : transform_base<counted<F, Low, High>> {
  [[no_unique_address]] F f;
  constexpr counted() = default;
  constexpr explicit counted(const F& function) : f(function) {}
  template <class G> using with = counted<G, Low, High>;
  template <class Carry> using inner_arguments = std::tuple<var<std::int32_t>, Carry>;
  template <class Carry> using result = Carry;

  template <class Carry> using next = traced_result<F, var<std::int32_t>, Carry>;
  template <class Carry> constexpr closure transformed(nesting level) const {
    if (const message why = carry_difference<Carry, next<Carry>>("fori_loop"); !why.empty()) return {failed_graph<Carry, Carry>(why), {}};
    closure body = trace_for_transform<var<std::int32_t>, Carry>(f, level);
    if (Low != 0 && body.body.error.empty()) {
      builder b;
      replay r(body.body, b);
      copy_inputs(r);
      const std::size_t index = std::size_t(body.body.inputs[0]);
      r.map[index] = r.map[index] + double(Low);
      for (int n = 0; n < body.body.size(); ++n) r.copy(n);
      for (int o : body.body.outputs) b.g.outputs.push_back(r.map[std::size_t(o)].id);
      body.body = b.finish();
    }
    return loop_graph<Carry>(std::move(body), std::size_t(leaf_count<Carry>), true, High > Low ? High - Low : 0, false, scan_p::write);
  }
};

/// carry = body(i, carry) for i = Low, …, High - 1, with i an int32 scalar; returns the last carry. Reverse mode works.
/// JAX: jax.lax.fori_loop with static bounds.
template <extent Low, extent High, class F, class Init> constexpr auto fori_loop(const F& body, const Init& init) {
  const counted<F, Low, High> loop(body);
  if constexpr (has_number<Init>()) return loop(as_carry<typename counted<F, Low, High>::template next<argument_tree<Init>>>(init));
  else return loop(init);
}

}  // namespace cotangent
