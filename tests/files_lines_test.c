/* SPDX-License-Identifier: MIT
 *
 * Lines instead of files, and gzip: members, corrupt and truncated data, lines of any length.
 *
 * ctest: label threads
 */
#include <tackle/files.h>

#include <signal.h>
#include <unistd.h>
#include <zlib.h>

#include "files/files.h"
#include "support/fixture.h"
#include "support/process.h"
#include "support/transfer.h"

#define KB 1024
#define MB (1024 * 1024)

/* ---- Lines --------------------------------------------------------------- */

/* Lines as "[one][two]". */
typedef struct page {
    char text[4096];
    int left; /* lines until the callback refuses; negative: it never does */
} page;

static int note_line(tkl_bytes file, tkl_bytes line, void *arg)
{
    (void)file;
    page *p = arg;
    if (p->left == 0)
        return 1;
    p->left--;
    snprintf(p->text + strlen(p->text), sizeof p->text - strlen(p->text), "[" TKL_FMT "]",
             TKL_ARG(line));
    return 0;
}

/* Whatever the pieces are, the lines are the same. */
static void lines_are_cut_anywhere_and_put_together(void **state)
{
    (void)state;
    static const char text[] = "one\ntwo\n\nlonger than the others\nlast";
    for (size_t piece = 1; piece <= sizeof text; piece++) {
        page p = {.left = -1};
        tkl__files_lines lines;
        tkl__files_lines_init(&lines, note_line, &p, tkl_str("log"), 0);
        for (size_t at = 0; at < sizeof text - 1; at += piece) {
            size_t left = sizeof text - 1 - at;
            assert_ok(
                tkl__files_lines_add(&lines, (tkl_bytes){text + at, left < piece ? left : piece}));
        }
        assert_ok(tkl__files_lines_end(&lines));
        assert_string_equal(p.text, "[one][two][][longer than the others][last]");
        assert_int_equal(lines.count, 5);
        assert_int_equal(lines.delivered, sizeof text - 1);
        tkl__files_lines_free(&lines);
    }
}

/* ---- gzip ---------------------------------------------------------------- */

/* One member; malloc'ed. */
static tkl_bytes pack(const char *data, size_t len)
{
    z_stream z = {0};
    size_t cap = len + len / 100 + 100;
    char *out = malloc(cap);
    assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY), Z_OK);
    z.next_in = (unsigned char *)(uintptr_t)data;
    z.avail_in = (unsigned)len;
    z.next_out = (unsigned char *)out;
    z.avail_out = (unsigned)cap;
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    size_t size = cap - z.avail_out;
    deflateEnd(&z);
    return (tkl_bytes){out, size};
}

static tkl_bytes join(tkl_bytes a, tkl_bytes b)
{
    char *out = malloc(a.len + b.len + 1);
    memcpy(out, a.data, a.len);
    memcpy(out + a.len, b.data, b.len);
    return (tkl_bytes){out, a.len + b.len};
}

static int collect(void *arg, tkl_bytes bytes)
{
    tkl__buf_add(arg, bytes.data, bytes.len);
    return TKL_OK;
}

static int unpack(tkl_bytes packed, size_t piece, tkl__buf *out)
{
    tkl__files_unpacker *u = tkl__files_unpack_new(collect, out);
    int rc = TKL_OK;
    for (size_t at = 0; rc == TKL_OK && at < packed.len; at += piece) {
        size_t left = packed.len - at;
        rc = tkl__files_unpack_add(u, (tkl_bytes){packed.data + at, left < piece ? left : piece});
    }
    if (rc == TKL_OK)
        rc = tkl__files_unpack_end(u);
    tkl__files_unpack_free(u);
    return rc;
}

