// SPDX-License-Identifier: LGPL-2.1-or-later
// Names and answers of the queries.
#include "gst/tensors/familyquery.h"

#include <utility>

#include "core/recognition/grid.h"
#include "gst/base/customquery.h"

namespace keepbox {
namespace {

constexpr const char* kFamily = "keepbox-family";      // downstream, to a decoder
constexpr const char* kProducer = "keepbox-producer";  // upstream, to an inference element
constexpr const char* kInput = "keepbox-input";        // downstream, to a decoder

template <class Answer>
Answer* answer_of(GstQuery* query) {
  return static_cast<Answer*>(custom_answer(query));
}

}  // namespace

std::optional<WantedFamily> ask_family(GstElement* inference) {
  bool another = false;
  send_custom(inference, "sink", kProducer, &another);
  if (another) return std::nullopt;
  std::optional<WantedFamily> family;
  send_custom(inference, "src", kFamily, &family);
  return family;
}

bool asks_family(GstQuery* query) { return is_custom(query, kFamily); }

void answer_family(GstQuery* query, WantedFamily family) {
  *answer_of<std::optional<WantedFamily>>(query) = std::move(family);
}

bool meets_family_query(GstQuery* query, gboolean& answered) {
  if (is_custom(query, kProducer)) *answer_of<bool>(query) = true;
  else if (!is_custom(query, kFamily)) return false;
  answered = is_custom(query, kProducer);
  return true;
}

bool ends_producer_query(GstQuery* query) { return is_custom(query, kProducer); }

Size ask_input_size(GstElement* source) {
  InputQuestion question;
  send_custom(source, "src", kInput, &question);
  if (question.answer.width != 0 || question.tensors.empty()) return question.answer;
  return likely_input(question.tensors.front().shape);
}

InputQuestion* input_question(GstQuery* query) {
  return is_custom(query, kInput) ? answer_of<InputQuestion>(query) : nullptr;
}

}  // namespace keepbox
