/**
 * The one search box: names, serials and keys lead to the certificates that have them, and so does
 * a file that is chosen, pasted, or dropped anywhere on the window.
 */

import { useEffect, useState } from "preact/hooks";
import { hrefOf, type QueryChange, visit } from "#web/address.ts";
import { useAddress } from "#web/console.ts";
import { isSecretText } from "#web/secret-text.ts";
import type { Sought } from "#web/x509/sought.ts";
import { queryOf } from "./sought-text.ts";

/** `/` focuses it. */
export function SearchBox() {
  const { query } = useAddress();
  const [typed, setTyped] = useState("");
  const { said, look, forget } = useFiles();
  const dropping = useDropping(look);
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    forget();
    if (typed.trim() === "") return;
    // A key is looked at here, as its file is: an address is kept by browsers and proxies.
    if (isSecretText(typed)) {
      look(new Blob([typed]));
      setTyped("");
      return;
    }
    visit(hrefOf(["certificates"], { tenant: query.tenant, ...queryOf(typed) }));
  };
  const pasted = (event: ClipboardEvent) => {
    const text = event.clipboardData?.getData("text") ?? "";
    if (!text.includes("-----BEGIN ") && !isSecretText(text)) return;
    event.preventDefault();
    look(new Blob([text]));
  };
  return (
    <search class="search">
      <form onSubmit={submit}>
        <input
          id="search"
          type="search"
          aria-label="Search certificates by name, serial, key or fingerprint"
          placeholder="Search name, serial, key, or drop a file"
          value={typed}
          onInput={({ currentTarget }) => setTyped(currentTarget.value)}
          onPaste={pasted}
        />
        <FileChoice onFile={look} />
      </form>
      {said !== undefined && (
        <p class="small bad" role="alert">
          {said}{" "}
          <button type="button" class="button plain" onClick={forget}>
            Close
          </button>
        </p>
      )}
      {dropping && (
        <p class="drop" role="status">
          Drop a certificate, request or key. It is looked at here and sent nowhere.
        </p>
      )}
    </search>
  );
}

function FileChoice({ onFile }: { readonly onFile: (file: Blob) => void }) {
  return (
    <label class="button plain file" title="Look for the certificate of a file">
      <span aria-hidden="true">⇪</span>
      <input
        type="file"
        aria-label="Look for the certificate of a file: certificate, request or key"
        onChange={({ currentTarget }) => {
          const [file] = currentTarget.files ?? [];
          // The same file may be chosen again.
          currentTarget.value = "";
          if (file !== undefined) onFile(file);
        }}
      />
    </label>
  );
}

/** Looks into a file with a parser that is loaded with the first one. */
function useFiles() {
  const { query } = useAddress();
  const [said, setSaid] = useState<string>();
  const look = async (file: Blob) => {
    setSaid(undefined);
    try {
      const { soughtInFile } = await import("#web/x509/sought.ts");
      const sought = await soughtInFile(file);
      if (sought.kind === "none") setSaid(sought.sentence);
      else visit(hrefOf(["certificates"], { tenant: query.tenant, ...membersOf(sought) }));
    } catch {
      // A folder that was dropped, a file that has gone, or a page that was upgraded meanwhile.
      setSaid("The file could not be read.");
    }
  };
  return { said, look: (file: Blob) => void look(file), forget: () => setSaid(undefined) };
}

/** A certificate that is not found by its serial may still be by its key, which is kept beside. */
const membersOf = (sought: Exclude<Sought, { readonly kind: "none" }>): QueryChange =>
  sought.kind === "certificate"
    ? { q: sought.serial, key: sought.key }
    : { public_key_sha256: sought.key };

/** True while files are over the window; a part of a page that takes them itself says so first. */
function useDropping(onFile: (file: Blob) => void): boolean {
  const [over, setOver] = useState(false);
  useEffect(() => {
    const dragged = (event: DragEvent) => {
      if (event.defaultPrevented || !carriesFiles(event)) return;
      // Without it the browser would open the file and the page would be gone.
      event.preventDefault();
      setOver(!beneathDialog());
    };
    const left = ({ relatedTarget }: DragEvent) => {
      if (relatedTarget === null) setOver(false);
    };
    const dropped = (event: DragEvent) => {
      setOver(false);
      if (event.defaultPrevented || !carriesFiles(event)) return;
      event.preventDefault();
      const [file] = event.dataTransfer?.files ?? [];
      if (file !== undefined && !beneathDialog()) onFile(file);
    };
    addEventListener("dragover", dragged);
    addEventListener("dragleave", left);
    addEventListener("drop", dropped);
    return () => {
      removeEventListener("dragover", dragged);
      removeEventListener("dragleave", left);
      removeEventListener("drop", dropped);
    };
  }, [onFile]);
  return over;
}

const carriesFiles = ({ dataTransfer }: DragEvent): boolean =>
  dataTransfer?.types.includes("Files") === true;

/** What is typed into a dialog is not left for a file that falls beside it. */
const beneathDialog = (): boolean => document.querySelector("dialog[open]") !== null;
