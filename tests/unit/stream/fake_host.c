// SPDX-License-Identifier: MIT
#include "fake_host.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "stream/selfsigned.h"

struct host_order {
    void (*run)(struct host *host, struct host_order *order);
    size_t size;
    bool key, current, animating;
    uint64_t id;
    const char *a, *b, *c;
    struct fw_channel_stats *stats;
    struct fw_frame_record *record;
    bool finished;
};

// ---- on the loop

// 300000 bytes, once nothing holds it up.
struct slow_work {
    struct fw_http_work base;
    struct host *host;
};

static void work_slowly(struct fw_http_work *base, struct fw_http_response *res)
{
    enum { SIZE = 300000 };
    struct host *host = ((struct slow_work *)base)->host;
    atomic_fetch_add(&host->works_begun, 1);
    while (atomic_load(&host->hold))
        usleep(1000);
    char *room = malloc(FW_HTTP_HEADROOM + SIZE);
    memset(room, 'w', FW_HTTP_HEADROOM + SIZE);
    res->status = 200;
    res->content_type = "text/plain";
    res->body = room + FW_HTTP_HEADROOM;
    res->headroom = true;
    res->body_size = SIZE;
}

static void free_slow_work(struct fw_http_work *base)
{
    atomic_fetch_add(&((struct slow_work *)base)->host->works_freed, 1);
    free(base);
}

static struct fw_http_work *slow_work(struct host *host)
{
    struct slow_work *work = calloc(1, sizeof(*work));
    *work = (struct slow_work){ { work_slowly, free_slow_work }, host };
    return &work->base;
}

static void on_http(void *user, const struct fw_http_request *req, struct fw_http_response *res)
{
    char text[1024];
    if (!strcmp(req->path, "/healthz")) {
        res->status = 200;
        res->content_type = "text/plain";
        res->body = strdup("ok\n");
        res->body_size = 3;
    } else if (!strncmp(req->path, "/s/", 3)) {
        res->status = 200;
        res->file = "session.html";
    } else if (!strcmp(req->path, "/api/v1/echo")) {
        snprintf(text, sizeof(text),
                 "{\"method\":\"%s\",\"query\":\"%s\",\"bearer\":\"%s\","
                 "\"type\":\"%s\",\"size\":%zu}",
                 req->method, req->query, req->bearer, req->content_type, req->body_size);
        res->status = 201;
        strcpy(res->location, "/api/v1/echo/1");
        res->body = strdup(text);
        res->body_size = strlen(text);
    } else if (!strcmp(req->path, "/api/v1/work")) {
        res->work = slow_work(user);
    } else if (!strcmp(req->path, "/api/v1/posted")) {
        res->status = 405;
        res->allow = "POST";
    } else if (!strcmp(req->path, "/api/v1/busy")) {
        res->status = 503;
        res->retry_after_s = 7;
    }
}

static enum fw_err on_hello(void *user, const struct fw_hello *hello, struct fw_channel **channel,
                            const char **message)
{
    struct host *host = user;
    pthread_mutex_lock(&host->lock);
    host->hello = *hello;
    host->codec_count = hello->codec_count;
    pthread_mutex_unlock(&host->lock);
    *message = "no \"entry\"";
    if (!strcmp(hello->token, "wrong"))
        return FW_ERR_DENIED;
    if (strcmp(hello->session_id, "s1") != 0 || !host->channel)
        return FW_ERR_NOT_FOUND;
    *channel = host->channel;
    return FW_OK;
}

static void on_joined(void *user, struct fw_channel *channel, struct fw_viewer *viewer)
{
    struct host *host = user;
    (void)channel, (void)viewer;
    pthread_mutex_lock(&host->lock);
    host->joined++;
    pthread_mutex_unlock(&host->lock);
}

static void on_left(void *user, struct fw_channel *channel, struct fw_viewer *viewer)
{
    struct host *host = user;
    (void)channel, (void)viewer;
    pthread_mutex_lock(&host->lock);
    host->left++;
    pthread_mutex_unlock(&host->lock);
}

