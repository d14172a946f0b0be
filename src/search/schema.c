/* SPDX-License-Identifier: MIT
 *
 * The schema of an index: checked, stored, compared, read back.
 */
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/letters.h"
#include "core/options.h"
#include "core/plain.h"
#include "core/token.h"
#include "search/scripts.h"
#include "search/search.h"

#define WORDS_MAX (1 << 20) /* bytes of stop words, or of user words */

/* The order of the settings in :meta, behind the token. */
enum { FIELDS, STEM, STOP, USER, FLAGS, SHARDS, SETTINGS };
static const char *const setting_names[SETTINGS] = {"fields",     "stem",  "stop_words",
                                                    "user_words", "flags", "shards"};

typedef struct flag {
    const char *name;
    size_t offset;
} flag;

static const flag flags[] = {
    {"no-stop-words", offsetof(tkl_search_schema, no_stop_words)},
    {"accents", offsetof(tkl_search_schema, accents)},
    {"scripts-apart", offsetof(tkl_search_schema, scripts_apart)},
    {"no-bigrams", offsetof(tkl_search_schema, no_bigrams)},
    {"positions", offsetof(tkl_search_schema, positions)},
    {"no-text", offsetof(tkl_search_schema, no_text)},
};
#define FLAG_COUNT (sizeof flags / sizeof *flags)

static bool *flag_of(tkl_search_schema *schema, size_t i)
{
    return (bool *)((char *)schema + flags[i].offset);
}

/* ---- Checking ------------------------------------------------------------ */

static bool name_byte(unsigned char c, bool first)
{
    bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                 c == '_' || c >= 0x80;
    return plain || (!first && (c == '-' || c == '.'));
}

static int check_field(const tkl_search_schema *schema, size_t i)
{
    const tkl_search_field *field = &schema->fields[i];
    tkl_bytes name = field->name;
    if (name.len == 0 || name.len > TKL_SEARCH_FIELD_NAME_MAX)
        return tkl__fail(TKL_EINVAL, "field %zu: a name has 1 to %d bytes", i,
                         TKL_SEARCH_FIELD_NAME_MAX);
    for (size_t k = 0; k < name.len; k++)
        if (!name_byte((unsigned char)name.data[k], k == 0))
            return tkl__fail(TKL_EINVAL,
                             "field '" TKL_FMT "': letters, digits and '_', and behind the "
                             "first '-' and '.'",
                             TKL_ARG(name));
    for (size_t k = 0; k < i; k++)
        if (tkl__same_bytes(schema->fields[k].name, name))
            return tkl__fail(TKL_EINVAL, "field '" TKL_FMT "' is there twice", TKL_ARG(name));
    int rc = TKL__CHECK_RESERVED(field);
    if (rc != TKL_OK)
        return rc;
    rc = tkl__check_number("kind", field->kind, TKL_SEARCH_FIELD_NUMERIC, TKL_SEARCH_FIELD_TEXT);
    return rc == TKL_OK ? TKL_OK : tkl__fail_in(rc, "field '" TKL_FMT "'", TKL_ARG(name));
}

static int check_schema(const tkl_search_schema *schema)
{
    int rc = TKL__CHECK_RESERVED(schema);
    if (rc == TKL_OK && schema->field_count > TKL_SEARCH_FIELDS_MAX)
        rc = tkl__fail(TKL_EINVAL, "an index has at most %d fields", TKL_SEARCH_FIELDS_MAX);
    for (size_t i = 0; rc == TKL_OK && i < schema->field_count; i++)
        rc = check_field(schema, i);
    if (rc == TKL_OK && schema->stem && *schema->stem)
        rc = tkl__text_check_stem(schema->stem);
    if (rc == TKL_OK && (schema->stop_words.len > WORDS_MAX || schema->user_words.len > WORDS_MAX))
        rc = tkl__fail(TKL_EINVAL, "stop words and user words have at most %d bytes", WORDS_MAX);
    if (rc == TKL_OK && schema->no_stop_words && schema->stop_words.len)
        rc = tkl__fail(TKL_EINVAL, "either stop words or none");
    return rc == TKL_OK ? tkl__check_number("shards", schema->shards, 0, TKL_SEARCH_SHARDS_MAX)
                        : rc;
}

/* ---- As it is stored ----------------------------------------------------- */

