#pragma once
/// What the compiler's vectors lack: one native register's worth of fma, rounding, square roots and
/// memory access for the first n lanes. Host only; pack.hpp is the interface.

#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include <cotangent/core/macros.hpp>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

/// Packs are other types under other instruction sets, so translation units built with different flags link.
#ifdef __CUDACC__
#define COTANGENT_ISA_NAME(NAME) NAME##_cuda
#else
#define COTANGENT_ISA_NAME(NAME) NAME
#endif
#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__)
#define COTANGENT_AVX512 1
#define COTANGENT_ISA COTANGENT_ISA_NAME(avx512)
#elif defined(__AVX2__) && defined(__FMA__)
#define COTANGENT_ISA COTANGENT_ISA_NAME(avx2)
#elif defined(__AVX__)
#define COTANGENT_ISA COTANGENT_ISA_NAME(avx)
#else
#define COTANGENT_ISA COTANGENT_ISA_NAME(baseline)
#endif

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpsabi"
#pragma GCC diagnostic ignored "-Wignored-attributes"
#endif

namespace cotangent {
inline namespace COTANGENT_ISA {

/// Bytes of the widest vector register this translation unit is compiled for.
#if defined(COTANGENT_AVX512)
inline constexpr int native_bytes = 64;
#elif defined(__AVX__)
inline constexpr int native_bytes = 32;
#else
inline constexpr int native_bytes = 16;
#endif

template <int Bytes> struct integer_of_bytes;
template <> struct integer_of_bytes<1> { using type = std::int8_t; };
template <> struct integer_of_bytes<2> { using type = std::int16_t; };
template <> struct integer_of_bytes<4> { using type = std::int32_t; };
template <> struct integer_of_bytes<8> { using type = std::int64_t; };
/// The signed integer as wide as T.
template <class T> using integer_like = typename integer_of_bytes<int(sizeof(T))>::type;

template <class T, int N> struct vector_of { typedef T type __attribute__((vector_size(N * sizeof(T)))); };
/// The compiler's vector of N elements.
template <class T, int N> using vector = typename vector_of<T, N>::type;

/// f of every lane: for what the compiler has no vector form of.
template <class V, class F, class... A> COTANGENT_HOST_INLINE V vector_each(F f, const A&... a) {
  V r;
  for (std::size_t i = 0; i < sizeof(V) / sizeof(r[0]); ++i) r[i] = f(a[i]...);
  return r;
}

#if defined(COTANGENT_AVX512)
/// GCC 12 warns of an uninitialized operand in the unmasked forms of some intrinsics.
inline constexpr __mmask16 all_lanes = 0xffff;
#endif

/// The value of an operation, which -ffast-math may not rearrange with those around it: the mathematical functions are the roundings that
/// they spell out, and results do not depend on what a kernel is fused of.
template <class V> COTANGENT_INLINE V as_written(V x) {
#if defined(__FAST_MATH__) && !defined(__CUDACC__)
  if constexpr (std::is_integral_v<V>) return x;
#if defined(__clang__)
  else return __arithmetic_fence(x);
#elif defined(__x86_64__)  // GCC 12 would take vectors of floats apart
  else if constexpr (!std::is_scalar_v<V>) {
    asm("" : "+v"(x));
    return x;
  } else return __builtin_assoc_barrier(x);
#else
  else return __builtin_assoc_barrier(x);
#endif
#else
  return x;
#endif
}

/// Whether all machines that the code is compiled for multiply and add at once.
#if defined(__x86_64__) && !defined(__FMA__)
inline constexpr bool has_fma = false;
#else
inline constexpr bool has_fma = true;
#endif
#if defined(__x86_64__) && !defined(__FMA__) && !defined(__CUDACC__)
#define COTANGENT_ASKS_FOR_FMA 1
/// Whether this one does: then the mathematical functions, which products rounded once are the most of, take the instruction. Results are the same.
inline const bool processor_has_fma = (__builtin_cpu_init(), __builtin_cpu_supports("fma") != 0);

/// a * b + c, rounded once, of numbers or vectors, by the instruction that the compiler is not to use by itself.
inline __attribute__((always_inline)) float fma_instruction(float a, float b, float c) {
  asm("vfmadd213ss {%2, %1, %0|%0, %1, %2}" : "+x"(a) : "x"(b), "x"(c));
  return a;
}
inline __attribute__((always_inline)) double fma_instruction(double a, double b, double c) {
  asm("vfmadd213sd {%2, %1, %0|%0, %1, %2}" : "+x"(a) : "x"(b), "x"(c));
  return a;
}
template <class V> COTANGENT_HOST_INLINE V fma_instruction(V a, V b, V c) {
  if constexpr (std::is_same_v<std::remove_cvref_t<decltype(a[0])>, float>) asm("vfmadd213ps {%2, %1, %0|%0, %1, %2}" : "+x"(a) : "x"(b), "x"(c));
  else asm("vfmadd213pd {%2, %1, %0|%0, %1, %2}" : "+x"(a) : "x"(b), "x"(c));
  return a;
}
#endif
/// a * b + c in double, where products of floats are exact: rounded once, but for one of 2^29 that lie halfway between floats then.
template <class V> COTANGENT_HOST_INLINE V vector_fma_in_double(V a, V b, V c) {
  typedef double wide __attribute__((vector_size(2 * sizeof(V))));
  return __builtin_convertvector(__builtin_convertvector(a, wide) * __builtin_convertvector(b, wide) + __builtin_convertvector(c, wide), V);
}

/// a * b + c, rounded once.
template <class V> COTANGENT_HOST_INLINE V vector_fma(V a, V b, V c) {
  using T = std::remove_cvref_t<decltype(a[0])>;
#if defined(COTANGENT_ASKS_FOR_FMA)
  if constexpr (sizeof(V) >= 16)
    if (processor_has_fma) return fma_instruction(a, b, c);
#endif
#if defined(COTANGENT_AVX512)
  if constexpr (std::is_same_v<T, float> && sizeof(V) == 64) return (V)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
  else if constexpr (std::is_same_v<T, double> && sizeof(V) == 64) return (V)_mm512_fmadd_pd((__m512d)a, (__m512d)b, (__m512d)c);
  else
#endif
#if defined(__FMA__)
  if constexpr (std::is_same_v<T, float> && sizeof(V) == 32) return (V)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
  else if constexpr (std::is_same_v<T, double> && sizeof(V) == 32) return (V)_mm256_fmadd_pd((__m256d)a, (__m256d)b, (__m256d)c);
  else if constexpr (std::is_same_v<T, float> && sizeof(V) == 16) return (V)_mm_fmadd_ps((__m128)a, (__m128)b, (__m128)c);
  else if constexpr (std::is_same_v<T, double> && sizeof(V) == 16) return (V)_mm_fmadd_pd((__m128d)a, (__m128d)b, (__m128d)c);
  else
#endif
    if constexpr (std::is_same_v<T, float> && !has_fma) return vector_fma_in_double(a, b, c);
    else return vector_each<V>([](T x, T y, T z) { return T(std::fma(x, y, z)); }, a, b, c);
}

/// c - a * b, rounded once.
template <class V> COTANGENT_HOST_INLINE V vector_fnma(V a, V b, V c) {
  using T = std::remove_cvref_t<decltype(a[0])>;
#if defined(COTANGENT_ASKS_FOR_FMA)
  if constexpr (sizeof(V) >= 16)
    if (processor_has_fma) return fma_instruction(-a, b, c);
#endif
#if defined(COTANGENT_AVX512)
  if constexpr (std::is_same_v<T, float> && sizeof(V) == 64) return (V)_mm512_fnmadd_ps((__m512)a, (__m512)b, (__m512)c);
  else if constexpr (std::is_same_v<T, double> && sizeof(V) == 64) return (V)_mm512_fnmadd_pd((__m512d)a, (__m512d)b, (__m512d)c);
  else
#endif
#if defined(__FMA__)
  if constexpr (std::is_same_v<T, float> && sizeof(V) == 32) return (V)_mm256_fnmadd_ps((__m256)a, (__m256)b, (__m256)c);
  else if constexpr (std::is_same_v<T, double> && sizeof(V) == 32) return (V)_mm256_fnmadd_pd((__m256d)a, (__m256d)b, (__m256d)c);
  else if constexpr (std::is_same_v<T, float> && sizeof(V) == 16) return (V)_mm_fnmadd_ps((__m128)a, (__m128)b, (__m128)c);
  else if constexpr (std::is_same_v<T, double> && sizeof(V) == 16) return (V)_mm_fnmadd_pd((__m128d)a, (__m128d)b, (__m128d)c);
  else
#endif
    if constexpr (std::is_same_v<T, float> && !has_fma) return vector_fma_in_double(-a, b, c);
    else return vector_each<V>([](T x, T y, T z) { return T(std::fma(-x, y, z)); }, a, b, c);
}

template <class V> COTANGENT_HOST_INLINE V vector_sqrt(V a) {
  using T = std::remove_cvref_t<decltype(a[0])>;
#if defined(COTANGENT_AVX512)
  if constexpr (std::is_same_v<T, float> && sizeof(V) == 64) return (V)_mm512_maskz_sqrt_ps(all_lanes, (__m512)a);
  else if constexpr (std::is_same_v<T, double> && sizeof(V) == 64) return (V)_mm512_maskz_sqrt_pd(__mmask8(all_lanes), (__m512d)a);
  else
#endif
#if defined(__AVX__)
  if constexpr (std::is_same_v<T, float> && sizeof(V) == 32) return (V)_mm256_sqrt_ps((__m256)a);
  else if constexpr (std::is_same_v<T, double> && sizeof(V) == 32) return (V)_mm256_sqrt_pd((__m256d)a);
  else
#endif
#if defined(__SSE2__)
  if constexpr (std::is_same_v<T, float> && sizeof(V) == 16) return (V)_mm_sqrt_ps((__m128)a);
  else if constexpr (std::is_same_v<T, double> && sizeof(V) == 16) return (V)_mm_sqrt_pd((__m128d)a);
  else
#endif
    return vector_each<V>([](T x) { return T(std::sqrt(x)); }, a);
}

/// How to round to an integer; the values are those of the roundps instruction.
enum class rounding { even = 0, down = 1, up = 2, zero = 3 };

template <rounding R, class T> COTANGENT_HD constexpr T scalar_round(T x) {
  if constexpr (R == rounding::even) return std::rint(x);
  else if constexpr (R == rounding::down) return std::floor(x);
  else if constexpr (R == rounding::up) return std::ceil(x);
  else return std::trunc(x);
}

template <rounding R, class V> COTANGENT_HOST_INLINE V vector_round(V a) {
  using T = std::remove_cvref_t<decltype(a[0])>;
#if defined(COTANGENT_AVX512)
  if constexpr (std::is_same_v<T, float> && sizeof(V) == 64) return (V)_mm512_maskz_roundscale_ps(all_lanes, (__m512)a, int(R) | _MM_FROUND_NO_EXC);
  else if constexpr (std::is_same_v<T, double> && sizeof(V) == 64) return (V)_mm512_maskz_roundscale_pd(__mmask8(all_lanes), (__m512d)a, int(R) | _MM_FROUND_NO_EXC);
  else
#endif
#if defined(__AVX__)
  if constexpr (std::is_same_v<T, float> && sizeof(V) == 32) return (V)_mm256_round_ps((__m256)a, int(R) | _MM_FROUND_NO_EXC);
  else if constexpr (std::is_same_v<T, double> && sizeof(V) == 32) return (V)_mm256_round_pd((__m256d)a, int(R) | _MM_FROUND_NO_EXC);
  else
#endif
#if defined(__SSE4_1__)
  if constexpr (std::is_same_v<T, float> && sizeof(V) == 16) return (V)_mm_round_ps((__m128)a, int(R) | _MM_FROUND_NO_EXC);
  else if constexpr (std::is_same_v<T, double> && sizeof(V) == 16) return (V)_mm_round_pd((__m128d)a, int(R) | _MM_FROUND_NO_EXC);
  else
#endif
    return vector_each<V>([](T x) { return scalar_round<R>(x); }, a);
}

#if defined(COTANGENT_AVX512)
/// p * 2^k, rounded once.
template <class V> COTANGENT_HOST_INLINE V vector_scale(V p, V k) {
  using T = std::remove_cvref_t<decltype(p[0])>;
  if constexpr (std::is_same_v<T, float>) {
    if constexpr (sizeof(V) == 64) return (V)_mm512_maskz_scalef_ps(all_lanes, (__m512)p, (__m512)k);
    else if constexpr (sizeof(V) == 32) return (V)_mm256_maskz_scalef_ps(__mmask8(all_lanes), (__m256)p, (__m256)k);
    else return (V)_mm_maskz_scalef_ps(__mmask8(all_lanes), (__m128)p, (__m128)k);
  } else {
    if constexpr (sizeof(V) == 64) return (V)_mm512_maskz_scalef_pd(__mmask8(all_lanes), (__m512d)p, (__m512d)k);
    else if constexpr (sizeof(V) == 32) return (V)_mm256_maskz_scalef_pd(__mmask8(all_lanes), (__m256d)p, (__m256d)k);
    else return (V)_mm_maskz_scalef_pd(__mmask8(all_lanes), (__m128d)p, (__m128d)k);
  }
}

/// floor(log2(|x|)): -inf for 0, inf for inf.
template <class V> COTANGENT_HOST_INLINE V vector_exponent(V x) {
  using T = std::remove_cvref_t<decltype(x[0])>;
  if constexpr (std::is_same_v<T, float>) {
    if constexpr (sizeof(V) == 64) return (V)_mm512_maskz_getexp_ps(all_lanes, (__m512)x);
    else if constexpr (sizeof(V) == 32) return (V)_mm256_maskz_getexp_ps(__mmask8(all_lanes), (__m256)x);
    else return (V)_mm_maskz_getexp_ps(__mmask8(all_lanes), (__m128)x);
  } else {
    if constexpr (sizeof(V) == 64) return (V)_mm512_maskz_getexp_pd(__mmask8(all_lanes), (__m512d)x);
    else if constexpr (sizeof(V) == 32) return (V)_mm256_maskz_getexp_pd(__mmask8(all_lanes), (__m256d)x);
    else return (V)_mm_maskz_getexp_pd(__mmask8(all_lanes), (__m128d)x);
  }
}

/// x over a power of two, in [0.75, 1.5): 1 for 0 and inf, NaN for negative x.
template <class V> COTANGENT_HOST_INLINE V vector_mantissa(V x) {
  using T = std::remove_cvref_t<decltype(x[0])>;
  constexpr auto interval = _MM_MANT_NORM_p75_1p5;
  constexpr auto sign = _MM_MANT_SIGN_nan;
  if constexpr (std::is_same_v<T, float>) {
    if constexpr (sizeof(V) == 64) return (V)_mm512_maskz_getmant_ps(all_lanes, (__m512)x, interval, sign);
    else if constexpr (sizeof(V) == 32) return (V)_mm256_maskz_getmant_ps(__mmask8(all_lanes), (__m256)x, interval, sign);
    else return (V)_mm_maskz_getmant_ps(__mmask8(all_lanes), (__m128)x, interval, sign);
  } else {
    if constexpr (sizeof(V) == 64) return (V)_mm512_maskz_getmant_pd(__mmask8(all_lanes), (__m512d)x, interval, sign);
    else if constexpr (sizeof(V) == 32) return (V)_mm256_maskz_getmant_pd(__mmask8(all_lanes), (__m256d)x, interval, sign);
    else return (V)_mm_maskz_getmant_pd(__mmask8(all_lanes), (__m128d)x, interval, sign);
  }
}
#endif

/// a < b ? a : b, one instruction.
template <class V> COTANGENT_HOST_INLINE V vector_lesser(V a, V b) {
  using T = std::remove_cvref_t<decltype(a[0])>;
#if defined(COTANGENT_AVX512)
  if constexpr (std::is_same_v<T, float> && sizeof(V) == 64) return (V)_mm512_maskz_min_ps(all_lanes, (__m512)a, (__m512)b);
  else if constexpr (std::is_same_v<T, double> && sizeof(V) == 64) return (V)_mm512_maskz_min_pd(__mmask8(all_lanes), (__m512d)a, (__m512d)b);
  else
#endif
#if defined(__AVX__)
  if constexpr (std::is_same_v<T, float> && sizeof(V) == 32) return (V)_mm256_min_ps((__m256)a, (__m256)b);
  else if constexpr (std::is_same_v<T, double> && sizeof(V) == 32) return (V)_mm256_min_pd((__m256d)a, (__m256d)b);
  else
#endif
#if defined(__SSE2__)
  if constexpr (std::is_same_v<T, float> && sizeof(V) == 16) return (V)_mm_min_ps((__m128)a, (__m128)b);
  else if constexpr (std::is_same_v<T, double> && sizeof(V) == 16) return (V)_mm_min_pd((__m128d)a, (__m128d)b);
  else
#endif
    return a < b ? a : b;
}

/// a > b ? a : b, one instruction.
template <class V> COTANGENT_HOST_INLINE V vector_greater(V a, V b) {
  using T = std::remove_cvref_t<decltype(a[0])>;
#if defined(COTANGENT_AVX512)
  if constexpr (std::is_same_v<T, float> && sizeof(V) == 64) return (V)_mm512_maskz_max_ps(all_lanes, (__m512)a, (__m512)b);
  else if constexpr (std::is_same_v<T, double> && sizeof(V) == 64) return (V)_mm512_maskz_max_pd(__mmask8(all_lanes), (__m512d)a, (__m512d)b);
  else
#endif
#if defined(__AVX__)
  if constexpr (std::is_same_v<T, float> && sizeof(V) == 32) return (V)_mm256_max_ps((__m256)a, (__m256)b);
  else if constexpr (std::is_same_v<T, double> && sizeof(V) == 32) return (V)_mm256_max_pd((__m256d)a, (__m256d)b);
  else
#endif
#if defined(__SSE2__)
  if constexpr (std::is_same_v<T, float> && sizeof(V) == 16) return (V)_mm_max_ps((__m128)a, (__m128)b);
  else if constexpr (std::is_same_v<T, double> && sizeof(V) == 16) return (V)_mm_max_pd((__m128d)a, (__m128d)b);
  else
#endif
    return a > b ? a : b;
}

template <class V, class T> COTANGENT_HOST_INLINE V vector_load(const T* p) {
  V r;
  std::memcpy(&r, p, sizeof(V));
  return r;
}

#if defined(COTANGENT_AVX512)
/// The lowest n of L bits; n may lie outside [0, L].
template <int L> COTANGENT_HOST_INLINE std::uint64_t low_bits(std::ptrdiff_t n) {
  constexpr std::uint64_t all = L == 64 ? ~std::uint64_t(0) : (std::uint64_t(1) << (L & 63)) - 1;
#if defined(__BMI2__)
  return _bzhi_u64(all, unsigned(n < 0 ? 0 : n < L ? n : L));
#else
  return n >= L ? all : n <= 0 ? 0 : (std::uint64_t(1) << n) - 1;
#endif
}
#endif

/// The elements [first, n) from p, zero in the other lanes, whose memory is not touched. Both may lie outside [0, lanes].
template <class V, class T> COTANGENT_HOST_INLINE V vector_load(const T* p, std::ptrdiff_t n, std::ptrdiff_t first = 0) {
  constexpr int lanes = int(sizeof(V) / sizeof(T));
#if defined(COTANGENT_AVX512)
  if constexpr (sizeof(V) == 64) {
    const auto m = low_bits<lanes>(n) & ~low_bits<lanes>(first);
    if constexpr (sizeof(T) == 1) return (V)_mm512_maskz_loadu_epi8(m, p);
    else if constexpr (sizeof(T) == 2) return (V)_mm512_maskz_loadu_epi16(__mmask32(m), p);
    else if constexpr (sizeof(T) == 4) return (V)_mm512_maskz_loadu_epi32(__mmask16(m), p);
    else return (V)_mm512_maskz_loadu_epi64(__mmask8(m), p);
  } else if constexpr (sizeof(V) == 32) {
    const auto m = low_bits<lanes>(n) & ~low_bits<lanes>(first);
    if constexpr (sizeof(T) == 1) return (V)_mm256_maskz_loadu_epi8(__mmask32(m), p);
    else if constexpr (sizeof(T) == 2) return (V)_mm256_maskz_loadu_epi16(__mmask16(m), p);
    else if constexpr (sizeof(T) == 4) return (V)_mm256_maskz_loadu_epi32(__mmask8(m), p);
    else return (V)_mm256_maskz_loadu_epi64(__mmask8(m), p);
  } else if constexpr (sizeof(V) == 16) {
    const auto m = low_bits<lanes>(n) & ~low_bits<lanes>(first);
    if constexpr (sizeof(T) == 1) return (V)_mm_maskz_loadu_epi8(__mmask16(m), p);
    else if constexpr (sizeof(T) == 2) return (V)_mm_maskz_loadu_epi16(__mmask8(m), p);
    else if constexpr (sizeof(T) == 4) return (V)_mm_maskz_loadu_epi32(__mmask8(m), p);
    else return (V)_mm_maskz_loadu_epi64(__mmask8(m), p);
  } else
#elif defined(__AVX2__)
  if constexpr (sizeof(V) == 32 && sizeof(T) == 4) {
    const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    const __m256i m = _mm256_andnot_si256(_mm256_cmpgt_epi32(_mm256_set1_epi32(int(first)), lane), _mm256_cmpgt_epi32(_mm256_set1_epi32(int(n)), lane));
    return (V)_mm256_maskload_epi32(reinterpret_cast<const int*>(p), m);
  } else if constexpr (sizeof(V) == 32 && sizeof(T) == 8) {
    const __m256i lane = _mm256_setr_epi64x(0, 1, 2, 3);
    const __m256i m = _mm256_andnot_si256(_mm256_cmpgt_epi64(_mm256_set1_epi64x(first), lane), _mm256_cmpgt_epi64(_mm256_set1_epi64x(n), lane));
    return (V)_mm256_maskload_epi64(reinterpret_cast<const long long*>(p), m);
  } else
#endif
  {
    T t[lanes] = {};
    for (int i = first > 0 ? int(first) : 0; i < lanes && i < n; ++i) t[i] = p[i];
    return vector_load<V>(t);
  }
}

#if defined(COTANGENT_AVX512) && !defined(__CUDACC__)
/// v with the first M elements of 16 bytes from p, in its Kth 16 bytes; no other memory is touched. (A masked broadcast is one instruction, where a
/// masked load and an insertion are two, of which one waits for the only port that shuffles.)
template <int M, int K, class V, class T> COTANGENT_HOST_INLINE V vector_with_row(V v, const T* p) {
  static_assert(sizeof(V) == 64 && (sizeof(T) == 4 || sizeof(T) == 8));
  constexpr unsigned lanes = ((1u << M) - 1) << (K * 16 / int(sizeof(T)));
  const auto& row = *reinterpret_cast<const T(*)[M]>(p);
  if constexpr (sizeof(T) == 4) asm("vbroadcastf32x4 %1, %0%{%2%}" : "+v"(v) : "m"(row), "Yk"(__mmask16(lanes)));
  else asm("vbroadcastf64x2 %1, %0%{%2%}" : "+v"(v) : "m"(row), "Yk"(__mmask8(lanes)));
  return v;
}
#endif

/// Stores past the caches; p is aligned to the vector.
template <class V, class T> COTANGENT_HOST_INLINE void vector_store_once(V v, T* p) {
#if defined(__clang__)
  __builtin_nontemporal_store(v, reinterpret_cast<V*>(p));
#else
#if defined(COTANGENT_AVX512)
  if constexpr (sizeof(V) == 64) return _mm512_stream_si512(reinterpret_cast<__m512i*>(p), (__m512i)v);
#endif
#if defined(__AVX__)
  if constexpr (sizeof(V) == 32) return _mm256_stream_si256(reinterpret_cast<__m256i*>(p), (__m256i)v);
#endif
#if defined(__SSE2__)
  if constexpr (sizeof(V) == 16) return _mm_stream_si128(reinterpret_cast<__m128i*>(p), (__m128i)v);
#endif
  std::memcpy(p, &v, sizeof v);
#endif
}
/// Behind it, other threads see what vector_store_once has stored.
inline void store_fence() {
#if defined(__SSE2__)
  _mm_sfence();
#else
  std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
}

/// Stores the first n lanes. Nothing past p[n - 1] is touched. n may lie outside [0, lanes].
template <class V, class T> COTANGENT_HOST_INLINE void vector_store(V v, T* p, std::ptrdiff_t n) {
  constexpr int lanes = int(sizeof(V) / sizeof(T));
#if defined(COTANGENT_AVX512)
  if constexpr (sizeof(V) == 64) {
    const auto m = low_bits<lanes>(n);
    if constexpr (sizeof(T) == 1) _mm512_mask_storeu_epi8(p, m, (__m512i)v);
    else if constexpr (sizeof(T) == 2) _mm512_mask_storeu_epi16(p, __mmask32(m), (__m512i)v);
    else if constexpr (sizeof(T) == 4) _mm512_mask_storeu_epi32(p, __mmask16(m), (__m512i)v);
    else _mm512_mask_storeu_epi64(p, __mmask8(m), (__m512i)v);
    return;
  }
  // Taken from a register of 64 bytes and stored so by one instruction, it would touch what the mask leaves out.
  if constexpr (sizeof(V) == 32 || sizeof(V) == 16) asm("" : "+v"(v));
  if constexpr (sizeof(V) == 32) {
    const auto m = low_bits<lanes>(n);
    if constexpr (sizeof(T) == 1) _mm256_mask_storeu_epi8(p, __mmask32(m), (__m256i)v);
    else if constexpr (sizeof(T) == 2) _mm256_mask_storeu_epi16(p, __mmask16(m), (__m256i)v);
    else if constexpr (sizeof(T) == 4) _mm256_mask_storeu_epi32(p, __mmask8(m), (__m256i)v);
    else _mm256_mask_storeu_epi64(p, __mmask8(m), (__m256i)v);
    return;
  } else if constexpr (sizeof(V) == 16) {
    const auto m = low_bits<lanes>(n);
    if constexpr (sizeof(T) == 1) _mm_mask_storeu_epi8(p, __mmask16(m), (__m128i)v);
    else if constexpr (sizeof(T) == 2) _mm_mask_storeu_epi16(p, __mmask8(m), (__m128i)v);
    else if constexpr (sizeof(T) == 4) _mm_mask_storeu_epi32(p, __mmask8(m), (__m128i)v);
    else _mm_mask_storeu_epi64(p, __mmask8(m), (__m128i)v);
    return;
  } else
#elif defined(__AVX2__)
  if constexpr (sizeof(V) == 32 && sizeof(T) == 4) {
    const __m256i m = _mm256_cmpgt_epi32(_mm256_set1_epi32(int(n)), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
    _mm256_maskstore_epi32(reinterpret_cast<int*>(p), m, (__m256i)v);
    return;
  } else if constexpr (sizeof(V) == 32 && sizeof(T) == 8) {
    const __m256i m = _mm256_cmpgt_epi64(_mm256_set1_epi64x(n), _mm256_setr_epi64x(0, 1, 2, 3));
    _mm256_maskstore_epi64(reinterpret_cast<long long*>(p), m, (__m256i)v);
    return;
  } else
#endif
    for (int i = 0; i < lanes && i < n; ++i) p[i] = v[i];
}

/// Whether a lane of a vector of -1 and 0 is set.
template <class V> COTANGENT_HOST_INLINE bool vector_any(V v) {
#if defined(COTANGENT_AVX512)
  if constexpr (sizeof(V) == 64) return _mm512_test_epi32_mask((__m512i)v, (__m512i)v) != 0;
  else
#endif
#if defined(__AVX__)
  if constexpr (sizeof(V) == 32) return !_mm256_testz_si256((__m256i)v, (__m256i)v);
  else
#endif
#if defined(__SSE2__)
  if constexpr (sizeof(V) == 16) return _mm_movemask_epi8((__m128i)v) != 0;
  else
#endif
  {
    for (std::size_t i = 0; i < sizeof(V) / sizeof(v[0]); ++i)
      if (v[i]) return true;
    return false;
  }
}

/// Whether a > b in some lane.
template <class V> COTANGENT_HOST_INLINE bool vector_any_greater(V a, V b) {
#if defined(COTANGENT_AVX512)
  using T = std::remove_cvref_t<decltype(a[0])>;
  if constexpr (std::is_same_v<T, float> && sizeof(V) == 64) return _mm512_cmp_ps_mask((__m512)a, (__m512)b, _CMP_GT_OQ) != 0;
  else if constexpr (std::is_same_v<T, double> && sizeof(V) == 64) return _mm512_cmp_pd_mask((__m512d)a, (__m512d)b, _CMP_GT_OQ) != 0;
  else
#endif
    return vector_any(a > b);
}
/// Whether integers differ in some lane.
template <class V> COTANGENT_HOST_INLINE bool vector_any_different(V a, V b) {
#if defined(COTANGENT_AVX512)
  if constexpr (sizeof(V) == 64) return _mm512_cmpneq_epi32_mask((__m512i)a, (__m512i)b) != 0;
  else
#endif
    return vector_any(a != b);
}

/// Whether the machine widens bytes to integers of 4 and 8 bytes in a vector of so many bytes.
#if defined(COTANGENT_AVX512)
template <int Bytes> inline constexpr bool vector_widens_bytes = Bytes == 32 || Bytes == 64;
#elif defined(__AVX2__)
template <int Bytes> inline constexpr bool vector_widens_bytes = Bytes == 32;
#else
template <int Bytes> inline constexpr bool vector_widens_bytes = false;
#endif
/// Bytes as integers of 4 or 8 bytes.
template <class V, bool Signed, class Bytes> COTANGENT_HOST_INLINE V vector_from_bytes([[maybe_unused]] Bytes x) {
#if defined(__AVX2__)
  __m128i bytes = _mm_setzero_si128();
  std::memcpy(&bytes, &x, sizeof x);
  constexpr bool wide = sizeof(V) == 8 * sizeof x;
#if defined(COTANGENT_AVX512)
  if constexpr (sizeof(V) == 64 && Signed) return (V)(wide ? _mm512_maskz_cvtepi8_epi64(__mmask8(all_lanes), bytes) : _mm512_maskz_cvtepi8_epi32(all_lanes, bytes));
  else if constexpr (sizeof(V) == 64) return (V)(wide ? _mm512_maskz_cvtepu8_epi64(__mmask8(all_lanes), bytes) : _mm512_maskz_cvtepu8_epi32(all_lanes, bytes));
  else
#endif
    if constexpr (Signed) return (V)(wide ? _mm256_cvtepi8_epi64(bytes) : _mm256_cvtepi8_epi32(bytes));
    else return (V)(wide ? _mm256_cvtepu8_epi64(bytes) : _mm256_cvtepu8_epi32(bytes));
#else
  return V();
#endif
}

/// Whether the machine converts so many numbers between 16-bit IEEE 754 and float in a vector.
#if defined(COTANGENT_AVX512)
template <int N> inline constexpr bool vector_has_half = N == 8 || N == 16;
#elif defined(__F16C__)
template <int N> inline constexpr bool vector_has_half = N == 8;
#else
template <int N> inline constexpr bool vector_has_half = false;
#endif
template <class V, class Bits> COTANGENT_HOST_INLINE V vector_from_half([[maybe_unused]] Bits x) {
#if defined(COTANGENT_AVX512)
  if constexpr (sizeof(V) == 64) return (V)_mm512_maskz_cvtph_ps(all_lanes, (__m256i)x);
  else return (V)_mm256_cvtph_ps((__m128i)x);
#elif defined(__F16C__)
  return (V)_mm256_cvtph_ps((__m128i)x);
#else
  return V();
#endif
}
template <class Bits, class V> COTANGENT_HOST_INLINE Bits vector_to_half([[maybe_unused]] V x) {
#if defined(COTANGENT_AVX512)
  if constexpr (sizeof(V) == 64) return (Bits)_mm512_maskz_cvtps_ph(all_lanes, (__m512)x, _MM_FROUND_TO_NEAREST_INT);
  else return (Bits)_mm256_cvtps_ph((__m256)x, _MM_FROUND_TO_NEAREST_INT);
#elif defined(__F16C__)
  return (Bits)_mm256_cvtps_ph((__m256)x, _MM_FROUND_TO_NEAREST_INT);
#else
  return Bits();
#endif
}

// nvcc does not expand a pack in __builtin_shufflevector, so it copies.

/// Lanes First, First + 1, ... of v as a shorter vector.
template <class W, int First, class V, std::size_t... I> COTANGENT_HOST_INLINE W vector_slice(V v, std::index_sequence<I...>) {
#ifdef __CUDACC__
  W r;
  std::memcpy(&r, reinterpret_cast<const char*>(&v) + First * sizeof(v[0]), sizeof(W));
  return r;
#else
  return __builtin_shufflevector(v, v, (First + int(I))...);
#endif
}

/// The lanes of a, then those of b.
template <class W, class V, std::size_t... I> COTANGENT_HOST_INLINE W vector_join(V a, V b, std::index_sequence<I...>) {
#if defined(COTANGENT_AVX512)
  if constexpr (sizeof(W) == 64) return (W)_mm512_inserti64x4(_mm512_castsi256_si512((__m256i)a), (__m256i)b, 1);
  else
#endif
#if defined(__AVX__)
  if constexpr (sizeof(W) == 32) return (W)_mm256_insertf128_si256(_mm256_castsi128_si256((__m128i)a), (__m128i)b, 1);
  else
#endif
  {
#ifdef __CUDACC__
    W r;
    std::memcpy(&r, &a, sizeof(V));
    std::memcpy(reinterpret_cast<char*>(&r) + sizeof(V), &b, sizeof(V));
    return r;
#else
    return __builtin_shufflevector(a, b, int(I)...);
#endif
  }
}

/// Lane I of the result is lane From(I) of a, or of b from N on.
template <class From, class V, std::size_t... I> COTANGENT_HOST_INLINE V vector_shuffle(V a, V b, std::index_sequence<I...>) {
  constexpr int n = int(sizeof...(I));
#ifdef __CUDACC__
  using T = std::remove_cvref_t<decltype(a[0])>;
  T both[2 * n];
  std::memcpy(both, &a, sizeof a);
  std::memcpy(both + n, &b, sizeof b);
  const T chosen[] = {both[From::at(int(I))]...};
  V r;
  std::memcpy(&r, chosen, sizeof r);
  return r;
#else
  static_cast<void>(n);
  return __builtin_shufflevector(a, b, From::at(int(I))...);
#endif
}

}  // namespace COTANGENT_ISA
}  // namespace cotangent

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif
