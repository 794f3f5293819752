// SPDX-License-Identifier: MIT
// assimp opens whatever a file names; it gets to see the model's own folder only, read-only.
#include <assimp/cfileio.h>
#include <stdlib.h>
#include <string.h>

#include "render/source/scene/import_priv.h"

struct cursor {
    struct fw_scene_bytes bytes;
    size_t pos;
};

static struct cursor *cursor_of(struct aiFile *file)
{
    return (struct cursor *)(void *)file->UserData;
}

static size_t read_proc(struct aiFile *file, char *out, size_t size, size_t count)
{
    struct cursor *c = cursor_of(file);
    size_t left = c->bytes.size - c->pos;
    if (!size || !count)
        return 0;
    size_t items = left / size < count ? left / size : count;
    memcpy(out, c->bytes.data + c->pos, items * size);
    c->pos += items * size;
    return items;
}

static size_t write_proc(struct aiFile *file, const char *data, size_t size, size_t count)
{
    (void)file, (void)data, (void)size, (void)count;
    return 0;
}

static size_t tell_proc(struct aiFile *file)
{
    return cursor_of(file)->pos;
}

static size_t size_proc(struct aiFile *file)
{
    return cursor_of(file)->bytes.size;
}

static enum aiReturn seek_proc(struct aiFile *file, size_t offset, enum aiOrigin origin)
{
    struct cursor *c = cursor_of(file);
    // Offsets are unsigned, but callers go backwards from the end or from here by wrapping.
    size_t from = origin == aiOrigin_SET ? 0 : origin == aiOrigin_CUR ? c->pos : c->bytes.size;
    size_t to = from + offset;
    if (to > c->bytes.size)
        return aiReturn_FAILURE;
    c->pos = to;
    return aiReturn_SUCCESS;
}

static void flush_proc(struct aiFile *file)
{
    (void)file;
}

static struct aiFile *open_proc(struct aiFileIO *io, const char *name, const char *mode)
{
    struct fw_scene_files *files = (struct fw_scene_files *)(void *)io->UserData;
    struct fw_scene_bytes bytes;
    if (!name || !mode || mode[0] != 'r' || fw_scene_files_get(files, name, &bytes))
        return NULL;
    struct aiFile *file = malloc(sizeof(*file));
    struct cursor *c = malloc(sizeof(*c));
    if (!file || !c) {
        free(file);
        free(c);
        return NULL;
    }
    *c = (struct cursor){ .bytes = bytes };
    *file = (struct aiFile){
        .ReadProc = read_proc,
        .WriteProc = write_proc,
        .TellProc = tell_proc,
        .FileSizeProc = size_proc,
        .SeekProc = seek_proc,
        .FlushProc = flush_proc,
        .UserData = (char *)c,
    };
    return file;
}

static void close_proc(struct aiFileIO *io, struct aiFile *file)
{
    (void)io;
    if (file)
        free(file->UserData);
    free(file);
}

void fw_import_io(struct aiFileIO *io, struct fw_scene_files *files)
{
    *io = (struct aiFileIO){
        .OpenProc = open_proc,
        .CloseProc = close_proc,
        .UserData = (char *)files,
    };
}
