/* Notes every call that changes files below a folder, in order, with what it writes; or kills the process at one of them.

   Preloaded into Python (LD_PRELOAD). Nothing is noted before `crash_begin` is called, or where a process is started
   with CRASH_ROOT and CRASH_TRACE set. `trace.py` reads what is noted. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#undef open
#undef open64
#undef openat
#undef openat64
#undef creat
#undef creat64

struct header {
    char op, flag, pad[6];
    uint64_t inode, offset, size;
    uint32_t first, second;
};

static pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static char root[PATH_MAX];
static size_t root_length;
static int trace = -1, told = -1, answered = -1;
static long count, deadline = -1;
static __thread int inside;

#define REAL(name) \
    static __typeof__(name) *real; \
    if (!real) real = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)

void crash_begin(const char *folder, const char *file, long die_at, int tell, int answer) {
    inside = 1;
    snprintf(root, sizeof root, "%s", folder);
    root_length = strlen(root);
    trace = open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    count = 0, deadline = die_at, told = tell, answered = answer;
    setenv("CRASH_ROOT", folder, 1);
    setenv("CRASH_TRACE", file, 1);
    inside = 0;
}

__attribute__((constructor)) static void started(void) {
    const char *folder = getenv("CRASH_ROOT"), *file = getenv("CRASH_TRACE");
    if (folder && file) crash_begin(folder, file, -1, -1, -1);
}

static int ours(const char *path) {
    return !strncmp(path, root, root_length) && (path[root_length] == '/' || !path[root_length]);
}

/* The absolute path of a name in a folder; whether it lies below the root. */
static int absolute(int folder, const char *name, char *out) {
    char base[PATH_MAX] = "";
    if (trace < 0 || inside || !name) return 0;
    if (name[0] != '/') {
        if (folder == AT_FDCWD) {
            if (!getcwd(base, sizeof base)) return 0;
        } else {
            char link[64];
            snprintf(link, sizeof link, "/proc/self/fd/%d", folder);
            ssize_t size = readlink(link, base, sizeof base - 1);
            if (size < 0) return 0;
            base[size] = 0;
        }
        strcat(base, "/");
    }
    if (snprintf(out, PATH_MAX, "%s%s", base, name) >= PATH_MAX) return 0;
    return ours(out);
}

/* Whether a descriptor is of a file or folder below the root; its inode. */
static int regular(int fd, uint64_t *inode) {
    char link[64], path[PATH_MAX];
    struct stat found;
    if (trace < 0 || inside || fstat(fd, &found) || !(S_ISREG(found.st_mode) || S_ISDIR(found.st_mode))) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t size = readlink(link, path, sizeof path - 1);
    if (size < 0) return 0;
    path[size] = 0;
    *inode = found.st_ino;
    return ours(path);
}

static void note(char op, char flag, uint64_t inode, uint64_t offset, const void *data, uint64_t size, const char *first,
                 const char *second) {
    struct header head = {op, flag, {0}, inode, offset, size, first ? strlen(first) : 0, second ? strlen(second) : 0};
    struct iovec parts[4] = {{&head, sizeof head},
                             {(void *)first, head.first},
                             {(void *)second, head.second},
                             {(void *)data, size}};
    inside = 1;
    if (writev(trace, parts, 4) < 0) abort();
    inside = 0;
}

/* Before a call that counts: here the process dies, if it is to. */
static void reach(void) {
    if (count++ == deadline) kill(getpid(), SIGKILL), pause();
}

static void enter(void) { pthread_mutex_lock(&lock); }
static void leave(void) {
    int before = errno;
    pthread_mutex_unlock(&lock);
    errno = before;
}

/* What now stands in a file where something was written. */
static void note_written(int fd, uint64_t inode, off_t offset, size_t size) {
    char link[64], *data = malloc(size ? size : 1);
    int before = errno;
    inside = 1;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    int again = open(link, O_RDONLY | O_CLOEXEC);
    size_t have = 0;
    while (again >= 0 && have < size) {
        ssize_t more = pread(again, data + have, size - have, offset + have);
        if (more <= 0) abort();
        have += more;
    }
    if (again < 0) abort();
    close(again);
    inside = 0;
    note('w', 0, inode, offset, data, size, NULL, NULL);
    free(data);
    errno = before;
}

