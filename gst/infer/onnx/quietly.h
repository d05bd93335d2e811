// SPDX-License-Identifier: LGPL-2.1-or-later
// Suppresses the harmless schema lines that Debian's ONNX Runtime writes to std::cerr by the
// hundred.
#pragma once

#include <iostream>
#include <mutex>
#include <streambuf>
#include <string>
#include <string_view>

namespace keepbox {

/// Drops lines on std::cerr that begin with this text, and empty lines after them, during its
/// lifetime; other lines pass, including those of other threads.
class WithoutSchemaErrors {
 public:
  WithoutSchemaErrors() { filter().begin(); }
  WithoutSchemaErrors(const WithoutSchemaErrors&) = delete;
  WithoutSchemaErrors& operator=(const WithoutSchemaErrors&) = delete;
  ~WithoutSchemaErrors() { filter().end(); }

 private:
  static constexpr std::string_view kDropped = "Schema error: ";

  class Filter : public std::streambuf {
   public:
    void begin() {
      const std::lock_guard guard(lock_);
      if (users_++ == 0) to_ = std::cerr.rdbuf(this);
    }
    void end() {
      const std::lock_guard guard(lock_);
      if (--users_ > 0) return;
      end_line();
      dropping_ = false;
      std::cerr.rdbuf(to_);
    }

   private:
    int_type overflow(int_type character) override {
      if (traits_type::eq_int_type(character, traits_type::eof())) return 0;
      const char one = traits_type::to_char_type(character);
      xsputn(&one, 1);
      return character;
    }

    std::streamsize xsputn(const char* text, std::streamsize count) override {
      const std::lock_guard guard(lock_);
      if (users_ == 0) return to_->sputn(text, count);  // from a writer that started before the end
      for (std::streamsize i = 0; i < count; ++i) {
        line_ += text[i];
        if (text[i] == '\n') end_line();
      }
      return count;
    }

    void end_line() {
      const bool dropped = line_.starts_with(kDropped) || (dropping_ && line_ == "\n");
      if (!dropped && !line_.empty())
        to_->sputn(line_.data(), static_cast<std::streamsize>(line_.size()));
      dropping_ = dropped;
      line_.clear();
    }

    std::mutex lock_;
    std::streambuf* to_ = nullptr;
    std::string line_;
    unsigned users_ = 0;
    bool dropping_ = false;
  };

  /// Never destroyed, because other threads may still be using it.
  static Filter& filter() {
    static auto& only = *new Filter;
    return only;
  }
};

}  // namespace keepbox
