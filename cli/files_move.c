/* SPDX-License-Identifier: MIT
 *
 * `tackle files send` and `tackle files receive`.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "files.h"
#include "out.h"
#include "patience.h"

typedef struct moving {
    cli_session *cli;
    cli_files_bar bar;
    bool lines;         /* stdout is for lines */
    size_t pending;     /* bytes of whole lines that stdout has not written yet */
    bool stream;        /* the source is a stream, which cannot be read again */
    int reported;       /* code of the first failure that was reported; TKL_OK: none */
    bool failed_output; /* writing to stdout failed */
} moving;

/* ---- Reports on the way -------------------------------------------------- */

static void show_progress(const tkl_files_progress *progress, void *arg)
{
    moving *m = arg;
    cli_files_bar_update(&m->bar, progress);
}

static json_t *outcome_json(const tkl_files_outcome *o)
{
    json_t *object =
        json_pack("{s:o, s:s, s:o, s:o, s:b, s:o, s:o}", "name", cli_json_present(o->name), "type",
                  tkl_files_type_name(o->type), "path", cli_json_present(tkl_str(o->path)), "size",
                  o->size >= 0 ? json_integer(o->size) : json_null(), "resumed", o->resumed,
                  "error", o->code == TKL_OK ? json_null() : json_string(tkl_codename(o->code)),
                  "message", cli_json_present(tkl_str(o->message)));
    return object;
}

/* Reports a failure. Names a source by its path, and a received file by its name, which the server
 * may have lost. */
static void report_failure(moving *m, const tkl_files_outcome *o)
{
    if (o->code == TKL_EINTR) /* reported when the command ends */
        return;
    bool sent = m->cli->verb->run == cli_files_send;
    char *name = cli_escape(sent && *o->path ? tkl_str(o->path) : o->name, false);
    char *text = cli_escape(tkl_str(o->message), false);
    fprintf(stderr, "tackle: files %s: %s%s%s\n", m->cli->verb->name, name ? name : "",
            name && *name ? ": " : "", text ? text : "");
    free(name);
    free(text);
    if (m->reported == TKL_OK)
        m->reported = o->code;
}

/* Prints an object for each file with --json; else its name, and failures on stderr. */
static void show_file(const tkl_files_outcome *outcome, void *arg)
{
    moving *m = arg;
    cli_files_bar_clear(&m->bar);
    if (m->cli->json && !m->lines) {
        cli_print_json(m->cli, outcome_json(outcome));
    } else if (outcome->code != TKL_OK) {
        report_failure(m, outcome);
    } else if (!m->lines) {
        cli_print_bytes(*outcome->path ? tkl_str(outcome->path) : outcome->name);
        putchar('\n');
    }
    if (outcome->code == TKL_OK && !m->failed_output && cli_flush(m->cli) != CLI_OK)
        m->failed_output = true;
}

static void show_waiting(const tkl_files_waiting *waiting, void *arg)
{
    moving *m = arg;
    cli_files_bar_clear(&m->bar);
    fputs("tackle: files send: waiting for", stderr);
    for (size_t i = 0; i < waiting->count; i++) {
        char *name = cli_escape(waiting->receivers[i], false);
        fprintf(stderr, "%s %s%s", i ? "," : "", name ? name : "",
                waiting->gone[i] ? " (gone)" : "");
        free(name);
    }
    fputs(waiting->count ? "\n" : " room\n", stderr);
}

/* ---- Ending -------------------------------------------------------------- */

static void cancel(void *client)
{
    tkl_interrupt(client);
}

/* Ends the command. After a signal, which has ended the call cleanly, it dies of that signal. */
static int end_moving(moving *m, int rc)
{
    cli_files_bar_clear(&m->bar);
    if (cli_patience_signal() != 0) {
        if (rc == TKL_EINTR)
            cli_fail_with(m->cli, rc,
                          m->stream ? "interrupted; a stream has to be sent from its beginning"
                                    : "interrupted; to go on, run the same command again");
        return cli_end_of_signal(m->cli, cli_patience_signal());
    }
    if (m->failed_output)
        return CLI_FAILURE;
    return rc != TKL_OK && rc == m->reported ? cli_exit_of(rc) : cli_end(m->cli, rc);
}

/* ---- send ---------------------------------------------------------------- */

/* Reads the names in "a,b,c". Free the array in any case. */
static int read_receivers(cli_session *cli, tkl_bytes **to, size_t *count)
{
    const char *text = cli_text(cli, "to", "");
    *count = 0;
    *to = calloc(strlen(text) + 1, sizeof **to);
    if (!*to)
        return cli_fail(cli, CLI_FAILURE, "out of memory");
    for (const char *at = text; *at;) {
        size_t len = strcspn(at, ",");
        if (len == 0)
            return cli_usage(cli, "invalid --to '%s': an empty name", text);
        (*to)[(*count)++] = (tkl_bytes){at, len};
        at += len + (at[len] == ',' ? 1 : 0);
    }
    return *count > 0 ? CLI_OK : cli_usage(cli, "--to names the receivers");
}

