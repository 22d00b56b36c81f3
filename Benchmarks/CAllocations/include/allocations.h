#ifndef BRUME_ALLOCATIONS_H
#define BRUME_ALLOCATIONS_H

/// How often this process has asked for memory: malloc, calloc, realloc and the aligned ones, of C, Swift and its runtime alike.
unsigned long long allocation_count(void);

#endif
