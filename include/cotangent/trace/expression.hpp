#pragma once
/// `expression`: an operation on concrete arrays, deferred. Used as an array it runs as one fused program, compiled like
/// any traced function: `array<float, 3> y = a * x + ct::sin(z);`.

#include <ostream>
#include <tuple>

#include <cotangent/core/device_array.hpp>
#include <cotangent/core/print.hpp>
#include <cotangent/core/tree.hpp>
#include <cotangent/trace/functions.hpp>
#include <cotangent/trace/var.hpp>

namespace cotangent {

/// Stands for leaf I of the arguments of a function that captures variables (transforms/captures.hpp).
template <int I, class T, extent... E> struct hole {};
template <int I, class T, extent... E> struct leaf_traits<hole<I, T, E...>> : leaf_traits<var<T, E...>> {};
template <class Leaf> inline constexpr int hole_number = -1;
template <int I, class T, extent... E> inline constexpr int hole_number<hole<I, T, E...>> = I;

/// A large array as a leaf: a view of its elements; while constants are evaluated a copy, which takes nothing where a rule makes them.
template <class T, extent... E> class viewed_array {
  view<const T, E...> elements_;
  const array<T, E...>* copy_ = nullptr;

 public:
  constexpr explicit viewed_array(const array<T, E...>& a) {
    if (std::is_constant_evaluated()) copy_ = new array<T, E...>(a);
    else elements_ = a;
  }
  constexpr viewed_array(const viewed_array& o) : elements_(o.elements_), copy_(o.copy_ ? new array<T, E...>(*o.copy_) : nullptr) {}
  viewed_array& operator=(const viewed_array&) = delete;
  constexpr ~viewed_array() { delete copy_; }

  constexpr const array<T, E...>& constant() const { return *copy_; }
  const view<const T, E...>& elements() const { return elements_; }
};
template <class T, extent... E> struct leaf_traits<viewed_array<T, E...>> : leaf_traits<view<const T, E...>> {};

/// A leaf as an argument of a compiled function.
template <class Leaf> const Leaf& argument_of(const Leaf& leaf) { return leaf; }
template <class T, extent... E> const view<const T, E...>& argument_of(const viewed_array<T, E...>& leaf) { return leaf.elements(); }

/// Runs a function on arrays: compiled on first use of these types (compiler/jit.hpp).
template <class F, class... A> auto run_compiled(const F& f, A&&... arguments);

/// The deferred call of a stateless function on leaves: numbers, arrays that are stored inline (up to 1 KiB), and views of
/// larger ones. Views are not owners: use an expression before the large arrays that it was made of go.
template <class F, class... Leaves> class expression {
 public:
  /// The var that F returns.
  using result = decltype(F{}(std::declval<const rebind_tree<Leaves, var>&>()...));
  using value_type = typename result::value_type;
  static constexpr cotangent::shape type_shape() { return result::type_shape(); }
  static constexpr int rank() { return result::rank(); }

  std::tuple<Leaves...> leaves;

  /// The result. Throws shape_error if run-time extents disagree.
  auto evaluate() const {
    constexpr bool has_value = (true && ... && (hole_number<Leaves> < 0));
    static_assert(has_value, "a function that captures variables is called outside a trace: inside it an argument has no value yet");
    if constexpr (has_value) return std::apply([](const auto&... leaf) { return run_compiled(F{}, argument_of(leaf)...); }, leaves);
    else return rebind_tree<result, array>();
  }
  /// Rank 0 converts to its element.
  operator value_type() const requires(result::rank() == 0) { return value_type(evaluate()); }
  /// Not allowed: each operation has a type of its own.
  template <class X> requires (!std::is_same_v<X, expression>) constexpr auto& operator=(const X&) {
    static_assert(sizeof(X) == 0, "an expression of concrete arrays is assigned to; give the result a name of its own. In a function that captures variables, an argument is one "
                                  "where it is called with concrete arrays, as a loop with a first carry of ct::zeros: a first carry of the trace, ct::zeros_like(x), is a var");
    return *this;
  }
  /// The elements at indices, as of a var; of traced ones in their trace.
  template <class... I> requires (sizeof...(I) > 0) constexpr auto operator()(const I&... i) const { return elements_at(*this, i...); }

  /// The result as a constant of the trace of `beside`.
  template <class V> constexpr auto in_trace(const V& beside) const {
    return std::apply([&](const auto&... leaf) { return F{}(number_or_constant(beside, leaf)...); }, leaves);
  }

 private:
  template <class V, class Leaf> static constexpr auto number_or_constant(const V& beside, const Leaf& leaf) {
    if constexpr (number<Leaf>) return literal(var<Leaf>(value(beside)), leaf);
    else if constexpr (hole_number<Leaf> >= 0) return rebind_tree<Leaf, var>(beside.b->dead());  // only its type counts
    else if constexpr (requires { leaf.constant(); }) return array_constant(beside, leaf.constant());
    else return array_constant(beside, leaf);
  }
};

template <class F, class... Leaves> std::ostream& operator<<(std::ostream& out, const expression<F, Leaves...>& e) {
  return out << e.evaluate();
}

/// An expression's result; anything else as it is.
template <class X> constexpr decltype(auto) evaluated(X&& x) {
  if constexpr (is_expression<X>) return x.evaluate();
  else return std::forward<X>(x);
}

/// The operands of a deferred operation: how many leaves each takes, and what it is, given those as vars.
struct leaf_operand {
  static constexpr int leaves = 1;
  template <class V> static constexpr V make(const V& leaf) { return leaf; }
};
template <class F, int Leaves> struct expression_operand {
  static constexpr int leaves = Leaves;
  template <class... V> static constexpr auto make(const V&... leaf) { return F{}(leaf...); }
};
/// A C++ number, which adopts the dtype of what stands beside it.
template <class U> struct number_operand {
  static constexpr int leaves = 1;
  template <class V> static constexpr V make(const V& leaf) { return leaf; }
};
template <class X> inline constexpr bool is_number_operand = false;
template <class U> inline constexpr bool is_number_operand<number_operand<U>> = true;

/// G on operands, as a function of all their leaves. Adopt: numbers take the dtype that they take beside the first array.
template <class G, bool Adopt, class... Operands> struct deferred {
  template <class... V> constexpr auto operator()(const V&... leaves) const {
    return call(std::tuple<V...>(leaves...), std::index_sequence_for<Operands...>{});
  }

 private:
  static constexpr int count = int(sizeof...(Operands));
  static constexpr int first_leaf(int operand) {
    const int sizes[] = {Operands::leaves...};
    int n = 0;
    for (int k = 0; k < operand; ++k) n += sizes[k];
    return n;
  }
  /// The first operand that is no number.
  static constexpr int first_array() {
    const bool numbers[] = {is_number_operand<Operands>...};
    int k = 0;
    while (k + 1 < count && numbers[k]) ++k;
    return k;
  }
  template <int K> using operand = std::tuple_element_t<std::size_t(K), std::tuple<Operands...>>;

  template <int K, class Leaves> static constexpr auto make(const Leaves& leaves) {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return operand<K>::make(std::get<std::size_t(first_leaf(K)) + I>(leaves)...);
    }(std::make_index_sequence<std::size_t(operand<K>::leaves)>{});
  }
  template <class Operand, class Beside, class V> static constexpr auto adopt(const V& x) {
    if constexpr (Adopt && is_number_operand<Operand>)
      return apply<astype_function{adopted_dtype<typename V::value_type>(Beside::type)}>(x);
    else return x;
  }
  template <class Leaves, std::size_t... K> static constexpr auto call(const Leaves& leaves, std::index_sequence<K...>) {
    using beside = decltype(make<first_array()>(leaves));
    return G{}(adopt<Operands, beside>(make<int(K)>(leaves))...);
  }
};