static int64_t read_input(char *buffer, size_t size, void *arg)
{
    (void)arg;
    return read(STDIN_FILENO, buffer, size);
}

static int read_sources(cli_session *cli, tkl_files_source **sources, size_t *count)
{
    const char *name = cli_text(cli, "name", NULL);
    *count = cli->argc > 1 ? (size_t)cli->argc - 1 : 1;
    *sources = calloc(*count, sizeof **sources);
    if (!*sources)
        return cli_fail(cli, CLI_FAILURE, "out of memory");
    if (name && *count != 1)
        return cli_usage(cli, "--name is for one file");
    for (size_t i = 0; i < *count; i++) {
        const char *path = cli->argc > 1 ? cli->argv[i + 1] : "-";
        tkl_files_source *source = &(*sources)[i];
        source->name = tkl_str(name);
        if (strcmp(path, "-") != 0)
            source->path = path;
        else if (name)
            source->read = read_input;
        else
            return cli_usage(cli, "standard input needs a --name");
    }
    return CLI_OK;
}

static int print_sent(const moving *m, const tkl_files_totals *totals)
{
    char bytes[CLI_BYTES_SIZE];
    if (!m->cli->json && isatty(STDERR_FILENO))
        fprintf(stderr, "%" PRId64 " file%s, %s\n", totals->files, totals->files == 1 ? "" : "s",
                cli_bytes_text(totals->bytes, bytes));
    return CLI_OK;
}

static int send_files(cli_session *cli, tkl_files *files, const tkl_bytes *to, size_t to_count,
                      const tkl_files_source *sources, size_t count)
{
    moving m = {.cli = cli, .stream = count == 1 && !sources[0].path};
    tkl_files_totals totals;
    tkl_files_send_options options = {.wait_ms = cli_number(cli, "wait", 0),
                                      .drop_after_ms = cli_number(cli, "drop-after", 0),
                                      .on_progress = show_progress,
                                      .on_file = show_file,
                                      .on_waiting = show_waiting,
                                      .more = cli_flag(cli, "more"),
                                      .arg = &m};
    int failed = cli_patience_begin(cli, cancel, cli->client);
    if (failed)
        return failed;
    cli_files_bar_start(&m.bar, cli);
    failed = end_moving(&m, tkl_files_send(files, to, to_count, sources, count, &options, &totals));
    cli_patience_end(cli);
    return failed ? failed : print_sent(&m, &totals);
}

int cli_files_send(cli_session *cli)
{
    tkl_files *files = NULL;
    tkl_bytes *to = NULL;
    tkl_files_source *sources = NULL;
    size_t to_count = 0, count = 0;
    int64_t resume = cli_number(cli, "resume", 600000);
    tkl_files_options options = {.max_bytes = cli_number(cli, "limit", 0),
                                 .ttl_ms = cli_number(cli, "ttl", 0),
                                 .lease_ms = cli_number(cli, "lease", 0),
                                 .resume_ms = resume > 0 ? resume : TKL_NONE};
    int failed = cli_files_check(cli);
    if (!failed)
        failed = read_receivers(cli, &to, &to_count);
    if (!failed)
        failed = read_sources(cli, &sources, &count);
    if (!failed)
        failed = cli_files_open(cli, &options, &files);
    if (!failed)
        failed = send_files(cli, files, to, to_count, sources, count);
    tkl_files_close(files);
    free(sources);
    free(to);
    return failed;
}

/* A send without sources only says that no more will come. */
int cli_files_end(cli_session *cli)
{
    tkl_files *files = NULL;
    tkl_bytes *to = NULL;
    size_t count = 0;
    int failed = read_receivers(cli, &to, &count);
    if (!failed)
        failed = cli_files_open(cli, NULL, &files);
    if (!failed)
        failed = cli_end(cli, tkl_files_send(files, to, count, NULL, 0, NULL, NULL));
    if (!failed && cli->json)
        failed = cli_print_json(cli, json_pack("{s:o, s:I}", "name",
                                               cli_json_bytes(tkl_str(cli->argv[0])),
                                               "receiver_count", (json_int_t)count));
    tkl_files_close(files);
    free(to);
    return failed;
}

/* ---- receive ------------------------------------------------------------- */

/* Writes pending lines when `len` more bytes would exceed PIPE_BUF. A pipe takes up to PIPE_BUF
 * bytes at once or not at all, so a process that is killed leaves no half line in it. A longer line
 * is written alone. */
