#include "control/recovery.h"

#include <algorithm>
#include <utility>

#include "sched/books.h"

namespace muster::control {
namespace {

constexpr std::uint64_t told_every = 4096;

/// Tells now and then how far it is.
class Teller {
 public:
  explicit Teller(const RecoveryWatch& watch) : watch_(watch) {}
  void set_total(std::uint64_t total) { progress_.total = total; }
  void count() {
    if (++progress_.done % told_every == 0) tell();
  }
  void count_to(std::uint64_t done) {
    progress_.done = done;
    if (done % told_every == 0) tell();
  }
  bool goes_on() const { return !watch_.goes_on || watch_.goes_on(); }
  void tell() {
    progress_.total = std::max(progress_.total, progress_.done);
    if (watch_.progress) watch_.progress(progress_);
  }

 private:
  const RecoveryWatch& watch_;
  RecoveryProgress progress_;
};

Error given_up() { return {Fault::Unavailable, "the books were not read to their end"}; }

Result<Recovered> read_books(const ports::Store& store, Teller& teller) {
  sched::BookReader reader;
  const auto sequence = store.read_snapshot([&](model::BookRecord& record) -> Status {
    if (!teller.goes_on()) return given_up();
    const std::uint64_t before = reader.jobs_read();
    Status status = reader.add(record);
    if (status && reader.jobs_read() != before) teller.count_to(reader.jobs_read());
    if (status && before == 0)
      teller.set_total(reader.jobs() + store.last() - std::min(store.last(), reader.events()));
    return status;
  });
  if (!sequence) return sequence.error();
  if (*sequence == 0) return Recovered{};
  if (*sequence > store.last())
    return invalid(fmt::format("snapshot: it holds entry {}, the journal ends at {}", *sequence,
                               store.last()));
  Result<sched::ReadBooks> books = reader.finish();
  if (!books) return books.error();
  teller.set_total(reader.jobs() + store.last() - *sequence);
  return Recovered{std::move(books->world), books->last, *sequence, *sequence};
}

}  // namespace

Result<Recovered> read_snapshot(const ports::Store& store, const RecoveryWatch& watch) {
  Teller teller(watch);
  return read_books(store, teller);
}

Result<Recovered> recover(const ports::Store& store, const sched::Policy& policy,
                          const RecoveryWatch& watch) {
  Teller teller(watch);
  Result<Recovered> begun = read_books(store, teller);
  std::string unusable;
  if (!begun) {
    if (begun.error().fault == Fault::Unavailable) return begun.error();
    unusable = begun.error().message;
    if (watch.say)
      watch.say(
          fmt::format("THE NEWEST SNAPSHOT CANNOT BE USED ({}); the whole journal is read "
                      "instead",
                      unusable));
  }
  Recovered recovered = begun ? std::move(*begun) : Recovered{};
  if (recovered.snapshot == 0) teller.set_total(store.last());
  const Status status = store.read(recovered.sequence + 1, [&](const ports::Entry& entry) {
    if (!teller.goes_on()) return;
    sched::apply(recovered.world, entry.event, policy);
    recovered.last = std::max(recovered.last, entry.event.at);
    recovered.sequence = entry.sequence;
    teller.count();
  });
  if (!status && !unusable.empty() && status.error().fault == Fault::NotFound)
    return invalid(
        fmt::format("the books cannot be recovered: {}, and the journal before it was "
                    "trimmed; restore the database from a backup, or start the Muster "
                    "that wrote it",
                    unusable));
  if (!status) return status.error();
  if (!teller.goes_on()) return given_up();
  teller.tell();
  return recovered;
}

}  // namespace muster::control
