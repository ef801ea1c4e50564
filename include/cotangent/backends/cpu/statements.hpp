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

template <class Layout> inline constexpr int mask_bytes = Layout::shape.widest <= 4 ? 4 : 8;

template <class Layout, int N>
using fixed_registers = register_file<N, mask_bytes<Layout>, Layout::shape.fixed.floats, Layout::shape.fixed.doubles, Layout::shape.fixed.ints,
                                      Layout::shape.fixed.longs, Layout::shape.fixed.masks>;
template <class Layout, int N>
using varying_registers = register_file<N, mask_bytes<Layout>, Layout::shape.varying.floats, Layout::shape.varying.doubles, Layout::shape.varying.ints,
                                        Layout::shape.varying.longs, Layout::shape.varying.masks>;
template <class Layout, int N>
using sum_registers = register_file<N, mask_bytes<Layout>, Layout::shape.sums.floats, Layout::shape.sums.doubles, Layout::shape.sums.ints,
                                    Layout::shape.sums.longs, Layout::shape.sums.masks>;

/// A kernel's arguments, copied out of memory that stores could alias, and the index along each merged dimension.
template <class Layout> struct position {
  void* buffers[Layout::shape.buffers > 0 ? Layout::shape.buffers : 1];
  extent slots[Layout::shape.slots > 0 ? Layout::shape.slots : 1];
  extent index[Layout::dims.rank > 0 ? Layout::dims.rank : 1];

  position() = default;
  COTANGENT_INLINE position(void* const* from, const extent* extents) {
    for (int i = 0; i < Layout::shape.buffers; ++i) buffers[i] = from[i];
    for (int i = 0; i < Layout::shape.slots; ++i) slots[i] = extents[i];
    for (extent& i : index) i = 0;
  }

  /// What kernel dimension d contributes to an access of this stride, at lane index 0.
  COTANGENT_INLINE extent outer_step(int d, extent stride) const {
    constexpr merged_dims dims = Layout::dims;
    const int m = dims.merged_from[d];
    return m >= 0 && m < dims.rank - 1 && dims.last[m] == d ? index[m] * stride : 0;
  }
};

/// The offset of an access at a position, at lane index 0.
template <class Layout, extent Offset, extent... Strides>
COTANGENT_INLINE extent row_offset(access<Offset, Strides...>, const position<Layout>& at) {
  extent sum = value_of<Offset>(at.slots);
  int d = 0;
  const extent steps[] = {0, at.outer_step(d++, value_of<Strides>(at.slots))...};
  for (int i = 1; i < d + 1; ++i) sum += steps[i];
  return sum;
}

/// The stride of an access along the lane dimension; it may be a slot.
template <class Layout, class Access>
inline constexpr extent lane_stride = Layout::dims.rank > 0 ? facts::stride_along(Access{}, Layout::dims.last[Layout::dims.rank > 0 ? Layout::dims.rank - 1 : 0]) : 0;

/// For kernels without reductions.
struct no_reductions {};

