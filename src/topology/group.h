// Group is some ranks of a communicator, in an order, and which of them this rank is. Algorithms run over a Group: the world of the
// communicator, a node, a lane, the leaders. They number blocks and partners by its members, and send messages to group[member]. What goes
// through the control block needs the group to be this node.
//
// A Group is a small value, to be copied: ranks at equal distances need no list, and other groups refer to a list that GroupLists keeps.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <vector>

namespace crossrail {

class Group {
 public:
  Group() = default;  // This makes a group without members.
  // `ranks` must outlive the Group if it is `listed`. `rank` is this rank.
  Group(std::span<const int> ranks, int rank);
  // Returns the group of ranks 0, 1, ...
  static Group world(int size, int rank);

  int size() const { return size_; }
  int index() const { return index_; }  // This is this rank's index, or -1 if it is no member.
  int operator[](int index) const { return list_ != nullptr ? list_[index] : first_ + index * stride_; }
  bool listed() const { return list_ != nullptr; }
  // Returns whether every member is the rank after the one before.
  bool consecutive() const { return list_ == nullptr && stride_ == 1; }

  // The iterator holds a copy of the Group, so that the compiler need not fear that the body of a loop changes it.
  struct Iterator;
  inline Iterator begin() const;
  inline Iterator end() const;

 private:
  const int* list_ = nullptr;
  int first_ = 0, stride_ = 1;
  int size_ = 0;
  int index_ = -1;
};

struct Group::Iterator {
  Group group;
  int at;
  int operator*() const { return group[at]; }
  Iterator& operator++() {
    ++at;
    return *this;
  }
  bool operator==(const Iterator& other) const { return at == other.at; }
};

inline Group::Iterator Group::begin() const { return {*this, 0}; }
inline Group::Iterator Group::end() const { return {*this, size_}; }

// GroupLists makes Groups and keeps their lists, which its copies share.
class GroupLists {
 public:
  Group make(std::vector<int> ranks, int rank);
  // Returns the members of `group` that have the same label, as groups in the order of their first members. `labels` has one for every
  // member.
  template <class Label>
  std::vector<Group> split(const Group& group, const std::vector<Label>& labels, int rank);

 private:
  std::vector<std::shared_ptr<const std::vector<int>>> lists_;
};

template <class Label>
std::vector<Group> GroupLists::split(const Group& group, const std::vector<Label>& labels, int rank) {
  std::map<Label, std::size_t> number_of;
  std::vector<std::vector<int>> parts;
  for (int member = 0; member < group.size(); ++member) {
    const auto [found, fresh] = number_of.try_emplace(labels[static_cast<std::size_t>(member)], parts.size());
    if (fresh) parts.emplace_back();
    parts[found->second].push_back(group[member]);
  }
  std::vector<Group> groups;
  groups.reserve(parts.size());
  for (std::vector<int>& ranks : parts) groups.push_back(make(std::move(ranks), rank));
  return groups;
}

}  // namespace crossrail
