// SPDX-License-Identifier: LGPL-2.1-or-later
// Keeps the input of a run that ends the program.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace keepbox::fuzz {

/// Seconds of the processors that a run may take, and of the clock: it may wait for something, and
/// others may work on the machine. One that takes longer is a finding.
inline constexpr unsigned kMostSeconds = 30, kMostWait = 200;

/// From now on signals, sanitizers and these two write the input of the run to
/// `crash-SURFACE-HASH` in the current folder, and say how it is run again.
/// @param program as it was called. @param files the inputs are files already: only say which.
void watch(const char* program, bool files);

/// A run begins. @param bytes stand until it ends. @param path of the file, where it is one.
void begin_run(std::span<const uint8_t> bytes, const std::string& path = {});
void end_run();

/// "core-0123456789abcdef": a name for an input.
std::string name_of(std::span<const uint8_t> bytes);

}  // namespace keepbox::fuzz
