// SPDX-License-Identifier: LGPL-2.1-or-later
// A custom query about a model, whose answer is a bool.
#include "gst/base/trackerquery.h"

#include "gst/base/customquery.h"

namespace keepbox {
namespace {

constexpr const char* kTracker = "keepbox-tracker";  // upstream

struct Question {
  const char* model = nullptr;
  bool answer = false;
};

}  // namespace

bool is_tracked(GstElement* element, const char* model) {
  Question question{.model = model};
  send_custom(element, "sink", kTracker, &question);
  return question.answer;
}

bool answer_tracked(GstQuery* query, const std::string& followed) {
  if (!is_custom(query, kTracker)) return false;
  auto* question = static_cast<Question*>(custom_answer(query));
  if (question->model != nullptr && !followed.empty() && followed != question->model) return false;
  return question->answer = true;
}

}  // namespace keepbox
