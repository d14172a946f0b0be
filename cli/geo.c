/* SPDX-License-Identifier: MIT
 *
 * Places from the shell.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "holders.h"
#include "lines.h"
#include "out.h"

/* Opens the places that the first argument names. */
static int open_geo(cli_session *cli, int64_t ttl_ms, tkl_geo **geo)
{
    tkl_client *client = NULL;
    tkl_geo_options options = {.ttl_ms = ttl_ms};
    int failed = cli_connect(cli, &client);
    tkl_bytes name = tkl_str(cli->argv[0]);
    return failed ? failed : cli_end(cli, tkl_geo_open(client, name, &options, geo));
}

static int read_number(const cli_session *cli, const char *what, const char *text, double *number)
{
    char *end;
    errno = 0;
    *number = strtod(text, &end);
    if (end == text || *end != '\0' || errno != 0)
        return cli_usage(cli, "invalid %s '%s': a number", what, text);
    return CLI_OK;
}

static tkl_geo_unit read_unit(const char *text)
{
    return strcmp(text, "km") == 0   ? TKL_GEO_KM
           : strcmp(text, "mi") == 0 ? TKL_GEO_MI
           : strcmp(text, "ft") == 0 ? TKL_GEO_FT
                                     : TKL_GEO_M;
}

/* ---- add, remove --------------------------------------------------------- */

/* Reads the three arguments LONGITUDE LATITUDE PLACE. */
static int read_place(const cli_session *cli, int index, tkl_geo_place *place)
{
    *place = (tkl_geo_place){.name = tkl_str(cli->argv[index + 2])};
    int failed = read_number(cli, "longitude", cli->argv[index], &place->longitude);
    return failed ? failed : read_number(cli, "latitude", cli->argv[index + 1], &place->latitude);
}

static int add_places(cli_session *cli, const tkl_geo_place *places, size_t count)
{
    tkl_geo *geo = NULL;
    int64_t added = 0;
    int failed = open_geo(cli, cli_number(cli, "ttl", 0), &geo);
    if (!failed)
        failed = cli_end(cli, tkl_geo_add(geo, places, count, &added));
    tkl_geo_close(geo);
    return failed ? failed : cli_print_number(cli, "added", added);
}

static int geo_add(cli_session *cli)
{
    size_t count = (size_t)(cli->argc - 1) / 3;
    if (count == 0 || (cli->argc - 1) % 3 != 0)
        return cli_usage(cli, "places are three words each: LONGITUDE LATITUDE PLACE");
    tkl_geo_place *places = calloc(count, sizeof *places);
    int failed = places ? CLI_OK : cli_end(cli, TKL_ENOMEM);
    for (size_t i = 0; !failed && i < count; i++)
        failed = read_place(cli, 1 + 3 * (int)i, &places[i]);
    if (!failed)
        failed = add_places(cli, places, count);
    free(places);
    return failed;
}

/* ---- About places -------------------------------------------------------- */

static int remove_places(cli_session *cli)
{
    tkl_geo *geo = NULL;
    int64_t removed = 0;
    tkl_bytes *names = cli_arguments(cli, 1);
    int failed = names ? open_geo(cli, 0, &geo) : cli_end(cli, TKL_ENOMEM);
    if (!failed)
        failed = cli_end(cli, tkl_geo_remove(geo, names, (size_t)cli->argc - 1, &removed));
    tkl_geo_close(geo);
    free(names);
    return failed ? failed : cli_print_number(cli, "removed", removed);
}

static int geo_distance(cli_session *cli)
{
    tkl_geo *geo = NULL;
    double length = 0;
    const char *unit = cli_text(cli, "unit", "m");
    int code = TKL_OK, failed = open_geo(cli, 0, &geo);
    if (!failed)
        code = tkl_geo_distance(geo, tkl_str(cli->argv[1]), tkl_str(cli->argv[2]), read_unit(unit),
                                &length);
    if (!failed)
        failed = code == TKL_NOTFOUND ? cli_no(cli, code, "not all places are there")
                                      : cli_end(cli, code);
    tkl_geo_close(geo);
    if (failed)
        return failed;
    if (cli->json)
        return cli_print_json(cli, json_pack("{s:f, s:s}", "distance", length, "unit", unit));
    printf("%.4f\n", length);
    return CLI_OK;
}

