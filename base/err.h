// SPDX-License-Identifier: MIT
// The one error type of the tree. Functions that can fail return it; 0 is success, so `if (err)`.
#pragma once

enum fw_err {
    FW_OK = 0,
    FW_ERR_AGAIN,       // not now: full, empty, or nothing to do. Flow, not a fault.
    FW_ERR_CLOSED,      // the other end has gone. Flow.
    FW_ERR_DEVICE_LOST, // the GPU device is gone; only a new process gets a new one
    FW_ERR_TIMEOUT,     // a bounded wait ran out
    FW_ERR_INVALID,     // the caller's or the user's argument is wrong
    FW_ERR_FORMAT,      // data does not follow its format
    FW_ERR_TOO_LARGE,   // over a stated limit
    FW_ERR_NOT_FOUND,   // no such file, session, device, encoder
    FW_ERR_DENIED,      // not allowed
    FW_ERR_UNSUPPORTED, // this build, device or driver can't
    FW_ERR_NOMEM,       // host or device memory
    FW_ERR_IO,          // the system refused; the log says errno
    FW_ERR_INTERNAL,    // a bug of ours or of a library
    FW_ERR_COUNT,
};

// A stable snake_case name ("device_lost"), used in logs, link messages and API codes.
// Never NULL; out-of-range values give "unknown".
const char *fw_err_name(enum fw_err err);