static void on_input(void *user, struct fw_channel *channel, struct fw_viewer *viewer,
                     const struct fw_input_event *events, unsigned count)
{
    struct host *host = user;
    (void)channel, (void)viewer;
    pthread_mutex_lock(&host->lock);
    for (unsigned i = 0; i < count && host->event_count < HOST_EVENTS_MAX; i++)
        host->events[host->event_count++] = events[i];
    pthread_mutex_unlock(&host->lock);
}

static void on_viewport(void *user, struct fw_channel *channel, const struct fw_viewport *viewport)
{
    struct host *host = user;
    (void)channel;
    pthread_mutex_lock(&host->lock);
    host->viewport = *viewport;
    host->viewports++;
    pthread_mutex_unlock(&host->lock);
}

static void on_keyframe(void *user, struct fw_channel *channel)
{
    struct host *host = user;
    (void)channel;
    pthread_mutex_lock(&host->lock);
    host->keyframes++;
    pthread_mutex_unlock(&host->lock);
}

static void on_credit(void *user, struct fw_channel *channel, uint64_t allowed, bool active)
{
    struct host *host = user;
    (void)channel;
    pthread_mutex_lock(&host->lock);
    host->allowed = allowed;
    host->active = active;
    host->credits++;
    pthread_mutex_unlock(&host->lock);
}

static void on_wake(uv_async_t *async)
{
    struct host *host = async->data;
    pthread_mutex_lock(&host->lock);
    struct host_order *order = host->order;
    host->order = NULL;
    pthread_mutex_unlock(&host->lock);
    if (!order)
        return;
    order->run(host, order);
    pthread_mutex_lock(&host->lock);
    order->finished = true;
    pthread_cond_broadcast(&host->done);
    pthread_mutex_unlock(&host->lock);
}

static void *run_loop(void *user)
{
    struct host *host = user;
    uv_run(&host->loop, UV_RUN_DEFAULT);
    return NULL;
}

// ---- from the test

static void call(struct host *host, struct host_order *order)
{
    pthread_mutex_lock(&host->lock);
    host->order = order;
    uv_async_send(&host->wake);
    while (!order->finished)
        pthread_cond_wait(&host->done, &host->lock);
    pthread_mutex_unlock(&host->lock);
}

static void put_file(const struct host *host, const char *name, const char *text)
{
    char path[128];
    snprintf(path, sizeof(path), "%s/%s", host->dir, name);
    FILE *f = fopen(path, "w");
    if (!f || fputs(text, f) < 0 || fclose(f))
        abort();
}

static void make_files(struct host *host)
{
    char path[128], *big = malloc(300001);
    snprintf(host->dir, sizeof(host->dir), "%s/fwtest.XXXXXX", P_tmpdir);
    if (!mkdtemp(host->dir) || !big)
        abort();
    snprintf(path, sizeof(path), "%s/web", host->dir);
    mkdir(path, 0700);
    snprintf(path, sizeof(path), "%s/web/lib", host->dir);
    mkdir(path, 0700);
    put_file(host, "secret.txt", "SECRET outside the root\n");
    put_file(host, "web/index.html", "<!doctype html><title>start</title>\n");
    put_file(host, "web/session.html", "<!doctype html><title>session</title>\n");
    put_file(host, "web/lib/wire.js", "export {};\n");
    put_file(host, "web/.hidden", "SECRET hidden\n");
    memset(big, 'x', 300000);
    big[300000] = '\0';
    put_file(host, "web/big.css", big);
    free(big);
    snprintf(path, sizeof(path), "%s/web/link.txt", host->dir);
    if (symlink("../secret.txt", path))
        abort();
}

