// A value of the thread's own that may still be asked for when the thread's others have been destroyed: by functions that the process calls
// at its end, MPI_Finalize among them. Then there is a new one, which stays.
#pragma once

namespace crossrail {

// One for each `Tag`.
template <class Value, class Tag>
Value& of_thread() {
  static thread_local Value* value = nullptr;
  struct Owner {
    ~Owner() {
      delete value;
      value = nullptr;
    }
  };
  static thread_local Owner owner;
  if (value == nullptr) value = new Value;
  return *value;
}

}  // namespace crossrail
