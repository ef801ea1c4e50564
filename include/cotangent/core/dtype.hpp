#pragma once
/// Element types, their names, and JAX's promotion lattice.

#include <bit>
#include <complex>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include <cotangent/core/macros.hpp>

namespace cotangent {

enum class dtype : std::uint8_t {
  boolean, int8, int16, int32, int64, uint8, uint16, uint32, uint64,
  float16, bfloat16, float32, float64, complex64, complex128
};

/// IEEE 754 binary16. It converts from and to float; programs compute with it as with float (compiler/halves.hpp).
struct half {
  std::uint16_t bits = 0;
  constexpr half() = default;
  constexpr half(float x) : bits(encode(x)) {}
  constexpr operator float() const { return decode(bits); }

 private:
  /// Rounds to nearest, ties to even.
  static constexpr std::uint16_t encode(float x) {
    const std::uint32_t f = std::bit_cast<std::uint32_t>(x), sign = (f >> 16) & 0x8000u, magnitude = f & 0x7fffffffu;
    if (magnitude > 0x7f800000u) return std::uint16_t(sign | 0x7e00u);
    if (magnitude >= 0x477ff000u) return std::uint16_t(sign | 0x7c00u);
    if (magnitude < 0x33000001u) return std::uint16_t(sign);
    if (magnitude < 0x38800000u) {
      const std::uint32_t shift = 126 - (magnitude >> 23), mantissa = (magnitude & 0x7fffffu) | 0x800000u;
      const std::uint32_t kept = mantissa >> shift, rest = mantissa & ((1u << shift) - 1), tie = 1u << (shift - 1);
      return std::uint16_t(sign | (kept + (rest > tie || (rest == tie && (kept & 1u)))));
    }
    return std::uint16_t(sign | ((magnitude - 0x38000000u + 0xfffu + ((magnitude >> 13) & 1u)) >> 13));
  }
  static constexpr float decode(std::uint16_t h) {
    const std::uint32_t sign = std::uint32_t(h & 0x8000u) << 16, magnitude = h & 0x7fffu;
    if (magnitude >= 0x7c00u) return std::bit_cast<float>(sign | 0x7f800000u | ((magnitude & 0x3ffu) << 13));
    if (magnitude >= 0x400u) return std::bit_cast<float>(sign | ((magnitude << 13) + 0x38000000u));
    const float subnormal = float(magnitude) * 0x1p-24f;
    return sign ? -subnormal : subnormal;
  }
};

/// The upper 16 bits of a float, otherwise as half.
struct bfloat16 {
  std::uint16_t bits = 0;
  constexpr bfloat16() = default;
  constexpr bfloat16(float x) : bits(encode(x)) {}
  constexpr operator float() const { return std::bit_cast<float>(std::uint32_t(bits) << 16); }

