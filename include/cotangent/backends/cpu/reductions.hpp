#pragma once
/// Reductions inside a kernel: where results lie, sums in registers, and partial results of tasks.

#include <cotangent/backends/cpu/partition.hpp>
#include <cotangent/backends/cpu/scratch.hpp>
#include <cotangent/backends/cpu/statements.hpp>

namespace cotangent {
struct reduce_min_p;
struct reduce_max_p;
}  // namespace cotangent

namespace cotangent::host {
inline namespace COTANGENT_ISA {

/// Where the results of each reduction lie: the caller's buffer, or a task's partial results.
template <class Layout> struct targets {
  static constexpr int count = Layout::shape.reductions > 0 ? Layout::shape.reductions : 1;
  static constexpr int rank = Layout::dims.rank > 0 ? Layout::dims.rank : 1;
  void* base[count];
  extent strides[count][rank];

  template <class T> COTANGENT_HOST_INLINE T* row(int reduction, const position<Layout>& at) const {
    T* p = static_cast<T*>(base[reduction]);
    for (int d = 0; d < Layout::dims.outer(); ++d) p += at.index[d] * strides[reduction][d];
    return p;
  }
};

/// The lowest `count` lanes.
template <int Bytes, int N> COTANGENT_HOST_INLINE mask<Bytes, N> first_lanes(int count) {
  using integer = typename integer_of_bytes<Bytes>::type;
  if constexpr (N == 1) return count > 0;
  else return lane_numbers<integer, N>() < pack<integer, N>(integer(count));
}

/// Op over the lanes of a register, halves first: always the same tree.
template <class Op, class T, int N> COTANGENT_HOST_INLINE T fold_lanes(pack<T, N> x) {
  if constexpr (N == 1) return x[0];
  else return fold_lanes<Op, T>(Op::combine(lower(x), upper(x)));
}
template <class Op, class T, int Bytes, int N> COTANGENT_HOST_INLINE T fold_lanes(mask<Bytes, N> x) {
  if constexpr (N == 1) return x[0];
  else if constexpr (N == 2) return Op::combine(mask<Bytes, 1>(x[0]), mask<Bytes, 1>(x[1]))[0];
  else {
    mask<Bytes, N / 2> a, b;
    a.bits = lower(x.bits);
    b.bits = upper(x.bits);
    return fold_lanes<Op, T>(Op::combine(a, b));
  }
}

/// Lane i + H in the place of lane i.
template <int H> struct lanes_above {
  static constexpr int at(int i) { return i & H ? i : i + H; }
};
/// fold_lanes of one, two or four registers side by side, by the same tree: two registers become one whose halves are theirs. The folded
/// register k is lane_of_fold(k).
template <class Op, int H, class T, int N, int Count> COTANGENT_HOST_INLINE pack<T, N> fold_beside(const pack<T, N> (&x)[Count]) {
  if constexpr (H == 0) return x[0];
  else if constexpr (Count == 1) {
    const pack<T, N> half[] = {Op::combine(x[0], shuffle<lanes_above<H>>(x[0], x[0]))};
    return fold_beside<Op, H / 2>(half);
  } else {
    pack<T, N> halves[Count / 2];
    for (int k = 0; k < Count / 2; ++k)
      halves[k] = Op::combine(shuffle<exchanged_blocks<N, H, false>>(x[2 * k], x[2 * k + 1]), shuffle<exchanged_blocks<N, H, true>>(x[2 * k], x[2 * k + 1]));
    return fold_beside<Op, H / 2>(halves);
  }
}
template <int N> constexpr int lane_of_fold(int k) { return (k & 1) * (N / 2) + (k >> 1) * (N / 4); }

/// An extremum of each lane, and where it lies.
template <class T, int N> struct placed {
  pack<T, N> extremum;
  pack<std::int32_t, N> where;

  COTANGENT_HOST_INLINE void choose(mask<int(sizeof(T)), N> m, pack<T, N> x, pack<std::int32_t, N> i) {
    extremum = select(m, x, extremum), where = select(mask_cast<4>(m), i, where);
  }
};
/// Whether a is nearer to Op's extremum than b; a NaN is nearest.
template <class Op, class T, int N> COTANGENT_HOST_INLINE mask<int(sizeof(T)), N> is_nearer(pack<T, N> a, pack<T, N> b) {
  if constexpr (std::is_floating_point_v<T>) return (!Op::reaches(b, a)) & (b == b);
  else return !Op::reaches(b, a);
}
/// Chooses x and its place, one for all lanes, where it is nearer than what is there.
template <class Op, class T, int N> COTANGENT_HOST_INLINE void choose_nearer(placed<T, N>& there, pack<T, N> x, std::int32_t place) {
#if defined(COTANGENT_AVX512) && !defined(__CUDACC__)
  if constexpr (std::is_floating_point_v<T> && N * sizeof(T) == 64) {  // two comparisons into one mask, which the compiler would make five instructions of
    constexpr int not_reached = Op::template identity<T>() > T(0) ? _CMP_NLE_UQ : _CMP_NGE_UQ;
    const auto old = there.extremum.part(0), own = x.part(0);
    const auto where = there.where.part(0);
    if constexpr (sizeof(T) == 4) {
      const auto nearer = _mm512_mask_cmp_ps_mask(_mm512_cmp_ps_mask(old, old, _CMP_ORD_Q), old, own, not_reached);
      there.extremum.set_part(0, _mm512_mask_mov_ps(old, nearer, own));
      there.where.set_part(0, (vector<std::int32_t, N>)_mm512_mask_mov_epi32((__m512i)where, nearer, _mm512_set1_epi32(place)));
    } else {
      const auto nearer = _mm512_mask_cmp_pd_mask(_mm512_cmp_pd_mask(old, old, _CMP_ORD_Q), old, own, not_reached);
      there.extremum.set_part(0, _mm512_mask_mov_pd(old, nearer, own));
      there.where.set_part(0, (vector<std::int32_t, N>)_mm256_mask_mov_epi32((__m256i)where, nearer, _mm256_set1_epi32(place)));
    }
    return;
  }
#endif
  there.choose(is_nearer<Op>(x, there.extremum), x, pack<std::int32_t, N>(place));
}
/// Whether extrema of lanes leave NaNs aside, and a mask says which lanes have met none: two instructions where a minimum that spreads NaNs
/// takes three.
template <class Op, class T, int N> inline constexpr bool sets_nans_aside = false;
#if defined(COTANGENT_AVX512) && !defined(__CUDACC__)
template <class T, int N>
inline constexpr bool sets_nans_aside<reduce_min_p, T, N> = std::is_floating_point_v<T> && N * sizeof(T) == 64;
template <class T, int N>
inline constexpr bool sets_nans_aside<reduce_max_p, T, N> = std::is_floating_point_v<T> && N * sizeof(T) == 64;
#endif
/// Of `ordered`, the lanes in which neither a nor b is a NaN.
template <class T, int N> COTANGENT_HOST_INLINE unsigned short without_nans(unsigned short ordered, [[maybe_unused]] pack<T, N> a, [[maybe_unused]] pack<T, N> b) {
#if defined(COTANGENT_AVX512) && !defined(__CUDACC__)
  if constexpr (sizeof(T) == 4) return _mm512_mask_cmp_ps_mask(ordered, a.part(0), b.part(0), _CMP_ORD_Q);
  else return _mm512_mask_cmp_pd_mask(__mmask8(ordered), a.part(0), b.part(0), _CMP_ORD_Q);
#else
  return ordered;
#endif
}
/// The extremum of there and x, where x is no NaN.
template <class Op, class T, int N> COTANGENT_HOST_INLINE pack<T, N> choose_number(pack<T, N> there, [[maybe_unused]] pack<T, N> x) {
#if defined(COTANGENT_AVX512) && !defined(__CUDACC__)
  constexpr bool least = std::is_same_v<Op, reduce_min_p>;
  const auto old = there.part(0), own = x.part(0);
  if constexpr (sizeof(T) == 4) there.set_part(0, least ? _mm512_min_ps(own, old) : _mm512_max_ps(own, old));
  else there.set_part(0, least ? _mm512_min_pd(own, old) : _mm512_max_pd(own, old));
#endif
  return there;
}
/// The extremum of the lanes, NaN if one has met a NaN.
template <class Op, class T, int N> COTANGENT_HOST_INLINE T fold_numbers([[maybe_unused]] unsigned short ordered, [[maybe_unused]] pack<T, N> x) {
#if defined(COTANGENT_AVX512) && !defined(__CUDACC__)
  constexpr bool least = std::is_same_v<Op, reduce_min_p>;
  constexpr unsigned short all = (1u << N) - 1;
  if ((ordered & all) != all) return std::numeric_limits<T>::quiet_NaN();
  if constexpr (sizeof(T) == 4) return least ? _mm512_reduce_min_ps(x.part(0)) : _mm512_reduce_max_ps(x.part(0));
  else return least ? _mm512_reduce_min_pd(x.part(0)) : _mm512_reduce_max_pd(x.part(0));
#else
  return x[0];
#endif
}
/// Those of b where they are nearer, or come first and are as near.
template <class Op, class T, int N> COTANGENT_HOST_INLINE placed<T, N> nearest(placed<T, N> a, const placed<T, N>& b) {
  const auto farther = is_nearer<Op>(a.extremum, b.extremum);
  a.choose(is_nearer<Op>(b.extremum, a.extremum) | ((!farther) & mask_cast<int(sizeof(T))>(b.where < a.where)), b.extremum, b.where);
  return a;
}
/// The first place of the extremum of all lanes: the least place of those that have it, or of NaNs.
template <class Op, class T, int N> COTANGENT_HOST_INLINE std::int32_t fold_places(const placed<T, N>& x) {
  if constexpr (N == 1) return x.where[0];
  else {
    const pack<T, N> extremum(fold_lanes<Op, T>(x.extremum));
    auto has_it = x.extremum == extremum;
    if constexpr (std::is_floating_point_v<T>) has_it = has_it | (x.extremum != x.extremum);
    return fold_lanes<reduce_min_p, std::int32_t>(select(mask_cast<4>(has_it), x.where, pack<std::int32_t, N>(std::numeric_limits<std::int32_t>::max())));
  }
}

/// to <- Op(to, x)
template <class Op, int Bytes, class T> COTANGENT_HOST_INLINE void combine_into(T* to, T x) {
  using reg = register_type<T, 1, Bytes>;
  *to = Op::combine(reg(*to), reg(x))[0];
}

/// Combines folded registers into their results, four at a time.
template <class Op, int Bytes, int Begin = 0, class T, int N, int Count> COTANGENT_HOST_INLINE void combine_folded(const pack<T, N> (&x)[Count], T* const (&to)[Count]) {
  constexpr int count = std::min(Count - Begin, 4), width = int(std::bit_ceil(unsigned(count)));
  pack<T, N> some[width];
  for (int k = 0; k < width; ++k) some[k] = x[Begin + std::min(k, count - 1)];
  const pack<T, N> folded = fold_beside<Op, N / 2>(some);
  for (int k = 0; k < count; ++k) combine_into<Op, Bytes>(to[Begin + k], folded[lane_of_fold<N>(k)]);
  if constexpr (Begin + count < Count) combine_folded<Op, Bytes, Begin + count>(x, to);
}
/// Whether some reductions are of one kind, in whole registers of N lanes.
template <int N, class... Reduce> inline constexpr bool alike = false;
template <int N, class First, class Second, class... Reduce> inline constexpr bool alike<N, First, Second, Reduce...> = [] {
  using first = reduce_parts<First>;
  const auto is_alike = []<class R>(R) {
    return std::is_same_v<typename reduce_parts<R>::type, typename first::type> && std::is_same_v<typename reduce_parts<R>::operation, typename first::operation>;
  };
  return !first::finds_place && !std::is_same_v<typename first::type, bool> && N >= 4 && N * int(sizeof(typename first::type)) == native_bytes &&
         is_alike(Second()) && (true && ... && is_alike(Reduce()));
}();

/// Whether rows are walked in groups, so that results that keep the lanes stay in registers for a group: the
/// innermost outer dimension is summed by all reductions that keep the lanes, no reduction ends with a row, and no row is left out.
/// What is stored past the caches goes to memory row by row, which is worth more.
template <class Layout, class Reductions> constexpr bool sums_groups_of_rows() {
  if (Layout::dims.rank < 2 || Layout::shape.scatters || Layout::shape.choice > 0 || Layout::shape.stores_once) return false;
  const std::uint32_t inner = std::uint32_t(1) << (Layout::dims.rank >= 2 ? Layout::dims.rank - 2 : 0);
  bool some = false;
  for (int k = 0; k < Layout::shape.reductions; ++k) {
    const reduce_facts& r = facts_of<Reductions>.items[k];
    if (r.scope == reduction::whole) continue;
    if (r.scope == reduction::row || r.scope == reduction::place || (r.kept_dims & inner)) return false;
    some = true;
  }
  return some;
}

/// Whether a kernel only reduces, along rows as well as across them: rows that go through the lanes together then share the
/// registers of results across them.
template <class Layout, class Reductions> constexpr bool sums_both_ways() {
  if (Layout::dims.rank < 2 || !Layout::shape.only_reduces || Layout::shape.choice > 0) return false;
  const std::uint32_t inner = std::uint32_t(1) << (Layout::dims.rank >= 2 ? Layout::dims.rank - 2 : 0);
  bool along = false, across = false;
  for (int k = 0; k < Layout::shape.reductions; ++k) {
    const reduce_facts& r = facts_of<Reductions>.items[k];
    if (r.scope == reduction::place || (r.scope == reduction::keeps_lane && (r.kept_dims & inner) != 0)) return false;
    along = along || r.scope == reduction::row;
    across = across || r.scope == reduction::keeps_lane;
  }
  return along && across;
}

/// The reductions of a kernel while it runs: sums in registers, one per lane.
template <class Layout, class Reductions, int N> struct running_sums {
  static constexpr int bytes = mask_bytes<Layout>;
  static constexpr bool keeps_columns = sums_groups_of_rows<Layout, Reductions>() || sums_both_ways<Layout, Reductions>() || Layout::shape.ascends;
  template <class T> using reg = register_type<T, N, bytes>;

  sum_registers<Layout, N> sums;
  const targets<Layout>* to;
  void* rows[targets<Layout>::count];  // this row's results of reductions that keep the lanes

  template <class Reduce> COTANGENT_HOST_INLINE auto& sum_of() {
    return sums.template of<typename reduce_parts<Reduce>::type>(reduce_parts<Reduce>::facts.sum);
  }

  /// Whether a sum is an extremum of a row or of everything, and its NaNs are in a mask.
  template <class Reduce> static constexpr bool has_mask =
      sets_nans_aside<typename reduce_parts<Reduce>::operation, typename reduce_parts<Reduce>::type, N> && !reduce_parts<Reduce>::facts.is_found &&
      (reduce_parts<Reduce>::facts.scope == reduction::row || reduce_parts<Reduce>::facts.scope == reduction::whole);
  unsigned short ordered[targets<Layout>::count];  // of such
  /// Two vectors of rows that go through the lanes together are looked at for NaNs at once: the first of a pair waits for the second.
  static constexpr bool compares_pairs =
      (sets_nans_aside<reduce_min_p, float, N> || sets_nans_aside<reduce_min_p, double, N>) && Layout::shape.shares_columns && !Layout::shape.finds_places;
  enum class in_pair { none, first, second } turn = in_pair::none;
  struct nothing {};
  [[no_unique_address]] std::conditional_t<compares_pairs, sum_registers<Layout, N>, nothing> waiting;

  template <class Reduce> COTANGENT_HOST_INLINE auto& index_of() { return sums.template of<std::int32_t>(reduce_parts<Reduce>::facts.index); }
  template <class Reduce> COTANGENT_HOST_INLINE placed<typename reduce_parts<Reduce>::type, N> place_of_sum() { return {sum_of<Reduce>(), index_of<Reduce>()}; }

  /// Called by a reduce statement.
  template <class Reduce, class V, class E> COTANGENT_HOST_INLINE void add(Reduce, const V& value, const E& e) {
    using parts = reduce_parts<Reduce>;
    using T = typename parts::type;
    using Op = typename parts::operation;
    constexpr reduction scope = parts::facts.scope;
    reg<T>& sum = sum_of<Reduce>();
    [[maybe_unused]] const reg<T> identity = Op::template identity<T>();
    if constexpr (parts::finds_place) {  // the register of indices has the first lane's
      reg<T> x = value;
      if constexpr (E::partial && N > 1) x = select(first_lanes<int(sizeof(T)), N>(e.count), x, identity);  // which is never nearer
      auto all = place_of_sum<Reduce>();
      choose_nearer<Op>(all, x, std::int32_t(e.lane));
      sum = all.extremum, index_of<Reduce>() = all.where;
    } else if constexpr (parts::facts.is_found) return;
    else if constexpr (scope == reduction::keeps_lane && keeps_columns) sum = combined<Op>(sum, value);
    else if constexpr (scope == reduction::keeps_lane) {
      store_row<Reduce, E::partial>(combined<Op>(load_row<Reduce, E::partial>(e.lane, e.count), value), e.lane, e.count);
    } else if constexpr (E::partial && N > 1 && std::is_same_v<T, bool>) {
      const auto active = first_lanes<bytes, N>(e.count);
      sum = Op::combine(sum, (active & value) | ((!active) & identity));
    } else if constexpr (has_mask<Reduce>) {
      reg<T> x = value;
      if constexpr (E::partial) x = select(first_lanes<int(sizeof(T)), N>(e.count), x, identity);
      sum = choose_number<Op>(sum, x);
      unsigned short& all = ordered[parts::facts.place];
      if constexpr (compares_pairs) {
        reg<T>& first = waiting.template of<T>(parts::facts.sum);
        if (turn == in_pair::first) first = x;
        else all = without_nans(all, x, turn == in_pair::none ? x : first);
      } else all = without_nans(all, x, x);
    } else if constexpr (E::partial && N > 1) {
      sum = select(first_lanes<int(sizeof(T)), N>(e.count), combined<Op>(sum, value), sum);
    } else sum = combined<Op>(sum, value);
  }

  template <class Reduce> static constexpr bool contiguous = lane_stride<Layout, typename reduce_parts<Reduce>::where> == 1;
  COTANGENT_HOST_INLINE extent lane_step(int reduction) const { return to->strides[reduction][targets<Layout>::rank - 1]; }

  template <class Reduce, bool Partial> COTANGENT_HOST_INLINE auto load_row(extent lane, int count) const {
    using T = typename reduce_parts<Reduce>::type;
    constexpr int place = reduce_parts<Reduce>::facts.place;
    const T* row = static_cast<const T*>(rows[place]);
    if constexpr (!contiguous<Reduce>) return reg<T>::load_strided(row + lane * lane_step(place), lane_step(place), count);
    else if constexpr (Partial) return reg<T>::load(row + lane, count);
    else return reg<T>::load(row + lane);
  }
  template <class Reduce, bool Partial, class V> COTANGENT_HOST_INLINE void store_row(V value, extent lane, int count) const {
    using T = typename reduce_parts<Reduce>::type;
    constexpr int place = reduce_parts<Reduce>::facts.place;
    T* row = static_cast<T*>(rows[place]);
    if constexpr (!contiguous<Reduce>) value.store_strided(row + lane * lane_step(place), lane_step(place), count);
    else if constexpr (Partial) value.store(row + lane, count);
    else value.store(row + lane);
  }

  using columns = reductions_of_scope<Reductions, reduction::keeps_lane>;
  /// Finds this row's results.
  COTANGENT_HOST_INLINE void locate(const position<Layout>& at) {
    each_reduction(columns(), [&]<class Reduce>(Reduce) COTANGENT_EXPANDED {
      using parts = reduce_parts<Reduce>;
      rows[parts::facts.place] = to->template row<typename parts::type>(parts::facts.place, at);
    });
  }

  /// Moves the results that keep the lanes into registers, and back.
  template <bool Partial> COTANGENT_HOST_INLINE void load_columns(extent lane, int count) {
    each_reduction(columns(), [&]<class Reduce>(Reduce) COTANGENT_EXPANDED {
      sum_of<Reduce>() = load_row<Reduce, Partial>(lane, count);
    });
  }
  template <bool Partial> COTANGENT_HOST_INLINE void store_columns(extent lane, int count) {
    each_reduction(columns(), [&]<class Reduce>(Reduce) COTANGENT_EXPANDED {
      store_row<Reduce, Partial>(sum_of<Reduce>(), lane, count);
    });
  }

  /// Goes on with the sums of one scope where another row left them.
  template <reduction Scope> COTANGENT_HOST_INLINE void take(running_sums& before) {
    each_reduction(reductions_of_scope<Reductions, Scope>(), [&]<class Reduce>(Reduce) COTANGENT_EXPANDED {
      sum_of<Reduce>() = before.template sum_of<Reduce>();
      if constexpr (has_mask<Reduce>) ordered[reduce_parts<Reduce>::facts.place] = before.ordered[reduce_parts<Reduce>::facts.place];
    });
  }

  /// Sets the sums of one scope to their identities.
  template <reduction Scope> COTANGENT_HOST_INLINE void clear() {
    each_reduction(reductions_of_scope<Reductions, Scope>(), [&]<class Reduce>(Reduce) COTANGENT_EXPANDED {
      using parts = reduce_parts<Reduce>;
      using T = typename parts::type;
      sum_of<Reduce>() = reg<T>(parts::operation::template identity<T>());
      if constexpr (parts::finds_place) index_of<Reduce>() = pack<std::int32_t, N>(0);
      if constexpr (has_mask<Reduce>) ordered[parts::facts.place] = static_cast<unsigned short>(-1);
    });
  }

  /// Combines another copy's sums into this one's.
  template <reduction Scope> COTANGENT_HOST_INLINE void merge(running_sums& other) {
    each_reduction(reductions_of_scope<Reductions, Scope>(), [&]<class Reduce>(Reduce) COTANGENT_EXPANDED {
      using parts = reduce_parts<Reduce>;
      if constexpr (parts::finds_place) {
        const auto both = nearest<typename parts::operation>(place_of_sum<Reduce>(), other.template place_of_sum<Reduce>());
        sum_of<Reduce>() = both.extremum, index_of<Reduce>() = both.where;
      } else if constexpr (has_mask<Reduce>) {
        ordered[parts::facts.place] &= other.ordered[parts::facts.place];
        sum_of<Reduce>() = parts::operation::combine(sum_of<Reduce>(), other.template sum_of<Reduce>());
      } else if constexpr (!parts::facts.is_found) sum_of<Reduce>() = parts::operation::combine(sum_of<Reduce>(), other.template sum_of<Reduce>());
    });
  }

  /// Combines the sums of one scope into their results.
  template <reduction Scope> COTANGENT_HOST_INLINE void flush(const position<Layout>& at) { flush(reductions_of_scope<Reductions, Scope>(), at); }

 private:
  template <class... Reduce> COTANGENT_HOST_INLINE void flush(reduce_list<Reduce...> list, const position<Layout>& at) {
    if constexpr (alike<N, Reduce...> && !(false || ... || has_mask<Reduce>)) {
      using parts = reduce_parts<std::tuple_element_t<0, std::tuple<Reduce...>>>;
      using T = typename parts::type;
      const pack<T, N> folded[] = {sum_of<Reduce>()...};
      T* const results[] = {to->template row<T>(reduce_parts<Reduce>::facts.place, at)...};
      combine_folded<typename parts::operation, bytes>(folded, results);
    } else each_reduction(list, [&]<class Each>(Each) COTANGENT_EXPANDED { flush_one<Each>(at); });
  }
  template <class Reduce> COTANGENT_HOST_INLINE void flush_one(const position<Layout>& at) {
    using parts = reduce_parts<Reduce>;
    using T = typename parts::type;
    using Op = typename parts::operation;
    if constexpr (parts::finds_place) {
      auto all = place_of_sum<Reduce>();
      all.where = all.where + lane_numbers<std::int32_t, N>();
      *to->template row<std::int32_t>(parts::facts.place, at) = fold_places<Op>(all);
    } else if constexpr (has_mask<Reduce>)
      combine_into<Op, bytes>(to->template row<T>(parts::facts.place, at), fold_numbers<Op>(ordered[parts::facts.place], sum_of<Reduce>()));
    else
      combine_into<Op, bytes>(to->template row<T>(parts::facts.place, at), fold_lanes<Op, T>(sum_of<Reduce>()));
  }
};

/// A reduction's results, as an array over the merged dimensions that it keeps.
template <class Layout> struct results {
  extent extents[Layout::dims.rank > 0 ? Layout::dims.rank : 1];
  extent strides[Layout::dims.rank > 0 ? Layout::dims.rank : 1];  // in the caller's buffer
  extent packed[Layout::dims.rank > 0 ? Layout::dims.rank : 1];   // contiguous, row-major
  extent size = 1;
  bool contiguous = true;  // strides == packed

  template <class Reduce> static results of(const extent* extents, const extent* slots) {
    extent own[max_rank + 1] = {};
    reduce_parts<Reduce>::strides(slots, own);
    return of(reduce_parts<Reduce>::facts, extents, own);
  }
  /// `own` are the strides of the access that the reduction names.
  static results of(const reduce_facts& s, const extent* extents, const extent* own) {
    results r;
    for (int d = Layout::dims.rank - 1; d >= 0; --d) {
      const bool kept = s.kept_dims >> d & 1u;
      r.extents[d] = kept ? extents[d] : 1;
      r.strides[d] = kept ? own[Layout::dims.last[d]] : 0;
      r.packed[d] = kept ? r.size : 0;
      if (kept) r.size *= extents[d];
      r.contiguous = r.contiguous && (r.extents[d] == 1 || r.strides[d] == r.packed[d]);
    }
    return r;
  }

  /// Sets all results, in the caller's buffer, to Op's identity.
  template <class Op, class T> void clear(T* to) const {
    if (contiguous)
      for (extent i = 0; i < size; ++i) to[i] = Op::template identity<T>();
    else each([to](extent i) { to[i] = Op::template identity<T>(); });
  }
  /// f(offset in the caller's buffer) for every result, in row-major order.
  template <class F> void each(F f) const {
    constexpr int rank = Layout::dims.rank;
    if constexpr (rank == 0) f(extent(0));
    else {
      extent index[rank] = {}, at = 0;
      const extent n = extents[rank - 1], step = strides[rank - 1];
      for (extent done = 0; done < size; done += n) {
        for (extent i = 0; i < n; ++i) f(at + i * step);
        for (int d = rank - 2; d >= 0; --d) {
          at += strides[d];
          if (++index[d] < extents[d]) break;
          at -= index[d] * strides[d];
          index[d] = 0;
        }
      }
    }
  }
};

/// The first of a copy's `size` results that its task adds to, if each copy begins `apart` results behind the one before, or with the
/// vector around that one.
constexpr extent begin_of_copy(extent copy, extent apart, extent size) { return smaller(copy * apart / native_bytes * native_bytes, size); }

/// Combines the results [begin, end) of the copies first + step, first + 2 step, ... before `last`, in this order, into those of copy first.
template <class Op, class T, int Bytes> void combine_copies(T* copies, extent size, extent first, extent last, extent step, extent apart, extent begin, extent end) {
  constexpr int N = native_bytes / Bytes;
  using reg = register_type<T, N, Bytes>;
  T* to = copies + first * size;
  for (extent c = first + step; c < last; c += step) {
    const T* copy = copies + c * size;
    const extent own = begin_of_copy(c, apart, size);
    extent i = begin > own ? begin : own;
    for (; i + N <= end; i += N) Op::combine(reg::load(to + i), reg::load(copy + i)).store(to + i);
    for (; i < end; ++i) combine_into<Op, Bytes>(to + i, copy[i]);
  }
}

}  // namespace COTANGENT_ISA
}  // namespace cotangent::host
