// SPDX-License-Identifier: LGPL-2.1-or-later
// Keeps the input of a run that terminates the program.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace keepbox::fuzz {

/// Maximum CPU seconds of a run, and wall-clock seconds, as it may wait, or the machine may be
/// busy. A longer run is a finding.
inline constexpr unsigned kMaxSeconds = 30, kMaxWait = 200;

/// Makes signals, sanitizers and timeouts write the input of the run to `crash-SURFACE-HASH` in the
/// current folder, and print how to run it again.
/// @param program as it was called. @param files the inputs are files already: only print the path.
void watch(const char* program, bool files);

/// Starts a run. @param bytes must stay valid until it ends. @param path of the file, if there is
/// one.
void begin_run(std::span<const uint8_t> bytes, const std::string& path = {});
void end_run();

/// Returns a name for an input, such as "core-0123456789abcdef".
std::string name_of(std::span<const uint8_t> bytes);

}  // namespace keepbox::fuzz
