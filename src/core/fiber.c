/* SPDX-License-Identifier: MIT
 *
 * Carriers. A carrier is a thread with an epoll instance. It resumes the fibers that are ready,
 * begins new ones from the queue that all carriers share, and sleeps until a descriptor is ready, a
 * timer ends, or another thread rings its bell. A fiber runs until it parks or ends: carriers do
 * not interrupt it.
 *
 * Descriptors. Several fibers may poll one descriptor, such as that of interruptions, but epoll
 * knows a descriptor only once. So a carrier has a list of watchers for each. A descriptor is armed
 * for one event (EPOLLONESHOT), which wakes all watchers; a watcher that parks again arms it again.
 * After the event the descriptor stays in epoll, since the next call on the same connection arms it
 * again, in one system call; closing a descriptor removes it. It never stays armed without
 * watchers: the number may soon belong to another file, and a forked child may keep the old file
 * open.
 *
 * Stacks. A fiber that rests may do so for hours, and thousands of them may: it keeps only the
 * pages of its stack that are in use. Its carrier gives the pages below back to the system, which
 * costs a system call, and a fault for each page when the fiber goes on. So memory that a resting
 * fiber does not need must not stand in the frames above its sleep.
 *
 * A switch is a swapcontext(). Sanitizers must be told of it.
 */
#include "core/fiber.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "core/client.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/own.h"
#include "core/thread.h"

/* gcc defines __SANITIZE_..., clang answers __has_feature(). */
#ifdef __has_feature
#define HAS_FEATURE(name) __has_feature(name)
#else
#define HAS_FEATURE(name) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || HAS_FEATURE(address_sanitizer)
#define ADDRESS_SANITIZER
#include <sanitizer/common_interface_defs.h>
#elif defined(__SANITIZE_THREAD__) || HAS_FEATURE(thread_sanitizer)
#define THREAD_SANITIZER
#include <sanitizer/tsan_interface.h>
#endif

/* Stacks that a carrier keeps for the next fibers. */
#define SPARES 64
/* How many fibers run before the carrier looks at its descriptors again. */
#define BATCH 64
/* Events read at once, and watchers of one tkl__poll() that need no memory. */
#define EVENTS       64
#define FEW_WATCHERS 8
/* The longest time given to one ppoll(). */
#define DAY_US INT64_C(86400000000)
/* How long tkl__poll() blocks the thread when a descriptor cannot be watched: out of memory. */
#define BLOCKED_US 10000

/* Bytes of the frames below switch_back(), and what compilers use beneath the stack pointer. */
#define BELOW_FRAME 512

/* A stack, and what belongs to the fiber on it. The lowest page of the mapping is a guard. */
typedef struct tkl__strand {
    ucontext_t context;
    tkl__own own;
    char *mapping;
    size_t mapped;
    const char *frame;        /* while it is parked: below is nothing but the frame of a switch */
    bool is_over;             /* the body has returned */
    struct tkl__strand *next; /* among the spares */
    void *shadow;             /* ThreadSanitizer's view of the fiber */
    void *fake_stack;         /* AddressSanitizer's, while another fiber runs */
} strand;

/* A fiber in tkl__poll(), at one of its descriptors; on its stack. */
typedef struct watcher {
    tkl__fiber *fiber;
    struct pollfd *file;
    struct watcher *next, *prev;
} watcher;

typedef struct slot {
    watcher *watchers;
    uint32_t armed; /* epoll reports these events; only while there are watchers */
} slot;

typedef struct tkl__carrier {
    tkl__fibers *fibers;
    pthread_t thread;
    bool has_thread;
    int epoll, bell; /* -1: none */
    ucontext_t context;
    tkl__fiber *running;

    slot *slots; /* by descriptor */
    size_t slot_count;
    tkl__fiber **timers; /* heap, by `until` */
    size_t timer_count, timer_room;
    strand *spares;
    int spare_count;

    /* With the mutex of all fibers: */
    tkl__fiber *ready, *ready_last;
    size_t begun, resting;
    bool sleeps; /* in epoll_wait(): a thread that has work for it rings the bell */

    void *shadow, *fake_stack; /* for sanitizers */
    const void *bottom;
    size_t stack_bytes;
} carrier;

