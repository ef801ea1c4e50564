#pragma once
/// What the maths functions share: polynomials, powers of two, and a number taken apart as m * 2^e.
///
/// Bits are the same at every width and on every x86 machine: each product that is added to something is a
/// fma(), or is exact, so nothing is left for the compiler to contract.

#include <cotangent/backends/cpu/pack.hpp>

namespace cotangent {
inline namespace COTANGENT_ISA {

/// The Count terms of a polynomial in x whose coefficients are c[First], c[First + Step], ... Long ones are split into
/// even and odd terms (Estrin), which shortens the chain of dependent operations.
template <int First, int Step, int Count> struct polynomial_terms {
  COTANGENT_LANES template <class T, int N, int Size> static COTANGENT_INLINE pack<T, N> of(pack<T, N> x, const T (&c)[Size]) {
    if constexpr (Count == 1) return pack<T, N>(c[First]);
    else if constexpr (Count <= 4) return fma(polynomial_terms<First + Step, Step, Count - 1>::of(x, c), x, pack<T, N>(c[First]));
    else return fma(polynomial_terms<First + Step, 2 * Step, Count / 2>::of(x * x, c), x,
                    polynomial_terms<First, 2 * Step, (Count + 1) / 2>::of(x * x, c));
  }
};

/// c0 + c1 x + c2 x^2 + ... The last step is Horner's, which rounds least.
COTANGENT_LANES template <class T, int N, class... C> COTANGENT_INLINE pack<T, N> polynomial(pack<T, N> x, C... c) {
  const T coefficients[] = {T(c)...};
  if constexpr (sizeof...(C) == 1) return pack<T, N>(coefficients[0]);
  else return fma(polynomial_terms<1, 1, int(sizeof...(C)) - 1>::of(x, coefficients), x, pack<T, N>(coefficients[0]));
}

/// a * b + c, and c - a * b, with constants for any of the three.
COTANGENT_LANES template <class T, int N>
COTANGENT_INLINE pack<T, N> multiply_add(pack<T, N> a, std::type_identity_t<pack<T, N>> b, std::type_identity_t<pack<T, N>> c) {
  return fma(a, b, c);
}
COTANGENT_LANES template <class T, int N>
COTANGENT_INLINE pack<T, N> multiply_subtract(pack<T, N> a, std::type_identity_t<pack<T, N>> b, std::type_identity_t<pack<T, N>> c) {
  return fnma(a, b, c);
}

/// a / (b + b_low), for b in [1, 2] and b_low below its last place.
COTANGENT_LANES template <class T, int N> COTANGENT_INLINE pack<T, N> divide(pack<T, N> a, pack<T, N> b, pack<T, N> b_low) {
  const pack<T, N> inverse = pack<T, N>(T(1)) / b, q = a * inverse;
  return fma(fnma(q, b_low, fnma(q, b, a)), inverse, q);
}

/// (a + a_low) / (b + b_low), for b in [1, 2] and low parts below the last places.
COTANGENT_LANES template <class T, int N>
COTANGENT_INLINE pack<T, N> divide(pack<T, N> a, pack<T, N> a_low, pack<T, N> b, pack<T, N> b_low) {
  const pack<T, N> inverse = pack<T, N>(T(1)) / b, q = a * inverse;
  return fma(fnma(q, b_low, fnma(q, b, a) + a_low), inverse, q);
}

/// A number as a sum of two, the second small beside the first.
template <class V> struct two_parts {
  V high, low;
};

/// x p + c, for c not below |x p|.
COTANGENT_LANES template <class T, int N>
COTANGENT_INLINE two_parts<pack<T, N>> add_in_two_parts(pack<T, N> x, pack<T, N> p, std::type_identity_t<T> c, std::type_identity_t<T> c_low = 0) {
  const pack<T, N> high = fma(x, p, pack<T, N>(c));
  return {high, fma(x, p, c - high) + pack<T, N>(c_low)};
}
COTANGENT_LANES template <class T, int N> COTANGENT_INLINE two_parts<pack<T, N>> operator*(two_parts<pack<T, N>> a, two_parts<pack<T, N>> b) {
  const pack<T, N> high = a.high * b.high;
  return {high, fma(a.high, b.high, -high) + fma(a.high, b.low, a.low * b.high)};
}

/// Adding this to a small number leaves its nearest integer in the low bits.
template <class T> inline constexpr T to_integer_bits = std::is_same_v<T, float> ? T(0x1.8p23) : T(0x1.8p52);
template <class T> inline constexpr int mantissa_bits = std::is_same_v<T, float> ? 23 : 52;
template <class T> inline constexpr integer_like<T> bits_of_one = std::is_same_v<T, float> ? integer_like<T>(0x3f800000) : integer_like<T>(0x3ff0000000000000);

/// 2^k for an integer k that is a normal exponent.
COTANGENT_LANES template <class T, int N> COTANGENT_INLINE pack<T, N> power_of_two(pack<T, N> k) {
  using I = integer_like<T>;
  const auto bits = bit_cast<I>(k + pack<T, N>(to_integer_bits<T>)) << mantissa_bits<T>;
  return bit_cast<T>(bits + pack<I, N>(bits_of_one<T>));
}

/// p * 2^k, rounded once, for an integer k within twice the exponent range and |p| near 1.
COTANGENT_LANES template <class T, int N> COTANGENT_INLINE pack<T, N> scale_in_two_steps(pack<T, N> p, pack<T, N> k) {
  const pack<T, N> half = multiply_add(k, T(0.5), to_integer_bits<T>) - to_integer_bits<T>;
  return p * power_of_two(half) * power_of_two(k - half);
}
#if defined(COTANGENT_AVX512)
template <class T, int N> COTANGENT_HOST_INLINE pack<T, N> scale(pack<T, N> p, pack<T, N> k) {
  if constexpr (pack<T, N>::part_lanes * sizeof(T) < 16) return scale_in_two_steps(p, k);
  else {
    pack<T, N> r;
    int i = 0;
    do r.set_part(i, vector_scale(p.part(i), k.part(i))); while (++i < pack<T, N>::parts);
    return r;
  }
}
template <class T> COTANGENT_INLINE pack<T, 1> scale(pack<T, 1> p, pack<T, 1> k) { return scale_in_two_steps(p, k); }
#else
COTANGENT_LANES template <class T, int N> COTANGENT_INLINE pack<T, N> scale(pack<T, N> p, pack<T, N> k) { return scale_in_two_steps(p, k); }
#endif

/// p * 2^k, rounded once, without a product that is subnormal, for which processors take up to a hundred cycles. Where `below`, and it is
/// only there, p is a positive number near 1 and k an integer. Scaled up, and added to the smallest normal number scaled up, it is rounded
/// to as many units of subnormal numbers as the sum's bits count.
COTANGENT_LANES template <class T, int N> COTANGENT_INLINE pack<T, N> scale_to_subnormal(pack<T, N> p, pack<T, N> k, typename pack<T, N>::mask_type below) {
  using I = integer_like<T>;
  using V = pack<T, N>;
  constexpr int up = std::is_same_v<T, float> ? 64 : 512, least = std::numeric_limits<T>::min_exponent - 1;  // exponent of normal numbers
  constexpr I bits = bits_of_one<T> + (I(least + up) << mantissa_bits<T>);
  constexpr T normal = std::bit_cast<T>(bits);  // the smallest such number, scaled up
  const V scaled = scale(p, greater(V(T(least - 2 * mantissa_bits<T>)), k) + T(up));
  const auto is_small = below & (scaled < V(normal));
  const V small = bit_cast<T>(bit_cast<I>(scaled + normal) - pack<I, N>(bits));
  return select(is_small, small, scale(p, select(is_small, V(T(0)), k)));
}
/// The same of a function of x that is subnormal or 0 only where x < small, and 0 where x < zero, whatever p and k are there.
COTANGENT_LANES template <class T, int N>
COTANGENT_INLINE pack<T, N> scale_down(pack<T, N> p, pack<T, N> k, pack<T, N> x, [[maybe_unused]] std::type_identity_t<T> small, std::type_identity_t<T> zero) {
  using V = pack<T, N>;
#ifdef __CUDA_ARCH__
  return select(x < V(zero), V(T(0)), scale(p, k));
#else
  if (any_greater(V(small), x)) [[unlikely]] return select(x < V(zero), V(T(0)), scale_to_subnormal(p, k, x < V(small)));
  return scale(p, k);
#endif
}

/// x = mantissa * 2^exponent with the mantissa in [0.75, 1.5) and the exponent an integer. Subnormals are numbers
/// like any other. Of 0 the mantissa is 1 and the exponent -inf; of inf, 1 and inf; of NaN and below 0 the mantissa is NaN.
template <class V> struct mantissa_and_exponent {
  V mantissa, exponent;
};

COTANGENT_LANES template <class T, int N> COTANGENT_INLINE mantissa_and_exponent<pack<T, N>> take_apart_by_bits(pack<T, N> x) {
  using V = pack<T, N>;
  using I = integer_like<T>;
  using U = std::make_unsigned_t<I>;
  constexpr int shift = mantissa_bits<T>;
  constexpr T smallest_normal = std::numeric_limits<T>::min();
  constexpr U bias = U(bits_of_one<T>), split = bias - (U(1) << (shift - 1)), implicit_one = bias + (U(shift) << shift);
  const auto subnormal = x < V(smallest_normal);
  const V normal = select(subnormal, x * V(T(U(1) << (shift + 1))), x);
  const auto bits = bit_cast<U>(normal);
  // The exponent plus the bias, as the low bits of a number in [2^shift, 2^(shift + 1)).
  const auto biased = (bits - pack<U, N>(split) + pack<U, N>(bias)) >> shift;
  const V e = bit_cast<T>(biased | pack<U, N>(implicit_one)) - V(T(U(1) << shift) + T(bias >> shift));
  V m = bit_cast<T>(bits - (biased << shift) + pack<U, N>(bias));
  V exponent = select(subnormal, e - V(T(shift + 1)), e);
  exponent = select(x == V(T(0)), V(-infinity_of<T>), select(x == V(infinity_of<T>), V(infinity_of<T>), exponent));
  m = select((x == V(T(0))) | (x == V(infinity_of<T>)), V(T(1)), m);
  m = select(x >= V(T(0)), m, V(nan_of<T>));
  return {m, exponent};
}
#if defined(COTANGENT_AVX512)
template <class T, int N> COTANGENT_HOST_INLINE mantissa_and_exponent<pack<T, N>> take_apart(pack<T, N> x) {
  if constexpr (pack<T, N>::part_lanes * sizeof(T) < 16) return take_apart_by_bits(x);
  else {
    mantissa_and_exponent<pack<T, N>> r;
    int i = 0;
    do {
      const auto v = x.part(i), m = vector_mantissa(v);
      r.mantissa.set_part(i, m);
      r.exponent.set_part(i, vector_exponent(v) - vector_exponent(m));
    } while (++i < pack<T, N>::parts);
    return r;
  }
}
template <class T> COTANGENT_INLINE mantissa_and_exponent<pack<T, 1>> take_apart(pack<T, 1> x) { return take_apart_by_bits(x); }
#else
COTANGENT_LANES template <class T, int N> COTANGENT_INLINE mantissa_and_exponent<pack<T, N>> take_apart(pack<T, N> x) { return take_apart_by_bits(x); }
#endif

/// f of every lane. For functions without a vector form.
template <class T, int N, class F> COTANGENT_HOST_INLINE pack<T, N> lane_by_lane(pack<T, N> x, F f) {
  T t[N];
  x.store(t);
  for (int i = 0; i < N; ++i) t[i] = f(t[i]);
  return pack<T, N>::load(t);
}
COTANGENT_LANES template <class T, class F> COTANGENT_INLINE pack<T, 1> lane_by_lane(pack<T, 1> x, F f) { return T(f(x[0])); }
template <class T, int N, class F> COTANGENT_HOST_INLINE pack<T, N> lane_by_lane(pack<T, N> x, pack<T, N> y, F f) {
  T t[N], u[N];
  x.store(t);
  y.store(u);
  for (int i = 0; i < N; ++i) t[i] = f(t[i], u[i]);
  return pack<T, N>::load(t);
}
COTANGENT_LANES template <class T, class F> COTANGENT_INLINE pack<T, 1> lane_by_lane(pack<T, 1> x, pack<T, 1> y, F f) { return T(f(x[0], y[0])); }

}  // namespace COTANGENT_ISA
}  // namespace cotangent