static void members_are_unpacked_one_behind_the_other(void **state)
{
    (void)state;
    tkl_bytes one = pack("hello\n", 6), two = pack("", 0), three = pack("world", 5);
    tkl_bytes some = join(one, two), all = join(some, three);
    tkl_bytes padded = join(all, (tkl_bytes){"\0\0\0\0", 4});
    tkl_bytes garbage = join(all, (tkl_bytes)TKL_LIT("garbage"));
    for (size_t piece = 1; piece < all.len + 2; piece++) {
        tkl__buf out;
        tkl__buf_init(&out);
        assert_ok(unpack(all, piece, &out));
        assert_int_equal(out.len, 11);
        assert_memory_equal(out.data, "hello\nworld", 11);
        tkl__buf_clear(&out);
        assert_ok(unpack(padded, piece, &out));
        assert_int_equal(out.len, 11);
        tkl__buf_clear(&out);
        assert_code(unpack(garbage, piece, &out), TKL_EDAMAGED);
        for (size_t cut = 1; cut < one.len; cut++) {
            tkl__buf_clear(&out);
            int rc = unpack((tkl_bytes){one.data, cut}, piece, &out);
            assert_code(rc, cut == 1 ? TKL_OK : TKL_EDAMAGED);
        }
        tkl__buf_free(&out);
    }
    const tkl_bytes each[] = {one, two, three, some, all, padded, garbage};
    for (size_t i = 0; i < sizeof each / sizeof *each; i++)
        free((char *)(uintptr_t)each[i].data);
}

static void what_is_not_gzip_passes_as_it_is(void **state)
{
    (void)state;
    static const tkl_bytes cases[] = {TKL_LIT(""), TKL_LIT("x"), TKL_LIT("\x1f"), TKL_LIT("\x1fx"),
                                      TKL_LIT("plain text")};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (size_t piece = 1; piece < 4; piece++) {
            tkl__buf out;
            tkl__buf_init(&out);
            assert_ok(unpack(cases[i], piece, &out));
            assert_int_equal(out.len, cases[i].len);
            assert_memory_equal(out.data, cases[i].data, cases[i].len);
            tkl__buf_free(&out);
        }
}

/* ---- On a channel -------------------------------------------------------- */

static tkl_files *open_channel(fixture *f)
{
    tkl_files *files;
    assert_ok(tkl_files_open(f->client, tkl_str("logs"), NULL, &files));
    return files;
}

static char *numbers(int count, size_t *len)
{
    char *text = malloc((size_t)count * 8 + 1), *at = text;
    for (int i = 0; i < count; i++)
        at += sprintf(at, "%d\n", i);
    *len = (size_t)(at - text);
    return text;
}

static void a_gzip_file_arrives_unpacked(void **state)
{
    static const int counts[] = {10, 200000};
    fixture *f = *state;
    tkl_files *files = open_channel(f);
    for (int i = 0; i < 2; i++) {
        transfer p;
        size_t len;
        transfer_make(&p);
        char *text = numbers(counts[i], &len), *dir = transfer_path(&p, "a/");
        tkl_bytes packed = pack(text, len);
        char *path = transfer_text(&p, "src/n.txt.gz", packed);
        char *plain = transfer_text(&p, "src/n.txt", (tkl_bytes){text, len});
        tkl_files_receive_options options = {.dir = dir, .unpack = true};
        assert_ok(transfer_send(files, "a", path, NULL));
        assert_ok(tkl_files_receive(files, tkl_str("a"), &options, 0, NULL));
        char *got = transfer_path(&p, "a/n.txt");
        assert_true(transfer_same(got, plain));
        assert_int_equal(transfer_count(dir), 1);
        free(got);
        free(path);
        free(plain);
        free(text);
        free(dir);
        free((char *)(uintptr_t)packed.data);
    }
    tkl_files_close(files);
}

/* Numbers in order, from `next` on. */
typedef struct series {
    int next, stop; /* refuses the line with the number `stop` */
    int repeated;
} series;

