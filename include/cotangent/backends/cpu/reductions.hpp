#pragma once
/// Reductions inside a kernel: where results lie, sums in registers, and partial results of tasks.

#include <memory>
#include <new>

#include <cotangent/backends/cpu/partition.hpp>
#include <cotangent/backends/cpu/statements.hpp>

namespace cotangent::cpu {
inline namespace COTANGENT_ISA {

template <int K, class S> struct numbered {};
template <class Sequence, class... S> struct numbered_statements;
template <std::size_t... K, class... S>
struct numbered_statements<std::index_sequence<K...>, S...> : numbered<int(K), S>... {};
template <int K, class S> S statement_at(const numbered<K, S>&);

/// A kernel's reduce statements, apart from the others.
template <class Kernel> struct reductions_of;
template <extent... E, class... S> struct reductions_of<kernel<space<E...>, S...>> {
  using facts = kernel_facts<kernel<space<E...>, S...>>;
  static constexpr int count = facts::table.reductions;

  struct place_list {
    int at[count > 0 ? count : 1] = {};
  };
  /// The statement number of each reduction.
  static constexpr place_list places = [] {
    place_list p;
    for (int k = 0, r = 0; k < facts::statements; ++k)
      if (facts::table.statements[k].kind == action::reduce) p.at[r++] = k;
    return p;
  }();
  template <int R>
  using statement = decltype(statement_at<places.at[R]>(numbered_statements<std::make_index_sequence<sizeof...(S)>, S...>{}));
  template <int R> static constexpr statement_facts facts_of = facts::table.statements[places.at[R]];
};

template <class Reduce> struct reduce_parts;
template <class Op, class T, int B, int R, extent Offset, extent... Strides>
struct reduce_parts<kernels::reduce<Op, T, B, R, access<Offset, Strides...>>> {
  using operation = Op;
  using type = T;
  using where = access<Offset, Strides...>;
  static constexpr int buffer = B;
  static constexpr extent offset = Offset;

  static void strides([[maybe_unused]] const extent* slots, [[maybe_unused]] extent* to) {
    [[maybe_unused]] int d = 0;
    const int done[] = {0, (to[d++] = value_of<Strides>(slots), 0)...};
    (void)done;
  }
};

/// Where the results of each reduction lie: the caller's buffer, or a task's partial results.
template <class Facts> struct targets {
  static constexpr int count = Facts::table.reductions > 0 ? Facts::table.reductions : 1;
  static constexpr int rank = Facts::dims.rank > 0 ? Facts::dims.rank : 1;
  void* base[count];
  extent strides[count][rank];

  template <class T> COTANGENT_HOST_INLINE T* row(int reduction, const position<Facts>& at) const {
    T* p = static_cast<T*>(base[reduction]);
    for (int d = 0; d < Facts::dims.outer(); ++d) p += at.index[d] * strides[reduction][d];
    return p;
  }
};

/// The lowest `count` lanes.
template <int Bytes, int N> COTANGENT_HOST_INLINE mask<Bytes, N> first_lanes(int count) {
  using integer = typename integer_of_bytes<Bytes>::type;
  if constexpr (N == 1) return count > 0;
  else return iota<integer, N>() < pack<integer, N>(integer(count));
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

/// to <- Op(to, x)
template <class Op, int Bytes, class T> COTANGENT_HOST_INLINE void combine_into(T* to, T x) {
  using reg = register_type<T, 1, Bytes>;
  *to = Op::combine(reg(*to), reg(x))[0];
}

/// Whether rows are walked in groups, so that results that keep the lanes stay in registers for a group: the
/// innermost outer dimension is summed by all reductions that keep the lanes, and no reduction ends with a row.
template <class Facts> constexpr bool sums_groups_of_rows() {
  if (Facts::dims.rank < 2 || Facts::table.scatters) return false;
  const std::uint32_t inner = std::uint32_t(1) << (Facts::dims.rank >= 2 ? Facts::dims.rank - 2 : 0);
  bool some = false;
  for (const statement_facts& s : Facts::table.statements) {
    if (s.kind != action::reduce || s.reduces == reduction::whole) continue;
    if (s.reduces == reduction::row || (s.kept_dims & inner)) return false;
    some = true;
  }
  return some;
}

/// The reductions of a kernel while it runs: sums in registers, one per lane.
template <class Kernel, int N> struct running_sums {
  using list = reductions_of<Kernel>;
  using facts = typename list::facts;
  static constexpr int bytes = mask_bytes<facts>;
  static constexpr bool grouped = sums_groups_of_rows<facts>();
  template <class T> using reg = register_type<T, N, bytes>;

  sum_registers<facts, N> sums;
  const targets<facts>* to;
  void* rows[targets<facts>::count];  // this row's results of reductions that keep the lanes

  /// Called by a reduce statement.
  template <int K, class Op, class T, class Access, class V, class E> COTANGENT_HOST_INLINE void add(const V& value, const E& e) {
    constexpr statement_facts s = facts::table.statements[K];
    reg<T>& sum = sums.template of<T>(s.sum);
    [[maybe_unused]] const reg<T> identity = Op::template identity<T>();
    if constexpr (s.reduces == reduction::keeps_lane && grouped) sum = Op::combine(sum, value);
    else if constexpr (s.reduces == reduction::keeps_lane) {
      store_row<T, s.place, E::partial>(Op::combine(load_row<T, s.place, E::partial>(e.lane, e.count), value), e.lane, e.count);
    } else if constexpr (E::partial && N > 1 && std::is_same_v<T, bool>) {
      const auto active = first_lanes<bytes, N>(e.count);
      sum = Op::combine(sum, (active & value) | ((!active) & identity));
    } else if constexpr (E::partial && N > 1) {
      sum = Op::combine(sum, select(first_lanes<int(sizeof(T)), N>(e.count), reg<T>(value), identity));
    } else sum = Op::combine(sum, value);
  }

  template <class T, int R, bool Partial> COTANGENT_HOST_INLINE reg<T> load_row(extent lane, int count) const {
    const T* row = static_cast<const T*>(rows[R]);
    if constexpr (!contiguous<R>) return reg<T>::load_strided(row + lane * lane_step(R), lane_step(R), count);
    else if constexpr (Partial) return reg<T>::load(row + lane, count);
    else return reg<T>::load(row + lane);
  }
  template <class T, int R, bool Partial> COTANGENT_HOST_INLINE void store_row(reg<T> value, extent lane, int count) const {
    T* row = static_cast<T*>(rows[R]);
    if constexpr (!contiguous<R>) value.store_strided(row + lane * lane_step(R), lane_step(R), count);
    else if constexpr (Partial) value.store(row + lane, count);
    else value.store(row + lane);
  }
  template <int R>
  static constexpr bool contiguous = lane_stride<facts, typename reduce_parts<typename list::template statement<R>>::where> == 1;
  COTANGENT_HOST_INLINE extent lane_step(int reduction) const { return to->strides[reduction][targets<facts>::rank - 1]; }

  /// Finds this row's results.
  template <std::size_t... R> COTANGENT_HOST_INLINE void locate([[maybe_unused]] const position<facts>& at, std::index_sequence<R...>) {
    const int done[] = {0, locate_one<int(R)>(at)...};
    (void)done;
  }
  template <int R> COTANGENT_HOST_INLINE int locate_one(const position<facts>& at) {
    using T = typename reduce_parts<typename list::template statement<R>>::type;
    if constexpr (list::template facts_of<R>.reduces == reduction::keeps_lane) rows[R] = to->template row<T>(R, at);
    return 0;
  }

  /// Moves the results that keep the lanes into registers, and back.
  template <bool Partial, std::size_t... R>
  COTANGENT_HOST_INLINE void load_columns([[maybe_unused]] extent lane, [[maybe_unused]] int count, std::index_sequence<R...>) {
    const int done[] = {0, load_column<Partial, int(R)>(lane, count)...};
    (void)done;
  }
  template <bool Partial, int R> COTANGENT_HOST_INLINE int load_column(extent lane, int count) {
    constexpr statement_facts s = list::template facts_of<R>;
    using T = type_of<s.type>;
    if constexpr (s.reduces == reduction::keeps_lane) sums.template of<T>(s.sum) = load_row<T, R, Partial>(lane, count);
    return 0;
  }
  template <bool Partial, std::size_t... R>
  COTANGENT_HOST_INLINE void store_columns([[maybe_unused]] extent lane, [[maybe_unused]] int count, std::index_sequence<R...>) {
    const int done[] = {0, store_column<Partial, int(R)>(lane, count)...};
    (void)done;
  }
  template <bool Partial, int R> COTANGENT_HOST_INLINE int store_column(extent lane, int count) {
    constexpr statement_facts s = list::template facts_of<R>;
    using T = type_of<s.type>;
    if constexpr (s.reduces == reduction::keeps_lane) store_row<T, R, Partial>(sums.template of<T>(s.sum), lane, count);
    return 0;
  }

  /// Sets the sums of one scope to their identities.
  template <reduction Scope, std::size_t... R> COTANGENT_HOST_INLINE void clear(std::index_sequence<R...>) {
    const int done[] = {0, clear_one<Scope, int(R)>()...};
    (void)done;
  }
  template <reduction Scope, int R> COTANGENT_HOST_INLINE int clear_one() {
    constexpr statement_facts s = list::template facts_of<R>;
    if constexpr (s.reduces == Scope) {
      using parts = reduce_parts<typename list::template statement<R>>;
      using T = typename parts::type;
      sums.template of<T>(s.sum) = register_type<T, N, bytes>(parts::operation::template identity<T>());
    }
    return 0;
  }

  /// Combines another copy's sums into this one's.
  template <reduction Scope, std::size_t... R> COTANGENT_HOST_INLINE void merge([[maybe_unused]] running_sums& other, std::index_sequence<R...>) {
    const int done[] = {0, merge_one<Scope, int(R)>(other)...};
    (void)done;
  }
  template <reduction Scope, int R> COTANGENT_HOST_INLINE int merge_one(running_sums& other) {
    constexpr statement_facts s = list::template facts_of<R>;
    if constexpr (s.reduces == Scope) {
      using parts = reduce_parts<typename list::template statement<R>>;
      using T = typename parts::type;
      auto& sum = sums.template of<T>(s.sum);
      sum = parts::operation::combine(sum, other.sums.template of<T>(s.sum));
    }
    return 0;
  }

  /// Combines the sums of one scope into their results.
  template <reduction Scope, std::size_t... R> COTANGENT_HOST_INLINE void flush([[maybe_unused]] const position<facts>& at, std::index_sequence<R...>) {
    const int done[] = {0, flush_one<Scope, int(R)>(at)...};
    (void)done;
  }
  template <reduction Scope, int R> COTANGENT_HOST_INLINE int flush_one(const position<facts>& at) {
    constexpr statement_facts s = list::template facts_of<R>;
    if constexpr (s.reduces == Scope) {
      using parts = reduce_parts<typename list::template statement<R>>;
      using T = typename parts::type;
      using op = typename parts::operation;
      combine_into<op, bytes>(to->template row<T>(R, at), fold_lanes<op, T>(sums.template of<T>(s.sum)));
    }
    return 0;
  }
};

/// Memory for partial results, kept by the thread from call to call. Nested use takes memory of its own.
class scratch {
 public:
  explicit scratch(std::size_t bytes) {
    memory_ = kept().memory;
    size_ = kept().size;
    kept() = block{};
    if (size_ >= bytes) return;
    release(memory_);
    memory_ = ::operator new(bytes, std::align_val_t(64));
    size_ = bytes;
  }
  ~scratch() {
    if (kept().memory) release(memory_);
    else kept() = block{memory_, size_};
  }
  scratch(const scratch&) = delete;
  scratch& operator=(const scratch&) = delete;

  char* data() const { return static_cast<char*>(memory_); }

 private:
  struct block {
    void* memory = nullptr;
    std::size_t size = 0;
  };
  struct owner : block {
    ~owner() { release(this->memory); }
    owner& operator=(const block& b) {
      static_cast<block&>(*this) = b;
      return *this;
    }
  };
  static owner& kept() {
    static thread_local owner o;
    return o;
  }
  static void release(void* p) { ::operator delete(p, std::align_val_t(64)); }

  void* memory_;
  std::size_t size_;
};

/// A reduction's results, as an array over the merged dimensions that it keeps.
template <class Facts> struct results {
  extent extents[Facts::dims.rank > 0 ? Facts::dims.rank : 1];
  extent strides[Facts::dims.rank > 0 ? Facts::dims.rank : 1];  // in the caller's buffer
  extent packed[Facts::dims.rank > 0 ? Facts::dims.rank : 1];   // contiguous, row-major
  extent size = 1;
  bool contiguous = true;  // strides == packed

  template <class Reduce> static results of(const statement_facts& s, const extent* extents, const extent* slots) {
    results r;
    extent own[max_rank + 1] = {};
    reduce_parts<Reduce>::strides(slots, own);
    for (int d = Facts::dims.rank - 1; d >= 0; --d) {
      const bool kept = s.kept_dims >> d & 1u;
      r.extents[d] = kept ? extents[d] : 1;
      r.strides[d] = kept ? own[Facts::dims.last[d]] : 0;
      r.packed[d] = kept ? r.size : 0;
      if (kept) r.size *= extents[d];
      r.contiguous = r.contiguous && (r.extents[d] == 1 || r.strides[d] == r.packed[d]);
    }
    return r;
  }

  /// f(offset in the caller's buffer) for every result, in row-major order.
  template <class F> void each(F f) const {
    constexpr int rank = Facts::dims.rank;
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

/// Combines the partial results of tasks, in the order of the tasks, into the first of them.
template <class Op, class T, int Bytes> void combine_copies(T* first, extent size, extent copies, extent begin, extent end) {
  constexpr int N = native_bytes / Bytes;
  using reg = register_type<T, N, Bytes>;
  extent i = begin;
  for (; i + N <= end; i += N) {
    reg sum = reg::load(first + i);
    for (extent c = 1; c < copies; ++c) sum = Op::combine(sum, reg::load(first + c * size + i));
    sum.store(first + i);
  }
  for (; i < end; ++i)
    for (extent c = 1; c < copies; ++c) combine_into<Op, Bytes>(first + i, first[c * size + i]);
}

}  // namespace COTANGENT_ISA
}  // namespace cotangent::cpu
