// Repetitions become loops, times add up, and a sequence without any ends when it is full.
#include "mpi/observe/folded_sequence.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

using crossrail::mpi::FoldedSequence;

namespace {

FoldedSequence folded(const std::string& events) {
  FoldedSequence sequence;
  for (const char event : events) EXPECT_TRUE(sequence.add(event - 'A', {1'000'000'000, 500'000'000}));
  return sequence;
}

std::string repeated(const std::string& text, int times) {
  std::string all;
  for (int one = 0; one < times; ++one) all += text;
  return all;
}

TEST(FoldedSequence, KeepsWhatDoesNotRepeat) {
  EXPECT_EQ(folded("").json(), "[]");
  EXPECT_EQ(folded("AB").json(), "[[0,1,1.000000000,0.500000000],[1,1,1.000000000,0.500000000]]");
}

TEST(FoldedSequence, FoldsOneEvent) { EXPECT_EQ(folded("AAA").json(), "[{\"times\":3,\"body\":[[0,3,3.000000000,1.500000000]]}]"); }

TEST(FoldedSequence, FoldsLoopsInLoops) {
  EXPECT_EQ(folded("C" + repeated("AAAB", 5)).json(),
            "[[2,1,1.000000000,0.500000000],{\"times\":5,\"body\":[{\"times\":3,\"body\":[[0,15,15.000000000,7.500000000]]},"
            "[1,5,5.000000000,2.500000000]]}]");
}

TEST(FoldedSequence, AMillionCallsAreAFewLines) {
  FoldedSequence sequence;
  for (int turn = 0; turn < 10'000; ++turn) {
    for (int event = 0; event < 100; ++event) ASSERT_TRUE(sequence.add(event % 50 + event / 90, {10, 10}));
  }
  EXPECT_LT(sequence.json().size(), 20'000u);
}

TEST(FoldedSequence, EndsWhereItIsFull) {
  FoldedSequence sequence;
  std::size_t added = 0;
  while (sequence.add(static_cast<int>(added), {})) ++added;
  EXPECT_EQ(added, FoldedSequence::kMostSteps);
  const std::string before = sequence.json();
  EXPECT_FALSE(sequence.add(0, {}));
  EXPECT_EQ(sequence.json(), before);
}

}  // namespace
