#pragma once
/// cotangent: differentiable, batched, fused array programs, made by the C++ compiler. Includes everything.

#include <cotangent/compiler/jit.hpp>
#include <cotangent/core/print.hpp>
#include <cotangent/transforms/vmap.hpp>
