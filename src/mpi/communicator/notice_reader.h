// NoticeReader: a thread that receives error notices where a rank waits inside an MPI library whose progress may not be made from there
// (may_make_progress): a call that is pending finds them at its next look. There is none until that happens, which is
// only at MPI_THREAD_MULTIPLE, so that it may call MPI.
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
  // Soon; calls no MPI itself. Whoever asks asks again. If the system gives no thread, that is said once.
  void read(std::shared_ptr<NoticeBox> box);
  // For good. Returns when the thread has ended.
  void stop();

 private:
  void run();

  std::mutex mutex_;  // never held while MPI is called
  std::condition_variable wake_;
  std::set<std::shared_ptr<NoticeBox>> asked_;
  std::thread thread_;
  bool started_ = false, stopping_ = false;
};

}  // namespace crossrail::mpi
