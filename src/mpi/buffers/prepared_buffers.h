// PreparedBuffers are the UserBuffers of a call that advances where MPI may not be called. They are opened before the call begins and closed after it
// has ended. Until then they keep what they need in memory of their own.
#pragma once

#include <string>

#include "comm/user_buffers.h"

namespace crossrail::mpi {

class PreparedBuffers final : public UserBuffers {
 public:
  explicit PreparedBuffers(UserBuffers& user) : user_(user) {}

  // An error here is told to the engine, which tells the other ranks, since these may have begun.
  void prepare() {
    const Status opened = user_.open(buffers_, nullptr);
    code_ = opened.code;
    if (!opened.ok()) what_ = opened.what;
  }
  Status finish() { return user_.close(); }

  Status open(Buffers& buffers, const Plan*) override {
    buffers = buffers_;
    return {code_, what_.c_str()};
  }
  Status close() override { return {}; }
  bool in_place() const override { return user_.in_place(); }

 private:
  UserBuffers& user_;
  Buffers buffers_;
  Code code_ = Code::ok;
  std::string what_;
};

}  // namespace crossrail::mpi
