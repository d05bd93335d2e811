// SPDX-License-Identifier: LGPL-2.1-or-later
// Custom queries, answered synchronously: they carry a pointer to the answer.
#include "gst/tensors/familyquery.h"

#include <utility>

#include "core/recognition/grid.h"

namespace keepbox {
namespace {

constexpr const char* kFamily = "keepbox-family";      // downstream, to a decoder
constexpr const char* kProducer = "keepbox-producer";  // upstream, to an inference element
constexpr const char* kInput = "keepbox-input";        // downstream, to a decoder
constexpr const char* kAnswer = "answer";

bool is_named(GstQuery* query, const char* name) {
  if (GST_QUERY_TYPE(query) != GST_QUERY_CUSTOM) return false;
  const GstStructure* structure = gst_query_get_structure(query);
  return structure != nullptr && gst_structure_has_name(structure, name);
}

template <class Answer>
Answer* answer_of(GstQuery* query) {
  gpointer answer = nullptr;
  gst_structure_get(gst_query_get_structure(query), kAnswer, G_TYPE_POINTER, &answer, nullptr);
  return static_cast<Answer*>(answer);
}

template <class Answer>
void ask(GstElement* element, const char* pad_name, const char* name, Answer& answer) {
  g_autoptr(GstPad) pad = gst_element_get_static_pad(element, pad_name);
  GstStructure* structure = gst_structure_new(name, kAnswer, G_TYPE_POINTER, &answer, nullptr);
  g_autoptr(GstQuery) query = gst_query_new_custom(GST_QUERY_CUSTOM, structure);
  if (pad != nullptr) gst_pad_peer_query(pad, query);
}

}  // namespace

std::optional<WantedFamily> ask_family(GstElement* inference) {
  bool another = false;
  ask(inference, "sink", kProducer, another);
  if (another) return std::nullopt;
  std::optional<WantedFamily> family;
  ask(inference, "src", kFamily, family);
  return family;
}

bool asks_family(GstQuery* query) { return is_named(query, kFamily); }

void answer_family(GstQuery* query, WantedFamily family) {
  *answer_of<std::optional<WantedFamily>>(query) = std::move(family);
}

bool meets_family_query(GstQuery* query, gboolean& answered) {
  if (is_named(query, kProducer)) *answer_of<bool>(query) = true;
  else if (!is_named(query, kFamily)) return false;
  answered = is_named(query, kProducer);
  return true;
}

bool ends_producer_query(GstQuery* query) { return is_named(query, kProducer); }

Size ask_input_size(GstElement* source) {
  InputQuestion question;
  ask(source, "src", kInput, question);
  if (question.answer.width != 0 || question.tensors.empty()) return question.answer;
  return likely_input(question.tensors.front().shape);
}

InputQuestion* input_question(GstQuery* query) {
  return is_named(query, kInput) ? answer_of<InputQuestion>(query) : nullptr;
}

}  // namespace keepbox