/* Asks about places: makes a row for each, and says whether all were found. */
typedef int ask_places(tkl_geo *geo, const tkl_bytes *names, size_t count, json_t **rows,
                       bool *all);

static int print_places(cli_session *cli, ask_places *ask, const cli_column *columns)
{
    tkl_geo *geo = NULL;
    json_t *rows = NULL;
    bool all = true;
    tkl_bytes *names = cli_arguments(cli, 1);
    int failed = names ? open_geo(cli, 0, &geo) : cli_end(cli, TKL_ENOMEM);
    if (!failed)
        failed = cli_end(cli, ask(geo, names, (size_t)cli->argc - 1, &rows, &all));
    if (!failed)
        failed = cli_print_rows(cli, rows, columns);
    tkl_geo_close(geo);
    free(names);
    return failed || all ? failed : cli_answered_no(cli, TKL_NOTFOUND, "not all places are there");
}

static int ask_positions(tkl_geo *geo, const tkl_bytes *names, size_t count, json_t **rows,
                         bool *all)
{
    tkl_geo_position *at = calloc(count, sizeof *at);
    int code = at ? tkl_geo_positions(geo, names, count, at) : TKL_ENOMEM;
    *rows = code == TKL_OK ? json_array() : NULL;
    for (size_t i = 0; code == TKL_OK && i < count; i++) {
        *all = *all && at[i].found;
        json_array_append_new(
            *rows, json_pack("{s:o, s:o, s:o}", "name", cli_json_bytes(names[i]), "longitude",
                             at[i].found ? json_real(at[i].longitude) : json_null(), "latitude",
                             at[i].found ? json_real(at[i].latitude) : json_null()));
    }
    free(at);
    return code;
}

static int geo_positions(cli_session *cli)
{
    static const cli_column columns[] = {
        {"name", "PLACE"}, {"longitude", "LONGITUDE"}, {"latitude", "LATITUDE"}, {0}};
    return print_places(cli, ask_positions, columns);
}

static int ask_hashes(tkl_geo *geo, const tkl_bytes *names, size_t count, json_t **rows, bool *all)
{
    tkl_geo_text *texts = calloc(count, sizeof *texts);
    int code = texts ? tkl_geo_hashes(geo, names, count, texts) : TKL_ENOMEM;
    *rows = code == TKL_OK ? json_array() : NULL;
    for (size_t i = 0; code == TKL_OK && i < count; i++) {
        bool found = texts[i][0] != '\0';
        *all = *all && found;
        json_array_append_new(*rows,
                              json_pack("{s:o, s:o}", "name", cli_json_bytes(names[i]), "geohash",
                                        found ? json_string(texts[i]) : json_null()));
    }
    free(texts);
    return code;
}

static int geo_hashes(cli_session *cli)
{
    static const cli_column columns[] = {{"name", "PLACE"}, {"geohash", "GEOHASH"}, {0}};
    return print_places(cli, ask_hashes, columns);
}

/* ---- near ---------------------------------------------------------------- */

/* Reads "WIDTHxHEIGHT". */
static int read_box(const cli_session *cli, const char *text, tkl_geo_query *query)
{
    char *x, *end;
    query->width = strtod(text, &x);
    query->height = *x == 'x' ? strtod(x + 1, &end) : 0;
    if (*x != 'x' || *end != '\0' || !(query->width > 0) || !(query->height > 0))
        return cli_usage(cli, "invalid --box '%s': WIDTHxHEIGHT, like 20x10", text);
    return CLI_OK;
}

