// SPDX-License-Identifier: LGPL-2.1-or-later
// API for applications that run a model themselves: attaches its tensors to buffers and reads
// boxes and counts.
//
// Call gst_init() first. All functions may be called from any thread; a buffer, or a
// KeepboxTensorInfo that is being changed, must be used by one thread at a time.
//
// Structs are opaque, so that they can grow. "Since" is the first version of the library with a
// function, and its symbol version.
#pragma once

#include "keepbox-box.h"
#include "keepbox-counts.h"
#include "keepbox-tensor.h"
#include "keepbox-version.h"
