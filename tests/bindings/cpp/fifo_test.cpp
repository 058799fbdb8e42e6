// SPDX-License-Identifier: Apache-2.0
#include "bindings/cpp/fifo.h"

#include <gtest/gtest.h>

#include <deque>
#include <random>

namespace pinnace::client {
namespace {

TEST(Fifo, KeepsOrderWhileItGrowsAndTurns) {
    std::mt19937 random(3);
    Fifo<int> fifo;
    std::deque<int> model;
    for (int i = 0; i < 20'000; ++i) {
        if (random() % 5 < 3) {
            fifo.push(i);
            model.push_back(i);
        } else if (!model.empty()) {
            ASSERT_EQ(fifo.front(), model.front());
            fifo.pop();
            model.pop_front();
        }
        ASSERT_EQ(fifo.size(), model.size());
        if (!model.empty()) {
            const std::size_t at = random() % model.size();
            ASSERT_EQ(fifo[at], model[at]);
        }
    }
}

}  // namespace
}  // namespace pinnace::client
