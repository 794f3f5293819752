// SPDX-License-Identifier: MIT
// shaper NETNS-A NETNS-B DEVICE: a link between two network namespaces that is as slow as one
// says: a TUN device in each, and this program as the wire. Addresses are the caller's to give.
// Reads lines: "DIRECTION delay=20ms rate=8mbit queue=64kB", where DIRECTION is ab, ba or both;
// answers "ok" or "error: …". Ends with its input. Needs root.
#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "tests/net/shape.h"

enum { PACKET_MAX = 2048, QUEUE_MAX = 4096 };

struct packet {
    int64_t due_ns;
    size_t size;
    uint8_t bytes[PACKET_MAX];
};

// One direction: read from `in`, wait here, write to `out`.
struct wire {
    struct shape shape;
    int in, out;
    struct packet queue[QUEUE_MAX];
    unsigned first, count;
};

static struct wire wires[2]; // a to b, b to a

static int open_tun(const char *netns, const char *device)
{
    char path[256];
    snprintf(path, sizeof(path), "/var/run/netns/%s", netns);
    const int ns = open(path, O_RDONLY | O_CLOEXEC);
    if (ns < 0 || setns(ns, CLONE_NEWNET) < 0) {
        fprintf(stderr, "shaper: %s: %s\n", path, strerror(errno));
        return -1;
    }
    close(ns);
    struct ifreq request = { .ifr_flags = IFF_TUN | IFF_NO_PI };
    snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", device);
    const int fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 || ioctl(fd, TUNSETIFF, &request) < 0) {
        fprintf(stderr, "shaper: a TUN device in %s: %s\n", netns, strerror(errno));
        return -1;
    }
    return fd;
}

static void take(struct wire *w)
{
    while (w->count < QUEUE_MAX) {
        struct packet *p = &w->queue[(w->first + w->count) % QUEUE_MAX];
        const ssize_t n = read(w->in, p->bytes, sizeof(p->bytes));
        if (n <= 0)
            return;
        p->size = (size_t)n;
        w->count += shape_admit(&w->shape, p->size, fw_now_ns(), &p->due_ns);
    }
}

// Returns when the next packet is due, INT64_MAX = none waits.
static int64_t give(struct wire *w)
{
    while (w->count) {
        const struct packet *p = &w->queue[w->first];
        if (p->due_ns > fw_now_ns())
            return p->due_ns;
        if (write(w->out, p->bytes, p->size) < 0)
            w->shape.lost++; // as any full link does
        w->first = (w->first + 1) % QUEUE_MAX;
        w->count--;
    }
    return INT64_MAX;
}

static void obey(char *line)
{
    char message[128];
    char *words = line + strcspn(line, " ");
    const size_t length = (size_t)(words - line);
    const bool both = length == 4 && memcmp(line, "both", 4) == 0;
    bool known = both;
    for (int i = 0; i < 2; i++) {
        if (!both && (length != 2 || memcmp(line, i ? "ba" : "ab", 2) != 0))
            continue;
        known = true;
        if (!shape_parse(&wires[i].shape.params, words, message, sizeof(message))) {
            printf("error: %s\n", message);
            return;
        }
    }
    puts(known ? "ok" : "error: a line begins with ab, ba or both");
}

// False: the end.
static bool read_lines(void)
{
    static char text[1024];
    static size_t size;
    const ssize_t n = read(STDIN_FILENO, text + size, sizeof(text) - 1 - size);
    if (n <= 0)
        return false;
    size += (size_t)n;
    text[size] = '\0';
    for (char *end; (end = strchr(text, '\n'));) {
        *end = '\0';
        obey(text);
        size -= (size_t)(end + 1 - text);
        memmove(text, end + 1, size + 1);
    }
    return size < sizeof(text) - 1; // what never ends is no line
}

static struct timespec until(int64_t due_ns)
{
    const int64_t now = fw_now_ns(), left = due_ns > now ? due_ns - now : 0;
    return (struct timespec){ .tv_sec = left / FW_NS_PER_S, .tv_nsec = left % FW_NS_PER_S };
}

int main(int argc, char **argv)
{
    if (argc != 4) {
        fprintf(stderr, "usage: shaper NETNS-A NETNS-B DEVICE\n");
        return 2;
    }
    prctl(PR_SET_TIMERSLACK, 1UL);
    setvbuf(stdout, NULL, _IOLBF, 0);
    wires[0].in = wires[1].out = open_tun(argv[1], argv[3]);
    wires[0].out = wires[1].in = open_tun(argv[2], argv[3]);
    if (wires[0].in < 0 || wires[1].in < 0)
        return 1;
    puts("ready");
    for (;;) {
        const int64_t a = give(&wires[0]), b = give(&wires[1]), due = a < b ? a : b;
        struct pollfd fds[] = {
            { .fd = STDIN_FILENO, .events = POLLIN },
            { .fd = wires[0].in, .events = wires[0].count < QUEUE_MAX ? POLLIN : 0 },
            { .fd = wires[1].in, .events = wires[1].count < QUEUE_MAX ? POLLIN : 0 },
        };
        const struct timespec wait = until(due);
        if (ppoll(fds, 3, due == INT64_MAX ? NULL : &wait, NULL) < 0 && errno != EINTR)
            return 1;
        if (fds[0].revents && !read_lines())
            break;
        take(&wires[0]);
        take(&wires[1]);
    }
    fprintf(stderr, "shaper: %llu and %llu packets lost\n", (unsigned long long)wires[0].shape.lost,
            (unsigned long long)wires[1].shape.lost);
    return 0;
}
