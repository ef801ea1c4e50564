#pragma once
/// What a backend needs to know of a kernel type before it runs it, as constexpr tables: the dimensions left
/// after neighbours are merged, which statements depend on the lane dimension, and where each register lives.
/// One constant evaluation per kernel, linear in its statements.

#include <bit>
#include <cstdint>

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

/// How a reduce statement's result relates to the lane dimension and to the outer ones.
enum class reduction : std::uint8_t {
  keeps_lane,   // one result per lane: a row of results is updated in memory
  row,          // one result per outer index: lanes are summed in registers, row by row
  whole         // one result: lanes are summed in registers over all rows
};

struct statement_facts {
  action kind = action::constant;
  dtype type = dtype::float32;
  bool varying = false;  // depends on the lane dimension
  int place = 0;         // index among the registers of its type that vary as it does; of a reduce, among the reductions
  int sum = 0;           // of a reduce: index among those of its type
  unsigned long bits = 0;  // of a constant
  reduction reduces = reduction::row;
  std::uint32_t kept_dims = 0;  // of a reduce: bit d is set if merged dimension d is not reduced
};

/// The types that kernels compute in, in the order of the tables below.
inline constexpr int computable_types = 5;
constexpr int type_place(dtype d) {
  return d == dtype::float32 ? 0 : d == dtype::float64 ? 1 : d == dtype::int32 ? 2 : d == dtype::int64 ? 3 : 4;
}

template <int Statements> struct facts_table {
  statement_facts statements[Statements > 0 ? Statements : 1] = {};
  merged_dims dims;
  int fixed[computable_types] = {};    // registers that are the same for all lanes, by type
  int varying[computable_types] = {};  // the others
  int sums[computable_types] = {};     // reductions, by type
  int reductions = 0;
  int buffers = 0;
  int slots = 0;
  int work = 0;              // statements evaluated per point, for deciding about tasks
  int widest = 1;            // bytes of the widest type
  bool scatters = false;     // has a store whose address is computed: order matters
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

/// Fills a facts_table statement by statement.
template <int Statements> struct recorder {
  facts_table<Statements> t;
  int k = 0;

  constexpr void merge(const extent* extents, int rank, std::uint32_t mergeable_bits) {
    merged_dims& m = t.dims;
    for (int d = 0; d < rank; ++d) {
      m.merged_from[d] = -1;
      if (extents[d] == 1) continue;
      if (m.rank > 0 && (mergeable_bits >> d & 1u)) {
        m.last[m.rank - 1] = d;
      } else {
        m.first[m.rank] = m.last[m.rank] = d;
        ++m.rank;
      }
      m.merged_from[d] = m.rank - 1;
    }
  }
  constexpr int lane() const { return t.dims.rank > 0 ? t.dims.last[t.dims.rank - 1] : -1; }

  constexpr void slot_used(extent e) {
    if (is_slot(e) && int(e - slot_base) >= t.slots) t.slots = int(e - slot_base) + 1;
  }
  template <extent Offset, extent... Strides> constexpr void uses(access<Offset, Strides...>) {
    const extent all[] = {Offset, Strides...};
    for (extent e : all) slot_used(e);
  }
  template <int R, extent Stride> constexpr bool uses(indexed<R, Stride>) {
    slot_used(Stride);
    return t.statements[R].varying;
  }

  constexpr statement_facts& add(action kind, dtype type, int buffer = -1) {
    statement_facts& s = t.statements[k];
    s.kind = kind;
    s.type = type;
    if (buffer >= t.buffers) t.buffers = buffer + 1;
    if (size_of(type) > t.widest) t.widest = size_of(type);
    if (kind != action::constant) ++t.work;
    ++k;
    return s;
  }
  constexpr void place(statement_facts& s, bool varying) {
    s.varying = varying;
    s.place = (varying ? t.varying : t.fixed)[type_place(s.type)]++;
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
    add(action::constant, dtype_of<T>).bits = Bits;
    return 0;
  }
  template <class T, int Dim> constexpr int operator()(index<T, Dim>) {
    place(add(action::index, dtype_of<T>), Dim == lane());
    return 0;
  }
  template <class Op, class T, int... R> constexpr int operator()(apply<Op, T, R...>) {
    statement_facts& s = add(action::apply, dtype_of<T>);
    const bool by_operand[] = {false, t.statements[R].varying...};
    bool varying = false;
    for (bool v : by_operand) varying |= v;
    place(s, varying);
    return 0;
  }
  template <class T, int B, int R, class A, class... X> constexpr int operator()(store<T, B, R, A, X...>) {
    add(action::store, dtype_of<T>, B).varying = true;
    uses(A{});
    const bool by_index[] = {false, uses(X{})...};
    for (bool v : by_index) (void)v;
    if (sizeof...(X) > 0) t.scatters = true;
    return 0;
  }
  template <class Op, class T, int B, int R, class A> constexpr int operator()(reduce<Op, T, B, R, A>) {
    statement_facts& s = add(action::reduce, dtype_of<T>, B);
    uses(A{});
    s.varying = true;
    s.place = t.reductions++;
    for (int d = 0; d < t.dims.rank; ++d)
      if (stride_along(A{}, t.dims.last[d]) != 0) s.kept_dims |= std::uint32_t(1) << d;
    const bool keeps_lane = t.dims.rank > 0 && (s.kept_dims >> (t.dims.rank - 1) & 1u);
    s.reduces = keeps_lane ? reduction::keeps_lane : s.kept_dims == 0 ? reduction::whole : reduction::row;
    s.sum = t.sums[type_place(s.type)]++;
    return 0;
  }
};

}  // namespace facts

template <class Kernel> struct kernel_facts;

template <extent... Extents, class... Statements> struct kernel_facts<kernel<space<Extents...>, Statements...>> {
  static constexpr int own_rank = sizeof...(Extents);
  static constexpr int statements = sizeof...(Statements);
  static constexpr extent own_extents[max_rank + 1] = {Extents...};
  static_assert(own_rank <= max_rank, "kernel: an iteration space has more dimensions than max_rank");

  static constexpr facts_table<statements> table = [] {
    facts::recorder<statements> r;
    std::uint32_t bits = ~0u;
    const std::uint32_t all[] = {bits, facts::mergeable(Statements{}, own_extents)...};
    for (std::uint32_t b : all) bits &= b;
    r.merge(own_extents, own_rank, bits);
    for (int d = 0; d < own_rank; ++d) r.slot_used(own_extents[d]);
    const int order[] = {0, r(Statements{})...};
    (void)order;
    return r.t;
  }();
  static constexpr merged_dims dims = table.dims;

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

}  // namespace cotangent::kernels
