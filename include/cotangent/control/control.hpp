#pragma once
/// Loops, branches, memory, and solutions that are differentiated by what they solve.

#include <cotangent/control/associative_scan.hpp>
#include <cotangent/control/checkpoint.hpp>
#include <cotangent/control/cond.hpp>
#include <cotangent/control/implicit.hpp>
#include <cotangent/control/map.hpp>
#include <cotangent/control/odeint.hpp>
#include <cotangent/control/scan.hpp>
#include <cotangent/control/while_loop.hpp>
