/* A PKCS#11 module in front of another one: it has no AES-GCM, and undoes RSAES-OAEP itself, with the hash it was
 * compiled for and whatever hash is asked for; OAEP_HASH undefined leaves OAEP to the other module. */

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

typedef unsigned long CK_ULONG;
struct mechanism { CK_ULONG type; void *parameter; CK_ULONG length; };
typedef CK_ULONG (*init_fn)(CK_ULONG, struct mechanism *, CK_ULONG);
typedef CK_ULONG (*crypt_fn)(CK_ULONG, unsigned char *, CK_ULONG, unsigned char *, CK_ULONG *);
/* CK_FUNCTION_LIST: a version, padded, and 68 pointers. */
struct list { unsigned char version[8]; void *call[68]; };
enum { ENCRYPT_INIT = 29, DECRYPT_INIT = 33, DECRYPT = 34, SESSIONS = 64 };
enum { RSA_X509 = 0x3, OAEP = 0x9, AES_GCM = 0x1087, MECHANISM_INVALID = 0x70, DATA_INVALID = 0x40 };

static struct list ours;
static struct list *theirs;

static CK_ULONG encrypt_init(CK_ULONG session, struct mechanism *mechanism, CK_ULONG key) {
  if (mechanism->type == AES_GCM) return MECHANISM_INVALID;
  return ((init_fn)theirs->call[ENCRYPT_INIT])(session, mechanism, key);
}

#ifdef OAEP_HASH
extern const void *OAEP_HASH(void);
extern int RSA_padding_check_PKCS1_OAEP_mgf1(unsigned char *, int, const unsigned char *, int, int,
                                             const unsigned char *, int, const void *, const void *);
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* Sessions whose next decryption is ours to finish. */
static CK_ULONG unpadding[SESSIONS];

static int swap(CK_ULONG from, CK_ULONG to) {
  int found = -1;
  pthread_mutex_lock(&lock);
  for (int at = 0; at < SESSIONS && found < 0; at++)
    if (unpadding[at] == from) { unpadding[at] = to; found = at; }
  pthread_mutex_unlock(&lock);
  return found;
}
#endif

static CK_ULONG decrypt_init(CK_ULONG session, struct mechanism *mechanism, CK_ULONG key) {
  if (mechanism->type == AES_GCM) return MECHANISM_INVALID;
#ifdef OAEP_HASH
  if (mechanism->type == OAEP) {
    struct mechanism raw = { RSA_X509, 0, 0 };
    CK_ULONG rv = ((init_fn)theirs->call[DECRYPT_INIT])(session, &raw, key);
    if (rv == 0) swap(0, session);
    return rv;
  }
#endif
  return ((init_fn)theirs->call[DECRYPT_INIT])(session, mechanism, key);
}

static CK_ULONG decrypt(CK_ULONG session, unsigned char *input, CK_ULONG length,
                        unsigned char *output, CK_ULONG *room) {
#ifdef OAEP_HASH
  if (swap(session, 0) >= 0) {
    unsigned char padded[512];
    CK_ULONG size = sizeof padded;
    CK_ULONG rv = ((crypt_fn)theirs->call[DECRYPT])(session, input, length, padded, &size);
    if (rv != 0) return rv;
    int left = RSA_padding_check_PKCS1_OAEP_mgf1(output, *room, padded, size, size, 0, 0, OAEP_HASH(), OAEP_HASH());
    if (left < 0) return DATA_INVALID;
    *room = left;
    return 0;
  }
#endif
  return ((crypt_fn)theirs->call[DECRYPT])(session, input, length, output, room);
}

CK_ULONG C_GetFunctionList(struct list **out) {
  void *module = dlopen(REAL, RTLD_NOW | RTLD_LOCAL);
  if (module == NULL) return 6;
  CK_ULONG (*real)(struct list **) = (CK_ULONG(*)(struct list **))dlsym(module, "C_GetFunctionList");
  CK_ULONG rv = real(&theirs);
  if (rv != 0) return rv;
  memcpy(&ours, theirs, sizeof ours);
  ours.call[ENCRYPT_INIT] = (void *)encrypt_init;
  ours.call[DECRYPT_INIT] = (void *)decrypt_init;
  ours.call[DECRYPT] = (void *)decrypt;
  *out = &ours;
  return 0;
}
