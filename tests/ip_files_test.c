/* SPDX-License-Identifier: MIT
 *
 * Files of places and ranges: both styles, and what is wrong with them.
 */
#include <tackle/ip.h>

#include <zlib.h>

#include "support/fixture.h"

static tkl_ip *ip;
static tkl_ip_import *import;

static int fresh(void **state)
{
    int rc = fixture_fresh(state);
    fixture *f = *state;
    assert_ok(tkl_ip_open(f->client, tkl_str("t"), NULL, &ip));
    assert_ok(tkl_ip_import_open(ip, NULL, &import));
    return rc;
}

static int done(void **state)
{
    tkl_ip_import_close(import);
    tkl_ip_close(ip);
    return fixture_done(state);
}

#define FILE_TEST(name) cmocka_unit_test_setup_teardown(name, fresh, done)

/* ---- Files --------------------------------------------------------------- */

/* Writes a file of the test; its path. */
static const char *write_bytes(const char *name, const void *data, size_t len)
{
    static char path[2][128];
    static int turn;
    char *at = path[turn++ % 2];
    snprintf(at, sizeof path[0], "%s/%s", test_dir(), name);
    FILE *file = fopen(at, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, len, file), len);
    assert_int_equal(fclose(file), 0);
    return at;
}

static const char *write_file(const char *name, const char *text)
{
    return write_bytes(name, text, strlen(text));
}

static void import_again(const tkl_ip_import_options *options)
{
    tkl_ip_import_close(import);
    assert_ok(tkl_ip_import_open(ip, options, &import));
}

static tkl_ip_import_stats commit(void)
{
    tkl_ip_import_stats stats;
    assert_ok(tkl_ip_import_commit(import, &stats));
    return stats;
}

/* Fails unless a problem says this of this line. */
static void assert_problem(uint64_t line, const char *text)
{
    const tkl_ip_problem *problems;
    size_t count;
    tkl_ip_import_problems(import, &problems, &count);
    for (size_t i = 0; i < count; i++)
        if (problems[i].line == line && strstr(problems[i].text, text))
            return;
    for (size_t i = 0; i < count; i++)
        print_message("%s: line %d: %s\n", problems[i].file, (int)problems[i].line,
                      problems[i].text);
    fail_msg("no problem '%s' of line %d", text, (int)line);
}

/* The data of an address: "network|id|city|region|country|code|zone|postal|lat|lon". */
static void assert_answer(const char *address, const char *expected)
{
    tkl_ip_answers *answers;
    tkl_bytes bytes = tkl_str(address);
    char text[512];
    assert_ok(tkl_ip_lookup(ip, &bytes, 1, &answers));
    const tkl_ip_answer *a = &answers->items[0];
    const tkl_ip_place *p = &a->place;
    snprintf(text, sizeof text,
             TKL_FMT "|" TKL_FMT "|" TKL_FMT "|" TKL_FMT "|" TKL_FMT "|" TKL_FMT "|" TKL_FMT
                     "|" TKL_FMT "|" TKL_FMT "|" TKL_FMT,
             TKL_ARG(a->network), TKL_ARG(p->id), TKL_ARG(p->city), TKL_ARG(p->region),
             TKL_ARG(p->country), TKL_ARG(p->country_code), TKL_ARG(p->time_zone),
             TKL_ARG(p->postal_code), TKL_ARG(p->latitude), TKL_ARG(p->longitude));
    assert_string_equal(a->known ? text : "", expected);
    tkl_ip_answers_free(answers);
}

#define PLACES                                                                               \
    "geoname_id,locale_code,continent_code,continent_name,country_iso_code,country_name,"    \
    "subdivision_1_iso_code,subdivision_1_name,subdivision_2_iso_code,subdivision_2_name,"   \
    "city_name,metro_code,time_zone,is_in_european_union\n"                                  \
    "2988507,en,EU,Europe,FR,France,IDF,\"Île-de-France\",75,Paris,Paris,,Europe/Paris,1\n" \
    "5128581,en,NA,\"North America\",US,\"United States\",NY,\"New York\",,,\"New York, "    \
    "\"\"NYC\"\"\",501,America/New_York,0\n"                                                 \
    "6252001,en,NA,\"North America\",US,\"United States\",,,,,,,America/Chicago,0\n"

