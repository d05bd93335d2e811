// SPDX-License-Identifier: LGPL-2.1-or-later
// State of boxsink between start and stop: the files and counters.
#pragma once

#include <gst/gst.h>

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "gst/base/outfile.h"
#include "gst/metas/framebox.h"
#include "gst/sink/boxwriter.h"
#include "gst/sink/classfiles.h"
#include "gst/sink/fileseries.h"
#include "gst/sink/sinkprops.h"

namespace keepbox {

struct Session {
  SinkProps props;
  BoxWriter writer;
  FileSeries series;  // for formats other than kKitti
  const Interrupt* interrupt;
  std::optional<OutFile> file;        // for formats other than kKitti and kDota
  std::optional<NumberedName> names;  // for kKitti
  std::optional<ClassFiles> classes;  // for kDota
  gint64 number = 0;                  // of the next frame
  bool looked_for_tracker = false;    // upstream, for kMot
  bool tracked = false;               // there is one, or a box had an id
  bool ended = false;                 // by EOS, after which a seek may bring more frames
  bool failed = false;
  std::vector<Error> warnings;        // returned by take_warnings()
  std::vector<std::string> finished;  // paths that have their final names, not reported yet
  bool noted_older = false;           // a file of an earlier run was reported

  /// Opens the files that properties name. @param interrupt of waits for readers; outlives the
  /// session.
  static Result<Session> open(const SinkProps& props, const Interrupt& interrupt);

  /// Writes the next frame. @param text is scratch memory.
  Status write(const FrameInfo& frame, std::span<const FrameBox> boxes, std::string& text);

  /// Gives the files their final names; resume() continues with them.
  Status finish() { return finish_with(writer.tail()); }
  Status resume();

  /// Returns the files that have no final name yet, as text; empty if there are none.
  std::string unnamed() const;

  /// Removes an unfinished file in which there is no frame. @param frames written to all files.
  /// @return true if there was one.
  bool discard_empty(guint64 frames);

  /// Returns messages about the files, each once.
  std::vector<Error> take_warnings() { return std::exchange(warnings, {}); }

 private:
  Status open_next();
  Status begin_next(std::string_view tail);
  Status finish_with(std::string_view tail);
  Status write_classes(const FrameInfo& frame, std::span<const FrameBox> boxes);
  Status write_file_of_frame(const std::string& text);
  void note_older(const OutFile& opened);
};

}  // namespace keepbox