struct tkl__fibers {
    tkl__fibers_options options;
    pthread_mutex_t mutex;    /* held for a few instructions */
    tkl__fiber *queue, *last; /* fibers that have not begun */
    size_t queued;
    unsigned process; /* fork generation that opened it */
    bool closing;
    int count;
    carrier carriers[];
};

static _Thread_local carrier *here; /* NULL: the thread is no carrier */

/* ---- Sanitizers ---------------------------------------------------------- */

static void shadow_make(strand *s)
{
#ifdef THREAD_SANITIZER
    s->shadow = __tsan_create_fiber(0);
#else
    s->shadow = NULL;
#endif
}

static void shadow_free(strand *s)
{
#ifdef THREAD_SANITIZER
    __tsan_destroy_fiber(s->shadow);
#endif
    s->shadow = NULL;
}

/* Switches from the carrier to the fiber, and back again. */
static void switch_to(carrier *c, strand *s)
{
#if defined(ADDRESS_SANITIZER)
    __sanitizer_start_switch_fiber(&c->fake_stack, s->context.uc_stack.ss_sp,
                                   s->context.uc_stack.ss_size);
#elif defined(THREAD_SANITIZER)
    c->shadow = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(s->shadow, 0);
#endif
    swapcontext(&c->context, &s->context);
#ifdef ADDRESS_SANITIZER
    __sanitizer_finish_switch_fiber(c->fake_stack, NULL, NULL);
#endif
}

/* At the beginning of a fiber, and when it was resumed. */
static void arrive_on_fiber(carrier *c, const strand *s)
{
#ifdef ADDRESS_SANITIZER
    __sanitizer_finish_switch_fiber(s->fake_stack, &c->bottom, &c->stack_bytes);
#else
    (void)c;
    (void)s;
#endif
}

/* Switches from the fiber to its carrier. Returns when the fiber is resumed: never, if it is over.
 * Not inlined, so that its frame is small. */
__attribute__((noinline)) static void switch_back(carrier *c, strand *s)
{
    s->frame = __builtin_frame_address(0);
#if defined(ADDRESS_SANITIZER)
    __sanitizer_start_switch_fiber(s->is_over ? NULL : &s->fake_stack, c->bottom, c->stack_bytes);
#elif defined(THREAD_SANITIZER)
    __tsan_switch_to_fiber(c->shadow, 0);
#endif
    swapcontext(&s->context, &c->context);
    arrive_on_fiber(c, s);
}

/* ---- Stacks -------------------------------------------------------------- */

static char *map_stack(size_t size, size_t page)
{
    char *mapping = mmap(NULL, size, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (mapping == MAP_FAILED)
        return NULL;
    if (mprotect(mapping, page, PROT_NONE) == 0)
        return mapping;
    munmap(mapping, size);
    return NULL;
}

static strand *strand_new(size_t stack_bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    strand *s = malloc(sizeof *s);
    if (!s)
        return NULL;
    s->mapped = (stack_bytes + page - 1) / page * page + page;
    s->mapping = map_stack(s->mapped, page);
    if (s->mapping)
        return s;
    free(s);
    return NULL;
}

static void strand_free(strand *s)
{
    munmap(s->mapping, s->mapped);
    free(s);
}

/* Gives back the pages of a parked fiber's stack that are not in use. */
static void strand_trim(const strand *s)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t unused = (size_t)(s->frame - s->mapping - BELOW_FRAME) / page * page;
    if (unused > page)
        madvise(s->mapping + page, unused - page, MADV_DONTNEED);
}

static strand *strand_get(carrier *c)
{
    strand *s = c->spares;
    if (!s)
        return strand_new(c->fibers->options.stack_bytes);
    c->spares = s->next;
    c->spare_count--;
    return s;
}