/* --- opening ----------------------------------------------------------------------------------------------------- */

#define OPENING(NAME, PARAMETERS, FOLDER, ARGUMENTS) \
    int NAME PARAMETERS { \
        REAL(NAME); \
        mode_t mode = 0; \
        if (flags & (O_CREAT | O_TMPFILE)) { \
            va_list more; \
            va_start(more, flags); \
            mode = va_arg(more, mode_t); \
            va_end(more); \
        } \
        char path[PATH_MAX]; \
        if (!absolute(FOLDER, name, path) || !(flags & (O_CREAT | O_TRUNC))) return real ARGUMENTS; \
        enter(); \
        struct stat found; \
        int there = !lstat(path, &found); \
        if (!there || (flags & O_TRUNC)) reach(); \
        int fd = real ARGUMENTS; \
        if (fd >= 0 && (!there || (flags & O_TRUNC)) && !fstat(fd, &found)) \
            note('o', there ? 't' : 'c', found.st_ino, 0, NULL, 0, path, NULL); \
        leave(); \
        return fd; \
    }

OPENING(open, (const char *name, int flags, ...), AT_FDCWD, (name, flags, mode))
OPENING(open64, (const char *name, int flags, ...), AT_FDCWD, (name, flags, mode))
OPENING(openat, (int folder, const char *name, int flags, ...), folder, (folder, name, flags, mode))
OPENING(openat64, (int folder, const char *name, int flags, ...), folder, (folder, name, flags, mode))
int creat(const char *name, mode_t mode) { return open(name, O_CREAT | O_WRONLY | O_TRUNC, mode); }
int creat64(const char *name, mode_t mode) { return open(name, O_CREAT | O_WRONLY | O_TRUNC, mode); }

/* --- writing ----------------------------------------------------------------------------------------------------- */

#define WRITING(NAME, PARAMETERS, ARGUMENTS, OFFSET) \
    ssize_t NAME PARAMETERS { \
        REAL(NAME); \
        uint64_t inode; \
        if (!regular(fd, &inode)) return real ARGUMENTS; \
        enter(); \
        reach(); \
        ssize_t done = real ARGUMENTS; \
        if (done > 0) note_written(fd, inode, OFFSET, done); \
        leave(); \
        return done; \
    }

#define HERE (lseek(fd, 0, SEEK_CUR) - done)
WRITING(write, (int fd, const void *data, size_t size), (fd, data, size), HERE)
WRITING(writev, (int fd, const struct iovec *parts, int number), (fd, parts, number), HERE)
WRITING(pwrite, (int fd, const void *data, size_t size, off_t at), (fd, data, size, at), at)
WRITING(pwrite64, (int fd, const void *data, size_t size, off64_t at), (fd, data, size, at), at)
WRITING(pwritev, (int fd, const struct iovec *parts, int number, off_t at), (fd, parts, number, at), at)
WRITING(pwritev64, (int fd, const struct iovec *parts, int number, off64_t at), (fd, parts, number, at), at)
WRITING(sendfile, (int fd, int from, off_t *at, size_t size), (fd, from, at, size), HERE)
WRITING(sendfile64, (int fd, int from, off64_t *at, size_t size), (fd, from, at, size), HERE)

ssize_t copy_file_range(int from, off64_t *at, int fd, off64_t *to, size_t size, unsigned flags) {
    REAL(copy_file_range);
    uint64_t inode;
    if (!regular(fd, &inode)) return real(from, at, fd, to, size, flags);
    enter();
    reach();
    ssize_t done = real(from, at, fd, to, size, flags);
    if (done > 0) note_written(fd, inode, to ? *to - done : HERE, done);
    leave();
    return done;
}

/* --- calls by descriptor ----------------------------------------------------------------------------------------- */

#define BY_DESCRIPTOR(NAME, PARAMETERS, ARGUMENTS, OP, SIZE) \
    int NAME PARAMETERS { \
        REAL(NAME); \
        uint64_t inode; \
        if (!regular(fd, &inode)) return real ARGUMENTS; \
        enter(); \
        reach(); \
        int done = real ARGUMENTS; \
        if (!done) note(OP, 0, inode, SIZE, NULL, 0, NULL, NULL); \
        leave(); \
        return done; \
    }

