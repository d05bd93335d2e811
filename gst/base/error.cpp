// SPDX-License-Identifier: LGPL-2.1-or-later
// Maps kinds of Error to GStreamer's domains and codes.
#include "gst/base/error.h"

#include "core/base/text.h"

namespace keepbox {
namespace {

struct Code {
  GQuark domain;
  int code;
};

Code code_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kMismatch:
    case ErrorKind::kAmbiguous: return {GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT};
    case ErrorKind::kUnsupported: return {GST_STREAM_ERROR, GST_STREAM_ERROR_NOT_IMPLEMENTED};
    case ErrorKind::kTruncated: return {GST_STREAM_ERROR, GST_STREAM_ERROR_DECODE};
    case ErrorKind::kInvalid: return {GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_SETTINGS};
    case ErrorKind::kNoResource: return {GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_FAILED};
    case ErrorKind::kInterrupted: break;
  }
  return {GST_STREAM_ERROR, GST_STREAM_ERROR_FAILED};
}

/// Escapes a control character as in C.
std::string escaped(gunichar control) {
  if (control == '\n') return "\\n";
  if (control == '\t') return "\\t";
  g_autofree gchar* out = g_strdup_printf("\\x%02x", control);
  return out;
}

/// Makes an error printable: it may quote file names of arbitrary bytes; NUL would end the text,
/// and terminals interpret control characters.
std::string shown(const Error& error) {
  const std::string text = error.message();
  g_autofree gchar* valid = g_utf8_make_valid(text.data(), static_cast<gssize>(text.size()));
  std::string out;
  for (const gchar* at = valid; *at != '\0'; at = g_utf8_next_char(at)) {
    const gunichar c = g_utf8_get_char(at);
    if (g_unichar_iscntrl(c)) out += escaped(c);
    else out.append(at, g_utf8_next_char(at));
  }
  return out;
}

void post(GstElement* element, GstMessageType type, const Error& error,
          const std::source_location& where) {
  const Code code = code_of(error.kind);
  const std::string text = shown(error);
  // gst-launch-1.0 -q hides warnings; the log shows them.
  if (type == GST_MESSAGE_WARNING) GST_WARNING_OBJECT(element, "%s", text.c_str());
  gst_element_message_full(element, type, code.domain, code.code, g_strdup(text.c_str()), nullptr,
                           where.file_name(), where.function_name(),
                           static_cast<gint>(where.line()));
}

}  // namespace

void post_error(GstElement* element, const Error& error, std::source_location where) {
  post(element, GST_MESSAGE_ERROR, error, where);
}

void post_warning(GstElement* element, const Error& error, std::source_location where) {
  post(element, GST_MESSAGE_WARNING, error, where);
}

void post_warnings(GstElement* element, std::span<const Error> errors, std::source_location where) {
  for (const Error& error : errors) post_warning(element, error, where);
}

void set_error(GError** out, const Error& error) {
  const Code code = code_of(error.kind);
  g_set_error_literal(out, code.domain, code.code, shown(error).c_str());
}

void warn_kept(GObject* element, const GParamSpec* spec, Error error) {
  g_autofree gchar* kept = nullptr;
  g_object_get(element, spec->name, &kept, nullptr);
  error.hint += std::string("; ") + spec->name + " stays " + in_quotes(kept != nullptr ? kept : "");
  post_warning(GST_ELEMENT(element), error);
}

}  // namespace keepbox
