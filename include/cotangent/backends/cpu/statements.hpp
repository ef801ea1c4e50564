#pragma once
/// Evaluating a kernel type's statements for N lanes at one position: one text for CPU packs and CUDA threads.

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
template <int N, int Bytes, int Floats, int Doubles, int Ints, int Longs, int Masks> struct register_file {
  template <class T, int Count> using bank = register_type<T, N, Bytes>[Count > 0 ? Count : 1];
  bank<float, Floats> floats;
  bank<double, Doubles> doubles;
  bank<std::int32_t, Ints> ints;
  bank<std::int64_t, Longs> longs;
  bank<bool, Masks> masks;

  COTANGENT_LANES template <class T> COTANGENT_INLINE auto& of(int place) {
    if constexpr (std::is_same_v<T, float>) return floats[place];
    else if constexpr (std::is_same_v<T, double>) return doubles[place];
    else if constexpr (std::is_same_v<T, std::int32_t>) return ints[place];
    else if constexpr (std::is_same_v<T, std::int64_t>) return longs[place];
    else return masks[place];
  }
};

template <class Facts> inline constexpr int mask_bytes = Facts::table.widest <= 4 ? 4 : 8;

template <class Facts, int N>
using fixed_registers = register_file<N, mask_bytes<Facts>, Facts::table.fixed[0], Facts::table.fixed[1], Facts::table.fixed[2],
                                      Facts::table.fixed[3], Facts::table.fixed[4]>;
template <class Facts, int N>
using varying_registers = register_file<N, mask_bytes<Facts>, Facts::table.varying[0], Facts::table.varying[1], Facts::table.varying[2],
                                        Facts::table.varying[3], Facts::table.varying[4]>;
template <class Facts, int N>
using sum_registers = register_file<N, mask_bytes<Facts>, Facts::table.sums[0], Facts::table.sums[1], Facts::table.sums[2],
                                    Facts::table.sums[3], Facts::table.sums[4]>;

/// A kernel's arguments, copied out of memory that stores could alias, and the index along each merged dimension.
template <class Facts> struct position {
  void* buffers[Facts::table.buffers > 0 ? Facts::table.buffers : 1];
  extent slots[Facts::table.slots > 0 ? Facts::table.slots : 1];
  extent index[Facts::dims.rank > 0 ? Facts::dims.rank : 1];

  position() = default;
  COTANGENT_INLINE position(void* const* from, const extent* extents) {
    for (int i = 0; i < Facts::table.buffers; ++i) buffers[i] = from[i];
    for (int i = 0; i < Facts::table.slots; ++i) slots[i] = extents[i];
    for (extent& i : index) i = 0;
  }

  /// What kernel dimension d contributes to an access of this stride, at lane index 0.
  COTANGENT_INLINE extent outer_step(int d, extent stride) const {
    constexpr merged_dims dims = Facts::dims;
    const int m = dims.merged_from[d];
    return m >= 0 && m < dims.rank - 1 && dims.last[m] == d ? index[m] * stride : 0;
  }
};

/// The offset of an access at a position, at lane index 0.
template <class Facts, extent Offset, extent... Strides>
COTANGENT_INLINE extent row_offset(access<Offset, Strides...>, const position<Facts>& at) {
  extent sum = value_of<Offset>(at.slots);
  int d = 0;
  const extent steps[] = {0, at.outer_step(d++, value_of<Strides>(at.slots))...};
  for (int i = 1; i < d + 1; ++i) sum += steps[i];
  return sum;
}

/// The stride of an access along the lane dimension; it may be a slot.
template <class Facts, class Access>
inline constexpr extent lane_stride = Facts::dims.rank > 0 ? facts::stride_along(Access{}, Facts::dims.last[Facts::dims.rank > 0 ? Facts::dims.rank - 1 : 0]) : 0;

/// For kernels without reductions.
struct no_reductions {};

