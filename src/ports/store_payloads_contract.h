// What every Store must do with payloads. The Harness is that of store_contract.h.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "ports/store_contract.h"

namespace muster::ports {

template <typename Harness>
class StorePayloadsContract : public StoreContract<Harness> {};
TYPED_TEST_SUITE_P(StorePayloadsContract);

TYPED_TEST_P(StorePayloadsContract, PayloadsAreKeptOnceByHash) {
  Store& store = this->harness.store();
  const std::string zeros(3, '\0');
  const std::vector<std::string_view> payloads = {"echo hi", zeros, "echo hi", ""};
  const auto hashes = store.put_payloads(payloads, Time{1});
  ASSERT_TRUE(hashes);
  ASSERT_EQ(hashes->size(), 4u);
  EXPECT_EQ((*hashes)[0], (*hashes)[2]);
  EXPECT_NE((*hashes)[0], (*hashes)[1]);
  Store& again = this->harness.reopened();
  EXPECT_EQ(*again.payload((*hashes)[0]), "echo hi");
  EXPECT_EQ(*again.payload((*hashes)[1]), zeros);
  EXPECT_EQ(*again.payload((*hashes)[3]), "");
  EXPECT_EQ(again.payload("none").error().fault, Fault::NotFound);
}

TYPED_TEST_P(StorePayloadsContract, ManyThreadsPutPayloads) {
  Store& store = this->harness.store();
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 20; ++i) {
        const std::string own = fmt::format("{} of {}", i, t);
        const std::string common = fmt::format("{} of all", i);
        const std::vector<std::string_view> payloads = {own, common};
        const auto hashes = store.put_payloads(payloads, Time{i});
        if (!hashes || *store.payload((*hashes)[0]) != own ||
            *store.payload((*hashes)[1]) != common) {
          ++wrong;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TYPED_TEST_P(StorePayloadsContract, APayloadGoesWhenNoJobNamesIt) {
  Store& store = this->harness.store();
  const std::vector<std::string_view> payloads = {"named", "unnamed", "again"};
  const auto hashes = *store.put_payloads(payloads, Time{0});
  model::JobSubmitted event = this->submit("a");
  event.spec.payload = hashes[0];
  typename StorePayloadsContract<TypeParam>::Events events = {{Time{0}, event}};
  ASSERT_TRUE(store.commit({events}));
  const Limits limits{.finished_jobs = hours(2), .unnamed_payloads = hours(1)};
  EXPECT_EQ(store.retain(Time{0} + minutes(59), limits)->payloads, 0u);
  ASSERT_TRUE(store.put_payloads(std::span(payloads).subspan(2), Time{0} + minutes(59)));
  EXPECT_EQ(store.retain(Time{0} + minutes(60), limits)->payloads, 1u);
  EXPECT_FALSE(store.payload(hashes[1]));
  EXPECT_TRUE(store.payload(hashes[2]));
  events = {{Time{0} + hours(1), model::JobCancelled{"a"}}};
  ASSERT_TRUE(store.commit({events}));
  EXPECT_EQ(store.retain(Time{0} + hours(3) - milliseconds(1), limits)->jobs, 0u);
  EXPECT_TRUE(store.payload(hashes[0]));
  EXPECT_EQ(*store.retain(Time{0} + hours(3), limits), (Retained{.jobs = 1, .payloads = 1}));
  EXPECT_FALSE(store.payload(hashes[0]));
  EXPECT_FALSE(store.job("a"));
}

TYPED_TEST_P(StorePayloadsContract, PayloadsOfACommitComeWithItAndGoWithItsJobs) {
  Store& store = this->harness.store();
  const std::string zeros(3, '\0');
  std::vector<Payload> payloads;
  for (const std::string& bytes : {std::string("echo hi"), zeros})
    payloads.push_back({store.payload_hash(bytes), bytes, Time{0}});
  typename StorePayloadsContract<TypeParam>::Events events;
  for (std::size_t i = 0; i < payloads.size(); ++i) {
    model::JobSubmitted event = this->submit(fmt::format("{}", i));
    event.spec.payload = payloads[i].hash;
    events.push_back({Time{0}, event});
  }
  ASSERT_TRUE(store.commit({events, {}, {}, payloads}));
  Store& again = this->harness.reopened();
  EXPECT_EQ(*again.payload(payloads[0].hash), "echo hi");
  EXPECT_EQ(*again.payload(payloads[1].hash), zeros);
  const std::vector<std::string_view> same = {"echo hi"};
  EXPECT_EQ(again.put_payloads(same, Time{0})->at(0), payloads[0].hash);

  const Limits limits{.finished_jobs = hours(1), .unnamed_payloads = hours(1)};
  EXPECT_EQ(again.retain(Time{0} + hours(9), limits)->payloads, 0u);
  events = {{Time{0}, model::JobCancelled{"1"}}};
  ASSERT_TRUE(again.commit({events}));
  EXPECT_EQ(*again.retain(Time{0} + hours(9), limits), (Retained{.jobs = 1, .payloads = 1}));
  EXPECT_FALSE(again.payload(payloads[1].hash));
  EXPECT_EQ(*again.payload(payloads[0].hash), "echo hi");
  // Named again before anybody looked: it stays.
  events = {{Time{0} + hours(9), model::JobCancelled{"0"}}};
  ASSERT_TRUE(again.commit({events}));
  payloads[0].put = Time{0} + hours(10);
  model::JobSubmitted later = this->submit("later");
  later.spec.payload = payloads[0].hash;
  events = {{Time{0} + hours(10), later}};
  ASSERT_TRUE(again.commit({events, {}, {}, std::span(payloads).first(1)}));
  EXPECT_EQ(*again.retain(Time{0} + hours(20), limits), (Retained{.jobs = 1}));
  EXPECT_EQ(*again.payload(payloads[0].hash), "echo hi");
}

REGISTER_TYPED_TEST_SUITE_P(StorePayloadsContract, PayloadsAreKeptOnceByHash,
                            ManyThreadsPutPayloads, APayloadGoesWhenNoJobNamesIt,
                            PayloadsOfACommitComeWithItAndGoWithItsJobs);

}  // namespace muster::ports
