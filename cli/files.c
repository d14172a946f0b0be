/* SPDX-License-Identifier: MIT
 *
 * Files through the server, from the shell: the table of verbs.
 */
#include <string.h>

#include "files.h"
#include "lines.h"

int cli_files_open(cli_session *cli, const tkl_files_options *options, tkl_files **files)
{
    tkl_client *client = NULL;
    int failed = cli_connect(cli, &client);
    return failed ? failed
                  : cli_end(cli, tkl_files_open(client, tkl_str(cli->argv[0]), options, files));
}

static bool has_option(const cli_session *cli, const char *name)
{
    const cli_option *option = cli->verb->options;
    while (option->name && strcmp(option->name, name) != 0)
        option++;
    return option->name;
}

int cli_files_check(cli_session *cli)
{
    static const int64_t day_ms = 86400000, most_ms = 3660 * day_ms;
    static const struct {
        const char *option;
        int64_t least, most;
        const char *text;
    } ranges[] = {
        {"limit", TKL_FILES_LIMIT_MIN, INT64_C(1) << 50, "from 4kb to 1024tb"},
        {"lease", 100, day_ms, "from 100ms to 1d"},
        {"ttl", 1, most_ms, "up to 3660d"},
        {"resume", 0, most_ms, "up to 3660d"},
        {"drop-after", 1, most_ms, "up to 3660d"},
    };
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
        if (!has_option(cli, ranges[i].option))
            continue;
        int64_t value = cli_number(cli, ranges[i].option, ranges[i].least);
        if (value < ranges[i].least || value > ranges[i].most)
            return cli_usage(cli, "invalid --%s: must be %s", ranges[i].option, ranges[i].text);
    }
    return CLI_OK;
}

static const cli_option send_options[] = {
    {"to", CLI_TEXT, "A,B,C", "names of the receivers (required)"},
    {"limit", CLI_SIZE, "SIZE", "memory limit of the channel (default 256mb for a new channel)"},
    {"name", CLI_TEXT, "NAME", "send one file, directory or standard input under this name"},
    {"more", CLI_FLAG, NULL, "more will come: receivers with --exit-when-done go on waiting"},
    {"wait", CLI_DURATION, "DURATION", "wait this long for the receivers to have it (default 0)"},
    {"drop-after", CLI_PERIOD, "DURATION",
     "drop receivers that are gone for this long (default: never)"},
    {"ttl", CLI_PERIOD, "DURATION", "how long the server keeps a file (default 7d)"},
    {"lease", CLI_PERIOD, "DURATION", "a silent sender counts as gone after this (default 10s)"},
    {"resume", CLI_DURATION, "DURATION", "keep an interrupted file for this long (default 10m)"},
    {0},
};

static const cli_option receive_options[] = {
    {"as", CLI_TEXT, "NAME", "name of this receiver (required)"},
    {"dir", CLI_TEXT, "DIR", "put files into this directory (default .)"},
    {"lines", CLI_FLAG, NULL, "print lines instead of writing files"},
    {"names", CLI_FLAG, NULL, "with --lines: the name of the file and a tab before each line"},
    {"unpack", CLI_FLAG, NULL, "unpack what is compressed by gzip"},
    {"sync", CLI_FLAG, NULL, "write each file through to the disk before acknowledging it"},
    {"wait", CLI_DURATION, "DURATION", "wait up to this long for a file (default: no limit)"},
    {"exit-when-done", CLI_FLAG, NULL, "end when a sender says that no more will come"},
    {"lease", CLI_PERIOD, "DURATION", "a silent receiver counts as gone after this (default 10s)"},
    {0},
};

static const cli_option end_options[] = {
    {"to", CLI_TEXT, "A,B,C", "names of the receivers (required)"},
    {0},
};

static const cli_option yes_options[] = {
    CLI_YES,
    {0},
};