static void write_fields(const tkl_search_schema *schema, tkl__buf *out)
{
    for (size_t i = 0; i < schema->field_count; i++)
        tkl__buf_addf(out, "%s" TKL_FMT ":%s", i ? " " : "", TKL_ARG(schema->fields[i].name),
                      schema->fields[i].kind == TKL_SEARCH_FIELD_NUMERIC ? "numeric" : "text");
}

static void write_flags(const tkl_search_schema *schema, tkl__buf *out)
{
    tkl_search_schema copy = *schema;
    size_t before = out->len;
    for (size_t i = 0; i < FLAG_COUNT; i++)
        if (*flag_of(&copy, i))
            tkl__buf_addf(out, "%s%s", out->len > before ? " " : "", flags[i].name);
}

/* Each setting as text, all in one buffer. */
static int write_settings(const tkl_search_schema *schema, tkl__buf *out, tkl_bytes *values)
{
    size_t ends[SETTINGS];
    write_fields(schema, out);
    ends[FIELDS] = out->len;
    tkl__buf_addz(out, schema->stem ? schema->stem : "");
    ends[STEM] = out->len;
    tkl__buf_add(out, schema->stop_words.data, schema->stop_words.len);
    ends[STOP] = out->len;
    tkl__buf_add(out, schema->user_words.data, schema->user_words.len);
    ends[USER] = out->len;
    write_flags(schema, out);
    ends[FLAGS] = out->len;
    tkl__buf_addf(out, "%d", schema->shards ? schema->shards : 1);
    ends[SHARDS] = out->len;
    for (size_t i = 0, start = 0; i < SETTINGS; start = ends[i++])
        values[i] = (tkl_bytes){out->data + start, ends[i] - start};
    return out->failed ? tkl__nomem() : TKL_OK;
}

/* Takes the next word of a text with spaces between words; false: there are no more. */
static bool next_word(tkl_bytes *text, tkl_bytes *word)
{
    while (text->len && *text->data == ' ')
        text->data++, text->len--;
    if (text->len == 0)
        return false;
    const char *space = memchr(text->data, ' ', text->len);
    word->data = text->data;
    word->len = space ? (size_t)(space - text->data) : text->len;
    text->data += word->len;
    text->len -= word->len;
    return true;
}

static bool read_field(tkl_bytes word, tkl_search_field *field)
{
    const char *colon = memrchr(word.data, ':', word.len);
    if (!colon)
        return false;
    tkl_bytes kind = {colon + 1, (size_t)(word.data + word.len - colon - 1)};
    bool numeric = tkl__same_bytes(kind, tkl_str("numeric"));
    *field = (tkl_search_field){
        .name = {word.data, (size_t)(colon - word.data)},
        .kind = numeric ? TKL_SEARCH_FIELD_NUMERIC : TKL_SEARCH_FIELD_TEXT,
    };
    return numeric || tkl__same_bytes(kind, tkl_str("text"));
}

static bool read_fields(tkl__search_schema *schema, tkl_bytes text)
{
    tkl_bytes word;
    size_t count = 0;
    for (; next_word(&text, &word); count++) {
        if (count == TKL_SEARCH_FIELDS_MAX || !read_field(word, &schema->public_fields[count]))
            return false;
        schema->fields[count] = (tkl__search_query_field){
            .name = schema->public_fields[count].name,
            .numeric = schema->public_fields[count].kind == TKL_SEARCH_FIELD_NUMERIC};
    }
    schema->is.fields = schema->public_fields;
    schema->is.field_count = count;
    return true;
}

static bool read_flags(tkl__search_schema *schema, tkl_bytes text)
{
    tkl_bytes word;
    while (next_word(&text, &word)) {
        size_t i = 0;
        while (i < FLAG_COUNT && !tkl__same_bytes(word, tkl_str(flags[i].name)))
            i++;
        if (i == FLAG_COUNT)
            return false;
        *flag_of(&schema->is, i) = true;
    }
    return true;
}

/* Reads the settings. The values are in `store`, each followed by a NUL. */
static bool read_settings(tkl__search_schema *schema, const tkl_bytes *values)
{
    schema->is.stem = values[STEM].len ? values[STEM].data : NULL;
    schema->is.stop_words = values[STOP];
    schema->is.user_words = values[USER];
    schema->is.shards = atoi(values[SHARDS].data);
    return read_fields(schema, values[FIELDS]) && read_flags(schema, values[FLAGS]) &&
           schema->is.shards >= 1 && schema->is.shards <= TKL_SEARCH_SHARDS_MAX &&
           check_schema(&schema->is) == TKL_OK;
}

