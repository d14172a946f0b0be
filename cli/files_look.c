/* SPDX-License-Identifier: MIT
 *
 * `tackle files status`, and the verbs that change who receives.
 */
#include <inttypes.h>
#include <stdio.h>

#include "files.h"
#include "holders.h"
#include "lines.h"
#include "out.h"

/* ---- status -------------------------------------------------------------- */

static json_t *files_json(const tkl_files_info *info)
{
    json_t *array = json_array();
    for (size_t i = 0; i < info->count; i++) {
        const tkl_files_file *file = &info->files[i];
        json_array_append_new(
            array, json_pack("{s:o, s:s, s:o, s:I, s:o}", "name", cli_json_bytes(file->name),
                             "state", tkl_files_state_name(file->state), "size",
                             file->size >= 0 ? json_integer(file->size) : json_null(), "sent",
                             (json_int_t)file->sent, "waiting_for",
                             cli_json_list(file->waiting, file->waiting_count)));
    }
    return array;
}

static json_t *receivers_json(const tkl_files_info *info)
{
    json_t *array = json_array();
    for (size_t i = 0; i < info->receiver_count; i++) {
        const tkl_files_receiver *r = &info->receivers[i];
        json_array_append_new(
            array, json_pack("{s:o, s:b, s:b, s:o, s:I, s:I}", "name", cli_json_bytes(r->name),
                             "gone", r->gone, "seen", r->seen, "gone_ms",
                             r->gone ? json_integer(r->gone_ms) : json_null(), "file_count",
                             (json_int_t)r->files, "bytes", (json_int_t)r->bytes));
    }
    return array;
}

static json_t *troubles_json(const tkl_files_info *info)
{
    json_t *array = json_array();
    for (size_t i = 0; i < info->trouble_count; i++) {
        const tkl_files_trouble *t = &info->troubles[i];
        json_array_append_new(
            array, json_pack("{s:o, s:o, s:o, s:o}", "time", cli_json_time(t->time_ms), "receiver",
                             cli_json_present(t->receiver), "name", cli_json_present(t->name),
                             "reason", cli_json_bytes(t->reason)));
    }
    return array;
}

static json_t *status_json(const cli_session *cli, const tkl_files_info *info)
{
    return json_pack("{s:o, s:I, s:I, s:I, s:o, s:o, s:o}", "name",
                     cli_json_bytes(tkl_str(cli->argv[0])), "bytes", (json_int_t)info->bytes,
                     "max_bytes", (json_int_t)info->max_bytes, "file_count",
                     (json_int_t)info->file_count, "receivers", receivers_json(info), "files",
                     files_json(info), "troubles", troubles_json(info));
}

/* The rows of the table of receivers, which says since when a receiver is gone. */
static json_t *receiver_rows(const tkl_files_info *info)
{
    json_t *array = json_array();
    for (size_t i = 0; i < info->receiver_count; i++) {
        const tkl_files_receiver *r = &info->receivers[i];
        char since[CLI_DURATION_SIZE], bytes[CLI_BYTES_SIZE];
        json_array_append_new(
            array, json_pack("{s:o, s:s, s:s, s:I, s:s}", "name", cli_json_bytes(r->name), "state",
                             !r->gone  ? "there"
                             : r->seen ? "gone"
                                       : "never came",
                             "since", r->gone ? cli_duration_text(r->gone_ms, since) : "", "files",
                             (json_int_t)r->files, "bytes", cli_bytes_text(r->bytes, bytes)));
    }
    return array;
}

/* Prints tables, one below the other; an empty table is left out. */
static int print_status(const cli_session *cli, const tkl_files_info *info)
{
    static const cli_column receivers[] = {{"name", "RECEIVER"}, {"state", "STATE"},
                                           {"since", "FOR"},     {"files", "FILES"},
                                           {"bytes", "BYTES"},   {0}};
    static const cli_column files[] = {
        {"name", "FILE"}, {"state", "STATE"}, {"size", "SIZE"}, {"sent", "SENT"}, {0}};
    static const cli_column troubles[] = {
        {"time", "TIME"}, {"receiver", "RECEIVER"}, {"name", "FILE"}, {"reason", "TROUBLE"}, {0}};
    char held[CLI_BYTES_SIZE], most[CLI_BYTES_SIZE];
    printf("%" PRId64 " file%s, %s of %s\n", info->file_count, info->file_count == 1 ? "" : "s",
           cli_bytes_text(info->bytes, held), cli_bytes_text(info->max_bytes, most));
    int failed = cli_print_more_rows(cli, receiver_rows(info), receivers);
    if (!failed)
        failed = cli_print_more_rows(cli, files_json(info), files);
    return failed ? failed : cli_print_more_rows(cli, troubles_json(info), troubles);
}

int cli_files_status(cli_session *cli)
{
    tkl_files *files = NULL;
    tkl_files_info *info = NULL;
    int failed = cli_files_open(cli, NULL, &files);
    if (!failed)
        failed = cli_end_of(cli, tkl_files_status(files, &info), "channel");
    if (!failed)
        failed = cli->json ? cli_print_json(cli, status_json(cli, info)) : print_status(cli, info);
    tkl_files_info_free(info);
    tkl_files_close(files);
    return failed;
}

/* ---- drop, add, list ----------------------------------------------------- */

static int print_count(const cli_session *cli, int64_t count)
{
    if (cli->json)
        return cli_print_json(cli, json_pack("{s:o, s:o, s:I}", "name",
                                             cli_json_bytes(tkl_str(cli->argv[0])), "receiver",
                                             cli_json_bytes(tkl_str(cli->argv[1])), "file_count",
                                             (json_int_t)count));
    printf("%" PRId64 "\n", count);
    return CLI_OK;
}

typedef int change(tkl_files *files, tkl_bytes receiver, int64_t *count);

static int change_receiver(cli_session *cli, change *work)
{
    tkl_files *files = NULL;
    int64_t count = 0;
    int failed = cli_files_open(cli, NULL, &files);
    if (!failed)
        failed = cli_end(cli, work(files, tkl_str(cli->argv[1]), &count));
    tkl_files_close(files);
    return failed ? failed : print_count(cli, count);
}

int cli_files_drop_receiver(cli_session *cli)
{
    int failed =
        cli_confirm(cli, "This takes everything on the channel '%s' from the receiver '%s'.",
                    cli->argv[0], cli->argv[1]);
    return failed ? failed : change_receiver(cli, tkl_files_drop_receiver);
}

int cli_files_add_receiver(cli_session *cli)
{
    return change_receiver(cli, tkl_files_add_receiver);
}

int cli_files_list(cli_session *cli)
{
    return cli_list(cli, tkl_files_names);
}
