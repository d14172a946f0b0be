/* SPDX-License-Identifier: MIT
 *
 * Bob writes to Ann while she is away. Ann reads, is interrupted before she acknowledges, and reads
 * the same again.
 */
#include <stdio.h>
#include <stdlib.h>
#include <tackle/tackle.h>

static void stop_on(int rc)
{
    if (rc == TKL_OK)
        return;
    fprintf(stderr, "%s: %s\n", tkl_strerror(rc), tkl_errmsg());
    exit(1);
}

static int64_t read_mail(tkl_mail *box)
{
    tkl_messages *mail;
    stop_on(tkl_mail_fetch(box, 100, 1000, &mail));
    for (size_t i = 0; i < mail->count; i++)
        printf("%d. from " TKL_FMT ": " TKL_FMT "\n", (int)mail->items[i].id,
               TKL_ARG(mail->items[i].sender), TKL_ARG(mail->items[i].body));
    int64_t last = mail->items[mail->count - 1].id;
    tkl_messages_free(mail);
    return last;
}

int main(void)
{
    const char *url = getenv("TACKLE_URL");
    tkl_client *client;
    tkl_mail *ann;
    stop_on(tkl_open(url ? url : "embedded:", NULL, &client));
    stop_on(tkl_mail_open(client, tkl_str("ann"), NULL, &ann));

    const tkl_letter letters[] = {{.body = TKL_LIT("lunch at noon?")},
                                  {.body = TKL_LIT("make it half past")}};
    stop_on(tkl_mail_send(ann, tkl_str("bob"), letters, 2, NULL));

    read_mail(ann); /* nothing is acknowledged: the same comes again */
    int64_t last = read_mail(ann), unread;
    stop_on(tkl_mail_ack(ann, last, &unread));
    printf("%d unread\n", (int)unread);

    tkl_mail_close(ann);
    tkl_close(client);
}
