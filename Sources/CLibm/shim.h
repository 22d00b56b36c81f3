#pragma once
// What distances on Earth need of the C mathematics library, and nothing else of the C library.
#include <math.h>

static inline double brume_sin(double x) { return sin(x); }
static inline double brume_cos(double x) { return cos(x); }
static inline double brume_asin(double x) { return asin(x); }
static inline double brume_atan2(double y, double x) { return atan2(y, x); }
