#pragma once
/// Packets (compiler/packets.hpp) on the CPU: how instances come into their lanes and back, and how kernels run on them.

#include <cotangent/backends/cpu/loops.hpp>
#include <cotangent/backends/cpu/opaque.hpp>
#include <cotangent/compiler/executable.hpp>

namespace cotangent::host {
inline namespace COTANGENT_ISA {

/// Whether elements of T come into lanes one by one, without vectors.
template <class T> inline constexpr bool by_elements = native_lanes<T> < 2 || sizeof(T) < 4;

/// Rows of elements into lanes: element j of the row at row(i) becomes element i of line j, of `lanes` elements, whole vectors.
template <class T, class Row> COTANGENT_HOST_INLINE void rows_into_lanes(const Row& row, extent elements, extent lanes, T* to, extent first = 0) {
  constexpr int N = native_lanes<T>;
  if constexpr (by_elements<T>) {
    for (extent j = 0; j < elements; ++j)
      for (extent i = first; i < lanes; ++i) to[j * lanes + i] = row(i)[j];
  } else {
    for (extent lane = first; lane < lanes; lane += N)
      for (extent j = 0; j < elements; j += N) {
        const int columns = int(smaller(elements - j, N));
        pack<T, N> rows[N];
        for (int i = 0; i < N; ++i) {
          const T* from = row(lane + i) + j;
          rows[i] = columns == N ? pack<T, N>::load(from) : pack<T, N>::load(from, columns);
        }
        transpose(rows);
        for (int i = 0; i < columns; ++i) rows[i].store(to + (j + i) * lanes + lane);
      }
  }
}

/// Instances in rows of `elements`, and in lanes: one row per element, of Lanes instances each.
template <int Lanes, class T> class instance_block {
 public:
  /// From `count` rows. Behind the last instance it is repeated.
  static void rows_to_lanes(const T* from, extent elements, extent count, T* to) {
    extent lane = 0;
    if constexpr (!by_elements<T>) {
      if (elements >= 2 && elements <= 4)
        for (; lane + N <= count; lane += N) {
          if (elements == 2) split<2>(from + lane * 2, to + lane);
          else if (elements == 3) split<3>(from + lane * 3, to + lane);
          else split<4>(from + lane * 4, to + lane);
        }
    }
    rows_into_lanes([=](extent i) { return from + smaller(i, count - 1) * elements; }, elements, Lanes, to, lane);
  }
  /// To `count` rows. `once`: past the caches, where rows are whole vectors.
  static void lanes_to_rows(const T* from, extent elements, extent count, T* to, bool once) {
    if constexpr (by_elements<T>) {
      for (extent j = 0; j < elements; ++j)
        for (extent i = 0; i < count; ++i) to[i * elements + j] = from[j * Lanes + i];
    } else {
      extent lane = 0;
      if (elements >= 2 && elements <= 4)
        for (; lane + N <= count; lane += N) {
          if (elements == 2) interleave<2>(from + lane, to + lane * 2, std::make_integer_sequence<int, 2>());
          else if (elements == 3) interleave<3>(from + lane, to + lane * 3, std::make_integer_sequence<int, 3>());
          else interleave<4>(from + lane, to + lane * 4, std::make_integer_sequence<int, 4>());
        }
      once = once && elements % N == 0 && reinterpret_cast<std::uintptr_t>(to) % sizeof(registers) == 0;
      for (; lane < count; lane += N)
        for (extent j = 0; j < elements; j += N) {
          const int columns = int(smaller(elements - j, N)), filled = int(smaller(count - lane, N));
          registers rows[N];
          for (int i = 0; i < N; ++i) rows[i] = registers::load(from + (j + (i < columns ? i : 0)) * Lanes + lane);
          transpose(rows);
          if (once) {
            for (int i = 0; i < filled; ++i) rows[i].store_once(to + (lane + i) * elements + j);
            continue;
          }
          for (int i = 0; i < filled; ++i) {
            T* row = to + (lane + i) * elements + j;
            __builtin_prefetch(row + N * elements, 1);  // where the next ones go
            if (columns == N) rows[i].store(row);
            else rows[i].store(row, columns);
          }
        }
    }
  }

 private:
  static constexpr int N = native_lanes<T>;
  static_assert(by_elements<T> || Lanes % N == 0);
  using registers = pack<T, N>;

  template <int M> static COTANGENT_HOST_INLINE void split(const T* from, T* to) {
    registers rows[M];
    for (int i = 0; i < M; ++i) rows[i] = registers::load(from + i * N);
    [&]<int... J>(std::integer_sequence<int, J...>) { (column_of_rows<M, J>(rows).store(to + J * Lanes), ...); }(std::make_integer_sequence<int, M>());
  }
  template <int M, int... K> static COTANGENT_HOST_INLINE void interleave(const T* from, T* to, std::integer_sequence<int, K...>) {
    const registers columns[M] = {registers::load(from + K * Lanes)...};
    (rows_of_columns<M, K>(columns).store(to + K * N), ...);
  }
};

/// Instances [first, first + count) of an array, whose axis is that of `lines`, to a packet's memory.
template <int Lanes, class T> void fill_packet(const T* array, const axis_lines& lines, extent first, extent count, T* packet) {
  for (extent b = 0; b < lines.before; ++b, packet += lines.behind * Lanes)
    instance_block<Lanes, T>::rows_to_lanes(array + (b * lines.count + first) * lines.behind, lines.behind, count, packet);
}
/// And back; `once`: past the caches.
template <int Lanes, class T> void empty_packet(const T* packet, const axis_lines& lines, extent first, extent count, T* array, bool once) {
  for (extent b = 0; b < lines.before; ++b, packet += lines.behind * Lanes)
    instance_block<Lanes, T>::lanes_to_rows(packet, lines.behind, count, array + (b * lines.count + first) * lines.behind, once);
}

/// Sums that stay in registers until they are stored.
template <class Layout, class Reductions, int N> struct packet_sums : running_sums<Layout, Reductions, N> {
  template <class Reduce, class V, class E> COTANGENT_HOST_INLINE void add(Reduce, const V& value, const E&) {
    auto& sum = this->template sum_of<Reduce>();
    sum = combined<typename reduce_parts<Reduce>::operation>(sum, value);
  }
};

/// A kernel on a packet: few lanes, at most some thousand rows. Loops over dimensions of constant extents are nested, so that the
/// compiler sees addresses grow by constants. Sums over the inner dimensions stay in registers, those of some neighbouring rows at
/// once, which share what they load.
template <class Kernel> class packet_kernel {
 public:
  static void run(void* const* buffers, const extent* extents) {
    if constexpr (!fits) tasks<layout, reductions>(buffers, extents, run_part<Kernel>).run_here();
    else {
      position<layout> at(buffers, extents);
      targets<layout> to;
      extent sizes[dims.rank > 0 ? dims.rank : 1];
      for (int d = 0; d < dims.rank; ++d) sizes[d] = size(d);
      // Each result is stored once, so that nothing is set first.
      each_reduction(reductions(), [&]<class Reduce>(Reduce) COTANGENT_EXPANDED {
        using parts = reduce_parts<Reduce>;
        const auto r = results<layout>::template of<Reduce>(sizes, at.slots);
        to.base[parts::facts.place] = static_cast<typename parts::type*>(at.buffers[parts::buffer]) + value_of<parts::offset>(at.slots);
        for (int d = 0; d < dims.rank; ++d) to.strides[parts::facts.place][d] = r.strides[d];
      });
      each_row<0>(at, to);
    }
  }

 private:
  using layout = layout_of<Kernel>;
  using reductions = reductions_of<Kernel>;
  static constexpr program_of<Kernel> steps{};
  static constexpr merged_dims dims = layout::dims;
  static constexpr int outer = dims.outer();
  static constexpr lane_plan plan = plan_of<layout, reductions>;
  static constexpr int N = plan.width;
  using sums = packet_sums<layout, reductions, N>;
  static constexpr extent size(int d) {
    extent n = 1;
    for (int i = dims.first[d]; i <= dims.last[d]; ++i) n *= layout::own_extents[i];
    return n;
  }
  static constexpr extent lanes = dims.rank > 0 && layout::is_static ? size(dims.rank - 1) : 1;

  /// The first of the dimensions that the reductions sum over, if those are the inner ones of all; -1 if not.
  static constexpr int summed = [] {
    if (layout::shape.reductions == 0) return outer;
    std::uint32_t kept_by_any = 0, kept_by_all = ~0u;
    for (int k = 0; k < layout::shape.reductions; ++k) {
      const reduce_facts& r = facts_of<reductions>.items[k];
      if (r.scope != reduction::keeps_lane) return -1;
      kept_by_any |= r.kept_dims, kept_by_all &= r.kept_dims;
    }
    int first = outer;
    while (first > 0 && !(kept_by_any >> (first - 1) & 1u)) --first;
    for (int d = 0; d < first; ++d)
      if (!(kept_by_all >> d & 1u)) return -1;
    return first;
  }();
  static constexpr bool sums_up = layout::shape.reductions > 0, chooses = layout::shape.choice > 0;
  using mask_register = register_type<bool, N, mask_bytes<layout>>;
  static constexpr bool fits = layout::is_static && layout::points > 0 && lanes % N == 0 && !layout::shape.scatters && summed >= 0;
  /// How many of `all` are done at once: a divisor.
  static constexpr int divisor(extent all, int most) {
    int n = 1;
    for (int i = 2; i <= most; ++i)
      if (all % i == 0) n = i;
    return n;
  }
  /// Neighbouring rows, along the last two dimensions before the sums, and vectors, whose sums stay in registers at once.
  struct block {
    int outer = 1, inner = 1, vectors = 1;
    constexpr int rows() const { return outer * inner; }
    constexpr int dims() const { return outer > 1 ? 2 : inner > 1 ? 1 : 0; }
  };
  /// How many loads so many rows need that are done at once.
  static constexpr int loads(int outer, int inner) {
    int n = 0;
    for (const facts::form_facts& f : analysis<Kernel>::parts::form_table) {
      if (f.kind != action::load || f.strides[dims.last[dims.rank - 1]] == 0) continue;
      const auto changes = [&](int d) { return d >= 0 && (f.index_count > 0 || f.strides[dims.last[d]] != 0); };
      n += (changes(summed - 2) ? outer : 1) * (changes(summed - 1) ? inner : 1);
    }
    return n;
  }
  static constexpr block at_once = [] {
    constexpr int registers = native_bytes < 64 ? 8 : 24, most = 8, few_values = 12;
    block best{1, 1, divisor(lanes / N, plan.unroll)};
    const auto may_share = [](int d) { return d >= 0 && !(layout::shape.choice_dims >> d & 1u); };
    if (!fits || !sums_up || layout::shape.varying.total() > few_values || !may_share(summed - 1)) return best;
    best.inner = divisor(size(summed - 1), registers / best.vectors < most ? registers / best.vectors : most);
    if (!may_share(summed - 2)) return best;
    for (int outer = 2; outer <= most; ++outer)
      for (int inner = 2; inner <= most; ++inner) {
        if (size(summed - 2) % outer != 0 || size(summed - 1) % inner != 0 || outer * inner * layout::shape.reductions > registers) continue;
        if (loads(outer, inner) * best.rows() < loads(best.outer, best.inner) * outer * inner) best = {outer, inner, 1};
      }
    return best;
  }();
  /// How many elements of what the sums of a block read change with an outer dimension.
  static constexpr extent changes_with(int d) {
    extent n = 0;
    for (const facts::form_facts& f : analysis<Kernel>::parts::form_table) {
      if (f.kind != action::load || (f.index_count == 0 && f.strides[dims.last[d]] == 0)) continue;
      extent elements = 1;
      for (int s = summed - at_once.dims(); s < outer; ++s)
        if (f.index_count > 0 || f.strides[dims.last[s]] != 0) elements *= size(s);
      n += elements;
    }
    return n;
  }
  /// The outer dimensions in the order of their loops: what most changes with comes first, so that it stays in the cache.
  static constexpr std::array<int, max_rank + 1> loop_order = [] {
    std::array<int, max_rank + 1> order{};
    const int loops = summed - at_once.dims();
    for (int d = 0; d < loops; ++d) order[std::size_t(d)] = d;
    for (int i = 1; sums_up && i < loops; ++i)
      for (int j = i; j > 0 && changes_with(order[std::size_t(j)]) > changes_with(order[std::size_t(j - 1)]); --j) std::swap(order[std::size_t(j)], order[std::size_t(j - 1)]);
    return order;
  }();
  template <int D> static COTANGENT_HOST_INLINE void each_row(position<layout>& at, const targets<layout>& to) {
    if constexpr (D + at_once.dims() == summed) {
      constexpr extent inner = at_once.dims() > 0 ? size(summed - 1) / at_once.inner : 1, outer = at_once.dims() > 1 ? size(summed - 2) / at_once.outer : 1;
      for (extent i = 0; i < outer; ++i)
        for (extent j = 0; j < inner; ++j)
          for (extent lane = 0; lane < lanes; lane += at_once.vectors * N) {
            if constexpr (sums_up) sum_rows(at, i * at_once.outer, j * at_once.inner, lane, to);
            else run_row(at, lane, nullptr);
          }
    } else {
      constexpr int d = loop_order[D];
      for (at.index[d] = 0; at.index[d] < size(d); ++at.index[d]) each_row<D + 1>(at, to);
    }
  }
  using block_sums = sums[at_once.rows()][at_once.vectors];
  /// Goes to row j of the block that begins at these.
  static COTANGENT_HOST_INLINE void go_to(position<layout>& at, extent outer, extent inner, int j) {
    if constexpr (at_once.dims() > 1) at.index[summed - 2] = outer + j / at_once.inner;
    if constexpr (at_once.dims() > 0) at.index[summed - 1] = inner + j % at_once.inner;
  }
  /// f(row) for each row of a block. (A loop of so many turns would stay one.)
  template <class F> static COTANGENT_HOST_INLINE void each_of_block(const F& f) {
    [&]<int... J>(std::integer_sequence<int, J...>) COTANGENT_EXPANDED { (f(J), ...); }(std::make_integer_sequence<int, at_once.rows()>());
  }
  /// The sums of some neighbouring rows, for some vectors.
  static COTANGENT_HOST_INLINE void sum_rows(position<layout>& at, extent outer, extent inner, extent lane, const targets<layout>& to) {
    block_sums all;
    each_of_block([&](int j) COTANGENT_EXPANDED {
      go_to(at, outer, inner, j);
      for (sums& s : all[j]) {
        s.to = &to;
        s.locate(at);
        s.template clear<reduction::keeps_lane>();
      }
    });
    add_up<summed>(at, outer, inner, lane, all);
    each_of_block([&](int j) COTANGENT_EXPANDED {
      for (int u = 0; u < at_once.vectors; ++u) all[j][u].template store_columns<false>(lane + u * N, N);
    });
  }
  template <int S> static COTANGENT_HOST_INLINE void add_up(position<layout>& at, extent outer, extent inner, extent lane, block_sums& all) {
    if constexpr (S < packet_kernel::outer) {
      for (at.index[S] = 0; at.index[S] < size(S); ++at.index[S]) add_up<S + 1>(at, outer, inner, lane, all);
    } else {
      go_to(at, outer, inner, 0);
      if (adds_nothing(at, lane)) return;
      each_of_block([&](int j) COTANGENT_EXPANDED {
        go_to(at, outer, inner, j);
        run_row(at, lane, all[j]);
      });
    }
  }
  /// Whether the points of these rows are not chosen.
  static COTANGENT_HOST_INLINE bool adds_nothing([[maybe_unused]] const position<layout>& at, [[maybe_unused]] extent lane) {
    if constexpr (chooses) {
      sums none;
      fixed_registers<layout, N> fixed;
      evaluation<layout, N, false, sums> e(at, lane, N, fixed, none);
      evaluate<stage::constants>(steps, e, chunks_of<stage::constants, analysis<Kernel>>{});
      evaluate<stage::per_row>(steps, e, chunks_of<stage::per_row, analysis<Kernel>>{});
      return !fixed.template of<bool>(layout::shape.choice - 1)[0];
    } else
      return false;
  }
  using per_vector = chunks_of<stage::per_vector, analysis<Kernel>>;
  /// Some vectors of one row.
  static COTANGENT_HOST_INLINE void run_row(const position<layout>& at, extent lane, [[maybe_unused]] sums* of_vectors) {
    sums none;
    sums* const first = sums_up ? of_vectors : &none;
    fixed_registers<layout, N> fixed;
    if constexpr (plan.has_fixed) {
      evaluation<layout, N, false, sums> e(at, lane, N, fixed, *first);
      evaluate<stage::constants>(steps, e, chunks_of<stage::constants, analysis<Kernel>>{});
      evaluate<stage::per_row>(steps, e, chunks_of<stage::per_row, analysis<Kernel>>{});
    }
    if constexpr (chooses) fixed.template of<bool>(layout::shape.choice - 1) = mask_register(true);
    for (int u = 0; u < at_once.vectors; ++u) {
      sums& s = sums_up ? of_vectors[u] : none;
      if constexpr (is_long_kernel<layout>) call_vector(at, lane + u * N, fixed, s);
      else run_vector(at, lane + u * N, fixed, s, per_vector());
    }
  }
  template <int... C> static COTANGENT_HOST_INLINE void run_vector(const position<layout>& at, extent lane, fixed_registers<layout, N>& fixed, sums& s, std::integer_sequence<int, C...>) {
    evaluation<layout, N, false, sums> e(at, lane, N, fixed, s);
    evaluate<stage::constants>(steps, e, chunks_of<stage::constants, analysis<Kernel>>{});
    const int done[] = {0, run_chunk<analysis<Kernel>, first_of_chunk<stage::per_vector, analysis<Kernel>, C>>(e, statements_of<stage::per_vector, analysis<Kernel>, C>())...};
    (void)done;
  }
  [[gnu::noinline]] static void call_vector(const position<layout>& at, extent lane, fixed_registers<layout, N>& fixed, sums& s) { run_vector(at, lane, fixed, s, per_vector()); }
};

}  // namespace COTANGENT_ISA

template <> struct opaque<lane_rows_p> {
  template <class T> static void run(const array_ref* operands, const array_ref& result, const extent*) {
    if (operands[1].type == dtype::int64) read<T, std::int64_t>(operands, result);
    else read<T, std::int32_t>(operands, result);
  }

 private:
  template <class T, class Index> static void read(const array_ref* operands, const array_ref& result) {
    const T* table = static_cast<const T*>(operands[0].data);
    const Index* index = static_cast<const Index*>(operands[1].data);
    const extent lanes = result.dims[result.dims.rank - 1], rows = operands[1].dims.size(), elements = axis_lines(operands[0].dims, 0).behind;
    T* to = static_cast<T*>(result.data);
    for (extent i = 0; i < rows; i += lanes, to += elements * lanes)
      rows_into_lanes([=](extent lane) { return table + index[i + lane] * elements; }, elements, lanes, to);
  }
};

}  // namespace cotangent::host
