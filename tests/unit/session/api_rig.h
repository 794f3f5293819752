// SPDX-License-Identifier: MIT
// For tests of the API: one with a manager that only remembers, and what it answered last.
#pragma once

#include <jansson.h>

#include "session/api.h"
#include "tests/unit/session/fake_manager.h"

#define ALICE "alice-alice-alice"
#define BOB   "bob-bob-bob-bob-bob"

extern struct fake fake;
extern struct fw_api *api;
extern char models_dir[64];
extern struct fw_http_response res; // the last answer
extern json_t *answer;              // its body, NULL when that is no JSON
extern int64_t now;

int setup_open(void **state);
int setup_tokens(void **state); // with a token file of ALICE and BOB
int setup_faults(void **state); // the same, and faults are allowed
int teardown(void **state);

// The status. `path` may have a query.
int ask_as(const char *bearer, const char *type, const char *method, const char *path,
           const char *body);
int ask(const char *bearer, const char *method, const char *path, const char *body);
// Of the last answer, "" when there is none.
const char *error_code(void);
const char *error_message(void);
const char *text_of(const char *key);

struct made {
    char id[64], page[160], ws[96], token[80], code[64];
};
struct made make(const char *bearer); // a session

#define OPEN(f)   cmocka_unit_test_setup_teardown(f, setup_open, teardown)
#define FAULTS(f) cmocka_unit_test_setup_teardown(f, setup_faults, teardown)
#define TOKENS(f) cmocka_unit_test_setup_teardown(f, setup_tokens, teardown)
