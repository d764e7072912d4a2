// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "fake_model.hpp"

namespace gstdrm::test::fakedrm {

// Fills Model::objects and Model::blobs from what the model has.
void list_objects(Model &model);

} // namespace gstdrm::test::fakedrm
