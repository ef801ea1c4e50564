#pragma once
/// Kernel types: a fused region as a flat list of statements over numbered registers.
///
/// A kernel visits every point of its iteration space once. Statement k of the list defines register k; operands name
/// earlier statements. What a statement does is a type, its form; a kernel lists the forms that occur, and its
/// statements as numbers: that of the form, then those of its operands. Nothing nests, and work is instantiated per
/// form and not per statement, so kernels of thousands of statements compile in seconds. Equal regions are one
/// instantiation, and a kernel can be a `__global__` function's template argument. Buffers are numbered; the caller
/// passes their pointers. Extents, strides and offsets count elements; each is a number, or `slot(k)`: the k-th of the
/// run-time extents that the caller passes.

#include <cstdint>

#include <cotangent/core/binding.hpp>
#include <cotangent/core/extents.hpp>

namespace cotangent {

inline constexpr extent slot_base = extent(1) << 60;
constexpr extent slot(int k) { return slot_base + k; }
constexpr bool is_slot(extent e) { return e >= slot_base; }

/// A kernel of more registers, or statements, is a long one: what it does for a vector is not to be compiled more than once, and takes so long
/// that memory waits for it.
inline constexpr int long_kernel = 128;

/// The iteration space, outermost dimension first; the last is the lane dimension. space<> is one point.
template <extent... Extents> struct space {
  static constexpr int rank = sizeof...(Extents);
};

/// Where an access lies for iteration point i: offset + sum over d of i[d] * strides[d].
template <extent Offset, extent... Strides> struct access {};

/// A run-time index: adds register Register (int32 or int64, in bounds) times Stride to an access.
template <int Register, extent Stride> struct indexed {};

/// Reads along dimension Dim at index + Offset in place of the index: wrapped around in [0, Extent), or zero where that lies
/// outside.
template <int Dim, extent Offset, extent Extent, bool Wraps> struct window_along {};

/// The forms. They share their names with functions elsewhere, hence a namespace.
namespace kernels {

/// register <- Buffer[access + sum of indexed]
template <class T, int Buffer, class Access, class... Indexed> struct load {};

/// register <- Buffer[access at the indices of the windows], or 0
template <class T, int Buffer, class Access, class... Windows> struct load_window {};

/// register <- the value whose bits (of T, zero-extended) are Bits
template <class T, unsigned long Bits> struct constant {};

/// register <- T(offset of the access): an index, or a sum of multiples of them
template <class T, class Access> struct index {};

/// register of type T <- Op::lane(operands...), which are of types Operands. Op::lane is a template over pack types.
template <class Op, class T, class... Operands> struct apply {};

/// Buffer[access + sum of indexed] <- operand
template <class T, int Buffer, class Access, class... Indexed> struct store {};

/// register <- Buffer[access + sum of indexed], and asks for what it comes to soon. Without an index, if the array is a large one, that is
/// what lies ahead_bytes behind: the rows after those that a thread works on at a time. With one it is what the next vector reads.
template <class T, int Buffer, class Access, class... Indexed> struct load_ahead {};
inline constexpr extent ahead_bytes = extent(1) << 16;

/// Buffer[access] <- operand, in an array that nothing reads soon: past the caches if it is a large one
template <class T, int Buffer, class Access> struct store_once {};
/// What a large one has at least, in bytes.
inline constexpr extent streamed_bytes = extent(1) << 25;

/// Buffer[access] <- Op over all points of the same access, of the operand. The strides of reduced dimensions are 0.
/// Op has `template <class T> static constexpr T identity()` and `template <class V> static V combine(V, V)`.
template <class Op, class T, int Buffer, class Access> struct reduce {};
/// The Op of a reduction over the last dimension alone that stores where along it Op's extremum lies, in a buffer of int32: the
/// first place of several; a NaN counts as the extremum. Op has `template <class V> static auto reaches(V a, V b)`: whether a is at
/// least as far as b.
template <class Op> struct place_of : Op {};
template <class Op> inline constexpr bool finds_place = false;
template <class Op> inline constexpr bool finds_place<place_of<Op>> = true;

}  // namespace kernels

/// The forms of a kernel, numbered from 0.
template <class... F> struct forms {};

/// The most operands of a statement, not counting the registers of `indexed`.
inline constexpr int max_operands = 3;

template <class Space, class Forms, int... Code> struct kernel {};

/// The key of a kernel type: a number made of all that the type says. Compilers spell the names of all functions that run a kernel,
/// and the type of a long one takes many kilobytes.
template <std::uint64_t Number> struct numbered_kernel {};
/// The kernel type itself.
template <class Kernel> struct definition_of { using type = Kernel; };
template <std::uint64_t Number> struct definition_of<numbered_kernel<Number>> { using type = type_bound_to<numbered_kernel<Number>>; };

}  // namespace cotangent
