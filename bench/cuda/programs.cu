/// The library's side of ./bench/cuda/run: prints a line of JSON per program with the median milliseconds of a call, as the JAX
/// side (programs.py) does for the same programs, names and sizes.
///
///   programs [NAME [once]]    those whose names have NAME in them; called once, for a profiler

#include "measure.hpp"

int main(int count, char** arguments) {
  if (count > 1) only = arguments[1];
  is_profiled = count > 2 && arguments[2] == std::string_view("once");
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