void host_start(struct host *host, bool tls, const char *bind, const char *const *origins,
                unsigned origin_count)
{
    char web[128], chart_js[128];
    struct fw_selfsigned cert;
    memset(host, 0, sizeof(*host));
    pthread_mutex_init(&host->lock, NULL);
    pthread_cond_init(&host->done, NULL);
    make_files(host);
    host->tls = tls;
    snprintf(web, sizeof(web), "%s/web", host->dir);
    snprintf(chart_js, sizeof(chart_js), "%s/Chart.min.js", host->dir);
    if (tls) {
        char dir[128];
        snprintf(dir, sizeof(dir), "%s/tls", host->dir);
        if (fw_selfsigned_ensure(dir, NULL, 0, NULL, &cert))
            abort();
        snprintf(host->cert, sizeof(host->cert), "%s", cert.cert_path);
    }
    const struct fw_server_handler handler = {
        .user = host,
        .http = on_http,
        .hello = on_hello,
        .joined = on_joined,
        .left = on_left,
        .input = on_input,
        .viewport = on_viewport,
        .keyframe = on_keyframe,
        .credit = on_credit,
    };
    uv_loop_init(&host->loop);
    uv_async_init(&host->loop, &host->wake, on_wake);
    host->wake.data = host;
    const struct fw_server_params params = {
        .loop = &host->loop,
        .host = bind,
        .static_dir = web,
        .chart_js = chart_js, // not there until a test puts it there
        .tls_cert = tls ? cert.cert_path : NULL,
        .tls_key = tls ? cert.key_path : NULL,
        .origins = origins,
        .origin_count = origin_count,
        .handler = &handler,
        .log = getenv("FW_TEST_LOG") ? fw_log_stderr(FW_LOG_TRACE) : NULL,
    };
    if (fw_server_create(&host->server, &params) ||
        fw_channel_create(&host->channel, host->server, host))
        abort();
    fw_channel_set_info(host->channel, &(struct fw_channel_info){ .id = "s1",
                                                                  .title = "Test",
                                                                  .source = "testcard",
                                                                  .gpu = "none",
                                                                  .encoder = "fake",
                                                                  .fps = 60 });
    host->port = fw_server_port(host->server);
    pthread_create(&host->thread, NULL, run_loop, host);
}

static void run_stop(struct host *host, struct host_order *order)
{
    (void)order;
    if (host->server_first)
        fw_server_destroy(&host->server);
    fw_channel_destroy(&host->channel, "closed", "the test is over");
    fw_server_destroy(&host->server);
    uv_close((uv_handle_t *)&host->wake, NULL);
}

void host_stop(struct host *host)
{
    char command[128];
    call(host, &(struct host_order){ .run = run_stop });
    pthread_join(host->thread, NULL);
    if (uv_loop_close(&host->loop))
        abort(); // a handle was left behind
    pthread_mutex_destroy(&host->lock);
    pthread_cond_destroy(&host->done);
    snprintf(command, sizeof(command), "rm -rf '%s'", host->dir);
    if (system(command))
        abort();
}

static void run_publish(struct host *host, struct host_order *order)
{
    struct fw_packet *packet = fw_packet_alloc(order->size);
    if (!packet)
        abort();
    const int64_t now = fw_now_ns();
    packet->frame_id = order->id = ++host->frame_id;
    packet->key = order->key;
    packet->width = 641;
    packet->height = 479;
    packet->coded_width = 642;
    packet->coded_height = 480;
    packet->animating = true;
    packet->input_id = host->event_count ? host->events[host->event_count - 1].id : 0;
    packet->times.begun_ns = now - 3000000;
    packet->times.converted_ns = now - 2000000;
    packet->times.enc_begin_ns = now - 2000000;
    packet->times.enc_end_ns = now - 500000;
    snprintf(packet->codec, sizeof(packet->codec), "avc1.42e01f");
    for (size_t i = 0; i + 8 <= order->size; i += 8)
        memcpy(packet->data + i, &packet->frame_id, 8);
    fw_channel_publish(host->channel, packet);
    fw_packet_unref(&packet);
}

uint64_t host_publish(struct host *host, size_t size, bool key)
{
    struct host_order order = { .run = run_publish, .size = size, .key = key };
    call(host, &order);
    return order.id;
}

