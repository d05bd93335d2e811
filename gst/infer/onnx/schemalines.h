// SPDX-License-Identifier: LGPL-2.1-or-later
// Keeps ONNX Runtime's lines about schemas out of a program's messages.
#pragma once

namespace keepbox {

class SchemaLineFilter;

/// Drops lines that the calling thread writes to std::cerr and that begin with "Schema error", each
/// with the empty line after it, while the object exists. Everything else passes, whole and in
/// order; what other threads write passes at once. One object at a time. The standard library does
/// not protect std::cerr from a thread that writes while the filter is put there or taken away.
class WithoutSchemaLines {
 public:
  WithoutSchemaLines();
  WithoutSchemaLines(const WithoutSchemaLines&) = delete;
  WithoutSchemaLines& operator=(const WithoutSchemaLines&) = delete;
  ~WithoutSchemaLines();

 private:
  SchemaLineFilter* filter_ = nullptr;
};

}  // namespace keepbox
