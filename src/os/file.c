/* SPDX-License-Identifier: MIT */
/* Paths are built in arrays of PATH_MAX bytes: the system takes none that are longer. */
#include "file.h"
#include "filelock.h"
#include "base/hashmap.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define OUT_OF_THE_WAY 200 /* the lowest descriptor to use; limits are 1024 and more */
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

int clp_file_open_to_look(const char *path, bool follow)
{
    return open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | (follow ? 0 : O_NOFOLLOW));
}

/* The low numbers are taken by what nobody can write to. To move the file later would be too late: another thread may
 * write to it before. */
int clp_file_open(const char *path, int flags, unsigned rights)
{
    int taken[STDERR_FILENO + 1], count = 0, next;

    while ((next = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0 && next <= STDERR_FILENO)
        taken[count++] = next;
    if (next >= 0)
        close(next); /* it may be the last number that is free */
    int fd = open(path, flags, rights), kept = errno;
    while (count > 0)
        close(taken[--count]);
    errno = kept;
    return fd;
}

int clp_file_move_up(int fd)
{
    int higher = fcntl(fd, F_DUPFD_CLOEXEC, OUT_OF_THE_WAY);

    if (higher < 0)
        return fd;
    close(fd);
    return higher;
}

bool clp_file_peek(int fd, void *bytes, size_t count)
{
    return pread(fd, bytes, count, 0) == (ssize_t)count;
}

bool clp_file_peek_at(const char *path, void *bytes, size_t count, uint32_t *owner)
{
    int fd = clp_file_open_to_look(path, owner == NULL);
    struct stat about;

    if (fd < 0)
        return false;
    bool done = clp_file_peek(fd, bytes, count) && fstat(fd, &about) == 0;
    if (done && owner != NULL)
        *owner = about.st_uid;
    close(fd);
    return done;
}

/* ---- the place of a file to be written ---- */

struct place {
    char path[PATH_MAX]; /* symbolic links at its end followed */
    bool in_place;       /* no plain file: written directly */
    bool exists;
    mode_t mode; /* permissions of the file that exists */
};

/* Writes first and then second to path. `first` may be `path` itself. */
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

/* What root or this user has put there may be trusted. */
static bool is_trusted(uid_t owner)
{
    return owner == 0 || owner == geteuid();
}

static clp_status refuse_foreign(struct clp_fault *fault, const char *reason)
{
    *fault = (struct clp_fault){.status = CLP_IO, .os_error = EPERM, .reason = reason};
    return CLP_IO;
}

/* Reads a symbolic link and its owner. Returns the length of the text, not ended by 0; -1: no link. */
static ssize_t read_link(const char *path, char text[PATH_MAX], uid_t *owner)
{
    int file = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    struct stat about;
    ssize_t bytes = -1;

    if (file >= 0 && fstat(file, &about) == 0 && S_ISLNK(about.st_mode)) {
        *owner = about.st_uid;
        bytes = readlinkat(file, "", text, PATH_MAX - 1);
    }
    if (file >= 0)
        close(file);
    return bytes;
}

/* Follows symbolic links at the end of the path, so that the link stays and its target is replaced. Unlike
 * realpath it also follows a link whose target does not exist yet. Refuses another user's link, which could
 * name any file of ours. */
static clp_status follow_links(char *path, struct clp_fault *fault)
{
    char link[PATH_MAX];
    uid_t owner = 0;

    for (int i = 0; i < LINKS_AT_MOST; i++) {
        ssize_t bytes = is_descriptor(path) ? -1 : read_link(path, link, &owner);
        if (bytes < 0)
            return CLP_OK; /* no link; whatever else is wrong shows at the next step */
        if (!is_trusted(owner))
            return refuse_foreign(fault, "it is another user's symbolic link");
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
    if (path[0] == 0)
        return refuse(fault, CLP_IO, ENOENT);
    if (follow_links(place->path, fault) != CLP_OK)
        return CLP_IO;
    bool is_open = place->exists && is_descriptor(place->path);
    if (place->exists && S_ISFIFO(about.st_mode) && !is_open && !is_trusted(about.st_uid))
        return refuse_foreign(fault, "it is another user's pipe");
    place->in_place |= is_open;
    return CLP_OK;
}

/* ---- writing ---- */

bool clp_file_put(int fd, const char *bytes, size_t count)
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

/* Closes the file. Returns whether that and what came before (`good`) succeeded; errno is the first error. */
static bool close_after(int fd, bool good)
{
    int before = errno;

    if (close(fd) != 0 && good)
        return false;
    errno = before;
    return good;
}

/* Six letters that are probably unused; O_EXCL catches the case that they are not. */
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
        fd = clp_file_open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
        if (fd >= 0 || errno != EEXIST)
            break;
    }
    return fd;
}