static void run_reset(struct host *host, struct host_order *order)
{
    (void)order;
    fw_channel_reset(host->channel);
}

void host_reset(struct host *host)
{
    call(host, &(struct host_order){ .run = run_reset });
}

static void run_beacon(struct host *host, struct host_order *order)
{
    fw_channel_beacon(host->channel, order->id, order->current, order->animating);
}

void host_beacon(struct host *host, uint64_t newest, bool current, bool animating)
{
    call(host, &(struct host_order){
                   .run = run_beacon, .id = newest, .current = current, .animating = animating });
}

static void run_state(struct host *host, struct host_order *order)
{
    fw_channel_set_state(host->channel, order->a, order->b, order->c);
}

void host_state(struct host *host, const char *state, const char *code, const char *message)
{
    call(host, &(struct host_order){ .run = run_state, .a = state, .b = code, .c = message });
}

// Of stream/server_priv.h, which would bring libwebsockets in.
void fw_ws_tick(struct fw_server *server, int64_t now_ns);

static void run_tick(struct host *host, struct host_order *order)
{
    fw_ws_tick(host->server, fw_now_ns() + (int64_t)order->size);
}

void host_tick(struct host *host, int64_t ahead_ns)
{
    call(host, &(struct host_order){ .run = run_tick, .size = (size_t)ahead_ns });
}

static void run_stats(struct host *host, struct host_order *order)
{
    fw_channel_get_stats(host->channel, order->stats);
}

void host_stats(struct host *host, struct fw_channel_stats *stats)
{
    call(host, &(struct host_order){ .run = run_stats, .stats = stats });
}

static void run_record(struct host *host, struct host_order *order)
{
    const struct fw_records *records = fw_channel_records(host->channel);
    for (unsigned i = fw_records_count(records); i > 0; i--) {
        if (fw_records_at(records, i - 1)->frame_id != order->id)
            continue;
        *order->record = *fw_records_at(records, i - 1);
        order->key = true;
        return;
    }
}

bool host_record(struct host *host, uint64_t frame_id, struct fw_frame_record *record)
{
    struct host_order order = { .run = run_record, .id = frame_id, .record = record };
    call(host, &order);
    return order.key;
}

static void run_end(struct host *host, struct host_order *order)
{
    fw_channel_destroy(&host->channel, order->a, order->b);
}

void host_end_channel(struct host *host, const char *code, const char *message)
{
    call(host, &(struct host_order){ .run = run_end, .a = code, .b = message });
}

struct fw_client_params host_client(const struct host *host, const char *path)
{
    return (struct fw_client_params){
        .host = "127.0.0.1",
        .port = host->port,
        .path = path,
        .tls = host->tls,
        .ca_file = host->tls ? host->cert : NULL,
    };
}

bool host_wait(struct host *host, const unsigned *value, unsigned least, int timeout_ms)
{
    for (int i = 0; i < timeout_ms; i += 5) {
        pthread_mutex_lock(&host->lock);
        const bool there = *value >= least;
        pthread_mutex_unlock(&host->lock);
        if (there)
            return true;
        usleep(5000);
    }
    return false;
}

int host_wait_close(struct fw_client *c, int timeout_ms, char *error, size_t size)
{
    struct fw_client_message m;
    const int64_t until = fw_now_ns() + (int64_t)timeout_ms * FW_NS_PER_MS;
    error[0] = '\0';
    while (fw_now_ns() < until) {
        const enum fw_err err = fw_client_receive(c, 200, &m);
        if (err == FW_ERR_AGAIN)
            continue;
        if (err)
            return -(int)err;
        if (m.opcode == FW_CLIENT_TEXT && strstr((const char *)m.data, "\"error\""))
            snprintf(error, size, "%s", (const char *)m.data);
        if (m.opcode == FW_CLIENT_CLOSE)
            return m.close_code;
    }
    return 0;
}
