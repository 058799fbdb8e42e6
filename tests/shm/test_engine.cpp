// SPDX-License-Identifier: Apache-2.0
#include "tests/shm/test_engine.h"

#include <fstream>

namespace pinnace::shm::test {

std::size_t region_mapping_count() {
    std::ifstream maps("/proc/self/maps");
    std::string line;
    std::size_t count = 0;
    while (std::getline(maps, line)) {
        if (line.find("memfd:pinnace-") != std::string::npos) ++count;
    }
    return count;
}

}  // namespace pinnace::shm::test
