/// Operations on arrays against loops by hand (arrays.hpp).

#include "arrays.hpp"

int main(int argc, char** argv) {
  bench::init(argc, argv);
  arrays::ct::set_num_threads(1);
  arrays::add_short_rows();
  arrays::add_gathered_rows();
  arrays::add_series();
  arrays::add_layouts();
  arrays::add_places();
  arrays::add_transforms();
  arrays::add_convolutions();
  arrays::add_programs();
  return bench::run(argc, argv);
}