/* ---- Derived data -------------------------------------------------------- */

static int make_set(tkl_bytes text, unsigned fold, tkl__text_word_set *set)
{
    tkl_bytes word, rest = text;
    size_t count = 0;
    while (next_word(&rest, &word))
        count++;
    tkl_bytes *words = malloc((count + 1) * sizeof *words);
    if (!words)
        return tkl__nomem();
    rest = text;
    for (size_t i = 0; i < count; i++)
        next_word(&rest, &words[i]);
    int rc = tkl__text_word_set_make(words, count, fold, set);
    free(words);
    return rc;
}

static int make_usual(unsigned fold, tkl__text_word_set *set)
{
    tkl__buf both;
    tkl__buf_init(&both);
    tkl__buf_addz(&both, tkl__text_stop_words("en"));
    tkl__buf_addz(&both, " ");
    tkl__buf_addz(&both, tkl__text_stop_words("zh"));
    int rc = both.failed ? tkl__nomem() : make_set((tkl_bytes){both.data, both.len}, fold, set);
    tkl__buf_free(&both);
    return rc;
}

static int make_words(tkl__search_schema *schema)
{
    const tkl_search_schema *is = &schema->is;
    unsigned fold = (is->accents ? TKL__TEXT_FOLD_ACCENTS : 0u) |
                    (is->scripts_apart ? 0u : (unsigned)TKL__TEXT_FOLD_CHINESE);
    int rc = TKL_OK;
    if (is->stop_words.len)
        rc = make_set(is->stop_words, fold, &schema->stop);
    else if (!is->no_stop_words)
        rc = make_usual(fold, &schema->stop);
    if (rc == TKL_OK && is->user_words.len)
        rc = make_set(is->user_words, fold, &schema->user);
    schema->words = (tkl__text_word_options){.fold = fold,
                                             .stem = is->stem,
                                             .stop = schema->stop.count ? &schema->stop : NULL,
                                             .user = schema->user.count ? &schema->user : NULL,
                                             .bigrams = !is->no_bigrams,
                                             .parts = true};
    schema->rules = (tkl__search_query_rules){.fields = schema->fields,
                                              .field_count = is->field_count,
                                              .words = &schema->words,
                                              .positions = is->positions};
    return rc;
}

static int make_shards(tkl_search *search, tkl__search_schema *schema)
{
    size_t count = (size_t)schema->is.shards;
    schema->shards = calloc(count, sizeof *schema->shards);
    if (!schema->shards)
        return tkl__nomem();
    schema->shard_count = count;
    int rc = TKL_OK;
    for (size_t i = 0; rc == TKL_OK && i < count; i++)
        rc = tkl__search_shard_open(search->client, search->name, i, schema, &schema->shards[i]);
    return rc;
}

void tkl__search_schema_free(tkl__search_schema *schema)
{
    if (!schema || atomic_fetch_sub(&schema->refs, 1) > 1)
        return;
    for (size_t i = 0; i < schema->shard_count; i++)
        tkl__search_shard_close(&schema->shards[i]);
    free(schema->shards);
    tkl__text_word_set_free(&schema->stop);
    tkl__text_word_set_free(&schema->user);
    free(schema->store);
    free(schema);
}

/* Copies the settings into `store`, each followed by a NUL. */
static bool store_values(tkl__search_schema *schema, const tkl_bytes *settings, tkl_bytes *values)
{
    size_t size = 0;
    for (size_t i = 0; i < SETTINGS; i++)
        size += settings[i].len + 1;
    char *to = schema->store = malloc(size);
    for (size_t i = 0; to && i < SETTINGS; i++) {
        if (settings[i].len)
            memcpy(to, settings[i].data, settings[i].len);
        to[settings[i].len] = 0;
        values[i] = (tkl_bytes){to, settings[i].len};
        to += settings[i].len + 1;
    }
    return schema->store != NULL;
}