/// One evaluation of a kernel's statements: lanes lane .. lane + N - 1 of the row at `at`, of which the first
/// `count` exist; Partial says that count may be less than N.
template <class Layout, int N, bool Partial, class Reductions = no_reductions> struct evaluation {
  using layout = Layout;
  static constexpr int lanes = N;
  static constexpr bool partial = Partial;
  static constexpr int bytes = mask_bytes<Layout>;
  template <class T> using reg = register_type<T, N, bytes>;

  const position<Layout>& at;
  extent lane;
  int count;
  fixed_registers<Layout, N>& fixed;
  Reductions& reductions;
  varying_registers<Layout, N> varying;  // a member, not a reference: compilers take it apart in one pass

  COTANGENT_LANES COTANGENT_INLINE evaluation(const position<Layout>& a, extent l, int n, fixed_registers<Layout, N>& f, Reductions& r)
      : at(a), lane(l), count(n), fixed(f), reductions(r) {}

  COTANGENT_LANES template <register_place From> COTANGENT_INLINE auto get() {
    using T = type_of<From.type>;
    if constexpr (From.from == source::constant) {
      if constexpr (std::is_same_v<T, bool>) return reg<T>(From.bits != 0);
      else return reg<T>(std::bit_cast<T>(std::make_unsigned_t<integer_like<T>>(From.bits)));
    } else if constexpr (From.from == source::varying) return reg<T>(varying.template of<T>(From.index));
    else return reg<T>(fixed.template of<T>(From.index));
  }

  COTANGENT_LANES template <register_place To, class V> COTANGENT_INLINE void set(const V& value) {
    using T = type_of<To.type>;
    if constexpr (To.from == source::varying) varying.template of<T>(To.index) = as_register<T>(value);
    else fixed.template of<T>(To.index) = as_register<T>(value);
  }

  /// A comparison's mask is as wide as what it compared; a mask register is as wide as the kernel's widest type.
  COTANGENT_LANES template <class T, class V> static COTANGENT_INLINE reg<T> as_register(const V& value) {
    if constexpr (std::is_same_v<T, bool> && !std::is_same_v<V, reg<T>>) return mask_cast<bytes>(value);
    else return value;
  }

  /// The address of an access for the first lane, without what its varying index registers add.
  COTANGENT_LANES template <class T, int B, register_place... From, class Access, int... R, extent... Stride>
  COTANGENT_INLINE T* address(Access access, indexed<R, Stride>...) {
    extent offset = row_offset(access, at) + lane * value_of<lane_stride<Layout, Access>>(at.slots);
    const extent steps[] = {0, fixed_step<From, Stride>()...};
    for (extent s : steps) offset += s;
    return static_cast<T*>(at.buffers[B]) + offset;
  }
  COTANGENT_LANES template <register_place From, extent Stride> COTANGENT_INLINE extent fixed_step() {
    if constexpr (From.from == source::varying) return 0;
    else return extent(get<From>()[0]) * value_of<Stride>(at.slots);
  }
  /// Adds what one varying index register adds, lane by lane.
  COTANGENT_LANES template <register_place From, extent Stride> COTANGENT_INLINE int add_varying(extent* offsets) {
    if constexpr (From.from == source::varying) {
      const auto index = get<From>();
      const extent stride = value_of<Stride>(at.slots);
      for (int i = 0; i < N; ++i) offsets[i] += extent(index[i]) * stride;
    }
    return 0;
  }
  /// The offsets of the lanes from `address`.
  COTANGENT_LANES template <register_place... From, class Access, int... R, extent... Stride>
  COTANGENT_INLINE void offsets(extent* to, Access, indexed<R, Stride>...) {
    const extent stride = value_of<lane_stride<Layout, Access>>(at.slots);
    for (int i = 0; i < N; ++i) to[i] = i * stride;
    const int done[] = {0, add_varying<From, Stride>(to)...};
    (void)done;
  }
};

/// Whether a statement depends on the lane, so that it runs once per vector and not once per row.
constexpr bool varies(register_place to) { return to.from == source::varying || to.from == source::none; }
/// Whether the lanes of an access lie anywhere, and not at a stride.
template <register_place... Index> inline constexpr bool scattered = (false || ... || (Index.from == source::varying));

// One overload per kind of statement.

COTANGENT_LANES template <class E, register_place To, class T, int B, class A, int... R, extent... Stride, register_place... From>
COTANGENT_INLINE void step(resolved<load<T, B, A, indexed<R, Stride>...>, To, From...>, E& e) {
  using reg = typename E::template reg<T>;
  constexpr extent stride = lane_stride<typename E::layout, A>;
  const T* p = e.template address<const T, B, From...>(A{}, indexed<R, Stride>{}...);
  if constexpr (scattered<From...>) {
    extent offsets[E::lanes];
    e.template offsets<From...>(offsets, A{}, indexed<R, Stride>{}...);
    reg r = reg(T(0));
    for (int i = 0; i < E::lanes; ++i)
      if (!E::partial || i < e.count) r.set(i, p[offsets[i]]);
    e.template set<To>(r);
  } else if constexpr (stride == 0 || E::lanes == 1) e.template set<To>(reg(*p));
  else if constexpr (stride == 1) {
    if constexpr (E::partial) e.template set<To>(reg::load(p, e.count));
    else e.template set<To>(reg::load(p));
  } else if constexpr (E::partial) e.template set<To>(reg::load_strided(p, value_of<stride>(e.at.slots), e.count));
  else e.template set<To>(reg::load_strided(p, value_of<stride>(e.at.slots)));
}

