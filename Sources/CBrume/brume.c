#include "brume.h"
