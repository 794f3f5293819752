// SPDX-License-Identifier: MIT
#include "session/cli/view_record.h"

#include <errno.h>
#include <fcntl.h>
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/clock.h"

enum { QUEUE_MAX = 512, QUEUE_BYTES = 64 << 20, PATH_MAX_LENGTH = 1024, TICKS = 90000 };

struct entry {
    AVPacket *packet;
    int width, height; // true size
    int64_t at_ns;
};

struct fw_view_record {
    struct fw_view_record_params p;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    // --- protected by lock
    bool stop, need_key;
    struct entry queue[QUEUE_MAX]; // ring, oldest at `first`
    unsigned first, count;
    size_t bytes;
    // --- the writing thread's
    AVFormatContext *file;
    unsigned files;
    char path[PATH_MAX_LENGTH + 16]; // of the file that is open
    int width, height;
    int64_t zero_ns, last_pts, length;
    uint64_t pictures;
    double seconds;
    enum fw_err err;
    char why[PATH_MAX_LENGTH + 128];
};

// ---- files

static void fail(struct fw_view_record *r, const char *what, int ret)
{
    char text[AV_ERROR_MAX_STRING_SIZE];
    if (r->err)
        return;
    r->err = FW_ERR_IO;
    av_strerror(ret, text, sizeof(text));
    snprintf(r->why, sizeof(r->why), "%s: %s: %s", r->path, what, text);
    fw_log(r->p.log, FW_LOG_ERROR, "view", "record: %s", r->why);
}

static void close_file(struct fw_view_record *r)
{
    if (!r->file)
        return;
    const int ret = av_write_trailer(r->file);
    if (ret < 0)
        fail(r, "could not be finished", ret);
    const int closed = avio_closep(&r->file->pb);
    if (closed < 0)
        fail(r, "could not be written", closed);
    avformat_free_context(r->file);
    r->file = NULL;
    r->seconds += (double)(r->last_pts + r->length) / TICKS;
}

// clip.mp4, clip-2.mp4, …
static void name_file(struct fw_view_record *r)
{
    const char *dot = strrchr(r->p.path, '.');
    r->files++;
    if (r->files == 1)
        snprintf(r->path, sizeof(r->path), "%s", r->p.path);
    else
        snprintf(r->path, sizeof(r->path), "%.*s-%u%s", (int)(dot - r->p.path), r->p.path, r->files,
                 dot);
}

static bool taken(const struct fw_view_record *r, const char *path)
{
    return !r->p.overwrite && access(path, F_OK) == 0;
}

static int open_file(struct fw_view_record *r, const struct entry *e)
{
    AVStream *stream = NULL;
    name_file(r);
    // The first name was claimed at the start.
    if (r->files > 1 && taken(r, r->path))
        return AVERROR(EEXIST);
    int ret = avformat_alloc_output_context2(&r->file, NULL, NULL, r->path);
    if (ret >= 0) {
        stream = avformat_new_stream(r->file, NULL);
        ret = stream ? 0 : AVERROR(ENOMEM);
    }
    if (ret < 0)
        return ret;
    AVCodecParameters *codec = stream->codecpar;
    codec->codec_type = AVMEDIA_TYPE_VIDEO;
    codec->codec_id = AV_CODEC_ID_H264;
    codec->width = e->width;
    codec->height = e->height;
    codec->color_range = AVCOL_RANGE_MPEG;
    codec->color_primaries = AVCOL_PRI_BT709;
    codec->color_trc = AVCOL_TRC_BT709;
    codec->color_space = AVCOL_SPC_BT709;
    stream->time_base = (AVRational){ 1, TICKS };
    // The parameter sets stand before the first picture; the writer picks out what it needs.
    codec->extradata = av_mallocz((size_t)e->packet->size + AV_INPUT_BUFFER_PADDING_SIZE);
    if (!codec->extradata)
        return AVERROR(ENOMEM);
    memcpy(codec->extradata, e->packet->data, (size_t)e->packet->size);
    codec->extradata_size = e->packet->size;
    ret = avio_open(&r->file->pb, r->path, AVIO_FLAG_WRITE);
    if (ret >= 0)
        ret = avformat_write_header(r->file, NULL);
    r->width = e->width;
    r->height = e->height;
    r->zero_ns = e->at_ns;
    r->last_pts = -1;
    r->length = 0;
    return ret;
}

static void write_entry(struct fw_view_record *r, struct entry *e)
{
    const bool key = e->packet->flags & AV_PKT_FLAG_KEY;
    if (r->file && (e->width != r->width || e->height != r->height))
        close_file(r);
    if (r->err || (!r->file && !key))
        return;
    if (!r->file) {
        const int ret = open_file(r, e);
        if (ret < 0) {
            fail(r, "could not be begun", ret);
            if (r->file) {
                avio_closep(&r->file->pb);
                avformat_free_context(r->file);
                r->file = NULL;
            }
            return;
        }
    }
    const AVStream *stream = r->file->streams[0];
    int64_t pts = (e->at_ns - r->zero_ns) / 1000 * TICKS / 1000000;
    if (pts <= r->last_pts)
        pts = r->last_pts + 1;
    r->length = r->last_pts >= 0 ? pts - r->last_pts : TICKS / 60;
    r->last_pts = pts;
    e->packet->pts = e->packet->dts = pts;
    av_packet_rescale_ts(e->packet, (AVRational){ 1, TICKS }, stream->time_base);
    const int ret = av_write_frame(r->file, e->packet);
    if (ret < 0)
        fail(r, "could not be written", ret);
    else
        r->pictures++;
}