#define BLOCKS                                                                         \
    "network,geoname_id,registered_country_geoname_id,represented_country_geoname_id," \
    "is_anonymous_proxy,is_satellite_provider,postal_code,latitude,longitude,accuracy_radius\n"

#define GOOD_BLOCKS                                                    \
    BLOCKS "1.0.0.0/24,2988507,6252001,,0,0,75001,48.8566,2.3522,10\n" \
           "1.0.1.0/24,5128581,6252001,,0,0,10001,40.7,-74.0,20\n"     \
           "1.0.2.0/24,2988507,6252001,,0,0,75002,48.8570,2.3523,10\n" \
           "1.0.3.0/24,,6252001,,0,0,,37.751,-97.822,1000\n"           \
           "1.0.4.0/24,,,,1,0,,,,\n"

static void load_good(void)
{
    assert_ok(tkl_ip_import_places_file(import, write_file("places.csv", PLACES)));
    assert_ok(tkl_ip_import_blocks_file(import, write_file("blocks.csv", GOOD_BLOCKS)));
    assert_ok(tkl_ip_import_blocks_file(
        import, write_file("blocks6.csv", BLOCKS "2001:db8::/32,2988507,,,0,0,,48.8,2.3,10\n")));
}

static void assert_good(void)
{
    assert_answer("1.0.0.77",
                  "1.0.0.0/24|2988507|Paris|Île-de-France|France|FR|Europe/Paris|75001|48.8566|"
                  "2.3522");
    assert_answer("1.0.1.0", "1.0.1.0/24|5128581|New York, \"NYC\"|New York|United States|US|"
                             "America/New_York|10001|40.7|-74.0");
    assert_answer("1.0.2.9",
                  "1.0.2.0/24|2988507|Paris|Île-de-France|France|FR|Europe/Paris|75002|48.8570|"
                  "2.3523");
    assert_answer("1.0.3.255",
                  "1.0.3.0/24|6252001|||United States|US|America/Chicago||37.751|-97.822");
    assert_answer("1.0.4.1", "");
    assert_answer("2001:db8::9",
                  "2001:db8::/32|2988507|Paris|Île-de-France|France|FR|Europe/Paris||48.8|2.3");
}

static void networks_and_their_places_are_read(void **state)
{
    (void)state;
    load_good();
    tkl_ip_import_stats stats = commit();
    assert_int_equal(stats.rows, 9);
    assert_int_equal(stats.ranges, 5);
    assert_int_equal(stats.without_place, 1);
    assert_int_equal(stats.bad, 0);
    assert_good();
}

static void start_numbers_and_their_places_are_read(void **state)
{
    (void)state;
    assert_ok(tkl_ip_import_places_file(
        import,
        write_file("location.csv", "Copyright (c) 2012 Somebody.\n"
                                   "locId,country,region,city,postalCode,latitude,longitude,"
                                   "metroCode,areaCode\n"
                                   "1,\"FR\",\"A8\",\"Paris\",\"75001\",48.8667,2.3333,,\n"
                                   "2,\"DE\",\"\",\"\",\"\",51.0000,9.0000,,\n")));
    assert_ok(tkl_ip_import_blocks_file(import, write_file("numbers.csv",
                                                           "Copyright (c) 2012 Somebody.\n"
                                                           "startIpNum,endIpNum,locId\n"
                                                           "\"16777216\",\"16777471\",\"1\"\n"
                                                           "\"16777472\",\"16777500\",\"2\"\n")));
    commit();
    assert_answer("1.0.0.255", "1.0.0.0/24|1|Paris|A8|FR|||75001|48.8667|2.3333");
    assert_answer("1.0.1.28", "1.0.1.0-1.0.1.28|2|||DE||||51.0000|9.0000");
    assert_answer("1.0.1.29", "");
}

