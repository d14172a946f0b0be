/* SPDX-License-Identifier: MIT
 *
 * The files of a receiver on its disk. All names are in the directory of the receiver:
 *
 *   .tackle-MARK-TOKEN.part   the received part of a file
 *   .tackle-MARK-TOKEN.out    the file while it is unpacked
 *   .tackle-MARK-TOKEN.lines  how many bytes of the file were delivered as lines
 *
 * MARK is a checksum of the channel and the receiver, TOKEN the token of the file.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/error.h"
#include "files/receive.h"

#define PREFIX     TKL__FILES_PREFIX
#define NAME_SIZE  (sizeof PREFIX + TKL__FILES_MARK + 1 + TKL__FILES_TOKEN + 8)
#define READ_BYTES (256 * 1024)

typedef struct own_name {
    char text[NAME_SIZE];
} own_name;

static own_name name_of(const tkl__files_incoming *in, const char *ending)
{
    own_name name;
    snprintf(name.text, sizeof name.text, PREFIX "%s-%s.%s", in->receiving->mark, in->token.text,
             ending);
    return name;
}

static int local_error(const tkl__files_incoming *in, const char *doing)
{
    return tkl__fail_errno(TKL_EIO, "%s " TKL_FMT " in %s", doing, TKL_ARG(in->name),
                           in->receiving->options.dir);
}

/* ---- Plain input and output ---------------------------------------------- */

static int write_all(const tkl__files_incoming *in, int fd, tkl_bytes data, int64_t at)
{
    for (size_t done = 0; done < data.len;) {
        ssize_t got = pwrite(fd, data.data + done, data.len - done, at + (int64_t)done);
        if (got < 0 && errno != EINTR)
            return local_error(in, "writing");
        done += got > 0 ? (size_t)got : 0;
    }
    return TKL_OK;
}

/* Whether an error concerns one name, and not the directory or the disk. */
static bool is_about_name(int error)
{
    return error == ELOOP || error == EISDIR || error == ENOTDIR || error == ENOTEMPTY ||
           error == EEXIST || error == EPERM || error == EBUSY || error == ENXIO ||
           error == ENAMETOOLONG || error == EXDEV;
}

/* Reports errno as the error for a file that cannot be created: a link, a directory and the like
 * may have its name. */
static int create_error(tkl__files_incoming *in, const char *name)
{
    const char *dir = in->receiving->options.dir;
    in->blocked = is_about_name(errno);
    if (errno == ELOOP)
        return tkl__fail(TKL_EIO, "%s/%s is a symbolic link: remove it", dir, name);
    return tkl__fail_errno(TKL_EIO, "creating %s/%s for " TKL_FMT, dir, name, TKL_ARG(in->name));
}

/* Creates a file with the permissions of the source, as far as the umask of this process allows. */
static int create_file(tkl__files_incoming *in, const char *name, int flags, int *fd)
{
    struct stat st;
    *fd = openat(in->receiving->dir, name,
                 O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | flags,
                 (mode_t)in->mode | 0600);
    if (*fd < 0)
        return create_error(in, name);
    if (fstat(*fd, &st) == 0 && S_ISREG(st.st_mode))
        return TKL_OK;
    close(*fd);
    *fd = -1;
    in->blocked = true;
    return tkl__fail(TKL_EIO, "%s/%s is not a regular file: remove it", in->receiving->options.dir,
                     name);
}

/* Sets permissions and time of the source; syncs the file to disk if the options ask for it. */
static int set_attributes(const tkl__files_incoming *in, int fd)
{
    struct stat st;
    if (fstat(fd, &st) != 0)
        return local_error(in, "writing");
    mode_t wanted = st.st_mode & (mode_t)in->mode & 0777;
    if (wanted != (st.st_mode & 0777) && fchmod(fd, wanted) != 0)
        return local_error(in, "setting permissions of");
    const struct timespec times[] = {{.tv_nsec = UTIME_OMIT}, in->mtime};
    if (in->has_mtime && futimens(fd, times) != 0)
        return local_error(in, "setting the time of");
    if (in->receiving->options.sync && fsync(fd) != 0)
        return local_error(in, "syncing");
    return TKL_OK;
}

/* The place of a file: a name in a directory. */
typedef struct place {
    int dir;          /* close it unless it is the directory of the receiver */
    const char *leaf; /* points into `name` */
    char name[TKL_FILES_NAME_MAX + 1];
} place;

