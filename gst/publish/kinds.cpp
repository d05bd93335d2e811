// SPDX-License-Identifier: LGPL-2.1-or-later
// Parses lists of kinds.
#include "gst/publish/kinds.h"

#include "gst/base/words.h"

namespace keepbox {

Result<Kinds> Kinds::parse(const std::string& text, const char* property) {
  Kinds out;
  for (const std::string_view word : split(text, ',')) {
    if (word == "boxes") out.boxes = true;
    else if (word == "counts") out.counts = true;
    else if (word == "tracks") out.tracks = true;
    else if (!word.empty())
      return fail(ErrorKind::kInvalid, "a list of boxes, counts and tracks", in_quotes(word),
                  "set " + std::string(property) + "= to such a list, as in boxes,counts");
  }
  return out;
}

}  // namespace keepbox