static void strand_put(carrier *c, strand *s)
{
    shadow_free(s);
    if (c->spare_count >= SPARES) {
        strand_free(s);
        return;
    }
    s->next = c->spares;
    c->spares = s;
    c->spare_count++;
}

/* ---- Timers: a heap of fibers, numbered from 1 --------------------------- */

static void timer_place(carrier *c, size_t at, tkl__fiber *f)
{
    c->timers[at - 1] = f;
    f->timer = at;
}

/* Puts the fiber where it belongs: at `at`, or above or below it. */
static void timer_settle(carrier *c, size_t at, tkl__fiber *f)
{
    for (; at > 1 && c->timers[at / 2 - 1]->until > f->until; at /= 2)
        timer_place(c, at, c->timers[at / 2 - 1]);
    for (size_t child; (child = 2 * at) <= c->timer_count; at = child) {
        if (child < c->timer_count && c->timers[child]->until < c->timers[child - 1]->until)
            child++;
        if (c->timers[child - 1]->until >= f->until)
            break;
        timer_place(c, at, c->timers[child - 1]);
    }
    timer_place(c, at, f);
}

/* There is room: see begin_fiber(). */
static void timer_add(carrier *c, tkl__fiber *f)
{
    timer_settle(c, ++c->timer_count, f);
}

static void timer_remove(carrier *c, tkl__fiber *f)
{
    size_t at = f->timer;
    tkl__fiber *last = c->timers[--c->timer_count];
    f->timer = 0;
    if (last != f)
        timer_settle(c, at, last);
}

static bool timer_make_room(carrier *c)
{
    if (c->begun <= c->timer_room)
        return true;
    size_t room = c->timer_room > 0 ? 2 * c->timer_room : 64;
    tkl__fiber **timers = realloc(c->timers, room * sizeof *timers);
    if (!timers)
        return false;
    c->timers = timers;
    c->timer_room = room;
    return true;
}

/* ---- Waking -------------------------------------------------------------- */

/* With the mutex. */
static void wake_carrier(carrier *c)
{
    if (!c->sleeps)
        return;
    c->sleeps = false;
    eventfd_write(c->bell, 1);
}

/* With the mutex. */
static void ready_add(carrier *c, tkl__fiber *f)
{
    f->parked = false;
    f->next = NULL;
    *(c->ready ? &c->ready_last->next : &c->ready) = f;
    c->ready_last = f;
}

void tkl__fiber_wake(tkl__fiber *f)
{
    carrier *c = f->carrier;
    pthread_mutex_lock(&c->fibers->mutex);
    if (f->parked) {
        ready_add(c, f);
        wake_carrier(c);
    } else {
        f->woken = true;
    }
    pthread_mutex_unlock(&c->fibers->mutex);
}

/* ---- Parking ------------------------------------------------------------- */

/* A child that a fiber forked goes on as a plain thread: the carrier is its parent's. */
tkl__fiber *tkl__fiber_self(void)
{
    return here && here->fibers->process == tkl__fork_generation() ? here->running : NULL;
}

void tkl__fiber_park(int64_t until)
{
    carrier *c = here;
    tkl__fiber *f = c->running;
    pthread_mutex_lock(&c->fibers->mutex);
    bool woken = f->woken;
    f->woken = false;
    f->parked = !woken;
    pthread_mutex_unlock(&c->fibers->mutex);
    if (woken)
        return;
    f->until = until;
    if (until != TKL__FOREVER)
        timer_add(c, f);
    switch_back(c, f->strand);
    if (f->timer > 0)
        timer_remove(c, f);
}

void tkl__fiber_stay(void)
{
    tkl__fiber *f = tkl__fiber_self();
    if (f)
        f->stays++;
}

void tkl__fiber_stay_no_more(void)
{
    tkl__fiber *f = tkl__fiber_self();
    if (f)
        f->stays--;
}

