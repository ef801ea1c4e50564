#pragma once
/// Kernel types: a fused region as a flat list of statement types over numbered registers.
///
/// A kernel visits every point of its iteration space once. Statement k of the list defines register k;
/// operands name earlier statements. Nothing nests, so a kernel's name grows linearly, equal regions are one
/// instantiation, and a kernel can be a `__global__` function's template argument. Buffers are numbered; the
/// caller passes their pointers. Extents, strides and offsets count elements; each is a number, or `slot(k)`:
/// the k-th of the run-time extents that the caller passes.

#include <cotangent/core/extents.hpp>

namespace cotangent {

inline constexpr extent slot_base = extent(1) << 60;
constexpr extent slot(int k) { return slot_base + k; }
constexpr bool is_slot(extent e) { return e >= slot_base; }

/// The iteration space, outermost dimension first; the last is the lane dimension. space<> is one point.
template <extent... Extents> struct space {
  static constexpr int rank = sizeof...(Extents);
};

/// Where an access lies for iteration point i: offset + sum over d of i[d] * strides[d].
template <extent Offset, extent... Strides> struct access {};

/// A run-time index: adds register Register (int32 or int64, in bounds) times Stride to an access.
template <int Register, extent Stride> struct indexed {};

/// The statements. They share their names with functions elsewhere, hence a namespace.
namespace kernels {

/// register <- Buffer[access + sum of indexed]
template <class T, int Buffer, class Access, class... Indexed> struct load {};

/// register <- the value whose bits (of T, zero-extended) are Bits
template <class T, unsigned long Bits> struct constant {};

/// register <- T(index of iteration dimension Dim)
template <class T, int Dim> struct index {};

/// register of type T <- Op::lane(registers...). Op::lane is a template over pack types.
template <class Op, class T, int... Registers> struct apply {};

/// Buffer[access + sum of indexed] <- Register
template <class T, int Buffer, int Register, class Access, class... Indexed> struct store {};

/// Buffer[access] <- Op over all points of the same access. The strides of reduced dimensions are 0.
/// Op has `template <class T> static constexpr T identity()` and `template <class V> static V combine(V, V)`.
template <class Op, class T, int Buffer, int Register, class Access> struct reduce {};

}  // namespace kernels

template <class Space, class... Statements> struct kernel {};

}  // namespace cotangent
