/** The page that tells people how to point their ACME clients here; no script. */

import { type ClientPlace, clientGuides, trustFile } from "#core/acme/clients.ts";

import { escaped } from "./docs-page.ts";

/** One directory, and the CA behind it. */
export interface AcmePlace extends ClientPlace {
  /** Its name in the configuration. */
  readonly name: string;
  /** Profiles a client may name, with what is said of them. */
  readonly profiles: readonly { readonly name: string; readonly description: string }[];
  /** Path of the certificate that relying parties trust; undefined while there is none here. */
  readonly rootPath: string | undefined;
}

/** The page, HTML. */
export function acmePage(places: readonly AcmePlace[], style: string): string {
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>pkid: enrolment by ACME</title>
<style>${style}</style>
<h1>Enrolment by ACME</h1>
<p>Clients of RFC 8555 get and renew certificates from the addresses below by themselves. Words in capitals are yours to replace. How ACME is run is in the <a href="/docs/manual#acme">manual</a>.</p>
<p>Each client must trust this very server before it asks: ${code(trustFile)} stands for the file of the CAs that vouch for it. Ask whoever runs the server for it and for its fingerprint, and leave the line out where the machine trusts the server already. ${code("pkid trust fetch")} fetches it by the fingerprint.</p>
${places.map(placeHtml).join("\n")}
</html>
`;
}

function placeHtml(place: AcmePlace): string {
  const { name, directoryUrl, requireEab, terms, challengeTypes, profiles, rootPath } = place;
  const facts = [
    `Directory: ${code(directoryUrl)}`,
    `Names are proved by ${challengeTypes.map(code).join(", ")}; wildcards by DNS only.`,
    requireEab
      ? "Accounts need a credential, KID and KEY, from whoever runs this server."
      : "Accounts are open to whoever reaches this address.",
    ...(terms === undefined ? [] : [`Terms to agree to: ${link(terms)}`]),
    ...(rootPath === undefined
      ? []
      : [`Relying parties trust <a href="${escaped(rootPath)}">this root</a>.`]),
    ...profiles.map(
      (one) => `Profile ${code(one.name)}${one.description && `: ${escaped(one.description)}`}`,
    ),
  ];
  const guides = clientGuides(place).map(
    ({ client, about, lines }) =>
      `<h3>${escaped(client)}</h3>\n<p>${escaped(about)}</p>\n<pre><code>${escaped(lines.join("\n"))}</code></pre>`,
  );
  return `<h2 id="${escaped(name)}">${escaped(name)}</h2>
<p>${facts.join("<br>")}</p>
${guides.join("\n")}`;
}

/** Only what a browser opens by a click; anything else is text. */
const link = (url: string): string =>
  /^https?:\/\//.test(url) ? `<a href="${escaped(url)}">${escaped(url)}</a>` : escaped(url);

const code = (text: string): string => `<code>${escaped(text)}</code>`;
