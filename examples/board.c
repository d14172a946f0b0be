/* SPDX-License-Identifier: MIT
 *
 * A week of a game: players win points; among equal points, the first player to have them leads.
 *
 *     TACKLE_URL=redis://localhost examples/board
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tackle/tackle.h>

static void check(int code, const char *what)
{
    if (code == TKL_OK)
        return;
    fprintf(stderr, "%s: %s\n", what, code < 0 ? tkl_errmsg() : tkl_strerror(code));
    exit(1);
}

static void print_entries(const char *title, const tkl_board_entries *entries)
{
    printf("%s, of %lld:\n", title, (long long)entries->total);
    for (size_t i = 0; i < entries->count; i++)
        printf("  %lld. " TKL_FMT " %g\n", (long long)entries->items[i].rank,
               TKL_ARG(entries->items[i].member), entries->items[i].score);
}

int main(void)
{
    const char *url = getenv("TACKLE_URL");
    tkl_client *client;
    tkl_board *board;
    tkl_board_entries *top, *around, *friends;
    tkl_board_options options = {.per = TKL_BOARD_WEEK, .zone = "UTC"};
    tkl_board_score first[] = {{tkl_str("alice"), 12}, {tkl_str("bob"), 15}, {tkl_str("carol"), 9}};
    tkl_board_score later[] = {{tkl_str("carol"), 3}, {tkl_str("dave"), 20}};
    tkl_bytes names[] = {tkl_str("carol"), tkl_str("alice"), tkl_str("nobody")};

    check(tkl_open(url ? url : "embedded:", NULL, &client), "open");
    check(tkl_board_open(client, tkl_str("example-game"), &options, &board), "open");
    check(tkl_board_add(board, first, 3, NULL), "add");
    check(tkl_board_add(board, later, 2, NULL), "add"); /* Carol has 12 now, after Alice */

    check(tkl_board_top(board, 1, 10, &top), "top");
    check(tkl_board_around(board, tkl_str("alice"), 1, 1, &around), "around");
    check(tkl_board_rank(board, names, 3, &friends), "rank");
    print_entries("the best", top);
    print_entries("around Alice", around);
    print_entries("friends", friends);
    bool right = top->count == 4 && memcmp(top->items[2].member.data, "alice", 5) == 0 &&
                 friends->count == 2 && friends->items[1].rank == 4;
    tkl_board_entries_free(top);
    tkl_board_entries_free(around);
    tkl_board_entries_free(friends);
    check(tkl_board_drop(board), "drop");
    tkl_board_close(board);
    tkl_close(client);
    return right ? 0 : 1;
}
