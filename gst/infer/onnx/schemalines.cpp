// SPDX-License-Identifier: LGPL-2.1-or-later
// Puts a filter in front of std::cerr.
#include "gst/infer/onnx/schemalines.h"

#include <atomic>
#include <iostream>
#include <streambuf>
#include <string>
#include <string_view>
#include <thread>

namespace keepbox {

class SchemaLineFilter final : public std::streambuf {
 public:
  explicit SchemaLineFilter(std::streambuf* to) : to_(to) {}

  std::streambuf* to() const { return to_; }
  /// Passes the rest of a line, and from now on everything.
  void end() {
    to_->sputn(line_.data(), static_cast<std::streamsize>(line_.size()));
    line_.clear();
    thread_ = std::thread::id();
  }

 protected:
  std::streamsize xsputn(const char* text, std::streamsize count) override {
    if (std::this_thread::get_id() != thread_) return to_->sputn(text, count);
    for (const char each : std::string_view(text, static_cast<size_t>(count))) add(each);
    return count;
  }
  int_type overflow(int_type value) override {
    if (traits_type::eq_int_type(value, traits_type::eof())) return traits_type::not_eof(value);
    const char text = traits_type::to_char_type(value);
    return xsputn(&text, 1) == 1 ? value : traits_type::eof();
  }
  int sync() override { return to_->pubsync(); }

 private:
  void add(char next) {
    line_ += next;
    if (next != '\n') return;
    const bool schema = line_.starts_with("Schema error");
    if (!schema && !(dropped_ && line_ == "\n"))
      to_->sputn(line_.data(), static_cast<std::streamsize>(line_.size()));
    dropped_ = schema;
    line_.clear();
  }

  std::streambuf* const to_;
  std::atomic<std::thread::id> thread_ = std::this_thread::get_id();
  std::string line_;      // of that thread
  bool dropped_ = false;  // the line before was of that kind
};

// The filter is never destroyed, because another thread may be writing through it.
WithoutSchemaLines::WithoutSchemaLines() {
  if (std::cerr.rdbuf() == nullptr) return;  // silenced by the application
  filter_ = new SchemaLineFilter(std::cerr.rdbuf());
  std::cerr.rdbuf(filter_);
}

WithoutSchemaLines::~WithoutSchemaLines() {
  if (filter_ == nullptr) return;
  if (std::cerr.rdbuf() == filter_) std::cerr.rdbuf(filter_->to());
  filter_->end();
}

}  // namespace keepbox