/* Finds the place of a file. Members of directories keep their names; other files get a safe name.
 * p->dir is -1 on failure, see errno. `create`: makes directories that are missing. */
static void find_place(const tkl__files_incoming *in, tkl_bytes name, bool create, place *p)
{
    const tkl__files_receiving *r = in->receiving;
    if (in->type == 0) {
        tkl_files_safe_name(name, p->name);
        p->dir = r->dir;
        p->leaf = p->name;
        return;
    }
    memcpy(p->name, name.data, name.len);
    p->name[name.len] = '\0';
    p->dir = tkl__files_tree_parent(r->dir, p->name, create, r->options.sync, &p->leaf);
}

static void close_place(const tkl__files_incoming *in, const place *p)
{
    int saved = errno;
    if (p->dir >= 0 && p->dir != in->receiving->dir)
        close(p->dir);
    errno = saved;
}

/* Reports errno as the error for a file that cannot be put in place. EACCES below a received
 * directory concerns this file only. */
static int place_error(tkl__files_incoming *in, const place *p)
{
    in->blocked = is_about_name(errno) || (in->type != 0 && errno == EACCES);
    return tkl__fail_errno(TKL_EIO, "putting " TKL_FMT " in place as %s/%s", TKL_ARG(in->name),
                           in->receiving->options.dir, p->name);
}

/* Renames the file `from` to its place. */
static int put_in_place(tkl__files_incoming *in, const char *from, tkl_bytes name, char *path,
                        size_t size)
{
    place p;
    int rc = TKL_OK;
    find_place(in, name, true, &p);
    if (p.dir < 0 || renameat(in->receiving->dir, from, p.dir, p.leaf) != 0)
        rc = place_error(in, &p);
    else if (in->receiving->options.sync && fsync(p.dir) != 0)
        rc = local_error(in, "syncing the directory of");
    close_place(in, &p);
    snprintf(path, size, "%s/%s", in->receiving->options.dir, p.name);
    return rc;
}

/* ---- Lines --------------------------------------------------------------- */

int tkl__files_partial_feed(tkl__files_incoming *in, tkl_bytes data)
{
    if (!in->receiving->options.on_line || *in->unpack_error)
        return TKL_OK;
    int rc = in->unpacker ? tkl__files_unpack_add(in->unpacker, data)
                          : tkl__files_lines_add(&in->lines, data);
    if (rc != TKL_EDAMAGED)
        return rc;
    snprintf(in->unpack_error, sizeof in->unpack_error, "%s", tkl_errmsg());
    return TKL_OK; /* the rest of the file is still received and kept */
}

int tkl__files_partial_flush_lines(const tkl__files_incoming *in)
{
    const tkl_files_receive_options *options = &in->receiving->options;
    if (options->on_flush && options->on_flush(options->arg) != 0)
        return tkl__fail(TKL_EINTR, "the callback for lines could not write them");
    return TKL_OK;
}

int tkl__files_partial_save_lines(tkl__files_incoming *in)
{
    char text[24];
    int fd;
    if (!in->receiving->options.on_line || in->lines.delivered <= in->saved)
        return TKL_OK;
    int rc = tkl__files_partial_flush_lines(in);
    if (rc != TKL_OK)
        return rc;
    rc = create_file(in, name_of(in, "lines").text, 0, &fd);
    if (rc != TKL_OK)
        return rc;
    int len = snprintf(text, sizeof text, "%020" PRId64 "\n", in->lines.delivered);
    rc = write_all(in, fd, (tkl_bytes){text, (size_t)len}, 0);
    if (close(fd) != 0 && rc == TKL_OK)
        rc = local_error(in, "writing");
    in->saved = in->lines.delivered;
    return rc;
}

