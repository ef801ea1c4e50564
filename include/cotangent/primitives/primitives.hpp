#pragma once
/// All primitives. The rules of one family call functions of the others, so the families come in one order: whichever
/// header is included, it includes this one, and this one includes them all.

#include <limits>
#include <utility>

#include <cotangent/core/cofactors.hpp>
#include <cotangent/graph/elements.hpp>
#include <cotangent/graph/replay.hpp>
#include <cotangent/primitives/constant.hpp>

#define COTANGENT_PRIMITIVES_IN_ORDER
#include <cotangent/primitives/pointwise.hpp>
#include <cotangent/primitives/complex_functions.hpp>
#include <cotangent/primitives/logic.hpp>
#include <cotangent/primitives/arithmetic.hpp>
#include <cotangent/primitives/transcendental.hpp>
#include <cotangent/primitives/bits.hpp>
#include <cotangent/primitives/structural.hpp>
#include <cotangent/primitives/complex.hpp>
#include <cotangent/primitives/reductions.hpp>
#include <cotangent/primitives/cumulative.hpp>
#include <cotangent/primitives/contraction.hpp>
#include <cotangent/primitives/convolution.hpp>
#include <cotangent/primitives/indexing.hpp>
#include <cotangent/primitives/fft.hpp>
#include <cotangent/primitives/symmetry.hpp>
#include <cotangent/primitives/factorizations.hpp>
#include <cotangent/primitives/sorting.hpp>
#include <cotangent/primitives/decompositions.hpp>
#undef COTANGENT_PRIMITIVES_IN_ORDER