/* Reads the centre: a place, or a longitude and a latitude. */
static int read_centre(const cli_session *cli, tkl_geo_query *query)
{
    if (cli->argc == 2) {
        query->member = tkl_str(cli->argv[1]);
        return query->member.len > 0 ? CLI_OK : cli_usage(cli, "the name of the place is empty");
    }
    int failed = read_number(cli, "longitude", cli->argv[1], &query->longitude);
    return failed ? failed : read_number(cli, "latitude", cli->argv[2], &query->latitude);
}

static int read_query(const cli_session *cli, tkl_geo_query *query)
{
    const char *radius = cli_text(cli, "radius", NULL), *box = cli_text(cli, "box", NULL);
    if (cli_flag(cli, "max") && cli_number(cli, "max", 0) < 1)
        return cli_usage(cli, "invalid --max: 1 or more");
    *query = (tkl_geo_query){.unit = read_unit(cli_text(cli, "unit", "m")),
                             .max = cli_number(cli, "max", 0),
                             .farthest = cli_flag(cli, "farthest")};
    if (!radius == !box)
        return cli_usage(cli, "either --radius or --box");
    int failed =
        radius ? read_number(cli, "--radius", radius, &query->radius) : read_box(cli, box, query);
    return failed ? failed : read_centre(cli, query);
}

static const cli_column near_columns[] = {
    {"name", "PLACE"},
    {"distance", "DISTANCE"},
    {"longitude", "LONGITUDE"},
    {"latitude", "LATITUDE"},
    {0},
};

static json_t *json_places(const tkl_geo_places *places)
{
    json_t *rows = json_array();
    for (size_t i = 0; i < places->count; i++) {
        const tkl_geo_place *p = &places->items[i];
        json_array_append_new(rows, json_pack("{s:o, s:f, s:f, s:f, s:I}", "name",
                                              cli_json_bytes(p->name), "distance", p->distance,
                                              "longitude", p->longitude, "latitude", p->latitude,
                                              "hash", (json_int_t)p->hash));
    }
    return rows;
}

static int geo_near(cli_session *cli)
{
    tkl_geo *geo = NULL;
    tkl_geo_query query;
    tkl_geo_places *places = NULL;
    int64_t count = 0;
    bool only_count = cli_flag(cli, "count");
    int failed = read_query(cli, &query);
    if (!failed)
        failed = open_geo(cli, 0, &geo);
    if (!failed)
        failed = cli_end(cli, only_count ? tkl_geo_count(geo, &query, &count)
                                         : tkl_geo_near(geo, &query, &places));
    if (!failed)
        failed = only_count ? cli_print_number(cli, "count", count)
                            : cli_print_rows(cli, json_places(places), near_columns);
    tkl_geo_places_free(places);
    tkl_geo_close(geo);
    return failed;
}

/* ---- Geohashes ----------------------------------------------------------- */

static int geo_within(cli_session *cli)
{
    tkl_geo *geo = NULL;
    tkl_geo_places *places = NULL;
    int failed = cli_positive(cli, "max");
    if (!failed)
        failed = open_geo(cli, 0, &geo);
    if (!failed)
        failed =
            cli_end(cli, tkl_geo_within(geo, cli->argv[1], cli_number(cli, "max", 0), &places));
    if (!failed)
        failed = cli_print_rows(cli, json_places(places), near_columns);
    tkl_geo_places_free(places);
    tkl_geo_close(geo);
    return failed;
}

static int geo_encode(cli_session *cli)
{
    double longitude, latitude;
    tkl_geo_text hash;
    int64_t length = cli_number(cli, "length", TKL_GEO_HASH_MAX);
    int failed = read_number(cli, "longitude", cli->argv[0], &longitude);
    if (!failed)
        failed = read_number(cli, "latitude", cli->argv[1], &latitude);
    if (!failed)
        failed = cli_end(
            cli, tkl_geo_encode(longitude, latitude, length > 0 ? (size_t)length : 0, hash));
    if (failed)
        return failed;
    if (cli->json)
        return cli_print_json(cli, json_pack("{s:s}", "geohash", hash));
    printf("%s\n", hash);
    return CLI_OK;
}

