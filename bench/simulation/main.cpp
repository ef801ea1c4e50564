/// Simulations against the same by hand and the limits of the machine (problems.hpp).

#include "problems.hpp"

int main(int argc, char** argv) {
  bench::init(argc, argv);
  simulation::ct::set_num_threads(2);
  simulation::add_lorenz<false>();
  simulation::add_lorenz<true>();
  simulation::add_black_scholes();
  simulation::add_lennard_jones();
  simulation::add_neighbours<false>();
  simulation::add_neighbours<true>();
  simulation::add_arm();
  simulation::add_rows<1024>();
  simulation::add_rows<simulation::ct::dyn>();
  simulation::add_attention();
  simulation::add_shallow_water<1>();
  simulation::add_shallow_water<10>();
  simulation::add_systems();
  simulation::add_elements<false>();
  simulation::add_elements<true>();
  simulation::add_nearest();
  simulation::add_nearest_gradients();
  return bench::run(argc, argv);
}
