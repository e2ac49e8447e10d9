// of_thread returns a value of the thread's own that may still be asked for when the thread's other values have been destroyed, by
// functions that the process calls at its end, such as MPI_Finalize. In that case a new one is made, which stays.
#pragma once

namespace crossrail {

// There is one value for each `Tag`.
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
