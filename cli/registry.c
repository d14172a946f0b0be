/* SPDX-License-Identifier: MIT
 *
 * Every component of the command: a line here and a file of its own.
 */
#include "cli.h"

/* In the order of help: G begins a group, X is a component. */
#define COMPONENTS(G, X)               \
    G("Locks and limits")              \
    X(cli_lock)                        \
    X(cli_redlock)                     \
    X(cli_sem)                         \
    X(cli_leader)                      \
    X(cli_limit)                       \
    X(cli_cache)                       \
    G("Jobs and messages")             \
    X(cli_queue)                       \
    X(cli_blist)                       \
    X(cli_cron)                        \
    X(cli_mail)                        \
    X(cli_chat)                        \
    X(cli_channel)                     \
    X(cli_files)                       \
    G("Finding")                       \
    X(cli_recent)                      \
    X(cli_book)                        \
    X(cli_suggest)                     \
    X(cli_search)                      \
    X(cli_texts)                       \
    X(cli_geo)                         \
    X(cli_ip)                          \
    X(cli_ads)                         \
    G("Counting and measuring")        \
    X(cli_log)                         \
    X(cli_counter)                     \
    X(cli_stats)                       \
    X(cli_sessions)                    \
    X(cli_online)                      \
    X(cli_board)                       \
    X(cli_bloom)                       \
    X(cli_unique)                      \
    X(cli_bits)                        \
    G("Configuration")                 \
    X(cli_config)                      \
    X(cli_maintain)                    \
    X(cli_service)                     \
    G("The server, and tackle itself") \
    X(cli_server)                      \
    X(cli_status)                      \
    X(cli_top)                         \
    X(cli_metrics)                     \
    X(cli_doctor)                      \
    X(cli_serve)                       \
    X(cli_ping)                        \
    X(cli_call)                        \
    X(cli_script)                      \
    X(cli_scan)                        \
    X(cli_demo)                        \
    X(cli_lab)                         \
    X(cli_version)                     \
    X(cli_help_component)

#define NOTHING(title)
#define DECLARE(component) extern const cli_component component;
COMPONENTS(NOTHING, DECLARE)

#define LIST(component) &component,
const cli_component *const cli_components[] = {COMPONENTS(NOTHING, LIST) NULL};

#define TITLE(title)     {title, NULL},
#define ENTRY(component) {NULL, &component},
const cli_entry cli_contents[] = {COMPONENTS(TITLE, ENTRY){0}};
