/// The vector maths functions of float and double against those of libraries (functions.cpp).

#include "../harness.hpp"
#include "functions.hpp"

template <class T> void add_all() {
  using enum vector_maths::function_kind;
  vector_maths::add<T, elementary>();
  vector_maths::add<T, trigonometric>();
  vector_maths::add<T, special>();
}

int main(int argc, char** argv) {
  bench::init(argc, argv);
  add_all<float>();
  add_all<double>();
  return bench::run(argc, argv);
}
