/// The library's side of ./bench/cuda/run: prints a line of JSON per program with the median milliseconds of a call, as the JAX
/// side (programs.py) does for the same programs, names and sizes.

#include "measure.hpp"

int main() {
  try {
    const ct::device d = ct::devices<ct::cuda>().front();
    std::printf("{\"device\": \"%s\"}\n", d.description().c_str());
    measure_pointwise(d);
    measure_rows(d);
    measure_instances(d);
    measure_networks(d);
  } catch (const ct::error& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
}