/* Counts the calling fiber among those that rest, or no longer. */
static void count_resting(tkl__fiber *f, bool rests)
{
    carrier *c = f->carrier;
    pthread_mutex_lock(&c->fibers->mutex);
    c->resting += rests ? 1 : (size_t)-1;
    pthread_mutex_unlock(&c->fibers->mutex);
}

void tkl__rest_begin(void)
{
    tkl__fiber *f = tkl__fiber_self();
    if (f && f->rests++ == 0)
        count_resting(f, true);
}

void tkl__rest_end(void)
{
    tkl__fiber *f = tkl__fiber_self();
    if (f && --f->rests == 0)
        count_resting(f, false);
}

void tkl__fiber_cancel(tkl__fiber *f)
{
    atomic_store(&f->cancelled_at, tkl__now());
    tkl__fiber_wake(f);
}

int64_t tkl__fiber_cancelled_at(void)
{
    const tkl__own *own = tkl__own_now();
    return own->cancelled_at ? atomic_load(own->cancelled_at) : 0;
}

/* ---- Descriptors --------------------------------------------------------- */

static bool slot_make(carrier *c, int fd)
{
    size_t count = c->slot_count > 0 ? c->slot_count : 64;
    if ((size_t)fd < c->slot_count)
        return true;
    while (count <= (size_t)fd)
        count *= 2;
    slot *slots = realloc(c->slots, count * sizeof *slots);
    if (!slots)
        return false;
    for (size_t i = c->slot_count; i < count; i++)
        slots[i] = (slot){.watchers = NULL};
    c->slots = slots;
    c->slot_count = count;
    return true;
}

/* Makes epoll report these events of the descriptor, once. */
static bool slot_arm(carrier *c, int fd, uint32_t events)
{
    slot *s = &c->slots[fd];
    if ((s->armed | events) == s->armed)
        return true;
    struct epoll_event wanted = {.events = s->armed | events | EPOLLONESHOT, .data.fd = fd};
    if (epoll_ctl(c->epoll, EPOLL_CTL_MOD, fd, &wanted) != 0 &&
        (errno != ENOENT || epoll_ctl(c->epoll, EPOLL_CTL_ADD, fd, &wanted) != 0))
        return false;
    s->armed |= events;
    return true;
}

static bool watch_file(carrier *c, watcher *w, struct pollfd *file)
{
    if (!slot_make(c, file->fd) || !slot_arm(c, file->fd, (uint16_t)file->events))
        return false;
    slot *s = &c->slots[file->fd];
    *w = (watcher){.fiber = c->running, .file = file, .next = s->watchers};
    if (s->watchers)
        s->watchers->prev = w;
    s->watchers = w;
    return true;
}

static void unwatch_file(carrier *c, watcher *w)
{
    slot *s = &c->slots[w->file->fd];
    *(w->prev ? &w->prev->next : &s->watchers) = w->next;
    if (w->next)
        w->next->prev = w->prev;
    if (s->watchers)
        return;
    if (s->armed != 0) /* no event came: disarms, because an event must not come without watchers */
        epoll_ctl(c->epoll, EPOLL_CTL_DEL, w->file->fd, NULL);
    s->armed = 0;
}

/* An event came for a descriptor: wakes all of its watchers. */
static void wake_watchers(carrier *c, int fd, uint32_t events)
{
    slot *s = &c->slots[fd];
    s->armed = 0;
    for (watcher *w = s->watchers; w; w = w->next) {
        uint32_t wanted = (uint16_t)w->file->events | EPOLLERR | EPOLLHUP;
        w->file->revents = (short)(events & wanted);
        tkl__fiber_wake(w->fiber);
    }
}

/* Parks at the descriptors. False: one of them cannot be watched. */
static bool park_at_files(carrier *c, struct pollfd *files, size_t count, watcher *watchers,
                          int64_t until)
{
    size_t watched = 0;
    bool good = true;
    for (size_t i = 0; good && i < count; i++) {
        files[i].revents = 0;
        if (files[i].fd < 0)
            continue;
        good = watch_file(c, &watchers[watched], &files[i]);
        watched += good;
    }
    if (good)
        tkl__fiber_park(until);
    while (watched > 0)
        unwatch_file(c, &watchers[--watched]);
    return good;
}

