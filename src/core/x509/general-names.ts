/** Subject alternative names (RFC 5280 §4.2.1.6). */

/** A name of a kind pkid issues; values are texts in canonical form (lower-case A-labels, RFC 5952 addresses). */
export interface GeneralName {
  readonly kind: "dns" | "ip" | "email" | "uri";
  readonly value: string;
}

/** `dns:a.example`: the form records, events and answers carry. */
export declare function generalNameText(name: GeneralName): string;
/** GeneralNames SEQUENCE, DER. */
export declare function encodeGeneralNames(names: readonly GeneralName[]): Uint8Array;
/** Reads GeneralNames; names of other kinds come back in `unsupported` as texts. Throws DerError. */
export declare function parseGeneralNames(der: Uint8Array): {
  readonly names: readonly GeneralName[];
  readonly unsupported: readonly string[];
};
