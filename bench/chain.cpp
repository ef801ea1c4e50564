/// Chains of pointwise operations against loops written by hand, and those of little arithmetic against a copy.

#include "chain.hpp"
#include "harness.hpp"

int main(int argc, char** argv) {
  using enum baselines::chain_kind;
  bench::init(argc, argv);
  add_chains<compute, 4>();
  add_chains<compute, 20>();
  add_chains<compute, 100>();
  add_chains<memory, 4>();
  add_chains<memory, 20>();
  add_chains<memory, 100>();
  return bench::run(argc, argv);
}