static int poll_on_thread(struct pollfd *files, size_t count, int64_t until)
{
    int64_t left = tkl__left(tkl__wake_time(until));
    struct timespec time = tkl__timespec(left < DAY_US ? left : DAY_US);
    return ppoll(files, count, &time, NULL);
}

static int poll_on_fiber(carrier *c, struct pollfd *files, size_t count, int64_t until)
{
    watcher few[FEW_WATCHERS], *watchers = few;
    int ready = 0;
    if (count > FEW_WATCHERS)
        watchers = calloc(count, sizeof *watchers);
    bool good = watchers && park_at_files(c, files, count, watchers, until);
    if (watchers != few)
        free(watchers);
    if (!good) {
        int64_t soon = tkl__now() + BLOCKED_US;
        return poll_on_thread(files, count, soon < until ? soon : until);
    }
    for (size_t i = 0; i < count; i++)
        ready += files[i].revents != 0;
    return ready;
}

int tkl__poll(struct pollfd *files, size_t count, int64_t until)
{
    const tkl__fiber *self = tkl__fiber_self();
    if (!self || self->stays > 0)
        return poll_on_thread(files, count, until);
    return poll_on_fiber(here, files, count, tkl__wake_time(until));
}

/* ---- Running ------------------------------------------------------------- */

/* The first function on the stack of a fiber. */
static void fiber_main(void)
{
    carrier *c = here;
    tkl__fiber *f = c->running;
    arrive_on_fiber(c, f->strand);
    f->body(f);
    f->strand->is_over = true;
    switch_back(c, f->strand);
    abort(); /* nothing resumes a fiber that is over */
}

/* Not inlined: compilers take getcontext() for a function that returns twice, and warn of variables
 * around it. */
__attribute__((noinline)) static void prepare_context(strand *s)
{
    getcontext(&s->context);
    s->context.uc_stack.ss_sp = s->mapping + sysconf(_SC_PAGESIZE);
    s->context.uc_stack.ss_size = s->mapped - (size_t)sysconf(_SC_PAGESIZE);
    makecontext(&s->context, fiber_main, 0);
}

static bool begin_fiber(carrier *c, tkl__fiber *f)
{
    strand *s = timer_make_room(c) ? strand_get(c) : NULL;
    if (!s)
        return false;
    *s = (strand){.mapping = s->mapping, .mapped = s->mapped};
    s->own.cancelled_at = &f->cancelled_at;
    shadow_make(s);
    prepare_context(s);
    f->strand = s;
    return true;
}

static void count_end(carrier *c)
{
    pthread_mutex_lock(&c->fibers->mutex);
    c->begun--;
    pthread_mutex_unlock(&c->fibers->mutex);
}

/* Runs the fiber until it parks or ends. */
static void run_fiber(carrier *c, tkl__fiber *f)
{
    strand *s = f->strand;
    c->running = f;
    tkl__own_switch(&s->own);
    switch_to(c, s);
    tkl__own_switch(NULL);
    c->running = NULL;
    if (!s->is_over) {
        if (f->rests > 0)
            strand_trim(s);
        return;
    }
    strand_put(c, s);
    count_end(c);
    f->ended(f);
}

/* ---- The queue ----------------------------------------------------------- */

static void queue_remove(tkl__fibers *all, tkl__fiber *f)
{
    *(f->prev ? &f->prev->next : &all->queue) = f->next;
    *(f->next ? &f->next->prev : &all->last) = f->prev;
    f->next = f->prev = NULL;
    f->queued = false;
    all->queued--;
}

static bool may_begin(const carrier *c)
{
    const tkl__fibers_options *o = &c->fibers->options;
    int share = (o->busy_max + o->threads - 1) / o->threads;
    return c->begun - c->resting < (size_t)share;
}

/* With the mutex: wakes the carrier that has the least to do, if it sleeps. A carrier that is awake
 * looks at the queue before it sleeps. When all carriers have enough to do, one wakes up to see
 * when the first fiber of the queue expires. */