static int geo_decode(cli_session *cli)
{
    static const cli_column columns[] = {{"longitude", "longitude"},
                                         {"latitude", "latitude"},
                                         {"west", "west"},
                                         {"south", "south"},
                                         {"east", "east"},
                                         {"north", "north"},
                                         {0}};
    tkl_geo_cell cell;
    int failed = cli_end(cli, tkl_geo_decode(cli->argv[0], &cell));
    return failed ? failed
                  : cli_print_record(cli,
                                     json_pack("{s:f, s:f, s:f, s:f, s:f, s:f}", "longitude",
                                               cell.longitude, "latitude", cell.latitude, "west",
                                               cell.west, "south", cell.south, "east", cell.east,
                                               "north", cell.north),
                                     columns);
}

static int geo_neighbours(cli_session *cli)
{
    static const char *const sides[8] = {"north", "north-east", "east", "south-east",
                                         "south", "south-west", "west", "north-west"};
    static const cli_column columns[] = {{"side", "SIDE"}, {"geohash", "GEOHASH"}, {0}};
    tkl_geo_text around[8];
    int failed = cli_end(cli, tkl_geo_neighbours(cli->argv[0], around));
    if (failed)
        return failed;
    json_t *rows = json_array();
    for (size_t i = 0; i < 8; i++)
        json_array_append_new(
            rows, json_pack("{s:s, s:o}", "side", sides[i], "geohash",
                            around[i][0] != '\0' ? json_string(around[i]) : json_null()));
    return cli_print_rows(cli, rows, columns);
}

static int geo_list(cli_session *cli)
{
    return cli_list(cli, tkl_geo_names);
}

static int geo_drop(cli_session *cli)
{
    tkl_geo *geo = NULL;
    int failed = cli_confirm(cli, "This deletes all places of '%s'.", cli->argv[0]);
    if (!failed)
        failed = open_geo(cli, 0, &geo);
    if (!failed)
        failed = cli_end_of(cli, tkl_geo_drop(geo), "set of places");
    tkl_geo_close(geo);
    return failed ? failed : cli_print_done(cli, "dropped");
}

/* ---- The component ------------------------------------------------------- */

#define UNIT                                                            \
    {                                                                   \
        "unit", CLI_CHOICE, "m|km|mi|ft", "unit of lengths (default m)" \
    }

static const cli_option add_options[] = {
    {"ttl", CLI_PERIOD, "DURATION", "all places expire this long after the last change"},
    {0},
};

static const cli_option distance_options[] = {UNIT, {0}};

static const cli_option near_options[] = {
    {"radius", CLI_TEXT, "LENGTH", "search in a circle of this radius"},
    {"box", CLI_TEXT, "WIDTHxHEIGHT", "search in a box of this size"},
    UNIT,
    {"max", CLI_INTEGER, "N", "print at most N places (default: all)"},
    {"farthest", CLI_FLAG, NULL, "print the farthest place first"},
    {"count", CLI_FLAG, NULL, "print only how many there are"},
    {0},
};

static const cli_option within_options[] = {
    {"max", CLI_INTEGER, "N", "print at most N places (default: all)"},
    {0},
};

static const cli_option encode_options[] = {
    {"length", CLI_INTEGER, "N", "characters of the geohash, 1 to 11 (default 11)"},
    {0},
};

static const cli_option drop_options[] = {CLI_YES, {0}};

#define TWO_CITIES "tackle geo add cities 13.405 52.52 berlin 9.993 53.551 hamburg\n"

