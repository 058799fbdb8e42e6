// SPDX-License-Identifier: Apache-2.0
#include "journal/crc32c.h"

#include <numeric>
#include <random>

#include "journal/crc32c_variants.h"
#include "tests/journal/support.h"

namespace pinnace::journal::test {
namespace {

// One suite for every variant.
template <typename Variant>
class Crc32c : public ::testing::Test {
 protected:
    void SetUp() override {
        if (!Variant::available()) GTEST_SKIP() << "this machine lacks the instructions";
    }
    static std::uint32_t of(const std::vector<std::uint8_t>& bytes) {
        return Variant::extend(0, bytes.data(), bytes.size());
    }
};
using Variants = ::testing::Types<Crc32cPortable, Crc32cSse42>;
TYPED_TEST_SUITE(Crc32c, Variants);

std::vector<std::uint8_t> random_bytes(std::size_t size) {
    std::mt19937 random(7);
    std::vector<std::uint8_t> bytes(size);
    for (auto& byte : bytes) byte = static_cast<std::uint8_t>(random());
    return bytes;
}

// RFC 3720, B.4, and the check value of the catalogue of CRC algorithms.
TYPED_TEST(Crc32c, GivesThePublishedValues) {
    EXPECT_EQ(this->of(std::vector<std::uint8_t>(32, 0x00)), 0x8a91'36aau);
    EXPECT_EQ(this->of(std::vector<std::uint8_t>(32, 0xff)), 0x62a8'ab43u);
    std::vector<std::uint8_t> rising(32);
    std::iota(rising.begin(), rising.end(), std::uint8_t{0});
    EXPECT_EQ(this->of(rising), 0x46dd'794eu);
    EXPECT_EQ(this->of({rising.rbegin(), rising.rend()}), 0x113f'db5cu);
    const std::string digits = "123456789";
    EXPECT_EQ(this->of({digits.begin(), digits.end()}), 0xe306'9283u);
    EXPECT_EQ(this->of({}), 0u);
}

TYPED_TEST(Crc32c, EverySplitGivesTheSameAsTheWhole) {
    const auto bytes = random_bytes(2048);
    const std::uint32_t whole = Crc32cPortable::extend(0, bytes.data(), bytes.size());
    for (std::size_t split = 0; split <= bytes.size(); ++split) {
        const std::uint32_t first = TypeParam::extend(0, bytes.data(), split);
        ASSERT_EQ(TypeParam::extend(first, bytes.data() + split, bytes.size() - split), whole) << split;
    }
}

TYPED_TEST(Crc32c, EverySizeAndAlignmentIsLikeTheReference) {
    const auto bytes = random_bytes(8192);
    for (std::size_t size = 0; size < 6000; size += size < 70 ? 1 : 61) {
        for (std::size_t start = 0; start < 9; ++start) {
            ASSERT_EQ(TypeParam::extend(3, bytes.data() + start, size),
                      Crc32cPortable::extend(3, bytes.data() + start, size));
        }
    }
}

TYPED_TEST(Crc32c, CopyingGivesTheBytesAndTheSameSum) {
    const auto bytes = random_bytes(8192);
    for (std::size_t size = 0; size < 6000; size += size < 70 ? 1 : 61) {
        for (std::size_t start = 0; start < 9; ++start) {
            std::vector<std::uint8_t> copy(size + 16, 0xee);
            ASSERT_EQ(TypeParam::copy(5, copy.data() + 8 - start % 8, bytes.data() + start, size),
                      Crc32cPortable::extend(5, bytes.data() + start, size));
            ASSERT_TRUE(std::equal(bytes.begin() + static_cast<std::ptrdiff_t>(start),
                                   bytes.begin() + static_cast<std::ptrdiff_t>(start + size),
                                   copy.begin() + static_cast<std::ptrdiff_t>(8 - start % 8)));
            ASSERT_EQ(copy[size + 8 - start % 8], 0xee);
        }
    }
}

TEST(CrcMask, IsUndoneAndChangesZero) {
    for (std::uint32_t crc = 0; crc < 1'000'000; crc += 997) EXPECT_EQ(unmask_crc(mask_crc(crc)), crc);
    EXPECT_EQ(unmask_crc(mask_crc(0xffff'ffff)), 0xffff'ffffu);
    EXPECT_NE(mask_crc(0), 0u);
}

}  // namespace
}  // namespace pinnace::journal::test
