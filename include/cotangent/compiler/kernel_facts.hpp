#pragma once
/// What a backend needs to know of a kernel type before it runs it, as constexpr tables: the dimensions left
/// after neighbours are merged, which statements depend on the lane dimension, and where each register lives.
/// One constant evaluation per kernel, linear in its statements.

#include <bit>
#include <cstdint>
#include <utility>

#include <cotangent/compiler/kernel.hpp>
#include <cotangent/core/dtype.hpp>
#include <cotangent/core/macros.hpp>

namespace cotangent::kernels {

/// is_slot, as a constant that device code may ask for.
template <extent E> inline constexpr bool names_slot = is_slot(E);

/// The value of an extent, stride or offset: the number itself, or the run-time extent that a slot names.
template <extent E> COTANGENT_INLINE constexpr extent value_of([[maybe_unused]] const extent* slots) {
  if constexpr (names_slot<E>) return slots[E - slot_base];
  else return E;
}

/// A kernel's dimensions after merging: dimension d stands for the kernel's own dimensions first[d]..last[d].
/// Dimensions of extent 1 are dropped; neighbours that every access walks as one are merged; the last is the lane.
struct merged_dims {
  int rank = 0;
  int first[max_rank] = {};
  int last[max_rank] = {};
  int merged_from[max_rank] = {};  // kernel dimension -> merged dimension; -1 if dropped

  constexpr int outer() const { return rank > 0 ? rank - 1 : 0; }
};

enum class action : std::uint8_t { load, constant, index, apply, store, reduce };

/// Where a register lives.
enum class source : std::uint8_t {
  none,      // stores and reductions define no register
  constant,  // in the type
  fixed,     // one value for all lanes of a row
  varying    // one value per lane
};
struct register_place {
  dtype type = dtype::float32;
  source from = source::none;
  int index = 0;           // among the registers of this type and source
  unsigned long bits = 0;  // of a constant

  constexpr bool operator==(const register_place&) const = default;
};

/// How a reduce statement's result relates to the lane dimension and to the outer ones.
enum class reduction : std::uint8_t {
  keeps_lane,   // one result per lane: a row of results is updated in memory
  row,          // one result per outer index: lanes are summed in registers, row by row
  whole         // one result: lanes are summed in registers over all rows
};
struct reduce_facts {
  reduction scope = reduction::row;
  int place = 0;                // among the kernel's reductions
  int sum = 0;                  // among those of its type
  std::uint32_t kept_dims = 0;  // bit d is set if merged dimension d is not reduced
};

struct statement_facts {
  action kind = action::constant;
  register_place where;
  reduce_facts reduce;
};

/// The types that kernels compute in, in the order of count_by_type.
constexpr int type_place(dtype d) {
  return d == dtype::float32 ? 0 : d == dtype::float64 ? 1 : d == dtype::int32 ? 2 : d == dtype::int64 ? 3 : 4;
}

/// A number per type. Not an array: g++ 12 takes two class template arguments for one if their arrays differ only in
/// where the nonzero elements are.
struct count_by_type {
  int floats = 0, doubles = 0, ints = 0, longs = 0, masks = 0;

