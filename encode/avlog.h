// SPDX-License-Identifier: MIT
// Keeps libavcodec off stderr and remembers why it failed.
#pragma once

// Thread: any. Replaces libavutil's log callback; the first call does it.
void fw_avlog_install(void);
// Forgets what this thread has heard.
void fw_avlog_reset(void);
// The first error libavcodec told on this thread since the reset, else its last remark, else the
// text of `averror`. One line, valid until the next call on this thread.
const char *fw_avlog_reason(int averror);
