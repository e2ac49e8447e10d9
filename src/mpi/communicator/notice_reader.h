// NoticeReader is a thread that receives error notices when a rank waits inside an MPI library that must not make progress from there
// (may_make_progress). A pending call finds the notices at its next look. The thread is started when that first happens, which is only at
// MPI_THREAD_MULTIPLE, so that it may call MPI.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <set>
#include <thread>

#include "mpi/communicator/notice_box.h"

namespace crossrail::mpi {

class NoticeReader {
 public:
  static NoticeReader& of_process();
  // The thread soon reads `box`; this call itself makes no MPI call. Callers ask
  // again at every look. If the system refuses a thread, that is reported once.
  void read(std::shared_ptr<NoticeBox> box);
  // Stops for good, and returns when the thread has ended.
  void stop();

 private:
  void run();

  std::mutex mutex_;  // It is never held during MPI calls.
  std::condition_variable wake_;
  std::set<std::shared_ptr<NoticeBox>> asked_;
  std::thread thread_;
  bool started_ = false, stopping_ = false;
};

}  // namespace crossrail::mpi
