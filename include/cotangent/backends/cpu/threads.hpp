#pragma once
/// Threads: tasks over oneTBB. How work is cut into tasks never depends on the number of threads, so neither
/// do results.

#include <atomic>
#include <thread>

#include <tbb/info.h>
// oneTBB's library is not instrumented for ThreadSanitizer, which then takes its hand-overs for races: under the
// sanitizer plain threads run the tasks.
#if defined(__SANITIZE_THREAD__)
#define COTANGENT_THREAD_SANITIZER
#elif defined(__clang__)
#if __has_feature(thread_sanitizer)
#define COTANGENT_THREAD_SANITIZER
#endif
#endif
#ifdef COTANGENT_THREAD_SANITIZER
#include <vector>
#else
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>
#endif

#include <cotangent/core/extents.hpp>

namespace cotangent {
namespace host {

inline std::atomic<int>& thread_limit() {
  static std::atomic<int> limit{tbb::info::default_concurrency()};
  return limit;
}

}  // namespace host

/// How many threads a kernel may use; at first, the number of cores that the process may run on.
inline int num_threads() { return host::thread_limit().load(std::memory_order_relaxed); }

/// Limits kernels to n threads (at least 1). Results are bitwise the same for every n.
inline void set_num_threads(int n) { host::thread_limit().store(n < 1 ? 1 : n, std::memory_order_relaxed); }

namespace host {

/// Some neighbouring numbers, which threads take one by one.
struct alignas(64) number_range {
  std::atomic<extent> next;
  extent last;
};

/// body(context, i) for every i in [0, count), on up to num_threads() threads, in any order; returns when all are
/// done. Inline, in order, when there is one task or one thread. May be nested.
///
/// Each thread begins with a part of the numbers of its own, the same in each call with this count: tasks that are neighbours read from
/// the same memory, and the next kernel what this one wrote. Who has done its part helps others.
inline void parallel_for(extent count, void (*body)(const void*, extent), const void* context) {
  constexpr extent most_ranges = 64;
  const extent threads = count < num_threads() ? count : num_threads();
  if (threads <= 1) {
    for (extent i = 0; i < count; ++i) body(context, i);
    return;
  }
  number_range ranges[most_ranges];
  const extent parts = threads < most_ranges ? threads : most_ranges;
  for (extent p = 0; p < parts; ++p) ranges[p].next.store(count * p / parts, std::memory_order_relaxed), ranges[p].last = count * (p + 1) / parts;
  const auto worker = [&](extent thread) {
    for (extent k = 0; k < parts; ++k) {
      number_range& r = ranges[(thread + k) % parts];
      for (extent i; (i = r.next.fetch_add(1, std::memory_order_relaxed)) < r.last;) body(context, i);
    }
  };
#ifdef COTANGENT_THREAD_SANITIZER
  std::vector<std::thread> others;
  for (extent t = 1; t < threads; ++t) others.emplace_back(worker, t);
  worker(0);
  for (std::thread& t : others) t.join();
#else
  // Isolated: a thread that waits here must not start another task of the caller's, which could be the same program.
  tbb::this_task_arena::isolate([&] { tbb::parallel_for(extent(0), threads, worker, tbb::simple_partitioner{}); });
#endif
}

/// The same for a function object. oneTBB's templates are instantiated once, whatever the bodies.
template <class Body> void parallel_for(extent count, const Body& body) {
  parallel_for(count, [](const void* f, extent i) { (*static_cast<const Body*>(f))(i); }, &body);
}

/// Numbers 0, 1, ..., count - 1, which tasks take one by one. A task that has one has its turn after those of all smaller numbers.
class ordered_numbers {
 public:
  explicit ordered_numbers(extent count) : count_(count) {}

  /// visit(number, turn) for each number that the caller takes; turn.wait() returns when the turn has come, which lasts until visit returns.
  template <class Visit> void take_some(const Visit& visit) {
    for (extent i; (i = next_.fetch_add(1, std::memory_order_relaxed)) < count_;) {
      const turn own(*this, i);
      visit(i, own);
    }
  }
  class turn {
   public:
    turn(ordered_numbers& all, extent number) : all_(all), number_(number) {}
    turn(const turn&) = delete;
    turn& operator=(const turn&) = delete;
    ~turn() {
      wait();
      all_.passed_.store(number_ + 1, std::memory_order_release);
    }
    void wait() const {
      while (all_.passed_.load(std::memory_order_acquire) != number_) std::this_thread::yield();  // microseconds: too short to sleep
    }

   private:
    ordered_numbers& all_;
    const extent number_;
  };

 private:
  const extent count_;
  std::atomic<extent> next_{0}, passed_{0};
};

}  // namespace host
}  // namespace cotangent
