/* A PKCS#11 module in front of another one whose token locks: it counts wrong PINs, says so in the flags of the token
 * unless it is told to be silent, and answers CKR_PIN_LOCKED when none is left. Every PIN it is shown stands in a file.
 * The state file holds "<tries left> <tries in all> <1 to show flags> <the PIN that is right, if not the token's own>". */

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

typedef unsigned long CK_RV;
/* CK_FUNCTION_LIST: a version, padded, and 68 pointers. */
struct list { unsigned char version[8]; void *call[68]; };
/* CK_TOKEN_INFO: label, manufacturer, model and serial, then the flags. */
struct token { unsigned char names[96]; unsigned long flags; };
struct state { unsigned long left, all, shown; char right[64]; };
enum { TOKEN_INFO = 6, LOGIN = 18 };
enum { COUNT_LOW = 0x10000, FINAL_TRY = 0x20000, LOCKED = 0x40000, PIN_INCORRECT = 0xa0, PIN_LOCKED = 0xa4 };

static struct list ours;
static struct list *theirs;

static struct state look(void) {
  struct state now = { 1, 1, 1, "" };
  FILE *file = fopen(STATE, "r");
  if (file == NULL) return now;
  if (fscanf(file, "%lu %lu %lu %63s", &now.left, &now.all, &now.shown, now.right) < 3) now.left = 0;
  fclose(file);
  return now;
}

static void keep(struct state now) {
  FILE *file = fopen(STATE, "w");
  if (file == NULL) return;
  fprintf(file, "%lu %lu %lu %s", now.left, now.all, now.shown, now.right);
  fclose(file);
}

static CK_RV token_info(unsigned long slot, struct token *info) {
  CK_RV rv = ((CK_RV(*)(unsigned long, struct token *))theirs->call[TOKEN_INFO])(slot, info);
  struct state now = look();
  info->flags &= ~(unsigned long)(COUNT_LOW | FINAL_TRY | LOCKED);
  if (rv != 0 || !now.shown) return rv;
  if (now.left < now.all) info->flags |= COUNT_LOW;
  if (now.left == 1) info->flags |= FINAL_TRY;
  if (now.left == 0) info->flags |= LOCKED;
  return rv;
}

typedef CK_RV (*login_fn)(unsigned long, unsigned long, const unsigned char *, unsigned long);

static CK_RV login(unsigned long session, unsigned long user, unsigned char *pin, unsigned long length) {
  FILE *file = fopen(STATE ".shown", "a");
  if (file != NULL) {
    fprintf(file, "%.*s\n", (int)length, (char *)pin);
    fclose(file);
  }
  struct state now = look();
  if (now.left == 0) return PIN_LOCKED;
  const unsigned char *shown = pin;
  if (now.right[0] != 0) {
    int same = length == strlen(now.right) && memcmp(pin, now.right, length) == 0;
    shown = (const unsigned char *)(same ? OWN : "not " OWN);
    length = strlen((const char *)shown);
  }
  CK_RV rv = ((login_fn)theirs->call[LOGIN])(session, user, shown, length);
  if (rv == PIN_INCORRECT) now.left -= 1;
  if (rv == 0) now.left = now.all;
  keep(now);
  return rv;
}

CK_RV C_GetFunctionList(struct list **out) {
  void *module = dlopen(REAL, RTLD_NOW | RTLD_LOCAL);
  if (module == NULL) return 6;
  CK_RV (*real)(struct list **) = (CK_RV(*)(struct list **))dlsym(module, "C_GetFunctionList");
  CK_RV rv = real(&theirs);
  if (rv != 0) return rv;
  memcpy(&ours, theirs, sizeof ours);
  ours.call[TOKEN_INFO] = (void *)token_info;
  ours.call[LOGIN] = (void *)login;
  *out = &ours;
  return 0;
}