#define LETTERS "XXXXXX"
#define PREFIX_ROOM 32

/* ".clineprof-1f3a9c2b-": the names of all temporary files of one path begin like this. The hash keeps them
 * short enough for any file system. */
static void name_prefix(const char *path, char prefix[PREFIX_ROOM])
{
    const char *name = path + folder_bytes(path);

    (void)snprintf(prefix, PREFIX_ROOM, ".clineprof-%08x-", (unsigned)clp_hash_text(0, name, strlen(name)));
}

/* Locks a new file. False: clp_file_clean in another process found it before it was locked, and removes it. */
static bool keep(int fd)
{
    struct stat about;
    bool free_for_us = clp_filelock_take(fd) || !clp_filelock_is_held(fd);

    return free_for_us && fstat(fd, &about) == 0 && about.st_nlink != 0;
}

/* Opens a temporary file in the folder of `path`; its path goes to `temporary`. It is locked, so that
 * clp_file_clean leaves it. */
static int open_beside(const char *path, unsigned rights, char *temporary, struct clp_fault *fault)
{
    char name[PREFIX_ROOM + sizeof LETTERS];

    name_prefix(path, name);
    (void)strcat(name, LETTERS);
    if (join(temporary, path, folder_bytes(path), name, fault) != CLP_OK)
        return -1;
    char *letters = temporary + strlen(temporary) - strlen(LETTERS);
    int fd = open_fresh(temporary, letters, rights);
    for (int again = 0; again < 10 && fd >= 0 && !keep(fd); again++) {
        close(fd);
        fd = open_fresh(temporary, letters, rights);
    }
    if (fd < 0)
        refuse_io(fault);
    return fd;
}

/* A failed fsync means lost data, except where the file system has none, or a sandbox refuses the call. */
static bool sync_file(int fd)
{
    return fsync(fd) == 0 || errno == EINVAL || errno == ENOSYS || errno == EPERM;
}

void clp_file_limit_group(int fd, unsigned rights)
{
    const mode_t allowed = 0707 | (rights & 0007) << 3;
    struct stat about;

    if (fstat(fd, &about) == 0 && about.st_gid != getegid() && (about.st_mode & 0777 & ~allowed) != 0)
        (void)fchmod(fd, about.st_mode & 0777 & allowed);
}

/* The file that is replaced may have had fewer rights. */
static bool limit_rights(const struct place *place, unsigned rights, int fd)
{
    struct stat about;

    clp_file_limit_group(fd, rights);
    return !place->exists ||
           (fstat(fd, &about) == 0 && fchmod(fd, about.st_mode & 0777 & place->mode) == 0);
}

static clp_status replace(const struct place *place, const struct clp_file_writer *writer,
                          struct clp_fault *fault)
{
    char temporary[PATH_MAX];
    int fd = open_beside(place->path, writer->rights, temporary, fault);

    if (fd < 0)
        return CLP_IO;
    bool good = limit_rights(place, writer->rights, fd) && writer->put(writer->data, fd) && sync_file(fd);
    /* renamed before it is closed: closing ends the lock, and clp_file_clean removes files without one */
    good = good && rename(temporary, place->path) == 0;
    if (close_after(fd, good))
        return CLP_OK;
    refuse_io(fault);
    unlink(temporary);
    return CLP_IO;
}

/* Without O_NONBLOCK opening a pipe would wait until somebody reads it, which may be never. */
static int open_in_place(const char *path)
{
    int fd = clp_file_open(path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0);
    int flags = fd >= 0 ? fcntl(fd, F_GETFL) : -1;

    if (flags >= 0)
        (void)fcntl(fd, F_SETFL, flags & ~O_NONBLOCK);
    return fd;
}

static clp_status write_in_place(const char *path, const struct clp_file_writer *writer,
                                 struct clp_fault *fault)
{
    int fd = open_in_place(path);

    if (fd < 0) {
        refuse_io(fault);
        if (fault->os_error == ENXIO)
            fault->reason = "nobody reads it";
        return CLP_IO;
    }
    if (!close_after(fd, writer->put(writer->data, fd)))
        return refuse_io(fault);
    return CLP_OK;
}

clp_status clp_file_write_by(const char *path, const struct clp_file_writer *writer,
                             struct clp_fault *fault)
{
    struct place place;

    if (find_place(path, &place, fault) != CLP_OK)
        return CLP_IO;
    return place.in_place ? write_in_place(path, writer, fault) : replace(&place, writer, fault);
}

static bool put_content(void *data, int fd)
{
    const struct clp_file_content *content = data;

    return clp_file_put(fd, content->bytes, content->count);
}

