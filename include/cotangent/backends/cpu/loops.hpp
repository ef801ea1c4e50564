#pragma once
/// Running kernel types on the CPU.

#include <cotangent/backends/cpu/reductions.hpp>
#include <cotangent/backends/cpu/threads.hpp>

namespace cotangent::cpu {
inline namespace COTANGENT_ISA {

/// How a kernel's rows are walked.
template <class Kernel> struct lane_plan {
  using facts = kernel_facts<Kernel>;
  static constexpr const auto& table = facts::table;
  static constexpr extent lanes = [] {
    if (facts::dims.rank == 0) return extent(1);
    const int d = facts::dims.rank - 1;
    extent n = 1;
    for (int i = facts::dims.first[d]; i <= facts::dims.last[d]; ++i) {
      if (is_slot(facts::own_extents[i])) return extent(-1);
      n *= facts::own_extents[i];
    }
    return n;
  }();
  static constexpr int native = native_bytes / mask_bytes<facts>;
  /// Lanes per register: a native vector of the widest type, or less where the rows are shorter.
  static constexpr int width = lanes < 0 || lanes >= native ? native : lanes < 1 ? 1 : int(std::bit_ceil(std::size_t(lanes)));

  static constexpr bool sums_lanes = [] {
    for (const statement_facts& s : table.statements)
      if (s.kind == action::reduce && s.reduces != reduction::keeps_lane) return true;
    return false;
  }();
  static constexpr bool grouped = sums_groups_of_rows<facts>();
  static constexpr int varying = table.varying[0] + table.varying[1] + table.varying[2] + table.varying[3] + table.varying[4];
  static constexpr int fixed = table.fixed[0] + table.fixed[1] + table.fixed[2] + table.fixed[3] + table.fixed[4];
  /// Vectors per iteration: independent sums hide the latency of adding.
  static constexpr int unroll = [] {
    int u = !sums_lanes && !grouped ? 1 : varying <= 16 ? 4 : varying <= 48 ? 2 : 1;
    while (u > 1 && lanes >= 0 && lanes < u * width) u /= 2;
    return u;
  }();
  /// Long kernels are instantiated once, with every access masked, because compile time is linear in their length.
  static constexpr bool always_partial = varying > 200;
};

/// A part of an iteration space: rows (indices of the outer dimensions, in row-major order) and lanes.
struct box {
  extent first_row, last_row;
  extent first_lane, last_lane;
};

template <class Facts> COTANGENT_HOST_INLINE void merged_extents(const extent* slots, extent* to) {
  for (int d = 0; d < Facts::dims.rank; ++d) to[d] = Facts::extent_of(d, slots);
}

/// Evaluates the statements for one vector, or its first `count` lanes, of `rows` rows: one, or a group whose
/// results stay in registers.
template <class Kernel, bool Partial, int Vectors, class Sums>
COTANGENT_HOST_INLINE void run_vectors(position<kernel_facts<Kernel>>& at, extent lane, int count, [[maybe_unused]] extent rows,
                                       fixed_registers<kernel_facts<Kernel>, lane_plan<Kernel>::width>& fixed, Sums* sums) {
  using facts = kernel_facts<Kernel>;
  using plan = lane_plan<Kernel>;
  constexpr int N = plan::width;
  constexpr auto sequence = std::make_index_sequence<facts::statements>();
  [[maybe_unused]] constexpr auto reductions = std::make_index_sequence<std::size_t(facts::table.reductions)>();
  varying_registers<facts, N> varying[Vectors];
  const auto row = [&] {
    for (int u = 0; u < Vectors; ++u) {
      evaluation<facts, N, Partial, Sums> e{at, lane + u * N, count, fixed, varying[u], sums[u]};
      if constexpr (plan::grouped && plan::fixed > 0)
        if (u == 0) evaluate<false>(Kernel{}, sequence, e);
      evaluate<true>(Kernel{}, sequence, e);
    }
  };
  if constexpr (!plan::grouped) row();
  else {
    constexpr int inner = facts::dims.rank - 2;
    const extent first = at.index[inner];
    for (int u = 0; u < Vectors; ++u) sums[u].template load_columns<Partial>(lane + u * N, count, reductions);
    for (extent r = 0; r < rows; ++r) {
      at.index[inner] = first + r;
      row();
    }
    at.index[inner] = first;
    for (int u = 0; u < Vectors; ++u) sums[u].template store_columns<Partial>(lane + u * N, count, reductions);
  }
}

/// Runs the lanes [first, last) of one row, or of a group of rows.
template <class Kernel, class Sums>
COTANGENT_HOST_INLINE void run_lanes(position<kernel_facts<Kernel>>& at, extent first, extent last, extent rows, Sums* sums) {
  using facts = kernel_facts<Kernel>;
  using plan = lane_plan<Kernel>;
  constexpr int N = plan::width;
  if (first >= last) return;
  fixed_registers<facts, N> fixed;
  if constexpr (plan::fixed > 0 && !plan::grouped) {
    varying_registers<facts, N> none;
    evaluation<facts, N, false, Sums> e{at, first, N, fixed, none, sums[0]};
    evaluate<false>(Kernel{}, std::make_index_sequence<facts::statements>(), e);
  }
  extent lane = first;
  if constexpr (!plan::always_partial || N == 1)
    for (; lane + plan::unroll * N <= last; lane += plan::unroll * N) run_vectors<Kernel, false, plan::unroll>(at, lane, N, rows, fixed, sums);
  if constexpr (N > 1 || plan::unroll > 1)
    for (; lane < last; lane += N) run_vectors<Kernel, true, 1>(at, lane, int(smaller(N, last - lane)), rows, fixed, sums);
}

/// Combines sums, one copy per vector of an iteration, into the results of their scope.
template <reduction Scope, class Kernel, int N, int Unroll>
COTANGENT_HOST_INLINE void finish_sums(running_sums<Kernel, N> (&sums)[Unroll], const position<kernel_facts<Kernel>>& at) {
  constexpr auto reductions = std::make_index_sequence<std::size_t(kernel_facts<Kernel>::table.reductions)>();
  for (int u = 1; u < Unroll; ++u) sums[0].template merge<Scope>(sums[u], reductions);
  sums[0].template flush<Scope>(at, reductions);
}

/// Runs the points of a box in order, in this thread, adding reductions to `to`.
template <class Kernel>
COTANGENT_HOST_INLINE void sweep(position<kernel_facts<Kernel>> at, const extent* extents, const box& b, const targets<kernel_facts<Kernel>>& to) {
  using facts = kernel_facts<Kernel>;
  using plan = lane_plan<Kernel>;
  constexpr int outer = facts::dims.outer();
  // Sums over lanes go to their results this often: rounding errors grow with the length of a sum.
  constexpr extent block = plan::sums_lanes ? 8192 : std::numeric_limits<extent>::max() / 2;
  constexpr extent group = 8;
  constexpr auto reductions = std::make_index_sequence<std::size_t(facts::table.reductions)>();
  running_sums<Kernel, plan::width> sums[plan::unroll];
  for (auto& s : sums) {
    s.to = &to;
    s.template clear<reduction::whole>(reductions);
  }
  extent row = b.first_row;
  if constexpr (outer > 0)
    for (extent d = outer - 1, rest = row; d >= 0; --d) {
      at.index[d] = extents[d] > 0 ? rest % extents[d] : 0;
      rest = extents[d] > 0 ? rest / extents[d] : 0;
    }
  for (extent summed = 0; row < b.last_row;) {
    extent rows = 1;
    if constexpr (plan::grouped) rows = smaller(smaller(group, b.last_row - row), extents[outer - 1] - at.index[outer - 1]);
    for (auto& s : sums) s.locate(at, reductions);
    for (extent lane = b.first_lane; lane < b.last_lane; lane += block) {
      const extent last = smaller(lane + block, b.last_lane);
      for (auto& s : sums) s.template clear<reduction::row>(reductions);
      run_lanes<Kernel>(at, lane, last, rows, sums);
      finish_sums<reduction::row>(sums, at);
      if ((summed += (last - lane) * rows) >= block) {
        finish_sums<reduction::whole>(sums, at);
        for (auto& s : sums) s.template clear<reduction::whole>(reductions);
        summed = 0;
      }
    }
    row += rows;
    if constexpr (outer > 0) at.index[outer - 1] += rows - 1;
    for (int d = outer - 1; d >= 0; --d) {
      if (++at.index[d] < extents[d]) break;
      at.index[d] = 0;
    }
  }
  finish_sums<reduction::whole>(sums, at);
}

/// Reduction R of a kernel: points `to` at its results in the caller's buffer and sets those whose index along the
/// outermost dimension is first, first + 1, ..., extents[0] of them, to the identity.
template <class Kernel, int R>
COTANGENT_HOST_INLINE int start_reduction(void* const* buffers, const extent* slots, const extent* extents, targets<kernel_facts<Kernel>>& to,
                                          extent first = 0) {
  using facts = kernel_facts<Kernel>;
  using list = reductions_of<Kernel>;
  using parts = reduce_parts<typename list::template statement<R>>;
  using T = typename parts::type;
  constexpr statement_facts s = list::template facts_of<R>;
  const auto r = results<facts>::template of<typename list::template statement<R>>(s, extents, slots);
  T* base = static_cast<T*>(buffers[parts::buffer]) + value_of<parts::offset>(slots);
  to.base[R] = base;
  for (int d = 0; d < facts::dims.rank; ++d) to.strides[R][d] = r.strides[d];
  T* from = base + (facts::dims.rank > 0 ? first * r.strides[0] : 0);
  r.each([from](extent i) { from[i] = parts::operation::template identity<T>(); });
  return 0;
}

template <class Kernel, std::size_t... R>
COTANGENT_HOST_INLINE void start_reductions([[maybe_unused]] void* const* buffers, [[maybe_unused]] const extent* slots,
                                            [[maybe_unused]] const extent* extents, [[maybe_unused]] targets<kernel_facts<Kernel>>& to,
                                            std::index_sequence<R...>, [[maybe_unused]] extent first = 0) {
  const int done[] = {0, start_reduction<Kernel, int(R)>(buffers, slots, extents, to, first)...};
  (void)done;
}

/// A kernel cut into tasks.
template <class Kernel> class tasks {
 public:
  using facts = kernel_facts<Kernel>;
  using list = reductions_of<Kernel>;
  static constexpr auto reductions = std::make_index_sequence<std::size_t(list::count)>();

  tasks(void* const* buffers, const extent* slots) : at_(buffers, slots) { merged_extents<facts>(at_.slots, extents_); }

  void run() {
    cut_ = partition_of(facts::table, extents_);
    if (cut_.tasks() <= 1) {
      start_reductions<Kernel>(at_.buffers, at_.slots, extents_, to_, reductions);
      if (cut_.tasks() == 1) part({0, cut_.rows, 0, cut_.lanes}, to_);
      return;
    }
    std::size_t bytes = 0;
    plan(bytes, reductions);
    if (bytes == 0) return run(nullptr);
    if (bytes <= sizeof(small_partials)) {
      small_partials memory;
      return run(memory.bytes);
    }
    const scratch memory(bytes);
    run(memory.data());
  }

  /// Only the indices [first, last) of the kernel's own outermost dimension.
  void run_rows(extent first, extent last) {
    constexpr merged_dims dims = facts::dims;
    extent rows = 1;
    for (int d = 0; d < dims.outer(); ++d) rows *= extents_[d];
    box b{0, rows, 0, dims.rank > 0 ? extents_[dims.rank - 1] : 1};
    if (first >= last) return;
    if constexpr (dims.rank > 0 && dims.merged_from[0] == 0) {
      static_assert(keeps_rows(), "run_rows: the kernel reduces over its outermost dimension");
      extent inner = 1;
      for (int d = 1; d <= dims.last[0]; ++d) inner *= own_extent(d);
      first *= inner;
      last *= inner;
      const extent all = extents_[0];
      if constexpr (dims.rank == 1) b = {0, 1, first, last};
      else if (all > 0) b = {first * (rows / all), last * (rows / all), 0, b.last_lane};
      extents_[0] = last - first;
      start_reductions<Kernel>(at_.buffers, at_.slots, extents_, to_, reductions, first);
      extents_[0] = all;
    } else start_reductions<Kernel>(at_.buffers, at_.slots, extents_, to_, reductions);
    part(b, to_);
  }

  __attribute__((noinline)) void part(const box& b, const targets<facts>& to) const { sweep<Kernel>(at_, extents_, b, to); }

 private:
  static constexpr bool keeps_rows() {
    for (const statement_facts& s : facts::table.statements)
      if (s.kind == action::reduce && !(s.kept_dims & 1u)) return false;
    return true;
  }
  extent own_extent(int d) const {
    const extent e = facts::own_extents[d];
    return is_slot(e) ? at_.slots[e - slot_base] : e;
  }

  struct small_partials {
    alignas(64) char bytes[8192];
  };

  /// Lays out the partial results.
  template <std::size_t... R> void plan(std::size_t& bytes, std::index_sequence<R...>) {
    const int done[] = {0, plan_one<int(R)>(bytes)...};
    (void)done;
  }
  template <int R> int plan_one(std::size_t& bytes) {
    using T = typename reduce_parts<typename list::template statement<R>>::type;
    constexpr statement_facts s = list::template facts_of<R>;
    results_[R] = results<facts>::template of<typename list::template statement<R>>(s, extents_, at_.slots);
    copies_[R] = cut_.copies(s);
    offset_[R] = bytes;
    if (copies_[R] > 1) bytes += (std::size_t(copies_[R] * results_[R].size) * sizeof(T) + 63) / 64 * 64;
    return 0;
  }

  void run(char* memory) {
    start(memory, reductions);
    parallel_for(cut_.tasks(), [this](extent t) {
      const extent chunk = t / cut_.lane_blocks, block = t % cut_.lane_blocks;
      targets<facts> to = to_;
      choose(to, chunk, block, reductions);
      part({chunk * cut_.rows_per_chunk, smaller((chunk + 1) * cut_.rows_per_chunk, cut_.rows), block * cut_.lanes_per_block,
            smaller((block + 1) * cut_.lanes_per_block, cut_.lanes)},
           to);
    });
    finish(reductions);
  }

  template <std::size_t... R> void start([[maybe_unused]] char* memory, std::index_sequence<R...>) {
    const int done[] = {0, start_one<int(R)>(memory)...};
    (void)done;
  }
  template <int R> int start_one(char* memory) {
    if (copies_[R] <= 1) return start_reduction<Kernel, R>(at_.buffers, at_.slots, extents_, to_);
    using parts = reduce_parts<typename list::template statement<R>>;
    using T = typename parts::type;
    T* base = reinterpret_cast<T*>(memory + offset_[R]);
    const extent n = copies_[R] * results_[R].size;
    for (extent i = 0; i < n; ++i) base[i] = parts::operation::template identity<T>();
    to_.base[R] = base;
    for (int d = 0; d < facts::dims.rank; ++d) to_.strides[R][d] = results_[R].packed[d];
    return 0;
  }

  /// Points `to` at the partial results of one task.
  template <std::size_t... R> void choose([[maybe_unused]] targets<facts>& to, [[maybe_unused]] extent chunk, [[maybe_unused]] extent block, std::index_sequence<R...>) const {
    const int done[] = {0, choose_one<int(R)>(to, chunk, block)...};
    (void)done;
  }
  template <int R> int choose_one(targets<facts>& to, extent chunk, extent block) const {
    using T = typename reduce_parts<typename list::template statement<R>>::type;
    if (copies_[R] > 1) to.base[R] = static_cast<T*>(to.base[R]) + cut_.copy(list::template facts_of<R>, chunk, block) * results_[R].size;
    return 0;
  }

  template <std::size_t... R> void finish(std::index_sequence<R...>) {
    const int done[] = {0, finish_one<int(R)>()...};
    (void)done;
  }
  template <int R> int finish_one() {
    if (copies_[R] <= 1) return 0;
    using parts = reduce_parts<typename list::template statement<R>>;
    using T = typename parts::type;
    const results<facts>& r = results_[R];
    T* partial = static_cast<T*>(to_.base[R]);
    constexpr extent block = 4096;
    parallel_for(divide_up(r.size, block), [&](extent b) {
      combine_copies<typename parts::operation, T, mask_bytes<facts>>(partial, r.size, copies_[R], b * block, smaller((b + 1) * block, r.size));
    });
    T* base = static_cast<T*>(at_.buffers[parts::buffer]) + value_of<parts::offset>(at_.slots);
    r.each([base, partial](extent i) mutable { base[i] = *partial++; });
    return 0;
  }

  static constexpr int places = list::count > 0 ? list::count : 1;
  position<facts> at_;
  extent extents_[facts::dims.rank > 0 ? facts::dims.rank : 1];
  partition cut_;
  targets<facts> to_;
  results<facts> results_[places];
  extent copies_[places];
  std::size_t offset_[places];
};

/// Runs a kernel. `buffers` are the pointers, and `extents` the run-time extents, that its type numbers. An output
/// may be the memory of an input that is accessed in the same way. Results do not depend on the number of threads.
template <class Kernel> COTANGENT_HOST_INLINE void run(void* const* buffers, const extent* extents) {
  using facts = kernel_facts<Kernel>;
  constexpr extent small = 64;
  if constexpr (facts::is_static && facts::points <= small) {
    const position<facts> at(buffers, extents);
    extent sizes[facts::dims.rank > 0 ? facts::dims.rank : 1];
    merged_extents<facts>(at.slots, sizes);
    extent rows = 1;
    for (int d = 0; d < facts::dims.outer(); ++d) rows *= sizes[d];
    targets<facts> to;
    start_reductions<Kernel>(at.buffers, at.slots, sizes, to, tasks<Kernel>::reductions);
    if constexpr (facts::points > 0) sweep<Kernel>(at, sizes, {0, rows, 0, facts::dims.rank > 0 ? sizes[facts::dims.rank - 1] : 1}, to);
  } else {
    tasks<Kernel>(buffers, extents).run();
  }
}

/// Runs the points whose outermost index is in [first, last), in this thread. The kernel may not reduce over its
/// outermost dimension.
template <class Kernel> void run_rows(void* const* buffers, const extent* extents, extent first, extent last) {
  tasks<Kernel>(buffers, extents).run_rows(first, last);
}

}  // namespace COTANGENT_ISA
}  // namespace cotangent::cpu
