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
      return reject(ErrorKind::kInvalid,
                    std::string(property) + " has " + in_quotes(word) +
                        ", which is not boxes, counts or tracks",
                    "set " + std::string(property) + "= to a list of these, such as boxes,counts");
  }
  return out;
}

}  // namespace keepbox
