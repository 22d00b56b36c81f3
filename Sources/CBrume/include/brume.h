#pragma once
/// Thin C shims for system interfaces that Swift can't import: macros, variadics and bit-field structs.