/// One evaluation of a kernel's statements: lanes lane .. lane + N - 1 of the row at `at`, of which the first
/// `count` exist; Partial says that count may be less than N.
template <class Facts, int N, bool Partial, class Reductions = no_reductions> struct evaluation {
  using facts_type = Facts;
  static constexpr int lanes = N;
  static constexpr bool partial = Partial;
  static constexpr int bytes = mask_bytes<Facts>;
  template <class T> using reg = register_type<T, N, bytes>;

  const position<Facts>& at;
  extent lane;
  int count;
  fixed_registers<Facts, N>& fixed;
  varying_registers<Facts, N>& varying;
  Reductions& reductions;

  COTANGENT_LANES template <int R> COTANGENT_INLINE auto get() const {
    constexpr statement_facts s = Facts::table.statements[R];
    using T = type_of<s.type>;
    if constexpr (s.kind == action::constant) {
      if constexpr (std::is_same_v<T, bool>) return reg<T>(s.bits != 0);
      else return reg<T>(std::bit_cast<T>(std::make_unsigned_t<integer_like<T>>(s.bits)));
    } else if constexpr (s.varying) return reg<T>(varying.template of<T>(s.place));
    else return reg<T>(fixed.template of<T>(s.place));
  }

  COTANGENT_LANES template <int K, class T, class V> COTANGENT_INLINE void set(const V& value) {
    constexpr statement_facts s = Facts::table.statements[K];
    if constexpr (s.varying) varying.template of<T>(s.place) = as_register<T>(value);
    else fixed.template of<T>(s.place) = as_register<T>(value);
  }

  /// A comparison's mask is as wide as what it compared; a mask register is as wide as the kernel's widest type.
  COTANGENT_LANES template <class T, class V> static COTANGENT_INLINE reg<T> as_register(const V& value) {
    if constexpr (std::is_same_v<T, bool> && !std::is_same_v<V, reg<T>>) return mask_cast<bytes>(value);
    else return value;
  }

  /// The address of an access for the first lane, without what its varying index registers add.
  template <class T, int B, class Access, int... R, extent... Stride>
  COTANGENT_INLINE T* address(Access access, indexed<R, Stride>...) const {
    extent offset = row_offset(access, at) + lane * value_of<lane_stride<Facts, Access>>(at.slots);
    const extent steps[] = {0, fixed_step<R, Stride>()...};
    for (extent s : steps) offset += s;
    return static_cast<T*>(at.buffers[B]) + offset;
  }
  COTANGENT_LANES template <int R, extent Stride> COTANGENT_INLINE extent fixed_step() const {
    if constexpr (Facts::table.statements[R].varying) return 0;
    else return extent(get<R>()[0]) * value_of<Stride>(at.slots);
  }
  /// Adds what one varying index register adds, lane by lane.
  COTANGENT_LANES template <int R, extent Stride> COTANGENT_INLINE int add_varying(extent* offsets) const {
    if constexpr (Facts::table.statements[R].varying) {
      const auto index = get<R>();
      const extent stride = value_of<Stride>(at.slots);
      for (int i = 0; i < N; ++i) offsets[i] += extent(index[i]) * stride;
    }
    return 0;
  }
  /// The offsets of the lanes from `address`.
  template <class Access, int... R, extent... Stride>
  COTANGENT_INLINE void offsets(Access, extent* offsets, indexed<R, Stride>...) const {
    const extent stride = value_of<lane_stride<Facts, Access>>(at.slots);
    for (int i = 0; i < N; ++i) offsets[i] = i * stride;
    const int done[] = {0, add_varying<R, Stride>(offsets)...};
    (void)done;
  }
  /// Whether the lanes of an access lie anywhere, and not at a stride.
  template <int... R, extent... Stride> static constexpr bool scattered(indexed<R, Stride>...) {
    return (false || ... || Facts::table.statements[R].varying);
  }
};

// One overload per kind of statement; K is its number.

