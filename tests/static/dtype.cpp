/// Element types: JAX's promotion table, and the rounding of half and bfloat16.

#include <limits>

#include <cotangent/core/dtype.hpp>

using namespace cotangent;

// uint64 is left out: with a signed integer it gives a float.
constexpr dtype b1 = dtype::boolean, i1 = dtype::int8, i2 = dtype::int16, i4 = dtype::int32, i8 = dtype::int64, u1 = dtype::uint8,
                u2 = dtype::uint16, u4 = dtype::uint32, f2 = dtype::float16, bf = dtype::bfloat16, f4 = dtype::float32, f8 = dtype::float64,
                c8 = dtype::complex64, cc = dtype::complex128;
constexpr int count = 14;
constexpr dtype order[] = {b1, i1, i2, i4, i8, u1, u2, u4, f2, bf, f4, f8, c8, cc};
constexpr dtype table[count][count] = {
    {b1, i1, i2, i4, i8, u1, u2, u4, f2, bf, f4, f8, c8, cc},  // bool
    {i1, i1, i2, i4, i8, i2, i4, i8, f2, bf, f4, f8, c8, cc},  // int8
    {i2, i2, i2, i4, i8, i2, i4, i8, f2, bf, f4, f8, c8, cc},  // int16
    {i4, i4, i4, i4, i8, i4, i4, i8, f2, bf, f4, f8, c8, cc},  // int32
    {i8, i8, i8, i8, i8, i8, i8, i8, f2, bf, f4, f8, c8, cc},  // int64
    {u1, i2, i2, i4, i8, u1, u2, u4, f2, bf, f4, f8, c8, cc},  // uint8
    {u2, i4, i4, i4, i8, u2, u2, u4, f2, bf, f4, f8, c8, cc},  // uint16
    {u4, i8, i8, i8, i8, u4, u4, u4, f2, bf, f4, f8, c8, cc},  // uint32
    {f2, f2, f2, f2, f2, f2, f2, f2, f2, f4, f4, f8, c8, cc},  // float16
    {bf, bf, bf, bf, bf, bf, bf, bf, f4, bf, f4, f8, c8, cc},  // bfloat16
    {f4, f4, f4, f4, f4, f4, f4, f4, f4, f4, f4, f8, c8, cc},  // float32
    {f8, f8, f8, f8, f8, f8, f8, f8, f8, f8, f8, f8, cc, cc},  // float64
    {c8, c8, c8, c8, c8, c8, c8, c8, c8, c8, c8, cc, c8, cc},  // complex64
    {cc, cc, cc, cc, cc, cc, cc, cc, cc, cc, cc, cc, cc, cc},  // complex128
};
consteval bool promotes_as_jax() {
  for (int i = 0; i < count; ++i)
    for (int j = 0; j < count; ++j)
      if (promote(order[i], order[j]) != table[i][j]) return false;
  return true;
}
static_assert(promotes_as_jax());
static_assert(promote(dtype::uint64, u1) == dtype::uint64 && promote(dtype::uint64, b1) == dtype::uint64);

static_assert(dtype_of<std::int64_t> == i8 && name_of(dtype_of<std::complex<double>>) == "complex128" && size_of(bf) == 2);
static_assert(std::is_same_v<type_of<f2>, half>);
static_assert(!element<long double> && !element<char> && !element<const float> && !element<int*>);

constexpr float infinity = std::numeric_limits<float>::infinity(), not_a_number = std::numeric_limits<float>::quiet_NaN();
constexpr std::uint16_t bits(float x) { return half(x).bits; }
static_assert(bits(1) == 0x3c00 && bits(-2) == 0xc000 && bits(0.0f) == 0 && bits(-0.0f) == 0x8000);
static_assert(half(2049.0f) == 2048 && half(2051.0f) == 2052, "ties go to even");
static_assert(half(2049.0002f) == 2050);
static_assert(half(65519.996f) == 65504 && half(65520.0f) == infinity && half(-1e9f) == -infinity);
static_assert(bits(0x1p-24f) == 1 && bits(0x1p-25f) == 0 && bits(0x1.000002p-25f) == 1 && bits(0x1.8p-24f) == 2, "subnormals");
static_assert(bits(0x1.ff8p-15f) == 0x3ff && bits(0x1.ffcp-15f) == 0x400, "the largest subnormal, and the tie above it");
static_assert(half(not_a_number) != half(not_a_number) && half(infinity).bits == 0x7c00);

consteval bool halves_survive_float() {
  for (int i = 0; i < 0x10000; i += 7) {
    half h;
    h.bits = std::uint16_t(i);
    const bool is_nan = (i & 0x7fff) > 0x7c00;
    if (!is_nan && half(float(h)).bits != i) return false;
  }
  return true;
}
static_assert(halves_survive_float());

constexpr std::uint16_t top(float x) { return bfloat16(x).bits; }
static_assert(top(1) == 0x3f80 && top(-0.0f) == 0x8000 && float(bfloat16(3)) == 3);
static_assert(bfloat16(257.0f) == 256 && bfloat16(259.0f) == 260, "ties go to even");
static_assert(bfloat16(3.4e38f) == infinity && bfloat16(not_a_number) != bfloat16(not_a_number));
