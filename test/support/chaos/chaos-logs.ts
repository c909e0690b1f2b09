/** Two transparency logs for crash tests, and the profile that shows them every certificate. */

import { instant } from "#core/time.ts";
import { CtLog } from "#test/support/servers/ct-log.ts";

/** Running from the start; they outlive every kill of the instance. */
export class ChaosLogs {
  readonly #logs = ["first", "second"].map(
    (name) => [name, new CtLog({ now: () => instant(Date.now()) })] as const,
  );

  /** Top-level members of the configuration. */
  get config(): Readonly<Record<string, unknown>> {
    const logs = this.#logs.map(([name, { url, spki }]) => ({
      name,
      url,
      operator: name,
      public_key: Buffer.from(spki).toString("base64"),
    }));
    const profile = {
      name: "logged",
      key_usages: ["digitalSignature"],
      ext_key_usages: ["serverAuth"],
      max_validity_days: 90,
      ct: { enabled: true, min_scts: 2, timeout_seconds: 30 },
    };
    return { certificate_transparency: { logs }, profiles: [profile] };
  }

  /** Of all precertificates any of them was shown, each once. */
  get serials(): readonly string[] {
    return [...new Set(this.#logs.flatMap(([, { serials }]) => serials))];
  }

  async stop(): Promise<void> {
    for (const [, log] of this.#logs) await log.stop();
  }
}
