/** Each directory of ACME with what is written into the configuration of its clients. */

import { clientGuides, trustFile } from "#core/acme/clients.ts";
import type { Answers } from "#api/answers.ts";
import { hrefOf, hrefWith, visit } from "#web/address.ts";
import { useAddress } from "#web/console.ts";
import { Copy } from "#web/ui/copy.tsx";
import { Heading } from "#web/ui/heading.tsx";

export type AcmeDirectory = Answers["acme.directory.list"]["items"][number];

interface DirectoriesPartProps {
  readonly directories: readonly AcmeDirectory[];
}

/** `directory=…` chooses one, `client=…` the client whose lines are shown. */
export function DirectoriesPart({ directories }: DirectoriesPartProps) {
  const address = useAddress();
  const { directory: named } = address.query;
  const chosen = directories.find(({ name }) => name === named) ?? directories[0];
  return (
    <>
      <Heading name="ACME directories">
        {directories.length > 1 && (
          <select
            aria-label="Directory"
            value={chosen?.name}
            onChange={({ currentTarget }) =>
              visit(hrefWith(address, { directory: currentTarget.value }))
            }
          >
            {directories.map(({ name }) => (
              <option key={name} value={name}>
                {name}
              </option>
            ))}
          </select>
        )}
      </Heading>
      {chosen && <Shown directory={chosen} />}
    </>
  );
}

function Shown({ directory }: { readonly directory: AcmeDirectory }) {
  return (
    <>
      <section class="card">
        <h2>{directory.name}</h2>
        <dl>
          <dt>Address</dt>
          <dd>
            <Copy text={directory.directory_url} name="address" />
          </dd>
          <dt>Issues with</dt>
          <dd>
            {directory.ca_id === undefined ? (
              "a CA that is not there yet"
            ) : (
              <a href={hrefOf(["authorities", directory.ca_id])}>{directory.ca_label}</a>
            )}
          </dd>
          <dt>Profile</dt>
          <dd>{directory.profile}</dd>
          {directory.profiles.length > 0 && (
            <>
              <dt>By name</dt>
              <dd>{directory.profiles.map(({ name }) => name).join(", ")}</dd>
            </>
          )}
          <dt>Names are proved by</dt>
          <dd>{directory.challenge_types.join(", ")}</dd>
          <dt>Accounts</dt>
          <dd>
            {directory.require_eab
              ? "need a credential of this server"
              : "are open to whoever reaches the address"}
          </dd>
          {directory.terms_of_service && (
            <>
              <dt>Terms</dt>
              <dd>{directory.terms_of_service}</dd>
            </>
          )}
        </dl>
      </section>
      <Clients directory={directory} />
    </>
  );
}

function Clients({ directory }: { readonly directory: AcmeDirectory }) {
  const address = useAddress();
  const guides = clientGuides({
    directoryUrl: directory.directory_url,
    requireEab: directory.require_eab,
    terms: directory.terms_of_service,
    challengeTypes: directory.challenge_types,
  });
  const chosen = guides.find(({ client }) => client === address.query.client) ?? guides[0];
  if (chosen === undefined) return null;
  return (
    <section class="card">
      <h2>Clients</h2>
      <nav class="tabs" aria-label="Clients">
        {guides.map(({ client }) => (
          <a
            key={client}
            href={hrefWith(address, { client })}
            aria-current={client === chosen.client ? "page" : undefined}
          >
            {client}
          </a>
        ))}
      </nav>
      <p>{chosen.about}</p>
      <p class="quiet small">
        Words in capitals are yours to replace; <code>{trustFile}</code> is the file of the CAs that
        vouch for this server.
      </p>
      <pre>{chosen.lines.join("\n")}</pre>
      <div class="buttons">
        <Copy text={chosen.lines.join("\n")} name="configuration">
          Copy all
        </Copy>
      </div>
    </section>
  );
}
