#pragma once
/// Chunks (compiler/chunks.hpp) on the CPU: their bodies on all rows.

#include <algorithm>

#include <cotangent/backends/cpu/gemm.hpp>
#include <cotangent/backends/cpu/loops.hpp>
#include <cotangent/compiler/control.hpp>

namespace cotangent::host {

/// A run of the bodies of chunks (control<chunks_p>) on all rows. Tasks take some chunks each, and have sums of their own, which are combined in
/// the order of the rows.
template <class Facts, class State, class Access> class chunk_run {
 public:
  chunk_run(const State& s, const Access& at) : s_(s), at_(at), rows_(s.value(Facts::rows)) {
    const extent chunks = divide_up(rows_, Facts::chunk), worth = rows_ / Facts::least_rows_of_sums;
    extent tasks = smaller(smaller(worth < 1 ? 1 : worth, Facts::most_sums), chunks);
    if (tasks < 1) tasks = 1;
    chunks_of_task_ = chunks > 0 ? divide_up(chunks, tasks) : 1;  // of no rows, there is one chunk
    tasks_ = chunks > 0 ? divide_up(chunks, chunks_of_task_) : 1;
    each_result([&]<int R>() {
      if constexpr (is_sum<R>()) {
        offsets_[R] = bytes_of_sums_;
        bytes_of_sums_ += aligned_bytes(sum_size<R> * extent(sizeof(type<R>)));
      }
    });
  }

  void run() const {
    const scratch sums(std::size_t(bytes_of_sums_ * (tasks_ - 1)));
    std::byte* const others = reinterpret_cast<std::byte*>(sums.data());
    parallel_for(tasks_, [&](extent t) { run_task(t, others); });
    if (tasks_ == 1) return;
    each_result([&]<int R>() {
      if constexpr (is_sum<R>()) {
        constexpr extent block = 4096;
        parallel_for(divide_up(sum_size<R>, block), [&](extent b) {
          for (extent t = 1; t < tasks_; ++t) combine<R>(sum_at<R>(0, others), sum_at<R>(t, others), b * block, smaller((b + 1) * block, sum_size<R>));
        });
      }
    });
  }

 private:
  static constexpr int operands = Facts::operands, results = Facts::results;
  using body = typename Facts::template body<0>;
  using last_body = typename Facts::last_body;
  template <int R> using type = type_of<Facts::result(R).type>;
  template <int R> static constexpr bool is_sum() { return Facts::result_axis(R) < 0; }
  template <int R> static constexpr extent sum_size = Facts::result(R).dims.size();

  const State& s_;
  const Access& at_;
  const extent rows_;
  extent chunks_of_task_, tasks_, bytes_of_sums_ = 0;
  extent offsets_[results + 1] = {};

  template <class Visit> static void each_result(const Visit& visit) {
    [&]<std::size_t... R>(std::index_sequence<R...>) { (visit.template operator()<int(R)>(), ...); }(std::make_index_sequence<std::size_t(results)>());
  }
  template <class Visit> static void each_operand(const Visit& visit) {
    [&]<std::size_t... K>(std::index_sequence<K...>) { (visit.template operator()<int(K)>(), ...); }(std::make_index_sequence<std::size_t(operands)>());
  }
  /// Sum R of a task: of the first one, the result itself.
  template <int R> type<R>* sum_at(extent task, std::byte* others) const {
    return reinterpret_cast<type<R>*>(task == 0 ? at_.buffer(operands + R) : others + (task - 1) * bytes_of_sums_ + offsets_[R]);
  }
  template <int R> static void combine(type<R>* to, const type<R>* from, extent first, extent last) {
    using made_by = primitive_with_id<Facts::template made_by<R>.op_id>;
    for (extent i = first; i < last; ++i)
      if constexpr (Facts::template adds<R>) to[i] = plus_product(to[i], from[i], type<R>(1));
      else combine_into<made_by, int(sizeof(type<R>))>(to + i, from[i]);
  }

  /// Where the rows of an array lie: pieces of `behind` elements per row, one after the other, `before` times.
  template <int K> axis_lines operand_lines() const { return axis_lines(s_.value(Facts::operand(K).dims), Facts::operand_axis(K)); }
  template <int R> axis_lines result_lines() const { return axis_lines(s_.value(Facts::result(R).dims), Facts::result_axis(R)); }
  /// The bytes of a chunk of an array, if its rows do not lie together.
  template <class T> static extent bytes_apart(const axis_lines& x) { return x.before == 1 ? 0 : aligned_bytes(x.before * Facts::chunk * x.behind * extent(sizeof(T))); }

  void run_task(extent task, std::byte* others) const {
    extent bytes = 0, places[operands + results + 1] = {};
    each_operand([&]<int K>() {
      places[K] = bytes;
      if constexpr (Facts::operand_axis(K) >= 0) bytes += bytes_apart<type_of<Facts::operand(K).type>>(operand_lines<K>());
    });
    each_result([&]<int R>() {
      places[operands + R] = bytes;
      if constexpr (!is_sum<R>()) bytes += bytes_apart<type<R>>(result_lines<R>());
      else if constexpr (!Facts::template adds<R>) bytes += aligned_bytes(sum_size<R> * extent(sizeof(type<R>)));
    });
    constexpr extent arenas[] = {static_arena<body>(), static_arena<last_body>()};
    const scratch memory(std::size_t(bytes + (arenas[0] > arenas[1] ? arenas[0] : arenas[1])));
    std::byte* const own = reinterpret_cast<std::byte*>(memory.data());
    each_result([&]<int R>() {
      if constexpr (is_sum<R>() && Facts::template adds<R>) std::fill_n(sum_at<R>(task, others), sum_size<R>, type<R>(0));
    });
    const extent start = task * chunks_of_task_ * Facts::chunk, end = smaller(start + chunks_of_task_ * Facts::chunk, rows_);
    extent row = start;
    if constexpr (body::has_symbols) {
      do run_chunk<body>(row, smaller(Facts::chunk, end - row), row == start, task, own, own + bytes, places, others);
      while ((row += Facts::chunk) < end);
    } else {
      for (; row + Facts::chunk <= end; row += Facts::chunk) run_chunk<body>(row, Facts::chunk, row == start, task, own, own + bytes, places, others);
      if constexpr (Facts::has_last)
        if (row < end) run_chunk<last_body>(row, end - row, row == start, task, own, own + bytes, places, others);
    }
  }
  template <class Body>
  void run_chunk(extent first, extent count, bool starts, extent task, std::byte* own, std::byte* arena, const extent* places, std::byte* others) const {
    placed_body<Body> placed(typename Body::backend::queue(), arena, [&](int k) {  // input 0 is the number of the first row
      shape dims;
      if (k > 0) dims = s_.value(Facts::operand(k - 1).dims);
      if (k > 0 && Facts::operand_axis(k - 1) >= 0) dims[Facts::operand_axis(k - 1)] = count;
      return dims;
    });
    typename Body::state& b = placed.state;
    std::int32_t number = std::int32_t(first);
    Body::input(b, 0) = &number;
    const auto piece = [&]<class T>(std::byte* array, T*, const axis_lines& x, extent place, bool fills) -> void* {
      if (x.before == 1) return array + first * x.behind * extent(sizeof(T));
      T* const chunk = reinterpret_cast<T*>(own + place);
      if (fills)
        for (extent i = 0; i < x.before; ++i) std::copy_n(reinterpret_cast<const T*>(array) + (i * rows_ + first) * x.behind, count * x.behind, chunk + i * count * x.behind);
      return chunk;
    };
    each_operand([&]<int K>() {
      using T = type_of<Facts::operand(K).type>;
      if constexpr (Facts::operand_axis(K) < 0) Body::input(b, K + 1) = at_.buffer(K);
      else Body::input(b, K + 1) = piece(at_.buffer(K), static_cast<T*>(nullptr), operand_lines<K>(), places[K], true);
    });
    each_result([&]<int R>() {
      if constexpr (!is_sum<R>()) Body::output(b, R) = piece(at_.buffer(operands + R), static_cast<type<R>*>(nullptr), result_lines<R>(), places[operands + R], false);
      else if (Facts::template adds<R> || starts) Body::output(b, R) = sum_at<R>(task, others);
      else Body::output(b, R) = own + places[operands + R];
    });
    Body::run(b);
    each_result([&]<int R>() {
      if constexpr (!is_sum<R>()) {
        const axis_lines x = result_lines<R>();
        type<R>* const array = reinterpret_cast<type<R>*>(at_.buffer(operands + R));
        const type<R>* const chunk = static_cast<const type<R>*>(Body::output(b, R));
        for (extent i = 0; i < x.before && x.before > 1; ++i) std::copy_n(chunk + i * count * x.behind, count * x.behind, array + (i * rows_ + first) * x.behind);
      } else if constexpr (!Facts::template adds<R>) {
        if (!starts) combine<R>(sum_at<R>(task, others), static_cast<const type<R>*>(Body::output(b, R)), 0, sum_size<R>);
      }
    });
  }
};

}  // namespace cotangent::host
