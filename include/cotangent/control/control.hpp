#pragma once
/// Loops, branches and memory: scan, fori_loop, while_loop, cond, switch_, map, associative_scan, checkpoint.

#include <cotangent/control/associative_scan.hpp>
#include <cotangent/control/checkpoint.hpp>
#include <cotangent/control/cond.hpp>
#include <cotangent/control/map.hpp>
#include <cotangent/control/scan.hpp>
#include <cotangent/control/while_loop.hpp>
