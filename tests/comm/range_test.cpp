#include "comm/range.h"

#include <gtest/gtest.h>

namespace crossrail::tests {
namespace {

bool in_mpi_range(const char* text, const char* name) {
  MpiRange range;
  MpiVersion version;
  EXPECT_TRUE(parse_mpi_range(text, range)) << text;
  EXPECT_TRUE(parse_mpi_version(name, version)) << name;
  return range.contains(version);
}

TEST(Range, of_numbers) {
  Range range;
  ASSERT_TRUE(parse_range("2-8", range));
  EXPECT_TRUE(range.contains(2) && range.contains(8) && !range.contains(1) && !range.contains(9));
  ASSERT_TRUE(parse_range("4", range));
  EXPECT_TRUE(range.contains(4) && !range.contains(5));
  ASSERT_TRUE(parse_range("2-", range));
  EXPECT_TRUE(range.contains(1u << 30) && !range.contains(1));
  ASSERT_TRUE(parse_range("*", range));
  EXPECT_TRUE(range.contains(0));
  for (const char* text : {"", "x", "0", "-3", "2--4", "2-3-4", "8-2", "1 2", "2-x"}) EXPECT_FALSE(parse_range(text, range)) << text;
}

TEST(Range, of_mpi_libraries) {
  EXPECT_TRUE(in_mpi_range("*", "mpich5.0.2") && in_mpi_range("*", ""));
  EXPECT_TRUE(in_mpi_range("openmpi", "openmpi4.1.6") && in_mpi_range("openmpi", "openmpi"));
  EXPECT_FALSE(in_mpi_range("openmpi", "mpich5.0.2"));
  EXPECT_FALSE(in_mpi_range("openmpi", ""));
  EXPECT_TRUE(in_mpi_range("openmpi4", "openmpi4.1.6"));
  EXPECT_FALSE(in_mpi_range("openmpi4", "openmpi5.0.1"));
  EXPECT_FALSE(in_mpi_range("openmpi4.1.5", "openmpi4.1.6"));
  EXPECT_TRUE(in_mpi_range("mpich5-", "mpich5.0.2") && in_mpi_range("mpich5-", "mpich11.0"));
  EXPECT_FALSE(in_mpi_range("mpich5-", "mpich4.3.1"));
  EXPECT_TRUE(in_mpi_range("mpich4.1-5", "mpich4.2.3") && in_mpi_range("mpich4.1-5", "mpich5.9"));
  EXPECT_FALSE(in_mpi_range("mpich4.1-5", "mpich4.0.2"));
  EXPECT_FALSE(in_mpi_range("mpich4.1-5", "mpich6.0"));
  MpiRange range;
  for (const char* text : {"", "4", "-", "openmpi-", "openmpi4--5", "openmpi5-4", "openmpi4.", "open mpi", "openmpi4-x", "openmpi4-openmpi5"}) {
    EXPECT_FALSE(parse_mpi_range(text, range)) << text;
  }
}

TEST(MpiName, is_short_for_what_the_library_says) {
  EXPECT_EQ(mpi_name("Open MPI v4.1.6, package: Debian OpenMPI, ident: 4.1.6"), "openmpi4.1.6");
  EXPECT_EQ(mpi_name("Open MPI v5.0.0rc12"), "openmpi5.0.0");
  EXPECT_EQ(mpi_name("MPICH Version:      5.0.2"), "mpich5.0.2");
  EXPECT_EQ(mpi_name("MVAPICH2 Version :\t2.3.7"), "mvapich2.3.7");
  EXPECT_EQ(mpi_name("Intel(R) MPI Library 2021.14 for Linux* OS"), "intel2021.14");
  EXPECT_EQ(mpi_name("Some MPI"), "some");
  for (const char* already : {"openmpi4.1.6", "mpich", "openmpi5", ""}) EXPECT_EQ(mpi_name(already), already);
}

}  // namespace
}  // namespace crossrail::tests
