/// Loops against the same by hand and JAX (loops.hpp).

#include "loops.hpp"

int main(int argc, char** argv) {
  bench::init(argc, argv);
  loops::ct::set_num_threads(2);
  loops::add_recurrence();
  loops::add_rigid_body();
  loops::add_heat_equation();
  loops::add_network();
  return bench::run(argc, argv);
}
