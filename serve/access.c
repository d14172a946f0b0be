/* SPDX-License-Identifier: MIT */
#include "access.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <openssl/crypto.h>
#include <openssl/hmac.h>
#include <openssl/sha.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TOKEN_MIN = 16 };

typedef struct token {
    char *who;
    unsigned char digest[SHA256_DIGEST_LENGTH]; /* every comparison takes the same time */
    serve_rights rights;
} token;

struct serve_access {
    token *tokens;
    size_t count;
    bool has_tokens;
    serve_rights most; /* all that --allow and --read-only permit to any caller */
    char *hosts;       /* separated by commas */
};

/* ---- Rights -------------------------------------------------------------- */

/* The bit of a component. A test checks that 64 bits are enough. */
static uint64_t bit_of(int number)
{
    return UINT64_C(1) << number;
}

/* Adds the right that a word names, "read" or "queue:write". False: it names none. */
static bool add_right(serve_rights *rights, const char *word)
{
    const char *colon = strchr(word, ':'), *kind = colon != NULL ? colon + 1 : word;
    uint64_t which = UINT64_MAX;
    if (colon != NULL) {
        char *name = strndup(word, (size_t)(colon - word));
        int number = name != NULL ? serve_component_number(name) : -1;
        free(name);
        if (number < 0)
            return false;
        which = bit_of(number);
    }
    if (strcmp(kind, "read") != 0 && strcmp(kind, "write") != 0)
        return false;
    rights->read |= which;
    if (strcmp(kind, "write") == 0)
        rights->write |= which;
    return true;
}

bool serve_may(const serve_rights *rights, const serve_route *route)
{
    uint64_t which = route->verb->effect == CLI_READS ? rights->read : rights->write;
    return (which & bit_of(route->number)) != 0;
}

/* ---- The token file ------------------------------------------------------ */

int serve_open_secret(const cli_session *cli, const char *path, FILE **file)
{
    struct stat about;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &about) != 0) {
        int reason = errno;
        if (fd >= 0)
            close(fd);
        return cli_fail(cli, CLI_FAILURE, "cannot read %s: %s", path, strerror(reason));
    }
    const char *wrong = !S_ISREG(about.st_mode)          ? "it is not a file"
                        : (about.st_mode & S_IRWXO) != 0 ? "others may use it: chmod o= it"
                        : (about.st_mode & S_IWGRP) != 0 ? "its group may change it: chmod g-w it"
                        : about.st_uid != 0 && about.st_uid != geteuid() ? "it is not yours"
                                                                         : NULL;
    *file = wrong == NULL ? fdopen(fd, "r") : NULL;
    if (*file == NULL)
        close(fd);
    if (wrong != NULL)
        return cli_fail(cli, CLI_NOT_PERMITTED, "refused to use %s: %s", path, wrong);
    return *file != NULL ? CLI_OK : cli_end(cli, TKL_ENOMEM);
}

static void digest_of(const char *text, unsigned char digest[SHA256_DIGEST_LENGTH])
{
    SHA256((const unsigned char *)text, strlen(text), digest);
}

/* Reads "NAME TOKEN RIGHT...". Returns the reason when the line is wrong, otherwise NULL. */
static const char *read_line(serve_access *access, char *row)
{
    static const char blanks[] = " \t\r\n";
    char *rest = NULL, *who = strtok_r(row, blanks, &rest), *secret, *word;
    if (who == NULL || *who == '#')
        return NULL;
    secret = strtok_r(NULL, blanks, &rest);
    if (secret == NULL || strlen(secret) < TOKEN_MIN)
        return "a token of at least 16 characters must follow the name";
    token *tokens = realloc(access->tokens, (access->count + 1) * sizeof *tokens);
    if (tokens == NULL)
        return "out of memory";
    access->tokens = tokens;
    token *t = &tokens[access->count];
    *t = (token){.who = strdup(who)};
    if (t->who == NULL)
        return "out of memory";
    access->count++;
    digest_of(secret, t->digest);
    OPENSSL_cleanse(secret, strlen(secret));
    while ((word = strtok_r(NULL, blanks, &rest)) != NULL)
        if (!add_right(&t->rights, word))
            return "rights are read, write, COMPONENT:read and COMPONENT:write";
    return t->rights.read != 0 ? NULL : "the token has no rights";
}

static int read_tokens(const cli_session *cli, const char *path, serve_access *access)
{
    FILE *file = NULL;
    char *row = NULL;
    size_t size = 0;
    int number = 0, failed = serve_open_secret(cli, path, &file);
    if (failed)
        return failed;
    while (!failed && getline(&row, &size, file) >= 0) {
        const char *wrong = read_line(access, row);
        number++;
        if (wrong != NULL)
            failed = cli_fail(cli, CLI_USAGE, "%s, line %d: %s", path, number, wrong);
    }
    if (row != NULL)
        OPENSSL_cleanse(row, size);
    free(row);
    fclose(file);
    if (!failed && access->count == 0)
        failed = cli_fail(cli, CLI_USAGE, "there is no token in %s", path);
    access->has_tokens = true;
    return failed;
}

/* ---- Options ------------------------------------------------------------- */

