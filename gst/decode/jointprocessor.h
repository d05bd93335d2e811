// SPDX-License-Identifier: LGPL-2.1-or-later
// A processor for frames of several decoders whose plans are alike.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/run/processor.h"
#include "gst/decode/decoder.h"
#include "gst/decode/streamprocessor.h"

namespace keepbox {

/// Decodes prepared frames in one run.
class JointProcessor {
 public:
  /// Maximum number of frames in a run, which limits its memory.
  static constexpr size_t kMost = 64;

  /// @param like runs frames with the same plan one by one.
  explicit JointProcessor(const StreamProcessor& like);
  JointProcessor(const JointProcessor&) = delete;
  JointProcessor& operator=(const JointProcessor&) = delete;
  ~JointProcessor() { drop(); }

  /// True if a run makes the same boxes of its frames as that processor. If the settings of one
  /// that it took have changed, it takes that one again, and others if theirs have changed, too.
  /// @pre there is one
  bool takes(const StreamProcessor& other);
  /// Forgets all processors but those with these numbers, which it removes from them. @return false
  /// if it knows none.
  bool keep(std::vector<ProcessorNumber>& numbers);

  /// True if a frame can be in a run directly after another one. @param frame, next of processors
  /// that it takes.
  bool follows(const PreparedFrame& frame, const PreparedFrame& next) const;
  /// Decodes up to kMost frames of processors that it takes. kNoResource if there is no memory for
  /// so many, and from then on.
  Status run(std::span<const PreparedFrame* const> frames);
  /// Returns the processor with the results of the last run. @pre it was successful.
  const Processor& operator*() const { return *processor_; }

 private:
  Status make(size_t frames);
  void retune(const StreamProcessor& like);
  void drop();

  Plan plan_;  // of one frame
  ProcessorSite site_;
  std::vector<ProcessorNumber> alike_;  // of processors that it takes
  std::optional<Processor> processor_;
  Status made_;  // an error if there is no processor for these settings
};

}  // namespace keepbox