static int check_number(tkl_bytes file, tkl_bytes line, void *arg)
{
    (void)file;
    series *s = arg;
    int number = atoi(line.data);
    if (number == s->stop)
        return 1;
    if (number < s->next)
        s->repeated++;
    else if (number > s->next)
        return -1;
    else
        s->next++;
    return 0;
}

static int count_line(tkl_bytes file, tkl_bytes line, void *arg)
{
    (void)file;
    (void)line;
    ((series *)arg)->next++;
    return 0;
}

static void corrupt_gzip_loses_nothing(void **state)
{
    static const struct {
        int count;
        size_t cut; /* bytes of the end that are missing */
        bool spoiled;
    } cases[] = {{10, 4, false}, {200000, 5, false}, {200000, 0, true}};
    fixture *f = *state;
    tkl_files *files = open_channel(f);
    for (int i = 0; i < 6; i++) {
        transfer p;
        size_t len;
        int c = i / 2;
        bool lines = i % 2;
        transfer_make(&p);
        char *text = numbers(cases[c].count, &len), *dir = transfer_path(&p, "a/");
        tkl_bytes packed = pack(text, len);
        if (cases[c].spoiled)
            memset((char *)(uintptr_t)packed.data + packed.len / 2, 0xff, 100);
        char *path =
            transfer_text(&p, "src/n.gz", (tkl_bytes){packed.data, packed.len - cases[c].cut});
        series s = {.stop = -1};
        tkl_files_totals totals;
        tkl_files_receive_options options = {
            .dir = dir, .unpack = true, .on_line = lines ? count_line : NULL, .arg = &s};
        assert_ok(transfer_send(files, "a", path, NULL));
        assert_code(tkl_files_receive(files, tkl_str("a"), &options, 0, &totals), TKL_EDAMAGED);
        assert_contains(tkl_errmsg(), "gzip data");
        assert_int_equal(totals.failed, 1);
        assert_true(!lines || s.next > cases[c].count / 4);
        char *kept = transfer_path(&p, "a/n.gz");
        assert_true(transfer_same(kept, path));
        assert_int_equal(transfer_count(dir), 1);
        free(kept);
        free(path);
        free(text);
        free(dir);
        free((char *)(uintptr_t)packed.data);
    }
    assert_int_equal(server_ask_int(f->server, "HGET tackle:files:{logs} held"), 0);
    tkl_files_close(files);
}

static void a_callback_that_stops_gets_that_line_next_time(void **state)
{
    static const int counts[] = {1000, 300000};
    fixture *f = *state;
    tkl_files *files = open_channel(f);
    for (int i = 0; i < 4; i++) {
        int count = counts[i / 2];
        bool packs = i % 2;
        transfer p;
        size_t len;
        tkl_files_totals totals;
        transfer_make(&p);
        char *text = numbers(count, &len), *dir = transfer_path(&p, "a/");
        tkl_bytes content = packs ? pack(text, len) : (tkl_bytes){text, len};
        char *path = transfer_text(&p, "src/n", content);
        series s = {.stop = count / 3};
        tkl_files_receive_options options = {
            .dir = dir, .unpack = packs, .on_line = check_number, .arg = &s};
        assert_ok(transfer_send(files, "a", path, NULL));
        assert_code(tkl_files_receive(files, tkl_str("a"), &options, 0, &totals), TKL_EINTR);
        assert_int_equal(s.next, count / 3);
        s.stop = count / 2;
        assert_code(tkl_files_receive(files, tkl_str("a"), &options, 0, &totals), TKL_EINTR);
        s.stop = -1;
        assert_ok(tkl_files_receive(files, tkl_str("a"), &options, 0, &totals));
        assert_int_equal(s.next, count);
        assert_int_equal(s.repeated, 0);
        assert_int_equal(totals.lines, count - count / 2);
        assert_int_equal(transfer_count(dir), 0);
        free(path);
        free(text);
        free(dir);
        if (packs)
            free((char *)(uintptr_t)content.data);
    }
    tkl_files_close(files);
}