/* The text with CRLF for LF and a byte-order mark. */
static char *windows_text(const char *text)
{
    char *out = malloc(2 * strlen(text) + 4), *at = stpcpy(out, "\xef\xbb\xbf");
    for (; *text; text++) {
        if (*text == '\n')
            *at++ = '\r';
        *at++ = *text;
    }
    *at = '\0';
    return out;
}

static void files_of_other_systems_are_read(void **state)
{
    (void)state;
    char *places = windows_text(PLACES), *blocks = windows_text(GOOD_BLOCKS);
    blocks[strlen(blocks) - 2] = '\0'; /* the last line has no end */
    assert_ok(tkl_ip_import_places_file(import, write_file("places.csv", places)));
    assert_ok(tkl_ip_import_blocks_file(import, write_file("blocks.csv", blocks)));
    free(places);
    free(blocks);
    assert_ok(tkl_ip_import_blocks_file(
        import, write_file("blocks6.csv", BLOCKS "2001:db8::/32,2988507,,,0,0,,48.8,2.3,10\n")));
    commit();
    assert_good();
}

/* Names are kept byte by byte; ids, addresses and numbers may have blanks around them. */
static void blanks_belong_to_names(void **state)
{
    (void)state;
    assert_ok(tkl_ip_import_places_file(import, write_file("places.csv",
                                                           "locId, city ,region,country,latitude\n"
                                                           "1,  Bad  Ems\t, ,\" FR \", 48.5 \n"
                                                           "  \t \n"
                                                           " 2 ,x,,,\n")));
    assert_ok(tkl_ip_import_blocks_file(
        import, write_file("blocks.csv", "network,geoname_id \n 1.0.0.0/24 , 1\n1.0.1.0/24,2 \n")));
    assert_int_equal(commit().bad, 0);
    assert_answer("1.0.0.1", "1.0.0.0/24|1|  Bad  Ems\t| | FR ||||48.5|");
    assert_answer("1.0.1.1", "1.0.1.0/24|2|x|||||||");
}

static const char *write_gzip(const char *name, const char *first, const char *second)
{
    static char path[2][128];
    static int turn;
    char *at = path[turn++ % 2];
    snprintf(at, sizeof path[0], "%s/%s", test_dir(), name);
    gzFile file = gzopen(at, "wb");
    gzputs(file, first);
    gzclose(file);
    file = gzopen(at, "ab"); /* a second member */
    gzputs(file, second);
    gzclose(file);
    return at;
}

static void compressed_files_are_read(void **state)
{
    (void)state;
    assert_ok(tkl_ip_import_places_file(import, write_gzip("places.csv.gz", PLACES, "")));
    assert_ok(tkl_ip_import_blocks_file(
        import,
        write_gzip("blocks.csv.gz", GOOD_BLOCKS, "2001:db8::/32,2988507,,,0,0,,48.8,2.3,10\n")));
    commit();
    assert_good();
}

static void a_compressed_file_that_is_cut_off_imports_nothing(void **state)
{
    (void)state;
    char bytes[4096];
    const char *path = write_gzip("cut.csv.gz", GOOD_BLOCKS, "");
    FILE *file = fopen(path, "r");
    size_t len = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    for (size_t left = 30; left < len - 30; left += 40) {
        import_again(NULL);
        assert_code(tkl_ip_import_blocks_file(import, write_bytes("cut.gz", bytes, left)), TKL_EIO);
        assert_code(tkl_ip_import_commit(import, NULL), TKL_EINVAL);
    }
    bytes[40] = (char)~bytes[40];
    import_again(NULL);
    assert_code(tkl_ip_import_blocks_file(import, write_bytes("bad.gz", bytes, len)), TKL_EIO);
}

