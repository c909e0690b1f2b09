/* Stands before the C library as a disk that fails: of the writes, syncs and truncations of the files whose paths begin
 * with FAULTY_FILES, those numbered FAULTY_FROM to FAULTY_FROM + FAULTY_TIMES - 1 fail with FAULTY_ERRNO.
 * FAULTY_SHADOW is a directory with what a power cut would leave: a file there changes when a sync succeeds, or, by
 * chance, with single writes before. A sync that fails drops what was written since the last one, as Linux does: it stays
 * readable and never reaches the disk. FAULTY_SHADOW/count holds the number of operations so far, 8 octets.
 * Bun writes by system calls of its own, which do not pass here. The time of a file that nobody has open is set to 0, so
 * that its next opening shows whether it was written meanwhile: what it holds then was synced too, and is on the disk. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

enum { FILES = 64, DESCRIPTORS = 65536 };

/* What waits for a sync; a length of -1 is a truncation to `offset`. */
struct change { off_t offset; ssize_t length; struct change *next; char bytes[]; };
struct file { char path[PATH_MAX]; struct change *first, **last; };

static struct file files[FILES];
static unsigned char of[DESCRIPTORS]; /* index + 1 */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const char *prefix, *shadow;
static uint64_t *count, from, times;
static int fault;
static unsigned seed;

#define REAL(name) ((__typeof__(&name))real(#name))
static void *real(const char *name) {
  return dlsym(RTLD_NEXT, name);
}