static void make_room(moving *m, size_t len)
{
    if (m->pending > 0 && m->pending + len > PIPE_BUF) {
        fflush(stdout);
        m->pending = 0;
    }
    m->pending += len;
}

/* Ends the last line of standard output if that is a file, and an earlier run was killed while it
 * wrote the line. Else the next line would be glued to the part that was written. */
static void end_torn_line(void)
{
    struct stat st;
    int flags = fcntl(STDOUT_FILENO, F_GETFL);
    if (flags < 0 || fstat(STDOUT_FILENO, &st) != 0 || !S_ISREG(st.st_mode))
        return;
    off_t end = flags & O_APPEND ? st.st_size : lseek(STDOUT_FILENO, 0, SEEK_CUR);
    int fd = end > 0 ? open("/proc/self/fd/1", O_RDONLY | O_CLOEXEC) : -1;
    char last;
    if (fd >= 0 && pread(fd, &last, 1, end - 1) == 1 && last != '\n')
        putchar('\n');
    if (fd >= 0)
        close(fd);
}

/* Bounds for the size of a JSON object: most bytes for each byte of its texts, and around them. */
enum { JSON_BYTES = 6, JSON_AROUND = 32 };

static bool print_object(moving *m, tkl_bytes file, tkl_bytes text)
{
    make_room(m, JSON_BYTES * (file.len + text.len) + JSON_AROUND);
    return cli_print_json(m->cli, json_pack("{s:o, s:o}", "name", cli_json_bytes(file), "text",
                                            cli_json_bytes(text))) == CLI_OK;
}

/* Prints the line, with --names behind the name of the file and a tab; a tab within the name is
 * escaped. */
static bool print_text(moving *m, tkl_bytes file, tkl_bytes text)
{
    bool named = cli_flag(m->cli, "names");
    char *name = named ? cli_escape(file, false) : NULL;
    if (named && !name)
        return cli_end(m->cli, TKL_ENOMEM) == CLI_OK;
    make_room(m, text.len + 1 + (name ? strlen(name) + 1 : 0));
    if (name)
        printf("%s\t", name);
    if (text.len > 0)
        fwrite(text.data, 1, text.len, stdout);
    putchar('\n');
    free(name);
    return true;
}

static int print_line(tkl_bytes file, tkl_bytes text, void *arg)
{
    moving *m = arg;
    bool printed = m->cli->json ? print_object(m, file, text) : print_text(m, file, text);
    if (!printed)
        return 1;
    if (m->pending > PIPE_BUF)
        make_room(m, 0);
    if (ferror(stdout))
        m->failed_output = true;
    return m->failed_output;
}

static int flush_lines(void *arg)
{
    moving *m = arg;
    m->pending = 0;
    if (!m->failed_output && cli_flush(m->cli) != CLI_OK)
        m->failed_output = true;
    return m->failed_output;
}

static int receive_files(cli_session *cli, tkl_files *files)
{
    moving m = {.cli = cli, .lines = cli_flag(cli, "lines")};
    tkl_files_receive_options options = {.dir = cli_text(cli, "dir", "."),
                                         .unpack = cli_flag(cli, "unpack"),
                                         .sync = cli_flag(cli, "sync"),
                                         .exit_when_done = cli_flag(cli, "exit-when-done"),
                                         .on_line = m.lines ? print_line : NULL,
                                         .on_flush = m.lines ? flush_lines : NULL,
                                         .on_file = show_file,
                                         .on_progress = show_progress,
                                         .arg = &m};
    int failed = cli_patience_begin(cli, cancel, cli->client);
    if (failed)
        return failed;
    cli_files_bar_start(&m.bar, cli);
    if (m.lines) { /* up to PIPE_BUF bytes stay in the buffer until it is flushed */
        setvbuf(stdout, NULL, _IOFBF, (size_t)4 * PIPE_BUF);
        end_torn_line();
    }
    int rc = tkl_files_receive(files, tkl_str(cli_text(cli, "as", "")), &options,
                               cli_number(cli, "wait", -1), NULL);
    failed = end_moving(&m, rc);
    cli_patience_end(cli);
    return failed;
}

int cli_files_receive(cli_session *cli)
{
    tkl_files *files = NULL;
    tkl_files_options options = {.lease_ms = cli_number(cli, "lease", 0)};
    if (!*cli_text(cli, "as", ""))
        return cli_usage(cli, "--as names the receiver");
    if (cli_flag(cli, "names") && !cli_flag(cli, "lines"))
        return cli_usage(cli, "--names is for --lines");
    int failed = cli_files_check(cli);
    if (!failed)
        failed = cli_files_open(cli, &options, &files);
    if (!failed)
        failed = receive_files(cli, files);
    tkl_files_close(files);
    return failed;
}
