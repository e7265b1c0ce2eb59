#include "store/testing/memory_disk.h"

#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <map>
#include <mutex>
#include <set>
#include <vector>

#include "base/check.h"

namespace muster::store {
namespace {

constexpr std::size_t sector = 512;

struct Change {
  std::size_t offset = 0;
  std::string bytes;
  bool truncates = false;  // to offset
};

void make(const Change& change, std::string& content) {
  if (change.truncates) {
    content.resize(std::min(content.size(), change.offset));
    return;
  }
  if (content.size() < change.offset + change.bytes.size())
    content.resize(change.offset + change.bytes.size());
  content.replace(change.offset, change.bytes.size(), change.bytes);
}

struct File {
  std::string live;
  std::string durable;
  bool is_durable = false;  // the file itself
  std::vector<Change> unsynced;
  std::map<const void*, int> locks;  // by handle
  std::vector<std::unique_ptr<std::array<char, 32 * 1024>>> shared_memory;
  std::array<std::map<const void*, bool>, SQLITE_SHM_NLOCK> memory_locks;  // true: exclusive
};

}  // namespace

struct MemoryDisk::State {
  mutable std::mutex mutex;
  std::map<std::string, std::shared_ptr<File>> files;
  std::uint64_t operations = 0;
  std::uint64_t fails_at = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t life = 0;  // one more with each restart
  std::size_t capacity = std::numeric_limits<std::size_t>::max();
  std::uint64_t temporary = 0;
  std::string name;
  sqlite3_vfs vfs{};

  bool failed() const { return operations >= fails_at; }
  bool operate() {
    ++operations;
    return !failed();
  }
  std::size_t used() const {
    std::size_t bytes = 0;
    for (const auto& [path, file] : files) bytes += file->live.size();
    return bytes;
  }
  void restart(Prng* prng) {
    for (auto it = files.begin(); it != files.end();) {
      File& file = *it->second;
      if (!file.is_durable) {
        it = files.erase(it);
        continue;
      }
      auto again = std::make_shared<File>();
      again->durable = file.durable;
      again->is_durable = true;
      for (const Change& change : file.unsynced) {
        if (prng == nullptr) break;
        if (change.truncates && prng->chance(50)) make(change, again->durable);
        for (std::size_t at = 0; at < change.bytes.size(); at += sector) {
          if (prng->chance(50))
            make({change.offset + at, change.bytes.substr(at, sector), false}, again->durable);
        }
      }
      again->live = again->durable;
      it->second = std::move(again);
      ++it;
    }
    ++life;
    fails_at = std::numeric_limits<std::uint64_t>::max();
  }
};

namespace {

struct Handle {
  sqlite3_file base;  // first, as SQLite wants it
  MemoryDisk::State* disk;
  std::shared_ptr<File>* file;
  std::uint64_t life;
  bool removes;

