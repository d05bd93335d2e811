// SPDX-License-Identifier: LGPL-2.1-or-later
// Names and answers of the queries.
#include "gst/tensors/familyquery.h"

#include <utility>

#include "core/recognition/maps.h"
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

std::optional<WantedFamily> query_family(GstElement* inference) {
  bool another = false;
  send_custom(inference, "sink", kProducer, &another);
  if (another) return std::nullopt;
  std::optional<WantedFamily> family;
  send_custom(inference, "src", kFamily, &family);
  return family;
}

bool is_family_query(GstQuery* query) { return is_custom(query, kFamily); }

void answer_family_query(GstQuery* query, WantedFamily family) {
  *answer_of<std::optional<WantedFamily>>(query) = std::move(family);
}

bool handle_family_query(GstQuery* query, gboolean& answered) {
  if (is_custom(query, kProducer)) *answer_of<bool>(query) = true;
  else if (!is_custom(query, kFamily)) return false;
  answered = is_custom(query, kProducer);
  return true;
}

bool handle_producer_query(GstQuery* query) { return is_custom(query, kProducer); }

Size query_input_size(GstElement* source) {
  InputSizeQuery question;
  send_custom(source, "src", kInput, &question);
  if (question.answer.width != 0 || question.tensors.empty()) return question.answer;
  return likely_input(question.tensors.front().shape);
}

InputSizeQuery* input_size_query(GstQuery* query) {
  return is_custom(query, kInput) ? answer_of<InputSizeQuery>(query) : nullptr;
}

}  // namespace keepbox
