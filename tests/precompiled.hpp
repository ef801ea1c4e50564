/// What most tests include: compiled once for all of them where Meson's option `precompiled` is true.
#include "check_derivatives.hpp"
