/// The vector maths functions of float and double against those of libraries (functions.cpp).

#include "../harness.hpp"

namespace vector_maths {
template <class T> void add();
}

int main(int argc, char** argv) {
  bench::init(argc, argv);
  vector_maths::add<float>();
  vector_maths::add<double>();
  return bench::run(argc, argv);
}
