/// The chains compiled with -ffast-math, so that the compiler vectorizes sin and cos with glibc's vector library.

#define BASELINES_DEFINE_FAST_CHAINS
#include "chains.hpp"

namespace baselines {
BASELINES_FAST_CHAINS(, 4)
BASELINES_FAST_CHAINS(, 20)
BASELINES_FAST_CHAINS(, 100)
}  // namespace baselines