static void wake_for_queue(tkl__fibers *all)
{
    carrier *least = NULL;
    for (int i = 0; i < all->count; i++) {
        carrier *c = &all->carriers[i];
        if (may_begin(c) && (!least || c->begun - c->resting < least->begun - least->resting))
            least = c;
    }
    if (least)
        wake_carrier(least);
    else if (all->queued == 1)
        wake_carrier(&all->carriers[0]);
}

void tkl__fibers_add(tkl__fibers *all, tkl__fiber *f, int64_t begin_by)
{
    f->begin_by = begin_by;
    pthread_mutex_lock(&all->mutex);
    f->queued = true;
    f->next = NULL;
    f->prev = all->last;
    *(all->last ? &all->last->next : &all->queue) = f;
    all->last = f;
    all->queued++;
    wake_for_queue(all);
    pthread_mutex_unlock(&all->mutex);
}

bool tkl__fibers_withdraw(tkl__fibers *all, tkl__fiber *f)
{
    pthread_mutex_lock(&all->mutex);
    bool queued = f->queued;
    if (queued)
        queue_remove(all, f);
    pthread_mutex_unlock(&all->mutex);
    return queued;
}

/* ---- The carrier's loop -------------------------------------------------- */

/* Takes the next fiber that is ready, or else a new one if the carrier may begin it. */
static tkl__fiber *take_next(carrier *c, bool *is_new)
{
    tkl__fibers *all = c->fibers;
    pthread_mutex_lock(&all->mutex);
    tkl__fiber *f = c->ready;
    *is_new = !f && all->queue && may_begin(c);
    if (f) {
        c->ready = f->next;
    } else if (*is_new) {
        f = all->queue;
        queue_remove(all, f);
        f->carrier = c;
        c->begun++;
    }
    pthread_mutex_unlock(&all->mutex);
    return f;
}

/* Takes a fiber out of the queue that should have begun by now. */
static tkl__fiber *take_expired(carrier *c, int64_t now)
{
    tkl__fibers *all = c->fibers;
    pthread_mutex_lock(&all->mutex);
    tkl__fiber *f = all->queue && all->queue->begin_by <= now ? all->queue : NULL;
    if (f) {
        queue_remove(all, f);
        f->carrier = c;
    }
    pthread_mutex_unlock(&all->mutex);
    return f;
}

/* Runs fibers that are ready, and new ones: not too many before descriptors and timers have their
 * turn. */
static void run_batch(carrier *c)
{
    bool is_new;
    tkl__fiber *f;
    for (int i = 0; i < BATCH && (f = take_next(c, &is_new)); i++) {
        if (!is_new || begin_fiber(c, f)) {
            run_fiber(c, f);
        } else {
            count_end(c);
            f->refused(f, TKL_ENOMEM);
        }
    }
    while ((f = take_expired(c, tkl__now())))
        f->refused(f, TKL_ENOTSENT);
}

/* Decides how long to sleep, in ms for epoll_wait(). */
static int prepare_sleep(carrier *c)
{
    tkl__fibers *all = c->fibers;
    int64_t until = c->timer_count > 0 ? c->timers[0]->until : TKL__FOREVER;
    pthread_mutex_lock(&all->mutex);
    if (c->ready || (all->queue && may_begin(c)) || (all->closing && c->begun == 0))
        until = 0;
    else if (all->queue && all->queue->begin_by < until)
        until = all->queue->begin_by;
    c->sleeps = until > 0;
    pthread_mutex_unlock(&all->mutex);
    return tkl__poll_ms(until);
}

static void end_sleep(carrier *c)
{
    pthread_mutex_lock(&c->fibers->mutex);
    c->sleeps = false;
    pthread_mutex_unlock(&c->fibers->mutex);
}

