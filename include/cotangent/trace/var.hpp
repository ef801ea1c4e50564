#pragma once
/// `var`: what a traced function sees in place of an array, and `apply`, by which every operation is typed.

#include <type_traits>
#include <utility>

#include <cotangent/core/fwd.hpp>
#include <cotangent/primitives/indexing.hpp>
#include <cotangent/trace/report.hpp>

namespace cotangent {

/// A traced array: its dtype and extents are in its type; its elements are known only when the program runs.
template <class T, extent... Extents> struct var {
  static_assert(element<T>, "var: T is not an element type");
  using value_type = T;
  static constexpr dtype type = dtype_of<T>;

  builder* b = nullptr;
  int id = -1;

  constexpr var() = default;
  constexpr explicit var(value v) : b(v.b), id(v.id) {}
  constexpr explicit operator value() const { return {b, id}; }
  /// Not allowed: while a function is traced its values are not known.
  template <class B> requires std::is_same_v<B, bool>
  constexpr explicit operator B() const {
    static_assert(!std::is_same_v<B, bool>, "a traced value has no truth value while the function is traced; choose with ct::where(condition, a, b)");
    return false;
  }

  static constexpr int rank() { return int(sizeof...(Extents)); }
  /// The extents; `dyn` where they are known only at run time.
  static constexpr cotangent::shape type_shape() { return {Extents...}; }
  static constexpr cotangent::shape shape() { return {Extents...}; }
  /// Extent `k`, from the end if negative; it must be static.
  static constexpr std::ptrdiff_t extent(int k) { return cotangent::shape{Extents...}[k < 0 ? k + rank() : k]; }
  static constexpr std::ptrdiff_t size() { return (std::ptrdiff_t(1) * ... * Extents); }

  /// x(i, …): one entry per leading axis: `full_extent`, `index<k>`, `range<first, last, step>`, an integer, or an
  /// integer var (clamped into the axis; negative counts from the end). `ellipsis` stands for whole axes, as many as the other entries
  /// leave. Index arrays of neighbouring axes broadcast together, and their axes take the place of x's; with another axis between them
  /// they are a compile error.
  template <class... I> constexpr auto operator()(const I&... i) const;
};

/// Not allowed: ct::var(x) would be a copy of x where its variance is meant.
template <class T> struct no_variance;
template <class T> struct var<no_variance<T>> {
  static_assert(sizeof(T) == 0, "ct::var is the type of a traced array; its variance is ct::variance(x) or ct::variance(x, ct::axis<0>)");
  constexpr var(const auto&...) {}
};
template <class T, extent... E, class... Tags> explicit var(const var<T, E...>&, Tags...) -> var<no_variance<T>>;

/// A var, whatever its dtype and extents.
template <class X>
concept traced = is_var_v<std::remove_cvref_t<X>>;

template <class X>
concept number = std::is_arithmetic_v<std::remove_cvref_t<X>> || is_half_float<std::remove_cvref_t<X>> || is_complex_number<std::remove_cvref_t<X>>;

template <class F, class... Leaves> class expression;
template <class X> inline constexpr bool is_expression_of = false;
template <class F, class... Leaves> inline constexpr bool is_expression_of<expression<F, Leaves...>> = true;
template <class X>
concept is_expression = is_expression_of<std::remove_cvref_t<X>>;

/// What operations take: a var, or outside a trace an array, a view or an expression.
template <class X>
concept tensor = traced<X> || is_expression<X> || (!number<X> && requires(const std::remove_cvref_t<X>& x) {
  x.data();
  std::remove_cvref_t<X>::type_shape();
});

/// Fn on concrete operands, as an expression (trace/expression.hpp).
template <auto Fn, class... X> constexpr auto defer(const X&... operands);

/// Family<T, extents of S...>.
template <template <class, extent...> class Family, class T, shape S> struct with_shape {
  template <std::size_t... I> static Family<T, S.dims[I]...> make(std::index_sequence<I...>);
  using type = decltype(make(std::make_index_sequence<std::size_t(S.rank)>{}));
};
template <dtype D, shape S> using var_of = typename with_shape<var, type_of<D>, S>::type;

/// The dtype and the extents (`dyn` for symbols) of what an operation returns.
struct signature {
  dtype type = dtype::float32;
  shape dims;
  bool valid = false;
};

/// Names the first operation that is not defined for complex numbers.
constexpr void check_complex(builder& b) {
  for (int n = 0; n < b.g.size(); ++n) {
    const node& x = b.g[n];
    if (x.is_input() || x.op->kind == role::element || x.op->has.several || x.op->has.of_complex || x.op->by_parts) continue;
    for (int k = 0; k < x.operand_count; ++k)
      if (const node& o = b.g[b.g.operand(n, k)]; is_complex(o.type)) return b.fail(message{} << x.op->name << ": not defined for complex numbers, got " << o.type << o.dims);
  }
}

/// The result of Fn on inputs of the types V, traced in an empty graph.
template <auto Fn, class... V> constexpr signature infer_signature(message* why = nullptr) {
  builder b;
  const auto make = [&](dtype type, shape dims) {
    for (int i = 0; i < dims.rank; ++i)
      if (dims[i] == dyn) dims[i] = b.input_extent(i);
    return b.input(type, dims);
  };
  value operands[] = {make(V::type, V::type_shape())...};
  const value r = [&]<std::size_t... I>(std::index_sequence<I...>) {
    return Fn(operands[I]...);
  }(std::index_sequence_for<V...>{});
  if ((is_complex(V::type) || ...)) check_complex(b);
  if (b.failed()) {
    if (why) *why = b.g.error;
    return {};
  }
  signature s{r.type(), r.dims(), true};
  for (int i = 0; i < s.dims.rank; ++i) {
    s.dims[i] = b.symbols.resolve(s.dims[i]);
    if (is_symbol(s.dims[i])) s.dims[i] = dyn;
  }
  return s;
}
template <auto Fn, class... V> inline constexpr signature signature_of = infer_signature<Fn, V...>();

template <auto Fn, class... V> struct why_not {
  constexpr message operator()() const {
    message m;
    infer_signature<Fn, V...>(&m);
    return m;
  }
};

template <auto Fn, class... V> constexpr auto apply_traced(const V&... operands) {
  constexpr signature s = signature_of<Fn, V...>;
  builder* const builders[] = {value(operands).b...};
  builder* b = builders[0];
  for (builder* other : builders)
    if (other->level > b->level) b = other;
  if constexpr (!s.valid) {
    using why = why_not<Fn, V...>;
    static_assert(report<why{}>(lines_of<why{}>{}));
    b->fail(why{}());
    return var<float>(b->dead());
  } else {
    return var_of<s.type, s.dims>(b->failed() ? b->dead() : Fn(value(operands)...));
  }
}

/// Fn, a function of untyped values, applied to typed ones. If it does not accept these types, the compile error
/// says why; the trace then fails too, so that nothing else is reported. On concrete arrays it is deferred.
template <auto Fn, class... V> constexpr auto apply(const V&... operands) {
  if constexpr ((tensor<V> || ...) && !(traced<V> || ...)) return defer<Fn>(operands...);
  else return apply_traced<Fn>(operands...);
}

/// The dtype that a C++ number takes beside an array of dtype `d`: the array's, unless that would lose its kind.
template <number U> constexpr dtype adopted_dtype(dtype d) {
  if (std::is_same_v<U, bool>) return d == dtype::boolean ? d : d;
  if constexpr (is_complex_number<U>) return is_complex(d) ? d : is_floating(d) ? complex_dtype(d) : dtype_of<U>;
  else if constexpr (is_half_float<U>) return is_floating(d) || is_complex(d) ? d : dtype_of<U>;
  if (std::is_floating_point_v<U> && !is_floating(d) && !is_complex(d)) return std::is_same_v<U, float> ? dtype::float32 : dtype::float64;
  return d == dtype::boolean ? dtype::int32 : d;
}

/// A number as a constant of dtype d.
template <number U> constexpr value number_constant(builder& b, dtype d, U x) {
  if constexpr (is_complex_number<U>) {
    const value re = constant(b, real_dtype(d), {}, double(x.real()));
    return x.imag() == 0 ? convert(re, d) : complex(re, constant(b, real_dtype(d), {}, double(x.imag())));
  } else if (is_differentiable(d)) {
    return constant(b, d, {}, double(x));
  } else {
    return constant_from_bits(b, d, {}, std::uint64_t(std::int64_t(x)));
  }
}
/// A number as a scalar var of the trace of `beside`.
template <traced V, number U> constexpr auto literal(const V& beside, U x) {
  constexpr dtype d = adopted_dtype<U>(V::type);
  if constexpr (is_floating(d)) return var_of<d, shape{}>(number_constant(*beside.b, d, type_of<d>(x)));  // rounded, as its elements are
  else return var_of<d, shape{}>(number_constant(*beside.b, d, x));
}

/// A concrete array as a constant of the trace of `beside`.
template <traced V, class A> constexpr auto array_constant(const V& beside, const A& a);

/// What may stand beside a var in an operation.
template <class X>
concept operand = tensor<X> || number<X>;

template <class V, class X> constexpr auto as_var(const V& beside, const X& x) {
  if constexpr (traced<X>) return x;
  else if constexpr (number<X>) return literal(beside, x);
  else if constexpr (is_expression<X>) return x.in_trace(beside);
  else return array_constant(beside, x);
}

/// The first var among operands.
template <class X, class... Rest> constexpr const auto& first_traced(const X& x, const Rest&... rest) {
  if constexpr (traced<X>) return x;
  else return first_traced(rest...);
}

/// Fn on vars, numbers and constant arrays mixed.
template <auto Fn, class... X> constexpr auto apply_mixed(const X&... x) {
  if constexpr ((traced<X> || ...)) return apply<Fn>(as_var(first_traced(x...), x)...);
  else return defer<Fn>(x...);
}

}  // namespace cotangent
