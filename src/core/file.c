/* SPDX-License-Identifier: MIT */
/* Paths are built in arrays of PATH_MAX bytes: the system takes none that are longer. */
#include "file.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define CHUNK 65536
#define LINKS_AT_MOST 40 /* as the kernel does */

static clp_status refuse(struct clp_fault *fault, clp_status status, int os_error)
{
    *fault = (struct clp_fault){.status = status, .os_error = os_error};
    return status;
}

static clp_status refuse_io(struct clp_fault *fault)
{
    return refuse(fault, CLP_IO, errno);
}

/* ---- reading ---- */

static ssize_t read_some(int fd, char *bytes, size_t count)
{
    ssize_t got;

    do
        got = read(fd, bytes, count);
    while (got < 0 && errno == EINTR);
    return got;
}

static clp_status read_all(int fd, size_t limit, struct clp_buf *out, struct clp_fault *fault)
{
    char chunk[CHUNK];
    size_t total = 0;

    for (;;) {
        ssize_t got = read_some(fd, chunk, sizeof chunk);
        if (got < 0)
            return refuse_io(fault);
        if (got == 0)
            return CLP_OK;
        total += (size_t)got;
        if (total > limit)
            return refuse(fault, CLP_TOO_LARGE, 0);
        clp_buf_add(out, chunk, (size_t)got);
        if (out->failed)
            return refuse(fault, CLP_NO_MEMORY, 0);
    }
}

clp_status clp_file_read(const char *path, size_t limit, struct clp_buf *out,
                         struct clp_fault *fault)
{
    struct stat about;
    clp_status status;
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    *fault = (struct clp_fault){.status = CLP_OK};
    if (fd < 0)
        return refuse_io(fault);
    if (fstat(fd, &about) == 0 && S_ISREG(about.st_mode) && (uintmax_t)about.st_size > limit)
        status = refuse(fault, CLP_TOO_LARGE, 0);
    else
        status = read_all(fd, limit, out, fault);
    close(fd);
    return status;
}

/* ---- the place of a file to be written ---- */

struct place {
    char path[PATH_MAX]; /* symbolic links at its end followed */
    bool in_place;       /* no plain file: written as it is */
    bool exists;
    mode_t mode; /* permissions of the file that exists */
};

/* Copies first and second, one behind the other. */
static clp_status join(char *path, const char *first, size_t first_bytes, const char *second,
                       struct clp_fault *fault)
{
    size_t second_bytes = strlen(second);

    if (first_bytes >= PATH_MAX || second_bytes >= PATH_MAX - first_bytes)
        return refuse(fault, CLP_IO, ENAMETOOLONG);
    memmove(path, first, first_bytes);
    memcpy(path + first_bytes, second, second_bytes + 1);
    return CLP_OK;
}

/* The length of the path's folder with its last slash; 0 for a bare name. */
static size_t folder_bytes(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash == NULL ? 0 : (size_t)(slash - path) + 1;
}

/* Renaming over these would not reach what the descriptor has open. */
static bool is_descriptor(const char *path)
{
    return strncmp(path, "/proc/", 6) == 0 || strncmp(path, "/dev/fd/", 8) == 0;
}

/* Follows symbolic links, so that the link stays and what it names is replaced. Unlike realpath it
 * follows those too whose target does not exist yet. */
static clp_status follow_links(char *path, struct clp_fault *fault)
{
    char link[PATH_MAX];

    for (int i = 0; i < LINKS_AT_MOST; i++) {
        ssize_t bytes = is_descriptor(path) ? -1 : readlink(path, link, sizeof link - 1);
        if (bytes < 0)
            return CLP_OK; /* no link; whatever else is wrong shows at the next step */
        link[bytes] = 0;
        size_t kept = link[0] == '/' ? 0 : folder_bytes(path);
        if (join(path, path, kept, link, fault) != CLP_OK)
            return CLP_IO;
    }
    return refuse(fault, CLP_IO, ELOOP);
}

/* Finds where `path` leads, and refuses what can be refused without writing. */
static clp_status find_place(const char *path, struct place *place, struct clp_fault *fault)
{
    struct stat about;

    *fault = (struct clp_fault){.status = CLP_OK};
    place->exists = stat(path, &about) == 0;
    place->mode = place->exists ? about.st_mode & 0777 : 0;
    place->in_place = place->exists && !S_ISREG(about.st_mode);
    if (join(place->path, "", 0, path, fault) != CLP_OK)
        return CLP_IO;
    if (place->exists && S_ISDIR(about.st_mode))
        return refuse(fault, CLP_IO, EISDIR);
    if (place->exists && faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) != 0)
        return refuse_io(fault); /* a rename would replace even what is write-protected */
    if (place->in_place)
        return CLP_OK;
    if (path[0] == 0)
        return refuse(fault, CLP_IO, ENOENT);
    clp_status status = follow_links(place->path, fault);
    place->in_place = place->exists && is_descriptor(place->path);
    return status;
}

/* ---- writing ---- */

static bool write_all(int fd, const char *bytes, size_t count)
{
    while (count > 0) {
        ssize_t put = write(fd, bytes, count);
        if (put < 0 && errno != EINTR)
            return false;
        if (put > 0) {
            bytes += put;
            count -= (size_t)put;
        }
    }
    return true;
}

