#pragma once
/// Mathematical functions of packs, found by argument-dependent lookup: exp(x), sin(x), pow(x, y), ...
/// One text for float and double, every width, and scalars in device code. Errors are maxima over random
/// arguments from the whole domain, against libquadmath; tests/maths.cpp asserts 2 ULP.

#include <cotangent/backends/cpu/maths/error_function.hpp>
#include <cotangent/backends/cpu/maths/exponential.hpp>
#include <cotangent/backends/cpu/maths/gamma.hpp>
#include <cotangent/backends/cpu/maths/inverse.hpp>
#include <cotangent/backends/cpu/maths/inverse_hyperbolic.hpp>
#include <cotangent/backends/cpu/maths/logarithm.hpp>
#include <cotangent/backends/cpu/maths/power.hpp>
#include <cotangent/backends/cpu/maths/remainder.hpp>
#include <cotangent/backends/cpu/maths/trigonometric.hpp>
#ifdef __CUDACC__
#include <cotangent/backends/cuda/maths.hpp>
#endif
