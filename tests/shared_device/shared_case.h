// Several ranks share a device, and the first has the buffers. This is one rank's side of it, filled and compared by the definition.
#pragma once

#include "shared_device/allreduce.h"
#include "shared_device/alltoall.h"
#include "tests/collectives/allreduce_device_case.h"

namespace crossrail::tests {

using shared_device::Buffer;
using shared_device::Elements;
using shared_device::OwnMemory;
using shared_device::SharedDevice;

// This has the node of every rank, and the key of its device there.
struct Sharing {
  Nodes nodes;
  std::vector<int> keys;
};
inline const Sharing kWorlds[] = {{{0, 0, 1, 1}, {0, 0, 0, 0}},
                           {{0, 0, 0, 0, 0, 0}, {0, 0, 0, 1, 1, 1}},
                           {{0, 0, 0, 0, 1, 1, 1, 1}, {4, 7, 4, 7, 1, 1, 2, 2}},
                           {{0, 0, 0, 1, 1, 2, 2}, {0, 0, 0, 0, 0, 0, 0}},         // There are three nodes, one of them with more processes.
                           {{0, 1, 0, 1, 0, 1}, {0, 0, 1, 1, 1, 1}},               // The devices have one process or two.
                           {{0, 0, 0, 1, 1}, {2, 1, 0, 0, 1}},                     // Each device has one process.
                           {{0, 1, 2}, {0, 0, 0}}};

inline virtual_world::WorldOptions in_form(bool lanes, bool one_launcher = true) {
  virtual_world::WorldOptions options;
  options.settings.shared_lanes = lanes ? 1 : 0;
  options.settings.one_launcher = one_launcher ? 1 : 0;
  options.settings.shared_part_bytes = 8192;
  return options;
}

// Returns this rank's device among those of all nodes, as a rank of a world of devices. By it the elements of its leader are known.
inline Topology as_one_of_devices(const Topology& topology, const std::vector<int>& keys) {
  std::vector<std::pair<int, int>> devices;
  int mine = 0;
  for (int rank = 0; rank < topology.size; ++rank) {
    const std::pair device{topology.node_of[static_cast<std::size_t>(rank)], keys[static_cast<std::size_t>(rank)]};
    const auto found = std::find(devices.begin(), devices.end(), device);
    if (rank == topology.rank) mine = static_cast<int>(found - devices.begin());
    if (found == devices.end()) devices.push_back(device);
  }
  return topology_from_nodes(Nodes(devices.size(), 0), mine);
}

// This is one rank's part. A leader has the buffer.
class SharedCase {
 public:
  SharedCase(SharedDevice& device, const std::vector<int>& keys, std::size_t bytes, host_device_kind kind = HOST_DEVICE_PLAIN)
      : device_(device), among_devices_(as_one_of_devices(device.topology(), keys)), row_(bytes, 4, kind) {
    const bool gives = device.members().leads() || device.each_launches();
    opened_ = device.open_buffer({gives ? row_.data() : nullptr, bytes}, buffer_);
  }
  const Status& opened() const { return opened_; }
  const Buffer& buffer() const { return buffer_; }
  Status close() { return device_.close_buffer(buffer_); }

  // Elements are fresh from byte `offset` on, and what lies around stays as it was.
  void check(const Reduction& reduction, std::size_t count, std::size_t offset, std::uint64_t call) {
    const Shape shape = allreduce_shape(count, reduction);
    AllreduceCase host(among_devices_, shape, call, Side::in_place);
    const bool leads = device_.members().leads();
    std::memset(row_.touch(), 0x5A, buffer_.bytes);
    if (leads) copy_block(row_.touch() + offset, host.buffers().send, shape.block_bytes);
    const Status status = shared_device::allreduce(device_, buffer_, {offset, count, reduction});
    ASSERT_TRUE(status.ok()) << status.what;
    copy_block(host.buffers().recv, row_.touch() + offset, shape.block_bytes);
    if (leads) {
      EXPECT_EQ(host.wrong(), "") << count << " elements from " << offset << " on, call " << call << ", " << device_.plan().part;
    }
    const std::size_t end = leads ? offset + shape.block_bytes : 0;
    EXPECT_TRUE(!leads || is_untouched(0, offset)) << "written before the elements";
    EXPECT_TRUE(is_untouched(end, buffer_.bytes)) << "written behind the elements";
    EXPECT_TRUE(row_.intact());
  }

 private:
  bool is_untouched(std::size_t begin, std::size_t end) {
    const std::vector<std::byte> marks(end - begin, std::byte{0x5A});
    return same_bytes(row_.touch() + begin, marks.data(), end - begin);
  }

  SharedDevice& device_;
  Topology among_devices_;
  DeviceRow row_;
  Buffer buffer_;
  Status opened_;
};

}  // namespace crossrail::tests
