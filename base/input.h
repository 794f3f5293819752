// SPDX-License-Identifier: MIT
// What a person did, as it travels from a browser to a source.
#pragma once

#include <stdint.h>

enum fw_input_kind {
    FW_INPUT_MOTION = 1,  // x, y absolute; dx, dy relative
    FW_INPUT_BUTTON = 2,  // code: DOM button 0 left, 1 middle, 2 right, 3 back, 4 forward; state
    FW_INPUT_WHEEL = 3,   // dx, dy in pixels, right and down positive (as DOM)
    FW_INPUT_KEY = 4,     // code: Linux evdev key code (KEY_A = 30); state
    FW_INPUT_TOUCH = 5,   // code: slot 0-9; state: enum fw_touch_state; x, y
    FW_INPUT_RELEASE = 6, // everything that is held is let go (blur, viewer gone)
};

enum fw_touch_state { FW_TOUCH_UP, FW_TOUCH_DOWN, FW_TOUCH_MOVE, FW_TOUCH_CANCEL };

enum fw_input_mods { FW_MOD_SHIFT = 1, FW_MOD_CTRL = 2, FW_MOD_ALT = 4, FW_MOD_META = 8 };

struct fw_input_event {
    uint64_t id;      // session-wide, given by the front; rises by one per event
    int64_t rx_ns;    // received by the front
    uint8_t kind;     // enum fw_input_kind
    uint8_t state;    // pressed = 1, or enum fw_touch_state
    uint8_t mods;     // enum fw_input_mods bits held during the event
    uint8_t reserved; // 0
    uint16_t code;
    float x, y;   // source pixels, fractions kept; clamped to the picture by the front
    float dx, dy; // source pixels
};
