/* SPDX-License-Identifier: MIT */
#include "pages.h"
#include "file.h"
#include "filelock.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static size_t page_bytes(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

static void *no_map(void *block)
{
    return block == MAP_FAILED ? NULL : block;
}

static void *map_memory(size_t size, int more)
{
    return no_map(mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | more, -1,
                       0));
}

/* ---- a file ---- */

/* Growing a file beyond the limit raises SIGXFSZ, which may kill the process. */
static bool is_beyond_limit(uint64_t bytes)
{
    struct rlimit limit;

    return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
           bytes > limit.rlim_cur;
}

/* 0 or errno. */
static int allocate(int file, uint64_t start, size_t size)
{
    int error;

    if (is_beyond_limit(start + size))
        return EFBIG;
    do
        error = posix_fallocate(file, (off_t)start, (off_t)size);
    while (error == EINTR);
    return error;
}

/* Opens the file again. Returns -1 and errno; ESTALE: the program has put another file in its place. */
static int reopen(const struct clp_pages *pages)
{
    int file = clp_file_open(pages->path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK, 0);
    struct stat about;

    if (file < 0)
        return -1;
    if (fstat(file, &about) == 0 && about.st_dev == pages->device && about.st_ino == pages->inode)
        return file;
    close(file);
    errno = ESTALE;
    return -1;
}

/* Populating a shared mapping only reads it: the first write to each page would still take a page fault, in
 * the program's time. */
static void touch(char *block, size_t size)
{
    for (size_t at = 0; at < size; at += page_bytes())
        *(volatile char *)(block + at) = 0;
}

/* Closes the descriptor that has made the file and locked it. */
static void close_begun(struct clp_pages *pages)
{
    if (pages->begun != 0)
        close(pages->begun - 1);
    pages->begun = 0;
}

/* Notes whether the lock lasts after its descriptor is closed. It does not on an overlay file system, which
 * maps another file, so that the mapping does not keep the lock. */
static void check_lock(struct clp_pages *pages)
{
    int file = reopen(pages);

    pages->locked = file >= 0 && clp_filelock_is_held(file);
    if (file >= 0)
        close(file);
}

static void *map_at_end(struct clp_pages *pages, size_t size)
{
    bool first = pages->begun != 0;
    int file = first ? pages->begun - 1 : reopen(pages);
    void *block = NULL;

    if (file < 0)
        return NULL;
    int error = allocate(file, pages->file_bytes, size);
    if (error == 0) {
        block = no_map(mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, file,
                            (off_t)pages->file_bytes));
        error = errno;
    }
    close(file);
    pages->begun = 0;
    if (first)
        check_lock(pages);
    errno = error;
    return block;
}

static size_t count_pieces(const struct clp_pages *pages)
{
    return pages->piece_count + pages->left_count;
}

/* Puts a piece behind the others. It counts only when piece_count or left_count does. */
static bool put_piece(struct clp_pages *pages, struct clp_piece piece)
{
    void *pieces = pages->pieces;

    if (count_pieces(pages) == pages->piece_room) {
        if (clp_mem_grow(pages->mem, &pieces, &pages->piece_room, pages->piece_room * 2 + 16,
                         sizeof *pages->pieces) != CLP_OK)
            return false;
        pages->pieces = pieces;
    }
    pages->pieces[count_pieces(pages)] = piece;
    return true;
}

static bool add_piece(struct clp_pages *pages, void *block, size_t size)
{
    void *twin = map_memory(size, MAP_NORESERVE);

    if (twin == NULL)
        return false;
    if (put_piece(pages, (struct clp_piece){block, twin, size})) {
        pages->piece_count++;
        return true;
    }
    munmap(twin, size);
    return false;
}

static void leave_file(struct clp_pages *pages, int error)
{
    close_begun(pages);
    clp_mem_free_text(pages->mem, pages->path);
    pages->path = NULL;
    pages->error = error;
}

/* Maps the next `size` bytes of the file. NULL: it cannot grow, and is given up for good. */
static void *map_piece(struct clp_pages *pages, size_t size)
{
    int kept = errno; /* the program's errno is not ours to change */
    char *block = map_at_end(pages, size);

    if (block != NULL && !add_piece(pages, block, size)) {
        munmap(block, size);
        block = NULL;
        errno = ENOMEM;
    }
    if (block == NULL) {
        if (pages->full != NULL)
            *pages->full = 1;
        leave_file(pages, errno);
    } else {
        pages->file_bytes += size;
        pages->filed += size;
        touch(block, size);
        if (pages->size != NULL)
            __atomic_store_n(pages->size, clp_pages_size(pages), __ATOMIC_RELEASE);
    }
    errno = kept;
    return block;
}

