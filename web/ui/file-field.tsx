/** A file that is picked, to be read in the page and sent nowhere as it is. */

import { Field } from "./form.tsx";

interface FileFieldProps {
  readonly label: string;
  /** Ends of names, as `accept` takes them. */
  readonly accept: string;
  readonly onFile: (file: File) => void;
  readonly hint?: string | undefined;
  readonly disabled?: boolean;
}

/** Picking the same file again reads it again. */
export const FileField = ({ label, accept, onFile, hint, disabled = false }: FileFieldProps) => (
  <Field label={label} hint={hint}>
    {(control) => (
      <input
        {...control}
        type="file"
        accept={accept}
        disabled={disabled}
        onChange={({ currentTarget: { files } }) => {
          const [file] = files ?? [];
          if (file !== undefined) onFile(file);
        }}
      />
    )}
  </Field>
);
