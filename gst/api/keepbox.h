// SPDX-License-Identifier: LGPL-2.1-or-later
// keepbox for applications that run a model themselves: its tensors onto buffers, boxes off them.
//
// gst_init() comes before all of this. Every function may be called from any thread; a buffer, and
// a KeepboxTensorInfo that is being changed, is used by one at a time.
//
// Structs are opaque, so that they can grow. "Since" is the first version of the library with a
// function, and the name of the version that ld.so asks for.
#pragma once

#include "keepbox-box.h"
#include "keepbox-tensor.h"
#include "keepbox-version.h"
