// SPDX-License-Identifier: MIT
// Which Host and Origin headers are ours. A page elsewhere must not reach this server through the
// visitor's browser, not even with a DNS name of its own that points here (rebinding). Pure.
#pragma once

#include <stdbool.h>

struct fw_origin_policy {
    bool tls;                   // this server speaks TLS itself
    const char *bound_host;     // as the user gave it: "127.0.0.1", "0.0.0.0", "box.lan"
    const char *const *origins; // "https://x.example[:port]": allowed beside ourselves
    unsigned origin_count;
};

// `host`: the Host header; `local_ip`: the address this connection came to (numeric). Allowed are
// loopback names (any port: ssh -L), the very address of the connection, the bound name, and the
// hosts of `origins`.
bool fw_host_allowed(const struct fw_origin_policy *policy, const char *host, const char *local_ip);
// `origin`: the Origin header, NULL = absent (allowed: not a browser, or same-origin GET). Allowed
// are scheme://Host of the request itself and `origins`. The Host has been checked before.
bool fw_origin_allowed(const struct fw_origin_policy *policy, const char *origin, const char *host);
// Is `text` an origin that may stand in `origins`? scheme http or https, host, optional port.
bool fw_origin_valid(const char *text);
