// SPDX-License-Identifier: LGPL-2.1-or-later
// Queries of this project's elements.
#include "gst/base/queries.h"

namespace keepbox {
namespace {

constexpr const char* kAnswer = "answer";

}  // namespace

bool is_custom(GstQuery* query, const char* name) {
  if (GST_QUERY_TYPE(query) != GST_QUERY_CUSTOM) return false;
  const GstStructure* structure = gst_query_get_structure(query);
  return structure != nullptr && gst_structure_has_name(structure, name);
}

void send_custom(GstElement* element, const char* pad, const char* name, gpointer answer) {
  g_autoptr(GstPad) from = gst_element_get_static_pad(element, pad);
  GstStructure* structure = gst_structure_new(name, kAnswer, G_TYPE_POINTER, answer, nullptr);
  g_autoptr(GstQuery) query = gst_query_new_custom(GST_QUERY_CUSTOM, structure);
  if (from != nullptr) gst_pad_peer_query(from, query);
}

gpointer custom_answer(GstQuery* query) {
  gpointer answer = nullptr;
  gst_structure_get(gst_query_get_structure(query), kAnswer, G_TYPE_POINTER, &answer, nullptr);
  return answer;
}

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