/* Sleeps until there is something to do, and wakes the fibers concerned. */
static void await_events(carrier *c)
{
    struct epoll_event events[EVENTS];
    int count = epoll_wait(c->epoll, events, EVENTS, prepare_sleep(c));
    end_sleep(c);
    for (int i = 0; i < count; i++) {
        eventfd_t rung;
        if (events[i].data.fd == c->bell)
            eventfd_read(c->bell, &rung);
        else
            wake_watchers(c, events[i].data.fd, events[i].events);
    }
    for (int64_t now = tkl__now(); c->timer_count > 0 && c->timers[0]->until <= now;) {
        tkl__fiber *f = c->timers[0];
        timer_remove(c, f);
        tkl__fiber_wake(f);
    }
}

static void *carry_fibers(void *arg)
{
    carrier *c = arg;
    here = c;
    for (;;) {
        run_batch(c);
        pthread_mutex_lock(&c->fibers->mutex);
        bool over = c->fibers->closing && c->begun == 0;
        pthread_mutex_unlock(&c->fibers->mutex);
        if (over)
            return NULL;
        await_events(c);
    }
}

/* ---- Opening and closing ------------------------------------------------- */

static int carrier_open(tkl__fibers *all, carrier *c)
{
    *c = (carrier){.fibers = all,
                   .epoll = epoll_create1(EPOLL_CLOEXEC),
                   .bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
    struct epoll_event rung = {.events = EPOLLIN, .data.fd = c->bell};
    if (c->epoll < 0 || c->bell < 0 || epoll_ctl(c->epoll, EPOLL_CTL_ADD, c->bell, &rung) != 0)
        return tkl__fail_errno(TKL_EIO, "no descriptors for a loop");
    int rc = tkl__thread_start(&c->thread, carry_fibers, c, "a loop");
    c->has_thread = rc == TKL_OK;
    return rc;
}

static void carrier_free(carrier *c)
{
    if (c->epoll >= 0)
        close(c->epoll);
    if (c->bell >= 0)
        close(c->bell);
    for (strand *s = c->spares, *next; s; s = next) {
        next = s->next;
        strand_free(s);
    }
    free(c->slots);
    free(c->timers);
}

int tkl__fibers_open(const tkl__fibers_options *options, tkl__fibers **fibers)
{
    size_t count = (size_t)options->threads;
    tkl__fibers *all = calloc(1, sizeof *all + count * sizeof *all->carriers);
    *fibers = NULL;
    if (!all)
        return tkl__nomem();
    all->options = *options;
    all->process = tkl__fork_generation();
    pthread_mutex_init(&all->mutex, NULL);
    int rc = TKL_OK;
    while (rc == TKL_OK && all->count < options->threads)
        rc = carrier_open(all, &all->carriers[all->count++]);
    if (rc != TKL_OK) {
        tkl__fibers_close(all);
        return rc;
    }
    *fibers = all;
    return TKL_OK;
}

void tkl__fibers_close(tkl__fibers *all)
{
    if (!all)
        return;
    pthread_mutex_lock(&all->mutex);
    all->closing = true;
    for (int i = 0; i < all->count; i++)
        wake_carrier(&all->carriers[i]);
    pthread_mutex_unlock(&all->mutex);
    for (int i = 0; i < all->count; i++)
        if (all->carriers[i].has_thread)
            pthread_join(all->carriers[i].thread, NULL);
    pthread_mutex_destroy(&all->mutex);
    tkl__fibers_forget(all);
}

/* The stacks of fibers that had begun stay mapped in the child. */
void tkl__fibers_forget(tkl__fibers *all)
{
    for (int i = 0; i < all->count; i++)
        carrier_free(&all->carriers[i]);
    free(all);
}

void tkl__fibers_count(tkl__fibers *all, tkl__fibers_counts *counts)
{
    pthread_mutex_lock(&all->mutex);
    *counts = (tkl__fibers_counts){.queued = all->queued};
    for (int i = 0; i < all->count; i++) {
        counts->begun += all->carriers[i].begun;
        counts->resting += all->carriers[i].resting;
    }
    pthread_mutex_unlock(&all->mutex);
}