  bool is_dead() const { return life != disk->life || disk->failed(); }
};
Handle& of(sqlite3_file* file) { return *reinterpret_cast<Handle*>(file); }

int close_file(sqlite3_file* f) {
  Handle& handle = of(f);
  const std::lock_guard lock(handle.disk->mutex);
  (*handle.file)->locks.erase(&handle);
  for (auto& slot : (*handle.file)->memory_locks) slot.erase(&handle);
  if (handle.removes) {
    std::erase_if(handle.disk->files,
                  [&](const auto& item) { return item.second == *handle.file; });
  }
  delete handle.file;
  return SQLITE_OK;
}

int read_file(sqlite3_file* f, void* to, int amount, sqlite3_int64 offset) {
  Handle& handle = of(f);
  const std::lock_guard lock(handle.disk->mutex);
  if (handle.is_dead()) return SQLITE_IOERR_READ;
  const std::string& content = (*handle.file)->live;
  const auto begin = std::min(static_cast<std::size_t>(offset), content.size());
  const auto count = std::min(static_cast<std::size_t>(amount), content.size() - begin);
  std::memcpy(to, content.data() + begin, count);
  std::memset(static_cast<char*>(to) + count, 0, static_cast<std::size_t>(amount) - count);
  return count < static_cast<std::size_t>(amount) ? SQLITE_IOERR_SHORT_READ : SQLITE_OK;
}

int change_file(Handle& handle, const Change& change, int code) {
  const std::lock_guard lock(handle.disk->mutex);
  if (handle.is_dead() || !handle.disk->operate()) return code;
  File& file = **handle.file;
  const std::size_t end = change.offset + change.bytes.size();
  if (end > file.live.size() &&
      handle.disk->used() + end - file.live.size() > handle.disk->capacity)
    return SQLITE_FULL;
  make(change, file.live);
  file.unsynced.push_back(change);
  return SQLITE_OK;
}
int write_file(sqlite3_file* f, const void* from, int amount, sqlite3_int64 offset) {
  Change change{static_cast<std::size_t>(offset),
                std::string(static_cast<const char*>(from), static_cast<std::size_t>(amount)),
                false};
  return change_file(of(f), change, SQLITE_IOERR_WRITE);
}
int truncate_file(sqlite3_file* f, sqlite3_int64 size) {
  return change_file(of(f), {static_cast<std::size_t>(size), {}, true}, SQLITE_IOERR_TRUNCATE);
}

int sync_file(sqlite3_file* f, int) {
  Handle& handle = of(f);
  const std::lock_guard lock(handle.disk->mutex);
  if (handle.is_dead() || !handle.disk->operate()) return SQLITE_IOERR_FSYNC;
  File& file = **handle.file;
  for (const Change& change : file.unsynced) make(change, file.durable);
  file.unsynced.clear();
  file.is_durable = true;
  return SQLITE_OK;
}

int size_of(sqlite3_file* f, sqlite3_int64* size) {
  Handle& handle = of(f);
  const std::lock_guard lock(handle.disk->mutex);
  if (handle.is_dead()) return SQLITE_IOERR_FSTAT;
  *size = static_cast<sqlite3_int64>((*handle.file)->live.size());
  return SQLITE_OK;
}

int lock_file(sqlite3_file* f, int level) {
  Handle& handle = of(f);
  const std::lock_guard lock(handle.disk->mutex);
  if (handle.is_dead()) return SQLITE_IOERR_LOCK;
  auto& locks = (*handle.file)->locks;
  for (const auto& [other, held] : locks) {
    if (other == &handle) continue;
    const bool refused = level == SQLITE_LOCK_SHARED     ? held >= SQLITE_LOCK_PENDING
                         : level == SQLITE_LOCK_RESERVED ? held >= SQLITE_LOCK_RESERVED
                                                         : held >= SQLITE_LOCK_SHARED;
    if (refused) return SQLITE_BUSY;
  }
  locks[&handle] = std::max(locks[&handle], level);
  return SQLITE_OK;
}
int unlock_file(sqlite3_file* f, int level) {
  Handle& handle = of(f);
  const std::lock_guard lock(handle.disk->mutex);
  auto& locks = (*handle.file)->locks;
  locks[&handle] = std::min(locks[&handle], level);
  return SQLITE_OK;
}
int is_reserved(sqlite3_file* f, int* answer) {
  Handle& handle = of(f);
  const std::lock_guard lock(handle.disk->mutex);
  *answer = 0;
  for (const auto& [other, held] : (*handle.file)->locks)
    *answer |= held >= SQLITE_LOCK_RESERVED ? 1 : 0;
  return SQLITE_OK;
}

int control(sqlite3_file*, int, void*) { return SQLITE_NOTFOUND; }
int sector_size(sqlite3_file*) { return static_cast<int>(sector); }
int characteristics(sqlite3_file*) { return 0; }

int map_memory(sqlite3_file* f, int region, int size, int extend, void volatile** at) {
  Handle& handle = of(f);
  const std::lock_guard lock(handle.disk->mutex);
  *at = nullptr;
  if (handle.is_dead()) return SQLITE_IOERR_SHMMAP;
  auto& regions = (*handle.file)->shared_memory;
  const auto index = static_cast<std::size_t>(region);
  MUSTER_CHECK(size == 32 * 1024, "regions of {} bytes", size);
  if (index >= regions.size() && extend == 0) return SQLITE_OK;
  while (index >= regions.size())
    regions.push_back(std::make_unique<std::array<char, 32 * 1024>>());
  *at = regions[index]->data();
  return SQLITE_OK;
}
int lock_memory(sqlite3_file* f, int first, int count, int flags) {
  Handle& handle = of(f);
  const std::lock_guard lock(handle.disk->mutex);
  const bool exclusive = (flags & SQLITE_SHM_EXCLUSIVE) != 0;
  auto& slots = (*handle.file)->memory_locks;
  for (int i = first; i < first + count; ++i) {
    auto& slot = slots[static_cast<std::size_t>(i)];
    if ((flags & SQLITE_SHM_UNLOCK) != 0) {
      slot.erase(&handle);
      continue;
    }
    if (handle.is_dead()) return SQLITE_IOERR_SHMLOCK;
    for (const auto& [other, held] : slot) {
      if (other != &handle && (exclusive || held)) return SQLITE_BUSY;
    }
  }
  if ((flags & SQLITE_SHM_LOCK) != 0) {
    for (int i = first; i < first + count; ++i)
      slots[static_cast<std::size_t>(i)][&handle] = exclusive;
  }
  return SQLITE_OK;
}
void barrier(sqlite3_file* f) { const std::lock_guard lock(of(f).disk->mutex); }
int unmap_memory(sqlite3_file* f, int) {
  Handle& handle = of(f);
  const std::lock_guard lock(handle.disk->mutex);
  for (auto& slot : (*handle.file)->memory_locks) slot.erase(&handle);
  return SQLITE_OK;
}

const sqlite3_io_methods methods = {
    2,           close_file,  read_file,    write_file, truncate_file, sync_file,       size_of,
    lock_file,   unlock_file, is_reserved,  control,    sector_size,   characteristics, map_memory,
    lock_memory, barrier,     unmap_memory, nullptr,    nullptr};

MemoryDisk::State& disk_of(sqlite3_vfs* vfs) {
  return *static_cast<MemoryDisk::State*>(vfs->pAppData);
}

int open_file(sqlite3_vfs* vfs, sqlite3_filename name, sqlite3_file* f, int flags, int* out) {
  MemoryDisk::State& disk = disk_of(vfs);
  const std::lock_guard lock(disk.mutex);
  f->pMethods = nullptr;
  if (disk.failed()) return SQLITE_CANTOPEN;
  const std::string path = name == nullptr ? fmt::format("temporary-{}", ++disk.temporary) : name;
  auto& file = disk.files[path];
  if (file == nullptr) file = std::make_shared<File>();
  Handle& handle = of(f);
  handle.disk = &disk;
  handle.file = new std::shared_ptr<File>(file);
  handle.life = disk.life;
  handle.removes = (flags & SQLITE_OPEN_DELETEONCLOSE) != 0;
  f->pMethods = &methods;
  if (out != nullptr) *out = flags;
  return SQLITE_OK;
}
int delete_file(sqlite3_vfs* vfs, const char* name, int) {
  MemoryDisk::State& disk = disk_of(vfs);
  const std::lock_guard lock(disk.mutex);
  if (!disk.operate()) return SQLITE_IOERR_DELETE;
  return disk.files.erase(name) > 0 ? SQLITE_OK : SQLITE_IOERR_DELETE_NOENT;
}
int is_there(sqlite3_vfs* vfs, const char* name, int, int* answer) {
  MemoryDisk::State& disk = disk_of(vfs);
  const std::lock_guard lock(disk.mutex);
  *answer = disk.files.contains(name) ? 1 : 0;
  return SQLITE_OK;
}
int full_name(sqlite3_vfs*, const char* name, int size, char* out) {
  sqlite3_snprintf(size, out, "%s", name);
  return SQLITE_OK;
}
int randomness(sqlite3_vfs*, int size, char* out) {
  sqlite3_vfs* system = sqlite3_vfs_find(nullptr);
  return system->xRandomness(system, size, out);
}
int no_sleep(sqlite3_vfs*, int us) { return us; }
int time_now(sqlite3_vfs*, double* days) {
  *days = 2'460'000.0;
  return SQLITE_OK;
}
int last_error(sqlite3_vfs*, int, char*) { return 0; }

}  // namespace

MemoryDisk::MemoryDisk() : state_(std::make_unique<State>()) {
  state_->name = fmt::format("memory-disk-{}", static_cast<const void*>(state_.get()));
  sqlite3_vfs& vfs = state_->vfs;
  vfs.iVersion = 1;
  vfs.szOsFile = sizeof(Handle);
  vfs.mxPathname = 512;
  vfs.zName = state_->name.c_str();
  vfs.pAppData = state_.get();
  vfs.xOpen = open_file;
  vfs.xDelete = delete_file;
  vfs.xAccess = is_there;
  vfs.xFullPathname = full_name;
  vfs.xRandomness = randomness;
  vfs.xSleep = no_sleep;
  vfs.xCurrentTime = time_now;
  vfs.xGetLastError = last_error;
  MUSTER_CHECK(sqlite3_vfs_register(&vfs, 0) == SQLITE_OK, "no VFS");
}
MemoryDisk::~MemoryDisk() { sqlite3_vfs_unregister(&state_->vfs); }

const std::string& MemoryDisk::vfs() const { return state_->name; }
void MemoryDisk::fail_at(std::uint64_t n) {
  const std::lock_guard lock(state_->mutex);
  state_->fails_at = state_->operations + n;
}
bool MemoryDisk::failed() const {
  const std::lock_guard lock(state_->mutex);
  return state_->failed();
}
std::uint64_t MemoryDisk::operations() const {
  const std::lock_guard lock(state_->mutex);
  return state_->operations;
}
void MemoryDisk::restart() {
  const std::lock_guard lock(state_->mutex);
  state_->restart(nullptr);
}
void MemoryDisk::restart_torn(Prng& prng) {
  const std::lock_guard lock(state_->mutex);
  state_->restart(&prng);
}
void MemoryDisk::set_capacity(std::size_t bytes) {
  const std::lock_guard lock(state_->mutex);
  state_->capacity = bytes;
}
std::size_t MemoryDisk::used() const {
  const std::lock_guard lock(state_->mutex);
  return state_->used();
}

}  // namespace muster::store