__attribute__((constructor)) static void start(void) {
  prefix = getenv("FAULTY_FILES");
  shadow = getenv("FAULTY_SHADOW");
  if (prefix == NULL || shadow == NULL) return;
  const char *text = getenv("FAULTY_FROM");
  from = text ? strtoull(text, NULL, 10) : 0;
  text = getenv("FAULTY_TIMES");
  times = text ? strtoull(text, NULL, 10) : 1;
  text = getenv("FAULTY_ERRNO");
  fault = text ? atoi(text) : EIO;
  text = getenv("FAULTY_SEED");
  seed = text ? (unsigned)atoi(text) : 1;
  char path[PATH_MAX];
  snprintf(path, sizeof path, "%s/count", shadow);
  int fd = REAL(open)(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0 || REAL(ftruncate)(fd, 8) != 0) abort();
  count = mmap(NULL, 8, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (count == MAP_FAILED) abort();
  REAL(close)(fd);
}

/* 1 when the next operation fails. */
static int fails(void) {
  uint64_t number = ++*count;
  if (from == 0 || number < from || number >= from + times) return 0;
  errno = fault;
  return 1;
}

static void shadow_path(const struct file *file, char *path) {
  const char *name = strrchr(file->path, '/');
  snprintf(path, PATH_MAX, "%s/%s", shadow, name ? name + 1 : file->path);
}

static void onto_disk(const struct file *file, const struct change *change) {
  char path[PATH_MAX];
  shadow_path(file, path);
  int fd = REAL(open)(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) abort();
  if (change->length < 0) { if (REAL(ftruncate)(fd, change->offset) != 0) abort(); }
  else if (REAL(pwrite)(fd, change->bytes, change->length, change->offset) != change->length) abort();
  REAL(close)(fd);
}

static void remember(struct file *file, const void *bytes, ssize_t length, off_t offset) {
  struct change *change = malloc(sizeof *change + (length > 0 ? length : 0));
  change->offset = offset;
  change->length = length;
  change->next = NULL;
  if (length > 0) memcpy(change->bytes, bytes, length);
  /* The kernel writes back when it likes, in any order. */
  if (length > 0 && rand_r(&seed) % 4 == 0) onto_disk(file, change);
  *file->last = change;
  file->last = &change->next;
}

static void settle(struct file *file, int durable) {
  for (struct change *at = file->first; at != NULL;) {
    struct change *next = at->next;
    if (durable) onto_disk(file, at);
    free(at);
    at = next;
  }
  file->first = NULL;
  file->last = &file->first;
}

static int watched(const char *path) {
  size_t length = prefix ? strlen(prefix) : 0;
  if (count == NULL || path == NULL || strncmp(path, prefix, length) != 0) return 0;
  size_t whole = strlen(path);
  return whole < 4 || strcmp(path + whole - 4, "-shm") != 0;
}

static int is_open(int n) {
  return memchr(of, n + 1, sizeof of) != NULL;
}

/* What was written without passing here, while nobody had the file open. */
static void take_over(int fd, struct file *file, const struct stat *status) {
  settle(file, 0);
  struct change *whole = malloc(sizeof *whole + status->st_size);
  whole->offset = 0;
  whole->length = status->st_size;
  if (REAL(pread)(fd, whole->bytes, whole->length, 0) != whole->length) abort();
  onto_disk(file, whole);
  free(whole);
}

static void opened(int fd, const char *path) {
  if (fd < 0 || fd >= DESCRIPTORS || !watched(path)) return;
  struct stat status;
  if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) return;
  pthread_mutex_lock(&lock);
  for (int n = 0; n < FILES; n++) {
    if (files[n].path[0] == 0) {
      snprintf(files[n].path, PATH_MAX, "%s", path);
      files[n].last = &files[n].first;
      char there[PATH_MAX];
      shadow_path(&files[n], there);
      int made = REAL(open)(there, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
      if (made >= 0) REAL(close)(made);
    }
    else if (strcmp(files[n].path, path) == 0 && !is_open(n) && status.st_mtime != 0) take_over(fd, &files[n], &status);
    if (strcmp(files[n].path, path) == 0) { of[fd] = n + 1; break; }
  }
  pthread_mutex_unlock(&lock);
}

static struct file *file_of(int fd) {
  return fd >= 0 && fd < DESCRIPTORS && of[fd] ? &files[of[fd] - 1] : NULL;
}

#define MODE(flags) \
  mode_t mode = 0; \
  if (flags & (O_CREAT | O_TMPFILE)) { va_list rest; va_start(rest, flags); mode = va_arg(rest, mode_t); va_end(rest); }

int open(const char *path, int flags, ...) {
  MODE(flags)
  int fd = REAL(open)(path, flags, mode);
  opened(fd, path);
  return fd;
}

int open64(const char *path, int flags, ...) {
  MODE(flags)
  int fd = REAL(open64)(path, flags, mode);
  opened(fd, path);
  return fd;
}

int openat(int at, const char *path, int flags, ...) {
  MODE(flags)
  int fd = REAL(openat)(at, path, flags, mode);
  opened(fd, path);
  return fd;
}

int close(int fd) {
  if (file_of(fd) == NULL) return REAL(close)(fd);
  int n = of[fd] - 1;
  pthread_mutex_lock(&lock);
  of[fd] = 0;
  if (!is_open(n)) futimens(fd, (struct timespec[2]){ { 0, UTIME_OMIT }, { 0, 0 } });
  pthread_mutex_unlock(&lock);
  return REAL(close)(fd);
}

#define WRITE(name, offset_type) \
  ssize_t name(int fd, const void *bytes, size_t length, offset_type offset) { \
    struct file *file = file_of(fd); \
    if (file == NULL) return REAL(name)(fd, bytes, length, offset); \
    pthread_mutex_lock(&lock); \
    ssize_t wrote = fails() ? -1 : REAL(name)(fd, bytes, length, offset); \
    if (wrote > 0) remember(file, bytes, wrote, offset); \
    pthread_mutex_unlock(&lock); \
    return wrote; \
  }
WRITE(pwrite, off_t)
WRITE(pwrite64, off64_t)

#define TRUNCATE(name, length_type) \
  int name(int fd, length_type length) { \
    struct file *file = file_of(fd); \
    if (file == NULL) return REAL(name)(fd, length); \
    pthread_mutex_lock(&lock); \
    int failed = fails() ? -1 : REAL(name)(fd, length); \
    if (failed == 0) remember(file, NULL, -1, length); \
    pthread_mutex_unlock(&lock); \
    return failed; \
  }
TRUNCATE(ftruncate, off_t)
TRUNCATE(ftruncate64, off64_t)

#define SYNC(name) \
  int name(int fd) { \
    struct file *file = file_of(fd); \
    if (file == NULL) return REAL(name)(fd); \
    pthread_mutex_lock(&lock); \
    int failed = fails(); \
    settle(file, !failed); \
    pthread_mutex_unlock(&lock); \
    return failed ? -1 : 0; \
  }
SYNC(fsync)
SYNC(fdatasync)

int unlink(const char *path) {
  int failed = REAL(unlink)(path);
  if (failed != 0 || !watched(path)) return failed;
  pthread_mutex_lock(&lock);
  for (int n = 0; n < FILES; n++) {
    if (strcmp(files[n].path, path) != 0) continue;
    char there[PATH_MAX];
    shadow_path(&files[n], there);
    REAL(unlink)(there);
    settle(&files[n], 0);
  }
  pthread_mutex_unlock(&lock);
  return 0;
}
