#pragma once
/// Benchmarks as rows {group, case, threads, ours_ms, baseline, baseline_ms, ratio}.
///
/// A row is a ratio of medians of two programs timed in turn in one process, so that what disturbs the machine disturbs
/// both. Google Benchmark registers, filters and prints them.
///
///     int main(int argc, char** argv) {
///       bench::init(argc, argv);
///       bench::compare("chain", "20 operations, 64k, forward", 2, "hand-written loop", [] {
///         auto data = std::make_shared<...>();
///         return bench::sides{[data] { ours(*data); }, [data] { theirs(*data); }};
///       });
///       return bench::run(argc, argv);  // [--quick] [--json FILE] and Google Benchmark's own options
///     }

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <benchmark/benchmark.h>
#include <tbb/parallel_for.h>
#include <tbb/partitioner.h>
#include <tbb/task_arena.h>

namespace bench {

/// One line of the result; a NaN (null in the file) is a side that was not measured.
struct row {
  std::string group, name;
  int threads;
  double ours_ms;
  std::string baseline;
  double baseline_ms;
  double ulp = std::nan(""), baseline_ulp = std::nan("");
  bool is_memory = false;  // the figures are MiB
};

/// The program measured and the one it is measured against; where it matters, also the largest error of each in units of
/// the last place.
template <class Ours, class Baseline> struct sides {
  Ours ours;
  Baseline baseline;
  double ulp = std::nan(""), baseline_ulp = std::nan("");
};
template <class Ours, class Baseline> sides(Ours, Baseline) -> sides<Ours, Baseline>;
template <class Ours, class Baseline> sides(Ours, Baseline, double, double) -> sides<Ours, Baseline>;

inline bool quick = false;
inline std::vector<row> rows;

inline double median(std::vector<double> v) {
  if (v.empty()) return std::nan("");
  const auto middle = v.begin() + std::ptrdiff_t(v.size() / 2);
  std::nth_element(v.begin(), middle, v.end());
  return *middle;
}

/// Milliseconds per call of `calls` calls of f in a row; what f returns counts as used.
template <class F> [[gnu::noinline]] double time_ms(F& f, long calls) {
  const auto start = std::chrono::steady_clock::now();
  for (long i = 0; i < calls; ++i) {
    if constexpr (std::is_void_v<std::invoke_result_t<F&>>) {
      f();
    } else {
      auto&& result = f();
      benchmark::DoNotOptimize(result);
    }
    benchmark::ClobberMemory();
  }
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count() / double(calls);
}

/// How many calls make one sample: enough for the clock, few enough to alternate often.
template <class F> long calls_per_sample(F& f) {
  const double wanted = quick ? 0.3 : 1.0;
  time_ms(f, 1);  // the first call may allocate
  for (long calls = 1;; calls *= 4)
    if (const double ms = time_ms(f, calls) * double(calls); ms > wanted / 4)
      return std::max(1l, long(double(calls) * wanted / ms));
}

/// Medians in milliseconds per call of both, sampled in turn.
template <class A, class B> std::pair<double, double> interleaved(A& a, B& b, benchmark::State* state = nullptr) {
  const long calls_a = calls_per_sample(a), calls_b = calls_per_sample(b);
  std::vector<double> ms_a, ms_b;
  const auto sample = [&] {
    ms_a.push_back(time_ms(a, calls_a));
    ms_b.push_back(time_ms(b, calls_b));
    if (state) state->SetIterationTime(ms_a.back() / 1e3);
  };
  if (state)
    for (auto _ : *state) sample();
  else
    for (int i = 0; i < (quick ? 9 : 41); ++i) sample();
  return {median(ms_a), median(ms_b)};
}

/// Registers a row. `setup` runs when the row's turn comes and returns `sides{ours, baseline}`.
template <class Setup>
void compare(std::string group, std::string name, int threads, std::string baseline, Setup setup, int samples = 41) {
  benchmark::RegisterBenchmark((group + "/" + name + "/vs " + baseline).c_str(), [=](benchmark::State& state) {
    auto pair = setup();
    const auto [ours_ms, baseline_ms] = interleaved(pair.ours, pair.baseline, &state);
    state.counters["baseline_ms"] = baseline_ms;
    state.counters["ratio"] = baseline_ms / ours_ms;
    rows.push_back({group, name, threads, ours_ms, baseline, baseline_ms, pair.ulp, pair.baseline_ulp});
  })->UseManualTime()->Unit(benchmark::kMillisecond)->Iterations(quick ? std::max(1, samples / 5) : samples);
}

/// Registers a figure of a baseline alone, as a limit of the machine.
template <class Setup> void limit(std::string group, std::string name, int threads, std::string baseline, Setup setup, int samples = 41) {
  benchmark::RegisterBenchmark((group + "/" + name + "/" + baseline).c_str(), [=](benchmark::State& state) {
    auto f = setup();
    const long calls = calls_per_sample(f);
    std::vector<double> ms;
    for (auto _ : state) {
      ms.push_back(time_ms(f, calls));
      state.SetIterationTime(ms.back() / 1e3);
    }
    rows.push_back({group, name, threads, std::nan(""), baseline, median(ms)});
  })->UseManualTime()->Unit(benchmark::kMillisecond)->Iterations(quick ? std::max(1, samples / 5) : samples);
}

/// Registers a figure of ours alone, which bench/run pairs with JAX's of the same group and case.
template <class Setup> void measure(std::string group, std::string name, int threads, Setup setup, int samples = 41) {
  benchmark::RegisterBenchmark((group + "/" + name).c_str(), [=](benchmark::State& state) {
    auto f = setup();
    const long calls = calls_per_sample(f);
    std::vector<double> ms;
    for (auto _ : state) {
      ms.push_back(time_ms(f, calls));
      state.SetIterationTime(ms.back() / 1e3);
    }
    rows.push_back({group, name, threads, median(ms), "", std::nan("")});
  })->UseManualTime()->Unit(benchmark::kMillisecond)->Iterations(quick ? std::max(1, samples / 5) : samples);
}

/// A row of ours alone that says how much memory a program needs.
inline void memory(std::string group, std::string name, int threads, std::ptrdiff_t bytes) {
  row r{group, name, threads, double(bytes) / 1048576, "", std::nan("")};
  r.is_memory = true;
  rows.push_back(r);
}

/// The copy-bandwidth baseline: memcpy in one piece per thread.
class copier {
 public:
  explicit copier(int threads) : threads_(threads), arena_(threads) {}
  void operator()(void* to, const void* from, std::size_t bytes) {
    arena_.execute([&] {
      tbb::parallel_for(
          0, threads_,
          [&](int i) {
            const std::size_t first = bytes / 64 * std::size_t(i) / std::size_t(threads_) * 64;
            const std::size_t last = i + 1 == threads_ ? bytes : bytes / 64 * std::size_t(i + 1) / std::size_t(threads_) * 64;
            std::memcpy(static_cast<char*>(to) + first, static_cast<const char*>(from) + first, last - first);
          },
          tbb::static_partitioner{});
    });
  }

