#pragma once
/// Points of a thread that are neighbours along the lanes: what they load and store of contiguous rows is one access of 16 bytes at most.

#include <cotangent/backends/cpu/statements.hpp>

namespace cotangent::kernels {
inline namespace COTANGENT_ISA {

/// Elements that lie side by side, at an address which is a multiple of their bytes.
template <class T, int Count> struct alignas(sizeof(T) * Count) side_by_side {
  T elements[Count];
};
template <int Bytes> COTANGENT_HD inline bool is_multiple_of(const void* address) { return reinterpret_cast<std::uintptr_t>(address) % Bytes == 0; }

/// What stands for the reductions of points of which each Width are neighbours, if `adjacent`. Always: they are, and arrays begin at
/// multiples of 16 bytes.
template <int Width, bool Always = false> struct neighbouring_points {
  static constexpr bool always_adjacent = Always;
  bool adjacent = false;
};
template <class Layout, int Width, bool Always> inline constexpr int neighbours_in<evaluation<Layout, 1, false, neighbouring_points<Width, Always>>> = Width;
/// The same for points that add up: what one of them has added.
template <class Sums, int Width> struct neighbouring_sums : Sums {
  bool adjacent = false;
};
template <class Layout, class Sums, int Width> inline constexpr int neighbours_in<evaluation<Layout, 1, false, neighbouring_sums<Sums, Width>>> = Width;

/// Whether neighbours whose first index along the lanes is a multiple of Width always lie at a multiple of their bytes, where arrays begin
/// at multiples of 16 bytes.
template <class Layout, int Width, extent Offset, extent... Strides> constexpr bool is_always_fitting(access<Offset, Strides...>) {
  const extent strides[] = {Strides..., 0};
  bool fits = !is_slot(Offset) && Offset % Width == 0;
  for (int d = 0; d < int(sizeof...(Strides)); ++d)
    if (const int m = Layout::dims.merged_from[d]; m >= 0 && m != Layout::dims.outer() && Layout::dims.last[m] == d) fits = fits && !is_slot(strides[d]) && strides[d] % Width == 0;
  return fits;
}
/// Whether that is known of an access, and that the points are neighbours.
template <class E, int Width, class Access> inline constexpr bool always_fits = false;
template <class E, int Width, class Access>
  requires requires { requires E::reductions_type::always_adjacent; }
inline constexpr bool always_fits<E, Width, Access> = is_always_fitting<typename E::layout, Width>(Access{});

/// A statement at some groups of neighbours: Own::run_group at each.
template <class Own, class E> struct groups_of_neighbours {
  COTANGENT_LANES template <int Points, int... Group> static COTANGENT_INLINE int run(E (&e)[Points], unsigned long places, std::integer_sequence<int, Group...>) {
    constexpr int width = neighbours_in<E>;
    const int done[] = {0, Own::template run_group<Group * width>(e, places, std::make_integer_sequence<int, width>())...};
    (void)done;
    return 0;
  }
};

template <class T, int B, class A, class... X, unsigned Sources, class E> struct step_of_neighbours<step<load<T, B, A, X...>, Sources, E>>
    : groups_of_neighbours<step_of_neighbours<step<load<T, B, A, X...>, Sources, E>>, E> {
  static constexpr bool is_possible = lane_stride<typename E::layout, A> == 1 && !scattered<X...> && !E::template keeps<B>;

  COTANGENT_LANES template <int First, int Points, int... K> static COTANGENT_INLINE int run_group(E (&e)[Points], unsigned long places, std::integer_sequence<int, K...>) {
    using elements = side_by_side<T, int(sizeof...(K))>;
    const T* const p = e[First].template address<const T, B>(A{}, X{}...);
    if ((sizeof...(X) == 0 && always_fits<E, int(sizeof...(K)), A>) || (e[First].reductions.adjacent && is_multiple_of<int(sizeof(elements))>(p))) {
      const elements x = *reinterpret_cast<const elements*>(p);
      const int done[] = {0, (e[First + K].template at_place<T, source_of(Sources, 0)>(place_in(places, 0)) = typename E::template reg<T>(x.elements[K]), 0)...};
      (void)done;
    } else {
      const int done[] = {0, (step<load<T, B, A, X...>, Sources, E>::run(e[First + K], places), 0)...};
      (void)done;
    }
    return 0;
  }
};
template <class T, int B, class A, class... X, unsigned Sources, class E>
struct step_of_neighbours<step<load_ahead<T, B, A, X...>, Sources, E>> : step_of_neighbours<step<load<T, B, A, X...>, Sources, E>> {};

template <class T, int B, class A, unsigned Sources, class E> struct step_of_neighbours<step<store<T, B, A>, Sources, E>>
    : groups_of_neighbours<step_of_neighbours<step<store<T, B, A>, Sources, E>>, E> {
  static constexpr bool is_possible = lane_stride<typename E::layout, A> == 1 && !E::template keeps<B>;

  COTANGENT_LANES template <int First, int Points, int... K> static COTANGENT_INLINE int run_group(E (&e)[Points], unsigned long places, std::integer_sequence<int, K...>) {
    using elements = side_by_side<T, int(sizeof...(K))>;
    T* const p = e[First].template address<T, B>(A{});
    if (always_fits<E, int(sizeof...(K)), A> || (e[First].reductions.adjacent && is_multiple_of<int(sizeof(elements))>(p)))
      *reinterpret_cast<elements*>(p) = elements{{T(e[First + K].template at_place<T, source_of(Sources, 1)>(place_in(places, 1))[0])...}};
    else {
      const int done[] = {0, (step<store<T, B, A>, Sources, E>::run(e[First + K], places), 0)...};
      (void)done;
    }
    return 0;
  }
};
template <class T, int B, class A, unsigned Sources, class E>
struct step_of_neighbours<step<store_once<T, B, A>, Sources, E>> : step_of_neighbours<step<store<T, B, A>, Sources, E>> {};

}  // namespace COTANGENT_ISA
}  // namespace cotangent::kernels
