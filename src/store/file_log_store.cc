#include "store/file_log_store.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <limits>
#include <system_error>
#include <utility>

#include "store/sha256.h"

namespace muster::store {
namespace {

namespace fs = std::filesystem;
using ports::Attempt;
using ports::LogLine;
using ports::LogPage;
using ports::LogQuery;

Error unavailable(const fs::path& file, int code) {
  return {Fault::Unavailable,
          fmt::format("logs: {}: {}", file.string(), std::generic_category().message(code))};
}

/// The folder of a job: its id where that is a harmless name, else the id's hash.
std::string folder_name(std::string_view job) {
  const bool harmless =
      !job.empty() && job.size() <= 100 && job.front() != '.' &&
      job.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.") ==
          std::string_view::npos;
  return harmless ? std::string(job) : "." + sha256_hex(job);
}

template <typename T>
std::optional<T> number_of(std::string_view text) {
  T value = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  if (read.ec != std::errc{} || read.ptr != text.data() + text.size()) return std::nullopt;
  return value;
}

fs::path segment_file(const fs::path& folder, std::uint64_t first) {
  return folder / fmt::format("{:020}.log", first);
}

}  // namespace

/// The end of one log, open for appending.
class FileLogStore::Writer {
 public:
  Writer(fs::path folder, std::uint64_t segment_bytes)
      : folder_(std::move(folder)), segment_bytes_(segment_bytes) {}
  ~Writer() { close(); }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  const fs::path& folder() const { return folder_; }
  const LogTotals& totals() const { return totals_; }

  /// Finds the end of the newest file. What a killed writer left there by half is cut off.
  Status open() {
    const std::vector<Segment> all = segments(folder_);
    if (all.empty()) return Ok{};
    const Segment& last = all.back();
    Result<std::string> bytes = read_bytes(last.file, 0, std::numeric_limits<std::uint32_t>::max());
    if (!bytes) return bytes.error();
    std::string_view rest = *bytes;
    std::optional<LogTotals> head = take_head(rest);
    if (!head) {  // not even a head: begin this file again
      if (all.size() > 1) {
        std::error_code ignored;
        fs::remove(last.file, ignored);
        return open();
      }
      return begin(last.first, {});
    }
    totals_ = std::move(*head);
    while (const std::optional<LogLine> line = take_record(rest)) count(*line);
    first_ = last.first;
    size_ = bytes->size() - rest.size();
    fd_ = ::open(last.file.c_str(), O_WRONLY | O_CLOEXEC);
    if (fd_ < 0) return unavailable(last.file, errno);
    if (::ftruncate(fd_, static_cast<off_t>(size_)) != 0) return unavailable(last.file, errno);
    return Ok{};
  }

  Status append(std::span<const LogLine> lines) {
    if (fd_ < 0) {
      std::error_code code;
      fs::create_directories(folder_, code);
      if (code) return unavailable(folder_, code.value());
      if (Status status = begin(0, {}); !status) return status;
    } else if (size_ >= segment_bytes_) {
      if (Status status = begin(first_ + size_, totals_); !status) return status;
    }
    std::string bytes;
    for (const LogLine& line : lines) {
      LogLine part{line.at, line.pod, line.stream, {}, 0, line.continues};
      std::string_view text = line.text;
      do {
        part.text = text.substr(0, ports::log_line_max);
        text.remove_prefix(part.text.size());
        add_record(part, bytes);
        part.continues = true;
      } while (!text.empty());
    }
    if (Status status = write(bytes); !status) return status;
    for (const LogLine& line : lines) count(line);
    return Ok{};
  }

 private:
  Status begin(std::uint64_t first, const LogTotals& totals) {
    close();
    const fs::path file = segment_file(folder_, first);
    fd_ = ::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0640);
    if (fd_ < 0) return unavailable(file, errno);
    first_ = first;
    size_ = 0;
    return write(segment_head(totals));
  }
  /// All of it or nothing of it.
  Status write(std::string_view bytes) {
    std::size_t done = 0;
    while (done < bytes.size()) {
      const ssize_t put =
          ::pwrite(fd_, bytes.data() + done, bytes.size() - done, static_cast<off_t>(size_ + done));
      if (put < 0 && errno == EINTR) continue;
      if (put <= 0) {
        const int code = put < 0 ? errno : ENOSPC;
        if (::ftruncate(fd_, static_cast<off_t>(size_)) != 0) close();
        return unavailable(folder_, code);
      }
      done += static_cast<std::size_t>(put);
    }
    size_ += bytes.size();
    return Ok{};
  }
  void count(const LogLine& line) { totals_[{line.pod, line.stream}] += line.text.size(); }
  void close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }

  fs::path folder_;
  std::uint64_t segment_bytes_;
  int fd_ = -1;
  std::uint64_t first_ = 0;  // offset where the file begins
  std::uint64_t size_ = 0;
  LogTotals totals_;
};