static void *run(void *user)
{
    struct fw_view_record *r = user;
    pthread_setname_np(pthread_self(), "view-record");
    pthread_mutex_lock(&r->lock);
    while (!r->stop || r->count) {
        if (!r->count) {
            pthread_cond_wait(&r->wake, &r->lock);
            continue;
        }
        struct entry e = r->queue[r->first];
        r->first = (r->first + 1) % QUEUE_MAX;
        r->count--;
        r->bytes -= (size_t)e.packet->size;
        pthread_mutex_unlock(&r->lock);
        write_entry(r, &e);
        av_packet_free(&e.packet);
        pthread_mutex_lock(&r->lock);
    }
    pthread_mutex_unlock(&r->lock);
    close_file(r);
    return NULL;
}

// ---- the outside

static bool known_kind(const char *path)
{
    const char *dot = strrchr(path, '.');
    return dot && dot != path && !strchr(dot, '/') &&
           (strcasecmp(dot, ".mp4") == 0 || strcasecmp(dot, ".mkv") == 0 ||
            strcasecmp(dot, ".mov") == 0);
}

// Claims the name, so that what can't work is told before anything is shown.
static enum fw_err claim(const struct fw_view_record *r, char *message, size_t size)
{
    const char *path = r->p.path;
    if (!known_kind(path) || strlen(path) > PATH_MAX_LENGTH) {
        snprintf(message, size, "--record: %s: the name must end in .mp4, .mkv or .mov", path);
        return FW_ERR_INVALID;
    }
    const int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | (r->p.overwrite ? 0 : O_EXCL), 0666);
    if (fd < 0 && errno == EEXIST) {
        snprintf(message, size, "--record: %s is there already; --force overwrites it", path);
        return FW_ERR_DENIED;
    }
    if (fd < 0) {
        snprintf(message, size, "--record: %s: %s", path, strerror(errno));
        return FW_ERR_IO;
    }
    close(fd);
    return FW_OK;
}

enum fw_err fw_view_record_start(struct fw_view_record **record,
                                 const struct fw_view_record_params *params, char *message,
                                 size_t size)
{
    *record = NULL;
    struct fw_view_record *r = calloc(1, sizeof(*r));
    snprintf(message, size, "out of memory");
    if (!r)
        return FW_ERR_NOMEM;
    r->p = *params;
    r->need_key = true;
    enum fw_err err = claim(r, message, size);
    if (err) {
        free(r);
        return err;
    }
    pthread_mutex_init(&r->lock, NULL);
    pthread_cond_init(&r->wake, NULL);
    if (pthread_create(&r->thread, NULL, run, r)) {
        free(r);
        return FW_ERR_NOMEM;
    }
    *record = r;
    return FW_OK;
}

void fw_view_record_feed(struct fw_view_record *r, const AVPacket *packet,
                         const struct fw_wire_video *video, int64_t now_ns)
{
    bool lost = false;
    pthread_mutex_lock(&r->lock);
    if (video->key)
        r->need_key = false;
    if (r->need_key) {
        // Left out: it builds on pictures that the file does not have.
    } else if (r->count == QUEUE_MAX || r->bytes > QUEUE_BYTES) {
        r->need_key = lost = true;
    } else {
        AVPacket *own = av_packet_clone(packet);
        if (own) {
            r->queue[(r->first + r->count++) % QUEUE_MAX] =
                (struct entry){ own, video->width, video->height, now_ns };
            r->bytes += (size_t)own->size;
            pthread_cond_signal(&r->wake);
        } else {
            r->need_key = lost = true;
        }
    }
    pthread_mutex_unlock(&r->lock);
    if (lost)
        r->p.want_key(r->p.user, "recording");
}

enum fw_err fw_view_record_stop(struct fw_view_record **record, char *message, size_t size)
{
    struct fw_view_record *r = *record;
    *record = NULL;
    message[0] = '\0';
    if (!r)
        return FW_OK;
    pthread_mutex_lock(&r->lock);
    r->stop = true;
    pthread_cond_signal(&r->wake);
    pthread_mutex_unlock(&r->lock);
    pthread_join(r->thread, NULL);
    enum fw_err err = r->err;
    if (err) {
        snprintf(message, size, "%s", r->why);
    } else if (!r->pictures) {
        if (!r->p.overwrite)
            unlink(r->p.path); // the empty file that claimed the name
        snprintf(message, size, "%s: no picture came, so there is no recording", r->p.path);
        err = FW_ERR_NOT_FOUND;
    } else if (r->files > 1) {
        snprintf(message, size, "recorded %.1f s in %s and %u more (%lu pictures, sizes changed)",
                 r->seconds, r->p.path, r->files - 1, r->pictures);
    } else {
        snprintf(message, size, "recorded %.1f s in %s (%lu pictures)", r->seconds, r->p.path,
                 r->pictures);
    }
    pthread_cond_destroy(&r->wake);
    pthread_mutex_destroy(&r->lock);
    free(r);
    return err;
}
