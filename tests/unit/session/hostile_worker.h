// SPDX-License-Identifier: MIT
// A worker that breaks the rules of session/link.h, one rule per name. The test program starts
// itself as this worker, as the server starts the real one: it is `argv[1]` "worker".
#pragma once

// Ends as its part wants: by itself, or killed by the front.
int hostile_worker_main(void);