 private:
  static constexpr std::uint16_t encode(float x) {
    const std::uint32_t f = std::bit_cast<std::uint32_t>(x);
    if ((f & 0x7fffffffu) > 0x7f800000u) return std::uint16_t((f >> 16) | 0x40u);
    return std::uint16_t((f + 0x7fffu + ((f >> 16) & 1u)) >> 16);
  }
};

template <class T> inline constexpr bool is_complex_number = false;
template <class T> inline constexpr bool is_complex_number<std::complex<T>> = true;
template <class T> inline constexpr bool is_half_float = std::is_same_v<T, half> || std::is_same_v<T, bfloat16>;

template <dtype D> struct type_of_impl;
template <class T> struct dtype_of_impl {
  static constexpr bool supported = false;
};

#define COTANGENT_DTYPE(NAME, ...)                                          \
  template <> struct type_of_impl<dtype::NAME> { using type = __VA_ARGS__; }; \
  template <> struct dtype_of_impl<__VA_ARGS__> {                           \
    static constexpr bool supported = true;                                 \
    static constexpr dtype value = dtype::NAME;                             \
  };
COTANGENT_DTYPE(boolean, bool)
COTANGENT_DTYPE(int8, std::int8_t)
COTANGENT_DTYPE(int16, std::int16_t)
COTANGENT_DTYPE(int32, std::int32_t)
COTANGENT_DTYPE(int64, std::int64_t)
COTANGENT_DTYPE(uint8, std::uint8_t)
COTANGENT_DTYPE(uint16, std::uint16_t)
COTANGENT_DTYPE(uint32, std::uint32_t)
COTANGENT_DTYPE(uint64, std::uint64_t)
COTANGENT_DTYPE(float16, half)
COTANGENT_DTYPE(bfloat16, bfloat16)
COTANGENT_DTYPE(float32, float)
COTANGENT_DTYPE(float64, double)
COTANGENT_DTYPE(complex64, std::complex<float>)
COTANGENT_DTYPE(complex128, std::complex<double>)
#undef COTANGENT_DTYPE

/// Types an array may hold.
template <class T>
concept element = dtype_of_impl<T>::supported;

template <element T> inline constexpr dtype dtype_of = dtype_of_impl<T>::value;
template <dtype D> using type_of = typename type_of_impl<D>::type;

constexpr std::string_view name_of(dtype d) {
  constexpr std::string_view names[] = {"bool",   "int8",    "int16",    "int32",   "int64",   "uint8",     "uint16",    "uint32",
                                        "uint64", "float16", "bfloat16", "float32", "float64", "complex64", "complex128"};
  return names[int(d)];
}

constexpr int size_of(dtype d) {
  constexpr int sizes[] = {1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 2, 4, 8, 8, 16};
  return sizes[int(d)];
}

constexpr bool is_floating(dtype d) { return d >= dtype::float16 && d <= dtype::float64; }
constexpr bool is_complex(dtype d) { return d >= dtype::complex64; }
constexpr bool is_signed_integer(dtype d) { return d >= dtype::int8 && d <= dtype::int64; }
constexpr bool is_unsigned_integer(dtype d) { return d >= dtype::uint8 && d <= dtype::uint64; }
constexpr bool is_integer(dtype d) { return is_signed_integer(d) || is_unsigned_integer(d); }

constexpr bool is_differentiable(dtype d) { return is_floating(d) || is_complex(d); }

/// The dtype of the parts of a complex one, and the complex one with such parts; of other dtypes, the same.
constexpr dtype real_dtype(dtype d) { return d == dtype::complex64 ? dtype::float32 : d == dtype::complex128 ? dtype::float64 : d; }
constexpr dtype complex_dtype(dtype d) { return d == dtype::float64 || d == dtype::complex128 ? dtype::complex128 : dtype::complex64; }

/// An integer of 64 bits wrapped around to those of dtype d, as it is again as one of 64. Of other types the bits as they are.
constexpr std::uint64_t wrapped_bits(dtype d, std::uint64_t bits) {
  const int spare = 64 - 8 * size_of(d);
  if (!is_integer(d) || spare == 0) return bits;
  return is_signed_integer(d) ? std::uint64_t(std::int64_t(bits << spare) >> spare) : bits << spare >> spare;
}

/// The dtype of an operation on two arrays (JAX, "Type promotion semantics", strict part of the lattice).
constexpr dtype promote(dtype a, dtype b) {
  if (a == b) return a;
  if (int(a) > int(b)) { const dtype t = a; a = b; b = t; }
  if (a == dtype::boolean) return b;
  if (is_complex(b)) return (a == dtype::float64 || a == dtype::complex128) ? dtype::complex128 : b;
  if (is_floating(b)) {
    if (!is_floating(a)) return b;
    return a == dtype::float16 && b == dtype::bfloat16 ? dtype::float32 : b;
  }
  if (is_signed_integer(a) == is_signed_integer(b)) return b;
  const int bits_signed = size_of(a), bits_unsigned = size_of(b);
  if (bits_unsigned < bits_signed) return a;
  if (bits_unsigned == 1) return dtype::int16;
  if (bits_unsigned == 2) return dtype::int32;
  if (bits_unsigned == 4) return dtype::int64;
  return dtype::float32;
}

}  // namespace cotangent
