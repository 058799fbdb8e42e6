// SPDX-License-Identifier: Apache-2.0
#include "bindings/daemon/disk_core.h"

#include <gtest/gtest.h>

namespace pinnace::daemon {
namespace {

constexpr const char* kInterrupts =
    "           CPU0       CPU1       CPU3       \n"
    " 24:          1          0          0  IO-APIC   5-edge      button\n"
    " 35:          3          0          0  PCI-MSI   0-edge      disk-config\n"
    " 36:          0         40         20  PCI-MSI   1-edge      disk-request\n"
    " 37:         30         30         30  PCI-MSI   1-edge      network\n"
    "NMI:          0          0          0  Non-maskable interrupts\n"
    "ERR:          0\n";

TEST(DiskCore, IsTheOneWithMoreThanHalfOfTheDisksInterrupts) {
    EXPECT_EQ(busiest_core(kInterrupts, {"35", "36"}), 1u);
    EXPECT_EQ(busiest_core(kInterrupts, {"35"}), 0u);
    EXPECT_EQ(busiest_core(kInterrupts, {"36", "999"}), 1u);
}

TEST(DiskCore, IsNobodyWhereTheInterruptsAreSpread) {
    EXPECT_EQ(busiest_core(kInterrupts, {"37"}), std::nullopt);
    EXPECT_EQ(busiest_core(kInterrupts, {"36", "37"}), std::nullopt);
}

TEST(DiskCore, IsNobodyWhereNothingIsKnown) {
    EXPECT_EQ(busiest_core(kInterrupts, {}), std::nullopt);
    EXPECT_EQ(busiest_core(kInterrupts, {"999"}), std::nullopt);
    EXPECT_EQ(busiest_core("", {"36"}), std::nullopt);
    EXPECT_EQ(busiest_core("no heading\n 36: 1\n", {"36"}), std::nullopt);
    EXPECT_EQ(busiest_core("CPU0 CPU1\n 36: 1\n", {"36"}), std::nullopt);
    EXPECT_EQ(disk_core("/proc/self"), std::nullopt);  // no disk
}

TEST(DiskCore, InterruptsUnderAFolderThatIsNotThereYetAreThoseUnderItsParent) {
    EXPECT_EQ(disk_interrupts("/nowhere/data"), disk_interrupts("/"));
    EXPECT_EQ(disk_interrupts("nowhere/data"), disk_interrupts("."));
    EXPECT_TRUE(disk_interrupts("/proc/nowhere").empty());
}

TEST(DiskCore, IsLeftAloneIfThereIsAnother) {
    EXPECT_EQ(last_core_but({0, 1, 3}, std::nullopt), 3u);
    EXPECT_EQ(last_core_but({0, 1, 3}, 1), 3u);
    EXPECT_EQ(last_core_but({0, 1, 3}, 3), 1u);
    EXPECT_EQ(last_core_but({2}, 2), 2u);
}

}  // namespace
}  // namespace pinnace::daemon
