// SPDX-License-Identifier: LGPL-2.1-or-later
// A file of a model family.
#pragma once

#include <string>

namespace keepbox::test {

inline const std::string kRowsFile =
    "# rows of class, score, x, y, w, h\n"
    "[detector]\n"
    "reader=ready\n"
    "box-column=2\n"
    "score-column=1\n"
    "class-id-column=0\n"
    "coding=top-left-size\n"
    "\n"
    "[tensor all]\n"
    "ids=rows\n";

inline std::string replaced(std::string text, const std::string& from, const std::string& to) {
  return text.replace(text.find(from), from.size(), to);
}

}  // namespace keepbox::test