static int64_t saved_lines(const tkl__files_incoming *in)
{
    char text[24] = "";
    int fd =
        openat(in->receiving->dir, name_of(in, "lines").text, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return 0;
    ssize_t len = read(fd, text, sizeof text - 1);
    close(fd);
    return len > 0 ? strtoll(text, NULL, 10) : 0;
}

int tkl__files_partial_load_lines(tkl__files_incoming *in)
{
    const tkl_files_receive_options *options = &in->receiving->options;
    if (!options->on_line)
        return TKL_OK;
    in->saved = saved_lines(in);
    tkl__files_lines_init(&in->lines, options->on_line, options->arg, in->name, in->saved);
    if (options->unpack)
        in->unpacker = tkl__files_unpack_new(tkl__files_lines_add, &in->lines);
    return options->unpack && !in->unpacker ? tkl__nomem() : TKL_OK;
}

/* ---- Opening ------------------------------------------------------------- */

/* The checksum of the first `len` bytes of an open file. */
static bool sum_of_file(tkl__files_incoming *in, int fd, int64_t len, tkl__files_sum *sum)
{
    tkl__files_hash_reset(in->hash);
    bool read = tkl__files_hash_file(in->hash, fd, len) == TKL_OK;
    *sum = tkl__files_hash_sum(in->hash);
    tkl__files_hash_reset(in->hash);
    return read;
}

/* Whether the file is in place already: its name and size are right, and so is the checksum of the
 * part that the server has. The server may be behind after it was restored with older data. */
static bool is_in_place(tkl__files_incoming *in)
{
    place p;
    struct stat st;
    tkl__files_sum known, all;
    if (in->size < 0 || in->receiving->options.on_line || in->receiving->options.unpack)
        return false;
    find_place(in, in->name, false, &p);
    int fd = p.dir < 0 ? -1 : openat(p.dir, p.leaf, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    close_place(in, &p);
    if (fd < 0)
        return false;
    int64_t len = in->complete || in->sent * in->chunk > in->size ? in->size : in->sent * in->chunk;
    bool same = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size == in->size &&
                sum_of_file(in, fd, len, &known) && strcmp(known.text, in->sum) == 0 &&
                sum_of_file(in, fd, in->size, &all);
    close(fd);
    if (same)
        memcpy(in->before_sum, all.text, sizeof in->before_sum);
    return same;
}

/* Marks a file as delivered before: it has all chunks, however many there are. */
static void set_before(tkl__files_incoming *in, tkl__files_before before)
{
    in->before = before;
    in->position = TKL__FILES_CHUNKS_MAX;
}

/* Reads the partial file again: for the checksum, and for lines that were not delivered yet. */
static int reread_partial(tkl__files_incoming *in, int64_t len)
{
    char *buffer = malloc(READ_BYTES);
    int rc = buffer ? TKL_OK : tkl__nomem();
    for (int64_t at = 0; rc == TKL_OK && at < len;) {
        size_t want = len - at < READ_BYTES ? (size_t)(len - at) : READ_BYTES;
        ssize_t got = pread(in->fd, buffer, want, at);
        if (got <= 0 && !(got < 0 && errno == EINTR)) {
            rc = local_error(in, "reading");
        } else if (got > 0) {
            tkl__files_hash_add(in->hash, buffer, (size_t)got);
            rc = tkl__files_partial_feed(in, (tkl_bytes){buffer, (size_t)got});
            at += got;
        }
    }
    free(buffer);
    return rc;
}

/* Finds the number of whole chunks in the partial file, and cuts off the rest. */
static int find_position(tkl__files_incoming *in)
{
    struct stat st;
    if (fstat(in->fd, &st) != 0)
        return local_error(in, "reading");
    int64_t position = st.st_size / in->chunk, len;
    if (in->complete && st.st_size >= in->size)
        position = in->sent;
    in->position = position < in->sent ? position : in->sent;
    len = in->position * in->chunk;
    if (in->complete && len > in->size)
        len = in->size;
    in->resumed = len > 0;
    if (st.st_size != len && ftruncate(in->fd, len) != 0)
        return local_error(in, "writing");
    return reread_partial(in, len);
}

static int open_file(tkl__files_incoming *in)
{
    return in->fd >= 0 ? TKL_OK : create_file(in, name_of(in, "part").text, 0, &in->fd);
}

int tkl__files_partial_open(tkl__files_incoming *in)
{
    if (in->before != TKL__FILES_NEW)
        return TKL_OK;
    if (in->opened)
        return open_file(in);
    const tkl__files_delivered *delivered =
        tkl__files_receiving_find(in->receiving, in->token.text);
    if (delivered) {
        memcpy(in->before_sum, delivered->sum, sizeof in->before_sum);
        set_before(in, TKL__FILES_DONE_BEFORE);
        in->opened = true;
        return TKL_OK;
    }
    int rc = tkl__files_partial_load_lines(in);
    if (rc == TKL_OK)
        rc = open_file(in);
    if (rc == TKL_OK)
        rc = find_position(in);
    if (rc != TKL_OK)
        return rc;
    in->opened = true;
    if (in->position >= in->freed)
        return TKL_OK;
    if (!is_in_place(in))
        return tkl__fail(TKL_EDAMAGED,
                         "part of it is not on the server any more, nor in this directory");
    set_before(in, TKL__FILES_IN_PLACE);
    return TKL_OK;
}

void tkl__files_partial_close(tkl__files_incoming *in)
{
    if (in->fd >= 0)
        close(in->fd);
    in->fd = -1;
}

int tkl__files_partial_write(tkl__files_incoming *in, tkl_bytes data)
{
    return write_all(in, in->fd, data, in->position * in->chunk);
}

int tkl__files_partial_sync(const tkl__files_incoming *in)
{
    bool wanted = in->receiving->options.sync && in->fd >= 0;
    return wanted && fdatasync(in->fd) != 0 ? local_error(in, "syncing") : TKL_OK;
}

/* ---- The end ------------------------------------------------------------- */

int tkl__files_partial_place(tkl__files_incoming *in, char *path, size_t size)
{
    int rc = set_attributes(in, in->fd);
    return rc == TKL_OK ? put_in_place(in, name_of(in, "part").text, in->name, path, size) : rc;
}

/* The output file of unpacking. */
typedef struct unpacked {
    tkl__files_incoming *in;
    int fd;
    int64_t at;
} unpacked;

static int write_unpacked(void *arg, tkl_bytes bytes)
{
    unpacked *u = arg;
    int rc = write_all(u->in, u->fd, bytes, u->at);
    u->at += (int64_t)bytes.len;
    return rc;
}

static int unpack_file(tkl__files_incoming *in, tkl__files_unpacker *unpacker)
{
    char *buffer = malloc(READ_BYTES);
    int rc = buffer ? TKL_OK : tkl__nomem();
    ssize_t got = 1;
    for (int64_t at = 0; rc == TKL_OK && got != 0;) {
        got = pread(in->fd, buffer, READ_BYTES, at);
        if (got > 0)
            rc = tkl__files_unpack_add(unpacker, (tkl_bytes){buffer, (size_t)got});
        else if (got < 0 && errno != EINTR)
            rc = local_error(in, "reading");
        at += got > 0 ? got : 0;
    }
    free(buffer);
    return rc == TKL_OK ? tkl__files_unpack_end(unpacker) : rc;
}

/* "access.log.gz" becomes "access.log". */
static tkl_bytes without_gz(tkl_bytes name)
{
    bool ends = name.len > 3 && memcmp(name.data + name.len - 3, ".gz", 3) == 0;
    return (tkl_bytes){name.data, ends ? name.len - 3 : name.len};
}

/* Unpacks the file. The packed file stays until the server knows that the file is done. */
int tkl__files_partial_unpack(tkl__files_incoming *in, char *path, size_t size)
{
    unpacked out = {.in = in, .fd = -1};
    own_name name = name_of(in, "out");
    int rc = create_file(in, name.text, O_TRUNC, &out.fd);
    if (rc != TKL_OK)
        return rc;
    tkl__files_unpacker *unpacker = tkl__files_unpack_new(write_unpacked, &out);
    rc = unpacker ? unpack_file(in, unpacker) : tkl__nomem();
    if (rc == TKL_OK)
        rc = set_attributes(in, out.fd);
    close(out.fd);
    if (rc == TKL_OK) {
        bool packed = tkl__files_unpack_packed(unpacker);
        rc = put_in_place(in, name.text, packed ? without_gz(in->name) : in->name, path, size);
    } else {
        unlinkat(in->receiving->dir, name.text, 0);
    }
    tkl__files_unpack_free(unpacker);
    return rc;
}

void tkl__files_partial_path(const tkl__files_incoming *in, char *path, size_t size)
{
    char safe[TKL_FILES_SAFE_SIZE];
    const char *dir = in->receiving->options.dir;
    tkl_files_safe_name(in->name, safe);
    if (in->type == 0)
        snprintf(path, size, "%s/%s", dir, safe);
    else
        snprintf(path, size, "%s/" TKL_FMT, dir, TKL_ARG(in->name));
}

/* Writes a small file as a partial file, which then ends like that of a large one. */
int tkl__files_partial_place_small(tkl__files_incoming *in, char *path, size_t size)
{
    int rc = create_file(in, name_of(in, "part").text, O_TRUNC, &in->fd);
    if (rc == TKL_OK)
        rc = write_all(in, in->fd, in->data, 0);
    if (rc != TKL_OK)
        return rc;
    bool unpack = in->receiving->options.unpack && !in->receiving->options.on_line;
    rc = unpack ? tkl__files_partial_unpack(in, path, size)
                : tkl__files_partial_place(in, path, size);
    if (rc == TKL_EDAMAGED) {
        tkl_error damage;
        tkl_error_last(rc, &damage);
        rc = tkl__files_partial_place(in, path, size);
        rc = rc == TKL_OK ? tkl__first_tell(&damage) : rc;
    } else if (rc == TKL_OK && unpack) {
        unlinkat(in->receiving->dir, name_of(in, "part").text, 0);
    }
    tkl__files_partial_close(in);
    return rc;
}

/* Makes a directory, or uses the one that is there, and sets its permissions and time. A partial
 * file with the same permissions shows which of them the umask of this process allows. The owner
 * can always write: files may come again. */
int tkl__files_partial_place_dir(tkl__files_incoming *in, char *path, size_t size)
{
    place p;
    struct stat file, st;
    own_name part = name_of(in, "part");
    const struct timespec times[] = {{.tv_nsec = UTIME_OMIT}, in->mtime};
    int rc = create_file(in, part.text, O_TRUNC, &in->fd);
    if (rc != TKL_OK)
        return rc;
    bool known = fstat(in->fd, &file) == 0;
    tkl__files_partial_close(in);
    unlinkat(in->receiving->dir, part.text, 0);
    find_place(in, in->name, true, &p);
    bool made = p.dir >= 0 && (mkdirat(p.dir, p.leaf, 0700) == 0 || errno == EEXIST);
    int fd = made ? tkl__files_tree_open(p.dir, p.leaf) : -1;
    if (fd < 0) {
        rc = place_error(in, &p);
    } else if (known && fstat(fd, &st) == 0) {
        mode_t mode = (st.st_mode & 07000) | (file.st_mode & (mode_t)in->mode & 0777) | 0700;
        bool dressed = fchmod(fd, mode) == 0 && (!in->has_mtime || futimens(fd, times) == 0);
        if (!dressed || (in->receiving->options.sync && (fsync(fd) != 0 || fsync(p.dir) != 0)))
            rc = place_error(in, &p);
    }
    if (fd >= 0)
        close(fd);
    close_place(in, &p);
    snprintf(path, size, "%s/%s", in->receiving->options.dir, p.name);
    return rc;
}

int tkl__files_partial_place_link(tkl__files_incoming *in, char *path, size_t size)
{
    int dir = in->receiving->dir;
    own_name part = name_of(in, "part");
    const struct timespec times[] = {{.tv_nsec = UTIME_OMIT}, in->mtime};
    unlinkat(dir, part.text, 0);
    if (symlinkat(in->data.data, dir, part.text) != 0)
        return create_error(in, part.text);
    if (in->has_mtime)
        utimensat(dir, part.text, times, AT_SYMLINK_NOFOLLOW); /* not all disks can */
    return put_in_place(in, part.text, in->name, path, size);
}

void tkl__files_partial_remove(const tkl__files_incoming *in)
{
    static const char *const endings[] = {"part", "out", "lines"};
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        unlinkat(in->receiving->dir, name_of(in, endings[i]).text, 0);
}

/* ---- Sweeping ------------------------------------------------------------ */

static bool is_active(const tkl__files_receiving *r, const char *name)
{
    const char *token = name + sizeof PREFIX - 1 + TKL__FILES_MARK + 1;
    for (size_t i = 0; i < r->count; i++)
        if (strncmp(token, r->active[i]->token.text, TKL__FILES_TOKEN) == 0)
            return true;
    return false;
}

int tkl__files_partial_sweep(tkl__files_receiving *r)
{
    char prefix[NAME_SIZE];
    size_t len = (size_t)snprintf(prefix, sizeof prefix, PREFIX "%s-", r->mark);
    int fd = openat(r->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    if (!dir) {
        if (fd >= 0)
            close(fd);
        return tkl__fail_errno(TKL_EIO, "reading %s", r->options.dir);
    }
    for (struct dirent *entry; (entry = readdir(dir));)
        if (strncmp(entry->d_name, prefix, len) == 0 &&
            strlen(entry->d_name) > len + TKL__FILES_TOKEN && !is_active(r, entry->d_name))
            unlinkat(r->dir, entry->d_name, 0);
    closedir(dir);
    return TKL_OK;
}
