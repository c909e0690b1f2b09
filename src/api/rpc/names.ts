/** Under which paths remote calls come, apart from their messages: those wait for the first. */

/** The service of `pki.proto`. */
export const pkiService = "pki.v1.PKIService";

/** The one method of the health service, without the first slash. */
export const healthPath = "grpc.health.v1.Health/Check";
