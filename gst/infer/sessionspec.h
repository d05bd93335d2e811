// SPDX-License-Identifier: LGPL-2.1-or-later
// The parameters of a model's session, in any runtime.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace keepbox {

/// Rules by which pictures of several frames run together.
struct BatchRules {
  unsigned size = 1;        // maximum number of pictures per run; 0: settled by measurement
  unsigned timeout_ms = 0;  // time that a batch waits to be full
  unsigned parallel = 0;    // sessions of a model that cannot run batches; 0: settled by need
  bool open = true;         // models with a fixed batch of 1 may be opened

  auto operator<=>(const BatchRules&) const = default;
};

/// Identifies the content of a file under a path.
struct FileStamp {
  uint64_t device = 0, inode = 0;
  int64_t bytes = 0, modified = 0, changed = 0;  // times in nanoseconds

  auto operator<=>(const FileStamp&) const = default;
};

/// The parameters of a session; equal specs are the same session.
struct SessionSpec {
  std::string file;
  std::string runtime_library;
  std::string provider = "cpu";  // "cpu", "cuda", or another name of the runtime's
  std::map<std::string, std::string> provider_options;  // keys of the runtime's
  int device = 0;                                       // for cuda
  unsigned threads = 0;                                 // for cpu; 0: chosen by the runtime
  unsigned width = 0, height = 0;  // of dynamic inputs, which are bound with one size
  bool graph = false;              // cuda: launches are captured once and replayed
  unsigned in_flight = 1;          // cuda: maximum number of runs in flight
  BatchRules batch;
  unsigned ahead = 0;            // frames that an element holds until their run is complete
  unsigned pictures = 1;         // per run of the session, on a GPU
  unsigned lane = 0;             // distinguishes sessions of a model that cannot run batches
  std::vector<FileStamp> files;  // identify the model's content

  auto operator<=>(const SessionSpec&) const = default;
};

}  // namespace keepbox
