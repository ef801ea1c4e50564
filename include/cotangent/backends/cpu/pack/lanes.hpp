#pragma once
/// Packs taken apart, joined, converted, and chosen between.

#include <cotangent/backends/cpu/pack.hpp>

namespace cotangent {
inline namespace COTANGENT_ISA {

// Lanes taken apart and put together.

/// Lanes First, First + 1, ... of a pack: of one register, or whole registers.
template <int W, int First, class T, int N> COTANGENT_HOST_INLINE pack<T, W> lanes_from(pack<T, N> x) {
  constexpr int parts = pack<T, N>::parts;
  static_assert(parts == 1 || W * parts % N == 0);
  if constexpr (W == N) return x;
  else if constexpr (W == 1) return x[First];
  else {
    pack<T, W> r;
    int k = 0;
    if constexpr (parts == 1) r.set_part(0, vector_slice<typename pack<T, W>::part_type, First>(x.part(0), std::make_index_sequence<std::size_t(W)>()));
    else do r.set_part(k, x.part(First * parts / N + k)); while (++k < pack<T, W>::parts);
    return r;
  }
}
template <class T, int N> COTANGENT_HOST_INLINE pack<T, N / 2> lower(pack<T, N> x) { return lanes_from<N / 2, 0>(x); }
template <class T, int N> COTANGENT_HOST_INLINE pack<T, N / 2> upper(pack<T, N> x) { return lanes_from<N / 2, N / 2>(x); }

/// The lanes of a, then those of b.
template <class T, int N> COTANGENT_HOST_INLINE pack<T, 2 * N> join(pack<T, N> a, pack<T, N> b) {
  using whole = pack<T, 2 * N>;
  whole r;
  if constexpr (N == 1) {
    r.set(0, a[0]);
    r.set(1, b[0]);
  } else if constexpr (whole::parts > 1) {
    int k = 0;
    do {
      r.set_part(k, a.part(k));
      r.set_part(pack<T, N>::parts + k, b.part(k));
    } while (++k < pack<T, N>::parts);
  } else {
    r.set_part(0, vector_join<typename whole::part_type>(a.part(0), b.part(0), std::make_index_sequence<2 * N>()));
  }
  return r;
}

/// Shuffles by number: see vector_shuffle.
template <int N, int H, bool Second> struct exchanged_blocks {  // of blocks of H lanes, every other one of a beside that of b
  static constexpr int at(int i) { return i & H ? N + i - (Second ? 0 : H) : i + (Second ? H : 0); }
};
template <int N, int M, int J, int Step> struct taken_columns {  // element J of rows of M elements that lie in M vectors
  static constexpr int at(int i) {
    const int e = i * M + J;
    return e / N == Step ? N + e % N : Step > 1 ? i : e / N == 0 ? e : 0;
  }
};
template <int N, int M, int K, int Step> struct laid_columns {  // vector K of the rows whose elements lie in M vectors
  static constexpr int at(int i) {
    const int e = K * N + i;
    return e % M == Step ? N + e / M : Step > 1 ? i : e % M == 0 ? e / M : 0;
  }
};
template <class From, class T, int N> COTANGENT_HOST_INLINE pack<T, N> shuffle(pack<T, N> a, pack<T, N> b) {
  static_assert(pack<T, N>::parts == 1);
  pack<T, N> r;
  r.set_part(0, vector_shuffle<From>(a.part(0), b.part(0), std::make_index_sequence<std::size_t(N)>()));
  return r;
}

/// Of every W lanes, lane j of r[i] becomes lane i of r[j]: blocks of 1, 2, 4, ... lanes change places. Of packs in one register.
template <int H = 1, class T, int N, int W> COTANGENT_HOST_INLINE void transpose(pack<T, N> (&r)[W]) {
  if constexpr (H < W) {
    for (int i = 0; i < W; ++i) {
      if (i & H) continue;
      const pack<T, N> a = r[i], b = r[i + H];
      r[i] = shuffle<exchanged_blocks<N, H, false>>(a, b);
      r[i + H] = shuffle<exchanged_blocks<N, H, true>>(a, b);
    }
    transpose<2 * H>(r);
  }
}

/// The sum of the lanes of each of W packs of at least W lanes. Lanes are added by halves; v is overwritten.
template <class T, int N, int W> COTANGENT_HOST_INLINE pack<T, W> sums_across(pack<T, N> (&v)[W]) {
  if constexpr (N > W) {
    pack<T, N / 2> halves[W];
    each_number<W>([&](auto i) COTANGENT_EXPANDED { halves[i] = lower(v[i]) + upper(v[i]); });
    return sums_across(halves);
  } else {
    each_number<std::bit_width(unsigned(W)) - 1>([&](auto step) COTANGENT_EXPANDED {
      constexpr int half = W >> (step + 1);
      each_number<half>([&](auto i) COTANGENT_EXPANDED {
        v[i] = shuffle<exchanged_blocks<N, half, false>>(v[i], v[i + half]) + shuffle<exchanged_blocks<N, half, true>>(v[i], v[i + half]);
      });
    });
    return v[0];
  }
}

/// Rows first, first + W, ... in N lanes: of each the first M of W elements.
template <int N, int M, int W, class F> COTANGENT_HOST_INLINE auto rows_beside(const F& row, int first) {
  if constexpr (N > W) return join(rows_beside<N / 2, M, W>(row, first), rows_beside<N / 2, M, W>(row, first + N / 2));
  else {
    using part = pack<std::remove_cvref_t<decltype(*row(0))>, W>;
    return M < W ? part::load(row(first), M) : part::load(row(first));
  }
}
/// Element j of the row that begins at row(i) becomes lane i of column j. Nothing past the M elements of a row is touched.
template <int M, class T, int N, int W, class F> COTANGENT_HOST_INLINE void load_columns(pack<T, N> (&columns)[W], const F& row) {
  for (int j = 0; j < W; ++j) columns[j] = rows_beside<N, M, W>(row, j);
  transpose(columns);
}
#if defined(COTANGENT_AVX512) && !defined(__CUDACC__)
/// The same of 16 bytes per row, in a kernel that has registers to spare.
template <int M, class T, int N, int W, class F>
  requires(N * sizeof(T) == 64 && W * sizeof(T) == 16 && sizeof(T) >= 4)
COTANGENT_HOST_INLINE void load_scattered(pack<T, N> (&columns)[W], const F& row) {
  for (int j = 0; j < W; ++j) {
    columns[j] = pack<T, N>(T(0));
    [&]<int... K>(std::integer_sequence<int, K...>) COTANGENT_EXPANDED {
      (columns[j].set_part(0, vector_with_row<M, K>(columns[j].part(0), row(j + K * W))), ...);
    }(std::make_integer_sequence<int, 4>());
  }
  transpose(columns);
}
#endif
template <int M, class T, int N, int W, class F> COTANGENT_HOST_INLINE void load_scattered(pack<T, N> (&columns)[W], const F& row) {
  load_columns<M>(columns, row);
}

/// N rows of M elements that lie side by side, as M columns, and back. M is 2, 3 or 4.
template <int M, int J, class T, int N> COTANGENT_HOST_INLINE pack<T, N> column_of_rows(const pack<T, N> (&v)[M]) {
  pack<T, N> r = shuffle<taken_columns<N, M, J, 1>>(v[0], v[1]);
  if constexpr (M > 2) r = shuffle<taken_columns<N, M, J, 2>>(r, v[2]);
  if constexpr (M > 3) r = shuffle<taken_columns<N, M, J, 3>>(r, v[3]);
  return r;
}
template <int M, int K, class T, int N> COTANGENT_HOST_INLINE pack<T, N> rows_of_columns(const pack<T, N> (&v)[M]) {
  pack<T, N> r = shuffle<laid_columns<N, M, K, 1>>(v[0], v[1]);
  if constexpr (M > 2) r = shuffle<laid_columns<N, M, K, 2>>(r, v[2]);
  if constexpr (M > 3) r = shuffle<laid_columns<N, M, K, 3>>(r, v[3]);
  return r;
}

/// An integer in memory that is not negative, as for an address.
template <class T> COTANGENT_INLINE std::ptrdiff_t index_in_memory(const T& x) { return std::ptrdiff_t(std::make_unsigned_t<T>(x)); }
#if defined(__AVX2__) && !defined(__CUDACC__)
template <class T>
  requires(sizeof(T) >= 4)
COTANGENT_HOST_INLINE std::ptrdiff_t index_in_memory(const T& x) {  // compilers would see through a plain load
  std::ptrdiff_t index;
  if constexpr (sizeof(T) == 4) asm("movl %1, %k0" : "=r"(index) : "m"(x));  // clears the upper half
  else asm("movq %1, %0" : "=r"(index) : "m"(x));
  return index;
}
#endif

/// The lanes of a pack of integers, none of which is negative, one by one, as for addresses.
template <class T, int N> class lane_list {
 public:
  COTANGENT_LANES explicit COTANGENT_INLINE lane_list(const pack<T, N>& x) : lanes_(x) {}
  COTANGENT_LANES COTANGENT_INLINE std::ptrdiff_t operator[](int i) const { return std::ptrdiff_t(std::make_unsigned_t<T>(lanes_[i])); }

 private:
  pack<T, N> lanes_;
};
#if defined(__AVX2__) && !defined(__CUDACC__)
/// Through memory: taking them out of a register one after the other keeps its only port for that busy. They are stored 32 bytes at a
/// time, because loads of a part of 64 wait until those are in the cache.
template <class T, int N>
  requires(N * sizeof(T) >= 16 && sizeof(T) >= 4)
class lane_list<T, N> {
 public:
  explicit COTANGENT_HOST_INLINE lane_list(const pack<T, N>& x) { store(x, lanes_); }
  COTANGENT_HOST_INLINE std::ptrdiff_t operator[](int i) const { return index_in_memory(lanes_[i]); }

 private:
  alignas(32) T lanes_[N];

  template <int M> static COTANGENT_HOST_INLINE void store(const pack<T, M>& x, T* to) {
    if constexpr (M * sizeof(T) > 32) store(lower(x), to), store(upper(x), to + M / 2);
    else x.store(to);
  }
};
#endif
/// The same of a list in memory.
template <class T> struct listed_lanes {
  const T* list;
  COTANGENT_INLINE std::ptrdiff_t operator[](int i) const { return index_in_memory(list[i]); }
};

/// 0, 1, 2, ... (As vectors: g++ 12 crashes on functions with many stores of such numbers, one by one.)
template <class T, int N, int... I> COTANGENT_HOST_INLINE pack<T, N> counted_lanes(std::integer_sequence<int, I...>) {
  using part = typename pack<T, N>::part_type;
  pack<T, N> r;
  int k = 0;
  do r.set_part(k, part{T(I)...} + T(k * int(sizeof...(I)))); while (++k < pack<T, N>::parts);
  return r;
}
COTANGENT_LANES template <class T, int N> COTANGENT_INLINE pack<T, N> lane_numbers() {
  if constexpr (N == 1) return pack<T, 1>(T(0));
  else return counted_lanes<T, N>(std::make_integer_sequence<int, pack<T, N>::part_lanes>());
}

// Conversions.

/// Lane by lane to U as static_cast does: to an integer truncates. Out of range and NaN are the hardware's.
template <class U, class T, int N> COTANGENT_HOST_INLINE pack<U, N> convert(pack<T, N> x) {
  constexpr int widest = sizeof(T) > sizeof(U) ? sizeof(T) : sizeof(U);
  if constexpr (std::is_same_v<T, U>) return x;
  else if constexpr ((std::is_integral_v<T> && sizeof(T) <= 2 && std::is_floating_point_v<U>) || (std::is_floating_point_v<T> && std::is_integral_v<U> && sizeof(U) <= 2))
    return convert<U>(convert<std::int32_t>(x));
  else if constexpr (std::is_integral_v<T> && sizeof(T) == 1 && std::is_integral_v<U> && sizeof(U) > 2 && vector_widens_bytes<N * int(sizeof(U))>) {
    pack<U, N> r;
    r.set_part(0, vector_from_bytes<typename pack<U, N>::part_type, std::is_signed_v<T>>(x.part(0)));
    return r;
  } else if constexpr (std::is_integral_v<T> && sizeof(U) > 2 * sizeof(T)) {
    // GCC 12 widens and narrows one step at a time well, and two steps by scalars.
    using next = typename integer_of_bytes<2 * int(sizeof(T))>::type;
    return convert<U>(convert<std::conditional_t<std::is_signed_v<T>, next, std::make_unsigned_t<next>>>(x));
  } else if constexpr (std::is_integral_v<T> && std::is_integral_v<U> && 2 * sizeof(U) < sizeof(T)) {
    return convert<U>(convert<typename integer_of_bytes<int(sizeof(T)) / 2>::type>(x));
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
  int k = 0;
  do r.set_part(k, (typename pack<U, N>::part_type)x.part(k)); while (++k < pack<T, N>::parts);
  return r;
}
template <class U, class T> COTANGENT_INLINE pack<U, 1> bit_cast(pack<T, 1> x) {
  static_assert(sizeof(T) == sizeof(U), "bit_cast: the element types differ in size");
  const T from = x[0];
  U to;
  memcpy(&to, &from, sizeof(T));
  return to;
}

/// The floats that numbers of type H, a 16-bit floating type, are whose bits are given.
template <class H, int N> COTANGENT_HOST_INLINE pack<float, N> float_of_bits(pack<std::uint16_t, N> h) {
  using ints = pack<std::uint32_t, N>;
  if constexpr (N * 4 > native_bytes) return join(float_of_bits<H>(lower(h)), float_of_bits<H>(upper(h)));
  else if constexpr (std::is_same_v<H, bfloat16>) return bit_cast<float>(convert<std::uint32_t>(h) << 16);
  else if constexpr (vector_has_half<N>) {
    pack<float, N> r;
    r.set_part(0, vector_from_half<typename pack<float, N>::part_type>(h.part(0)));
    return r;
  } else {  // numbers below 2^-14 are so many 2^-24
    const ints bits = convert<std::uint32_t>(h), sign = (bits & ints(0x8000u)) << 16, magnitude = bits & ints(0x7fffu);
    const ints normal = (magnitude << 13) + select(magnitude < ints(0x7c00u), ints(0x38000000u), ints(0x70000000u));
    const ints small = bit_cast<std::uint32_t>(convert<float>(bit_cast<std::int32_t>(magnitude)) * pack<float, N>(0x1p-24f));
    return bit_cast<float>(sign | select(magnitude < ints(0x400u), small, normal));
  }
}
template <class H> COTANGENT_INLINE pack<float, 1> float_of_bits(pack<std::uint16_t, 1> bits) {
  H h;
  h.bits = bits[0];
#ifdef __CUDA_ARCH__
  if constexpr (std::is_same_v<H, half>) {
    float x;
    asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(h.bits));
    return x;
  }
#endif
  return float(h);
}
/// The bits of the numbers of type H that are nearest to floats; of two such, that whose last bit is 0.
template <class H, int N> COTANGENT_HOST_INLINE pack<std::uint16_t, N> bits_of_float(pack<float, N> x) {
  using ints = pack<std::uint32_t, N>;
  if constexpr (N * 4 > native_bytes) return join(bits_of_float<H>(lower(x)), bits_of_float<H>(upper(x)));
  else if constexpr (std::is_same_v<H, bfloat16>) {
    const ints bits = bit_cast<std::uint32_t>(x), upper_bits = bits >> 16;
    const ints rounded = (bits + ints(0x7fffu) + (upper_bits & ints(1u))) >> 16;
    return convert<std::uint16_t>(select(x == x, rounded, upper_bits | ints(0x40u)));
  } else if constexpr (vector_has_half<N>) {
    pack<std::uint16_t, N> r;
    r.set_part(0, vector_to_half<typename pack<std::uint16_t, N>::part_type>(x.part(0)));
    return r;
  } else {  // those below 2^-14 are rounded where they end, by a number whose last bit is 2^-24
    const ints bits = bit_cast<std::uint32_t>(x), sign = (bits >> 16) & ints(0x8000u), magnitude = bits & ints(0x7fffffffu);
    const ints normal = (magnitude - ints(0x38000000u) + ints(0xfffu) + ((magnitude >> 13) & ints(1u))) >> 13;
    const ints small = bit_cast<std::uint32_t>(bit_cast<float>(magnitude) + pack<float, N>(0.5f)) - ints(0x3f000000u);
    const ints large = select(magnitude > ints(0x7f800000u), ints(0x7e00u), ints(0x7c00u));
    const ints kept = select(magnitude < ints(0x38800000u), small, normal);
    return convert<std::uint16_t>(sign | select(magnitude < ints(0x477ff000u), kept, large));
  }
}
template <class H> COTANGENT_INLINE pack<std::uint16_t, 1> bits_of_float(pack<float, 1> x) {
#ifdef __CUDA_ARCH__
  if constexpr (std::is_same_v<H, half>) {
    std::uint16_t bits;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x[0]));
    return bits;
  }
#endif
  return H(x[0]).bits;
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
  int k = 0;
  do r.set_part(k, m.bits.part(k) ? a.part(k) : b.part(k)); while (++k < pack<T, N>::parts);
  return r;
}
template <class T> COTANGENT_INLINE pack<T, 1> select(mask<int(sizeof(T)), 1> m, pack<T, 1> a, pack<T, 1> b) {
  return m[0] ? a : b;
}
template <int Bytes, int N> COTANGENT_HOST_INLINE mask<Bytes, N> select(mask<Bytes, N> m, mask<Bytes, N> a, mask<Bytes, N> b) {
  return (m & a) | ((!m) & b);
}
template <int Bytes> COTANGENT_INLINE mask<Bytes, 1> select(mask<Bytes, 1> m, mask<Bytes, 1> a, mask<Bytes, 1> b) { return m[0] ? a : b; }

}  // namespace COTANGENT_ISA
}  // namespace cotangent