  constexpr int& operator[](int place) { return place == 0 ? floats : place == 1 ? doubles : place == 2 ? ints : place == 3 ? longs : masks; }
  constexpr int total() const { return floats + doubles + ints + longs + masks; }
};

/// All that a kernel's loops need to know of it besides its statements. A small value, because it is part of the
/// name of every function that runs a statement: a whole kernel in those names costs the compiler quadratic time.
struct kernel_shape {
  std::uint32_t merges = 0;            // bit d is set if kernel dimension d is merged with the one before it
  count_by_type fixed;    // registers that are the same for all lanes
  count_by_type varying;  // the others
  count_by_type sums;     // reductions
  int reductions = 0;
  int buffers = 0;
  int slots = 0;
  int work = 0;            // statements evaluated per point, for deciding about tasks
  int widest = 1;          // bytes of the widest type
  bool scatters = false;   // has a store whose address is computed: order matters
};

template <extent... Extents> constexpr merged_dims dims_of(space<Extents...>, std::uint32_t merges) {
  const extent extents[] = {Extents..., 1};
  merged_dims m;
  for (int d = 0; d < int(sizeof...(Extents)); ++d) {
    m.merged_from[d] = -1;
    if (extents[d] == 1) continue;
    if (m.rank > 0 && (merges >> d & 1u)) {
      m.last[m.rank - 1] = d;
    } else {
      m.first[m.rank] = m.last[m.rank] = d;
      ++m.rank;
    }
    m.merged_from[d] = m.rank - 1;
  }
  return m;
}

/// A kernel's shape and extents.
template <kernel_shape Shape, class Space> struct layout;
template <kernel_shape Shape, extent... Extents> struct layout<Shape, space<Extents...>> {
  static constexpr kernel_shape shape = Shape;
  static constexpr merged_dims dims = dims_of(space<Extents...>{}, Shape.merges);
  static constexpr extent own_extents[max_rank + 1] = {Extents...};

  /// The extent of merged dimension d.
  static COTANGENT_INLINE constexpr extent extent_of(int d, [[maybe_unused]] const extent* slots) {
    constexpr merged_dims merged = dims;
    const extent all[] = {value_of<Extents>(slots)..., 1};
    extent n = 1;
    for (int i = merged.first[d]; i <= merged.last[d]; ++i) n *= all[i];
    return n;
  }

  /// Whether every extent is a number, and how many points there are then.
  static constexpr bool is_static = !(false || ... || is_slot(Extents));
  static constexpr extent points = is_static ? (extent(1) * ... * Extents) : -1;
};

namespace facts {

/// Dimensions d such that the access walks d and d + 1 as one dimension, as bits.
template <extent Offset, extent... Strides>
constexpr std::uint32_t mergeable(access<Offset, Strides...>, const extent* extents) {
  constexpr int rank = sizeof...(Strides);
  const extent strides[] = {Strides..., 0};
  std::uint32_t bits = ~std::uint32_t(0);
  for (int d = 0, e = 1; e < rank; ++e) {  // d: the last dimension before e that is not dropped
    if (extents[e] == 1) continue;
    if (extents[d] != 1) {
      const bool both_zero = strides[d] == 0 && strides[e] == 0;
      const bool numbers = !is_slot(strides[d]) && !is_slot(strides[e]) && !is_slot(extents[e]);
      const bool follows = numbers ? strides[d] == strides[e] * extents[e] : strides[e] == 1 && strides[d] == extents[e];
      if (!both_zero && !follows) bits &= ~(std::uint32_t(1) << e);
    }
    d = e;
  }
  return bits;
}

template <class T, int B, class A, class... X> constexpr std::uint32_t mergeable(load<T, B, A, X...>, const extent* e) { return mergeable(A{}, e); }
template <class T, unsigned long Bits> constexpr std::uint32_t mergeable(constant<T, Bits>, const extent*) { return ~0u; }
template <class T, int Dim> constexpr std::uint32_t mergeable(index<T, Dim>, const extent* extents) {
  int next = Dim + 1;
  while (next < max_rank && extents[next] == 1) ++next;
  return ~(1u << Dim | 1u << next);
}
template <class Op, class T, int... R> constexpr std::uint32_t mergeable(apply<Op, T, R...>, const extent*) { return ~0u; }
template <class T, int B, int R, class A, class... X> constexpr std::uint32_t mergeable(store<T, B, R, A, X...>, const extent* e) { return mergeable(A{}, e); }
template <class Op, class T, int B, int R, class A> constexpr std::uint32_t mergeable(reduce<Op, T, B, R, A>, const extent* e) { return mergeable(A{}, e); }

/// The stride of an access along kernel dimension d; 0 for d == -1.
template <extent Offset, extent... Strides> constexpr extent stride_along(access<Offset, Strides...>, int d) {
  const extent strides[] = {Strides..., 0};
  return d < 0 ? 0 : strides[d];
}

template <int Statements> struct table {
  statement_facts statements[Statements > 0 ? Statements : 1] = {};
  kernel_shape shape;
};

/// Fills a table statement by statement.
template <int Statements> struct recorder {
  table<Statements> t;
  merged_dims dims;
  int k = 0;

  constexpr int lane() const { return dims.rank > 0 ? dims.last[dims.rank - 1] : -1; }

  constexpr void slot_used(extent e) {
    if (is_slot(e) && int(e - slot_base) >= t.shape.slots) t.shape.slots = int(e - slot_base) + 1;
  }
  template <extent Offset, extent... Strides> constexpr void uses(access<Offset, Strides...>) {
    const extent all[] = {Offset, Strides...};
    for (extent e : all) slot_used(e);
  }
  constexpr bool varies(int r) const { return t.statements[r].where.from == source::varying; }
  template <int R, extent Stride> constexpr bool uses(indexed<R, Stride>) {
    slot_used(Stride);
    return varies(R);
  }

  constexpr statement_facts& add(action kind, dtype type, int buffer = -1) {
    statement_facts& s = t.statements[k++];
    s.kind = kind;
    s.where.type = type;
    if (buffer >= t.shape.buffers) t.shape.buffers = buffer + 1;
    if (size_of(type) > t.shape.widest) t.shape.widest = size_of(type);
    if (kind != action::constant) ++t.shape.work;
    return s;
  }
  constexpr void place(statement_facts& s, bool varying) {
    s.where.from = varying ? source::varying : source::fixed;
    s.where.index = (varying ? t.shape.varying : t.shape.fixed)[type_place(s.where.type)]++;
  }

  template <class T, int B, class A, class... X> constexpr int operator()(load<T, B, A, X...>) {
    statement_facts& s = add(action::load, dtype_of<T>, B);
    uses(A{});
    bool varying = stride_along(A{}, lane()) != 0;
    const bool by_index[] = {false, uses(X{})...};
    for (bool v : by_index) varying |= v;
    place(s, varying);
    return 0;
  }
  template <class T, unsigned long Bits> constexpr int operator()(constant<T, Bits>) {
    statement_facts& s = add(action::constant, dtype_of<T>);
    s.where.from = source::constant;
    s.where.bits = Bits;
    return 0;
  }
  template <class T, int Dim> constexpr int operator()(index<T, Dim>) {
    place(add(action::index, dtype_of<T>), Dim == lane());
    return 0;
  }
  template <class Op, class T, int... R> constexpr int operator()(apply<Op, T, R...>) {
    statement_facts& s = add(action::apply, dtype_of<T>);
    const bool by_operand[] = {false, varies(R)...};
    bool varying = false;
    for (bool v : by_operand) varying |= v;
    place(s, varying);
    return 0;
  }
  template <class T, int B, int R, class A, class... X> constexpr int operator()(store<T, B, R, A, X...>) {
    add(action::store, dtype_of<T>, B);
    uses(A{});
    const bool by_index[] = {false, uses(X{})...};
    (void)by_index;
    if (sizeof...(X) > 0) t.shape.scatters = true;
    return 0;
  }
  template <class Op, class T, int B, int R, class A> constexpr int operator()(reduce<Op, T, B, R, A>) {
    reduce_facts& r = add(action::reduce, dtype_of<T>, B).reduce;
    uses(A{});
    r.place = t.shape.reductions++;
    r.sum = t.shape.sums[type_place(dtype_of<T>)]++;
    for (int d = 0; d < dims.rank; ++d)
      if (stride_along(A{}, dims.last[d]) != 0) r.kept_dims |= std::uint32_t(1) << d;
    const bool keeps_lane = dims.rank > 0 && (r.kept_dims >> (dims.rank - 1) & 1u);
    r.scope = keeps_lane ? reduction::keeps_lane : r.kept_dims == 0 ? reduction::whole : reduction::row;
    return 0;
  }
};

}  // namespace facts

/// A statement with the places of the register that it defines and of those that it uses, in order.
template <class Statement, register_place To, register_place... From> struct resolved {};
/// A reduce statement likewise.
template <class Statement, reduce_facts Facts, register_place From> struct resolved_reduce {};

template <class... Reduces> struct reduce_list {};

/// A kernel made ready to run: its layout, its reductions, and its statements resolved.
template <class Layout, class Reductions, class... Steps> struct program {};

namespace facts {

/// (A function and no lambda: g++ substitutes a lambda's packs in quadratic time.)
template <extent... Extents, class... S> constexpr table<int(sizeof...(S))> tabulate(kernel<space<Extents...>, S...>) {
  constexpr extent extents[max_rank + 1] = {Extents...};
  recorder<int(sizeof...(S))> r;
  const std::uint32_t all[] = {~0u, mergeable(S{}, extents)...};
  std::uint32_t bits = (1u << sizeof...(Extents)) - 1;
  for (std::uint32_t b : all) bits &= b;
  r.t.shape.merges = bits;
  r.dims = dims_of(space<Extents...>{}, bits);
  const extent sizes[] = {Extents..., 1};
  for (extent e : sizes) r.slot_used(e);
  const int order[] = {0, r(S{})...};
  (void)order;
  return r.t;
}
template <class Kernel> struct analysis {
  static constexpr auto value = tabulate(Kernel{});
};

template <class A, int K, class S> struct resolve;
template <class A, int K, class T, int B, class X, int... R, extent... Stride> struct resolve<A, K, load<T, B, X, indexed<R, Stride>...>> {
  using type = resolved<load<T, B, X, indexed<R, Stride>...>, A::value.statements[K].where, A::value.statements[R].where...>;
};
template <class A, int K, class T, unsigned long Bits> struct resolve<A, K, constant<T, Bits>> {
  using type = resolved<constant<T, Bits>, A::value.statements[K].where>;
};
template <class A, int K, class T, int Dim> struct resolve<A, K, index<T, Dim>> {
  using type = resolved<index<T, Dim>, A::value.statements[K].where>;
};
template <class A, int K, class Op, class T, int... R> struct resolve<A, K, apply<Op, T, R...>> {
  using type = resolved<apply<Op, T, R...>, A::value.statements[K].where, A::value.statements[R].where...>;
};
template <class A, int K, class T, int B, int V, class X, int... R, extent... Stride>
struct resolve<A, K, store<T, B, V, X, indexed<R, Stride>...>> {
  using type = resolved<store<T, B, V, X, indexed<R, Stride>...>, A::value.statements[K].where, A::value.statements[V].where,
                        A::value.statements[R].where...>;
};
template <class A, int K, class Op, class T, int B, int R, class X> struct resolve<A, K, reduce<Op, T, B, R, X>> {
  using type = resolved_reduce<reduce<Op, T, B, R, X>, A::value.statements[K].reduce, A::value.statements[R].where>;
};

template <int K, class S> struct numbered {};
template <class Sequence, class... S> struct numbered_list;
template <std::size_t... K, class... S> struct numbered_list<std::index_sequence<K...>, S...> : numbered<int(K), S>... {};
template <int K, class S> S numbered_at(const numbered<K, S>&);

template <class A, class Numbers, class Sequence> struct reductions_among;
template <class A, class Numbers, std::size_t... R> struct reductions_among<A, Numbers, std::index_sequence<R...>> {
  /// The statement number of the r-th reduction.
  static constexpr int number(int r) {
    int k = 0;
    for (; A::value.statements[k].kind != action::reduce || r > 0; ++k)
      if (A::value.statements[k].kind == action::reduce) --r;
    return k;
  }
  using type = reduce_list<typename resolve<A, number(int(R)), decltype(numbered_at<number(int(R))>(Numbers{}))>::type...>;
};
template <class A, class Numbers> struct reductions_among<A, Numbers, std::index_sequence<>> {
  using type = reduce_list<>;
};

template <class Kernel, class Sequence> struct prepare;
template <class Space, class... S, std::size_t... K> struct prepare<kernel<Space, S...>, std::index_sequence<K...>> {
  using result = analysis<kernel<Space, S...>>;
  using layout_type = layout<result::value.shape, Space>;
  using reductions = typename reductions_among<result, numbered_list<std::index_sequence<K...>, S...>,
                                               std::make_index_sequence<std::size_t(result::value.shape.reductions)>>::type;
  using type = program<layout_type, reductions, typename resolve<result, int(K), S>::type...>;
};

template <class Kernel> struct count_statements;
template <class Space, class... S> struct count_statements<kernel<Space, S...>> {
  using sequence = std::make_index_sequence<sizeof...(S)>;
};

}  // namespace facts

/// The program, layout and reductions of a kernel.
template <class Kernel> using program_of = typename facts::prepare<Kernel, typename facts::count_statements<Kernel>::sequence>::type;
template <class Kernel> using layout_of = typename facts::prepare<Kernel, typename facts::count_statements<Kernel>::sequence>::layout_type;
template <class Kernel> using reductions_of = typename facts::prepare<Kernel, typename facts::count_statements<Kernel>::sequence>::reductions;

}  // namespace cotangent::kernels
