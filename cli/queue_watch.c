/* SPDX-License-Identifier: MIT
 *
 * `queue watch`: prints what happens in a queue, until it is ended.
 */
#include <stdio.h>
#include <stdlib.h>

#include "queue.h"

static json_t *event_json(const tkl_queue_event *event)
{
    return json_pack("{s:o, s:s, s:o, s:o}", "time", cli_json_time(event->at_ms), "event",
                     tkl_job_event_name(event->event), "id",
                     *event->id != '\0' ? json_string(event->id) : json_null(), "note",
                     cli_json_present(event->note));
}

static int print_event(const cli_session *cli, const tkl_queue_event *event)
{
    char time[CLI_TIME_SIZE];
    if (cli->json)
        return cli_print_json(cli, event_json(event));
    char *note = cli_escape(event->note, false);
    printf("%s  %-9s  %s%s%s\n", cli_time_text(event->at_ms, time),
           tkl_job_event_name(event->event), event->id, note != NULL && *note != '\0' ? "  " : "",
           note != NULL ? note : "");
    free(note);
    return CLI_OK;
}

static int print_events(const cli_session *cli, const tkl_queue_events *events, int64_t *left)
{
    int failed = CLI_OK;
    if (events->lost)
        cli_fail(cli, CLI_OK, "the connection was lost: events may be missing");
    for (size_t i = 0; !failed && i<events->count && * left> 0; i++, (*left)--)
        failed = print_event(cli, &events->items[i]);
    return failed ? failed : cli_flush(cli);
}

int cli_queue_watch(cli_session *cli)
{
    tkl_queue *queue = NULL;
    tkl_queue_watcher *watcher = NULL;
    int64_t left = cli_number(cli, "max", INT64_MAX);
    int64_t wait_ms = cli_flag(cli, "wait") ? cli_number(cli, "wait", 0) : -1;
    int failed = cli_positive(cli, "max");
    if (!failed)
        failed = cli_queue_open(cli, 0, &queue);
    if (!failed)
        failed = cli_end(cli, tkl_queue_watch(queue, &watcher));
    while (!failed && left > 0) {
        tkl_queue_events *events = NULL;
        int code = tkl_queue_watch_next(watcher, wait_ms, &events);
        failed = cli_end_of(cli, code, "queue");
        if (!failed)
            failed = print_events(cli, events, &left);
        tkl_queue_events_free(events);
    }
    tkl_queue_watcher_close(watcher);
    tkl_queue_close(queue);
    return failed;
}
