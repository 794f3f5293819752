// SPDX-License-Identifier: MIT
// What is the same for all requests and answers.
#include "stream/server_priv.h"

// Every response has these, errors made by lws itself included: they are the vhost's.
// connect-src 'self' covers WebSockets to the same origin too (Chromium and Firefox, tried).
#define HEADER(prev, title, text)                                                                  \
    {                                                                                              \
        .next = (prev), .name = title ":", .value = text                                           \
    }
static const struct lws_protocol_vhost_options security_headers[] = {
    HEADER(NULL, "cross-origin-opener-policy", "same-origin"),
    HEADER(&security_headers[0], "cross-origin-embedder-policy", "require-corp"),
    HEADER(&security_headers[1], "cross-origin-resource-policy", "same-origin"),
    HEADER(&security_headers[2], "content-security-policy",
           "default-src 'self'; script-src 'self'; style-src 'self'; "
           "img-src 'self' data: blob:; media-src 'self' blob:; "
           "connect-src 'self'; worker-src 'self' blob:; object-src 'none'; "
           "frame-ancestors 'none'; base-uri 'none'; form-action 'none'"),
    HEADER(&security_headers[3], "x-content-type-options", "nosniff"),
    HEADER(&security_headers[4], "referrer-policy", "no-referrer"),
    HEADER(&security_headers[5], "permissions-policy",
           "fullscreen=(self), gamepad=(self), clipboard-read=(self), clipboard-write=(self), "
           "autoplay=(self), camera=(), microphone=(), geolocation=(), payment=(), usb=()"),
    HEADER(&security_headers[6], "cache-control", "no-cache"),
};
const struct lws_protocol_vhost_options *fw_http_vhost_headers = &security_headers[7];

const char *fw_http_reason(int status)
{
    switch (status) {
    case 400: return "bad_request";
    case 403: return "forbidden";
    case 404: return "not_found";
    case 405: return "method_not_allowed";
    case 411: return "length_required";
    case 413: return "too_large";
    case 426: return "upgrade_required";
    case 501: return "not_implemented";
    case 503: return "busy";
    default: return "internal";
    }
}

const char *fw_http_method(struct lws *wsi)
{
    char *uri;
    int uri_len;
    switch (lws_http_get_uri_and_method(wsi, &uri, &uri_len)) {
    case LWSHUMETH_GET: return "GET";
    case LWSHUMETH_POST: return "POST";
    case LWSHUMETH_PUT: return "PUT";
    case LWSHUMETH_DELETE: return "DELETE";
    case LWSHUMETH_HEAD: return "HEAD";
    default: return "";
    }
}