static const cli_verb verbs[] = {
    {
        .name = "send",
        .args = "CHANNEL [PATH...]",
        .summary = "send files to receivers; prints each when all of it is on the server",
        .options = send_options,
        .details =
            "Without a path, or for -, standard input is sent; it needs a --name. A directory is\n"
            "sent with everything in it. Symbolic links in it are sent as links, unless they may\n"
            "lead out of it; those, special files and what cannot be read are reported, and the\n"
            "rest is sent. While the channel is full, the command waits, and says for whom.\n"
            "Called again after it was interrupted, it goes on where it was: what was sent is not\n"
            "sent again. Two paths with one last part are refused: use --name, one by one.\n"
            "Exit code 1 when a file changed while it was sent: no receiver gets it.",
        .example = "date >report.txt\n"
                   "tackle files send logs --to a,b report.txt\n"
                   "mkdir -p site/img && date >site/index && tackle files send web --to a site/\n"
                   "echo 'hello' | tackle files send logs --to a --name greeting --json",
        .local = "it reads files of this machine",
        .run = cli_files_send,
    },
    {
        .name = "end",
        .args = "CHANNEL",
        .summary = "tell receivers that no more files will come, after send --more",
        .options = end_options,
        .details = "Each send without --more says so with its last file. A receiver that was\n"
                   "started with --exit-when-done ends when it has everything.",
        .example = "date >report.txt\n"
                   "tackle files send logs --to a --more report.txt\n"
                   "tackle files end logs --to a",
        .effect = CLI_WRITES,
        .run = cli_files_end,
    },
    {
        .name = "receive",
        .args = "CHANNEL",
        .summary = "receive files, or their lines; prints where each was put",
        .options = receive_options,
        .details =
            "A file is put in place once its checksum is right, and replaces what had its name.\n"
            "Called again after it was interrupted, the command goes on where it was. If two\n"
            "processes receive under one name, the earlier one ends. A file that something is in\n"
            "the way of is reported and waits for the next call; the others are received.\n"
            "With --exit-when-done the command ends when everything is there and the sender has\n"
            "sent the last file of its call; without --wait it waits for that without a limit.\n"
            "Exit code 1 when nothing came.",
        .example = "date >report.txt\n"
                   "mkdir -p inbox\n"
                   "tackle files send logs --to a report.txt\n"
                   "tackle files receive logs --as a --dir inbox --exit-when-done\n"
                   "tackle files send logs --to a report.txt\n"
                   "tackle files receive logs --as a --lines --exit-when-done",
        .local = "it writes files of this machine",
        .run = cli_files_receive,
    },
    {
        .name = "status",
        .args = "CHANNEL",
        .summary = "files, who lacks them, who is gone, and what went wrong",
        .example = "echo 'hello' | tackle files send logs --to a --name greeting\n"
                   "tackle files status logs --json",
        .effect = CLI_READS,
        .run = cli_files_status,
    },
    {
        .name = "drop-receiver",
        .args = "CHANNEL RECEIVER",
        .summary = "give up a receiver; prints how many files it lacked",
        .options = yes_options,
        .details =
            "What only this receiver lacked is removed, and senders that waited for it go on.\n"
            "Exit code 1 when the channel knows no such receiver.",
        .example = "echo 'hello' | tackle files send logs --to tackle-example --name greeting\n"
                   "tackle files drop-receiver logs tackle-example --yes",
        .effect = CLI_WRITES,
        .run = cli_files_drop_receiver,
    },
    {
        .name = "add-receiver",
        .args = "CHANNEL RECEIVER",
        .summary = "add it to files that are still whole; prints how many",
        .example = "echo 'hello' | tackle files send logs --to a --name greeting\n"
                   "tackle files add-receiver logs b",
        .effect = CLI_WRITES,
        .run = cli_files_add_receiver,
    },
    {
        .name = "list",
        .summary = "all channels",
        .options = cli_list_options,
        .example = "tackle files list",
        .effect = CLI_READS,
        .run = cli_files_list,
    },
    {0},
};

static const cli_step demo[] = {
    {"A file goes to two receivers. Nobody has to be there yet.",
     "cd \"$DIR\" && seq 100000 | gzip >numbers.gz && "
     "tackle files send demo-files --to a,b numbers.gz && tackle files status demo-files",
     0},
    {"One wants the file, unpacked. Its checksum is verified before it gets its name.",
     "cd \"$DIR\" && tackle files receive demo-files --as a --unpack --exit-when-done && "
     "wc -l numbers",
     0},
    {"The other one wants lines. With the last receiver, everything is gone from the server.",
     "cd \"$DIR\" && tackle files receive demo-files --as b --lines --unpack --exit-when-done | "
     "tail -n 1; tackle files status demo-files",
     0},
    {0},
};

const cli_component cli_files = {
    .name = "files",
    .summary = "files through the server to many receivers, under a memory limit",
    .verbs = verbs,
    .demo = demo,
    .shared = "files",
};