/// A log that retention looked at.
struct FileLogStore::Kept {
  fs::path folder;
  std::uint64_t bytes = 0;
  Time newest;
};

FileLogStore::FileLogStore(fs::path folder, Options options)
    : folder_(std::move(folder)), options_(options) {}
FileLogStore::~FileLogStore() = default;

fs::path FileLogStore::folder_of(std::string_view job) const {
  // Two letters of a hash in between: folders of a million entries are slow to list.
  return folder_ / sha256_hex(job).substr(0, 2) / folder_name(job);
}
fs::path FileLogStore::folder_of(const Attempt& attempt) const {
  return folder_of(attempt.job) / std::to_string(attempt.number);
}

std::vector<FileLogStore::Segment> FileLogStore::segments(const fs::path& folder) {
  std::vector<Segment> found;
  std::error_code code;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, code)) {
    const std::optional<std::uint64_t> first =
        number_of<std::uint64_t>(entry.path().stem().string());
    if (!first || entry.path().extension() != ".log") continue;
    std::error_code gone;
    const std::uintmax_t bytes = entry.file_size(gone);
    if (!gone) found.push_back({*first, bytes, entry.path()});
  }
  std::sort(found.begin(), found.end(),
            [](const Segment& a, const Segment& b) { return a.first < b.first; });
  return found;
}

/// Called with the mutex held.
Result<FileLogStore::Writer*> FileLogStore::writer(const fs::path& folder) const {
  const auto it = by_folder_.find(folder);
  if (it != by_folder_.end()) {
    writers_.splice(writers_.begin(), writers_, it->second);
    return writers_.front().get();
  }
  auto made = std::make_unique<Writer>(folder, options_.segment_bytes);
  if (Status status = made->open(); !status) return status.error();
  writers_.push_front(std::move(made));
  by_folder_[folder] = writers_.begin();
  if (writers_.size() > options_.open_files) {
    by_folder_.erase(writers_.back()->folder());
    writers_.pop_back();
  }
  return writers_.front().get();
}

Status FileLogStore::append(const Attempt& attempt, std::span<const LogLine> lines) {
  if (lines.empty()) return Ok{};
  const fs::path folder = folder_of(attempt);
  const std::lock_guard lock(mutex_);
  const Result<Writer*> end = writer(folder);
  if (!end) return end.error();
  return (*end)->append(lines);
}

Result<std::uint64_t> FileLogStore::appended(const Attempt& attempt, std::string_view pod,
                                             ports::Stream stream) const {
  const std::lock_guard lock(mutex_);
  const Result<Writer*> end = writer(folder_of(attempt));
  if (!end) return end.error();
  const auto it = (*end)->totals().find({std::string(pod), stream});
  return it == (*end)->totals().end() ? std::uint64_t{0} : it->second;
}