static clp_status make_file(struct clp_pages *pages, const char *path, struct clp_fault *fault)
{
    unsigned rights = pages->rights != 0 ? pages->rights : CLP_FILE_PRIVATE;
    int file = clp_file_open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, rights);
    struct stat about;

    if (file < 0 || fstat(file, &about) != 0) {
        *fault = (struct clp_fault){.status = CLP_IO, .os_error = errno};
        if (file >= 0)
            close(file);
        return CLP_IO;
    }
    clp_file_limit_group(file, rights);
    (void)clp_filelock_take(file); /* whether it worked, check_lock finds out */
    pages->begun = file + 1;
    pages->device = about.st_dev;
    pages->inode = about.st_ino;
    pages->file_bytes = 0;
    pages->error = 0;
    return CLP_OK;
}

void clp_pages_unmap_foreign(void *page)
{
    munmap(page, 1); /* the system unmaps whole pages */
}

clp_status clp_pages_open(struct clp_pages *pages, struct clp_mem *mem, const char *path,
                          struct clp_fault *fault)
{
    char *copy = clp_mem_copy_text(mem, path, strlen(path));

    if (copy == NULL) {
        *fault = (struct clp_fault){.status = CLP_NO_MEMORY};
        return CLP_NO_MEMORY;
    }
    clp_status status = make_file(pages, path, fault);
    if (status != CLP_OK) {
        clp_mem_free_text(mem, copy);
        return status;
    }
    pages->mem = mem;
    pages->path = copy;
    return CLP_OK;
}

void clp_pages_remove(const struct clp_pages *pages, const char *path)
{
    struct stat about;

    if (lstat(path, &about) == 0 && about.st_dev == pages->device && about.st_ino == pages->inode)
        unlink(path);
}

uint32_t clp_pages_size(const struct clp_pages *pages)
{
    return (uint32_t)(pages->file_bytes / CLP_PAGES_BLOCK);
}

bool clp_pages_in_file(const struct clp_pages *pages)
{
    return pages->path != NULL || pages->left_count != 0;
}

static void forget_piece(struct clp_pages *pages, const void *block)
{
    for (size_t i = 0; i < count_pieces(pages); i++) {
        struct clp_piece *piece = &pages->pieces[i];
        if (piece->address != block)
            continue;
        if (i < pages->piece_count) {
            munmap(piece->twin, piece->bytes);
            pages->filed -= piece->bytes;
            pages->piece_count--;
        } else {
            pages->left_count--;
        }
        memmove(piece, piece + 1, (count_pieces(pages) - i) * sizeof *piece);
        return;
    }
}

static void replace_by_twin(const struct clp_piece *piece)
{
    void *moved = mremap(piece->twin, piece->bytes, piece->bytes, MREMAP_MAYMOVE | MREMAP_FIXED,
                         piece->address);

    if (moved != MAP_FAILED)
        return;
    moved = mmap(piece->address, piece->bytes, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    if (moved != MAP_FAILED)
        memcpy(piece->address, piece->twin, piece->bytes);
}

bool clp_pages_adopt(struct clp_pages *pages, void *block, size_t mapped)
{
    void *piece = pages->path != NULL ? map_piece(pages, mapped) : NULL;

    if (piece == NULL)
        return false;
    memcpy(piece, block, mapped);
    if (mremap(piece, mapped, mapped, MREMAP_MAYMOVE | MREMAP_FIXED, block) != MAP_FAILED) {
        pages->pieces[pages->piece_count - 1].address = block;
        return true;
    }
    leave_file(pages, errno);
    forget_piece(pages, piece);
    munmap(piece, mapped);
    return false;
}

void clp_pages_close(struct clp_pages *pages)
{
    for (size_t i = 0; i < pages->piece_count; i++) {
        memcpy(pages->pieces[i].twin, pages->pieces[i].address, pages->pieces[i].bytes);
        replace_by_twin(&pages->pieces[i]);
    }
    clp_mem_free(pages->mem, pages->pieces, pages->piece_room, sizeof *pages->pieces);
    pages->pieces = NULL;
    pages->piece_count = pages->piece_room = pages->left_count = 0;
    pages->filed = 0;
    pages->full = pages->size = NULL;
    leave_file(pages, pages->error);
}

/* ---- memory ---- */

struct clp_kept {
    struct clp_kept *next;
    size_t mapped;
};

static void keep(struct clp_pages *pages, void *block, size_t mapped)
{
    struct clp_kept *kept = block;

    *kept = (struct clp_kept){pages->kept, mapped};
    pages->kept = kept;
}

static void *take_kept(struct clp_pages *pages, size_t size)
{
    for (struct clp_kept **link = &pages->kept; *link != NULL; link = &(*link)->next) {
        struct clp_kept *kept = *link;
        if (kept->mapped != size)
            continue;
        *link = kept->next;
        return memset(kept, 0, size);
    }
    return NULL;
}

/* Maps memory that is in no file. In the child of a fork it will be in the file that the child gets. */
static void *map_outside(struct clp_pages *pages, size_t size)
{
    void *block = map_memory(size, MAP_POPULATE);

    if (block == NULL || pages->left_count == 0)
        return block;
    if (put_piece(pages, (struct clp_piece){block, NULL, size})) {
        pages->left_count++;
        return block;
    }
    munmap(block, size);
    return NULL;
}

void *clp_pages_map(struct clp_pages *pages, size_t bytes, size_t *mapped)
{
    size_t page = page_bytes();
    void *block = NULL;

    if (bytes > SIZE_MAX - page)
        return NULL;
    size_t size = (bytes + page - 1) / page * page;
    if ((block = take_kept(pages, size)) != NULL) {
        *mapped = size;
        return block;
    }
    if (pages->path != NULL)
        block = map_piece(pages, size);
    if (block == NULL)
        block = map_outside(pages, size);
    if (block == NULL)
        return NULL;
    __atomic_fetch_add(&pages->bytes, size, __ATOMIC_RELAXED);
    *mapped = size;
    return block;
}

void clp_pages_unmap(struct clp_pages *pages, void *block, size_t mapped)
{
    if (pages->keeps) {
        keep(pages, block, mapped);
        return;
    }
    forget_piece(pages, block);
    munmap(block, mapped);
    __atomic_fetch_sub(&pages->bytes, mapped, __ATOMIC_RELAXED);
}

/* ---- around a fork ---- */

void clp_pages_fork_prepare(struct clp_pages *pages)
{
    for (size_t i = 0; i < pages->piece_count; i++)
        memcpy(pages->pieces[i].twin, pages->pieces[i].address, pages->pieces[i].bytes);
}

void clp_pages_fork_parent(struct clp_pages *pages)
{
    int kept = errno;

    for (size_t i = 0; i < pages->piece_count; i++)
        madvise(pages->pieces[i].twin, pages->pieces[i].bytes, MADV_DONTNEED);
    errno = kept;
}

void clp_pages_fork_child(struct clp_pages *pages)
{
    int kept = errno;

    for (size_t i = 0; i < pages->piece_count; i++)
        replace_by_twin(&pages->pieces[i]);
    pages->filed = 0;
    pages->left_count += pages->piece_count;
    pages->piece_count = 0;
    pages->path = NULL; /* not freed: the parent's allocator may have been locked during the fork */
    errno = kept;
}

static int write_all(int file, const char *bytes, size_t count, uint64_t at)
{
    while (count != 0) {
        ssize_t done = pwrite(file, bytes, count, (off_t)at);
        if (done < 0 && errno != EINTR)
            return errno;
        if (done > 0) {
            bytes += done;
            count -= (size_t)done;
            at += (uint64_t)done;
        }
    }
    return 0;
}

static uint64_t bytes_left(const struct clp_pages *pages)
{
    uint64_t bytes = 0;

    for (size_t i = 0; i < pages->left_count; i++)
        bytes += pages->pieces[i].bytes;
    return bytes;
}

/* Writes the pieces' bytes, one behind the other. 0 or errno. */
static int fill_file(const struct clp_pages *pages, int file)
{
    uint64_t at = 0;
    int error = allocate(file, 0, bytes_left(pages));

    for (size_t i = 0; i < pages->left_count && error == 0; i++) {
        error = write_all(file, pages->pieces[i].address, pages->pieces[i].bytes, at);
        at += pages->pieces[i].bytes;
    }
    return error;
}

/* Writes to each page, so that no page fault falls into the program's time later. */
static void touch_again(char *block, size_t size)
{
    for (size_t at = 0; at < size; at += page_bytes())
        *(volatile char *)(block + at) = *(volatile char *)(block + at);
}

/* Maps the pieces that a fork left. 0 or errno: one could not be mapped, and stays in memory with those behind it. */
static int map_pieces(struct clp_pages *pages, int file)
{
    for (; pages->left_count != 0; pages->left_count--, pages->piece_count++) {
        struct clp_piece *piece = &pages->pieces[pages->piece_count];
        void *twin = map_memory(piece->bytes, MAP_NORESERVE);
        if (twin == NULL)
            return errno;
        if (mmap(piece->address, piece->bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | MAP_POPULATE,
                 file, (off_t)pages->file_bytes) == MAP_FAILED) {
            int error = errno;
            munmap(twin, piece->bytes);
            return error;
        }
        touch_again(piece->address, piece->bytes);
        piece->twin = twin;
        pages->filed += piece->bytes;
        pages->file_bytes += piece->bytes;
    }
    return 0;
}

clp_status clp_pages_fork_file(struct clp_pages *pages, const char *path, struct clp_fault *fault)
{
    clp_status status = clp_pages_open(pages, pages->mem, path, fault);

    if (status != CLP_OK)
        return status;
    int file = pages->begun - 1, error = fill_file(pages, file);
    if (error == 0)
        error = map_pieces(pages, file);
    close_begun(pages);
    check_lock(pages);
    if (error == 0)
        return CLP_OK;
    clp_pages_remove(pages, path);
    leave_file(pages, error);
    *fault = (struct clp_fault){.status = CLP_IO, .os_error = error};
    return CLP_IO;
}
