// SPDX-License-Identifier: LGPL-2.1-or-later
// Addresses of brokers.
#pragma once

#include <string>

#include "core/base/result.h"

namespace keepbox {

struct BrokerAddress {
  std::string host;
  int port = 0;
  bool tls = false;

  /// Parses HOST, HOST:PORT, mqtt://HOST:PORT or, with TLS, mqtts://HOST:PORT. An IPv6 address is
  /// in brackets. The default ports are 1883 and, with TLS, 8883.
  static Result<BrokerAddress> parse(const std::string& text);

  std::string text() const;
};

}  // namespace keepbox