clp_status clp_file_write(const char *path, const struct clp_file_content *content,
                          struct clp_fault *fault)
{
    struct clp_file_content copy = *content;

    return clp_file_write_by(path, &(struct clp_file_writer){put_content, &copy, content->rights},
                             fault);
}

unsigned clp_file_rights(const char *path)
{
    struct stat about;
    unsigned others;

    if (path == NULL || stat(path, &about) != 0 || !S_ISREG(about.st_mode))
        return CLP_FILE_PRIVATE;
    others = about.st_mode & 0006;
    return CLP_FILE_PRIVATE | (about.st_gid == getegid() ? about.st_mode & 0060 : others << 3) | others;
}

/* ---- what killed writers have left ---- */

/* Removes the file while it is locked, so that a writer who has just made it sees in keep() that it is gone. */
static void remove_left(int folder, const char *name)
{
    int fd = openat(folder, name, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK);
    struct stat about;

    if (fd < 0)
        return;
    if (fstat(fd, &about) == 0 && S_ISREG(about.st_mode) && about.st_uid == geteuid() &&
        clp_filelock_take(fd))
        (void)unlinkat(folder, name, 0);
    close(fd);
}

static void clean_folder(DIR *entries, const char *prefix)
{
    const size_t bytes = strlen(prefix);
    struct dirent *entry;

    while ((entry = readdir(entries)) != NULL)
        if (strncmp(entry->d_name, prefix, bytes) == 0 &&
            strlen(entry->d_name) == bytes + strlen(LETTERS))
            remove_left(dirfd(entries), entry->d_name);
}

void clp_file_clean(const char *path)
{
    char prefix[PREFIX_ROOM], folder[PATH_MAX];
    struct clp_fault fault;
    struct place place;

    if (find_place(path, &place, &fault) != CLP_OK || place.in_place)
        return;
    size_t bytes = folder_bytes(place.path);
    (void)snprintf(folder, sizeof folder, "%.*s", bytes != 0 ? (int)bytes : 1, bytes != 0 ? place.path : ".");
    DIR *entries = opendir(folder);
    if (entries == NULL)
        return;
    name_prefix(place.path, prefix);
    clean_folder(entries, prefix);
    closedir(entries);
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
    int fd = open_beside(place.path, CLP_FILE_PRIVATE, temporary, fault);
    if (fd < 0)
        return CLP_IO;
    close(fd);
    unlink(temporary);
    return CLP_OK;
}

/* ---- a last resort ---- */

static int open_temporary(const char *folder, const char *name, char *path)
{
    int bytes = snprintf(path, PATH_MAX, "%s/%s", folder, name);

    if (bytes < 0 || bytes >= PATH_MAX) {
        errno = ENAMETOOLONG;
        return -1;
    }
    return open_fresh(path, path + bytes - strlen(strstr(name, "XXXXXX")), CLP_FILE_PRIVATE);
}

const char *clp_file_temporary_folder(int number)
{
    const char *chosen = getenv("TMPDIR");

    if (chosen == NULL || chosen[0] != '/') /* a relative path would name another folder when the program leaves its own */
        number++;
    return number == 0 ? chosen : number == 1 ? CLP_FILE_TEMPORARY : NULL;
}

bool clp_file_may_go_elsewhere(int os_error)
{
    static const int errors[] = {EROFS, EACCES, EPERM, ENOSPC, EDQUOT};

    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (os_error == errors[i])
            return true;
    return false;
}

/* Writes the bytes to a new file in the folder; its path goes to `path`. On failure no file is left. */
static clp_status write_into(const char *folder, const char *name, const struct clp_file_content *content,
                             char path[PATH_MAX], struct clp_fault *fault)
{
    int fd = open_temporary(folder, name, path);

    if (fd < 0)
        return refuse_io(fault);
    if (close_after(fd, clp_file_put(fd, content->bytes, content->count)))
        return CLP_OK;
    refuse_io(fault);
    unlink(path);
    return CLP_IO;
}

clp_status clp_file_write_temporary(const char *name, const char *bytes, size_t count,
                                    struct clp_buf *path_out, struct clp_fault *fault)
{
    const struct clp_file_content content = {bytes, count, CLP_FILE_PRIVATE};
    clp_status status = CLP_IO;
    char path[PATH_MAX];
    const char *folder;

    for (int i = 0; status != CLP_OK && (folder = clp_file_temporary_folder(i)) != NULL; i++)
        status = write_into(folder, name, &content, path, fault);
    if (status != CLP_OK)
        return status;
    *fault = (struct clp_fault){.status = CLP_OK};
    clp_buf_add_text(path_out, path);
    if (path_out->failed) {
        unlink(path); /* nobody would know its name */
        return refuse(fault, CLP_NO_MEMORY, 0);
    }
    return CLP_OK;
}
