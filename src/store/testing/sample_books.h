// Records of every kind with something in every field, for tests of their bytes. What is written
// here is in tests/store/books_v1.golden and books_v2.golden: new fields go into new records.
#pragma once

#include <vector>

#include "model/books.h"

namespace muster::store {

std::vector<model::BookRecord> sample_books();
/// With what came with version 2.
std::vector<model::BookRecord> sample_books_v2();

}  // namespace muster::store
