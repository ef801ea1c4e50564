#pragma once
/// Updates of one element by several threads at once.

#include <bit>
#include <cstdint>
#include <type_traits>

#include <cotangent/core/flag_scope.hpp>
#include <cotangent/core/macros.hpp>

namespace cotangent {
namespace simt {

/// Whether scatters of this thread may combine their updates in any order: see atomic_scatter_scope.
inline bool& uses_atomics() {
  static thread_local bool uses = false;
  return uses;
}

/// *at <- to if *at is `from`; what *at was.
template <class Bits> COTANGENT_HD inline Bits exchange_if(Bits* at, Bits from, Bits to) {
#ifdef __CUDA_ARCH__
  return atomicCAS(at, from, to);
#else
  __atomic_compare_exchange_n(at, &from, to, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  return from;
#endif
}

/// *at <- P::combine(*at, v), while other threads do so as well. T has 4 or 8 bytes.
template <class P, class T> COTANGENT_HD inline void combine_atomically(T* at, T v) {
  using bits = std::conditional_t<sizeof(T) == 4, unsigned, unsigned long long>;
  bits* const place = reinterpret_cast<bits*>(at);
  for (bits before = exchange_if(place, bits(0), bits(0));;) {
    const bits seen = exchange_if(place, before, std::bit_cast<bits>(P::combine(std::bit_cast<T>(before), v)));
    if (seen == before) return;
    before = seen;
  }
}
/// The same of sums.
template <class P, class T> COTANGENT_HD inline void add_atomically(T* at, T v) {
#ifdef __CUDA_ARCH__
  if constexpr (std::is_integral_v<T> && sizeof(T) == 8) atomicAdd(reinterpret_cast<unsigned long long*>(at), static_cast<unsigned long long>(v));
  else atomicAdd(at, v);
#else
  combine_atomically<P>(at, v);
#endif
}

}  // namespace simt

/// Within its scope, this thread's scatters on devices that add, multiply, or take the least or greatest number combine updates as they
/// come, with atomic operations, instead of sorting them by place first. Sums and products of floating-point numbers then differ in their
/// last bits from run to run. Scopes nest.
class atomic_scatter_scope : flag_scope<simt::uses_atomics> {};

}  // namespace cotangent
