// SPDX-License-Identifier: LGPL-2.1-or-later
// A custom query whose answer is a bool.
#include "gst/base/trackerquery.h"

#include "gst/base/customquery.h"

namespace keepbox {
namespace {

constexpr const char* kTracker = "keepbox-tracker";  // upstream

}  // namespace

bool is_tracked(GstElement* sink) {
  bool answer = false;
  send_custom(sink, "sink", kTracker, &answer);
  return answer;
}

bool answer_tracked(GstQuery* query) {
  if (!is_custom(query, kTracker)) return false;
  *static_cast<bool*>(custom_answer(query)) = true;
  return true;
}

}  // namespace keepbox
