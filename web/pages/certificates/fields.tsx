/** A certificate field by field; the decoder is loaded with the first one that is looked at. */

import { Waiting } from "#web/ui/asked.tsx";
import { Copy, Serial } from "#web/ui/copy.tsx";
import { plainText } from "#web/ui/plain.ts";
import { Time } from "#web/ui/time.tsx";
import type { Line, Section, Value } from "#web/x509/decoded.ts";
import { useDecoded } from "./decoding.ts";

/** Every field of the certificate in PEM, with what it means. */
export function CertificateFields({ pem }: { readonly pem: string }) {
  const sections = useDecoded(pem, decodedSections, failed);
  if (sections === undefined) return <Waiting />;
  return (
    <div class="fields">
      {sections.map((section, index) => (
        // Sections have no name of their own: an extension may be there twice in what is hostile.
        <FieldSection key={`${index} ${section.oid ?? section.name}`} section={section} />
      ))}
    </div>
  );
}

async function decodedSections(pem: string): Promise<readonly Section[]> {
  const [{ decodeCertificate, fingerprintSection }, { decodePem }] = await Promise.all([
    import("#web/x509/certificate.ts"),
    import("#core/asn1/pem.ts"),
  ]);
  const der = decodePem(pem, ["CERTIFICATE"]);
  if (der === undefined) return failed();
  return [...decodeCertificate(der), await fingerprintSection(der)];
}

function FieldSection({ section }: { readonly section: Section }) {
  const { name, oid, critical, hint, lines, fault } = section;
  return (
    <section>
      <h3>
        {name}
        {critical === true && <span class="warn small"> critical</span>}
        {oid !== undefined && <span class="quiet small mono"> {oid}</span>}
      </h3>
      {hint !== undefined && <p class="quiet small">{hint}</p>}
      {fault !== undefined && (
        <p class="warn small">
          <span aria-hidden="true">◐ </span>It is not what its standard says
          {fault === "" ? "." : `: ${fault}.`}
        </p>
      )}
      {lines.length > 0 && (
        <dl>
          {lines.map((line, index) => (
            <FieldLine key={`${index} ${line.name}`} line={line} />
          ))}
        </dl>
      )}
    </section>
  );
}

function FieldLine({ line: { name, values, hint } }: { readonly line: Line }) {
  return (
    <>
      <dt>{plainText(name)}</dt>
      <dd>
        {values.map((value, index) => (
          <div key={`${index} ${value.text}`}>
            <FieldValue name={name} value={value} />
          </div>
        ))}
        {hint !== undefined && hint !== "" && <div class="quiet small">{hint}</div>}
      </dd>
    </>
  );
}

function FieldValue({ name, value }: { readonly name: string; readonly value: Value }) {
  switch (value.as) {
    case "time":
      return <Time at={value.text} />;
    case "serial":
      return <Serial serial={value.text} />;
    case "code":
      return <Copy text={value.text} name={name.toLowerCase()} />;
    case "hex":
      return <Octets name={name} digits={value.text} />;
    case "text":
      return <>{plainText(value.text)}</>;
    default:
      return value.as satisfies never;
  }
}

/** Few octets are shown and copied; many, as of keys and signatures, are opened first. */
function Octets({ name, digits }: { readonly name: string; readonly digits: string }) {
  const shown = digits.slice(0, 2 * octetsShown).replace(/(.{4})(?=.)/g, "$1 ");
  if (digits.length <= 2 * octetsInLine) {
    return (
      <Copy text={digits} name={name.toLowerCase()}>
        {shown === "" ? "(none)" : shown}
      </Copy>
    );
  }
  return (
    <details>
      <summary>{(digits.length / 2).toLocaleString("en")} octets</summary>
      <Copy text={digits} name={name.toLowerCase()}>
        {shown}
        {digits.length > 2 * octetsShown && " …"}
      </Copy>
    </details>
  );
}

const octetsInLine = 40;
const octetsShown = 4_096;
const failed = (): readonly Section[] => [
  { name: "Certificate", lines: [], fault: "it could not be read here" },
];