COTANGENT_LANES template <class E, register_place To, class T, int Dim> COTANGENT_INLINE void step(resolved<index<T, Dim>, To>, E& e) {
  using reg = typename E::template reg<T>;
  constexpr int m = E::layout::dims.merged_from[Dim];
  if constexpr (m < 0) e.template set<To>(reg(T(0)));
  else if constexpr (m < E::layout::dims.rank - 1) e.template set<To>(reg(T(e.at.index[m])));
  else e.template set<To>(reg(T(e.lane)) + iota<T, E::lanes>());
}

/// A kernel so long that the compiler should see each lane program, and each access, once.
template <class Layout> inline constexpr bool is_long_kernel = Layout::shape.varying.total() > 128;

/// Op::lane as a function of its own: in a long kernel, where inlining every long lane program would cost minutes of
/// compile time.
COTANGENT_LANES template <class Op, class... V> COTANGENT_HD __attribute__((noinline)) auto call_lane(V... v) {
  return Op::lane(v...);
}
/// Whether a lane program is long: its primitive counts ten operations or more.
template <class Op> inline constexpr bool is_long_lane = false;
template <class Op>
  requires requires { Op::flops; }
inline constexpr bool is_long_lane<Op> = Op::flops >= 10;

COTANGENT_LANES template <class E, register_place To, class Op, class T, int... R, register_place... From>
COTANGENT_INLINE void step(resolved<apply<Op, T, R...>, To, From...>, E& e) {
  if constexpr (is_long_lane<Op> && is_long_kernel<typename E::layout>)
    e.template set<To>(call_lane<Op>(e.template get<From>()...));
  else e.template set<To>(Op::lane(e.template get<From>()...));
}

COTANGENT_LANES template <class E, register_place To, class T, int B, int V, class A, int... R, extent... Stride, register_place Value, register_place... From>
COTANGENT_INLINE void step(resolved<store<T, B, V, A, indexed<R, Stride>...>, To, Value, From...>, E& e) {
  constexpr extent stride = lane_stride<typename E::layout, A>;
  T* p = e.template address<T, B, From...>(A{}, indexed<R, Stride>{}...);
  const auto value = e.template get<Value>();
  if constexpr (scattered<From...>) {
    extent offsets[E::lanes];
    e.template offsets<From...>(offsets, A{}, indexed<R, Stride>{}...);
    for (int i = 0; i < E::lanes; ++i)
      if (!E::partial || i < e.count) p[offsets[i]] = value[i];
  } else if constexpr (E::lanes == 1) value.store(p);
  else if constexpr (stride == 1) {
    if constexpr (E::partial) value.store(p, e.count);
    else value.store(p);
  } else if constexpr (E::partial) value.store_strided(p, value_of<stride>(e.at.slots), e.count);
  else value.store_strided(p, value_of<stride>(e.at.slots));
}

/// Runs a statement if it depends on the lane (Varying), or if it does not.
COTANGENT_LANES template <bool Varying, class E, class S, register_place To, register_place... From>
COTANGENT_INLINE int step_if(resolved<S, To, From...> statement, E& e) {
  if constexpr (To.from != source::constant && varies(To) == Varying) step(statement, e);
  return 0;
}
COTANGENT_LANES template <bool Varying, class E, class S, reduce_facts Facts, register_place From>
COTANGENT_INLINE int step_if(resolved_reduce<S, Facts, From> statement, E& e) {
  if constexpr (Varying) e.reductions.add(statement, e.template get<From>(), e);
  return 0;
}

/// Evaluates a program's statements that depend on the lane (Varying), or the others.
COTANGENT_LANES template <bool Varying, class E, class Layout, class Reductions, class... Steps>
COTANGENT_INLINE void evaluate(program<Layout, Reductions, Steps...>, E& e) {
  const int done[] = {0, step_if<Varying>(Steps{}, e)...};
  (void)done;
}

}  // namespace COTANGENT_ISA
}  // namespace cotangent::kernels
