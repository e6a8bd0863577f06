/* The floor: a closed loop over N connections on bare epoll, one thread, no measurement.
 *
 * What an HTTP/1.1 generator cannot be cheaper than on this kernel: one write and one read a
 * request, and the least parsing that finds the end of an answer (Content-Length only).
 *
 *   cc -O2 -o epoll_loop epoll_loop.c && ./epoll_loop 127.0.0.1 8080 50 1000000
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

static const char REQUEST[] = "GET / HTTP/1.1\r\nhost: 127.0.0.1\r\naccept: */*\r\n\r\n";

struct connection {
    int fd;
    size_t held;
    char buffer[16384];
};

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static void send_request(struct connection *c) {
    if (write(c->fd, REQUEST, sizeof REQUEST - 1) != (ssize_t)(sizeof REQUEST - 1)) fail("write");
}

/* Length of the whole answer in the buffer, or 0 while it is incomplete. */
static size_t answer_length(struct connection *c) {
    char *end = memmem(c->buffer, c->held, "\r\n\r\n", 4);
    if (!end) return 0;
    size_t head = (size_t)(end - c->buffer) + 4;
    c->buffer[c->held] = 0;
    char *length = strcasestr(c->buffer, "\r\ncontent-length:");
    if (!length || length > end) {
        fprintf(stderr, "answer without Content-Length\n");
        exit(1);
    }
    size_t whole = head + strtoul(length + 17, NULL, 10);
    return c->held >= whole ? whole : 0;
}

static struct connection *open_connection(const struct sockaddr_in *address, int epoll) {
    struct connection *c = calloc(1, sizeof *c);
    int one = 1;
    c->fd = socket(AF_INET, SOCK_STREAM, 0);
    if (c->fd < 0 || connect(c->fd, (const struct sockaddr *)address, sizeof *address)) fail("connect");
    setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    struct epoll_event event = {.events = EPOLLIN | EPOLLET, .data.ptr = c};
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, c->fd, &event)) fail("epoll_ctl");
    return c;
}

int main(int argc, char **argv) {
    if (argc != 5) {
        fprintf(stderr, "usage: epoll_loop HOST PORT CONNECTIONS REQUESTS\n");
        return 2;
    }
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((unsigned short)atoi(argv[2]))};
    if (inet_pton(AF_INET, argv[1], &address.sin_addr) != 1) fail("address");
    int connections = atoi(argv[3]);
    long wanted = atol(argv[4]), sent = 0, done = 0;
    int epoll = epoll_create1(0);
    for (int i = 0; i < connections && sent < wanted; i++, sent++)
        send_request(open_connection(&address, epoll));
    struct epoll_event events[64];
    while (done < wanted) {
        int ready = epoll_wait(epoll, events, 64, -1);
        if (ready < 0 && errno != EINTR) fail("epoll_wait");
        for (int i = 0; i < ready; i++) {
            struct connection *c = events[i].data.ptr;
            ssize_t n = read(c->fd, c->buffer + c->held, sizeof c->buffer - 1 - c->held);
            if (n <= 0) fail("read");
            c->held += (size_t)n;
            if (!answer_length(c)) continue;
            c->held = 0;
            done++;
            if (sent < wanted) {
                sent++;
                send_request(c);
            }
        }
    }
    printf("{\"requests\":%ld}\n", done);
    return 0;
}
