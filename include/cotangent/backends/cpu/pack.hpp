#pragma once
/// pack<T, N>: N numbers computed on together. mask<Bytes, N>: N truth values for packs of Bytes-wide elements.
///
/// N is a power of two. A pack wider than a register is several registers; pack<T, 1> is a plain T, and the only
/// one that works in device code. Operators and functions are lane by lane. Integer arithmetic wraps. Which of
/// x * y + z becomes a fused multiply-add is the compiler's choice; fma(x, y, z) is fused everywhere.
///
/// Loops over registers test behind their body, and function objects are always inlined: where a pack is one register, the first that an
/// optimizer does leaves one instruction of an operation. It is copied through many functions into a kernel, so what it is then counts.

#include <bit>
#include <limits>

#include <cotangent/backends/cpu/pack/vector.hpp>
#include <cotangent/core/dtype.hpp>

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
    int k = 0;
    do set_part(k, x - part_type{}); while (++k < parts);
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
    int k = 0;
    do r.set_part(k, vector_load<part_type>(p + k * part_lanes)); while (++k < parts);
    return r;
  }
  /// The elements [first, n) from p, 0 <= first, n <= N, zero in the other lanes, whose memory is not touched.
  static COTANGENT_HOST_INLINE pack load(const T* p, int n, int first = 0) {
    pack r;
    int k = 0;
    do r.set_part(k, vector_load<part_type>(p + k * part_lanes, n - k * part_lanes, first - k * part_lanes)); while (++k < parts);
    return r;
  }
  COTANGENT_HOST_INLINE void store(T* p) const {
    int k = 0;
    do {
      const part_type v = part(k);
      std::memcpy(p + k * part_lanes, &v, sizeof v);
    } while (++k < parts);
  }
  /// Stores past the caches. p is aligned to the pack, or to a native vector; other threads see it behind store_fence().
  COTANGENT_HOST_INLINE void store_once(T* p) const {
    int k = 0;
    do vector_store_once(part(k), p + k * part_lanes); while (++k < parts);
  }
  /// Stores the first n lanes.
  COTANGENT_HOST_INLINE void store(T* p, int n) const {
    int k = 0;
    do vector_store(part(k), p + k * part_lanes, n - k * part_lanes); while (++k < parts);
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
  /// The pack of f(0), f(1), ...: values that come from anywhere. (Through memory a vector would have to wait for them.)
  template <class F> static COTANGENT_HOST_INLINE pack from_lanes(const F& f) {
    pack r;
    int k = 0;
    do {
#ifdef __CUDACC__  // nvcc fails on a vector with a list of elements
      T lanes[part_lanes];
      for (int i = 0; i < part_lanes; ++i) lanes[i] = T(f(k * part_lanes + i));
      r.set_part(k, vector_load<part_type>(lanes));
#else
      r.set_part(k, [&]<std::size_t... I>(std::index_sequence<I...>) COTANGENT_EXPANDED { return part_type{T(f(k * part_lanes + int(I)))...}; }(std::make_index_sequence<std::size_t(part_lanes)>{}));
#endif
    } while (++k < parts);
    return r;
  }
  /// base[i * stride] for the first n lanes, zero beyond.
  static COTANGENT_HOST_INLINE pack load_strided(const T* base, std::ptrdiff_t stride, int n = N) {
    if (n >= N) return from_lanes([&](int i) COTANGENT_EXPANDED { return base[i * stride]; });
    T t[N] = {};
    for (int i = 0; i < n; ++i) t[i] = base[i * stride];
    return load(t);
  }
  COTANGENT_HOST_INLINE void store_strided(T* base, std::ptrdiff_t stride, int n = N) const {
    T t[N];
    store(t);
    if (n >= N)
      for (int i = 0; i < N; ++i) base[i * stride] = t[i];
    else
      for (int i = 0; i < n; ++i) base[i * stride] = t[i];
  }

  friend COTANGENT_HOST_INLINE pack operator+(pack a, pack b) {
    return each([](auto x, auto y) COTANGENT_EXPANDED { return x + y; }, a, b);
  }
  friend COTANGENT_HOST_INLINE pack operator-(pack a, pack b) {
    return each([](auto x, auto y) COTANGENT_EXPANDED { return x - y; }, a, b);
  }
  friend COTANGENT_HOST_INLINE pack operator*(pack a, pack b) {
    return each([](auto x, auto y) COTANGENT_EXPANDED { return x * y; }, a, b);
  }
  friend COTANGENT_HOST_INLINE pack operator-(pack a) {
    return each([](auto x) COTANGENT_EXPANDED { return -x; }, a);
  }
  /// Integers: the quotient truncates; x / 0 = -1 and lowest / -1 = lowest, as in XLA.
  friend COTANGENT_HOST_INLINE pack operator/(pack a, pack b) {
    if constexpr (std::is_floating_point_v<T>) return each([](auto x, auto y) COTANGENT_EXPANDED { return x / y; }, a, b);
    else return select(b == T(0), pack(T(-1)), bitwise([](auto x, auto y) COTANGENT_EXPANDED { return x / y; }, a, safe_divisor(a, b)));
  }
  /// The remainder of truncating division; x % 0 = x.
  friend COTANGENT_HOST_INLINE pack operator%(pack a, pack b) requires std::is_integral_v<T> {
    return select(b == T(0), a, bitwise([](auto x, auto y) COTANGENT_EXPANDED { return x % y; }, a, safe_divisor(a, b)));
  }
  friend COTANGENT_HOST_INLINE pack operator&(pack a, pack b) requires std::is_integral_v<T> {
    return bitwise([](auto x, auto y) COTANGENT_EXPANDED { return x & y; }, a, b);
  }
  friend COTANGENT_HOST_INLINE pack operator|(pack a, pack b) requires std::is_integral_v<T> {
    return bitwise([](auto x, auto y) COTANGENT_EXPANDED { return x | y; }, a, b);
  }
  friend COTANGENT_HOST_INLINE pack operator^(pack a, pack b) requires std::is_integral_v<T> {
    return bitwise([](auto x, auto y) COTANGENT_EXPANDED { return x ^ y; }, a, b);
  }
  friend COTANGENT_HOST_INLINE pack operator~(pack a) requires std::is_integral_v<T> {
    return bitwise([](auto x) COTANGENT_EXPANDED { return ~x; }, a);
  }
  /// Shifts by 0 to the width less one; >> of a signed type copies the sign.
  friend COTANGENT_HOST_INLINE pack operator<<(pack a, pack b) requires std::is_integral_v<T> {
    return each([](auto x, auto y) COTANGENT_EXPANDED { return x << y; }, a, b);
  }
  friend COTANGENT_HOST_INLINE pack operator>>(pack a, pack b) requires std::is_integral_v<T> {
    return bitwise([](auto x, auto y) COTANGENT_EXPANDED { return x >> y; }, a, b);
  }
  friend COTANGENT_HOST_INLINE pack operator<<(pack a, int n) requires std::is_integral_v<T> {
    return each([n](auto x) COTANGENT_EXPANDED { return x << n; }, a);
  }
  friend COTANGENT_HOST_INLINE pack operator>>(pack a, int n) requires std::is_integral_v<T> {
    return bitwise([n](auto x) COTANGENT_EXPANDED { return x >> n; }, a);
  }
  friend COTANGENT_HOST_INLINE mask_type operator==(pack a, pack b) { return test([](auto x, auto y) COTANGENT_EXPANDED { return x == y; }, a, b); }
  friend COTANGENT_HOST_INLINE mask_type operator!=(pack a, pack b) { return test([](auto x, auto y) COTANGENT_EXPANDED { return x != y; }, a, b); }
  friend COTANGENT_HOST_INLINE mask_type operator<(pack a, pack b) { return test([](auto x, auto y) COTANGENT_EXPANDED { return x < y; }, a, b); }
  friend COTANGENT_HOST_INLINE mask_type operator<=(pack a, pack b) { return test([](auto x, auto y) COTANGENT_EXPANDED { return x <= y; }, a, b); }
  friend COTANGENT_HOST_INLINE mask_type operator>(pack a, pack b) { return test([](auto x, auto y) COTANGENT_EXPANDED { return x > y; }, a, b); }
  friend COTANGENT_HOST_INLINE mask_type operator>=(pack a, pack b) { return test([](auto x, auto y) COTANGENT_EXPANDED { return x >= y; }, a, b); }

 private:
  template <class F, class... A> static COTANGENT_HOST_INLINE pack bitwise(F f, const A&... a) {
    pack r;
    int k = 0;
    do r.set_part(k, f(a.part(k)...)); while (++k < parts);
    return r;
  }
  /// Integers are computed as unsigned ones, which wrap.
  template <class F, class... A> static COTANGENT_HOST_INLINE pack each(F f, const A&... a) {
    if constexpr (std::is_floating_point_v<T>) return bitwise([&](auto... x) COTANGENT_EXPANDED { return as_written(f(x...)); }, a...);
    else {
      using wrapping = vector<std::make_unsigned_t<T>, part_lanes>;
      return bitwise([&](auto... x) COTANGENT_EXPANDED { return (part_type)f((wrapping)x...); }, a...);
    }
  }
  template <class F> static COTANGENT_HOST_INLINE mask_type test(F f, const pack& a, const pack& b) {
    mask_type r;
    int k = 0;
    do r.bits.set_part(k, (typename pack<integer_like<T>, N>::part_type)f(a.part(k), b.part(k))); while (++k < parts);
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
  COTANGENT_LANES template <class F> static COTANGENT_INLINE pack from_lanes(const F& f) { return f(0); }

  static COTANGENT_INLINE pack load(const T* p) { return *p; }
  static COTANGENT_INLINE pack load(const T* p, int n, int first = 0) { return first <= 0 && n > 0 ? *p : T(0); }
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

  friend COTANGENT_INLINE pack operator+(pack a, pack b) { return as_written(T(wide(a) + wide(b))); }
  friend COTANGENT_INLINE pack operator-(pack a, pack b) { return as_written(T(wide(a) - wide(b))); }
  friend COTANGENT_INLINE pack operator*(pack a, pack b) { return as_written(T(wide(a) * wide(b))); }
  friend COTANGENT_INLINE pack operator-(pack a) { return T(-wide(a)); }
  friend COTANGENT_INLINE pack operator/(pack a, pack b) {
    if constexpr (std::is_floating_point_v<T>) return as_written(a.element_ / b.element_);
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

}  // namespace COTANGENT_ISA

/// visit(i) for i in [0, Count), numbers that the compiler knows: it then keeps what they index in registers.
template <int Count, class Visit> COTANGENT_HOST_INLINE void each_number(const Visit& visit) {
  [&]<int... I>(std::integer_sequence<int, I...>) COTANGENT_EXPANDED { (visit(std::integral_constant<int, I>()), ...); }(std::make_integer_sequence<int, Count>());
}
/// visit(x, v) for x in [0, Rows) and v in [From, To), likewise. Plain numbers: one function for all of them, which is expanded.
template <int Rows, int From, int To, class Visit> COTANGENT_HOST_INLINE void each_place(const Visit& visit) {
  [&]<int... I>(std::integer_sequence<int, I...>) COTANGENT_EXPANDED { (visit(I / (To - From), From + I % (To - From)), ...); }(std::make_integer_sequence<int, Rows*(To - From)>());
}

}  // namespace cotangent

#include <cotangent/backends/cpu/pack/arithmetic.hpp>
#include <cotangent/backends/cpu/pack/lanes.hpp>
#include <cotangent/backends/cpu/pack/mask.hpp>

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif
