/** What each PKCS#11 return value means for us, decided by its number alone. */

/**
 * `token session`: open a new one, find the key again, try again. `restart`: only a fresh process
 * can help. `busy`: try later. `benign`: nothing happened. `operator`: stop logging in and call
 * somebody. `configuration`: the device cannot do what is asked. `request`: the device is well and
 * refuses these octets.
 */
export type RvAction =
  | "token session"
  | "restart"
  | "busy"
  | "benign"
  | "operator"
  | "configuration"
  | "request";

/** Columns: name without `CKR_`, action. */
export const returnValues: Readonly<Record<number, readonly [name: string, action: RvAction]>> = {
  2: ["HOST_MEMORY", "busy"],
  3: ["SLOT_ID_INVALID", "configuration"],
  5: ["GENERAL_ERROR", "restart"],
  6: ["FUNCTION_FAILED", "restart"],
  7: ["ARGUMENTS_BAD", "configuration"],
  10: ["CANT_LOCK", "configuration"],
  16: ["ATTRIBUTE_READ_ONLY", "configuration"],
  17: ["ATTRIBUTE_SENSITIVE", "configuration"],
  18: ["ATTRIBUTE_TYPE_INVALID", "configuration"],
  19: ["ATTRIBUTE_VALUE_INVALID", "configuration"],
  27: ["ACTION_PROHIBITED", "configuration"],
  32: ["DATA_INVALID", "request"],
  33: ["DATA_LEN_RANGE", "request"],
  48: ["DEVICE_ERROR", "restart"],
  49: ["DEVICE_MEMORY", "busy"],
  50: ["DEVICE_REMOVED", "restart"],
  64: ["ENCRYPTED_DATA_INVALID", "request"],
  65: ["ENCRYPTED_DATA_LEN_RANGE", "request"],
  80: ["FUNCTION_CANCELED", "busy"],
  84: ["FUNCTION_NOT_SUPPORTED", "configuration"],
  96: ["KEY_HANDLE_INVALID", "token session"],
  98: ["KEY_SIZE_RANGE", "configuration"],
  99: ["KEY_TYPE_INCONSISTENT", "configuration"],
  104: ["KEY_FUNCTION_NOT_PERMITTED", "configuration"],
  112: ["MECHANISM_INVALID", "configuration"],
  113: ["MECHANISM_PARAM_INVALID", "configuration"],
  130: ["OBJECT_HANDLE_INVALID", "token session"],
  144: ["OPERATION_ACTIVE", "token session"],
  145: ["OPERATION_NOT_INITIALIZED", "token session"],
  160: ["PIN_INCORRECT", "operator"],
  161: ["PIN_INVALID", "operator"],
  162: ["PIN_LEN_RANGE", "operator"],
  163: ["PIN_EXPIRED", "operator"],
  164: ["PIN_LOCKED", "operator"],
  176: ["SESSION_CLOSED", "token session"],
  177: ["SESSION_COUNT", "busy"],
  179: ["SESSION_HANDLE_INVALID", "token session"],
  181: ["SESSION_READ_ONLY", "configuration"],
  192: ["SIGNATURE_INVALID", "request"],
  193: ["SIGNATURE_LEN_RANGE", "request"],
  208: ["TEMPLATE_INCOMPLETE", "configuration"],
  209: ["TEMPLATE_INCONSISTENT", "configuration"],
  224: ["TOKEN_NOT_PRESENT", "restart"],
  225: ["TOKEN_NOT_RECOGNIZED", "restart"],
  226: ["TOKEN_WRITE_PROTECTED", "configuration"],
  256: ["USER_ALREADY_LOGGED_IN", "benign"],
  // Token sessions share one login, so when it is gone for one it is gone for all: a fresh process
  // logs in once.
  257: ["USER_NOT_LOGGED_IN", "restart"],
  258: ["USER_PIN_NOT_INITIALIZED", "operator"],
  304: ["DOMAIN_PARAMS_INVALID", "configuration"],
  320: ["CURVE_NOT_SUPPORTED", "configuration"],
  336: ["BUFFER_TOO_SMALL", "token session"],
  400: ["CRYPTOKI_NOT_INITIALIZED", "restart"],
  401: ["CRYPTOKI_ALREADY_INITIALIZED", "benign"],
};

/** What a call into the module ended with. */
export interface Rv {
  readonly rv: number;
  readonly name: string;
  readonly action: RvAction;
}

/**
 * The return value behind an error of pkcs11js; undefined when it is none. Its errors come in three
 * shapes, some without a code, so the number is read from the text when it must be. An unknown
 * number asks for a restart.
 */
export function returnValueOf(fault: unknown): Rv | undefined {
  if (!(fault instanceof Error)) return undefined;
  const rv = codeOf(fault) ?? numberIn(fault.message);
  if (rv === undefined) return undefined;
  const [name, action] = returnValues[rv] ?? [`0x${rv.toString(16)}`, "restart"];
  return { rv, name: `CKR_${name}`, action };
}

function codeOf(fault: Error): number | undefined {
  const code = "code" in fault ? fault.code : undefined;
  // Zero is what pkcs11js leaves when it found no number.
  return typeof code === "number" && code !== 0 ? code : undefined;
}

function numberIn(text: string): number | undefined {
  const found = /CKR_\w+:(\d{1,10})/.exec(text);
  return found === null ? undefined : Number(found[1]);
}