static int measure_line(tkl_bytes file, tkl_bytes line, void *arg)
{
    (void)file;
    size_t *lens = arg;
    lens[lens[0]++ + 1] = line.len;
    return 0;
}

/* A consumer that takes few lines a call gets on: files that it is done with do not come again. */
static void a_callback_that_stops_keeps_its_place_among_small_files(void **state)
{
    enum { FILES = 20, LINES = 5 };
    fixture *f = *state;
    transfer p;
    const tkl_bytes to[] = {TKL_LIT("a")};
    tkl_files_source sources[FILES] = {{0}};
    transfer_make(&p);
    for (int i = 0; i < FILES; i++) {
        char text[LINES * 8] = "", *name = test_format("src/%02d", i);
        for (int line = 0; line < LINES; line++)
            sprintf(text + strlen(text), "%d\n", i * LINES + line);
        sources[i].path = transfer_text(&p, name, tkl_str(text));
        free(name);
    }
    tkl_files *files = open_channel(f);
    char *dir = transfer_path(&p, "a/");
    series s = {0};
    tkl_files_receive_options options = {.dir = dir, .on_line = check_number, .arg = &s};
    assert_ok(tkl_files_send(files, to, 1, sources, FILES, NULL, NULL));
    int rc = TKL_EINTR;
    for (int call = 0; call < FILES * LINES && rc == TKL_EINTR; call++) {
        s.stop = s.next + 7;
        rc = tkl_files_receive(files, tkl_str("a"), &options, 0, NULL);
    }
    assert_ok(rc);
    assert_int_equal(s.next, FILES * LINES);
    assert_int_equal(s.repeated, 0);
    assert_int_equal(transfer_count(dir), 0);
    for (int i = 0; i < FILES; i++)
        free((char *)(uintptr_t)sources[i].path);
    free(dir);
    tkl_files_close(files);
}

static void a_line_may_be_longer_than_everything(void **state)
{
    fixture *f = *state;
    tkl_files *files;
    tkl_files_options small = {.max_bytes = 64 * KB};
    transfer p;
    transfer_make(&p);
    char *text = malloc(3 * MB + 2), *dir = transfer_path(&p, "a/");
    memset(text, 'x', 3 * MB + 2);
    text[3 * MB] = '\n';
    char *path = transfer_text(&p, "src/long", (tkl_bytes){text, 3 * MB + 2});
    size_t lens[8] = {0};
    assert_ok(tkl_files_open(f->client, tkl_str("logs"), &small, &files));
    pid_t child = fork();
    if (child == 0)
        _exit(transfer_send(files, "a", path, NULL) == TKL_OK ? 0 : 1);
    tkl_files_receive_options options = {
        .dir = dir, .on_line = measure_line, .arg = lens, .exit_when_done = true};
    assert_ok(tkl_files_receive(files, tkl_str("a"), &options, 20000, NULL));
    assert_int_equal(process_wait(child), 0);
    assert_int_equal(lens[0], 2);
    assert_int_equal(lens[1], 3 * MB);
    assert_int_equal(lens[2], 1);
    free(path);
    free(text);
    free(dir);
    tkl_files_close(files);
}

/* Collects "file:line " of each line. */
static int note_source(tkl_bytes file, tkl_bytes line, void *arg)
{
    char *text = arg;
    sprintf(text + strlen(text), TKL_FMT ":" TKL_FMT " ", TKL_ARG(file), TKL_ARG(line));
    return 0;
}

