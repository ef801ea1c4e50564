#pragma once
/// Evaluating a kernel type's statements for N lanes at one position: one text for CPU packs and CUDA threads.

#include <algorithm>
#include <utility>

#include <cotangent/backends/cpu/pack.hpp>
#include <cotangent/compiler/kernel_facts.hpp>

namespace cotangent::kernels {
inline namespace COTANGENT_ISA {

/// What a register of type T is for N lanes, in a kernel whose masks are Bytes wide.
template <class T, int N, int Bytes> struct register_of { using type = pack<T, N>; };
template <int N, int Bytes> struct register_of<bool, N, Bytes> { using type = mask<Bytes, N>; };
template <class T, int N, int Bytes> using register_type = typename register_of<T, N, Bytes>::type;

/// Registers by type and place.
template <int N, int Bytes, count_by_type Count> struct register_file {
  template <class T, int Registers> using bank = typename std::conditional_t<(Registers > 0), register_of<T, N, Bytes>, std::type_identity<char>>::type[Registers > 0 ? Registers : 1];
  bank<float, Count.floats> floats;
  bank<double, Count.doubles> doubles;
  bank<std::int32_t, Count.ints> ints;
  bank<std::int64_t, Count.longs> longs;
  bank<bool, Count.masks> masks;
  bank<std::uint32_t, Count.unsigned_ints> unsigned_ints;
  bank<std::uint64_t, Count.unsigned_longs> unsigned_longs;
  bank<std::uint8_t, Count.bytes> bytes;
  bank<std::int8_t, Count.signed_bytes> signed_bytes;
  bank<std::int16_t, Count.shorts> shorts;
  bank<std::uint16_t, Count.unsigned_shorts> unsigned_shorts;

  COTANGENT_LANES template <class T> COTANGENT_INLINE auto& of(int place) {
    if constexpr (std::is_same_v<T, float>) return floats[place];
    else if constexpr (std::is_same_v<T, double>) return doubles[place];
    else if constexpr (std::is_same_v<T, std::int32_t>) return ints[place];
    else if constexpr (std::is_same_v<T, std::int64_t>) return longs[place];
    else if constexpr (std::is_same_v<T, bool>) return masks[place];
    else if constexpr (std::is_same_v<T, std::uint32_t>) return unsigned_ints[place];
    else if constexpr (std::is_same_v<T, std::uint64_t>) return unsigned_longs[place];
    else if constexpr (std::is_same_v<T, std::uint8_t>) return bytes[place];
    else if constexpr (std::is_same_v<T, std::int8_t>) return signed_bytes[place];
    else if constexpr (std::is_same_v<T, std::int16_t>) return shorts[place];
    else return unsigned_shorts[place];
  }
};

template <class Layout> inline constexpr int mask_bytes = Layout::shape.widest;

template <class Layout, int N> using constant_registers = register_file<N, mask_bytes<Layout>, Layout::shape.constants>;
template <class Layout, int N> using fixed_registers = register_file<N, mask_bytes<Layout>, Layout::shape.fixed>;
template <class Layout, int N> using varying_registers = register_file<N, mask_bytes<Layout>, Layout::shape.varying>;
template <class Layout, int N> using sum_registers = register_file<N, mask_bytes<Layout>, Layout::shape.sums>;

/// Counts points along a dimension. A GPU takes several instructions for a number of 64 bits.
#ifdef __CUDA_ARCH__
template <class Layout> inline constexpr bool has_few_points = Layout::is_static && Layout::points <= extent(1) << 30;
template <class Layout> using index_type = std::conditional_t<has_few_points<Layout>, std::int32_t, extent>;
#else
template <class Layout> using index_type = extent;
#endif

/// A kernel's arguments, copied out of memory that stores could alias, and the index along each merged dimension.
template <class Layout> struct position {
  void* buffers[Layout::shape.buffers > 0 ? Layout::shape.buffers : 1];
  extent slots[Layout::shape.slots > 0 ? Layout::shape.slots : 1];
  index_type<Layout> index[Layout::dims.rank > 0 ? Layout::dims.rank : 1];

  position() = default;
  COTANGENT_INLINE position(void* const* from, const extent* extents) {
    for (int i = 0; i < Layout::shape.buffers; ++i) buffers[i] = from[i];
    for (int i = 0; i < Layout::shape.slots; ++i) slots[i] = extents[i];
    for (auto& i : index) i = 0;
  }

  /// What kernel dimension D contributes to an access of this stride, at lane index 0.
  template <int D> COTANGENT_INLINE extent outer_step([[maybe_unused]] extent stride) const {
    constexpr merged_dims dims = Layout::dims;
    constexpr int m = dims.merged_from[D];
    if constexpr (m >= 0 && m < dims.rank - 1 && dims.last[m >= 0 ? m : 0] == D) return extent(index[m]) * stride;
    else return 0;
  }
};

/// The offset of an access at a position, at lane index 0. (A fold, since compilers unroll loops late.)
template <class Layout, extent Offset, extent... Strides, int... D>
COTANGENT_INLINE extent row_offset(access<Offset, Strides...>, const position<Layout>& at, std::integer_sequence<int, D...>) {
  return (value_of<Offset>(at.slots) + ... + at.template outer_step<D>(value_of<Strides>(at.slots)));
}
template <class Layout, extent Offset, extent... Strides>
COTANGENT_INLINE extent row_offset(access<Offset, Strides...> a, const position<Layout>& at) {
  return row_offset(a, at, std::make_integer_sequence<int, int(sizeof...(Strides))>());
}

/// The stride of an access along the lane dimension; it may be a slot.
template <class Layout, class Access>
inline constexpr extent lane_stride = Layout::dims.rank > 0 ? facts::stride_along(Access{}, Layout::dims.last[Layout::dims.rank > 0 ? Layout::dims.rank - 1 : 0]) : 0;

/// For kernels without reductions.
struct no_reductions {};
/// Whether an evaluation leaves out stores: one of several passes over the points.
template <class Reductions> inline constexpr bool leaves_out_stores = false;
template <class Reductions>
  requires requires { Reductions::leaves_out_stores; }
inline constexpr bool leaves_out_stores<Reductions> = Reductions::leaves_out_stores;

/// Whether an evaluation keeps the elements of buffer B in registers, at hand of what stands for its reductions: the carries of
/// a loop.
template <class Reductions, int B> inline constexpr bool keeps_buffer = false;
template <class Reductions, int B>
  requires requires { Reductions::template keeps<B>; }
inline constexpr bool keeps_buffer<Reductions, B> = Reductions::template keeps<B>;

/// One evaluation of a kernel's statements: lanes lane .. lane + N - 1 of the row at `at`, of which the first
/// `count` exist; Partial says that count may be less than N, Inner that windows along the lanes lie inside of their rows.
template <class Layout, int N, bool Partial, class Reductions = no_reductions, bool Inner = false> struct evaluation {
  using layout = Layout;
  using reductions_type = Reductions;
  static constexpr int lanes = N;
  static constexpr bool partial = Partial, inner = Inner;
  static constexpr int bytes = mask_bytes<Layout>;
  static constexpr bool stores = !leaves_out_stores<Reductions>;
  template <int B> static constexpr bool keeps = keeps_buffer<Reductions, B>;
  template <class T> using reg = register_type<T, N, bytes>;

  const position<Layout>& at;
  index_type<Layout> lane;
  int count;
  fixed_registers<Layout, N>& fixed;
  Reductions& reductions;
  constant_registers<Layout, N> constants;
  varying_registers<Layout, N> varying;  // members, not references: compilers take them apart in one pass

  COTANGENT_LANES COTANGENT_INLINE evaluation(const position<Layout>& a, index_type<Layout> l, int n, fixed_registers<Layout, N>& f, Reductions& r)
      : at(a), lane(l), count(n), fixed(f), reductions(r) {}

  /// The register of type T at a place.
  COTANGENT_LANES template <class T, source From> COTANGENT_INLINE reg<T>& at_place(int place) {
    if constexpr (From == source::varying) return varying.template of<T>(place);
    else if constexpr (From == source::fixed) return fixed.template of<T>(place);
    else return constants.template of<T>(place);
  }
  COTANGENT_LANES template <class T, source From, class V> COTANGENT_INLINE void set(int place, const V& value) {
    at_place<T, From>(place) = as_register<T>(value);
    if constexpr (std::is_same_v<T, bool> && From == source::fixed) at_place<T, From>(place).make_integers();
  }

  /// A comparison's mask is as wide as what it compared; a mask register is as wide as the kernel's widest type.
  COTANGENT_LANES template <class T, class V> static COTANGENT_INLINE reg<T> as_register(const V& value) {
    if constexpr (std::is_same_v<T, bool> && !std::is_same_v<V, reg<T>>) return mask_cast<bytes>(value);
    else return value;
  }

  /// The address of an access for the first lane, without what its varying index registers add.
  COTANGENT_LANES template <class T, int B, class Access, class... X> COTANGENT_INLINE T* address(Access access, X... indices) {
    const extent offset = row_offset(access, at) + extent(lane) * value_of<lane_stride<Layout, Access>>(at.slots);
    return static_cast<T*>(at.buffers[B]) + (offset + ... + fixed_step(indices));
  }
  COTANGENT_LANES template <class T, source From, int Place, extent Stride, class List>
  COTANGENT_INLINE extent fixed_step(index_register<T, From, Place, Stride, List>) {
    if constexpr (From == source::varying) return 0;
    else return extent(at_place<T, From>(Place)[0]) * value_of<Stride>(at.slots);
  }
  /// What one varying index register adds, lane by lane, of which Lanes is a list.
  template <class Lanes, extent Stride> struct index_steps {
    Lanes index;
    const extent* slots;
    COTANGENT_LANES COTANGENT_INLINE extent operator()(int i) const { return index[i] * value_of<Stride>(slots); }
  };
  COTANGENT_LANES template <bool Listed, class T, source From, int Place, extent Stride, class List>
  COTANGENT_INLINE auto varying_steps(index_register<T, From, Place, Stride, List>) {
    if constexpr (From != source::varying) return [](int) COTANGENT_EXPANDED { return extent(0); };
    else if constexpr (Listed) return index_steps<listed_lanes<T>, Stride>{{list_at(List{})}, at.slots};
    else return index_steps<lane_list<T, N>, Stride>{lane_list<T, N>(at_place<T, From>(Place)), at.slots};
  }
  /// The offset of a lane from `address`, as a function: made where it is used, because those of all lanes do not fit into registers.
  COTANGENT_LANES template <bool Listed, class Access, class... X> COTANGENT_INLINE auto offsets(Access, X... indices) {
    return [slots = at.slots, ...steps = varying_steps<Listed>(indices)](int i) COTANGENT_EXPANDED {
      return ((i * value_of<lane_stride<Layout, Access>>(slots)) + ... + steps(i));
    };
  }
  /// visit(offsets), which are read from lists where the indices are in their range: an address then waits for the list alone, and not
  /// for what wraps and clamps it.
  COTANGENT_LANES template <class Access, class... X, class Visit> COTANGENT_INLINE void with_offsets(const Visit& visit, Access access, X... indices) {
    if constexpr (are_listed<X...>)
      if ((true && ... && is_listed<0>(indices))) [[likely]] return visit(offsets<true>(access, indices...));
    visit(offsets<false>(access, indices...));
  }
  /// The same of rows before which there are `Before` elements of the array in most vectors: visit says whether in this one.
  COTANGENT_LANES template <extent Before, class Access, class X, class Visit> COTANGENT_INLINE void with_offsets_behind(const Visit& visit, Access access, X index) {
    if constexpr (are_listed<X> && never_before(Access{}) && steps_ahead(X{}) >= Before) {
      if (is_listed<1>(index)) [[likely]] return visit(offsets<true>(access, index), std::true_type());
      visit(offsets<false>(access, index), std::false_type());
    } else with_offsets([&](const auto& offset) COTANGENT_EXPANDED { visit(offset, std::false_type()); }, access, index);
  }
  /// Asks for the rows of `columns` elements that the next vector reads from p on, if its indices are those of a list.
  template <class V, class T, source From, int Place, extent Stride, class List>
  COTANGENT_HOST_INLINE void prefetch_next(const V* p, extent columns, index_register<T, From, Place, Stride, List>) {
    constexpr extent line = 64;
    if constexpr (From == source::varying && has_list(index_register<T, From, Place, Stride, List>{})) {
      if (extent(lane) + 2 * N > Layout::extent_of(Layout::dims.outer(), at.slots)) return;
      const T* const next = list_at(List{}) + N;
      for (int i = 0; i < N; ++i) {
        // (an index may lie outside of the table: no pointer)
        const std::uintptr_t row = reinterpret_cast<std::uintptr_t>(p) + std::uintptr_t(extent(next[i]) * value_of<Stride>(at.slots)) * sizeof(V);
        for (extent k = 0; k < columns * extent(sizeof(V)); k += line) __builtin_prefetch(reinterpret_cast<const char*>(row + std::uintptr_t(k)));
      }
    }
  }

 private:
  template <class T, int B, class A> COTANGENT_INLINE const T* list_at(load<T, B, A>) { return address<const T, B>(A{}); }
  template <class T, int B, class A> COTANGENT_INLINE const T* list_at(load_ahead<T, B, A>) { return address<const T, B>(A{}); }
  template <class T, int B, class A> static constexpr bool lies_along(load<T, B, A>) { return lane_stride<Layout, A> == 1 && !keeps<B>; }
  template <class T, int B, class A> static constexpr bool lies_along(load_ahead<T, B, A>) { return lies_along(load<T, B, A>{}); }
  template <class T, source From, int Place, extent Stride, class List> static constexpr bool has_list(index_register<T, From, Place, Stride, List>) {
    if constexpr (From != source::varying) return true;
    else if constexpr (std::is_void_v<List>) return false;
    else return lies_along(List{});
  }
  template <class... X> static constexpr bool are_listed = !Partial && N > 1 && (true && ... && has_list(X{}));
  /// Whether the indices are those of their list, and all at least Least.
  COTANGENT_LANES template <int Least, class T, source From, int Place, extent Stride, class List>
  COTANGENT_INLINE bool is_listed(index_register<T, From, Place, Stride, List>) {
    if constexpr (From == source::varying) {
      const reg<T> index = at_place<T, From>(Place);
      const bool differs = any_different(index, reg<T>::load(list_at(List{})));
      if constexpr (Least > 0) return !(differs | any_different(index, greater(index, reg<T>(T(Least)))));
      else return !differs;
    } else return true;
  }
  /// Whether an access's offset and strides are known, and lead to no address before the array's first.
  template <extent Offset, extent... Strides> static constexpr bool never_before(access<Offset, Strides...>) {
    return Offset >= 0 && !names_slot<Offset> && (true && ... && (Strides >= 0 && !names_slot<Strides>));
  }
  /// How many elements a step of an index leads ahead at least; 0: that is not known.
  template <class T, source From, int Place, extent Stride, class List> static constexpr extent steps_ahead(index_register<T, From, Place, Stride, List>) {
    return From == source::varying && !names_slot<Stride> ? Stride : 0;
  }
};

/// Whether the lanes of an access lie anywhere, and not at a stride.
template <class... Indices> inline constexpr bool scattered = false;
template <class... T, source... From, int... Place, extent... Stride, class... List>
inline constexpr bool scattered<index_register<T, From, Place, Stride, List>...> = (false || ... || (From == source::varying));

/// Number k of table::registers.
COTANGENT_INLINE constexpr int place_in(unsigned long places, int k) { return int(places >> (16 * k) & 0xffffu); }

/// How a form runs: `step<Form, Sources, E>::run(e, places)`, where the register that it defines and its operands are of
/// these sources, and `places` is of table::registers.
template <class Form, unsigned Sources, class E> struct step;

template <class T, int B, class A, class... X, unsigned Sources, class E> struct step<load<T, B, A, X...>, Sources, E> {
  COTANGENT_LANES static COTANGENT_INLINE void run(E& e, unsigned long places) {
    using reg = typename E::template reg<T>;
    constexpr extent stride = lane_stride<typename E::layout, A>;
    reg& r = e.template at_place<T, source_of(Sources, 0)>(place_in(places, 0));
    if constexpr (E::template keeps<B>) {
      r = e.reductions.template kept<T, B>(A{});
      return;
    }
    const T* p = e.template address<const T, B>(A{}, X{}...);
    if constexpr (scattered<X...>) {
      if (!E::partial || e.count >= E::lanes) e.with_offsets(lanes_from<reg>{r, p}, A{}, X{}...);
      else {
        const auto offset = e.template offsets<false>(A{}, X{}...);
        reg loaded = reg(T(0));
        for (int i = 0; i < e.count; ++i) loaded.set(i, p[offset(i)]);
        r = loaded;
      }
    } else if constexpr (stride == 0 || E::lanes == 1) r = reg(*p);
    else if constexpr (stride == 1) {
      if constexpr (E::partial) r = reg::load(p, e.count);
      else r = reg::load(p);
    } else if constexpr (E::partial) r = reg::load_strided(p, value_of<stride>(e.at.slots), e.count);
    else r = reg::load_strided(p, value_of<stride>(e.at.slots));
  }

 private:
  /// Loads the lanes that lie at offsets from p.
  template <class R> struct lanes_from {
    R& r;
    const T* p;
    COTANGENT_LANES template <class Offset> COTANGENT_INLINE void operator()(const Offset& offset) const {
      r = R::from_lanes([&](int i) COTANGENT_EXPANDED { return p[offset(i)]; });
    }
  };
};

template <class T, int B, class A, class... X, unsigned Sources, class E> struct step<load_ahead<T, B, A, X...>, Sources, E> {
  COTANGENT_LANES static COTANGENT_INLINE void run(E& e, unsigned long places) {
#ifndef __CUDA_ARCH__
    constexpr extent in_cache = extent(1) << 21;
    if constexpr (sizeof...(X) > 0 && E::lanes > 1) (e.prefetch_next(e.template address<const T, B>(A{}, X{}...), 1, X{}), ...);
    else if constexpr (sizeof...(X) == 0 && !E::partial && E::lanes * int(sizeof(T)) >= 16 && !E::template keeps<B>)
      if (E::layout::points_of(e.at.slots) * extent(sizeof(T)) >= in_cache)
        __builtin_prefetch(reinterpret_cast<const char*>(e.template address<const T, B>(A{})) + ahead_bytes, 0, 2);  // not into the first cache
#endif
    step<load<T, B, A, X...>, Sources, E>::run(e, places);
  }
};

/// An index in [0, n), wrapped around.
COTANGENT_INLINE constexpr extent wrapped(extent i, extent n) {
  if (i >= n) return i - n < n ? i - n : i % n;
  return i >= 0 ? i : i + n >= 0 ? i + n : (i % n + n) % n;
}
/// i + Distance for an i in [0, n), wrapped around. Without branches where the distance is known to be no longer than a row, so
/// that what does not change along a row is computed once.
template <extent Distance, extent Extent, class Index> COTANGENT_INLINE constexpr extent wrapped_step(Index i, [[maybe_unused]] extent n) {
  if constexpr (names_slot<Extent> || Distance > Extent || -Distance > Extent) return wrapped(i + Distance, n);
  else {
    using type = std::conditional_t<(Extent >> 30 == 0), Index, extent>;  // which holds 2 Extent
    const type at = type(i) + type(Distance);
    if constexpr (Distance < 0) return at + type(Extent) * (at < 0);
    else return at - type(Extent) * (at >= type(Extent));
  }
}
/// Lanes of which some lie around an end of the row, or outside of it: where along the row the first one is, and its length.
COTANGENT_LANES template <class R, int Lanes, class T> COTANGENT_HD __attribute__((noinline)) R load_at_end(const T* row, extent stride, extent first, extent n, int count, bool wraps) {
  T lanes[Lanes] = {};
  for (int i = 0; i < count; ++i) {
    const extent at = wraps ? wrapped(first + i, n) : first + i;
    if (at >= 0 && at < n) lanes[i] = row[at * stride];
  }
  return R::load(lanes);
}

/// The same of contiguous rows of n >= Lanes numbers that go on at their start. The lanes that a load leaves out are zeros.
COTANGENT_LANES template <class R, int Lanes, class T> COTANGENT_HOST_INLINE R load_wrapped(const T* row, extent first, extent n, int count) {
  const int before = int(n - first);
  const R end = R::load(row + first, before), start = R::load(row + first - n, count, before);
  if constexpr (std::is_floating_point_v<T>) return bit_cast<T>(bit_cast<integer_like<T>>(end) | bit_cast<integer_like<T>>(start));
  else return end | start;
}

template <class T, int B, class A, int... Dim, extent... Offset, extent... Extent, bool... Wraps, unsigned Sources, class E>
struct step<load_window<T, B, A, window_along<Dim, Offset, Extent, Wraps>...>, Sources, E> {
  using layout = typename E::layout;
  using reg = typename E::template reg<T>;
  static constexpr int lane_dim = layout::dims.rank > 0 ? layout::dims.last[layout::dims.outer()] : -1;

  COTANGENT_LANES static COTANGENT_INLINE void run(E& e, unsigned long places) {
    reg& r = e.template at_place<T, source_of(Sources, 0)>(place_in(places, 0));
    extent row = row_offset(A{}, e.at), first = e.lane, n = -1;  // n: the row's length if its ends are to be looked for
    bool inside = true, wraps = false;
    const int done[] = {0, look<Dim, facts::nearest_offset(Offset, Extent, Wraps), Extent, Wraps>(e, value_of<facts::stride_along(A{}, Dim)>(e.at.slots), row, first, n, inside, wraps)...};
    (void)done;
    if (!inside || n == 0 || (n > 0 && !wraps && (first >= n || first + E::lanes <= 0))) {
      r = reg(T(0));
      return;
    }
    constexpr extent along = lane_stride<layout, A>;
    const T* p = static_cast<const T*>(e.at.buffers[B]) + row;
    const extent stride = value_of<along>(e.at.slots);
    const int count = E::partial ? e.count : E::lanes;
    const bool at_end = n >= 0 && (first < 0 || first + count > n);
    if constexpr (E::lanes == 1) r = at_end ? T(0) : p[first * stride];
    else if constexpr (along == 1) {
      if (!at_end) r = E::partial ? reg::load(p + first, count) : reg::load(p + first);
      else if (!wraps) r = reg::load(p + first, int(smaller(count, n - first)), int(first < 0 ? -first : 0));
      else if (n >= E::lanes) r = load_wrapped<reg, E::lanes>(p, first, n, count);
      else r = load_at_end<reg, E::lanes>(p, stride, first, n, count, wraps);
    } else if (at_end) r = load_at_end<reg, E::lanes>(p, stride, first, n, count, wraps);
    else if constexpr (along == 0) r = reg(p[first * stride]);
    else r = reg::load_strided(p + first * stride, stride, count);
  }

 private:
  template <int D, extent Distance, extent Size, bool Wrap>
  static COTANGENT_INLINE int look(const E& e, extent stride, extent& row, extent& first, extent& n, bool& inside, bool& wraps) {
    constexpr int m = layout::dims.merged_from[D];
    const extent size = value_of<Size>(e.at.slots);
    if constexpr (D == lane_dim) {
      if constexpr (Wrap && E::lanes == 1) first = wrapped_step<Distance, Size>(e.lane, size);
      else first += Distance;
      if constexpr (!E::inner) {
        n = size, wraps = Wrap;
        if constexpr (Wrap && E::lanes > 1) first = wrapped(first, size);
      }
    } else {
      const index_type<layout> index = m < 0 ? 0 : e.at.index[m < 0 ? 0 : m];
      const extent at = Wrap ? wrapped_step<Distance, Size>(index, size) : index + Distance;
      if constexpr (!Wrap) inside = inside && at >= 0 && at < size;
      row += (at - index) * stride;
    }
    return 0;
  }
};

template <class T, unsigned long Bits, unsigned Sources, class E> struct step<constant<T, Bits>, Sources, E> {
  COTANGENT_LANES static COTANGENT_INLINE void run(E& e, unsigned long places) {
    if constexpr (std::is_same_v<T, bool>) e.template set<T, source::constant>(place_in(places, 0), typename E::template reg<T>(Bits != 0));
    else e.template set<T, source::constant>(place_in(places, 0), typename E::template reg<T>(std::bit_cast<T>(std::make_unsigned_t<integer_like<T>>(Bits))));
  }
};

template <class T, class A, unsigned Sources, class E> struct step<index<T, A>, Sources, E> {
  COTANGENT_LANES static COTANGENT_INLINE void run(E& e, unsigned long places) {
    using reg = typename E::template reg<T>;
    constexpr extent stride = lane_stride<typename E::layout, A>;
    reg& r = e.template at_place<T, source_of(Sources, 0)>(place_in(places, 0));
    const index_type<typename E::layout> row = index_type<typename E::layout>(row_offset(A{}, e.at));
    if constexpr (stride == 0) r = reg(T(row));
    else if constexpr (stride == 1) r = reg(T(row + e.lane)) + lane_numbers<T, E::lanes>();
    else {
      const extent step = value_of<stride>(e.at.slots);
      r = reg(T(row + extent(e.lane) * step)) + lane_numbers<T, E::lanes>() * reg(T(step));
    }
  }
};

/// A kernel so long that the compiler should see each lane program, and each access, once.
template <class Layout> inline constexpr bool is_long_kernel = Layout::shape.varying.total() > long_kernel;

/// Op::lane as a function of its own: in a long kernel, where inlining every long lane program would cost minutes of
/// compile time, and where the processor is asked for what it has. On a device it is inlined: a call there takes registers from the caller.
#ifdef __CUDA_ARCH__
#define COTANGENT_CALLED COTANGENT_HOST_INLINE
#else
#define COTANGENT_CALLED __attribute__((noinline))
#endif
COTANGENT_LANES template <class Op, class... V> COTANGENT_HD COTANGENT_CALLED auto call_lane(V... v) {
#ifdef COTANGENT_ASKS_FOR_FMA
  if (processor_has_fma) return Op::lane(v...);  // each of the two is optimized for its answer
#endif
  return Op::lane(v...);
}
#undef COTANGENT_CALLED
/// Whether a lane program is long: its primitive counts ten operations or more.
template <class Op> inline constexpr bool is_long_lane = false;
template <class Op>
  requires requires { Op::flops; }
inline constexpr bool is_long_lane<Op> = Op::flops >= 10;

template <class Op, class T, class... A, unsigned Sources, class E> struct step<apply<Op, T, A...>, Sources, E> {
  COTANGENT_LANES static COTANGENT_INLINE void run(E& e, unsigned long places) { run_on(e, places, std::index_sequence_for<A...>{}); }

 private:
  COTANGENT_LANES template <std::size_t... K> static COTANGENT_INLINE void run_on(E& e, unsigned long places, std::index_sequence<K...>) {
    if constexpr (E::inner && (Sources & facts::holds_inside) != 0) e.template at_place<T, source_of(Sources, 0)>(place_in(places, 0)) = typename E::template reg<T>(true);
    else if constexpr (is_long_lane<Op> && (is_long_kernel<typename E::layout> || !has_fma))
      e.template set<T, source_of(Sources, 0)>(place_in(places, 0), call_lane<Op>(e.template at_place<A, source_of(Sources, int(K) + 1)>(place_in(places, int(K) + 1))...));
    else e.template set<T, source_of(Sources, 0)>(place_in(places, 0), Op::lane(e.template at_place<A, source_of(Sources, int(K) + 1)>(place_in(places, int(K) + 1))...));
  }
};

/// Asks for the elements of some lanes behind those at p, which are `apart` elements from each other, and of which `columns` are used
/// for each: a long kernel is at the next ones too late for the processor to see them coming, above all those that it will write.
template <bool Writes, class Layout, int Lanes, class T>
COTANGENT_HOST_INLINE void prefetch_rows(const T* p, extent columns, extent apart, [[maybe_unused]] const extent* slots) {
  constexpr merged_dims dims = Layout::dims;
  constexpr extent line = 64, ahead = 2 * Lanes, in_cache = extent(1) << 18;
  if (Layout::extent_of(dims.outer(), slots) * columns * extent(sizeof(T)) < in_cache) return;
  const char* const next = reinterpret_cast<const char*>(p) + ahead * apart * extent(sizeof(T));
  const extent bytes = columns * extent(sizeof(T)), stride = apart * extent(sizeof(T));
  if (2 * bytes >= stride)
    for (extent k = 0; k < Lanes * stride; k += line) __builtin_prefetch(next + k, Writes);
  else
    for (int i = 0; i < Lanes; ++i)
      for (extent k = 0; k < bytes; k += line) __builtin_prefetch(next + i * stride + k, Writes);
}

template <class T, int B, class A, class... X, unsigned Sources, class E> struct step<store<T, B, A, X...>, Sources, E> {
  COTANGENT_LANES static COTANGENT_INLINE void run(E& e, unsigned long places) {
    const auto value = e.template at_place<T, source_of(Sources, 1)>(place_in(places, 1));
    if constexpr (E::stores && E::template keeps<B>) e.reductions.template keep<T, B>(A{}, value);
    else if constexpr (E::stores) to(e.template address<T, B>(A{}, X{}...), e, value);
  }

 private:
  COTANGENT_LANES template <class R> static COTANGENT_INLINE void to(T* p, E& e, const R& value) {
    constexpr extent stride = lane_stride<typename E::layout, A>;
    if constexpr (scattered<X...>) {
      const auto offset = e.template offsets<false>(A{}, X{}...);
      for (int i = 0; i < E::lanes; ++i)
        if (!E::partial || i < e.count) p[offset(i)] = value[i];
    } else if constexpr (E::lanes == 1) value.store(p);
    else if constexpr (stride == 1) {
      if constexpr (is_long_kernel<typename E::layout>) prefetch_rows<true, typename E::layout, E::lanes>(p, 1, 1, e.at.slots);
      if constexpr (E::partial) value.store(p, e.count);
      else value.store(p);
    } else if constexpr (E::partial) value.store_strided(p, value_of<stride>(e.at.slots), e.count);
    else value.store_strided(p, value_of<stride>(e.at.slots));
  }
};

/// Whether whole vectors of an array that nothing reads soon, with so many columns per point, go to p past the caches.
template <class T, class E> COTANGENT_HOST_INLINE bool is_streamed(const E& e, const T* p, extent columns) {
  constexpr int bytes = std::min(E::lanes * int(sizeof(T)), native_bytes);
  if (E::partial && e.count < E::lanes) return false;
  return E::layout::points_of(e.at.slots) * columns * extent(sizeof(T)) >= streamed_bytes && reinterpret_cast<std::uintptr_t>(p) % bytes == 0;
}

template <class T, int B, class A, unsigned Sources, class E> struct step<store_once<T, B, A>, Sources, E> {
  COTANGENT_LANES static COTANGENT_INLINE void run(E& e, unsigned long places) {
#ifndef __CUDA_ARCH__
    if constexpr (E::stores && !E::template keeps<B> && lane_stride<typename E::layout, A> == 1 && E::lanes * int(sizeof(T)) >= 16)
      if (T* const p = e.template address<T, B>(A{}); is_streamed(e, p, 1))
        return e.template at_place<T, source_of(Sources, 1)>(place_in(places, 1)).store_once(p);
#endif
    step<store<T, B, A>, Sources, E>::run(e, places);
  }
};

/// What a sum takes besides registers: the product of two, which is not rounded, and such a one where a mask says so.
template <class V> struct exact_product { V a, b; };
template <class V, class Mask> struct chosen_product { exact_product<V> product; Mask where; };
/// The sum with one more term.
COTANGENT_LANES template <class Op, class V> COTANGENT_INLINE V combined(V sum, V x) { return Op::combine(sum, x); }
COTANGENT_LANES template <class Op, class V> COTANGENT_INLINE V combined(V sum, const exact_product<V>& x) { return Op::add_product(sum, x.a, x.b); }
COTANGENT_LANES template <class Op, class V, class Mask> COTANGENT_INLINE V combined(V sum, const chosen_product<V, Mask>& x) {
  return select(x.where, combined<Op>(sum, x.product), sum);
}

template <class Op, class T, int B, class A, reduce_facts Facts, unsigned Sources, class E>
struct step<resolved_reduce<reduce<Op, T, B, A>, Facts>, Sources, E> {
  COTANGENT_LANES static COTANGENT_INLINE void run(E& e, unsigned long places) {
    if constexpr (E::inner && (Sources & facts::idles_inside) != 0) return;
    else if constexpr ((Sources & facts::adds_product) != 0) {
      using reg = typename E::template reg<T>;
      const exact_product<reg> product{e.template at_place<T, source_of(Sources, 2)>(place_in(places, 2)), e.template at_place<T, source_of(Sources, 3)>(place_in(places, 3))};
      if constexpr ((Sources & facts::adds_chosen) != 0) {
        const auto where = mask_cast<int(sizeof(T))>(e.template at_place<bool, source_of(Sources, 0)>(place_in(places, 0)));
        e.reductions.add(own{}, chosen_product<reg, std::remove_const_t<decltype(where)>>{product, where}, e);
      } else e.reductions.add(own{}, product, e);
    } else e.reductions.add(own{}, e.template at_place<T, source_of(Sources, 1)>(place_in(places, 1)), e);
  }

 private:
  using own = resolved_reduce<reduce<Op, T, B, A>, Facts>;
};

/// A number that device code may read out of a constexpr table.
template <unsigned long N> inline constexpr unsigned long number = N;

/// Statements per function: compilers take more than linear time for long ones.
inline constexpr int chunk = 8;

/// Member K of the tile of a table that begins at Begin: its register, and its column.
template <const auto& Table, int Begin, int K, class T, int Operand, class E> COTANGENT_HOST_INLINE auto& tile_register(E& e) {
  constexpr int statement = facts::member_statement(Table.tile_members[Begin + K]);
  return e.template at_place<T, source_of(Table.sources[statement], Operand)>(place_in(Table.registers[statement], Operand));
}
template <const auto& Table, int Begin, int K> inline constexpr int tile_column = facts::member_column(Table.tile_members[Begin + K]);

/// The lanes that rows of so many elements take in registers of `lanes`: no fewer than those of the shortest vector that the machine has.
template <class T> constexpr int lanes_of_rows(int elements, int lanes) { return std::min(std::max(int(std::bit_ceil(unsigned(elements))), 16 / int(sizeof(T))), lanes); }

/// Runs a tile, whose first member has this form.
template <class Form> struct tile {
  static constexpr bool is_possible = false;
};
/// Rows of a few elements that lie side by side are loaded so and taken apart; others are loaded row by row and transposed.
template <class T, int B, class A, class... X> struct tile<load<T, B, A, X...>> {
  static constexpr bool is_possible = true;
  template <class E, int> static constexpr bool runs = E::lanes * int(sizeof(T)) <= native_bytes && !E::template keeps<B>;
  template <const auto& Table, int Begin, class E, int... K> static COTANGENT_HOST_INLINE void run(E& e, std::integer_sequence<int, K...>) {
    constexpr int lanes = E::lanes, columns = tile_column<Table, Begin, int(sizeof...(K)) - 1> + 1;
    constexpr bool side_by_side = !scattered<X...> && lane_stride<typename E::layout, A> == columns && columns > 1 && columns <= facts::short_row && columns <= lanes;
    const T* p = e.template address<const T, B>(A{}, X{}...);
    if constexpr (!scattered<X...>) prefetch_rows<false, typename E::layout, lanes>(p, columns, lane_stride<typename E::layout, A>, e.at.slots);
    if constexpr (side_by_side) {
      pack<T, lanes> rows[columns];
      for (int k = 0; k < columns; ++k) rows[k] = E::partial ? pack<T, lanes>::load(p + k * lanes, columns * e.count - k * lanes) : pack<T, lanes>::load(p + k * lanes);
      const int done[] = {0, (tile_register<Table, Begin, K, T, 0>(e) = column_of_rows<columns, tile_column<Table, Begin, K>>(rows), 0)...};
      (void)done;
    } else {
      const auto load = [&](const auto& offset, auto has_before) COTANGENT_EXPANDED {
        load_blocks<Table, Begin, 0, columns, has_before()>(e, p, offset, std::integer_sequence<int, K...>());
      };
      constexpr int fewest = lanes_of_rows<T>(1, lanes);
      if constexpr (sizeof...(X) == 1 && columns < fewest) e.template with_offsets_behind<fewest - columns>(load, A{}, X{}...);
      else e.with_offsets([&](const auto& offset) COTANGENT_EXPANDED { load(offset, std::false_type()); }, A{}, X{}...);
    }
  }

 private:
  /// Columns First to Columns - 1, a vector's lanes of them at a time.
  template <const auto& Table, int Begin, int First, int Columns, bool HasBefore, class E, class Offset, int... K>
  static COTANGENT_HOST_INLINE void load_blocks(E& e, const T* p, const Offset& offset, std::integer_sequence<int, K...> members) {
    constexpr int lanes = E::lanes, block = std::min(Columns - First, lanes), width = lanes_of_rows<T>(block, lanes);
    pack<T, lanes> columns[width];
    if constexpr (HasBefore) {  // read as well, so that a row is a plain load
      const T* before = p + First - (width - block);
      asm("" : "+r"(before));  // or each address would have a constant of its own
      load_columns<width>(columns, [&](int i) COTANGENT_EXPANDED { return before + offset(i); });
      for (int j = 0; j < block; ++j) columns[j] = columns[width - block + j];
    } else {
      const auto row = [&](int i) COTANGENT_EXPANDED { return p + First + offset(E::partial && i >= e.count ? 0 : i); };
      if constexpr (scattered<X...> && !is_long_kernel<typename E::layout>) load_scattered<block>(columns, row);
      else load_columns<block>(columns, row);
    }
    const int done[] = {0, take<Table, Begin, K, First>(e, columns)...};
    (void)done;
    if constexpr (First + block < Columns) load_blocks<Table, Begin, First + block, Columns, false>(e, p, offset, members);
  }
  /// Member K's column, if it is one of these.
  template <const auto& Table, int Begin, int K, int First, class E, int Width>
  static COTANGENT_HOST_INLINE int take(E& e, const pack<T, E::lanes> (&columns)[Width]) {
    constexpr int column = tile_column<Table, Begin, K> - First;
    if constexpr (column >= 0 && column < Width) tile_register<Table, Begin, K, T, 0>(e) = columns[column];
    return 0;
  }
};
/// The same of rows anywhere in a large table.
template <class T, int B, class A, class X> struct tile<load_ahead<T, B, A, X>> : tile<load<T, B, A, X>> {
  template <const auto& Table, int Begin, class E, int... K> static COTANGENT_HOST_INLINE void run(E& e, std::integer_sequence<int, K...> members) {
    e.prefetch_next(e.template address<const T, B>(A{}, X{}), tile_column<Table, Begin, int(sizeof...(K)) - 1> + 1, X{});
    tile<load<T, B, A, X>>::template run<Table, Begin>(e, members);
  }
};
/// Rows of some columns, one column per register: whole registers of the first columns, and of the rest some rows beside each other.
template <class T, int Lanes, int Columns> struct tile_rows {
  static constexpr int blocks = Columns / Lanes, rest = Columns % Lanes, width = lanes_of_rows<T>(std::max(rest, 1), Lanes);
  pack<T, Lanes> whole[std::max(blocks, 1)][Lanes], last[width];

  COTANGENT_HOST_INLINE void transpose_columns() {
    for (int b = 0; b < blocks; ++b) transpose(whole[b]);
    if constexpr (rest > 0) {
      for (int k = rest; k < width; ++k) last[k] = last[0];
      transpose(last);
    }
  }
  /// Row I. `Behind`: what is behind it may be overwritten.
  template <int I, bool Behind> COTANGENT_HOST_INLINE void store(T* to) const {
    for (int b = 0; b < blocks; ++b) whole[b][I].store(to + b * Lanes);
    if constexpr (rest > 0) {
      const auto row = lanes_from<width, I / width * width>(last[I % width]);
      if constexpr (Behind || rest == width) row.store(to + blocks * Lanes);
      else row.store(to + blocks * Lanes, rest);
    }
  }
};

/// Stores rows of a few elements side by side, and others row by row.
template <class T, int B, class A> struct tile<store<T, B, A>> {
  static constexpr bool is_possible = true;
  template <class E> static constexpr extent stride = lane_stride<typename E::layout, A>;
  template <class E, int Columns> static constexpr bool runs = E::lanes * int(sizeof(T)) <= native_bytes && (sizeof(T) >= 4 || 2 * Columns >= E::lanes || Columns <= facts::short_row);
  template <const auto& Table, int Begin, class E, int... K> static COTANGENT_HOST_INLINE void run(E& e, std::integer_sequence<int, K...>) {
    constexpr int lanes = E::lanes, columns = int(sizeof...(K));
    T* p = e.template address<T, B>(A{});
    prefetch_rows<true, typename E::layout, lanes>(p, columns, stride<E>, e.at.slots);
    if constexpr (columns <= facts::short_row && columns <= lanes) {
      const pack<T, lanes> values[columns] = {tile_register<Table, Begin, K, T, 1>(e)...};
      if constexpr (stride<E> != columns) {
        const int done[] = {0, (values[K].store_strided(p + K, stride<E>, E::partial ? e.count : lanes), 0)...};
        (void)done;
      } else if constexpr (E::partial) {
        const int done[] = {0, (rows_of_columns<columns, K>(values).store(p + K * lanes, columns * e.count - K * lanes), 0)...};
        (void)done;
      } else {
        const int done[] = {0, (rows_of_columns<columns, K>(values).store(p + K * lanes), 0)...};
        (void)done;
      }
    } else {
      const auto rows = rows_of_members<Table, Begin, K...>(e);
      each_number<lanes>([&](auto i) COTANGENT_EXPANDED {
        if (!E::partial || i < e.count) rows.template store<i(), false>(p + i * stride<E>);
      });
    }
  }

 protected:
  template <const auto& Table, int Begin, int... K, class E> static COTANGENT_HOST_INLINE auto rows_of_members(E& e) {
    constexpr int lanes = E::lanes;
    tile_rows<T, lanes, int(sizeof...(K))> rows;
    const auto column = [&](auto k) COTANGENT_EXPANDED -> auto& {
      if constexpr (k() / lanes < rows.blocks) return rows.whole[k() / lanes][k() % lanes];
      else return rows.last[k() % lanes];
    };
    const int done[] = {0, (column(std::integral_constant<int, K>()) = tile_register<Table, Begin, K, T, 1>(e), 0)...};
    (void)done;
    rows.transpose_columns();
    return rows;
  }
};
/// Where rows of all lanes lie one behind the other, in a large array that nothing reads soon, they are put side by side first, and then go
/// past the caches as whole vectors.
template <class T, int B, class A> struct tile<store_once<T, B, A>> : tile<store<T, B, A>> {
  using cached = tile<store<T, B, A>>;
  template <const auto& Table, int Begin, class E, int... K> static COTANGENT_HOST_INLINE void run(E& e, std::integer_sequence<int, K...> members) {
    constexpr int lanes = E::lanes, columns = int(sizeof...(K)), bytes = lanes * int(sizeof(T));
    if constexpr (bytes >= 16 && cached::template stride<E> == columns)
      if (T* const p = e.template address<T, B>(A{}); is_streamed(e, p, columns)) {
        if constexpr (columns <= facts::short_row && columns <= lanes) {
          const pack<T, lanes> values[columns] = {tile_register<Table, Begin, K, T, 1>(e)...};
          (rows_of_columns<columns, K>(values).store_once(p + K * lanes), ...);
        } else {
          const auto rows = cached::template rows_of_members<Table, Begin, K...>(e);
          alignas(bytes) T together[(columns + 1) * lanes];
          each_number<lanes>([&](auto i) COTANGENT_EXPANDED { rows.template store<i(), true>(together + i * columns); });
          for (int k = 0; k < columns; ++k) pack<T, lanes>::load(together + k * lanes).store_once(p + k * lanes);
        }
        return;
      }
    cached::template run<Table, Begin>(e, members);
  }
};

/// A statement of a tile: the one that runs it runs all of them.
template <class Analysis, unsigned Sources, unsigned long Registers> struct tile_step {
  template <class E> static COTANGENT_HOST_INLINE void run(E& e, unsigned long) {
    if constexpr ((Sources & facts::runs_tile) != 0) {
      constexpr int begin = place_in(Registers, 2), columns = place_in(Registers, 3);
      constexpr int form = Analysis::table.form[facts::member_statement(Analysis::table.tile_members[begin])];
      tile<typename numbered_at<typename Analysis::form_list, form>::type>::template run<Analysis::table, begin>(e, std::make_integer_sequence<int, columns>());
    }
  }
};
/// Whether a statement is run with its tile.
template <class Form, unsigned long Registers, class E> constexpr bool runs_with_tile() {
  if constexpr (E::lanes > 1 && tile<Form>::is_possible) {
    if constexpr (place_in(Registers, 3) > 0) return tile<Form>::template runs<E, place_in(Registers, 3)>;
  }
  return false;
}
template <class Analysis, class Form, unsigned Sources, unsigned long Registers, class E>
using step_of = std::conditional_t<runs_with_tile<Form, Registers, E>(), tile_step<Analysis, Sources, Registers>, step<Form, (Sources & ~facts::runs_tile), E>>;

/// Whether statements of a table are members of tiles, which evaluate_points leaves aside.
template <class Analysis> inline constexpr bool has_tiles = [] {
  for (int i = 0; i < Analysis::table.count; ++i)
    if (Analysis::table.sources[i] & facts::runs_tile) return true;
  return false;
}();

/// The form of statement K of a table.
template <class Analysis, int K> using form_at = typename numbered_at<typename Analysis::form_list, Analysis::table.form[K]>::type;

/// The parts of a program: its constants, what runs once per row, and what runs once per vector; of the latter, what a choice by lanes needs,
/// and the rest.
enum class stage { constants, per_row, per_vector, before_choice, behind_choice };

/// The first statement of a part, and the end of one.
template <class Analysis> constexpr int first_of(stage s) {
  return (s > stage::constants ? Analysis::table.constants : 0) + (s > stage::per_row ? Analysis::table.per_row : 0) +
         (s == stage::behind_choice ? Analysis::table.before_choice : 0);
}
template <class Analysis> constexpr int last_of(stage s) {
  return s == stage::before_choice ? first_of<Analysis>(stage::behind_choice) : s >= stage::per_vector ? Analysis::table.count : first_of<Analysis>(stage(int(s) + 1));
}
template <stage Stage, class Analysis>
using chunks_of = std::make_integer_sequence<int, (last_of<Analysis>(Stage) - first_of<Analysis>(Stage) + chunk - 1) / chunk>;

/// Where chunk number C of a part begins, and the numbers of its statements from there on.
template <stage Stage, class Analysis, int C> inline constexpr int first_of_chunk = first_of<Analysis>(Stage) + C * chunk;
template <stage Stage, class Analysis, int C>
using statements_of = std::make_integer_sequence<int, std::min(last_of<Analysis>(Stage) - first_of_chunk<Stage, Analysis, C>, chunk)>;

/// Runs some statements of a table.
COTANGENT_LANES template <class Analysis, int First, class E, int... I> COTANGENT_INLINE int run_chunk(E& e, std::integer_sequence<int, I...>) {
  constexpr bool in_tiles = E::lanes > 1 && (false || ... || (place_in(Analysis::table.registers[First + I], 3) > 0));
  if constexpr (in_tiles)
    (step_of<Analysis, form_at<Analysis, First + I>, Analysis::table.sources[First + I], Analysis::table.registers[First + I], E>::run(
         e, number<Analysis::table.registers[First + I]>), ...);
  else
    (step<form_at<Analysis, First + I>, (Analysis::table.sources[First + I] & ~facts::runs_tile), E>::run(
         e, number<Analysis::table.registers[First + I]>), ...);
  return 0;
}
/// Evaluates one part of a program's statements; the last argument is chunks_of it.
COTANGENT_LANES template <stage Stage, class E, class Layout, class Reductions, class Analysis, int... C>
COTANGENT_INLINE void evaluate(program<Layout, Reductions, Analysis>, [[maybe_unused]] E& e, std::integer_sequence<int, C...>) {
  const int done[] = {0, run_chunk<Analysis, first_of_chunk<Stage, Analysis, C>>(e, statements_of<Stage, Analysis, C>())...};
  (void)done;
}

/// So many points that are evaluated together follow each other in memory, and how a statement runs for them if it is one that
/// takes them at once: backends/simt/neighbours.hpp.
template <class E> inline constexpr int neighbours_in = 1;
template <class Step> struct step_of_neighbours {
  static constexpr bool is_possible = false;
};

/// One statement for several points.
COTANGENT_LANES template <class Step, unsigned long Places, class E, int Points, int... P>
COTANGENT_INLINE int run_statement(E (&e)[Points], std::integer_sequence<int, P...>) {
  if constexpr (neighbours_in<E> > 1 && Points >= neighbours_in<E>)
    if constexpr (step_of_neighbours<Step>::is_possible) return step_of_neighbours<Step>::run(e, Places, std::make_integer_sequence<int, Points / neighbours_in<E>>());
  const int done[] = {0, (Step::run(e[P], Places), 0)...};
  (void)done;
  return 0;
}
/// Statements First + I... for several points: each for all of them before the next, so that loads do not wait for each other.
COTANGENT_LANES template <class Analysis, int First, class E, int Points, int... I>
COTANGENT_INLINE void run_statements(E (&e)[Points], std::integer_sequence<int, I...>) {
  const int done[] = {0, run_statement<step<form_at<Analysis, First + I>, (Analysis::table.sources[First + I] & ~facts::runs_tile), E>,
                                       number<Analysis::table.registers[First + I]>>(e, std::make_integer_sequence<int, Points>())...};
  (void)done;
}
COTANGENT_LANES template <stage Stage, class Layout, class Reductions, class Analysis, class E, int Points, int... C>
COTANGENT_INLINE void evaluate_points(program<Layout, Reductions, Analysis>, E (&e)[Points], std::integer_sequence<int, C...>) {
  const int done[] = {0, (run_statements<Analysis, first_of_chunk<Stage, Analysis, C>>(e, statements_of<Stage, Analysis, C>()), 0)...};
  (void)done;
}

}  // namespace COTANGENT_ISA
}  // namespace cotangent::kernels
