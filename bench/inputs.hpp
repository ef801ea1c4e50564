#pragma once
/// The inputs of benchmarks.

#include <cstdint>
#include <random>
#include <type_traits>

namespace bench {

/// Fills arrays with numbers from one sequence.
class source {
 public:
  explicit source(unsigned seed = 1) : random_(seed) {}
  template <class... Array> void uniform(double low, double high, Array&... a) { (fill(a, std::uniform_real_distribution<double>(low, high)), ...); }
  template <class... Array> void normal(Array&... a) { (fill(a, std::normal_distribution<double>()), ...); }
  /// 0 to end - 1.
  std::int32_t index(std::size_t end) { return std::int32_t(random_() % end); }

 private:
  template <class Array, class Distribution> void fill(Array& a, Distribution d) {
    for (auto& x : a) x = static_cast<std::remove_reference_t<decltype(x)>>(d(random_));
  }
  std::mt19937 random_;
};

}  // namespace bench
