// SPDX-License-Identifier: LGPL-2.1-or-later
// Finds and reads files of families.
#include "gst/decode/detectorfile.h"

#include <glib.h>

#include "gst/base/infile.h"

namespace keepbox {

bool means_detector_file(const std::string& text) {
  return text != "auto" && find_detector(text) == nullptr &&
         (text.contains('/') || text.ends_with(".detector") ||
          g_file_test(text.c_str(), G_FILE_TEST_IS_REGULAR));
}

Result<DetectorFile> load_detector(const std::string& path) {
  constexpr size_t kMaxBytes = 64 * 1024;
  KB_ASSIGN(const auto text,
            read_text(path, kMaxBytes, "set detector= to a family or to a detector file"));
  return read_detector(text, path);
}

}  // namespace keepbox
