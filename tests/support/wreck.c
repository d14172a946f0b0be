/* SPDX-License-Identifier: MIT */
#include "support/wreck.h"

#include <glob.h>

#define PREFIX    "tackle:search:{pages}:"
#define WORDS_MAX 8

void wreck_do(fixture *f, const char *command)
{
    const char *argv[WORDS_MAX];
    size_t lens[WORDS_MAX];
    char key[256], *copy = strdup(command), *rest = copy;
    tkl_reply *reply;
    int argc = 0;
    for (char *word; argc < WORDS_MAX && (word = strsep(&rest, " ")); argc++) {
        argv[argc] = word;
        if (argc == 1) {
            snprintf(key, sizeof key, PREFIX "%s", word);
            argv[argc] = key;
        }
        lens[argc] = strlen(argv[argc]);
    }
    assert_ok(tkl_call(f->client, argc, argv, lens, NULL, &reply));
    tkl_reply_free(reply);
    free(copy);
}

/* A script that shows the contents. It leaves out zeros at the end of bitmaps, which come and
 * go. */
static const char contents[] =
    "local keys, lines = redis.call('KEYS', ARGV[1] .. '*'), {}\n"
    "local skip = {version = 1, clean_at = 1}\n"
    "local function add(...) lines[#lines + 1] = table.concat({...}, ' ') end\n"
    "for _, key in ipairs(keys) do\n"
    "  local part = string.match(string.sub(key, #ARGV[1] + 1), '^[^:]+')\n"
    "  local kind = redis.call('TYPE', key).ok\n"
    "  if part == 'ladder' or part == 'step' or part == 'result' then\n"
    "  elseif kind == 'string' then\n"
    "    local bits = string.gsub(redis.call('GET', key), '%z*$', '')\n"
    "    if bits ~= '' then add(key, bits) end\n"
    "  elseif kind == 'set' then\n"
    "    for _, member in ipairs(redis.call('SMEMBERS', key)) do add(key, member) end\n"
    "  elseif kind == 'hash' then\n"
    "    local all = redis.call('HGETALL', key)\n"
    "    for i = 1, #all, 2 do\n"
    "      if part ~= 'meta' or not skip[all[i]] then add(key, all[i], all[i + 1]) end\n"
    "    end\n"
    "  elseif kind == 'zset' then\n"
    "    local all = redis.call('ZRANGE', key, 0, -1, 'WITHSCORES')\n"
    "    for i = 1, #all, 2 do add(key, all[i], all[i + 1]) end\n"
    "  end\n"
    "end\n"
    "table.sort(lines)\n"
    "local text = string.gsub(table.concat(lines, '\\n'), '[^%w%p\\n ]',\n"
    "  function(c) return '<' .. string.byte(c) .. '>' end)\n"
    "return text";

char *wreck_contents(fixture *f)
{
    return call_text(f->client, "EVAL", contents, "0", PREFIX, NULL);
}

/* ---- The log of a server ------------------------------------------------- */

static char *read_file(const char *path, size_t *len)
{
    FILE *from = fopen(path, "rb");
    assert_non_null(from);
    assert_int_equal(fseek(from, 0, SEEK_END), 0);
    *len = (size_t)ftell(from);
    rewind(from);
    char *bytes = malloc(*len + 1);
    assert_int_equal(fread(bytes, 1, *len, from), *len);
    bytes[*len] = 0;
    fclose(from);
    return bytes;
}

/* Reads "*3\r\n" or "$5\r\n". */
static size_t read_size(char **at, char kind)
{
    assert_int_equal(**at, kind);
    size_t size = strtoul(*at + 1, at, 10);
    *at += 2;
    return size;
}

static void read_command(wreck_log *log, char **at)
{
    struct wreck_command command = {.argc = (int)read_size(at, '*')};
    command.argv = calloc((size_t)command.argc, sizeof *command.argv);
    command.lens = calloc((size_t)command.argc, sizeof *command.lens);
    for (int i = 0; i < command.argc; i++) {
        command.lens[i] = read_size(at, '$');
        command.argv[i] = *at;
        *at += command.lens[i] + 2;
    }
    static const char *const left_out[] = {"SELECT", "MULTI", "EXEC", "FUNCTION"};
    for (size_t i = 0; i < sizeof left_out / sizeof *left_out; i++)
        if (strncasecmp(command.argv[0], left_out[i], strlen(left_out[i])) == 0) {
            free(command.argv);
            free(command.lens);
            return;
        }
    log->commands = realloc(log->commands, (log->count + 1) * sizeof *log->commands);
    log->commands[log->count++] = command;
}

wreck_log wreck_log_read(const server *s)
{
    char pattern[128];
    glob_t found;
    size_t len;
    wreck_log log = {.count = 0};
    snprintf(pattern, sizeof pattern, "%s/appendonlydir/*.incr.aof", s->dir);
    assert_int_equal(glob(pattern, 0, NULL, &found), 0);
    assert_int_equal(found.gl_pathc, 1);
    log.bytes = read_file(found.gl_pathv[0], &len);
    globfree(&found);
    for (char *at = log.bytes; at < log.bytes + len;) {
        if (*at == '#') /* a comment with the time */
            at = strchr(at, '\n') + 1;
        else
            read_command(&log, &at);
    }
    return log;
}

void wreck_log_free(wreck_log *log)
{
    for (size_t i = 0; i < log->count; i++) {
        free(log->commands[i].argv);
        free(log->commands[i].lens);
    }
    free(log->commands);
    free(log->bytes);
}

void wreck_log_replay(fixture *f, const wreck_log *log, size_t count)
{
    assert_ok(tkl_callz(f->client, NULL, "FLUSHALL", NULL));
    for (size_t i = 0; i < count; i++) {
        const struct wreck_command *command = &log->commands[i];
        tkl_reply *reply;
        assert_ok(tkl_call(f->client, command->argc, command->argv, command->lens, NULL, &reply));
        tkl_reply_free(reply);
    }
}
