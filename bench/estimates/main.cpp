/// The cost model against the clock (estimates.hpp).

#include "estimates.hpp"

int main(int argc, char** argv) {
  bench::init(argc, argv);
  estimates::ct::set_num_threads(1);
  estimates::add_distances();
  estimates::add_rotations();
  estimates::add_determinants<false>();
  estimates::add_determinants<true>();
  return bench::run(argc, argv);
}