/// The leaves that an operand brings to a deferred operation: small arrays are copied, others are viewed.
template <class X> constexpr auto leaves_of_operand(const X& x) {
  if constexpr (is_expression<X>) return x.leaves;
  else if constexpr (number<X> || std::is_trivially_copyable_v<X>) return std::tuple<X>(x);
  else if constexpr (is_device_array_v<X>)
    return [&]<class T, extent... E>(const device_array<T, E...>& a) { return std::tuple<device_view<const T, E...>>(a); }(x);
  else
    return [&]<class T, extent... E>(std::type_identity<array<T, E...>>) {
      return std::tuple(viewed_array<T, E...>(x));
    }(std::type_identity<rebind_tree<X, array>>{});
}
template <class X> struct operand_of { using type = std::conditional_t<number<X>, number_operand<X>, leaf_operand>; };
template <class F, class... Leaves> struct operand_of<expression<F, Leaves...>> {
  using type = expression_operand<F, int(sizeof...(Leaves))>;
};

/// An operand of a function in the trace of `beside`; numbers stay.
template <class V, class X> constexpr auto operand_beside(const V& beside, const X& x) {
  if constexpr (number<X>) return x;
  else return as_var(beside, x);
}
/// A stateless function of vars on concrete operands; of vars among them in their trace.
template <bool Adopt, class G, class... X> constexpr auto defer_call(G g, const X&... x) {
  if constexpr ((traced<X> || ...)) return g(operand_beside(first_traced(x...), x)...);
  else return [&]<class... Leaves>(std::tuple<Leaves...> leaves) {
    return expression<deferred<G, Adopt, typename operand_of<X>::type...>, Leaves...>{std::move(leaves)};
  }(std::tuple_cat(leaves_of_operand(x)...));
}
template <auto Fn> struct typed_function {
  template <class... V> constexpr auto operator()(const V&... operands) const { return apply<Fn>(operands...); }
};
template <auto Fn, class... X> constexpr auto defer(const X&... x) { return defer_call<true>(typed_function<Fn>{}, x...); }

}  // namespace cotangent