static const cli_verb verbs[] = {
    {
        .name = "add",
        .args = "NAME [LONGITUDE LATITUDE PLACE...]",
        .summary = "add places, or move them; prints how many are new",
        .options = add_options,
        .details = "Places are three words each. Longitudes are from -180 to 180,\n"
                   "latitudes from -85.05 to 85.05.",
        .example = "tackle geo add cities 13.405 52.52 berlin 9.993 53.551 hamburg",
        .effect = CLI_WRITES,
        .run = geo_add,
    },
    {
        .name = "remove",
        .args = "NAME PLACE...",
        .summary = "remove places; prints how many were there",
        .example = TWO_CITIES "tackle geo remove cities berlin",
        .effect = CLI_WRITES,
        .run = remove_places,
    },
    {
        .name = "distance",
        .args = "NAME PLACE PLACE",
        .summary = "the distance between two places",
        .options = distance_options,
        .details = "Exit code 1 when one of them is not there.",
        .example = TWO_CITIES "tackle geo distance cities berlin hamburg --unit km",
        .effect = CLI_READS,
        .run = geo_distance,
    },
    {
        .name = "positions",
        .args = "NAME PLACE...",
        .summary = "where places are",
        .details = "Exit code 1 when one of them is not there.",
        .example = TWO_CITIES "tackle geo positions cities berlin hamburg",
        .effect = CLI_READS,
        .run = geo_positions,
    },
    {
        .name = "hashes",
        .args = "NAME PLACE...",
        .summary = "the geohashes of places, 11 characters",
        .details = "Exit code 1 when one of them is not there.",
        .example = TWO_CITIES "tackle geo hashes cities berlin",
        .effect = CLI_READS,
        .run = geo_hashes,
    },
    {
        .name = "near",
        .args = "NAME PLACE|LONGITUDE [LATITUDE]",
        .summary = "what is near a place or a point, nearest first",
        .options = near_options,
        .details = "Exit code 1 when the place is not there.",
        .example =
            TWO_CITIES "tackle geo near cities berlin --radius 300 --unit km\n"
                       "tackle geo near cities 10 53 --box 200x200 --unit km --max 10 --json",
        .effect = CLI_READS,
        .run = geo_near,
    },
    {
        .name = "within",
        .args = "NAME GEOHASH",
        .summary = "places whose geohashes begin with GEOHASH, nearest to its centre first",
        .options = within_options,
        .details = "GEOHASH has at most 10 characters. Distances are in metres from its centre.",
        .example = TWO_CITIES "tackle geo within cities u3\n"
                              "tackle geo within cities u33d --json",
        .effect = CLI_READS,
        .run = geo_within,
    },
    {
        .name = "encode",
        .args = "LONGITUDE LATITUDE",
        .summary = "the geohash of a point",
        .options = encode_options,
        .dashes = true,
        .example = "tackle geo encode 13.405 52.52 --length 6",
        .effect = CLI_READS,
        .run = geo_encode,
    },
    {
        .name = "decode",
        .args = "GEOHASH",
        .summary = "the cell of a geohash: its centre and its edges, in degrees",
        .example = "tackle geo decode u33dc0 --json",
        .effect = CLI_READS,
        .run = geo_decode,
    },
    {
        .name = "neighbours",
        .args = "GEOHASH",
        .summary = "the geohashes of the eight cells around it",
        .details = "Beyond a pole there is none.",
        .example = "tackle geo neighbours u33dc0\n"
                   "tackle geo neighbours u33dc0 --json",
        .effect = CLI_READS,
        .run = geo_neighbours,
    },
    {
        .name = "list",
        .summary = "all names that have places",
        .options = cli_list_options,
        .example = TWO_CITIES "tackle geo list",
        .effect = CLI_READS,
        .run = geo_list,
    },
    {
        .name = "drop",
        .args = "NAME",
        .summary = "delete all places",
        .options = drop_options,
        .example = "tackle geo add tackle-example 13.405 52.52 berlin\n"
                   "tackle geo drop tackle-example --yes --json",
        .effect = CLI_WRITES,
        .run = geo_drop,
    },
    {0},
};

static const cli_step demo[] = {
    {"Places on the globe.",
     "tackle geo add cities 13.405 52.52 berlin 9.993 53.551 hamburg 2.352 48.857 paris", 0},
    {"What is within 300 km, nearest first.",
     "tackle geo near cities berlin --radius 300 --unit km", 0},
    {0},
};

const cli_component cli_geo = {
    .name = "geo",
    .summary = "places: distances, what is near, nearest first",
    .verbs = verbs,
    .demo = demo,
};