/* Closes whatever happened before and keeps the first error in errno. */
static bool close_after(int fd, bool good)
{
    int before = errno;

    if (close(fd) != 0 && good)
        return false;
    errno = before;
    return good;
}

/* Six letters that were probably never used; O_EXCL looks after the rest. */
static void fill_fresh(char *letters, unsigned attempt)
{
    static const char alphabet[] = "abcdefghijklmnopqrstuvwxyz0123456789";
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    uint64_t seed = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    seed = (seed ^ (uint64_t)getpid() << 32) + attempt;
    seed *= UINT64_C(0x9e3779b97f4a7c15);
    seed ^= seed >> 29;
    for (int i = 0; i < 6; i++, seed /= sizeof alphabet - 1)
        letters[i] = alphabet[seed % (sizeof alphabet - 1)];
}

/* Creates a file whose name is `path` with the six letters at `letters` (inside it) replaced. Not
 * mkstemp: that makes files private, and the umask cannot be asked without changing it. */
static int open_fresh(const char *path, char *letters, mode_t mode)
{
    int fd = -1;

    for (unsigned attempt = 0; attempt < 100; attempt++) {
        fill_fresh(letters, attempt);
        fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
        if (fd >= 0 || errno != EEXIST)
            break;
    }
    return fd;
}

/* Opens a temporary file in the folder of `path`; its name goes to `temporary`. */
static int open_beside(const char *path, char *temporary, struct clp_fault *fault)
{
    size_t folder = folder_bytes(path);

    if (join(temporary, path, folder, ".clineprof-XXXXXX", fault) != CLP_OK)
        return -1;
    int fd = open_fresh(temporary, temporary + strlen(temporary) - 6, 0666);
    if (fd < 0)
        refuse_io(fault);
    return fd;
}

/* A failed fsync means lost data, except where the file system has none. */
static bool sync_file(int fd)
{
    return fsync(fd) == 0 || errno == EINVAL || errno == ENOSYS;
}

static clp_status replace(const struct place *place, const char *bytes, size_t count,
                          struct clp_fault *fault)
{
    char temporary[PATH_MAX];
    int fd = open_beside(place->path, temporary, fault);

    if (fd < 0)
        return CLP_IO;
    bool good = !place->exists || fchmod(fd, place->mode) == 0;
    good = good && write_all(fd, bytes, count) && sync_file(fd);
    good = close_after(fd, good);
    if (good && rename(temporary, place->path) == 0)
        return CLP_OK;
    refuse_io(fault);
    unlink(temporary);
    return CLP_IO;
}

static clp_status write_in_place(const char *path, const char *bytes, size_t count,
                                 struct clp_fault *fault)
{
    int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY);

    if (fd < 0)
        return refuse_io(fault);
    if (!close_after(fd, write_all(fd, bytes, count)))
        return refuse_io(fault);
    return CLP_OK;
}

clp_status clp_file_write(const char *path, const char *bytes, size_t count,
                          struct clp_fault *fault)
{
    struct place place;

    if (find_place(path, &place, fault) != CLP_OK)
        return CLP_IO;
    if (place.in_place)
        return write_in_place(path, bytes, count, fault);
    return replace(&place, bytes, count, fault);
}

clp_status clp_file_probe(const char *path, struct clp_fault *fault)
{
    struct place place;
    char temporary[PATH_MAX];

    if (find_place(path, &place, fault) != CLP_OK)
        return CLP_IO;
    if (place.in_place)
        return CLP_OK;
    if (strlen(place.path + folder_bytes(place.path)) > NAME_MAX)
        return refuse(fault, CLP_IO, ENAMETOOLONG);
    int fd = open_beside(place.path, temporary, fault);
    if (fd < 0)
        return CLP_IO;
    close(fd);
    unlink(temporary);
    return CLP_OK;
}

/* ---- a last resort ---- */

static int open_temporary(const char *folder, const char *prefix, char *path)
{
    int bytes = snprintf(path, PATH_MAX, "%s/%s-XXXXXX.lprof", folder, prefix);

    if (bytes < 0 || bytes >= PATH_MAX) {
        errno = ENAMETOOLONG;
        return -1;
    }
    return open_fresh(path, path + bytes - strlen("XXXXXX.lprof"), 0600);
}

clp_status clp_file_write_temporary(const char *prefix, const char *bytes, size_t count,
                                    struct clp_buf *path_out, struct clp_fault *fault)
{
    char path[PATH_MAX];
    const char *folder = getenv("TMPDIR");
    int fd = -1;

    *fault = (struct clp_fault){.status = CLP_OK};
    if (folder != NULL && folder[0] != 0)
        fd = open_temporary(folder, prefix, path);
    if (fd < 0)
        fd = open_temporary("/tmp", prefix, path);
    if (fd < 0)
        return refuse_io(fault);
    if (!close_after(fd, write_all(fd, bytes, count))) {
        refuse_io(fault);
        unlink(path);
        return CLP_IO;
    }
    clp_buf_add_text(path_out, path);
    if (path_out->failed) {
        unlink(path); /* nobody would know its name */
        return refuse(fault, CLP_NO_MEMORY, 0);
    }
    return CLP_OK;
}