BY_DESCRIPTOR(ftruncate, (int fd, off_t size), (fd, size), 't', size)
BY_DESCRIPTOR(ftruncate64, (int fd, off64_t size), (fd, size), 't', size)
BY_DESCRIPTOR(posix_fallocate, (int fd, off_t at, off_t size), (fd, at, size), 'e', at + size)
BY_DESCRIPTOR(posix_fallocate64, (int fd, off64_t at, off64_t size), (fd, at, size), 'e', at + size)
BY_DESCRIPTOR(fsync, (int fd), (fd), 's', 0)
BY_DESCRIPTOR(fdatasync, (int fd), (fd), 's', 0)

/* --- calls by name ----------------------------------------------------------------------------------------------- */

#define BY_NAME(NAME, PARAMETERS, ARGUMENTS, OP, FOLDER, PATH) \
    int NAME PARAMETERS { \
        REAL(NAME); \
        char path[PATH_MAX]; \
        if (!absolute(FOLDER, PATH, path)) return real ARGUMENTS; \
        enter(); \
        reach(); \
        int done = real ARGUMENTS; \
        struct stat found = {0}; \
        if (!done) lstat(path, &found), note(OP, 0, found.st_ino, 0, NULL, 0, path, NULL); \
        leave(); \
        return done; \
    }

BY_NAME(unlink, (const char *name), (name), 'u', AT_FDCWD, name)
BY_NAME(unlinkat, (int folder, const char *name, int flags), (folder, name, flags), 'u', folder, name)
BY_NAME(rmdir, (const char *name), (name), 'u', AT_FDCWD, name)
BY_NAME(mkdir, (const char *name, mode_t mode), (name, mode), 'm', AT_FDCWD, name)
BY_NAME(mkdirat, (int folder, const char *name, mode_t mode), (folder, name, mode), 'm', folder, name)

#define BY_TWO_NAMES(NAME, PARAMETERS, ARGUMENTS, OP, FROM, TO) \
    int NAME PARAMETERS { \
        REAL(NAME); \
        char before[PATH_MAX], after[PATH_MAX]; \
        int left = absolute(FROM, old, before), come = absolute(TO, new, after); \
        if (!left && !come) return real ARGUMENTS; \
        enter(); \
        reach(); \
        int done = real ARGUMENTS; \
        struct stat found = {0}; \
        if (!done) lstat(after, &found), note(OP, 0, found.st_ino, 0, NULL, 0, before, after); \
        leave(); \
        return done; \
    }

BY_TWO_NAMES(rename, (const char *old, const char *new), (old, new), 'r', AT_FDCWD, AT_FDCWD)
BY_TWO_NAMES(renameat, (int from, const char *old, int to, const char *new), (from, old, to, new), 'r', from, to)
BY_TWO_NAMES(renameat2, (int from, const char *old, int to, const char *new, unsigned flags), (from, old, to, new, flags),
             'r', from, to)
BY_TWO_NAMES(link, (const char *old, const char *new), (old, new), 'l', AT_FDCWD, AT_FDCWD)
BY_TWO_NAMES(linkat, (int from, const char *old, int to, const char *new, int flags), (from, old, to, new, flags), 'l',
             from, to)

/* --- a database's server ----------------------------------------------------------------------------------------- */

/* Before a transaction ends at a server, and after it, are two states; whoever recorded this looks at the second. */
ssize_t send(int fd, const void *data, size_t size, int flags) {
    REAL(send);
    if (trace < 0 || inside || !memmem(data, size, "COMMIT", 6)) return real(fd, data, size, flags);
    enter();
    reach();
    ssize_t done = real(fd, data, size, flags);
    note('c', 0, 0, 0, NULL, 0, NULL, NULL);
    if (told >= 0) {
        char answer = 'c';
        inside = 1;
        if (write(told, &answer, 1) != 1 || read(answered, &answer, 1) != 1) abort();
        inside = 0;
    }
    leave();
    return done;
}
