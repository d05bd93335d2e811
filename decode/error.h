// SPDX-License-Identifier: LGPL-2.1-or-later
// Errors of the C functions.
#pragma once

#include "core/base/result.h"
#include "decode/keepbox-decode.h"

namespace keepbox {

/// Writes an error, with its message shortened to whole characters if it does not fit.
/// @param to may be null. @return its status.
KeepboxDecodeStatus report(const Error& error, KeepboxDecodeError* to);

/// Writes the error of a status, or success.
KeepboxDecodeStatus report(const Status& status, KeepboxDecodeError* to);

}  // namespace keepbox
