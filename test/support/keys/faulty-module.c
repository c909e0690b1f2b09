/* A PKCS#11 module that passes everything to another one, except that C_Sign fails or dawdles when told to,
 * that every C_Login leaves a mark in a file, and that C_Initialize fails while there is a file "away".
 * The control file holds "<return value in hex> <times> <delay in ms>"; times counts down, also across processes. */

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

typedef unsigned long CK_RV;
typedef CK_RV (*sign_fn)(unsigned long, unsigned char *, unsigned long, unsigned char *, unsigned long *);
/* CK_FUNCTION_LIST: a version, padded, and 68 pointers; C_Sign is the 44th. */
struct list { unsigned char version[8]; void *call[68]; };
enum { INITIALIZE = 0, LOGIN = 18, SIGN = 43, CALLS = 68 };

static struct list ours;
static struct list *theirs;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static CK_RV told(void) {
  unsigned long rv = 0, times = 0, delay = 0;
  pthread_mutex_lock(&lock);
  FILE *file = fopen(CONTROL, "r");
  if (file != NULL) {
    if (fscanf(file, "%lx %lu %lu", &rv, &times, &delay) != 3) times = 0;
    fclose(file);
  }
  if (times > 0 && (file = fopen(CONTROL, "w")) != NULL) {
    fprintf(file, "%lx %lu %lu", rv, times - 1, delay);
    fclose(file);
  }
  pthread_mutex_unlock(&lock);
  if (times == 0) return 0;
  usleep(delay * 1000);
  return rv;
}

static CK_RV sign(unsigned long session, unsigned char *input, unsigned long length,
                  unsigned char *output, unsigned long *room) {
  CK_RV rv = told();
  return rv != 0 ? rv : ((sign_fn)theirs->call[SIGN])(session, input, length, output, room);
}

typedef CK_RV (*login_fn)(unsigned long, unsigned long, unsigned char *, unsigned long);

static CK_RV login(unsigned long session, unsigned long user, unsigned char *pin, unsigned long length) {
  FILE *file = fopen(CONTROL ".logins", "a");
  if (file != NULL) {
    fputc('x', file);
    fclose(file);
  }
  return ((login_fn)theirs->call[LOGIN])(session, user, pin, length);
}

typedef CK_RV (*initialize_fn)(void *);

static CK_RV initialize(void *arguments) {
  /* CKR_DEVICE_REMOVED */
  return access(CONTROL ".away", F_OK) == 0 ? 0x32 : ((initialize_fn)theirs->call[INITIALIZE])(arguments);
}

CK_RV C_GetFunctionList(struct list **out) {
  void *module = dlopen(REAL, RTLD_NOW | RTLD_LOCAL);
  if (module == NULL) return 6;
  CK_RV (*real)(struct list **) = (CK_RV(*)(struct list **))dlsym(module, "C_GetFunctionList");
  CK_RV rv = real(&theirs);
  if (rv != 0) return rv;
  memcpy(&ours, theirs, sizeof ours);
  ours.call[SIGN] = (void *)sign;
  ours.call[LOGIN] = (void *)login;
  ours.call[INITIALIZE] = (void *)initialize;
  *out = &ours;
  return 0;
}