 private:
  int threads_;
  tbb::task_arena arena_;
};

inline void write_rows(const std::string& path) {
  std::FILE* out = std::fopen(path.c_str(), "w");
  if (!out) {
    std::perror(path.c_str());
    std::exit(1);
  }
  const auto number = [](double x) { return std::isfinite(x) ? std::to_string(x * 1e6) + "e-6" : std::string("null"); };
  std::fputs("[", out);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const row& r = rows[i];
    std::fprintf(out, "%s\n{\"group\": \"%s\", \"case\": \"%s\", \"threads\": %d, \"ours_ms\": %s, \"baseline\": \"%s\", ", i ? "," : "",
                 r.group.c_str(), r.name.c_str(), r.threads, number(r.ours_ms).c_str(), r.baseline.c_str());
    std::fprintf(out, "\"baseline_ms\": %s, \"ratio\": %s", number(r.baseline_ms).c_str(), number(r.baseline_ms / r.ours_ms).c_str());
    if (std::isfinite(r.ulp)) std::fprintf(out, ", \"ulp\": %.3g, \"baseline_ulp\": %.3g", r.ulp, r.baseline_ulp);
    if (r.is_memory) std::fputs(", \"unit\": \"MiB\"", out);
    std::fputs("}", out);
  }
  std::fputs("\n]\n", out);
  if (std::fclose(out) != 0) {
    std::perror(path.c_str());
    std::exit(1);
  }
}

/// Call before registering rows: reads --quick.
inline void init(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) quick |= std::string_view(argv[i]) == "--quick";
}

/// Runs what is registered; `--json FILE` writes the rows.
inline int run(int argc, char** argv) {
  std::vector<char*> rest;
  std::string json;
  for (int i = 0; i < argc; ++i) {
    const std::string_view a = argv[i];
    if (a == "--quick") continue;
    if (a == "--json" && i + 1 < argc) json = argv[++i];
    else rest.push_back(argv[i]);
  }
  int count = int(rest.size());
  benchmark::Initialize(&count, rest.data());
  if (benchmark::ReportUnrecognizedArguments(count, rest.data())) return 1;
  benchmark::RunSpecifiedBenchmarks();
  if (!json.empty()) write_rows(json);
  return 0;
}

}  // namespace bench
