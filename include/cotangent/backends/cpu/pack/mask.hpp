#pragma once
/// mask<Bytes, N>: N truth values, as integers 0 and -1 as wide as the elements that they choose between.

#include <cotangent/backends/cpu/pack.hpp>

namespace cotangent {
inline namespace COTANGENT_ISA {

template <int Bytes, int N> class mask {
 public:
  static constexpr int size = N;
  /// -1 where true, 0 where false.
  pack<typename integer_of_bytes<Bytes>::type, N> bits;

  mask() = default;
  COTANGENT_HOST_INLINE mask(bool b) : bits(b ? -1 : 0) {}

  COTANGENT_HOST_INLINE bool operator[](int i) const { return bits[i] != 0; }
  COTANGENT_HOST_INLINE void set(int i, bool b) { bits.set(i, b ? -1 : 0); }
  template <class F> static COTANGENT_HOST_INLINE mask from_lanes(const F& f) {
    return of(decltype(bits)::from_lanes([&](int i) { return f(i) ? -1 : 0; }));
  }
  /// Makes the bits integers for the compiler too. Comparisons that it moves out of a loop g++ 12 combines with others lane by lane.
  COTANGENT_HOST_INLINE void make_integers() {
#if defined(__AVX512F__) && !defined(__clang__)
    if constexpr (sizeof(bits.part(0)) >= 16)
      for (int k = 0; k < decltype(bits)::parts; ++k) {
        auto part = bits.part(k);
        asm("" : "+v"(part));
        bits.set_part(k, part);
      }
#endif
  }

  /// bool arrays hold one byte, 0 or 1, per lane.
  static COTANGENT_HOST_INLINE mask load(const bool* p) { return from_bytes(pack<std::int8_t, N>::load(bytes(p))); }
  static COTANGENT_HOST_INLINE mask load(const bool* p, int n, int first = 0) { return from_bytes(pack<std::int8_t, N>::load(bytes(p), n, first)); }
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
  friend COTANGENT_HOST_INLINE mask operator<(mask a, mask b) { return of(~a.bits & b.bits); }
  friend COTANGENT_HOST_INLINE mask operator<=(mask a, mask b) { return of(~a.bits | b.bits); }
  friend COTANGENT_HOST_INLINE mask operator>(mask a, mask b) { return b < a; }
  friend COTANGENT_HOST_INLINE mask operator>=(mask a, mask b) { return b <= a; }

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
  COTANGENT_LANES template <class F> static COTANGENT_INLINE mask from_lanes(const F& f) { return f(0); }
  COTANGENT_INLINE void make_integers() {}

  static COTANGENT_INLINE mask load(const bool* p) { return *p; }
  static COTANGENT_INLINE mask load(const bool* p, int n, int first = 0) { return first <= 0 && n > 0 && *p; }
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
  friend COTANGENT_INLINE mask operator<(mask a, mask b) { return !a.value_ && b.value_; }
  friend COTANGENT_INLINE mask operator<=(mask a, mask b) { return !a.value_ || b.value_; }
  friend COTANGENT_INLINE mask operator>(mask a, mask b) { return b < a; }
  friend COTANGENT_INLINE mask operator>=(mask a, mask b) { return b <= a; }

 private:
  bool value_;
};

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
