#pragma once
/// What the measured programs share. A file of programs has a function that measures them on a device; main is in programs.cu.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string_view>
#include <vector>

#include <cotangent/cotangent.hpp>

namespace ct = cotangent;
using ct::extent;

inline double milliseconds() { return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

/// What is measured: names with this in them; or, for profilers, what is called once.
inline std::string_view only;
inline bool is_profiled = false;

/// The median time of a call when calls follow each other without a wait, over samples of several calls. `bytes` is what a
/// program must read and write at least, `flops` what a product of matrices must compute; 0: not told.
template <class Call> void measure(const char* name, const ct::device& d, double bytes, double flops, const Call& call) {
  if (std::string_view(name).find(only) == std::string_view::npos) return;
  call();
  d.memory().wait();
  if (is_profiled) return;
  int calls = 1;
  std::vector<double> times;
  for (int sample = 0; sample < 25; ++sample) {
    const double start = milliseconds();
    for (int k = 0; k < calls; ++k) call();
    d.memory().wait();
    const double took = milliseconds() - start;
    if (sample >= 4) times.push_back(took / calls);
    else calls = std::clamp(int(20 / (took / calls)), 1, 20000);  // samples of about 20 ms
  }
  std::nth_element(times.begin(), times.begin() + long(times.size() / 2), times.end());
  std::printf("{\"name\": \"%s\", \"ms\": %.6g, \"bytes\": %.6g, \"flops\": %.6g}\n", name, times[times.size() / 2], bytes, flops);
  std::fflush(stdout);
}

/// The same numbers in [-1, 1] on every run, and on the JAX side those of another generator: times do not depend on them.
template <class T, extent... E> ct::device_array<T, E...> numbers(const ct::device& d, double low = -1, double high = 1) {
  static std::uint64_t state = 1;
  ct::array<T, E...> a;
  for (T& x : a) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    x = T(low + (high - low) * double(state >> 40) / double(1 << 24));
  }
  return ct::device_put(a, d);
}

void measure_pointwise(const ct::device& d);
void measure_rows(const ct::device& d);
void measure_instances(const ct::device& d);
void measure_networks(const ct::device& d);
