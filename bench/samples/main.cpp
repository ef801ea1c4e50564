/// Losses over many samples against the same by hand with Eigen (samples.hpp).

#include "samples.hpp"

int main(int argc, char** argv) {
  bench::init(argc, argv);
  for (const int threads : {2, 1}) {
    samples::add_linear_models(threads);
    samples::add_moments(threads);
    samples::add_network(threads);
  }
  return bench::run(argc, argv);
}
