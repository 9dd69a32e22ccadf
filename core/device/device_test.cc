#include "core/device/device.h"

#include <gtest/gtest.h>

#include "core/device/registry.h"

namespace trtscope::device {
namespace {

TEST(Device, NamesIds) {
  EXPECT_EQ(ToString({DeviceType::kHost, 0}), "host");
  EXPECT_EQ(ToString({DeviceType::kCuda, 0}), "cuda:0");
  EXPECT_EQ(ToString({DeviceType::kCuda, 3}), "cuda:3");
}

TEST(Device, HostIsAlwaysThere) {
  Result<Device*> host = GetDevice({DeviceType::kHost, 0});
  ASSERT_TRUE(host.ok());
  EXPECT_EQ(*host, &Host());
  EXPECT_EQ((*host)->id(), (DeviceId{DeviceType::kHost, 0}));
  EXPECT_EQ((*host)->sm(), 0);
  EXPECT_FALSE((*host)->name().empty());
}

TEST(Device, OneHostOnly) {
  Result<Device*> other = GetDevice({DeviceType::kHost, 1});
  ASSERT_FALSE(other.ok());
  EXPECT_EQ(other.status().code(), StatusCode::kNotFound);
  EXPECT_NE(other.status().message().find("host:1"), std::string_view::npos);
}

TEST(Device, CudaComesFromItsFactory) {
  Result<Device*> missing = GetDevice({DeviceType::kCuda, 2});
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.status().code(), StatusCode::kNotFound);
  EXPECT_NE(missing.status().message().find("cuda:2"), std::string_view::npos);

  static int asked;
  asked = -1;
  RegisterCudaFactory([](int index) -> Result<Device*> {
    asked = index;
    return &Host();
  });
  Result<Device*> made = GetDevice({DeviceType::kCuda, 2});
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(*made, &Host());
  EXPECT_EQ(asked, 2);

  EXPECT_EQ(GetDevice({DeviceType::kCuda, -1}).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(asked, 2);
  RegisterCudaFactory(nullptr);
}

}  // namespace
}  // namespace trtscope::device
