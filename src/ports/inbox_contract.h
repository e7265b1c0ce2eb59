// What every Inbox must do. A kind of inbox passes a Harness with `Inbox& make(capacity)`.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>

#include "ports/inbox.h"

namespace muster::ports {

template <typename Harness>
class InboxContract : public testing::Test {
 protected:
  static model::Event event(const std::string& job) { return {Time{0}, model::JobHeld{job}}; }
  static std::string job_of(const model::Event& event) {
    return std::get<model::JobHeld>(event.body).job;
  }
  Harness harness;
};
TYPED_TEST_SUITE_P(InboxContract);

TYPED_TEST_P(InboxContract, TakesInTheOrderPut) {
  Inbox& inbox = this->harness.make(8);
  for (const char* job : {"a", "b", "c"}) ASSERT_TRUE(inbox.put(this->event(job)));
  const auto first = inbox.take(2);
  ASSERT_EQ(first.size(), 2u);
  EXPECT_EQ(this->job_of(first[0]), "a");
  EXPECT_EQ(this->job_of(first[1]), "b");
  EXPECT_EQ(inbox.size(), 1u);
  EXPECT_EQ(this->job_of(inbox.take(2).at(0)), "c");
  EXPECT_TRUE(inbox.take(2).empty());
}

TYPED_TEST_P(InboxContract, AFullInboxRefusesAndSaysTryAgain) {
  Inbox& inbox = this->harness.make(2);
  ASSERT_TRUE(inbox.put(this->event("a")));
  ASSERT_TRUE(inbox.put(this->event("b")));
  const Status refused = inbox.put(this->event("c"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().fault, Fault::Unavailable);
  EXPECT_EQ(inbox.take(10).size(), 2u);
  EXPECT_TRUE(inbox.put(this->event("c")));
}

TYPED_TEST_P(InboxContract, ManyThreadsPutWithoutLoss) {
  Inbox& inbox = this->harness.make(10'000);
  std::atomic<int> refused{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&inbox, &refused, t] {
      for (int i = 0; i < 500; ++i) {
        if (!inbox.put({Time{0}, model::JobHeld{std::to_string(t * 1000 + i)}})) ++refused;
      }
    });
  }
  std::size_t taken = 0;
  while (taken < 1000) taken += inbox.take(64).size();
  for (std::thread& thread : threads) thread.join();
  taken += inbox.take(10'000).size();
  EXPECT_EQ(taken, 2000u);
  EXPECT_EQ(refused.load(), 0);
}

REGISTER_TYPED_TEST_SUITE_P(InboxContract, TakesInTheOrderPut, AFullInboxRefusesAndSaysTryAgain,
                            ManyThreadsPutWithoutLoss);

}  // namespace muster::ports