static void files_that_are_none_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *says;
    } cases[] = {
        {"", "none of the first rows"},
        {"\n\n\n", "none of the first rows"},
        {"a,b,c\n1,2,3\n", "none of the first rows"},
        {"1.0.0.0/24,5\n1.0.1.0/24,5\n1.0.2.0/24,5\n1.0.3.0/24,5\n1.0.4.0/24,5\nnetwork,"
         "geoname_id\n",
         "none of the first rows"},
        {"network,geoname_id\n1.0.0.0/24,\"5\n1.0.1.0/24,5\n", "line 2: a quote is not closed"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        import_again(NULL);
        assert_code(tkl_ip_import_blocks_file(import, write_file("x.csv", cases[i].text)),
                    TKL_EINVAL);
        assert_contains(tkl_errmsg(), cases[i].says);
    }
    assert_code(tkl_ip_import_places_file(import, "/nowhere/at/all"), TKL_EIO);
    assert_code(tkl_ip_import_places_file(import, test_dir()), TKL_EIO);
}

#define BAD_BLOCKS                                 \
    BLOCKS "1.0.0.0/24,2988507,,,0,0,,,,\n"        \
           "1.2.3/24,2988507,,,0,0,,,,\n"          \
           "\n"                                    \
           "::g/64,2988507,,,0,0,,,,\n"            \
           "1.0.1.0/24\n"                          \
           "1.0.0.128/25,2988507,,,0,0,,,,\n"      \
           "1.0.0.0/24,2988507,,,0,0,,,,\n"        \
           "1.0.5.9-1.0.5.1,2988507,,,0,0,,,,\n"   \
           "1.0.6.0/24,777,,,0,0,,,,\n"            \
           "\"1.0.\n7.0/24\",2988507,,,0,0,,,,\n"  \
           "1.0.0.0/16,2988507,,,0,0,,,,\n"        \
           "1.0.255.0-1.1.0.9,2988507,,,0,0,,,,\n" \
           "2.0.0.0/24,2988507,,,0,0,,,,\n"

static void bad_rows_are_told_with_their_lines_and_refused(void **state)
{
    (void)state;
    tkl_ip_import_stats stats;
    assert_ok(tkl_ip_import_places_file(import, write_file("places.csv", PLACES)));
    assert_ok(tkl_ip_import_blocks_file(import, write_file("bad.csv", BAD_BLOCKS)));
    assert_code(tkl_ip_import_commit(import, &stats), TKL_EINVAL);
    assert_contains(tkl_errmsg(), "9 bad rows");
    assert_contains(tkl_errmsg(), "bad.csv: line 3: '1.2.3/24': not an address");
    assert_int_equal(stats.bad, 9);
    assert_problem(3, "'1.2.3/24': not an address");
    assert_problem(5, "'::g/64': not an address");
    assert_problem(6, "a column is missing");
    assert_problem(7, "1.0.0.128/25 is inside 1.0.0.0/24");
    assert_problem(8, "1.0.0.0/24 repeats 1.0.0.0/24");
    assert_problem(9, "reversed");
    assert_problem(10, "its place 777 is not among the places");
    assert_problem(11, "not an address");
    assert_problem(13, "1.0.0.0/16 overlaps 1.0.0.0/24");
    tkl_ip_stats table;
    assert_code(tkl_ip_stats_get(ip, &table), TKL_NOTFOUND);
}

static void bad_rows_are_left_out_when_that_is_allowed(void **state)
{
    (void)state;
    import_again(&(tkl_ip_import_options){.max_bad = TKL_NONE, .max_reports = 2});
    assert_ok(tkl_ip_import_places_file(import, write_file("places.csv", PLACES)));
    assert_ok(tkl_ip_import_blocks_file(import, write_file("bad.csv", BAD_BLOCKS)));
    tkl_ip_import_stats stats = commit();
    const tkl_ip_problem *problems;
    size_t count;
    tkl_ip_import_problems(import, &problems, &count);
    assert_int_equal(count, 2);
    assert_int_equal(stats.bad, 9);
    assert_int_equal(stats.ranges, 3);
    assert_answer("1.0.0.200", "1.0.0.0/24|2988507|Paris|Île-de-France|France|FR|Europe/Paris|||");
    assert_answer("1.0.255.1",
                  "1.0.255.0-1.1.0.9|2988507|Paris|Île-de-France|France|FR|Europe/Paris|||");
    assert_answer("1.0.6.1", "");
}

