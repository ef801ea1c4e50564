#pragma once
/// Attention of queries to keys and values.

#include <cotangent/nn/nn.hpp>
#include <cotangent/numpy/elementwise.hpp>

namespace cotangent::nn {

// Options of dot_product_attention; some have an operand.
struct bias_kind {};
struct mask_kind {};
struct scale_kind {};
struct query_lengths_kind {};
struct key_value_lengths_kind {};
template <class Kind, class X> struct attention_operand {
  X x;
};
struct causal_tag {};
template <extent Left, extent Right> struct local_window_tag {
  static constexpr extent left = Left, right = Right;
};
/// Added to the scaled logits; broadcasts to [B, N, T, S].
template <class X> constexpr attention_operand<bias_kind, X> bias(const X& x) { return {x}; }
/// Whether a query sees a key (bool); broadcasts to [B, N, T, S].
template <class X> constexpr attention_operand<mask_kind, X> mask(const X& x) { return {x}; }
/// What the logits are multiplied with, in place of 1 / sqrt(H).
template <class X> constexpr attention_operand<scale_kind, X> scale(const X& x) { return {x}; }
/// How many of the queries there are (integers [B]); the results of the others are 0.
template <class X> constexpr attention_operand<query_lengths_kind, X> query_seq_lengths(const X& x) { return {x}; }
/// How many of the keys and values there are (integers [B]); the others are not seen.
template <class X> constexpr attention_operand<key_value_lengths_kind, X> key_value_seq_lengths(const X& x) { return {x}; }
/// Query t sees keys up to t.
inline constexpr causal_tag causal{};
/// Query t sees keys t - Left to t + Right.
template <extent Left, extent Right = Left> inline constexpr local_window_tag<Left, Right> local_window{};

/// The attention with these options, and the operands of those that have one in their order.
template <class... Kinds> struct attention_function {
  template <class Q, class K, class V, class... X> constexpr auto operator()(const Q& q, const K& k, const V& v, const X&... operands) const {
    if constexpr (Q::rank() == 3) return squeeze<0>(of_batch(expand_dims<0>(q), expand_dims<0>(k), expand_dims<0>(v), std::tuple(operands...)));
    else return of_batch(q, k, v, std::tuple(operands...));
  }

 private:
  template <class Kind> static constexpr bool has = (false || ... || std::is_same_v<Kind, Kinds>);
  /// The operand of an option, which is there.
  template <class Kind, class X> static constexpr auto operand(const X& operands) {
    constexpr std::size_t at = [] {
      std::size_t n = 0;
      bool found = false;
      ((found = found || std::is_same_v<Kind, Kinds>, n += !found && has_operand<Kinds>), ...);
      return n;
    }();
    return std::get<at>(operands);
  }
  template <class Kind> static constexpr bool has_operand = std::is_same_v<Kind, bias_kind> || std::is_same_v<Kind, mask_kind> || std::is_same_v<Kind, scale_kind> ||
                                                            std::is_same_v<Kind, query_lengths_kind> || std::is_same_v<Kind, key_value_lengths_kind>;
  /// What is not seen is far below what is; a query that sees nothing sees all alike.
  template <class X, class C> static constexpr auto seen(const X& logits, const C& condition) {
    constexpr double far = -0.7 * (std::is_same_v<typename X::value_type, double> ? std::numeric_limits<double>::max() : double(std::numeric_limits<float>::max()));
    return where(condition, logits, far);
  }
  template <class L> static constexpr auto per_batch(const L& lengths) { return expand_dims<-1>(expand_dims<-1>(expand_dims<-1>(lengths))); }

  template <class Q, class K, class V, class X> static constexpr auto of_batch(const Q& q, const K& k, const V& v, const X& operands) {
    constexpr extent heads = Q::type_shape()[2], groups = K::type_shape()[2], size = Q::type_shape()[3];
    constexpr extent t = Q::type_shape()[1], s = K::type_shape()[1];
    constexpr bool by_place = has<causal_tag> || has<query_lengths_kind> || has<key_value_lengths_kind> || (false || ... || requires { Kinds::left; });
    static_assert((t != dyn && s != dyn) || (heads == groups && !by_place),
                  "dot_product_attention: with several heads to a key, or options that count queries and keys, their numbers must be known when the program is compiled");
    using logits_type = std::conditional_t<(sizeof(typename Q::value_type) < 4), float, typename Q::value_type>;
    constexpr extent share = heads / groups;
    const auto queries = shared<share, dyn, groups, share * t, size>(transpose<0, 2, 1, 3>(q));  // those of heads that share keys as rows of one matrix
    const auto keys = transpose<0, 2, 3, 1>(k);
    const auto values = transpose<0, 2, 1, 3>(v);
    const auto products = astype<logits_type>(shared<share, dyn, heads, t, s>(matmul(queries, keys)));
    const auto scaled = [&] {
      if constexpr (has<scale_kind>) return products * operand<scale_kind>(operands);
      else return products * (1 / root_of(double(size)));
    }();
    const auto biased = [&] {
      if constexpr (has<bias_kind>) return astype<logits_type>(scaled + operand<bias_kind>(operands));
      else return scaled;
    }();
    const auto masked = [&] {
      if constexpr (has<mask_kind>) return seen(biased, operand<mask_kind>(operands));
      else return biased;
    }();
    const auto until = [&] {
      if constexpr (has<key_value_lengths_kind>) return seen(masked, iota<std::int32_t, s>(q) < per_batch(operand<key_value_lengths_kind>(operands)));
      else return masked;
    }();
    const auto before = [&] {
      if constexpr (has<causal_tag>) return seen(until, expand_dims<1>(iota<std::int32_t, t>(q)) >= iota<std::int32_t, s>(q));
      else return until;
    }();
    const auto logits = in_windows<t, s, Kinds...>(q, before);
    const auto weights = astype<typename K::value_type>(softmax(logits));
    const auto sums = matmul(shared<share, dyn, groups, share * t, s>(weights), values);
    const auto out = transpose<0, 2, 1, 3>(shared<share, dyn, heads, t, decltype(sums)::type_shape()[3]>(sums));
    if constexpr (has<query_lengths_kind>) return where(expand_dims<-1>(expand_dims<-1>(iota<std::int32_t, t>(q))) < per_batch(operand<query_lengths_kind>(operands)), out, 0);
    else return out;
  }
  /// x as an array of these extents, where heads share keys.
  template <extent Share, extent... E, class X> static constexpr auto shared(const X& x) {
    if constexpr (Share == 1) return x;
    else return reshape<E...>(x);
  }
  template <extent T, extent S, class Q, class L> static constexpr auto in_windows(const Q&, const L& logits) { return logits; }
  template <extent T, extent S, class Kind, class... Rest, class Q, class L> static constexpr auto in_windows(const Q& q, const L& logits) {
    if constexpr (requires { Kind::left; }) {
      const auto row = expand_dims<1>(iota<std::int32_t, T>(q));
      const auto column = iota<std::int32_t, S>(q);
      return in_windows<T, S, Rest...>(q, seen(logits, row <= column + int(Kind::left) && row >= column - int(Kind::right)));
    } else return in_windows<T, S, Rest...>(q, logits);
  }
};

template <class Option> struct attention_option {
  using kind = Option;
  static constexpr std::tuple<> operands(const Option&) { return {}; }
};
template <class Kind, class X> struct attention_option<attention_operand<Kind, X>> {
  using kind = Kind;
  static constexpr std::tuple<X> operands(const attention_operand<Kind, X>& o) { return {o.x}; }
};

/// softmax(query keyᵀ / sqrt(H)) value for each head: query [B, T, N, H], key and value [B, S, K, H], N a multiple of K, which heads share;
/// the result is [B, T, N, H]. Without B likewise. Options, in any order: `nn::bias(x)`, `nn::mask(x)`, `nn::scale(x)`, `nn::causal`,
/// `nn::local_window<Left, Right>`, `nn::query_seq_lengths(n)`, `nn::key_value_seq_lengths(n)`. The softmax of 16-bit numbers is computed as float.
/// JAX: jax.nn.dot_product_attention (Vaswani et al., "Attention is all you need", 2017).
template <tensor Q, tensor K, tensor V, class... Options>
constexpr auto dot_product_attention(const Q& query, const K& key, const V& value, const Options&... options) {
  constexpr shape q = Q::type_shape(), k = K::type_shape(), v = V::type_shape();
  static_assert((q.rank == 3 || q.rank == 4) && k.rank == q.rank && v.rank == q.rank, "dot_product_attention: query [B, T, N, H], key and value [B, S, K, H] are needed, or all three without B");
  constexpr int heads = q.rank - 2, elements = q.rank - 1;
  static_assert(q[heads] != dyn && k[heads] != dyn && q[elements] != dyn, "dot_product_attention: the numbers of heads and of their elements must be known when the program is compiled");
  static_assert(k[heads] > 0 && q[heads] % k[heads] == 0 && v[heads] == k[heads], "dot_product_attention: the number of query heads must be a multiple of the number of key and value heads");
  return std::apply([&](const auto&... operands) {
    return composed([](auto... v) { return attention_function<typename attention_option<Options>::kind...>{}(v...); }, query, key, value, operands...);
  }, std::tuple_cat(attention_option<Options>::operands(options)...));
}

}  // namespace cotangent::nn
