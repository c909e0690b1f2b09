/** What every store must do about the responders of OCSP. */

import { expect, test } from "bun:test";

import type { CaId } from "#core/ids.ts";
import type { Store } from "#domain/store.ts";
import { addSeconds } from "#core/time.ts";
import * as make from "#test/support/stores/records.ts";

/** Declares the tests on the store that `given` gives when they run. */
export function responderContract(
  given: () => { readonly store: Store; readonly home: CaId },
): void {
  test("the newest responder of a CA is the one that counts", async () => {
    const { store, home } = given();
    expect(await store.read.revocations.responder(home)).toBeUndefined();
    const renewed = make.responder({ caId: home, notBefore: addSeconds(make.noon, 10) });
    const old = make.responder({ caId: home });
    for (const row of [renewed, old])
      await store.atomically((tx) => tx.revocations.putResponder(row));
    expect(await store.read.revocations.responder(home)).toEqual(renewed);
    // One that has not begun by then was made under a wrong clock.
    expect(await store.read.revocations.responder(home, renewed.notBefore)).toEqual(renewed);
    expect(await store.read.revocations.responder(home, old.notBefore)).toEqual(old);
  });
}