static void one_bad_row_more_than_allowed_refuses(void **state)
{
    (void)state;
    static const int64_t allowed[] = {1, 2};
    for (size_t i = 0; i < 2; i++) {
        import_again(&(tkl_ip_import_options){.max_bad = allowed[i]});
        assert_ok(tkl_ip_import_blocks_file(
            import, write_file("two.csv", "network,geoname_id\n1.0.0.0/8,1\nx,1\ny,1\n")));
        assert_code(tkl_ip_import_commit(import, NULL), allowed[i] == 2 ? TKL_OK : TKL_EINVAL);
    }
    import_again(NULL);
    assert_ok(tkl_ip_import_blocks_file(import, write_file("none.csv", "network,geoname_id\n")));
    assert_code(tkl_ip_import_commit(import, NULL), TKL_EINVAL);
    assert_contains(tkl_errmsg(), "no range");
}

static void places_that_are_wrong_are_told(void **state)
{
    (void)state;
    assert_ok(tkl_ip_import_places_file(
        import, write_file("places.csv", "geoname_id,city_name\n1,A\n,B\n1,C\n2\n")));
    assert_problem(3, "no id");
    assert_problem(4, "the place 1 is there already");
}

static void a_line_of_ten_megabytes_is_one_bad_row(void **state)
{
    (void)state;
    enum { LONG = 10 << 20 };
    char *text = malloc(LONG + 200), *at = stpcpy(text, "network,geoname_id\n1.0.0.0/8,1\n");
    memset(at, 'x', LONG);
    stpcpy(at + LONG, ",1\n2.0.0.0/8,1\n");
    import_again(&(tkl_ip_import_options){.max_bad = 1});
    assert_ok(tkl_ip_import_blocks_file(import, write_file("long.csv", text)));
    assert_int_equal(commit().ranges, 2);
    assert_problem(3, "...': not an address");
    free(text);
}

static void a_field_of_twenty_megabytes_is_an_error(void **state)
{
    (void)state;
    enum { LONG = 20 << 20 };
    char *text = malloc(LONG + 200), *at = stpcpy(text, "network,geoname_id\n1.0.0.0/8,1\n");
    memset(at, 'x', LONG);
    stpcpy(at + LONG, ",1\n2.0.0.0/8,1\n");
    import_again(&(tkl_ip_import_options){.max_bad = TKL_NONE});
    assert_code(tkl_ip_import_blocks_file(import, write_file("long.csv", text)), TKL_EINVAL);
    assert_contains(tkl_errmsg(), "line 3: a field has more than 16777216 bytes");
    free(text);
}

static void a_quote_that_swallows_the_file_is_an_error(void **state)
{
    (void)state;
    enum { LONG = 20 << 20 };
    char *text = malloc(LONG + 200), *at = stpcpy(text, "network,geoname_id\n1.0.0.0/8,\"1\n");
    memset(at, '\n', LONG);
    stpcpy(at + LONG, "2.0.0.0/8,\"1\n");
    import_again(&(tkl_ip_import_options){.max_bad = TKL_NONE});
    assert_code(tkl_ip_import_blocks_file(import, write_file("quote.csv", text)), TKL_EINVAL);
    assert_contains(tkl_errmsg(), "line 2: a quote is not closed");
    free(text);
}

static uint64_t last_rows, last_sent;

static void note_progress(const tkl_ip_progress *progress, void *arg)
{
    (void)arg;
    assert_true(progress->rows >= last_rows);
    last_rows = progress->rows;
    last_sent = progress->sent;
}