/* Makes a schema of settings, without token and shards. */
static int make_schema(const tkl_bytes *settings, tkl__search_schema **result)
{
    tkl_bytes values[SETTINGS];
    tkl__search_schema *schema = calloc(1, sizeof *schema);
    if (!schema)
        return tkl__nomem();
    atomic_init(&schema->refs, 1);
    int rc = store_values(schema, settings, values) ? TKL_OK : tkl__nomem();
    if (rc == TKL_OK && !read_settings(schema, values))
        rc = tkl__fail(TKL_EDAMAGED, "the index has settings that this version does not know");
    if (rc == TKL_OK)
        rc = make_words(schema);
    if (rc == TKL_OK)
        *result = schema;
    else
        tkl__search_schema_free(schema);
    return rc;
}

/* Makes a schema of the stored token and settings. `dropped`: also of an index that is being
 * dropped. */
static int read_schema(tkl_search *search, const tkl_reply *reply, bool dropped,
                       tkl__search_schema **result)
{
    tkl_bytes token = tkl_reply_bytes(tkl_reply_at(reply, 0)), settings[SETTINGS];
    tkl__search_schema *schema = NULL;
    if (tkl_reply_is_nil(tkl_reply_at(reply, 0)) || (token.len == 0 && !dropped))
        return tkl__fail(TKL_NOTFOUND, "there is no index '" TKL_FMT "'", TKL_ARG(search->name));
    if (token.len != TKL__SEARCH_TOKEN_SIZE - 1 && token.len != 0)
        return tkl__fail(TKL_EDAMAGED, "the index was not written by tackle");
    for (size_t i = 0; i < SETTINGS; i++)
        settings[i] = tkl_reply_bytes(tkl_reply_at(reply, i + 1));
    int rc = make_schema(settings, &schema);
    if (rc != TKL_OK)
        return rc;
    memcpy(schema->token, token.data, token.len);
    rc = make_shards(search, schema);
    if (rc == TKL_OK)
        *result = schema;
    else
        tkl__search_schema_free(schema);
    return rc;
}

int tkl__search_schema_make(const tkl_search_schema *is, tkl__search_schema **schema)
{
    static const tkl_search_schema defaults;
    tkl_bytes settings[SETTINGS];
    tkl__buf text;
    *schema = NULL;
    int rc = check_schema(is ? is : &defaults);
    if (rc != TKL_OK)
        return rc;
    tkl__buf_init(&text);
    rc = write_settings(is ? is : &defaults, &text, settings);
    if (rc == TKL_OK)
        rc = make_schema(settings, schema);
    tkl__buf_free(&text);
    return rc;
}

/* ---- The schema of a handle ---------------------------------------------- */

static void remember_schema(tkl_search *search, tkl__search_schema *schema)
{
    atomic_fetch_add(&schema->refs, 1);
    tkl__client_lock(search->client);
    tkl__search_schema *old = *search->known;
    *search->known = schema;
    tkl__client_unlock(search->client);
    tkl__search_schema_free(old);
}

static int ask_schema(tkl_search *search, tkl_reply **reply)
{
    tkl_bytes key;
    tkl__args args;
    int rc = tkl_key(search->client, "search", search->name, "meta", &key);
    if (rc != TKL_OK)
        return rc;
    tkl__args_init(&args);
    tkl__args_str(&args, "HMGET");
    tkl__args_bytes(&args, key);
    tkl__args_str(&args, "token");
    for (size_t i = 0; i < SETTINGS; i++)
        tkl__args_str(&args, setting_names[i]);
    rc = tkl__plain(search->client, &args, tkl__search_deadline(search), true, reply);
    tkl__args_free(&args);
    tkl_key_free(key);
    return rc;
}

int tkl__search_schema_read(tkl_search *search, bool dropped, tkl__search_schema **schema)
{
    tkl_reply *reply = NULL;
    int rc = ask_schema(search, &reply);
    if (rc == TKL_OK)
        rc = read_schema(search, reply, dropped, schema);
    tkl_reply_free(reply);
    return rc;
}

int tkl__search_schema_get(tkl_search *search, tkl__search_schema **schema)
{
    tkl__client_lock(search->client);
    *schema = *search->known;
    if (*schema)
        atomic_fetch_add(&(*schema)->refs, 1);
    tkl__client_unlock(search->client);
    if (*schema)
        return TKL_OK;
    int rc = tkl__search_schema_read(search, false, schema);
    if (rc == TKL_OK)
        remember_schema(search, *schema);
    return rc;
}

