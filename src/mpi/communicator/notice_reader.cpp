#include "mpi/communicator/notice_reader.h"

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/log.h"
#include "base/own_thread.h"

namespace crossrail::mpi {

NoticeReader& NoticeReader::of_process() {
  static NoticeReader& one = *new NoticeReader;  // It outlives every static object.
  return one;
}

void NoticeReader::read(std::shared_ptr<NoticeBox> box) {
  const std::lock_guard lock(mutex_);
  if (stopping_) return;
  asked_.insert(std::move(box));
  if (!std::exchange(started_, true)) {
    thread_ = start_own_thread("crossrail-reads", [this] { run(); });
    if (!thread_.joinable()) {
      log_line(LogLevel::error, "cannot create a thread that reads other ranks' error reports while this one waits in MPI: %s", std::strerror(errno));
    }
  }
  wake_.notify_one();
}

void NoticeReader::stop() {
  std::thread ending;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    asked_.clear();
    wake_.notify_one();
    std::swap(ending, thread_);
  }
  if (ending.joinable()) ending.join();
}

void NoticeReader::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [this] { return stopping_ || !asked_.empty(); });
    if (stopping_) return;
    const auto boxes = std::exchange(asked_, {});
    lock.unlock();
    for (const auto& box : boxes) box->fetch();
    lock.lock();
  }
}

}  // namespace crossrail::mpi