/* Reads the names of components in --allow, which commas separate. */
static int read_allowed(const cli_session *cli, uint64_t *allowed)
{
    const char *list = cli_text(cli, "allow", NULL);
    char *names = list != NULL ? strdup(list) : NULL, *rest = NULL;
    int failed = list != NULL && names == NULL ? cli_end(cli, TKL_ENOMEM) : CLI_OK;
    *allowed = list == NULL ? UINT64_MAX : 0;
    for (char *name = names != NULL ? strtok_r(names, ",", &rest) : NULL; !failed && name != NULL;
         name = strtok_r(NULL, ",", &rest)) {
        int number = serve_component_number(name);
        if (number < 0)
            failed = cli_usage(cli, "invalid --allow: there is no component '%s'", name);
        else
            *allowed |= bit_of(number);
    }
    free(names);
    return failed;
}

int serve_access_open(const cli_session *cli, serve_access **access)
{
    const char *file = cli_text(cli, "token-file", NULL);
    uint64_t allowed = 0;
    serve_access *a = *access = calloc(1, sizeof *a);
    if (a == NULL || (a->hosts = strdup(cli_text(cli, "host", ""))) == NULL)
        return cli_end(cli, TKL_ENOMEM);
    int failed = read_allowed(cli, &allowed);
    a->most = (serve_rights){allowed, cli_flag(cli, "read-only") ? 0 : allowed};
    if (!failed && file != NULL)
        failed = read_tokens(cli, file, a);
    if (failed) {
        serve_access_close(a);
        *access = NULL;
    }
    return failed;
}

void serve_access_close(serve_access *access)
{
    if (access == NULL)
        return;
    for (size_t i = 0; i < access->count; i++)
        free(access->tokens[i].who);
    free(access->tokens);
    free(access->hosts);
    free(access);
}

bool serve_access_has_tokens(const serve_access *access)
{
    return access->has_tokens;
}

/* ---- Requests ------------------------------------------------------------ */

/* Fills in the rights and the name of a token. False: a token is needed, and `found` is NULL. */
static bool grant_rights(const serve_access *access, const token *found, serve_rights *rights,
                         const char **who)
{
    *rights = access->most;
    *who = "-";
    if (!access->has_tokens)
        return true;
    if (found == NULL)
        return false;
    rights->read &= found->rights.read;
    rights->write &= found->rights.write;
    *who = found->who;
    return true;
}

bool serve_access_check_token(const serve_access *access, const char *text, serve_rights *rights,
                              const char **who)
{
    unsigned char digest[SHA256_DIGEST_LENGTH];
    const token *found = NULL;
    digest_of(text, digest);
    for (size_t i = 0; i < access->count; i++)
        if (CRYPTO_memcmp(digest, access->tokens[i].digest, sizeof digest) == 0)
            found = &access->tokens[i];
    return grant_rights(access, found, rights, who);
}

bool serve_access_check(const serve_access *access, const char *authorization, serve_rights *rights,
                        const char **who)
{
    static const char scheme[] = "Bearer ";
    bool bears = authorization != NULL && strncasecmp(authorization, scheme, strlen(scheme)) == 0;
    /* "" is never a valid token. */
    return serve_access_check_token(access, bears ? authorization + strlen(scheme) : "", rights,
                                    who);
}

/* ---- Seals --------------------------------------------------------------- */

static bool make_seal(const unsigned char digest[SHA256_DIGEST_LENGTH], const char *secret,
                      serve_seal *seal)
{
    unsigned size = sizeof seal->bytes;
    return HMAC(EVP_sha256(), secret, (int)strlen(secret), digest, SHA256_DIGEST_LENGTH,
                seal->bytes, &size) != NULL;
}

bool serve_access_seal(const char *text, const char *secret, serve_seal *seal)
{
    unsigned char digest[SHA256_DIGEST_LENGTH];
    digest_of(text, digest);
    return make_seal(digest, secret, seal);
}

bool serve_access_check_seal(const serve_access *access, const char *secret, const serve_seal *seal,
                             serve_rights *rights, const char **who)
{
    const token *found = NULL;
    serve_seal own;
    for (size_t i = 0; i < access->count; i++)
        if (make_seal(access->tokens[i].digest, secret, &own) &&
            CRYPTO_memcmp(own.bytes, seal->bytes, sizeof own.bytes) == 0)
            found = &access->tokens[i];
    return grant_rights(access, found, rights, who);
}

/* ---- Web pages ----------------------------------------------------------- */

static bool is_address(const char *host)
{
    unsigned char address[sizeof(struct in6_addr)];
    return inet_pton(AF_INET, host, address) == 1 || inet_pton(AF_INET6, host, address) == 1;
}

/* Whether a name is in a list that is separated by commas. */
static bool is_listed(const char *list, const char *name)
{
    size_t len = strlen(name);
    for (const char *at = list; *at != '\0'; at += strspn(at, ",")) {
        size_t size = strcspn(at, ",");
        if (size == len && strncasecmp(at, name, len) == 0)
            return true;
        at += size;
    }
    return false;
}

bool serve_host_is_ours(const serve_access *access, const char *host)
{
    char name[256];
    if (host == NULL)
        return false;
    bool bracket = *host == '[';
    size_t len = strcspn(host + bracket, bracket ? "]" : ":");
    if (len >= sizeof name)
        return false;
    memcpy(name, host + bracket, len);
    name[len] = '\0';
    return is_address(name) || strcasecmp(name, "localhost") == 0 ||
           (*name != '\0' && is_listed(access->hosts, name));
}

bool serve_is_other_site(const char *fetch_site, const char *origin, const char *host)
{
    if (fetch_site != NULL)
        return strcmp(fetch_site, "same-origin") != 0 && strcmp(fetch_site, "none") != 0;
    const char *slashes = origin != NULL ? strstr(origin, "://") : NULL;
    if (origin == NULL)
        return false;
    return slashes == NULL || host == NULL || strcasecmp(slashes + 3, host) != 0;
}