Result<std::vector<std::uint32_t>> FileLogStore::attempts(std::string_view job) const {
  std::vector<std::uint32_t> numbers;
  std::error_code code;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder_of(job), code)) {
    const auto number = number_of<std::uint32_t>(entry.path().filename().string());
    if (number) numbers.push_back(*number);
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

Result<LogPage> FileLogStore::read(const Attempt& attempt, const LogQuery& query) const {
  const std::vector<Segment> all = segments(folder_of(attempt));
  if (!query.tail) return read_on(all, query);
  const Result<std::uint64_t> begin = tail_begin(all, query);
  if (!begin) return begin.error();
  if (*query.tail == 0) return LogPage{.lines = {}, .next = *begin, .end = true};
  LogQuery rest = query;
  rest.from = *begin;
  return read_on(all, rest);
}

Result<LogPage> FileLogStore::read_on(const std::vector<Segment>& all,
                                      const LogQuery& query) const {
  LogPage page;
  page.next = query.from;
  std::uint64_t looked = 0;
  std::size_t lines = 0;
  for (const Segment& segment : all) {
    if (segment.first + segment.bytes <= page.next && segment.first != all.back().first) continue;
    const std::uint64_t begin = page.next > segment.first ? page.next - segment.first : 0;
    Result<std::string> bytes = read_bytes(segment.file, begin, options_.look_bytes);
    if (!bytes && bytes.error().fault == Fault::NotFound) continue;  // retention was quicker
    if (!bytes) return bytes.error();
    std::string_view rest = *bytes;
    if (begin == 0) take_head(rest);
    const auto place = [&] { return segment.first + begin + bytes->size() - rest.size(); };
    for (;;) {
      const std::uint64_t offset = place();
      std::optional<LogLine> line = take_record(rest);
      if (!line) break;
      const bool is_chosen = ports::chooses(query, *line);
      if (is_chosen && ports::counts(query, *line) && query.tail && ++lines > *query.tail) {
        page.end = false;  // it came after the tail was found
        return page;
      }
      page.next = place();
      if (!is_chosen) continue;
      line->offset = offset;
      page.lines.push_back(std::move(*line));
      if (page.lines.size() >= query.limit) {
        page.end = rest.empty() && segment.first == all.back().first;
        return page;
      }
    }
    looked += bytes->size();
    if (looked >= options_.look_bytes && page.next > query.from) {
      page.end = false;
      return page;
    }
  }
  return page;
}

/// File by file from the newest, as far back as it takes: a tail that stopped earlier would lack
/// lines and not say so. Only their offsets are held.
Result<std::uint64_t> FileLogStore::tail_begin(const std::vector<Segment>& all,
                                               const LogQuery& query) const {
  std::uint64_t begin = query.from;
  std::size_t left = *query.tail;
  for (auto segment = all.rbegin(); segment != all.rend(); ++segment) {
    const bool is_newest = segment == all.rbegin();
    if (!is_newest && (left == 0 || segment->first + segment->bytes <= query.from)) break;
    std::vector<std::uint64_t> offsets;
    LogQuery one = query;
    one.tail.reset();
    one.limit = std::numeric_limits<std::size_t>::max();
    LogPage part{.lines = {}, .next = query.from, .end = false};
    while (!part.end) {
      one.from = part.next;
      Result<LogPage> more = read_on({*segment}, one);
      if (!more) return more.error();
      part = std::move(*more);
      for (const LogLine& line : part.lines) {
        if (ports::counts(query, line)) offsets.push_back(line.offset);
      }
    }
    if (is_newest) begin = std::max({begin, segment->first, part.next});  // the end
    const std::size_t taken = std::min(left, offsets.size());
    if (taken > 0) begin = offsets[offsets.size() - taken];
    left -= taken;
  }
  return begin;
}

/// Removes of one log what is past its limits, and says what is left of it. Mutex held.
std::uint64_t FileLogStore::remove_old(const fs::path& folder, Time now,
                                       const ports::LogLimits& limits, std::vector<Kept>& kept) {
  std::vector<Segment> all = segments(folder);
  if (all.empty()) return 0;
  std::uint64_t bytes = 0;
  for (const Segment& segment : all) bytes += segment.bytes;
  const std::uint64_t before = bytes;
  const auto newest_of = [&](const Segment& segment) {
    const Result<LogPage> page = read_on({segment}, {.limit = segment.bytes});
    return page && !page->lines.empty() ? page->lines.back().at : Time{0};
  };
  const Time newest = newest_of(all.back());
  std::error_code ignored;
  if (limits.age.ms > 0 && newest <= now - limits.age) {
    const auto open = by_folder_.find(folder);
    if (open != by_folder_.end()) {
      writers_.erase(open->second);
      by_folder_.erase(open);
    }
    fs::remove_all(folder, ignored);
    fs::remove(folder.parent_path(), ignored);  // of the job, if this was its last
    return before;
  }
  for (std::size_t i = 0; i + 1 < all.size(); ++i) {
    const bool old = limits.age.ms > 0 && newest_of(all[i]) <= now - limits.age;
    if (!old && (limits.attempt_bytes == 0 || bytes <= limits.attempt_bytes)) break;
    fs::remove(all[i].file, ignored);
    bytes -= all[i].bytes;
  }
  kept.push_back({folder, bytes, newest});
  return before - bytes;
}

Result<std::uint64_t> FileLogStore::retain(Time now, const ports::LogLimits& limits) {
  std::vector<fs::path> folders;
  std::error_code code;
  for (fs::recursive_directory_iterator it(folder_, code), end; it != end; it.increment(code)) {
    if (code) break;
    if (it.depth() == 2 && it->is_directory(code)) folders.push_back(it->path());
  }
  std::uint64_t removed = 0;
  std::vector<Kept> kept;
  for (const fs::path& folder : folders) {
    const std::lock_guard lock(mutex_);
    removed += remove_old(folder, now, limits, kept);
  }
  std::sort(kept.begin(), kept.end(),
            [](const Kept& a, const Kept& b) { return a.newest < b.newest; });
  std::uint64_t total = 0;
  for (const Kept& log : kept) total += log.bytes;
  for (const Kept& log : kept) {
    if (limits.total_bytes == 0 || total <= limits.total_bytes) break;
    std::vector<Kept> ignored;
    const std::lock_guard lock(mutex_);
    ports::LogLimits all = limits;
    all.age = milliseconds(1);  // every line of it is older than the end of time
    removed += remove_old(log.folder, Time::never(), all, ignored);
    total -= log.bytes;
  }
  return removed;
}

}  // namespace muster::store