COTANGENT_LANES template <int K, class E, class T, int B, class A, class... X> COTANGENT_INLINE int step(load<T, B, A, X...>, E& e) {
  using reg = typename E::template reg<T>;
  constexpr extent stride = lane_stride<typename E::facts_type, A>;
  const T* p = e.template address<const T, B>(A{}, X{}...);
  if constexpr (E::scattered(X{}...)) {
    extent offsets[E::lanes];
    e.offsets(A{}, offsets, X{}...);
    reg r = reg(T(0));
    for (int i = 0; i < E::lanes; ++i)
      if (!E::partial || i < e.count) r.set(i, p[offsets[i]]);
    e.template set<K, T>(r);
  } else if constexpr (stride == 0 || E::lanes == 1) e.template set<K, T>(reg(*p));
  else if constexpr (stride == 1) {
    if constexpr (E::partial) e.template set<K, T>(reg::load(p, e.count));
    else e.template set<K, T>(reg::load(p));
  } else if constexpr (E::partial) e.template set<K, T>(reg::load_strided(p, value_of<stride>(e.at.slots), e.count));
  else e.template set<K, T>(reg::load_strided(p, value_of<stride>(e.at.slots)));
  return 0;
}

template <int K, class E, class T, unsigned long Bits> COTANGENT_INLINE int step(constant<T, Bits>, E&) { return 0; }

COTANGENT_LANES template <int K, class E, class T, int Dim> COTANGENT_INLINE int step(index<T, Dim>, E& e) {
  using F = typename E::facts_type;
  using reg = typename E::template reg<T>;
  constexpr int m = F::dims.merged_from[Dim];
  if constexpr (m < 0) e.template set<K, T>(reg(T(0)));
  else if constexpr (m < F::dims.rank - 1) e.template set<K, T>(reg(T(e.at.index[m])));
  else e.template set<K, T>(reg(T(e.lane)) + iota<T, E::lanes>());
  return 0;
}

COTANGENT_LANES template <int K, class E, class Op, class T, int... R> COTANGENT_INLINE int step(apply<Op, T, R...>, E& e) {
  e.template set<K, T>(Op::lane(e.template get<R>()...));
  return 0;
}

COTANGENT_LANES template <int K, class E, class T, int B, int R, class A, class... X>
COTANGENT_INLINE int step(store<T, B, R, A, X...>, E& e) {
  constexpr extent stride = lane_stride<typename E::facts_type, A>;
  T* p = e.template address<T, B>(A{}, X{}...);
  const auto value = e.template get<R>();
  if constexpr (E::scattered(X{}...)) {
    extent offsets[E::lanes];
    e.offsets(A{}, offsets, X{}...);
    for (int i = 0; i < E::lanes; ++i)
      if (!E::partial || i < e.count) p[offsets[i]] = value[i];
  } else if constexpr (E::lanes == 1) value.store(p);
  else if constexpr (stride == 1) {
    if constexpr (E::partial) value.store(p, e.count);
    else value.store(p);
  } else if constexpr (E::partial) value.store_strided(p, value_of<stride>(e.at.slots), e.count);
  else value.store_strided(p, value_of<stride>(e.at.slots));
  return 0;
}

COTANGENT_LANES template <int K, class E, class Op, class T, int B, int R, class A>
COTANGENT_INLINE int step(reduce<Op, T, B, R, A>, E& e) {
  e.reductions.template add<K, Op, T, A>(e.template get<R>(), e);
  return 0;
}

/// Evaluates the statements that depend on the lane (Varying), or the others.
COTANGENT_LANES template <bool Varying, int K, class E, class S> COTANGENT_INLINE int step_if(S statement, E& e) {
  if constexpr (E::facts_type::table.statements[K].varying == Varying) step<K>(statement, e);
  return 0;
}
COTANGENT_LANES template <bool Varying, class E, class Space, class... S, std::size_t... K>
COTANGENT_INLINE void evaluate(kernel<Space, S...>, std::index_sequence<K...>, E& e) {
  const int done[] = {0, step_if<Varying, int(K)>(S{}, e)...};
  (void)done;
}

}  // namespace COTANGENT_ISA
}  // namespace cotangent::kernels
