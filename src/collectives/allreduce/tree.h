// A Tree is the order in which a rank combines the elements of many. It is that of recursive doubling (messages.h, Folded), so that sums have the
// same bits as in that algorithm, which MPI libraries use for few elements. Sums of many ranks are also more accurate than one by one. With
// CROSSRAIL_REPRODUCIBLE it is the order of the members.
#pragma once

#include <algorithm>
#include <bit>

#include "collectives/allreduce/elements.h"

namespace crossrail::allreduce {

class Tree {
 public:
  // `memory` has room() bytes for blocks of `stride` bytes.
  Tree(const Combiner& by, int members, std::byte* memory, std::size_t stride) : by_(by), members_(members), memory_(memory), stride_(stride) {}

  // Asks for this member (or its pair) first and for its neighbours in the Tree next, which does not change the bits. Ranks that begin with different
  // members rarely ask for the same one at the same time. It has no effect in the order of the members.
  Tree& begin_with(int member) {
    begin_ = participant_of(members_, member);
    return *this;
  }

  static constexpr int levels(int members) { return std::bit_width(static_cast<unsigned>(members)); }
  static constexpr std::size_t room(int members, std::size_t stride) { return 2 * static_cast<std::size_t>(levels(members)) * stride; }

  // Combines `count` elements of every member. `operand(member, at)` sets where they lie and may wait. Each member is asked for once, in order, and
  // its elements are used before kAwaited more members have been asked for. There must be at least two members. `to` may be where the first member's
  // elements lie; it is written before the other members have been asked for.
  static constexpr int kAwaited = 3;
  template <class Operand>
  Status combine(std::size_t count, std::byte* to, Operand operand) {
    return by_.rank_order ? fold(count, to, operand) : combine_in_pairs(count, to, operand);
  }

  // Participants are pairs of members, as many as it takes to get a power of two, and then single members.
  static constexpr int participant_of(int members, int member) {
    const int pairs = members - (1 << (levels(members) - 1));
    return member < 2 * pairs ? member / 2 : member - pairs;
  }

  // Computes ((0 op 1) op 2) op ..., which needs no memory.
  template <class Operand>
  Status fold(std::size_t count, std::byte* to, Operand operand) const {
    const std::byte *so_far = nullptr, *next = nullptr;
    CROSSRAIL_TRY(operand(0, so_far));
    for (int member = 1; member < members_; ++member) {
      CROSSRAIL_TRY(operand(member, next));
      by_.combine(so_far, next, to, count);
      so_far = to;
    }
    return {};
  }

 private:
  template <class Operand>
  Status combine_in_pairs(std::size_t count, std::byte* to, Operand operand) {
    const int top = levels(members_) - 1, participants = 1 << top, pairs = members_ - participants;
    const std::byte* waiting[sizeof(int) * 8] = {};  // The index is the level; the value is the operand that came first.
    for (int step = 0; step < participants; ++step) {
      const int participant = step ^ begin_;
      const bool pair = participant < pairs;
      const int member = pair ? 2 * participant : participant + pairs;
      const std::byte* mine = nullptr;
      CROSSRAIL_TRY(operand(member, mine));
      if (pair) {
        const std::byte* other = nullptr;
        CROSSRAIL_TRY(operand(member + 1, other));
        std::byte* const place = top == 0 ? to : block(0, step);
        by_.combine(mine, other, place, count);
        mine = place;
      }
      int level = 0;
      for (; (step >> level & 1) != 0; ++level) {
        std::byte* const place = level + 1 == top ? to : block(level + 1, step);
        const bool in_order = (participant >> level & 1) != 0;
        by_.combine(in_order ? waiting[level] : mine, in_order ? mine : waiting[level], place, count);
        mine = place;
      }
      waiting[level] = mine;
    }
    return {};
  }

  // Every level has two blocks: one for the operand that waits, and one for that which comes second.
  std::byte* block(int level, int step) const {
    return memory_ + (2 * static_cast<std::size_t>(level) + static_cast<std::size_t>(step >> level & 1)) * stride_;
  }

  Combiner by_;
  int members_;
  std::byte* memory_;
  std::size_t stride_;
  int begin_ = 0;  // It counts participants.
};

// Groups are members that combine in two steps, first within each group and then across the groups. Each group is a subtree of the Tree of all, so
// the bits are the same. A group has about as many members as there are groups.
class Groups {
 public:
  // With `flat`, all members are one group.
  Groups(int members, bool flat) : participants_(1 << (Tree::levels(members) - 1)), pairs_(members - participants_) {
    const int levels = Tree::levels(participants_) - 1;
    each_ = flat ? participants_ : 1 << levels / 2;
  }
  int count() const { return participants_ / each_; }
  int of(int member) const { return Tree::participant_of(participants_ + pairs_, member) / each_; }
  int first(int group) const { return first_of(group * each_); }
  int members(int group) const { return first_of((group + 1) * each_) - first(group); }

 private:
  // Returns the first member of a participant, which is a pair of members or a single one.
  int first_of(int participant) const { return participant + std::min(participant, pairs_); }

  int participants_, pairs_, each_;
};

}  // namespace crossrail::allreduce