static void files_larger_than_a_block_are_read_and_progress_is_told(void **state)
{
    (void)state;
    enum { ROWS = 100000 };
    char *text = malloc(ROWS * 40), *at = stpcpy(text, "network,geoname_id\n");
    for (unsigned i = 0; i < ROWS; i++)
        at += sprintf(at, "%u.%u.%u.0/24,%u\n", 1 + i / 65536, i / 256 % 256, i % 256, i % 1000);
    import_again(&(tkl_ip_import_options){.progress = note_progress});
    assert_ok(tkl_ip_import_blocks_file(import, write_file("large.csv", text)));
    assert_int_equal(commit().ranges, ROWS);
    assert_int_equal(last_rows, ROWS);
    assert_int_equal(last_sent, ROWS);
    assert_answer("2.50.7.9", "2.50.7.0/24|343||||||||");
    free(text);
}

static void rows_in_any_order_make_the_same_table(void **state)
{
    (void)state;
    assert_ok(tkl_ip_import_blocks_file(
        import, write_file("order.csv", "network,geoname_id\n2001:db8::/32,3\n9.0.0.0/8,2\n"
                                        "1.0.0.0/8,1\n")));
    commit();
    assert_answer("1.1.1.1", "1.0.0.0/8|1||||||||");
    assert_answer("9.1.1.1", "9.0.0.0/8|2||||||||");
    assert_answer("2001:db8::", "2001:db8::/32|3||||||||");
}

/* ---- Files without a row of names ---------------------------------------- */

static void columns_can_be_named_by_the_caller(void **state)
{
    (void)state;
    import_again(&(tkl_ip_import_options){.columns = "start_ip, end_ip,,locId",
                                          .place_columns = "locid,Country,city_name"});
    assert_ok(tkl_ip_import_places_file(import, write_file("p.csv", "7,France,Paris\n")));
    assert_ok(tkl_ip_import_blocks_file(
        import, write_file("b.csv", "192.0.2.0,192.0.2.255,x,7\n192.0.3.0,192.0.3.9,,7\n")));
    assert_int_equal(commit().ranges, 2);
    tkl_ip_answers *answers;
    assert_ok(tkl_ip_lookup(ip, &(tkl_bytes)TKL_LIT("192.0.3.9"), 1, &answers));
    assert_true(answers->items[0].known);
    assert_memory_equal(answers->items[0].place.city.data, "Paris", 5);
    tkl_ip_answers_free(answers);
}

static void wrong_names_of_columns_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *blocks, *places, *text;
    } wrong[] = {
        {"network,geonam_id", NULL, "'geonam_id'"},
        {"network", NULL, "needed"},
        {"", NULL, "needed"},
        {"start_ip,locId", NULL, "needed"},
        {NULL, "city", "place_columns"},
        {NULL, "geoname_id,network", "'network'"},
        {",,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,", NULL, "more than"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        tkl_ip_import_options options = {.columns = wrong[i].blocks,
                                         .place_columns = wrong[i].places};
        tkl_ip_import *made;
        assert_code(tkl_ip_import_open(ip, &options, &made), TKL_EINVAL);
        assert_null(made);
        assert_non_null(strstr(tkl_errmsg(), wrong[i].text));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        FILE_TEST(columns_can_be_named_by_the_caller),
        FILE_TEST(wrong_names_of_columns_are_refused),
        FILE_TEST(networks_and_their_places_are_read),
        FILE_TEST(start_numbers_and_their_places_are_read),
        FILE_TEST(files_of_other_systems_are_read),
        FILE_TEST(blanks_belong_to_names),
        FILE_TEST(compressed_files_are_read),
        FILE_TEST(a_compressed_file_that_is_cut_off_imports_nothing),
        FILE_TEST(files_that_are_none_are_refused),
        FILE_TEST(bad_rows_are_told_with_their_lines_and_refused),
        FILE_TEST(bad_rows_are_left_out_when_that_is_allowed),
        FILE_TEST(one_bad_row_more_than_allowed_refuses),
        FILE_TEST(places_that_are_wrong_are_told),
        FILE_TEST(a_line_of_ten_megabytes_is_one_bad_row),
        FILE_TEST(a_field_of_twenty_megabytes_is_an_error),
        FILE_TEST(a_quote_that_swallows_the_file_is_an_error),
        FILE_TEST(files_larger_than_a_block_are_read_and_progress_is_told),
        FILE_TEST(rows_in_any_order_make_the_same_table),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
