// SPDX-License-Identifier: LGPL-2.1-or-later
// A thread pool with threads of its own.
#pragma once

#include <memory>

#include "core/base/threads.h"

namespace keepbox {

/// Creates a pool of that many threads, at most kMaxThreads, or as many as can be started; nullptr
/// for one. Threads wait while idle and end with the pool. Its run() allocates nothing.
std::unique_ptr<ThreadPool> make_worker_threads(uint32_t threads);

}  // namespace keepbox