void tkl__search_schema_forget(tkl_search *search, const tkl__search_schema *schema)
{
    tkl__search_schema *old = NULL;
    tkl__client_lock(search->client);
    if (!schema || *search->known == schema) {
        old = *search->known;
        *search->known = NULL;
    }
    tkl__client_unlock(search->client);
    tkl__search_schema_free(old);
}

int tkl__search_field_of(const tkl__search_schema *schema, tkl_bytes name)
{
    for (size_t i = 0; i < schema->is.field_count; i++)
        if (tkl__same_bytes(schema->fields[i].name, name))
            return (int)i;
    return -1;
}

/* ---- Creating ------------------------------------------------------------ */

static int run_create(tkl_search *search, tkl_bytes key, const char *token, const tkl_bytes *values,
                      tkl_reply **reply)
{
    tkl__args args;
    tkl__keys keys = {&key, 1};
    tkl__args_init(&args);
    tkl__args_str(&args, token);
    for (size_t i = 0; i < SETTINGS; i++) {
        tkl__args_str(&args, setting_names[i]);
        tkl__args_bytes(&args, values[i]);
    }
    int rc = tkl__eval(search->client, &tkl__lua_search_create, &keys, &args,
                       tkl__search_deadline(search), true, reply);
    tkl__args_free(&args);
    return rc;
}

static int compare_settings(const tkl_reply *reply, const tkl_bytes *values)
{
    for (size_t i = 0; i < SETTINGS; i++) {
        tkl_bytes has = tkl_reply_bytes(tkl_reply_at(reply, i + 1));
        if (!tkl__same_bytes(has, values[i]))
            return tkl__fail(TKL_EINVAL,
                             "the index was made with %s '" TKL_FMT "', not '" TKL_FMT "'",
                             setting_names[i], TKL_ARG(has), TKL_ARG(values[i]));
    }
    return TKL_OK;
}

/* Writes the token into the other shards, so that nothing is written into shards of a dropped
 * index. */
static int create_shards(tkl_search *search, const tkl__search_schema *schema,
                         const tkl_bytes *values)
{
    int rc = TKL_OK;
    for (size_t i = 1; rc == TKL_OK && i < schema->shard_count; i++) {
        tkl_reply *reply;
        rc = run_create(search, schema->shards[i].keys[TKL__SEARCH_META], schema->token, values,
                        &reply);
        if (rc == TKL_OK &&
            !tkl__same_bytes(tkl_reply_bytes(tkl_reply_at(reply, 0)), tkl_str(schema->token)))
            rc = tkl__fail(TKL_EXISTS, "shard %zu of an older index is still there: drop it", i);
        tkl_reply_free(reply);
    }
    return rc;
}

static int create_all(tkl_search *search, tkl_bytes meta, const tkl_bytes *values)
{
    char token[TKL_TOKEN_SIZE];
    tkl_reply *reply;
    tkl__search_schema *schema = NULL;
    tkl__token_new(token);
    int rc = run_create(search, meta, token, values, &reply);
    if (rc == TKL_OK && tkl_reply_bytes(tkl_reply_at(reply, 0)).len == 0)
        rc = tkl__fail(TKL_EXISTS, "the index is being dropped: drop it to the end");
    if (rc == TKL_OK)
        rc = compare_settings(reply, values);
    if (rc == TKL_OK)
        rc = read_schema(search, reply, false, &schema);
    if (rc == TKL_OK)
        rc = create_shards(search, schema, values);
    if (rc == TKL_OK)
        remember_schema(search, schema);
    tkl__search_schema_free(schema);
    tkl_reply_free(reply);
    return rc;
}

int tkl_search_create(tkl_search *search, const tkl_search_schema *schema)
{
    static const tkl_search_schema defaults;
    tkl_bytes meta, values[SETTINGS];
    tkl__buf text;
    if (!schema)
        schema = &defaults;
    int rc = check_schema(schema);
    if (rc == TKL_OK)
        rc = tkl_key(search->client, "search", search->name, "meta", &meta);
    if (rc != TKL_OK)
        return rc;
    tkl__buf_init(&text);
    rc = write_settings(schema, &text, values);
    if (rc == TKL_OK)
        rc = create_all(search, meta, values);
    tkl__buf_free(&text);
    tkl_key_free(meta);
    return rc;
}
