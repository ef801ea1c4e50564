#pragma once
/// pack<T, N>: N numbers computed on together. mask<Bytes, N>: N truth values for packs of Bytes-wide elements.
///
/// N is a power of two. A pack wider than a register is several registers; pack<T, 1> is a plain T, and the only
/// one that works in device code. Operators and functions are lane by lane. Integer arithmetic wraps. Which of
/// x * y + z becomes a fused multiply-add is the compiler's choice; fma(x, y, z) is fused everywhere.

#include <bit>
#include <limits>

#include <cotangent/backends/cpu/pack/vector.hpp>

/// Precedes a template that is instantiated with pack<T, 1> in device code and with any pack on the host.
#ifndef COTANGENT_LANES
#ifdef __CUDACC__
#define COTANGENT_LANES _Pragma("nv_exec_check_disable")
#else
#define COTANGENT_LANES
#endif
#endif

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpsabi"
#pragma GCC diagnostic ignored "-Wignored-attributes"
#endif

namespace cotangent {
inline namespace COTANGENT_ISA {

template <class T, int N> class pack;
template <int Bytes, int N> class mask;

/// Lanes of T in one native register.
template <class T> inline constexpr int native_lanes = native_bytes / int(sizeof(T));

template <class T, int N> class pack {
  static_assert(N > 1 && std::has_single_bit(unsigned(N)), "pack: the number of lanes is a power of two");

 public:
  using value_type = T;
  static constexpr int size = N;
  /// Lanes per register, and registers.
  static constexpr int part_lanes = N < native_lanes<T> ? N : native_lanes<T>;
  static constexpr int parts = N / part_lanes;
  using part_type = vector<T, part_lanes>;
  using mask_type = mask<int(sizeof(T)), N>;

  pack() = default;
  /// Every lane x.
  COTANGENT_HOST_INLINE pack(T x) {
    for (int k = 0; k < parts; ++k) set_part(k, x - part_type{});
  }

  COTANGENT_HOST_INLINE T operator[](int i) const { return part(i / part_lanes)[i % part_lanes]; }
  COTANGENT_HOST_INLINE void set(int i, T x) {
    part_type v = part(i / part_lanes);
    v[i % part_lanes] = x;
    set_part(i / part_lanes, v);
  }

#ifdef __CUDACC__
  // nvcc refuses a class with a vector in it wherever a __host__ __device__ function names it.
  COTANGENT_HOST_INLINE part_type part(int k) const { return vector_load<part_type>(elements_ + k * part_lanes); }
  COTANGENT_HOST_INLINE void set_part(int k, part_type v) { std::memcpy(elements_ + k * part_lanes, &v, sizeof v); }
#else
  COTANGENT_HOST_INLINE part_type part(int k) const { return parts_[k]; }
  COTANGENT_HOST_INLINE void set_part(int k, part_type v) { parts_[k] = v; }
#endif

  /// N elements from p, which need not be aligned.
  static COTANGENT_HOST_INLINE pack load(const T* p) {
    pack r;
    for (int k = 0; k < parts; ++k) r.set_part(k, vector_load<part_type>(p + k * part_lanes));
    return r;
  }
  /// The first n elements from p, 0 <= n <= N, zero beyond; memory past them is not touched.
  static COTANGENT_HOST_INLINE pack load(const T* p, int n) {
    pack r;
    for (int k = 0; k < parts; ++k) r.set_part(k, vector_load<part_type>(p + k * part_lanes, n - k * part_lanes));
    return r;
  }
  COTANGENT_HOST_INLINE void store(T* p) const {
    for (int k = 0; k < parts; ++k) {
      const part_type v = part(k);
      std::memcpy(p + k * part_lanes, &v, sizeof v);
    }
  }
  /// Stores the first n lanes.
  COTANGENT_HOST_INLINE void store(T* p, int n) const {
    for (int k = 0; k < parts; ++k) vector_store(part(k), p + k * part_lanes, n - k * part_lanes);
  }

  /// base[index[i]] for the first n lanes, zero beyond.
  template <class I> static COTANGENT_HOST_INLINE pack gather(const T* base, pack<I, N> index, int n = N) {
    T t[N] = {};
    for (int i = 0; i < n; ++i) t[i] = base[index[i]];
    return load(t);
  }
  /// base[index[i]] = lane i for the first n lanes, in order.
  template <class I> COTANGENT_HOST_INLINE void scatter(T* base, pack<I, N> index, int n = N) const {
    for (int i = 0; i < n; ++i) base[index[i]] = (*this)[i];
  }
  /// base[i * stride] for the first n lanes, zero beyond.
  static COTANGENT_HOST_INLINE pack load_strided(const T* base, std::ptrdiff_t stride, int n = N) {
    T t[N] = {};
    for (int i = 0; i < n; ++i) t[i] = base[i * stride];
    return load(t);
  }
  COTANGENT_HOST_INLINE void store_strided(T* base, std::ptrdiff_t stride, int n = N) const {
    T t[N];
    store(t);
    for (int i = 0; i < n; ++i) base[i * stride] = t[i];
  }

  friend COTANGENT_HOST_INLINE pack operator+(pack a, pack b) {
    return each([](auto x, auto y) { return x + y; }, a, b);
  }
  friend COTANGENT_HOST_INLINE pack operator-(pack a, pack b) {
    return each([](auto x, auto y) { return x - y; }, a, b);
  }
  friend COTANGENT_HOST_INLINE pack operator*(pack a, pack b) {
    return each([](auto x, auto y) { return x * y; }, a, b);
  }
  friend COTANGENT_HOST_INLINE pack operator-(pack a) {
    return each([](auto x) { return -x; }, a);
  }
  /// Integers: the quotient truncates; x / 0 = -1 and lowest / -1 = lowest, as in XLA.
  friend COTANGENT_HOST_INLINE pack operator/(pack a, pack b) {
    if constexpr (std::is_floating_point_v<T>) return each([](auto x, auto y) { return x / y; }, a, b);
    else return select(b == T(0), pack(T(-1)), bitwise([](auto x, auto y) { return x / y; }, a, safe_divisor(a, b)));
  }
  /// The remainder of truncating division; x % 0 = x.
  friend COTANGENT_HOST_INLINE pack operator%(pack a, pack b) requires std::is_integral_v<T> {
    return select(b == T(0), a, bitwise([](auto x, auto y) { return x % y; }, a, safe_divisor(a, b)));
  }
  friend COTANGENT_HOST_INLINE pack operator&(pack a, pack b) requires std::is_integral_v<T> {
    return bitwise([](auto x, auto y) { return x & y; }, a, b);
  }
  friend COTANGENT_HOST_INLINE pack operator|(pack a, pack b) requires std::is_integral_v<T> {
    return bitwise([](auto x, auto y) { return x | y; }, a, b);
  }
  friend COTANGENT_HOST_INLINE pack operator^(pack a, pack b) requires std::is_integral_v<T> {
    return bitwise([](auto x, auto y) { return x ^ y; }, a, b);
  }
  friend COTANGENT_HOST_INLINE pack operator~(pack a) requires std::is_integral_v<T> {
    return bitwise([](auto x) { return ~x; }, a);
  }
  /// Shifts by 0 to the width less one; >> of a signed type copies the sign.
  friend COTANGENT_HOST_INLINE pack operator<<(pack a, pack b) requires std::is_integral_v<T> {
    return each([](auto x, auto y) { return x << y; }, a, b);
  }
  friend COTANGENT_HOST_INLINE pack operator>>(pack a, pack b) requires std::is_integral_v<T> {
    return bitwise([](auto x, auto y) { return x >> y; }, a, b);
  }
  friend COTANGENT_HOST_INLINE pack operator<<(pack a, int n) requires std::is_integral_v<T> {
    return each([n](auto x) { return x << n; }, a);
  }
  friend COTANGENT_HOST_INLINE pack operator>>(pack a, int n) requires std::is_integral_v<T> {
    return bitwise([n](auto x) { return x >> n; }, a);
  }
  friend COTANGENT_HOST_INLINE mask_type operator==(pack a, pack b) { return test([](auto x, auto y) { return x == y; }, a, b); }
  friend COTANGENT_HOST_INLINE mask_type operator!=(pack a, pack b) { return test([](auto x, auto y) { return x != y; }, a, b); }
  friend COTANGENT_HOST_INLINE mask_type operator<(pack a, pack b) { return test([](auto x, auto y) { return x < y; }, a, b); }
  friend COTANGENT_HOST_INLINE mask_type operator<=(pack a, pack b) { return test([](auto x, auto y) { return x <= y; }, a, b); }
  friend COTANGENT_HOST_INLINE mask_type operator>(pack a, pack b) { return test([](auto x, auto y) { return x > y; }, a, b); }
  friend COTANGENT_HOST_INLINE mask_type operator>=(pack a, pack b) { return test([](auto x, auto y) { return x >= y; }, a, b); }

 private:
  template <class F, class... A> static COTANGENT_HOST_INLINE pack bitwise(F f, const A&... a) {
    pack r;
    for (int k = 0; k < parts; ++k) r.set_part(k, f(a.part(k)...));
    return r;
  }
  /// Integers are computed as unsigned ones, which wrap.
  template <class F, class... A> static COTANGENT_HOST_INLINE pack each(F f, const A&... a) {
    if constexpr (std::is_floating_point_v<T>) return bitwise(f, a...);
    else {
      using wrapping = vector<std::make_unsigned_t<T>, part_lanes>;
      return bitwise([&](auto... x) { return (part_type)f((wrapping)x...); }, a...);
    }
  }
  template <class F> static COTANGENT_HOST_INLINE mask_type test(F f, const pack& a, const pack& b) {
    mask_type r;
    for (int k = 0; k < parts; ++k)
      r.bits.set_part(k, (typename pack<integer_like<T>, N>::part_type)f(a.part(k), b.part(k)));
    return r;
  }
  static COTANGENT_HOST_INLINE pack safe_divisor(pack a, pack b) {
    auto unsafe = b == T(0);
    if constexpr (std::is_signed_v<T>) unsafe = unsafe | ((b == T(-1)) & (a == std::numeric_limits<T>::lowest()));
    return select(unsafe, pack(T(1)), b);
  }

#ifdef __CUDACC__
  alignas(part_type) T elements_[N];
#else
  part_type parts_[parts];
#endif
};

/// One element. Works on the host and on the device.
template <class T> class pack<T, 1> {
 public:
  using value_type = T;
  static constexpr int size = 1;
  using mask_type = mask<int(sizeof(T)), 1>;

  pack() = default;
  COTANGENT_INLINE pack(T x) : element_(x) {}

  COTANGENT_INLINE T operator[](int) const { return element_; }
  COTANGENT_INLINE void set(int, T x) { element_ = x; }

  static COTANGENT_INLINE pack load(const T* p) { return *p; }
  static COTANGENT_INLINE pack load(const T* p, int n) { return n > 0 ? *p : T(0); }
  COTANGENT_INLINE void store(T* p) const { *p = element_; }
  COTANGENT_INLINE void store(T* p, int n) const {
    if (n > 0) *p = element_;
  }
  template <class I> static COTANGENT_INLINE pack gather(const T* base, pack<I, 1> index, int n = 1) {
    return n > 0 ? base[index[0]] : T(0);
  }
  template <class I> COTANGENT_INLINE void scatter(T* base, pack<I, 1> index, int n = 1) const {
    if (n > 0) base[index[0]] = element_;
  }
  static COTANGENT_INLINE pack load_strided(const T* base, std::ptrdiff_t, int n = 1) { return load(base, n); }
  COTANGENT_INLINE void store_strided(T* base, std::ptrdiff_t, int n = 1) const { store(base, n); }

  friend COTANGENT_INLINE pack operator+(pack a, pack b) { return T(wide(a) + wide(b)); }
  friend COTANGENT_INLINE pack operator-(pack a, pack b) { return T(wide(a) - wide(b)); }
  friend COTANGENT_INLINE pack operator*(pack a, pack b) { return T(wide(a) * wide(b)); }
  friend COTANGENT_INLINE pack operator-(pack a) { return T(-wide(a)); }
  friend COTANGENT_INLINE pack operator/(pack a, pack b) {
    if constexpr (std::is_floating_point_v<T>) return a.element_ / b.element_;
    else return b.element_ == 0 ? T(-1) : T(a.element_ / safe_divisor(a, b));
  }
  friend COTANGENT_INLINE pack operator%(pack a, pack b) requires std::is_integral_v<T> {
    return b.element_ == 0 ? a.element_ : T(a.element_ % safe_divisor(a, b));
  }
  friend COTANGENT_INLINE pack operator&(pack a, pack b) requires std::is_integral_v<T> { return T(a.element_ & b.element_); }
  friend COTANGENT_INLINE pack operator|(pack a, pack b) requires std::is_integral_v<T> { return T(a.element_ | b.element_); }
  friend COTANGENT_INLINE pack operator^(pack a, pack b) requires std::is_integral_v<T> { return T(a.element_ ^ b.element_); }
  friend COTANGENT_INLINE pack operator~(pack a) requires std::is_integral_v<T> { return T(~a.element_); }
  friend COTANGENT_INLINE pack operator<<(pack a, pack b) requires std::is_integral_v<T> { return T(wide(a) << b.element_); }
  friend COTANGENT_INLINE pack operator>>(pack a, pack b) requires std::is_integral_v<T> { return T(a.element_ >> b.element_); }
  friend COTANGENT_INLINE pack operator<<(pack a, int n) requires std::is_integral_v<T> { return T(wide(a) << n); }
  friend COTANGENT_INLINE pack operator>>(pack a, int n) requires std::is_integral_v<T> { return T(a.element_ >> n); }
  friend COTANGENT_INLINE mask_type operator==(pack a, pack b) { return a.element_ == b.element_; }
  friend COTANGENT_INLINE mask_type operator!=(pack a, pack b) { return a.element_ != b.element_; }
  friend COTANGENT_INLINE mask_type operator<(pack a, pack b) { return a.element_ < b.element_; }
  friend COTANGENT_INLINE mask_type operator<=(pack a, pack b) { return a.element_ <= b.element_; }
  friend COTANGENT_INLINE mask_type operator>(pack a, pack b) { return a.element_ > b.element_; }
  friend COTANGENT_INLINE mask_type operator>=(pack a, pack b) { return a.element_ >= b.element_; }

 private:
  /// Integers are computed as unsigned ones, which wrap.
  static COTANGENT_INLINE auto wide(pack a) {
    if constexpr (std::is_floating_point_v<T>) return a.element_;
    else return std::make_unsigned_t<T>(a.element_) + 0u;
  }
  static COTANGENT_INLINE T safe_divisor(pack a, pack b) {
    if (b.element_ == 0) return 1;
    if constexpr (std::is_signed_v<T>)
      if (b.element_ == -1 && a.element_ == std::numeric_limits<T>::lowest()) return 1;
    return b.element_;
  }

  T element_;
};

template <int Bytes, int N> class mask {
 public:
  static constexpr int size = N;
  /// -1 where true, 0 where false.
  pack<typename integer_of_bytes<Bytes>::type, N> bits;

  mask() = default;
  COTANGENT_HOST_INLINE mask(bool b) : bits(b ? -1 : 0) {}

  COTANGENT_HOST_INLINE bool operator[](int i) const { return bits[i] != 0; }
  COTANGENT_HOST_INLINE void set(int i, bool b) { bits.set(i, b ? -1 : 0); }

  /// bool arrays hold one byte, 0 or 1, per lane.
  static COTANGENT_HOST_INLINE mask load(const bool* p) { return from_bytes(pack<std::int8_t, N>::load(bytes(p))); }
  static COTANGENT_HOST_INLINE mask load(const bool* p, int n) { return from_bytes(pack<std::int8_t, N>::load(bytes(p), n)); }
  COTANGENT_HOST_INLINE void store(bool* p) const { to_bytes().store(bytes(p)); }
  COTANGENT_HOST_INLINE void store(bool* p, int n) const { to_bytes().store(bytes(p), n); }
  template <class I> static COTANGENT_HOST_INLINE mask gather(const bool* base, pack<I, N> index, int n = N) {
    return from_bytes(pack<std::int8_t, N>::gather(bytes(base), index, n));
  }
  template <class I> COTANGENT_HOST_INLINE void scatter(bool* base, pack<I, N> index, int n = N) const {
    to_bytes().scatter(bytes(base), index, n);
  }
  static COTANGENT_HOST_INLINE mask load_strided(const bool* base, std::ptrdiff_t stride, int n = N) {
    return from_bytes(pack<std::int8_t, N>::load_strided(bytes(base), stride, n));
  }
  COTANGENT_HOST_INLINE void store_strided(bool* base, std::ptrdiff_t stride, int n = N) const {
    to_bytes().store_strided(bytes(base), stride, n);
  }

  friend COTANGENT_HOST_INLINE mask operator&(mask a, mask b) { return of(a.bits & b.bits); }
  friend COTANGENT_HOST_INLINE mask operator|(mask a, mask b) { return of(a.bits | b.bits); }
  friend COTANGENT_HOST_INLINE mask operator^(mask a, mask b) { return of(a.bits ^ b.bits); }
  friend COTANGENT_HOST_INLINE mask operator!(mask a) { return of(~a.bits); }
  friend COTANGENT_HOST_INLINE mask operator==(mask a, mask b) { return of(~(a.bits ^ b.bits)); }
  friend COTANGENT_HOST_INLINE mask operator!=(mask a, mask b) { return of(a.bits ^ b.bits); }

 private:
  static COTANGENT_HOST_INLINE mask of(decltype(bits) b) {
    mask r;
    r.bits = b;
    return r;
  }
  static COTANGENT_HOST_INLINE const std::int8_t* bytes(const bool* p) { return reinterpret_cast<const std::int8_t*>(p); }
  static COTANGENT_HOST_INLINE std::int8_t* bytes(bool* p) { return reinterpret_cast<std::int8_t*>(p); }
  static COTANGENT_HOST_INLINE mask from_bytes(pack<std::int8_t, N> b) {
    return of(-convert<typename integer_of_bytes<Bytes>::type>(b));
  }
  COTANGENT_HOST_INLINE pack<std::int8_t, N> to_bytes() const { return -convert<std::int8_t>(bits); }
};

template <int Bytes> class mask<Bytes, 1> {
 public:
  static constexpr int size = 1;

  mask() = default;
  COTANGENT_INLINE mask(bool b) : value_(b) {}

  COTANGENT_INLINE bool operator[](int) const { return value_; }
  COTANGENT_INLINE void set(int, bool b) { value_ = b; }

  static COTANGENT_INLINE mask load(const bool* p) { return *p; }
  static COTANGENT_INLINE mask load(const bool* p, int n) { return n > 0 && *p; }
  COTANGENT_INLINE void store(bool* p) const { *p = value_; }
  COTANGENT_INLINE void store(bool* p, int n) const {
    if (n > 0) *p = value_;
  }
  template <class I> static COTANGENT_INLINE mask gather(const bool* base, pack<I, 1> index, int n = 1) {
    return n > 0 && base[index[0]];
  }
  template <class I> COTANGENT_INLINE void scatter(bool* base, pack<I, 1> index, int n = 1) const {
    if (n > 0) base[index[0]] = value_;
  }
  static COTANGENT_INLINE mask load_strided(const bool* base, std::ptrdiff_t, int n = 1) { return load(base, n); }
  COTANGENT_INLINE void store_strided(bool* base, std::ptrdiff_t, int n = 1) const { store(base, n); }

  friend COTANGENT_INLINE mask operator&(mask a, mask b) { return a.value_ && b.value_; }
  friend COTANGENT_INLINE mask operator|(mask a, mask b) { return a.value_ || b.value_; }
  friend COTANGENT_INLINE mask operator^(mask a, mask b) { return a.value_ != b.value_; }
  friend COTANGENT_INLINE mask operator!(mask a) { return !a.value_; }
  friend COTANGENT_INLINE mask operator==(mask a, mask b) { return a.value_ == b.value_; }
  friend COTANGENT_INLINE mask operator!=(mask a, mask b) { return a.value_ != b.value_; }

 private:
  bool value_;
};

// Lanes taken apart and put together.

/// The first half of the lanes.
template <class T, int N> COTANGENT_HOST_INLINE pack<T, N / 2> lower(pack<T, N> x) {
  using half = pack<T, N / 2>;
  half r;
  if constexpr (N == 2) return x[0];
  else if constexpr (pack<T, N>::parts > 1) {
    for (int k = 0; k < half::parts; ++k) r.set_part(k, x.part(k));
    return r;
  } else {
    r.set_part(0, vector_slice<typename half::part_type, 0>(x.part(0), std::make_index_sequence<N / 2>()));
    return r;
  }
}

/// The second half of the lanes.
template <class T, int N> COTANGENT_HOST_INLINE pack<T, N / 2> upper(pack<T, N> x) {
  using half = pack<T, N / 2>;
  half r;
  if constexpr (N == 2) return x[1];
  else if constexpr (pack<T, N>::parts > 1) {
    for (int k = 0; k < half::parts; ++k) r.set_part(k, x.part(half::parts + k));
    return r;
  } else {
    r.set_part(0, vector_slice<typename half::part_type, N / 2>(x.part(0), std::make_index_sequence<N / 2>()));
    return r;
  }
}

/// The lanes of a, then those of b.
template <class T, int N> COTANGENT_HOST_INLINE pack<T, 2 * N> join(pack<T, N> a, pack<T, N> b) {
  using whole = pack<T, 2 * N>;
  whole r;
  if constexpr (N == 1) {
    r.set(0, a[0]);
    r.set(1, b[0]);
  } else if constexpr (whole::parts > 1) {
    for (int k = 0; k < pack<T, N>::parts; ++k) {
      r.set_part(k, a.part(k));
      r.set_part(pack<T, N>::parts + k, b.part(k));
    }
  } else {
    r.set_part(0, vector_join<typename whole::part_type>(a.part(0), b.part(0), std::make_index_sequence<2 * N>()));
  }
  return r;
}

/// 0, 1, 2, ...
template <class T, int N> COTANGENT_HOST_INLINE pack<T, N> iota_lanes() {
  T t[N];
  for (int i = 0; i < N; ++i) t[i] = T(i);
  return pack<T, N>::load(t);
}
COTANGENT_LANES template <class T, int N> COTANGENT_INLINE pack<T, N> iota() {
  if constexpr (N == 1) return pack<T, 1>(T(0));
  else return iota_lanes<T, N>();
}

// Conversions.

/// Lane by lane to U as static_cast does: to an integer truncates. Out of range and NaN are the hardware's.
template <class U, class T, int N> COTANGENT_HOST_INLINE pack<U, N> convert(pack<T, N> x) {
  constexpr int widest = sizeof(T) > sizeof(U) ? sizeof(T) : sizeof(U);
  if constexpr (std::is_same_v<T, U>) return x;
  else if constexpr (std::is_integral_v<T> && sizeof(U) > 2 * sizeof(T)) {
    // GCC 12 widens one step at a time well, and two steps by scalars.
    using next = typename integer_of_bytes<2 * int(sizeof(T))>::type;
    return convert<U>(convert<std::conditional_t<std::is_signed_v<T>, next, std::make_unsigned_t<next>>>(x));
  } else if constexpr (N * widest > native_bytes) return join(convert<U>(lower(x)), convert<U>(upper(x)));
  else {
    pack<U, N> r;
    r.set_part(0, __builtin_convertvector(x.part(0), typename pack<U, N>::part_type));
    return r;
  }
}
template <class U, class T> COTANGENT_INLINE pack<U, 1> convert(pack<T, 1> x) { return U(x[0]); }

/// The same bits as elements of U, which is as wide as T.
template <class U, class T, int N> COTANGENT_HOST_INLINE pack<U, N> bit_cast(pack<T, N> x) {
  static_assert(sizeof(T) == sizeof(U), "bit_cast: the element types differ in size");
  pack<U, N> r;
  for (int k = 0; k < pack<T, N>::parts; ++k) r.set_part(k, (typename pack<U, N>::part_type)x.part(k));
  return r;
}
template <class U, class T> COTANGENT_INLINE pack<U, 1> bit_cast(pack<T, 1> x) {
  static_assert(sizeof(T) == sizeof(U), "bit_cast: the element types differ in size");
  const T from = x[0];
  U to;
  memcpy(&to, &from, sizeof(T));
  return to;
}

/// The same truth values for elements of Bytes bytes.
template <int Bytes, int From, int N> COTANGENT_HOST_INLINE mask<Bytes, N> mask_cast(mask<From, N> m) {
  mask<Bytes, N> r;
  r.bits = convert<typename integer_of_bytes<Bytes>::type>(m.bits);
  return r;
}
template <int Bytes, int From> COTANGENT_INLINE mask<Bytes, 1> mask_cast(mask<From, 1> m) { return m[0]; }

/// 1 where true, 0 where false.
template <class U, int Bytes, int N> COTANGENT_HOST_INLINE pack<U, N> convert(mask<Bytes, N> m) {
  return select(mask_cast<int(sizeof(U))>(m), pack<U, N>(U(1)), pack<U, N>(U(0)));
}
template <class U, int Bytes> COTANGENT_INLINE pack<U, 1> convert(mask<Bytes, 1> m) { return U(m[0]); }

/// x != 0
COTANGENT_LANES template <class T, int N> COTANGENT_INLINE mask<int(sizeof(T)), N> to_mask(pack<T, N> x) { return x != pack<T, N>(T(0)); }

// Choice.

/// a where m, b elsewhere.
template <class T, int N> COTANGENT_HOST_INLINE pack<T, N> select(mask<int(sizeof(T)), N> m, pack<T, N> a, pack<T, N> b) {
  pack<T, N> r;
  for (int k = 0; k < pack<T, N>::parts; ++k) r.set_part(k, m.bits.part(k) ? a.part(k) : b.part(k));
  return r;
}
template <class T> COTANGENT_INLINE pack<T, 1> select(mask<int(sizeof(T)), 1> m, pack<T, 1> a, pack<T, 1> b) {
  return m[0] ? a : b;
}
template <int Bytes, int N> COTANGENT_HOST_INLINE mask<Bytes, N> select(mask<Bytes, N> m, mask<Bytes, N> a, mask<Bytes, N> b) {
  return (m & a) | (!m & b);
}
template <int Bytes> COTANGENT_INLINE mask<Bytes, 1> select(mask<Bytes, 1> m, mask<Bytes, 1> a, mask<Bytes, 1> b) { return m[0] ? a : b; }

/// Whether some lane is true.
template <int Bytes, int N> COTANGENT_HOST_INLINE bool any(mask<Bytes, N> m) {
  auto v = m.bits.part(0);
  for (int k = 1; k < decltype(m.bits)::parts; ++k) v |= m.bits.part(k);
  return vector_any(v);
}
template <int Bytes> COTANGENT_INLINE bool any(mask<Bytes, 1> m) { return m[0]; }
/// Whether every lane is true.
COTANGENT_LANES template <int Bytes, int N> COTANGENT_INLINE bool all(mask<Bytes, N> m) { return !any(!m); }

}  // namespace COTANGENT_ISA
}  // namespace cotangent

#include <cotangent/backends/cpu/pack/arithmetic.hpp>

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif
