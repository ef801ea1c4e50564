#pragma once
/// Random numbers, in the names and conventions of jax.random: functions of a key, which is uint32[2]. They have no state, so they
/// can be traced, batched over keys (`vmap`), differentiated by their parameters, and are computed inside of the kernels that use them.
///
/// A number depends on the key and its place alone: not on threads, on devices, or on how many there are. The bits are those of JAX
/// (threefry2x32, jax_threefry_partitionable), and so are the numbers made of them, but for roundings.
/// One array has at most 2^32 random numbers.

#include <cotangent/core/array.hpp>
#include <cotangent/trace/operations.hpp>

namespace cotangent::random {

template <class K>
concept concrete_key = std::is_same_v<K, array<std::uint32_t, 2>>;

namespace functions {

/// Word k of a key, or key k of several.
constexpr value word(value key, extent k) {
  slice_function f{{}, 1};
  f.bounds[0] = {k, k + 1, 1, false, true};
  return f(key);
}
constexpr bool is_key(std::string_view who, value key) {
  const bool fits = key.type() == dtype::uint32 && key.dims() == shape{2};
  if (!fits) key.b->fail(message{} << "random." << who << ": a key is uint32[2], as ct::random::key and split make it; got " << key.type() << key.dims());
  return fits;
}
constexpr value as_key(value first, value second) {
  return concatenate({broadcast_to(first, {1}), broadcast_to(second, {1})}, 0);
}
/// The counter of each element: its place in the array.
constexpr value places(builder& b, const shape& dims) {
  extent all = 1;
  for (extent n : dims) all = b.symbols.combine(symbol::product, all, n);
  if (!is_symbol(all) && all > extent(1) << 32) b.fail(message{} << "random: " << dims << " has more than 2^32 elements");
  return reshape(iota(b, dtype::uint32, {all}, 0), dims);
}
constexpr value bits(value key, dtype type, const shape& dims) {
  const value count = places(*key.b, dims);
  const value r = random_bits(broadcast_to(word(key, 0), dims), broadcast_to(word(key, 1), dims), count, size_of(type) == 8 ? dtype::uint64 : dtype::uint32);
  return convert(r, type);
}
/// Key i of those that a key splits into, for each i of `data`, as [.., 2].
constexpr value fold_in(value key, value data) {
  data = convert(data, dtype::uint32);
  const shape dims = data.dims();
  const value words = random_bits(broadcast_to(word(key, 0), dims), broadcast_to(word(key, 1), dims), data, dtype::uint64);
  const value first = convert(shift_right(words, full_like(words, 32)), dtype::uint32), second = convert(words, dtype::uint32);
  const shape column = insert(dims, dims.rank, 1);
  return concatenate({reshape(first, column), reshape(second, column)}, dims.rank);
}
constexpr value split(value key, extent count) { return fold_in(key, iota(*key.b, dtype::uint32, {count}, 0)); }

/// How random numbers of a floating type are made of random bits.
struct float_form {
  dtype drawn, bits;          // of the bits that are drawn, and of as many as a number has
  std::uint64_t spare, one;   // drawn bits beyond those behind the point, and those of 1
  double least, half_epsilon;  // the least normal number, and half of the distance from 1 to the next
};
constexpr float_form form_of(dtype type) {
  if (type == dtype::float64) return {dtype::uint64, dtype::uint64, 12, 0x3ff0000000000000u, 0x1p-1022, 0x1p-53};
  if (type == dtype::float16) return {dtype::uint16, dtype::uint16, 6, 0x3c00, 0x1p-14, 0x1p-11};
  if (type == dtype::bfloat16) return {dtype::uint8, dtype::uint16, 1, 0x3f80, 0x1p-126, 0x1p-8};
  return {dtype::uint32, dtype::uint32, 9, 0x3f800000u, 0x1p-126, 0x1p-24};
}

/// In [0, 1): the bits behind the point of numbers in [1, 2), less 1.
constexpr value unit(value key, dtype type, const shape& dims) {
  const float_form form = form_of(type);
  const value b = convert(bits(key, form.drawn, dims), form.bits);
  const auto number = [&](std::uint64_t x) { return constant_from_bits(*b.b, form.bits, dims, x); };
  return bit_cast(shift_right(b, number(form.spare)) | number(form.one), type) - 1.0;
}
constexpr bool is_drawable(std::string_view who, value key, dtype type) {
  const bool fits = is_floating(type);
  if (!fits) key.b->fail(message{} << "random." << who << ": floating-point numbers are drawn, not " << type);
  return fits && is_key(who, key);
}
constexpr value between(value key, value low, value high) { return max(low, unit(key, low.type(), low.dims()) * (high - low) + low); }
constexpr value between(value key, dtype type, const shape& dims, double low) { return between(key, constant(*key.b, type, dims, low), constant(*key.b, type, dims, 1)); }

constexpr double sqrt_2 = 1.41421356237309504880, pi = 3.14159265358979323846;

constexpr value normal(value key, dtype type, const shape& dims) { return sqrt_2 * erf_inv(between(key, type, dims, -1 + form_of(type).half_epsilon)); }
constexpr value exponential(value key, dtype type, const shape& dims) { return -log1p(-unit(key, type, dims)); }
constexpr value gumbel(value key, dtype type, const shape& dims) { return -log(-log(between(key, type, dims, form_of(type).least))); }
constexpr value laplace(value key, dtype type, const shape& dims) {
  const value u = between(key, type, dims, -1 + form_of(type).half_epsilon);
  return sign(u) * log1p(-abs(u));
}
constexpr value logistic(value key, dtype type, const shape& dims) {
  const value u = between(key, type, dims, form_of(type).least);
  return log(u) - log1p(-u);
}
constexpr value cauchy(value key, dtype type, const shape& dims) { return tan(pi * (between(key, type, dims, 2 * form_of(type).half_epsilon) - 0.5)); }
/// Of numbers with normal distribution those between bounds.
constexpr value truncated_normal(value key, value low, value high) {
  const value r = sqrt_2 * erf_inv(between(key, erf(low * (1 / sqrt_2)), erf(high * (1 / sqrt_2))));
  return clamp(stop_gradient(low), r, stop_gradient(high));
}

/// A distribution without parameters, in the shape given, or in those of an array.
template <value (*Draw)(value, dtype, const shape&), text Name> struct drawn {
  dtype type;
  shape dims;
  constexpr value operator()(value key) const { return is_drawable(Name.view(), key, type) ? Draw(key, type, dims) : key; }
  constexpr value operator()(value key, value like) const { return is_drawable(Name.view(), key, like.type()) ? Draw(key, like.type(), like.dims()) : key; }
};

/// Parameters in the shape given, or, if that has no axes, in the shape that they have together.
constexpr bool fit_parameters(std::string_view who, const shape& dims, dtype type, value& a, value& b) {
  a = convert(a, type), b = convert(b, type);
  adopt_pair(a, b);
  const shape together = broadcast_shape(who, a, b), all = dims.rank > 0 ? dims : together;
  if (a.b->failed()) return false;
  bool fits = together.rank <= all.rank;
  for (int i = 1; i <= together.rank && fits; ++i) fits = together[together.rank - i] == 1 || together[together.rank - i] == all[all.rank - i];
  if (!fits) a.b->fail(message{} << "random." << who << ": parameters of shape " << together << " for random numbers of shape " << all);
  if (fits) a = broadcast_to(a, all), b = broadcast_to(b, all);
  return fits;
}
/// A distribution between bounds.
template <value (*Draw)(value, value, value), text Name> struct drawn_between {
  dtype type;
  shape dims;
  constexpr value operator()(value key, value low, value high) const {
    if (!is_drawable(Name.view(), key, type) || !fit_parameters(Name.view(), dims, type, low, high)) return key;
    adopt_pair(key, low), adopt_pair(key, high);
    return Draw(key, low, high);
  }
};
struct randint {
  dtype type;
  shape dims;
  constexpr value operator()(value key, value low, value high) const {
    if (!is_integer(type)) key.b->fail(message{} << "random.randint: an integer dtype is needed, not " << type);
    if (size_of(type) < 4) return convert(randint{is_signed_integer(type) ? dtype::int32 : dtype::uint32, dims}(key, low, high), type);
    if (!is_key("randint", key) || !fit_parameters("randint", dims, type, low, high)) return key;
    adopt_pair(key, low), adopt_pair(key, high);
    // Twice as many bits as a number has: bits h 2^n + l modulo the span.
    const dtype unsigned_type = dtype(int(dtype::uint8) + std::countr_zero(unsigned(size_of(type))));
    const value keys = split(key, 2);
    const value upper = bits(word(keys, 0), unsigned_type, low.dims()), lower = bits(word(keys, 1), unsigned_type, low.dims());
    const value span = select(le(high, low), full_like(upper, 1), convert(high - low, unsigned_type));
    const value half = rem(constant_from_bits(*key.b, unsigned_type, low.dims(), std::uint64_t(1) << (4 * size_of(type))), span);
    const value offset = rem(rem(upper, span) * rem(half * half, span) + rem(lower, span), span);
    return low + convert(offset, type);
  }
};
struct bernoulli {
  shape dims;
  constexpr value operator()(value key, value p) const {
    value same = p;
    const dtype type = is_floating(p.type()) ? p.type() : dtype::float32;
    if (!is_key("bernoulli", key) || !fit_parameters("bernoulli", dims, type, p, same)) return key;
    adopt_pair(key, p);
    return lt(unit(key, type, p.dims()), p);
  }
  constexpr value operator()(value key, value p, value like) const { return bernoulli{like.dims()}(key, p); }
};
/// The index of one of the logits along an axis, with probabilities softmax(logits): where logits and numbers of the Gumbel distribution
/// have their greatest sum.
struct categorical {
  int axis;
  shape dims;
  constexpr value operator()(value key, value logits) const {
    logits = inexact(logits);
    const int n = logits.rank(), k = axis < 0 ? axis + n : axis;
    if (k < 0 || k >= n) key.b->fail(message{} << "random.categorical: axis " << axis << " is out of range for rank " << n << " (" << logits.dims() << ")");
    if (key.b->failed() || !is_drawable("categorical", key, logits.type())) return key;
    adopt_pair(key, logits);
    const shape rest = erase(logits.dims(), k);
    const shape all = dims.rank > 0 ? dims : rest;
    const int more = all.rank - rest.rank;
    for (int i = 0; i < rest.rank && more >= 0; ++i)
      if (all[more + i] != rest[i] && rest[i] != 1) key.b->fail(message{} << "random.categorical: logits " << logits.dims() << " for a result " << all << ", whose last axes are not those of the batch, " << rest);
    if (more < 0) key.b->fail(message{} << "random.categorical: logits " << logits.dims() << " for a result " << all << " of lower rank than the batch, " << rest);
    if (key.b->failed()) return key;
    const shape drawn = insert(all, more + k, logits.dims()[k]);
    return argmax(gumbel(key, logits.type(), drawn) + broadcast_to(logits, drawn), more + k);
  }
};
/// How often n elements are sorted by 32 random bits each, so that two that are alike in all of them are unlikely.
constexpr int rounds_of_shuffle(extent n) {
  if (is_symbol(n)) return 3;
  int rounds = 0;
  double orders = 1;
  for (const double cubed = double(n) * double(n) * double(n); orders < cubed; ++rounds) orders *= 0x1p32 - 1;
  return rounds;
}
constexpr value permutation(value key, extent n) {
  value order = iota(*key.b, dtype::int32, {n}, 0);
  for (int k = rounds_of_shuffle(n); k > 0; --k) {
    const value keys = split(key, 2);
    order = take_function{0}(order, argsort(bits(word(keys, 1), dtype::uint32, {n}), 0, n, false));
    key = word(keys, 0);
  }
  return order;
}
struct permutation_of {
  extent count = 0;
  constexpr value operator()(value key) const { return is_key("permutation", key) ? permutation(key, count) : key; }
  constexpr value operator()(value key, value x) const {
    if (x.rank() == 0) key.b->fail(message{} << "random.permutation: a scalar has no axis to shuffle");
    if (key.b->failed() || !is_key("permutation", key)) return x;
    adopt_pair(key, x);
    return take_function{0}(x, permutation(key, x.dims()[0]));
  }
};
struct choice {
  shape dims;
  bool replaced;
  constexpr value operator()(value key, value x) const {
    if (x.rank() == 0) key.b->fail(message{} << "random.choice: a scalar has no axis to choose from");
    if (key.b->failed() || !is_key("choice", key)) return x;
    adopt_pair(key, x);
    const extent n = x.dims()[0];
    if (replaced) return take_function{0}(x, randint{dtype::int32, dims}(key, constant(*key.b, dtype::int32, {}, 0), extent_value(*key.b, dtype::int32, n)));
    extent count = 1;
    for (extent e : dims) count *= e;
    if (!is_symbol(n) && count > n) key.b->fail(message{} << "random.choice: " << count << " different ones of " << x.dims());
    if (is_symbol(n)) key.b->symbols.require_at_least("random.choice", n, count);
    if (key.b->failed()) return x;
    slice_function first{{}, 1};
    first.bounds[0] = {0, count, 1, false, false};
    return take_function{0}(x, reshape(first(permutation(key, n)), dims));
  }
};
struct bits_of_key {
  dtype type;
  shape dims;
  constexpr value operator()(value key) const {
    if (!is_integer(type)) key.b->fail(message{} << "random.bits: an integer dtype is needed, not " << type);
    return key.b->failed() || !is_key("bits", key) ? key : bits(key, type, dims);
  }
};
struct key_of_seed {
  constexpr value operator()(value seed) const {
    if (!is_integer(seed.type()) || seed.rank() > 0) seed.b->fail(message{} << "random.key: a seed is an integer scalar, got " << seed.type() << seed.dims());
    if (seed.b->failed()) return seed;
    const value upper = size_of(seed.type()) == 8 ? convert(shift_right(seed, full_like(seed, 32)), dtype::uint32) : constant(*seed.b, dtype::uint32, {}, 0);
    return as_key(upper, convert(seed, dtype::uint32));
  }
};
struct split_key {
  extent count;
  constexpr value operator()(value key) const { return is_key("split", key) ? split(key, count) : key; }
};
struct folded_key {
  constexpr value operator()(value key, value data) const {
    if (!is_integer(data.type()) || data.rank() > 0) data.b->fail(message{} << "random.fold_in: an integer scalar is folded into a key, got " << data.type() << data.dims());
    if (data.b->failed() || !is_key("fold_in", key)) return key;
    adopt_pair(key, data);
    return fold_in(key, data);
  }
};

/// A parameter in the trace of a key.
template <class K, class X> constexpr auto parameter(const K& key, const X& x) {
  if constexpr (number<X>) return var<X>(constant_from_bits(*key.b, dtype_of<X>, {}, cotangent::bits_of(x)));
  else return as_var(key, x);
}
template <class T, class X> constexpr decltype(auto) number_as(const X& x) {
  if constexpr (number<X>) return T(x);
  else return (x);
}
/// Fn of a key and parameters, of which numbers become elements of type T.
template <auto Fn, class T, class K, class... X> constexpr auto draw(const K& key, const X&... x) {
  return defer_call<false>([](const auto& k, const auto&... v) { return apply<Fn>(k, parameter(k, v)...); }, key, number_as<T>(x)...);
}

}  // namespace functions

/// The key of a seed: uint32[2]. An integer of at most 32 bits is the second word; of 64 bits the upper half is the first.
template <std::integral I> constexpr array<std::uint32_t, 2> key(I seed) {
  return {sizeof(I) == 8 ? std::uint32_t(std::uint64_t(seed) >> 32) : 0u, std::uint32_t(seed)};
}
template <tensor I> constexpr auto key(const I& seed) { return apply<functions::key_of_seed{}>(seed); }

/// The key that `data`, an integer, makes of a key; different ones make independent keys.
template <tensor K, class I> constexpr auto fold_in(const K& key, const I& data) {
  if constexpr (concrete_key<K> && std::integral<I>) {
    const threefry_words<std::uint32_t> w(key(0), key(1), 0u, std::uint32_t(data));
    return array<std::uint32_t, 2>{w.first, w.second};
  } else return functions::draw<functions::folded_key{}, std::uint32_t>(key, data);
}
/// N new keys, uint32[N, 2], which take the place of `key`: it should not be used again. `auto [next, now] = split(key);`
template <extent N = 2, tensor K> constexpr auto split(const K& key) {
  static_assert(N >= 0, "random::split: the number of keys is not negative");
  if constexpr (concrete_key<K>) {
    array<std::uint32_t, N, 2> keys;
    for (extent i = 0; i < N; ++i) {
      const auto k = fold_in(key, i);
      keys(i, 0) = k(0), keys(i, 1) = k(1);
    }
    return keys;
  } else return apply<functions::split_key{N}>(key);
}

/// Random bits: T is an integer type.
template <class T = std::uint32_t, extent... E, tensor K> constexpr auto bits(const K& key) { return apply<functions::bits_of_key{dtype_of<T>, {E...}}>(key); }

/// Uniformly distributed in [0, 1), of shape E...; T is a floating type.
template <class T = float, extent... E, tensor K> constexpr auto uniform(const K& key) { return apply<functions::drawn<functions::unit, "uniform">{dtype_of<T>, {E...}}>(key); }
/// In [low, high): numbers or arrays that broadcast to the shape; without E... they give the shape.
template <class T = float, extent... E, tensor K, operand L, operand H> constexpr auto uniform(const K& key, const L& low, const H& high) {
  return functions::draw<functions::drawn_between<functions::between, "uniform">{dtype_of<T>, {E...}}, T>(key, low, high);
}
/// In [0, 1), of x's dtype and shape, which may be a run-time one.
template <tensor K, tensor X> constexpr auto uniform_like(const K& key, const X& x) { return functions::draw<functions::drawn<functions::unit, "uniform_like">{}, float>(key, x); }

/// Normally distributed with mean 0 and variance 1. By the inverse of erf.
template <class T = float, extent... E, tensor K> constexpr auto normal(const K& key) { return apply<functions::drawn<functions::normal, "normal">{dtype_of<T>, {E...}}>(key); }
template <tensor K, tensor X> constexpr auto normal_like(const K& key, const X& x) { return functions::draw<functions::drawn<functions::normal, "normal_like">{}, float>(key, x); }
/// The same given that it lies in [low, high].
template <class T = float, extent... E, tensor K, operand L, operand H> constexpr auto truncated_normal(const K& key, const L& low, const H& high) {
  return functions::draw<functions::drawn_between<functions::truncated_normal, "truncated_normal">{dtype_of<T>, {E...}}, T>(key, low, high);
}
/// With density exp(-x) for x >= 0.
template <class T = float, extent... E, tensor K> constexpr auto exponential(const K& key) { return apply<functions::drawn<functions::exponential, "exponential">{dtype_of<T>, {E...}}>(key); }
/// With density exp(-|x|) / 2.
template <class T = float, extent... E, tensor K> constexpr auto laplace(const K& key) { return apply<functions::drawn<functions::laplace, "laplace">{dtype_of<T>, {E...}}>(key); }
/// With distribution function 1 / (1 + exp(-x)).
template <class T = float, extent... E, tensor K> constexpr auto logistic(const K& key) { return apply<functions::drawn<functions::logistic, "logistic">{dtype_of<T>, {E...}}>(key); }
/// With distribution function exp(-exp(-x)).
template <class T = float, extent... E, tensor K> constexpr auto gumbel(const K& key) { return apply<functions::drawn<functions::gumbel, "gumbel">{dtype_of<T>, {E...}}>(key); }
/// With density 1 / (pi (1 + x x)).
template <class T = float, extent... E, tensor K> constexpr auto cauchy(const K& key) { return apply<functions::drawn<functions::cauchy, "cauchy">{dtype_of<T>, {E...}}>(key); }

/// Integers in [low, high), of shape E...; low where the range is empty. Bounds are integers or arrays of them, as in uniform, in T or, if
/// that is narrower, in 32 bits.
template <class T = std::int32_t, extent... E, tensor K, operand L, operand H> constexpr auto randint(const K& key, const L& low, const H& high) {
  using bound = std::conditional_t<sizeof(T) >= 4, T, std::conditional_t<std::is_signed_v<T>, std::int32_t, std::uint32_t>>;
  return functions::draw<functions::randint{dtype_of<T>, {E...}}, bound>(key, low, high);
}
/// True with probability p, a number or an array, as in uniform.
template <extent... E, tensor K, operand P = double> constexpr auto bernoulli(const K& key, const P& p = 0.5) {
  return functions::draw<functions::bernoulli{{E...}}, float>(key, p);
}
/// The same of x's shape, which may be a run-time one.
template <tensor K, tensor X, operand P = double> constexpr auto bernoulli_like(const K& key, const X& x, const P& p = 0.5) {
  return functions::draw<functions::bernoulli{}, float>(key, p, x);
}
/// -1 or 1.
template <class T = std::int32_t, extent... E, tensor K> constexpr auto rademacher(const K& key) { return 2 * astype<T>(bernoulli<E...>(key)) - 1; }
/// The index (int32) of a class, with probabilities softmax(logits) along an axis (default: the last). E...: the shape of the result,
/// which ends in that of logits without the axis; by default it is that.
template <extent... E, tensor K, tensor X, extent Axis = -1> constexpr auto categorical(const K& key, const X& logits, axis_tag<Axis> = {}) {
  return functions::draw<functions::categorical{int(Axis), {E...}}, float>(key, logits);
}

/// 0, ..., N - 1 (int32) in random order.
template <extent N, tensor K> constexpr auto permutation(const K& key) {
  static_assert(N >= 0, "random::permutation: the number of elements is not negative");
  return apply<functions::permutation_of{N}>(key);
}
/// x in random order along its first axis. (Along a run-time axis it is another order than along a static one of the same length.)
template <tensor K, tensor X> constexpr auto permutation(const K& key, const X& x) { return functions::draw<functions::permutation_of{}, float>(key, x); }

struct without_replacement_tag {};
inline constexpr without_replacement_tag without_replacement{};
/// Elements of x along its first axis, of shape E...: each chosen from all.
template <extent... E, tensor K, tensor X> constexpr auto choice(const K& key, const X& x) { return functions::draw<functions::choice{{E...}, true}, float>(key, x); }
/// All different.
template <extent... E, tensor K, tensor X> constexpr auto choice(const K& key, const X& x, without_replacement_tag) {
  return functions::draw<functions::choice{{E...}, false}, float>(key, x);
}

}  // namespace cotangent::random
