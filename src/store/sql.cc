#include "store/sql.h"

namespace muster::store {

Status in_transaction(Connection& connection, const std::function<Status()>& work) {
  Status status = Ok{};
  for (int tries = 0; tries < 2; ++tries) {
    status = connection.begin();
    if (!status) return status;
    status = work();
    if (status) {
      status = connection.finish({}).status;
    } else {
      connection.rollback();
    }
    if (status || connection.is_open()) return status;
  }
  return status;
}

}  // namespace muster::store