static void each_line_says_which_file_it_is_from(void **state)
{
    fixture *f = *state;
    tkl_files *files;
    transfer p;
    char got[256] = "";
    transfer_make(&p);
    char *dir = transfer_path(&p, "a/");
    char *first = transfer_text(&p, "src/first", tkl_str("one\ntwo")),
         *second = transfer_text(&p, "src/second", tkl_str("\nthree\n"));
    assert_ok(tkl_files_open(f->client, tkl_str("logs"), NULL, &files));
    assert_ok(transfer_send(files, "a", first, NULL));
    assert_ok(transfer_send(files, "a", second, NULL));
    tkl_files_receive_options options = {
        .dir = dir, .on_line = note_source, .arg = got, .exit_when_done = true};
    assert_ok(tkl_files_receive(files, tkl_str("a"), &options, 20000, NULL));
    assert_string_equal(got, "first:one first:two second: second:three ");
    free(first);
    free(second);
    free(dir);
    tkl_files_close(files);
}

/* ---- Killed -------------------------------------------------------------- */

typedef struct reader {
    const char *url, *dir;
    int out; /* where it writes its lines */
} reader;

static int write_line(tkl_bytes file, tkl_bytes line, void *arg)
{
    (void)file;
    char text[32];
    int len = snprintf(text, sizeof text, TKL_FMT "\n", TKL_ARG(line));
    return write(*(int *)arg, text, (size_t)len) == len ? 0 : 1;
}

static int read_lines(void *arg)
{
    reader *r = arg;
    tkl_client *client;
    tkl_files *files;
    tkl_files_receive_options options = {.dir = r->dir,
                                         .unpack = true,
                                         .exit_when_done = true,
                                         .on_line = write_line,
                                         .arg = &r->out};
    if (tkl_open(r->url, NULL, &client) != TKL_OK ||
        tkl_files_open(client, tkl_str("logs"), NULL, &files) != TKL_OK)
        return 99;
    return tkl_files_receive(files, tkl_str("a"), &options, 20000, NULL) == TKL_OK ? 0 : 1;
}

static void no_line_is_lost_when_the_reader_is_killed(void **state)
{
    skip_under_sanitizers();
    enum { COUNT = 200000 };
    fixture *f = *state;
    tkl_files *files = open_channel(f);
    transfer p;
    size_t len;
    transfer_make(&p);
    char *text = numbers(COUNT, &len), *dir = transfer_path(&p, "a/");
    tkl_bytes packed = pack(text, len);
    char *path = transfer_text(&p, "src/n.gz", packed), *out = transfer_path(&p, "out/lines");
    FILE *written = fopen(out, "w+");
    reader r = {.url = f->server->url, .dir = dir, .out = fileno(written)};
    assert_ok(transfer_send(files, "a", path, NULL));
    for (int i = 0, code = -1; code != 0; i++) {
        pid_t child = process_fork(read_lines, &r);
        if (i < 4) {
            test_sleep_ms(20 + 30 * i);
            kill(child, SIGKILL);
        }
        code = process_wait(child);
        assert_true(code == 0 || code == 128 + SIGKILL);
    }
    /* Steps back are repetitions; a step ahead would be a loss. */
    int next = 0, number;
    rewind(written);
    while (fscanf(written, "%d", &number) == 1) {
        assert_true(number <= next);
        next = number == next ? next + 1 : next;
    }
    assert_int_equal(next, COUNT);
    assert_int_equal(transfer_count(dir), 0);
    fclose(written);
    free(path);
    free(out);
    free(text);
    free(dir);
    free((char *)(uintptr_t)packed.data);
    tkl_files_close(files);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(lines_are_cut_anywhere_and_put_together),
        TEST(members_are_unpacked_one_behind_the_other),
        TEST(what_is_not_gzip_passes_as_it_is),
        TEST(a_gzip_file_arrives_unpacked),
        TEST(corrupt_gzip_loses_nothing),
        TEST(a_callback_that_stops_gets_that_line_next_time),
        TEST(a_callback_that_stops_keeps_its_place_among_small_files),
        TEST(a_line_may_be_longer_than_everything),
        TEST(each_line_says_which_file_it_is_from),
        TEST(no_line_is_lost_when_the_reader_is_killed),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
