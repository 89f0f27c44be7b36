import { cut, showText } from '../../core/display';

const LONGEST = 300;

/** What a receiver said, for the log and the record: one line, short, and without a secret of ours that it repeats. */
export function failureDetail(text: string, secrets: readonly string[]): string {
  const hidden = secrets
    .filter((secret) => secret !== '')
    .reduce((shown, secret) => shown.replaceAll(secret, '(secret)'), text.trim());
  return hidden.length <= LONGEST ? showText(hidden) : `${showText(cut(hidden, LONGEST))}…`;
}
