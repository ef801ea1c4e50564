#pragma once
/// cotangent: differentiable, batched, fused array programs, made by the C++ compiler. Includes everything.

#include <cotangent/compiler/explain.hpp>
#include <cotangent/control/control.hpp>
#include <cotangent/core/print.hpp>
#include <cotangent/fft/fft.hpp>
#include <cotangent/linalg/matrices.hpp>
#include <cotangent/nn/activations.hpp>
#include <cotangent/nn/attention.hpp>
#include <cotangent/nn/initializers.hpp>
#include <cotangent/nn/nn.hpp>
#include <cotangent/nn/pooling.hpp>
#include <cotangent/numpy/creation.hpp>
#include <cotangent/numpy/segments.hpp>
#include <cotangent/numpy/series.hpp>
#include <cotangent/numpy/shapes.hpp>
#include <cotangent/numpy/special.hpp>
#include <cotangent/numpy/statistics.hpp>
#include <cotangent/optimizers/losses.hpp>
#include <cotangent/optimizers/optimizers.hpp>
#include <cotangent/random/gamma.hpp>
#include <cotangent/random/random.hpp>
#include <cotangent/trace/convolution.hpp>
#include <cotangent/trace/ravel.hpp>
#include <cotangent/transforms/collectives.hpp>
#include <cotangent/transforms/custom.hpp>
#include <cotangent/transforms/custom_vmap.hpp>
