// SPDX-License-Identifier: LGPL-2.1-or-later
// What boxsink has from start to stop: the file, and what it counts.
#pragma once

#include <gst/gst.h>

#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/result.h"
#include "gst/base/outfile.h"
#include "gst/metas/analytics.h"
#include "gst/sink/boxwriter.h"
#include "gst/sink/classfiles.h"
#include "gst/sink/sinkprops.h"

namespace keepbox {

struct Session {
  SinkProps props;
  BoxWriter writer;
  std::optional<OutFile> file;        // but for kKitti and kDota
  std::optional<NumberedName> names;  // of kKitti
  std::optional<ClassFiles> classes;  // of kDota
  gint64 number = 0;                  // of the next frame
  guint64 frames = 0;
  std::set<GQuark> models;            // that boxes came from
  bool analysed = false;  // some frame had analytics, if without boxes
  bool ended = false;     // by EOS, after which a seek may bring more frames
  bool failed = false;
  std::vector<Error> warnings;  // for take_warnings()
  bool noted_older = false;     // files of earlier runs

  /// Opens the files that properties name. @param interrupt of waits for readers, outlives this.
  static Result<Session> open(const SinkProps& props, const Interrupt& interrupt);

  /// Writes the next frame. @param text is scratch memory.
  Status write(const FrameInfo& frame, std::span<const FrameBox> boxes, std::string& text);

  /// Names the files, and goes on with them after that.
  Status finish();
  Status resume();

  /// The files that have no name yet, in words; empty where there are none.
  std::string unnamed() const;

  /// What users want to know about the files, each once.
  std::vector<Error> take_warnings() { return std::exchange(warnings, {}); }

  /// From the frame on that shows a second model, each has the name that its decoder gave it.
  void tell_models_apart(std::span<FrameBox> boxes);

 private:
  Status write_file_of_frame(const std::string& text);
  void note_older(const OutFile& opened);
};

}  // namespace keepbox
