// SPDX-License-Identifier: LGPL-2.1-or-later
// A server that accepts nothing by itself.
#pragma once

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <vector>

#include "core/base/infile.h"

namespace keepbox::test {

/// Listens at any free port of this host.
class Listener {
 public:
  /// @param waiting connections that wait to be accepted; further ones are not answered
  explicit Listener(int waiting) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    EXPECT_EQ(listen(socket_.number(), waiting), 0);
  }

  sockaddr_in address() const {
    sockaddr_in out{};
    socklen_t size = sizeof out;
    getsockname(socket_.number(), reinterpret_cast<sockaddr*>(&out), &size);
    out.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return out;
  }
  int port() const { return ntohs(address().sin_port); }

  Descriptor accepted() const { return Descriptor(accept(socket_.number(), nullptr, nullptr)); }

 private:
  Descriptor socket_;
};

/// Connects until the server no longer answers.
inline std::vector<Descriptor> fill(const Listener& server) {
  std::vector<Descriptor> out;
  const sockaddr_in address = server.address();
  for (int i = 0; i < 64; ++i) {
    out.emplace_back(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    connect(out.back().number(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
  }
  return out;
}

}  // namespace keepbox::test
